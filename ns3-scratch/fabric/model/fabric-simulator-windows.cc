// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * The windows of a FabricSimulator: which group has a turn in which, what a turn is, who plays it,
 * and what is handed over between windows.
 */
#include "fabric-crew.h"
#include "fabric-delay.h"
#include "fabric-frame.h"
#include "fabric-host-group.h"
#include "fabric-lane.h"
#include "fabric-port.h"
#include "fabric-simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{

namespace
{
constexpr uint32_t SPARE_FRAMES = 64; // of a thread that plays switches

/// A thread plays a group until this goes, whatever is thrown.
class Turn
{
  public:
    Turn(FabricLane& lane, uint32_t group, bool besideOthers)
        : m_lane(lane)
    {
        m_lane.group = group;
        m_lane.besideOthers = besideOthers;
    }

    ~Turn()
    {
        m_lane.group = 0;
        m_lane.besideOthers = false;
        m_lane.frontPlayed = false;
    }

    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

  private:
    FabricLane& m_lane; //!< of the thread
};
} // namespace

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
            m_lanes.back()->number = core;
            m_lanes.back()->uid = EventId::UID::VALID;
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
        if (due.GetPort())
        {
            posted.push_back(due);
        }
        return due.GetPort() != nullptr;
    });
    for (const FabricDue& due : posted)
    {
        Post(due.GetPort(), CallOf(due), due.timePs);
    }
}

void
FabricSimulator::PlayHostsApart(std::vector<uint32_t> groupOfNode,
                                std::vector<FabricHostGroup*> hosts,
                                std::function<void(int64_t)> played)
{
    m_groupOfNode = std::move(groupOfNode);
    m_hosts = std::move(hosts);
    m_played = std::move(played);
}

bool
FabricSimulator::MustBeInOrder() const
{
    if (m_hasForeign.load(std::memory_order_acquire) || m_stop ||
        (!m_first.IsEmpty() && m_first.Front().timePs < m_windowEndPs))
    {
        return true;
    }
    return std::any_of(m_active.begin(), m_active.end(), [this](uint32_t number) {
        return IsOfHosts(number) && m_hosts[number - 1]->MayTell(m_windowEndPs);
    });
}

void
FabricSimulator::PutInOrder()
{
    for (const uint32_t number : m_active)
    {
        FabricDueList& dues = m_groups[number].dues;
        while (IsOfHosts(number) && !dues.IsEmpty() && dues.Front().timePs < m_windowEndPs)
        {
            m_first.Push(dues.Pop());
        }
    }
    if (HasCrew())
    {
        const auto hostsEnd =
            std::partition_point(m_active.begin(), m_active.end(), [this](uint32_t each) {
                return IsOfHosts(each);
            });
        m_hostTurns.assign(m_active.begin(), hostsEnd);
        m_active.erase(m_active.begin(), hostsEnd);
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
        FindActive(false);
    }
    PlayOtherGroups({nowPs, m_order, 0, m_rank});
    if (m_crew)
    {
        HandOver();
    }
    lane.nowPs = nowPs;
    lane.context = context;
}

void
FabricSimulator::PlayOtherGroups(const FabricDue& end)
{
    FabricLane& lane = *m_lanes.front();
    for (std::size_t place = 0; place < m_active.size(); ++place)
    {
        const Turn turn(lane, m_active[place], HasCrew());
        PlayGroup(lane, m_groups[lane.group], end);
    }
}

