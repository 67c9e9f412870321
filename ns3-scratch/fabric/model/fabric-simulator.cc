// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-simulator.h"

#include "fabric-crew.h"
#include "fabric-delay.h"
#include "fabric-frame.h"
#include "fabric-lane.h"
#include "fabric-port.h"
#include "fabric-telling-event.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricSimulator);

namespace
{
FabricSimulator* g_simulator = nullptr; //!< the one in use: ns-3 has one simulator per process
} // namespace

TypeId
FabricSimulator::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricSimulator")
                            .SetParent<SimulatorImpl>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricSimulator>();
    return tid;
}

FabricSimulator::FabricSimulator()
    : m_uid(EventId::UID::VALID),
      m_thread(std::this_thread::get_id())
{
    m_lanes.push_back(std::make_unique<FabricLane>());
    FabricLane::SetFirst(m_lanes.front().get());
    g_simulator = this;
}

FabricSimulator::~FabricSimulator()
{
    m_crew.reset();
    if (g_simulator == this)
    {
        g_simulator = nullptr;
        FabricLane::SetFirst(nullptr);
    }
}

FabricSimulator&
FabricSimulator::Get()
{
    if (!g_simulator)
    {
        Simulator::GetImplementation(); // ns-3 makes one when it is first asked
    }
    if (!g_simulator)
    {
        throw std::logic_error("ports need ns3::FabricSimulator as the simulator");
    }
    return *g_simulator;
}

FabricSimulator*
FabricSimulator::Find()
{
    return g_simulator;
}

FabricSimulator::Call
FabricSimulator::CallOf(const FabricDue& due)
{
    return due.IsArrival() ? Call::ARRIVAL : Call::WAKE;
}

bool
FabricSimulator::IsStale(const FabricDue& due)
{
    const FabricPort* port = due.GetPort();
    return port ? !port->IsDue(CallOf(due), due.timePs) : due.GetEvent()->IsCancelled();
}

void
FabricSimulator::Post(FabricPort* port, Call call, int64_t timePs)
{
    const bool arrives = call == Call::ARRIVAL;
    const uint32_t number = arrives ? port->GetFarGroup() : port->GetGroup();
    const FabricDue due{timePs,
                        arrives ? ARRIVALS + static_cast<uint64_t>(port->GetFirstSentPs()) : WAKES,
                        reinterpret_cast<uintptr_t>(port) |
                            (arrives ? FabricDue::ARRIVAL_MARK : FabricDue::WAKE_MARK),
                        arrives ? port->GetArrivalRank(timePs) : port->GetWakeRank()};
    if (IsInFirst(number, timePs))
    {
        m_first.Push(due);
        return;
    }
    if (timePs < m_groups[number].playedPs) [[unlikely]]
    {
        FabricRefuseThePast(timePs - m_groups[number].playedPs, port->GetName());
    }
    Put(FabricLane::Here(), number, due);
}

void
FabricSimulator::Put(FabricLane& lane, uint32_t number, const FabricDue& due)
{
    Group& group = m_groups[number];
    if (lane.group != number)
    {
        group.dues.Push(due);
        ListFor(number, due.timePs);
    }
    else if (lane.frontPlayed)
    {
        lane.frontPlayed = false;
        group.dues.ReplaceFront(due);
    }
    else
    {
        group.dues.Push(due);
    }
}

void
FabricSimulator::Forget(const FabricPort* port)
{
    const auto isOfPort = [port](const FabricDue& due) { return due.GetPort() == port; };
    m_first.EraseIf(isOfPort);
    for (Group& group : m_groups)
    {
        group.dues.EraseIf(isOfPort);
        std::erase(group.busy, port);
    }
    for (const auto& lane : m_lanes)
    {
        std::erase(lane->onTheWay, port);
        std::erase(lane->grown, port);
    }
    std::erase(m_emptied, port);
}

bool
FabricSimulator::HasLiveEvents() const
{
    const auto hasLive = [](const FabricDueList& list) {
        const auto& dues = list.GetAll();
        return std::any_of(dues.begin(), dues.end(), [](const FabricDue& due) {
            return !IsStale(due);
        });
    };
    return hasLive(m_first) ||
           std::any_of(m_groups.begin(), m_groups.end(), [&hasLive](const Group& group) {
               return hasLive(group.dues) ||
                      std::any_of(group.busy.begin(), group.busy.end(), [](FabricPort* port) {
                          return port->FindNextDeparturePs() != FabricFrameSource::NEVER;
                      });
           });
}

