// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-simulator.h"

#include "fabric-delay.h"
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

constexpr uintptr_t ARRIVAL_MARK = 1; // in the address of a port
constexpr uintptr_t WAKE_MARK = 2;
constexpr uintptr_t MARKS = 3;

/// \return the port that is due, or none: it is an event of ns-3
FabricPort*
PortOf(uintptr_t target)
{
    return (target & MARKS) == 0 ? nullptr : reinterpret_cast<FabricPort*>(target & ~MARKS);
}

/// \return what the port is due for
FabricSimulator::Call
CallOf(uintptr_t target)
{
    return (target & MARKS) == ARRIVAL_MARK ? FabricSimulator::Call::ARRIVAL
                                            : FabricSimulator::Call::WAKE;
}

/// \return the event that is due; it must be one
EventImpl*
EventOf(uintptr_t target)
{
    return reinterpret_cast<EventImpl*>(target);
}
} // namespace

void
FabricSimulator::List::SiftUp(std::size_t place)
{
    const Due due = m_heap[place];
    while (place > 0)
    {
        const std::size_t parent = (place - 1) / WAYS;
        if (!IsBefore(due, m_heap[parent]))
        {
            break;
        }
        m_heap[place] = m_heap[parent];
        place = parent;
    }
    m_heap[place] = due;
}

void
FabricSimulator::List::SiftDown(std::size_t place)
{
    const Due due = m_heap[place];
    const std::size_t size = m_heap.size();
    for (std::size_t child = place * WAYS + 1; child < size; child = place * WAYS + 1)
    {
        std::size_t least = child;
        const std::size_t end = std::min(child + WAYS, size);
        for (std::size_t other = child + 1; other < end; ++other)
        {
            if (IsBefore(m_heap[other], m_heap[least]))
            {
                least = other;
            }
        }
        if (!IsBefore(m_heap[least], due))
        {
            break;
        }
        m_heap[place] = m_heap[least];
        place = least;
    }
    m_heap[place] = due;
}

void
FabricSimulator::List::Push(const Due& due)
{
    m_heap.push_back(due);
    SiftUp(m_heap.size() - 1);
}

void
FabricSimulator::List::ReplaceFront(const Due& due)
{
    m_heap.front() = due;
    SiftDown(0);
}

FabricSimulator::Due
FabricSimulator::List::Pop()
{
    const Due due = m_heap.front();
    Erase(0);
    return due;
}

void
FabricSimulator::List::Erase(std::size_t place)
{
    const Due moved = m_heap.back();
    m_heap.pop_back();
    if (place < m_heap.size())
    {
        m_heap[place] = moved;
        SiftDown(place);
        SiftUp(place);
    }
}

template <class CONDITION>
std::size_t
FabricSimulator::List::EraseIf(const CONDITION& condition)
{
    const std::size_t erased = std::erase_if(m_heap, condition);
    for (std::size_t place = m_heap.size() / WAYS + 1; place-- > 0;)
    {
        if (place < m_heap.size())
        {
            SiftDown(place);
        }
    }
    return erased;
}

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
    : m_context(Simulator::NO_CONTEXT),
      m_uid(EventId::UID::VALID),
      m_firstLaterUid(std::numeric_limits<uint32_t>::max()),
      m_thread(std::this_thread::get_id())
{
    g_simulator = this;
}