void
FabricSimulator::PlayGroup(FabricLane& lane, Group& group, const FabricDue& end)
{
    const auto& dues = group.dues.GetAll();
    for (const FabricDue& due : dues)
    {
        if (due.timePs < end.timePs && due.GetPort())
        {
            due.GetPort()->PrefetchLink();
        }
    }
    for (const FabricDue& due : dues)
    {
        if (due.timePs < end.timePs && due.IsArrival())
        {
            due.GetPort()->PrefetchFrames();
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
    const int64_t endPs = EndOf(WindowOf(number));
    const Turn turn(lane, number, HasCrew());
    if (group.dues.GetSize() >= group.sweepAt)
    {
        group.sweepAt = Sweep(group.dues, FEW_DUES);
    }
    PlayGroup(lane, group, {endPs, 0, 0, 0});
    SettleBusy(lane, group, endPs);
    ListNext(lane, number);
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
    const int64_t next = WindowOf(number) + 1;
    group.active = false;
    group.listedFor = group.dues.IsEmpty() ? NEVER : group.dues.Front().timePs / m_windowPs;
    if (!group.busy.empty())
    {
        group.listedFor = std::min(group.listedFor, next);
    }
    if (group.listedFor == NEVER || group.listedFor == group.listedFar)
    {
        return; // a timer that is far away is in the list once, however many turns come before
    }
    (IsOfHosts(number) ? lane.listedHosts : lane.listed)[group.listedFor].push_back(number);
    if (group.listedFor > next)
    {
        group.listedFar = group.listedFor;
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
    const bool isOfHosts = IsOfHosts(number);
    FabricLane& first = *m_lanes.front();
    if (m_inWindow && window <= WindowOf(number))
    {
        group.active = true;
        (isOfHosts && HasCrew() ? m_hostTurns : m_active).push_back(number);
    }
    else if (window < group.listedFor)
    {
        group.listedFor = window;
        (isOfHosts ? first.listedHosts : first.listed)[window].push_back(number);
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
    const int64_t behind = HasCrew() ? 1 : 0;
    if (!m_active.empty())
    {
        return m_switchWindow + behind; // played in part
    }
    int64_t first = NEVER;
    for (const auto& lane : m_lanes)
    {
        if (!lane->listed.empty())
        {
            first = std::min(first, lane->listed.begin()->first + behind);
        }
        if (!lane->listedHosts.empty())
        {
            first = std::min(first, lane->listedHosts.begin()->first);
        }
    }
    return first;
}

void
FabricSimulator::TakeListed(std::map<int64_t, std::vector<uint32_t>>& listed, int64_t window)
{
    while (!listed.empty() && listed.begin()->first <= window)
    {
        for (const uint32_t number : listed.begin()->second)
        {
            Group& group = m_groups[number];
            if (!group.active && group.listedFor <= window)
            {
                group.active = true;
                m_active.push_back(number);
            }
        }
        listed.erase(listed.begin());
    }
}

void
FabricSimulator::FindActive(bool hosts)
{
    for (const auto& lane : m_lanes)
    {
        TakeListed(lane->listed, m_switchWindow);
        if (hosts)
        {
            TakeListed(lane->listedHosts, m_window);
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
    m_window = std::min(first, other);
    m_switchWindow = m_window - behind;
    m_windowEndPs = EndOf(m_window);
    m_inWindow = true;
    FindActive(true);
    m_inOrder = !m_hosts.empty() && MustBeInOrder();
    if (m_inOrder)
    {
        PutInOrder();
    }
    else if (!m_hosts.empty())
    {
        m_apart++;
    }
    if (!HasCrew() || !m_hosts.empty())
    {
        FabricLane& lane = *m_lanes.front();
        lane.nowPs = std::max(lane.nowPs, m_window * m_windowPs);
    }
    if (ThreadsPlayHosts())
    {
        *m_shownPs = m_window * m_windowPs;
    }
    const bool firstPlays = first <= m_window || m_inOrder;
    if (HasCrew() && (m_active.size() > 1 || (!m_active.empty() && firstPlays)))
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
        for (const uint32_t number : m_hostTurns)
        {
            PlayTurn(lane, number);
        }
        m_hostTurns.clear();
        if (m_switchWindow < m_window)
        {
            FinishTurns();
        }
        m_inWindow = false;
        HandOver();
        if (m_played)
        {
            m_played(m_windowEndPs);
        }
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
        else if (note.flow)
        {
            note.flow->TurnsEnded();
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
    m_hostTurns.clear();
}

bool
FabricSimulator::HasCrew() const
{
    return m_crew != nullptr;
}

} // namespace ns3
