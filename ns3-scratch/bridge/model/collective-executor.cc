// SPDX-License-Identifier: GPL-2.0-only
#include "collective-executor.h"

#include "element-of.h"
#include "fabric-delay.h"
#include "fabric-telling-event.h"

#include "ns3/simulator.h"

#include <iterator>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// Costs of a reducer.
constexpr EndpointCosts IN_NO_TIME{0, std::numeric_limits<uint64_t>::max(), true};
} // namespace

/// A timer that is due.
class CollectiveExecutor::TimerEvent : public FabricTellingEvent
{
  public:
    /// \param executor who tells of it \param token its token
    TimerEvent(CollectiveExecutor& executor, uint64_t token)
        : m_executor(executor),
          m_token(token)
    {
    }

    bool OnlyTells() const override
    {
        return true;
    }

  private:
    void Notify() override
    {
        m_executor.Tell({m_token, 0, 1});
    }

    CollectiveExecutor& m_executor; //!< who tells of it
    uint64_t m_token;               //!< its token
};

CollectiveExecutor::CollectiveExecutor(SessionListener& listener,
                                       Simulation& simulation,
                                       Recorder& recorder)
    : m_listener(listener),
      m_simulation(simulation),
      m_recorder(recorder)
{
}

void
CollectiveExecutor::Install(const NetworkDescription& description,
                            FabricNetwork& fabric,
                            MessageTransport& transport)
{
    m_tellsFailures = description.endpoint.tellsFailures;
    m_npus = static_cast<uint32_t>(description.hostOfNpu.count) - description.reducers;
    const EndpointCosts costs{description.endpoint.delayPs,
                              description.endpoint.reductionBytesPerNs};
    for (const uint32_t host : description.hostOfNpu)
    {
        Ptr<CollectiveApplication> application = CreateObject<CollectiveApplication>();
        const auto npu = static_cast<uint32_t>(m_applications.size());
        application->Configure(npu, npu < m_npus ? costs : IN_NO_TIME, &transport, this);
        fabric.GetNode(host)->AddApplication(application);
        m_applications.push_back(application);
    }
    for (uint64_t place = 0; place < description.endpoint.stillNpus.count; ++place)
    {
        m_applications.at(description.endpoint.stillNpus[place])
            ->StandStill(description.endpoint.stillBeginsPs[place],
                         description.endpoint.stillEndsPs[place]);
    }
    m_deliveredBytes.resize(m_applications.size());
}

void
CollectiveExecutor::MessageArrived(const CollectiveMessage& message)
{
    m_recorder.MessageArrived(message);
    m_applications[message.receiver]->Receive(message);
}

void
CollectiveExecutor::BytesArrived(uint32_t npu, int64_t bytes)
{
    m_deliveredBytes[npu] += bytes;
}

void
CollectiveExecutor::TransportFailed(const CollectiveMessage& message, const char* reason)
{
    if (!m_tellsFailures)
    {
        m_simulation.Fail(reason);
        return;
    }
    m_failures.push_back({message.instance, message.sender, reason});
    Tell({TRANSPORT_FAILED | (m_failures.size() - 1), 0, 1});
}

TransportFailure
CollectiveExecutor::GetTransportFailure(uint32_t number) const
{
    const Failure& failure = m_failures.at(number);
    return {failure.instance, failure.npu, failure.reason.c_str()};
}

MessageAccountant*
CollectiveExecutor::GetAccountant()
{
    return m_recorder.GetAccountant();
}

void
CollectiveExecutor::PhaseDone(uint32_t npu, uint64_t instance)
{
    if (npu < m_npus)
    {
        Tell({instance, npu, 0});
    }
}

bool
CollectiveExecutor::IsAbandoned(uint64_t instance) const
{
    const auto next = m_abandoned.upper_bound(instance);
    return next != m_abandoned.begin() && instance < std::prev(next)->second;
}

