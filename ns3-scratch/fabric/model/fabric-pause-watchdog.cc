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
    m_places[PeekPointer(port)] = m_ports.size();
    port->TraceConnectWithoutContext("Pause",
                                     MakeCallback(&FabricPauseWatchdog::PauseChanged, this));
    m_ports.push_back({port, std::move(name)});
}

uint64_t
FabricPauseWatchdog::GetStorms() const
{
    return m_storms;
}

void
FabricPauseWatchdog::PauseChanged(Time, uint8_t pausedPriorities)
{
    if (pausedPriorities != 0 && !m_check.IsPending())
    {
        m_check = Simulator::Schedule(TimeStep(m_limitPs), &FabricPauseWatchdog::Check, this);
    }
}

void
FabricPauseWatchdog::Check()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    bool stopped = false;
    for (std::size_t place = 0; place < m_ports.size(); ++place)
    {
        const FabricPort& port = *m_ports[place].port;
        for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
        {
            if ((port.GetPaused() >> priority & 1) == 0)
            {
                continue;
            }
            stopped = true;
            if (nowPs - port.GetPausedSincePs(priority) < m_limitPs)
            {
                continue;
            }
            const std::vector<Stop> circle = FindCircle({place, priority});
            if (!circle.empty())
            {
                m_deadlock(Describe(circle));
                return;
            }
            m_storms++;
        }
    }
    if (stopped)
    {
        m_check = Simulator::Schedule(TimeStep(m_limitPs), &FabricPauseWatchdog::Check, this);
    }
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