FabricSimulator::~FabricSimulator()
{
    g_simulator = g_simulator == this ? nullptr : g_simulator;
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

bool
FabricSimulator::IsStale(const Due& due)
{
    const FabricPort* port = PortOf(due.target);
    return port ? !port->IsDue(CallOf(due.target), due.timePs) : EventOf(due.target)->IsCancelled();
}

void
FabricSimulator::Post(FabricPort* port, Call call, int64_t timePs)
{
    const bool arrives = call == Call::ARRIVAL;
    const uint32_t group = arrives ? port->GetFarGroup() : port->GetGroup();
    const Due due{timePs,
                  arrives ? ARRIVALS + static_cast<uint64_t>(port->GetFirstSentPs()) : WAKES,
                  reinterpret_cast<uintptr_t>(port) | (arrives ? ARRIVAL_MARK : WAKE_MARK),
                  arrives ? port->GetArrivalRank(timePs) : port->GetWakeRank(),
                  group};
    // What comes from another group is put on its way when the window begins in which it arrives.
    const bool crosses = arrives && port->GetGroup() != group;
    const bool stays = group == 0 && !crosses;
    if (m_groups.empty() || stays)
    {
        m_first.Push(due);
    }
    else if (timePs >= m_windowEndPs || !m_inWindow)
    {
        PutAside(due);
    }
    else if (m_group == 0)
    {
        HandOut(due);
    }
    else if (group == m_group)
    {
        List& dues = m_groups[group].dues;
        if (m_frontPlayed)
        {
            m_frontPlayed = false;
            dues.ReplaceFront(due);
            return;
        }
        dues.Push(due);
    }
    else
    {
        FabricRefuseThePast(timePs - m_windowEndPs, port->GetName());
    }
}

void
FabricSimulator::NoteEmptied(FabricPort* port)
{
    m_emptied.push_back(port);
}

void
FabricSimulator::Forget(const FabricPort* port)
{
    const auto isOfPort = [port](const Due& due) { return PortOf(due.target) == port; };
    m_first.EraseIf(isOfPort);
    m_far.EraseIf(isOfPort);
    for (Group& group : m_groups)
    {
        group.dues.EraseIf(isOfPort);
        std::erase_if(group.handedOut, isOfPort);
    }
    for (auto& bucket : m_buckets)
    {
        m_aside -= std::erase_if(bucket, isOfPort);
    }
    std::erase(m_emptied, port);
}

void
FabricSimulator::UseWindows(uint32_t groups, int64_t windowPs)
{
    m_groups.resize(groups);
    m_buckets.resize(BUCKETS);
    m_windowPs = windowPs;
    m_windowEndPs = 0;
    // What is due already was put where it would wait without windows.
    std::vector<Due> posted;
    m_first.EraseIf([&posted](const Due& due) {
        if (PortOf(due.target))
        {
            posted.push_back(due);
        }
        return PortOf(due.target) != nullptr;
    });
    for (const Due& due : posted)
    {
        Post(PortOf(due.target), CallOf(due.target), due.timePs);
    }
}

void
FabricSimulator::CatchUp()
{
    if (m_inWindow && m_group == 0)
    {
        const int64_t nowPs = m_nowPs;
        const uint32_t context = m_context;
        PlayOtherGroups({nowPs, m_order, 0, m_rank, 0});
        m_nowPs = nowPs;
        m_context = context;
    }
}

bool
FabricSimulator::HasLiveEvents() const
{
    const auto isLive = [](const Due& due) { return !IsStale(due); };
    const auto hasLive = [&isLive](const std::vector<Due>& dues) {
        return std::any_of(dues.begin(), dues.end(), isLive);
    };
    return hasLive(m_first.GetAll()) || hasLive(m_far.GetAll()) ||
           std::any_of(m_buckets.begin(), m_buckets.end(), hasLive) ||
           std::any_of(m_groups.begin(), m_groups.end(), [&hasLive](const Group& group) {
               return hasLive(group.dues.GetAll()) || hasLive(group.handedOut);
           });
}

bool
FabricSimulator::NextOnlyTells() const
{
    if (m_first.IsEmpty() || m_first.Front().timePs != m_nowPs || PortOf(m_first.Front().target))
    {
        return false;
    }
    EventImpl* event = EventOf(m_first.Front().target);
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
    if (delayPs > std::numeric_limits<int64_t>::max() - m_nowPs) [[unlikely]]
    {
        FabricRefuseTheLong("an event");
    }
    return m_nowPs + delayPs;
}

EventId
FabricSimulator::Insert(int64_t timePs, uint32_t context, EventImpl* event)
{
    if (m_first.GetSize() >= m_sweepAt)
    {
        Sweep();
    }
    const uint64_t number = m_uid++;
    // Another group acts on this one when its window ends.
    const int64_t duePs = m_group == 0 ? timePs : std::max(timePs, m_windowEndPs);
    m_first.Push({duePs,
                  m_hasRun ? LATER + number : number,
                  reinterpret_cast<uintptr_t>(event),
                  context,
                  0});
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
    return Insert(timePs, m_context, event);
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
    return Insert(m_nowPs, m_context, event);
}

EventId
FabricSimulator::ScheduleDestroy(EventImpl* event)
{
    m_destroyEvents.emplace_back(Ptr<EventImpl>(event, false),
                                 static_cast<uint64_t>(m_nowPs),
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
        Play({m_nowPs, m_order, reinterpret_cast<uintptr_t>(each.event), each.context, 0});
    }
}

void
FabricSimulator::Sweep()
{
    m_first.EraseIf([](const Due& due) {
        const bool stale = IsStale(due);
        if (stale && !PortOf(due.target))
        {
            EventOf(due.target)->Unref();
        }
        return stale;
    });
    m_sweepAt = std::max(SMALLEST_SWEEP, 2 * m_first.GetSize());
}

void
FabricSimulator::Play(const Due& due)
{
    m_nowPs = due.timePs;
    FabricPort* port = PortOf(due.target);
    if (!port)
    {
        m_context = due.rank;
        const Ptr<EventImpl> event(EventOf(due.target), false);
        if (!event->IsCancelled())
        {
            m_events++;
            *m_shownPs = due.timePs;
            event->Invoke();
        }
        return;
    }
    const Call call = CallOf(due.target);
    if (!port->IsDue(call, due.timePs))
    {
        return;
    }
    *m_shownPs = due.timePs;
    if (call == Call::ARRIVAL)
    {
        m_events++;
        m_context = port->GetFarContext();
        port->Arrive();
    }
    else
    {
        m_context = Simulator::NO_CONTEXT;
        port->Wake();
    }
}

bool
FabricSimulator::PlayFirstGroup(int64_t endPs)
{
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
        const Due due = m_first.Pop();
        m_order = due.order;
        m_rank = due.rank;
        Play(due);
    }
    return false;
}