void
CollectiveExecutor::Tell(const Due& due)
{
    m_dues.push_back(due);
    if (m_simulation.NextOnlyTells())
    {
        return;
    }
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    m_told.clear();
    m_told.swap(m_dues);
    if (!m_flows.empty())
    {
        PlayFlows(nowPs);
    }
    if (m_told.empty())
    {
        return;
    }
    const Due first = m_told.front();
    if (m_told.size() > 1)
    {
        m_listener.SeveralDue(m_told.data(), static_cast<uint32_t>(m_told.size()), nowPs);
    }
    else if (first.isTimer)
    {
        m_listener.TimerDue(first.number, nowPs);
    }
    else
    {
        m_listener.PhaseDone(first.npu, first.number, nowPs);
    }
}

void
CollectiveExecutor::PlayFlows(int64_t nowPs)
{
    std::size_t kept = 0;
    for (const Due due : m_told)
    {
        FlowListPlayer* const flows = FindFlows(due);
        if (!flows)
        {
            m_told[kept++] = due;
            continue;
        }
        const bool isHeard =
            due.isTimer ? flows->StartDue(nowPs) : flows->PhaseDone(due.npu, due.number, nowPs);
        if (isHeard)
        {
            m_told[kept++] = {flows->GetToken(), 0, 1};
        }
    }
    m_told.resize(kept);
}

FlowListPlayer*
CollectiveExecutor::FindFlows(const Due& due) const
{
    if (due.isTimer)
    {
        return due.number & OF_FLOWS ? m_flows[due.number ^ OF_FLOWS].get() : nullptr;
    }
    for (const auto& flows : m_flows)
    {
        if (flows->Owns(due.number))
        {
            return flows.get();
        }
    }
    return nullptr;
}

uint32_t
CollectiveExecutor::OpenFlows(FlowListSetup setup)
{
    ElementOf(m_schedules, setup.schedule, "schedule");
    for (const uint32_t npu : setup.measured)
    {
        ElementOf(m_applications, npu, "NPU");
    }
    const auto number = static_cast<uint32_t>(m_flows.size());
    m_flows.push_back(std::make_unique<FlowListPlayer>(*this, number, std::move(setup)));
    return number;
}

FlowListPlayer&
CollectiveExecutor::GetFlows(uint32_t number)
{
    return *ElementOf(m_flows, number, "player of flows");
}

void
CollectiveExecutor::SetFlowTimer(uint32_t npu, int64_t delayPs, uint32_t number)
{
    SetTimer(npu, delayPs, OF_FLOWS | number);
}

const CollectiveApplication&
CollectiveExecutor::GetApplication(uint32_t npu) const
{
    return *m_applications[npu];
}

uint32_t
CollectiveExecutor::RegisterSchedule(const CollectiveScheduleColumns& columns)
{
    m_schedules.push_back(std::make_shared<CollectiveSchedule>(columns));
    return static_cast<uint32_t>(m_schedules.size() - 1);
}

uint32_t
CollectiveExecutor::RegisterGroup(const uint32_t* npus,
                                  uint32_t count,
                                  int64_t delayPs,
                                  uint32_t connections)
{
    auto group = MakeGroup(npus, count);
    group->delayPs = delayPs;
    group->connections = connections;
    m_groups.push_back(group);
    return static_cast<uint32_t>(m_groups.size() - 1);
}

void
CollectiveExecutor::SetPriority(uint32_t group, uint32_t priority)
{
    ElementOf(m_groups, group, "group")->priority = priority;
}

void
CollectiveExecutor::Abandon(uint64_t begin, uint64_t end)
{
    m_abandoned[begin] = end;
    for (const auto& application : m_applications)
    {
        application->Abandon(begin, end);
    }
    m_begun.erase(m_begun.lower_bound({begin, 0}), m_begun.lower_bound({end, 0}));
}

std::shared_ptr<CollectiveGroup>
CollectiveExecutor::MakeGroup(const uint32_t* npus, uint32_t count) const
{
    auto group = std::make_shared<CollectiveGroup>();
    group->members.reserve(count);
    for (uint32_t rank = 0; rank < count; ++rank)
    {
        if (npus[rank] >= m_applications.size() || !group->Add(npus[rank]))
        {
            throw std::invalid_argument("group: there is no NPU " + std::to_string(npus[rank]) +
                                        ", or it is in it twice");
        }
        group->reducers += npus[rank] >= m_npus ? 1 : 0;
    }
    return group;
}