bool
FabricSimulator::NextOnlyTells() const
{
    if (m_first.IsEmpty() || m_first.Front().timePs != FabricNowPs() || m_first.Front().GetPort())
    {
        return false;
    }
    EventImpl* event = m_first.Front().GetEvent();
    const auto* next = dynamic_cast<const FabricTellingEvent*>(event);
    return next && !event->IsCancelled() && next->OnlyTells();
}

void
FabricSimulator::ShowTime(int64_t* place)
{
    m_shownPs = place;
}

int64_t
FabricSimulator::After(const Time& delay) const
{
    const int64_t delayPs = delay.GetTimeStep();
    if (delayPs < 0) [[unlikely]]
    {
        FabricRefuseThePast(delayPs, "somebody");
    }
    const int64_t nowPs = FabricNowPs();
    if (delayPs > std::numeric_limits<int64_t>::max() - nowPs) [[unlikely]]
    {
        FabricRefuseTheLong("an event");
    }
    return nowPs + delayPs;
}

EventId
FabricSimulator::Insert(int64_t timePs, uint32_t context, EventImpl* event)
{
    if (m_first.GetSize() >= m_sweepAt)
    {
        m_sweepAt = Sweep(m_first, SMALLEST_SWEEP);
    }
    const uint64_t number = m_uid++;
    // Another group acts on this one when its window ends.
    const int64_t duePs = FabricLane::Here().group == 0 ? timePs : std::max(timePs, m_windowEndPs);
    m_first.Push(
        {duePs, m_hasRun ? LATER + number : number, reinterpret_cast<uintptr_t>(event), context});
    return {Ptr<EventImpl>(event),
            static_cast<uint64_t>(duePs),
            context,
            static_cast<uint32_t>(number)};
}

EventId
FabricSimulator::Schedule(const Time& delay, EventImpl* event)
{
    const Ptr<EventImpl> held(event, false);
    const int64_t timePs = After(delay);
    event->Ref();
    return Insert(timePs, GetContext(), event);
}

void
FabricSimulator::ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event)
{
    if (std::this_thread::get_id() != m_thread)
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_foreign.push_back({context, delay.GetTimeStep(), event});
        m_hasForeign.store(true, std::memory_order_release);
        return;
    }
    const Ptr<EventImpl> held(event, false);
    const int64_t timePs = After(delay);
    event->Ref();
    Insert(timePs, context, event);
}

EventId
FabricSimulator::ScheduleNow(EventImpl* event)
{
    return Insert(FabricNowPs(), GetContext(), event);
}

EventId
FabricSimulator::ScheduleDestroy(EventImpl* event)
{
    m_destroyEvents.emplace_back(Ptr<EventImpl>(event, false),
                                 static_cast<uint64_t>(FabricNowPs()),
                                 Simulator::NO_CONTEXT,
                                 static_cast<uint32_t>(EventId::UID::DESTROY));
    return m_destroyEvents.back();
}

void
FabricSimulator::TakeInForeign()
{
    std::vector<Foreign> foreign;
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_hasForeign.store(false, std::memory_order_relaxed);
        foreign.swap(m_foreign);
    }
    for (const Foreign& each : foreign)
    {
        if (each.delayPs > 0)
        {
            Insert(After(TimeStep(each.delayPs)), each.context, each.event);
            continue;
        }
        // At once: in the list it would come between events of one moment, where nobody waits.
        FabricLane& lane = *m_lanes.front();
        Play(lane, {lane.nowPs, m_order, reinterpret_cast<uintptr_t>(each.event), each.context});
    }
}

