// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-pause-watchdog.h"

#include "fabric-switch.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

namespace ns3
{

FabricPauseWatchdog::FabricPauseWatchdog(int64_t limitPs, DeadlockCallback deadlock)
    : m_limitPs(limitPs),
      m_deadlock(std::move(deadlock))
{
}

FabricPauseWatchdog::~FabricPauseWatchdog()
{
    m_check.Cancel();
}

void
FabricPauseWatchdog::AddPort(Ptr<FabricPort> port, std::string name)
{
    const std::size_t place = m_ports.size();
    m_places[PeekPointer(port)] = place;
    port->TraceConnectWithoutContext(
        "Pause",
        Callback<void, Time, uint8_t>([this, place](Time time, uint8_t pausedPriorities) {
            PauseChanged(place, time, pausedPriorities);
        }));
    m_ports.push_back({port, std::move(name)});
}

uint64_t
FabricPauseWatchdog::GetStorms()
{
    Count(Simulator::Now().GetTimeStep());
    return m_storms;
}

std::string
FabricPauseWatchdog::DescribeLongest()
{
    if (GetStorms() == 0)
    {
        return "";
    }
    std::ostringstream text;
    text << m_ports[m_longest.port].name << ", priority " << m_longest.priority << ", for "
         << static_cast<double>(m_longestPs) / 1e6 << " us";
    return text.str();
}

void
FabricPauseWatchdog::NoteLength(const Pause& pause, int64_t endPs)
{
    if (endPs - pause.sincePs > m_longestPs)
    {
        m_longestPs = endPs - pause.sincePs;
        m_longest = pause.stop;
    }
}

void
FabricPauseWatchdog::Count(int64_t nowPs)
{
    for (Pause& pause : m_pauses)
    {
        NoteLength(pause, nowPs);
        if (!pause.counted && nowPs - pause.sincePs >= m_limitPs)
        {
            pause.counted = true;
            m_storms++;
        }
    }
}

void
FabricPauseWatchdog::PauseChanged(std::size_t place, Time time, uint8_t pausedPriorities)
{
    const int64_t nowPs = time.GetTimeStep();
    const uint8_t before = m_ports[place].stopped;
    m_ports[place].stopped = pausedPriorities;
    if (before & ~pausedPriorities)
    {
        Count(nowPs);
        m_pauses.erase(std::remove_if(m_pauses.begin(),
                                      m_pauses.end(),
                                      [place, pausedPriorities](const Pause& pause) {
                                          return pause.stop.port == place &&
                                                 (pausedPriorities >> pause.stop.priority & 1) == 0;
                                      }),
                       m_pauses.end());
    }
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        if ((pausedPriorities & ~before) >> priority & 1)
        {
            m_pauses.push_back({{place, priority}, nowPs, false});
        }
    }
    if (!m_check.IsPending())
    {
        ScheduleCheck(nowPs);
    }
}

void
FabricPauseWatchdog::ScheduleCheck(int64_t nowPs)
{
    if (m_pauses.empty())
    {
        return;
    }
    // Old ones again after a while too: others may yet close a circle with them.
    int64_t dueInPs = m_limitPs;
    for (const Pause& pause : m_pauses)
    {
        if (!pause.counted)
        {
            dueInPs = std::min(dueInPs, pause.sincePs + m_limitPs - nowPs);
        }
    }
    m_check = Simulator::Schedule(TimeStep(std::max<int64_t>(dueInPs, 0)),
                                  &FabricPauseWatchdog::Check,
                                  this);
}

void
FabricPauseWatchdog::Check()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    Count(nowPs);
    for (const Pause& pause : m_pauses)
    {
        const std::vector<Stop> circle =
            pause.counted ? FindCircle(pause.stop) : std::vector<Stop>();
        if (!circle.empty())
        {
            m_deadlock(Describe(circle));
            return;
        }
    }
    ScheduleCheck(nowPs);
}

std::vector<FabricPauseWatchdog::Stop>
FabricPauseWatchdog::WaitsFor(const Stop& stop) const
{
    std::vector<Stop> found;
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const FabricPort& waiting = *m_ports[stop.port].port;
    auto* stopper = dynamic_cast<FabricSwitch*>(waiting.GetReceiver());
    if (!stopper)
    {
        return found;
    }
    for (uint32_t number = 0; number < stopper->GetNPorts(); ++number)
    {
        const Ptr<FabricPort> port = stopper->GetPort(number);
        const auto place = m_places.find(PeekPointer(port));
        // One that was stopped just now may be let go on yet; in a deadlock it stays stopped.
        if (place == m_places.end() || (port->GetPaused() >> stop.priority & 1) == 0 ||
            nowPs - port->GetPausedSincePs(stop.priority) < m_limitPs)
        {
            continue;
        }
        const FabricFrameList& queue = port->GetQueue(stop.priority);
        const FabricFrame* frame = queue.IsEmpty() ? nullptr : queue.Front();
        while (frame && frame->ingressPort != waiting.GetReceiverPort())
        {
            frame = frame->next;
        }
        if (frame)
        {
            found.push_back({place->second, stop.priority});
        }
    }
    return found;
}

std::vector<FabricPauseWatchdog::Stop>
FabricPauseWatchdog::FindCircle(const Stop& start) const
{
    // Depth first, without recursion: a path, and for each port on it what is left to try.
    std::vector<Stop> path{start};
    std::vector<std::vector<Stop>> left{WaitsFor(start)};
    std::set<std::size_t> seen{start.port};
    while (!path.empty())
    {
        if (left.back().empty())
        {
            path.pop_back();
            left.pop_back();
            continue;
        }
        const Stop next = left.back().back();
        left.back().pop_back();
        if (next.port == start.port)
        {
            return path;
        }
        if (seen.insert(next.port).second)
        {
            path.push_back(next);
            left.push_back(WaitsFor(next));
        }
    }
    return {};
}

std::string
FabricPauseWatchdog::Describe(const std::vector<Stop>& circle) const
{
    std::ostringstream text;
    text << "PFC deadlock in priority " << circle.front().priority << ": ";
    for (const Stop& stop : circle)
    {
        text << m_ports[stop.port].name << " waits for ";
    }
    text << m_ports[circle.front().port].name << ", stopped since "
         << m_ports[circle.front().port].port->GetPausedSincePs(circle.front().priority) / 1000
         << " ns; break the circle of paths, or raise the switch buffer";
    return text.str();
}

} // namespace ns3