uint32_t
CollectiveExecutor::RegisterChannel(const uint32_t* npus,
                                    uint32_t count,
                                    const uint32_t* servers,
                                    const uint64_t* costs)
{
    auto channel = std::make_unique<ChannelCosts>();
    channel->startPs = static_cast<int64_t>(costs[0]);
    channel->nearPs = static_cast<int64_t>(costs[1]);
    channel->farPs = static_cast<int64_t>(costs[2]);
    channel->nearCopyBytesPerMs = costs[3];
    channel->farCopyBytesPerMs = costs[4];
    channel->nearWirePerMille = static_cast<uint32_t>(costs[5]);
    channel->farWirePerMille = static_cast<uint32_t>(costs[6]);
    channel->copiesAsItComes = costs[7] != 0;
    channel->channel = static_cast<uint32_t>(costs[8]);
    channel->servers.assign(servers, servers + count);
    auto group = MakeGroup(npus, count);
    group->channel = std::move(channel);
    m_groups.push_back(group);
    return static_cast<uint32_t>(m_groups.size() - 1);
}

void
CollectiveExecutor::Launch(uint32_t npu,
                           uint64_t instance,
                           uint32_t schedule,
                           uint32_t group,
                           uint64_t bytes)
{
    const auto& played = ElementOf(m_schedules, schedule, "schedule");
    const auto& players = ElementOf(m_groups, group, "group");
    if (players->members.size() != played->GetRanks() || !players->FindRank(npu))
    {
        throw std::invalid_argument("launch: the group has not the schedule's ranks, or NPU " +
                                    std::to_string(npu) + " is not in it");
    }
    m_launches++;
    if (players->reducers > 0)
    {
        LaunchReducers(instance, schedule, group, bytes);
    }
    ElementOf(m_applications, npu, "NPU")->Launch(instance, played, players, bytes);
}

void
CollectiveExecutor::LaunchReducers(uint64_t instance,
                                   uint32_t schedule,
                                   uint32_t group,
                                   uint64_t bytes)
{
    const auto& players = m_groups[group];
    const std::size_t members = players->members.size() - players->reducers;
    std::size_t& begun = m_begun[{instance, group}];
    if (begun == 0)
    {
        for (std::size_t rank = members; rank < players->members.size(); ++rank)
        {
            m_applications[players->members[rank]]->Launch(instance,
                                                           m_schedules[schedule],
                                                           players,
                                                           bytes);
        }
    }
    if (++begun == members)
    {
        m_begun.erase({instance, group});
    }
}

void
CollectiveExecutor::SetTimer(uint32_t npu, int64_t delayPs, uint64_t token)
{
    const uint32_t context = ElementOf(m_applications, npu, "NPU")->GetNode()->GetId();
    Simulator::ScheduleWithContext(context,
                                   FabricDelay(delayPs, "a timer"),
                                   new TimerEvent(*this, token));
}

uint32_t
CollectiveExecutor::CountPending(uint32_t npu, uint64_t instance)
{
    m_pending = ElementOf(m_applications, npu, "NPU")->GetPending(instance);
    return static_cast<uint32_t>(m_pending.size());
}

PendingMessage
CollectiveExecutor::GetPending(uint32_t index) const
{
    const auto& message = ElementOf(m_pending, index, "pending message");
    return {message.sender, message.receiver, message.step, message.bytes, message.sent};
}

uint64_t
CollectiveExecutor::GetMessages() const
{
    uint64_t messages = 0;
    for (const auto& application : m_applications)
    {
        messages += application->GetSentMessages();
    }
    return messages;
}

uint64_t
CollectiveExecutor::GetSentBytes(uint32_t npu) const
{
    return ElementOf(m_applications, npu, "NPU")->GetSentBytes();
}

uint64_t
CollectiveExecutor::GetDeliveredBytes() const
{
    return static_cast<uint64_t>(
        std::accumulate(m_deliveredBytes.begin(), m_deliveredBytes.end(), int64_t{0}));
}

uint64_t
CollectiveExecutor::GetDeliveredBytes(uint32_t npu) const
{
    return static_cast<uint64_t>(ElementOf(m_deliveredBytes, npu, "NPU"));
}

} // namespace astra_ns3