EventId
FabricSimulator::ScheduleOn(uint32_t node, int64_t delayPs, EventImpl* event)
{
    const Ptr<EventImpl> held(event, false);
    const int64_t timePs = After(TimeStep(delayPs));
    event->Ref();
    const uint32_t group = m_hosts.empty() ? 0 : m_groupOfNode[node];
    const bool inFirst = IsInFirst(group, timePs);
    if (inFirst && m_first.GetSize() >= m_sweepAt)
    {
        m_sweepAt = Sweep(m_first, SMALLEST_SWEEP);
    }
    FabricLane& lane = FabricLane::Here();
    const uint64_t number = lane.IsFirst() ? m_uid++ : lane.uid++;
    // Another group acts on this one when its turn, or the window, ends.
    const int64_t playedPs = lane.group == group || lane.group == 0 ? 0
                             : inFirst                              ? m_windowEndPs
                                                                    : m_groups[group].playedPs;
    const FabricDue due{std::max(timePs, playedPs),
                        !m_hasRun  ? number
                        : m_byHost ? HOSTS + static_cast<uint64_t>(lane.nowPs)
                                   : LATER + number,
                        reinterpret_cast<uintptr_t>(event),
                        node,
                        static_cast<uint32_t>(number)};
    if (inFirst)
    {
        m_first.Push(due);
    }
    else
    {
        Put(lane, group, due);
    }
    return {Ptr<EventImpl>(event), static_cast<uint64_t>(due.timePs), node, due.sequence};
}

void
FabricSimulator::OrderByHost()
{
    m_byHost = true;
}

bool
FabricSimulator::IsApart() const
{
    return FabricLane::Here().group != 0;
}

std::size_t
FabricSimulator::Sweep(FabricDueList& dues, std::size_t smallest)
{
    dues.EraseIf([](const FabricDue& due) {
        const bool stale = IsStale(due);
        if (stale && !due.GetPort())
        {
            due.GetEvent()->Unref();
        }
        return stale;
    });
    return std::max(smallest, 2 * dues.GetSize());
}

void
FabricSimulator::Play(FabricLane& lane, const FabricDue& due)
{
    lane.nowPs = due.timePs;
    FabricPort* port = due.GetPort();
    if (!port)
    {
        PlayEvent(lane, due);
        return;
    }
    const Call call = CallOf(due);
    if (!port->IsDue(call, due.timePs))
    {
        return;
    }
    if (!lane.besideOthers)
    {
        *m_shownPs = due.timePs;
    }
    if (call == Call::ARRIVAL)
    {
        lane.events++;
        lane.lastPs = std::max(lane.lastPs, due.timePs);
        lane.context = port->GetFarContext();
        port->Arrive();
    }
    else
    {
        lane.context = Simulator::NO_CONTEXT;
        port->Wake();
    }
}

void
FabricSimulator::PlayEvent(FabricLane& lane, const FabricDue& due)
{
    lane.context = due.rank;
    const Ptr<EventImpl> event(due.GetEvent(), false);
    const bool live = !event->IsCancelled();
    // Which of the cancelled ones of hosts have been swept out depends on windows.
    if (live || due.order < HOSTS)
    {
        lane.lastPs = std::max(lane.lastPs, due.timePs);
    }
    if (live)
    {
        lane.events++;
        if (!lane.besideOthers)
        {
            *m_shownPs = due.timePs;
        }
        EventImpl* const before = std::exchange(lane.event, PeekPointer(event));
        event->Invoke();
        event->Cancel(); // for IsExpired
        lane.event = before;
    }
}

bool
FabricSimulator::PlayFirstGroup(int64_t endPs)
{
    FabricLane& lane = *m_lanes.front();
    while (!m_stop)
    {
        if (m_hasForeign.load(std::memory_order_acquire) && !NextOnlyTells()) [[unlikely]]
        {
            TakeInForeign();
            continue; // it may have said Stop
        }
        if (m_first.IsEmpty() || m_first.Front().timePs > endPs)
        {
            return true;
        }
        const FabricDue due = m_first.Pop();
        m_order = due.order;
        m_rank = due.rank;
        Play(lane, due);
    }
    return false;
}

void
FabricSimulator::Run()
{
    m_stop = false;
    m_hasRun = true;
    if (m_groups.empty())
    {
        if (PlayFirstGroup(NEVER))
        {
            TurnBackTime();
        }
        return;
    }
    try
    {
        while (m_inWindow || BeginWindow())
        {
            if (!ThreadsPlayHosts() && !PlayFirstGroup(m_windowEndPs - 1))
            {
                CatchUp();
                return;
            }
            EndWindow();
        }
    }
    catch (...)
    {
        LeaveCrew();
        throw;
    }
    TurnBackTime();
}

