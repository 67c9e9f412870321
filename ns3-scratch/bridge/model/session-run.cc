// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-delay.h"
#include "session-implementation.h"

#include "ns3/simulator.h"

namespace astra_ns3
{

using namespace ns3;

uint32_t
Session::RegisterSchedule(uint32_t ranks,
                          uint32_t blocks,
                          uint32_t expansion,
                          uint64_t messages,
                          const int32_t* columns)
{
    CollectiveScheduleColumns named;
    named.ranks = ranks;
    named.blocks = blocks;
    named.expansion = expansion;
    named.messages = messages;
    named.sender = columns;
    named.receiver = named.sender + messages;
    named.step = named.receiver + messages;
    named.firstBlock = named.step + messages;
    named.blockCount = named.firstBlock + messages;
    named.reduces = named.blockCount + messages;
    named.waitStep = named.reduces + messages;
    named.waitCount = named.waitStep + messages;
    m_implementation->schedules.push_back(std::make_shared<CollectiveSchedule>(named));
    return m_implementation->schedules.size() - 1;
}

uint32_t
Session::RegisterGroup(const uint32_t* npus, uint32_t count)
{
    auto group = std::make_shared<CollectiveGroup>();
    group->members.assign(npus, npus + count);
    for (uint32_t rank = 0; rank < count; ++rank)
    {
        if (npus[rank] >= m_implementation->applications.size() ||
            !group->rankOfMember.emplace(npus[rank], rank).second)
        {
            throw std::invalid_argument("group: there is no NPU " + std::to_string(npus[rank]) +
                                        ", or it is in it twice");
        }
    }
    m_implementation->groups.push_back(group);
    return m_implementation->groups.size() - 1;
}

void
Session::Launch(uint32_t npu, uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes)
{
    const auto& played = ElementOf(m_implementation->schedules, schedule, "schedule");
    const auto& players = ElementOf(m_implementation->groups, group, "group");
    if (players->members.size() != played->GetRanks() || players->rankOfMember.count(npu) == 0)
    {
        throw std::invalid_argument("launch: the group has not the schedule's ranks, or NPU " +
                                    std::to_string(npu) + " is not in it");
    }
    ElementOf(m_implementation->applications, npu, "NPU")->Launch(instance, played, players, bytes);
}

void
Session::SetTimer(uint32_t npu, int64_t delayPs, uint64_t token)
{
    const uint32_t context =
        ElementOf(m_implementation->applications, npu, "NPU")->GetNode()->GetId();
    SessionListener* listener = m_implementation->listener;
    Simulator::ScheduleWithContext(context, FabricDelay(delayPs, "a timer"), [listener, token] {
        listener->TimerDue(token, Simulator::Now().GetTimeStep());
    });
}

uint32_t
Session::Run(int64_t limitPs)
{
    Implementation& session = *m_implementation;
    if (!session.listener)
    {
        throw std::invalid_argument("Run is called after Build");
    }
    if (!session.heartbeat)
    {
        session.heartbeat = std::make_unique<Heartbeat>([&session] {
            session.listener->Heartbeat(Simulator::Now().GetTimeStep(), session.GetEvents());
        });
    }
    session.stopped = false;
    session.limitReached = false;
    session.limit = EventId();
    if (limitPs >= 0)
    {
        session.limit =
            Simulator::Schedule(FabricDelay(limitPs - Simulator::Now().GetTimeStep(), "the limit"),
                                &Implementation::ReachLimit,
                                m_implementation.get());
    }
    Simulator::Run();
    session.limit.Cancel();
    if (!session.failure.empty())
    {
        return RUN_FAILED;
    }
    if (session.limitReached)
    {
        return RUN_LIMIT;
    }
    if (session.stopped)
    {
        return RUN_STOPPED;
    }
    return session.eventList->HasLiveEvents() ? RUN_HALTED : RUN_DRAINED;
}

void
Session::Stop()
{
    m_implementation->stopped = true;
    Simulator::Stop();
}

void
Session::ShowTimeAt(uint64_t address)
{
    m_implementation->eventList->ShowTime(reinterpret_cast<int64_t*>(address));
}

int64_t
Session::GetNowPs() const
{
    return Simulator::Now().GetTimeStep();
}

uint64_t
Session::GetEvents() const
{
    return m_implementation->GetEvents();
}

const char*
Session::GetFailure() const
{
    return m_implementation->failure.c_str();
}

uint32_t
Session::CountPending(uint32_t npu, uint64_t instance)
{
    m_implementation->pending =
        ElementOf(m_implementation->applications, npu, "NPU")->GetPending(instance);
    return m_implementation->pending.size();
}

PendingMessage
Session::GetPending(uint32_t index) const
{
    const auto& message = ElementOf(m_implementation->pending, index, "pending message");
    return {message.sender, message.receiver, message.step, message.bytes, message.sent};
}

} // namespace astra_ns3
