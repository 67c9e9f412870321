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

constexpr uintptr_t ARRIVAL_MARK = 1; // in the address of a port
constexpr uintptr_t WAKE_MARK = 2;
constexpr uintptr_t MARKS = 3;
constexpr uint32_t SPARE_FRAMES = 64; // of a thread that plays switches

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
      m_firstLaterUid(std::numeric_limits<uint32_t>::max()),
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

bool
FabricSimulator::IsStale(const FabricDue& due)
{
    const FabricPort* port = PortOf(due.target);
    return port ? !port->IsDue(CallOf(due.target), due.timePs) : EventOf(due.target)->IsCancelled();
}

void
FabricSimulator::Post(FabricPort* port, Call call, int64_t timePs)
{
    const bool arrives = call == Call::ARRIVAL;
    const uint32_t number = arrives ? port->GetFarGroup() : port->GetGroup();
    const FabricDue due{timePs,
                        arrives ? ARRIVALS + static_cast<uint64_t>(port->GetFirstSentPs()) : WAKES,
                        reinterpret_cast<uintptr_t>(port) | (arrives ? ARRIVAL_MARK : WAKE_MARK),
                        arrives ? port->GetArrivalRank(timePs) : port->GetWakeRank()};
    if (number == 0 || m_groups.empty())
    {
        m_first.Push(due);
        return;
    }
    Group& group = m_groups[number];
    if (timePs < group.playedPs) [[unlikely]]
    {
        FabricRefuseThePast(timePs - group.playedPs, port->GetName());
    }
    FabricLane& lane = FabricLane::Here();
    if (lane.group != number)
    {
        group.dues.Push(due);
        ListFor(number, timePs);
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
FabricSimulator::NoteEmptied(FabricPort* port)
{
    m_emptied.push_back(port);
}

void
FabricSimulator::NoteBusy(FabricPort* port)
{
    m_groups[port->GetGroup()].busy.push_back(port);
    if (port->GetGroup() != FabricLane::Here().group)
    {
        ListFor(port->GetGroup(), m_windowEndPs);
    }
}

void
FabricSimulator::Forget(const FabricPort* port)
{
    const auto isOfPort = [port](const FabricDue& due) { return PortOf(due.target) == port; };
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

void
FabricSimulator::UseWindows(uint32_t groups, int64_t windowPs, uint32_t cores)
{
    m_groups = std::vector<Group>(groups);
    m_windowPs = windowPs;
    m_windowEndPs = 0;
    if (cores > 1)
    {
        for (uint32_t core = 1; core < cores; ++core)
        {
            m_lanes.push_back(std::make_unique<FabricLane>());
        }
        m_crew = std::make_unique<FabricCrew>(cores - 1, [this](uint32_t worker, uint32_t piece) {
            FabricLane& lane = *m_lanes[worker];
            if (worker > 0) // the simulation's thread has its lane whatever it does
            {
                FabricLane::Enter(&lane);
            }
            PlayTurn(lane, m_active[piece]);
        });
    }
    // What is due already was put where it would wait without windows.
    std::vector<FabricDue> posted;
    m_first.EraseIf([&posted](const FabricDue& due) {
        if (PortOf(due.target))
        {
            posted.push_back(due);
        }
        return PortOf(due.target) != nullptr;
    });
    for (const FabricDue& due : posted)
    {
        Post(PortOf(due.target), CallOf(due.target), due.timePs);
    }
}

void
FabricSimulator::CatchUp()
{
    FabricLane& lane = FabricLane::Here();
    if (!m_inWindow || lane.group != 0)
    {
        return;
    }
    const int64_t nowPs = lane.nowPs;
    const uint32_t context = lane.context;
    if (m_switchWindow < m_window)
    {
        FinishTurns();
        m_switchWindow = m_window;
        HandOver();
        FindActive();
    }
    PlayOtherGroups({nowPs, m_order, 0, m_rank});
    if (m_crew)
    {
        HandOver();
    }
    lane.nowPs = nowPs;
    lane.context = context;
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
    if (m_first.IsEmpty() || m_first.Front().timePs != FabricNowPs() ||
        PortOf(m_first.Front().target))
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
        Sweep();
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

void
FabricSimulator::Sweep()
{
    m_first.EraseIf([](const FabricDue& due) {
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
FabricSimulator::Play(FabricLane& lane, const FabricDue& due)
{
    lane.nowPs = due.timePs;
    FabricPort* port = PortOf(due.target);
    if (!port)
    {
        lane.lastPs = std::max(lane.lastPs, due.timePs);
        lane.context = due.rank;
        const Ptr<EventImpl> event(EventOf(due.target), false);
        if (!event->IsCancelled())
        {
            lane.events++;
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
FabricSimulator::PlayOtherGroups(const FabricDue& end)
{
    FabricLane& lane = *m_lanes.front();
    lane.besideOthers = HasCrew();
    for (std::size_t place = 0; place < m_active.size(); ++place)
    {
        lane.group = m_active[place];
        PlayGroup(lane, m_groups[lane.group], end);
    }
    lane.group = 0;
    lane.besideOthers = false;
}

void
FabricSimulator::PlayGroup(FabricLane& lane, Group& group, const FabricDue& end)
{
    const auto& dues = group.dues.GetAll();
    for (const FabricDue& due : dues)
    {
        if (due.timePs < end.timePs)
        {
            PortOf(due.target)->PrefetchLink();
        }
    }
    for (const FabricDue& due : dues)
    {
        if (due.timePs < end.timePs && CallOf(due.target) == Call::ARRIVAL)
        {
            PortOf(due.target)->PrefetchFrames();
        }
    }
    while (!group.dues.IsEmpty() && group.dues.Front().IsBefore(end))
    {
        // What comes next on the same link takes its place, as a rule.
        lane.frontPlayed = true;
        const FabricDue due = group.dues.Front();
        Play(lane, due);
        if (lane.frontPlayed)
        {
            group.dues.Erase(0);
        }
    }
    lane.frontPlayed = false;
    group.playedPs = end.timePs;
}

void
FabricSimulator::PlayTurn(FabricLane& lane, uint32_t number)
{
    Group& group = m_groups[number];
    const int64_t endPs = EndOf(m_switchWindow);
    lane.group = number;
    lane.besideOthers = HasCrew();
    PlayGroup(lane, group, {endPs, 0, 0, 0});
    SettleBusy(lane, group, endPs);
    ListNext(lane, number);
    lane.group = 0;
    lane.besideOthers = false;
}

void
FabricSimulator::SettleBusy(FabricLane& lane, Group& group, int64_t endPs)
{
    const int64_t nowPs = lane.nowPs;
    lane.nowPs = endPs - 1;
    std::size_t kept = 0;
    for (std::size_t place = 0; place < group.busy.size(); ++place)
    {
        FabricPort* port = group.busy[place];
        if (port->EndTurn(endPs - 1, endPs > NEVER - m_windowPs ? NEVER : endPs + m_windowPs))
        {
            group.busy[kept++] = port;
        }
    }
    group.busy.resize(kept);
    lane.nowPs = nowPs;
}

void
FabricSimulator::ListNext(FabricLane& lane, uint32_t number)
{
    Group& group = m_groups[number];
    group.active = false;
    group.listedFor = group.dues.IsEmpty() ? NEVER : group.dues.Front().timePs / m_windowPs;
    if (!group.busy.empty())
    {
        group.listedFor = std::min(group.listedFor, m_switchWindow + 1);
    }
    if (group.listedFor != NEVER)
    {
        lane.listed[group.listedFor].push_back(number);
    }
}

void
FabricSimulator::ListFor(uint32_t number, int64_t timePs)
{
    Group& group = m_groups[number];
    const int64_t window = timePs / m_windowPs;
    if (number == 0 || group.active)
    {
        return;
    }
    if (m_inWindow && window <= m_switchWindow)
    {
        group.active = true;
        m_active.push_back(number);
    }
    else if (window < group.listedFor)
    {
        group.listedFor = window;
        m_lanes.front()->listed[window].push_back(number);
    }
}

int64_t
FabricSimulator::EndOf(int64_t window) const
{
    return window * m_windowPs > NEVER - m_windowPs ? NEVER : (window + 1) * m_windowPs;
}

int64_t
FabricSimulator::FindFirstWindow() const
{
    if (!m_groups.front().busy.empty())
    {
        return m_window + 1;
    }
    return m_first.IsEmpty() ? NEVER : m_first.Front().timePs / m_windowPs;
}

int64_t
FabricSimulator::FindOtherWindow() const
{
    if (!m_active.empty())
    {
        return m_switchWindow; // played in part
    }
    int64_t first = NEVER;
    for (const auto& lane : m_lanes)
    {
        first = lane->listed.empty() ? first : std::min(first, lane->listed.begin()->first);
    }
    return first;
}

void
FabricSimulator::FindActive()
{
    for (const auto& lane : m_lanes)
    {
        while (!lane->listed.empty() && lane->listed.begin()->first <= m_switchWindow)
        {
            for (const uint32_t number : lane->listed.begin()->second)
            {
                Group& group = m_groups[number];
                if (!group.active && group.listedFor <= m_switchWindow)
                {
                    group.active = true;
                    m_active.push_back(number);
                }
            }
            lane->listed.erase(lane->listed.begin());
        }
    }
    std::sort(m_active.begin(), m_active.end()); // so that a thread has what it had, as a rule
}

bool
FabricSimulator::BeginWindow()
{
    const int64_t first = FindFirstWindow();
    const int64_t other = FindOtherWindow();
    const int64_t behind = HasCrew() ? 1 : 0;
    if (first == NEVER && other == NEVER)
    {
        return false;
    }
    m_window = other == NEVER ? first : std::min(first, other + behind);
    m_switchWindow = m_window - behind;
    m_windowEndPs = EndOf(m_window);
    m_inWindow = true;
    FindActive();
    if (!HasCrew())
    {
        FabricLane& lane = *m_lanes.front();
        lane.nowPs = std::max(lane.nowPs, m_window * m_windowPs);
    }
    else if (m_active.size() > 1 || (!m_active.empty() && first <= m_window))
    {
        m_crewPlays = true;
        m_crew->Begin(static_cast<uint32_t>(m_active.size()));
    }
    return true;
}

void
FabricSimulator::FinishTurns()
{
    FabricLane& lane = *m_lanes.front();
    const int64_t nowPs = lane.nowPs;
    if (std::exchange(m_crewPlays, false))
    {
        m_crew->Finish();
    }
    else
    {
        for (std::size_t place = 0; place < m_active.size(); ++place)
        {
            PlayTurn(lane, m_active[place]);
        }
    }
    lane.nowPs = HasCrew() ? nowPs : std::max(nowPs, lane.nowPs);
    m_active.clear();
}

void
FabricSimulator::EndWindow()
{
    FabricLane& lane = *m_lanes.front();
    if (HasCrew())
    {
        SettleBusy(lane, m_groups.front(), m_windowEndPs);
        if (m_switchWindow < m_window)
        {
            FinishTurns();
        }
        m_inWindow = false;
        HandOver();
        return;
    }
    FinishTurns();
    m_inWindow = false;
    const int64_t nowPs = std::exchange(lane.nowPs, m_windowEndPs - 1);
    for (FabricPort* port : m_emptied)
    {
        port->WindowEnded(lane.nowPs);
    }
    m_emptied.clear();
    lane.nowPs = nowPs;
}

void
FabricSimulator::HandOver()
{
    for (const auto& lane : m_lanes)
    {
        for (FabricPort* port : lane->grown)
        {
            port->MergeLink();
        }
        lane->grown.clear();
    }
    for (const auto& lane : m_lanes)
    {
        for (FabricPort* port : lane->onTheWay)
        {
            port->HandOver();
        }
        lane->onTheWay.clear();
        if (lane != m_lanes.front())
        {
            m_lanes.front()->events += std::exchange(lane->events, 0);
            FabricFramePool::Balance(*lane, SPARE_FRAMES);
        }
    }
    TellNotes();
}

void
FabricSimulator::TellNotes()
{
    std::vector<FabricNote> notes;
    for (const auto& lane : m_lanes)
    {
        notes.insert(notes.end(), lane->notes.begin(), lane->notes.end());
        lane->notes.clear();
    }
    std::stable_sort(notes.begin(), notes.end(), [](const FabricNote& a, const FabricNote& b) {
        return a.timePs != b.timePs ? a.timePs < b.timePs : a.rank < b.rank;
    });
    for (const FabricNote& note : notes)
    {
        if (note.frame && note.frame->flow)
        {
            note.frame->flow->FrameLost(note.frame);
        }
        else if (note.frame)
        {
            FabricFramePool::Give(note.frame);
        }
        else
        {
            note.port->TellPaused(note.timePs, note.priorities);
        }
    }
}

void
FabricSimulator::LeaveCrew()
{
    try
    {
        if (std::exchange(m_crewPlays, false))
        {
            m_crew->Finish();
        }
    }
    catch (...)
    {
        m_crewPlays = false; // one error is enough to tell
    }
    m_active.clear();
    m_lanes.front()->group = 0;
    m_lanes.front()->besideOthers = false;
}

bool
FabricSimulator::HasCrew() const
{
    return m_crew != nullptr;
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
            if (!PlayFirstGroup(m_windowEndPs - 1))
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
    m_first.EraseIf([](const FabricDue& due) {
        if (!PortOf(due.target))
        {
            EventOf(due.target)->Unref();
        }
        return true;
    });
    m_groups.clear();
    for (const auto& lane : m_lanes)
    {
        lane->listed.clear();
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
    const auto timePs = static_cast<int64_t>(id.GetTs());
    if (timePs != FabricNowPs())
    {
        return timePs < FabricNowPs();
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