void
FabricSimulator::PlayOtherGroups(const Due& end)
{
    for (std::size_t place = 0; place < m_active.size(); ++place)
    {
        m_group = m_active[place];
        Group& group = m_groups[m_group];
        BeginTurn(group);
        while (!group.dues.IsEmpty() && IsBefore(group.dues.Front(), end))
        {
            // What comes next on the same link takes its place, as a rule.
            m_frontPlayed = true;
            const Due due = group.dues.Front();
            Play(due);
            if (m_frontPlayed)
            {
                group.dues.Erase(0);
            }
        }
    }
    m_frontPlayed = false;
    m_group = 0;
}

void
FabricSimulator::BeginTurn(Group& group)
{
    for (const Due& due : group.handedOut)
    {
        PortOf(due.target)->PrefetchLink();
    }
    for (const Due& due : group.handedOut)
    {
        FabricPort* port = PortOf(due.target);
        if (CallOf(due.target) == Call::ARRIVAL)
        {
            // All that arrives in this window has left before it.
            port->Settle(m_window * m_windowPs - 1);
            port->PrefetchFrames();
        }
        group.dues.Push(due);
    }
    group.handedOut.clear();
}

void
FabricSimulator::PutAside(const Due& due)
{
    const int64_t window = due.timePs / m_windowPs;
    if (window >= m_window + static_cast<int64_t>(BUCKETS))
    {
        m_far.Push(due);
        return;
    }
    std::vector<Due>& bucket = m_buckets[static_cast<std::size_t>(window) % BUCKETS];
    if (bucket.capacity() == 0 && !m_spare.empty())
    {
        bucket.swap(m_spare.back()); // so that few buckets at a time have memory
        m_spare.pop_back();
    }
    bucket.push_back(due);
    m_aside++;
}

int64_t
FabricSimulator::FindFirstAsidePs() const
{
    if (m_aside == 0)
    {
        return m_far.IsEmpty() ? NEVER : m_far.Front().timePs;
    }
    for (int64_t window = m_window + 1;; ++window)
    {
        if (!m_buckets[static_cast<std::size_t>(window) % BUCKETS].empty())
        {
            return window * m_windowPs;
        }
    }
}

void
FabricSimulator::HandOut(const Due& due)
{
    if (due.group == 0)
    {
        m_first.Push(due);
        return;
    }
    Group& group = m_groups[due.group];
    group.handedOut.push_back(due);
    if (!group.listed)
    {
        group.listed = true;
        m_active.push_back(due.group);
    }
}