void
FabricSimulator::TurnBackTime()
{
    int64_t lastPs = 0;
    for (const auto& lane : m_lanes)
    {
        lastPs = std::max(lastPs, lane->lastPs);
    }
    m_lanes.front()->nowPs = lastPs;
}

void
FabricSimulator::Stop()
{
    m_stop = true;
}

EventId
FabricSimulator::Stop(const Time& delay)
{
    return Simulator::Schedule(delay, [] { Simulator::Stop(); });
}

void
FabricSimulator::Destroy()
{
    ReleaseDues();
    while (!m_destroyEvents.empty())
    {
        const Ptr<EventImpl> event = m_destroyEvents.front().PeekEventImpl();
        m_destroyEvents.erase(m_destroyEvents.begin());
        if (!event->IsCancelled())
        {
            event->Invoke();
        }
    }
    ReleaseDues();
}

void
FabricSimulator::ReleaseDues()
{
    LeaveCrew();
    m_crew.reset();
    const auto release = [](FabricDueList& dues) {
        dues.EraseIf([](const FabricDue& due) {
            if (!due.GetPort())
            {
                due.GetEvent()->Unref();
            }
            return true;
        });
    };
    release(m_first);
    for (Group& group : m_groups)
    {
        release(group.dues);
    }
    m_groups.clear();
    m_hosts.clear();
    m_groupOfNode.clear();
    m_hostTurns.clear();
    m_played = {};
    m_inOrder = false;
    for (const auto& lane : m_lanes)
    {
        lane->listed.clear();
        lane->listedHosts.clear();
        lane->onTheWay.clear();
        lane->grown.clear();
        FabricFramePool::Balance(*lane, 0);
    }
    for (const Foreign& each : m_foreign)
    {
        each.event->Unref();
    }
    m_foreign.clear();
    m_emptied.clear();
    m_active.clear();
    m_inWindow = false;
}

bool
FabricSimulator::IsFinished() const
{
    return m_stop || (!m_crewPlays && !HasLiveEvents());
}

void
FabricSimulator::Remove(const EventId& id)
{
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        std::erase(m_destroyEvents, id);
        return;
    }
    if (IsExpired(id))
    {
        return;
    }
    const auto target = reinterpret_cast<uintptr_t>(id.PeekEventImpl());
    const auto& all = m_first.GetAll();
    const auto found = std::find_if(all.begin(), all.end(), [target](const FabricDue& due) {
        return due.target == target;
    });
    id.PeekEventImpl()->Cancel();
    if (found != all.end())
    {
        m_first.Erase(static_cast<std::size_t>(found - all.begin()));
        id.PeekEventImpl()->Unref();
    }
}

void
FabricSimulator::Cancel(const EventId& id)
{
    if (!IsExpired(id))
    {
        id.PeekEventImpl()->Cancel();
    }
}

bool
FabricSimulator::IsExpired(const EventId& id) const
{
    EventImpl* event = id.PeekEventImpl();
    if (!event || event->IsCancelled())
    {
        return true;
    }
    if (id.GetUid() == EventId::UID::DESTROY)
    {
        return std::find(m_destroyEvents.begin(), m_destroyEvents.end(), id) ==
               m_destroyEvents.end();
    }
    return event == FabricLane::Here().event; // it has begun
}

Time
FabricSimulator::Now() const
{
    return TimeStep(FabricNowPs());
}

Time
FabricSimulator::GetDelayLeft(const EventId& id) const
{
    return IsExpired(id) ? TimeStep(0) : TimeStep(static_cast<int64_t>(id.GetTs()) - FabricNowPs());
}

Time
FabricSimulator::GetMaximumSimulationTime() const
{
    return TimeStep(std::numeric_limits<int64_t>::max());
}

void
FabricSimulator::SetScheduler(ObjectFactory)
{
}

uint32_t
FabricSimulator::GetSystemId() const
{
    return 0;
}

uint32_t
FabricSimulator::GetContext() const
{
    return FabricLane::Here().context;
}

uint64_t
FabricSimulator::GetEventCount() const
{
    return m_lanes.front()->events;
}

} // namespace ns3