bool
FabricSimulator::BeginWindow()
{
    const int64_t firstPs =
        std::min(m_first.IsEmpty() ? NEVER : m_first.Front().timePs, FindFirstAsidePs());
    if (firstPs == NEVER)
    {
        return false;
    }
    m_window = firstPs / m_windowPs;
    const int64_t beginPs = m_window * m_windowPs;
    m_windowEndPs = beginPs > NEVER - m_windowPs ? NEVER : beginPs + m_windowPs;
    while (!m_far.IsEmpty() &&
           m_far.Front().timePs / m_windowPs < m_window + static_cast<int64_t>(BUCKETS))
    {
        PutAside(m_far.Pop());
    }
    std::vector<Due> dues;
    dues.swap(m_buckets[static_cast<std::size_t>(m_window) % BUCKETS]);
    m_aside -= dues.size();
    m_inWindow = true;
    m_nowPs = std::max(m_nowPs, beginPs);
    for (const Due& due : dues)
    {
        PortOf(due.target)->PrefetchLink();
    }
    for (const Due& due : dues)
    {
        if (due.group == 0)
        {
            PortOf(due.target)->Settle(beginPs - 1); // all that arrives in this window has left
        }
        HandOut(due);
    }
    if (dues.capacity() > 0)
    {
        dues.clear();
        m_spare.push_back(std::move(dues));
    }
    return true;
}

void
FabricSimulator::EndWindow()
{
    for (const uint32_t group : m_active)
    {
        m_groups[group].listed = false;
    }
    m_active.clear();
    m_inWindow = false;
    const int64_t nowPs = m_nowPs;
    m_nowPs = m_windowEndPs - 1;
    for (FabricPort* port : m_emptied)
    {
        port->WindowEnded(m_nowPs);
    }
    m_emptied.clear();
    m_nowPs = nowPs;
}

void
FabricSimulator::Run()
{
    m_stop = false;
    if (!m_hasRun)
    {
        m_hasRun = true;
        m_firstLaterUid = static_cast<uint32_t>(m_uid);
    }
    if (m_groups.empty())
    {
        PlayFirstGroup(NEVER);
        return;
    }
    while (m_inWindow || BeginWindow())
    {
        if (!PlayFirstGroup(m_windowEndPs - 1))
        {
            CatchUp();
            return;
        }
        const int64_t nowPs = m_nowPs;
        PlayOtherGroups({m_windowEndPs, 0, 0, 0, 0});
        m_nowPs = std::max(nowPs, m_nowPs);
        EndWindow();
    }
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
    const auto release = [](const Due& due) {
        if (!PortOf(due.target))
        {
            EventOf(due.target)->Unref();
        }
        return true;
    };
    m_first.EraseIf(release);
    m_groups.clear();
    m_buckets.clear();
    m_far.EraseIf(release);
    for (const Foreign& each : m_foreign)
    {
        each.event->Unref();
    }
    m_foreign.clear();
    m_emptied.clear();
    m_inWindow = false;
}

bool
FabricSimulator::IsFinished() const
{
    return m_stop || !HasLiveEvents();
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
    const auto found = std::find_if(all.begin(), all.end(), [target](const Due& due) {
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
    const auto timePs = static_cast<int64_t>(id.GetTs());
    if (timePs != m_nowPs)
    {
        return timePs < m_nowPs;
    }
    // Of this very moment: what the present event comes after has been played.
    const bool early = id.GetUid() < m_firstLaterUid;
    if (m_order < ARRIVALS || m_order >= LATER)
    {
        const bool isEarly = m_order < ARRIVALS;
        return early != isEarly
                   ? early
                   : static_cast<int32_t>(id.GetUid() - static_cast<uint32_t>(m_order)) <= 0;
    }
    return early;
}

Time
FabricSimulator::Now() const
{
    return TimeStep(m_nowPs);
}

Time
FabricSimulator::GetDelayLeft(const EventId& id) const
{
    return IsExpired(id) ? TimeStep(0) : TimeStep(static_cast<int64_t>(id.GetTs()) - m_nowPs);
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
    return m_context;
}

uint64_t
FabricSimulator::GetEventCount() const
{
    return m_events;
}

} // namespace ns3
