// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-pause-watchdog.h"

#include "fabric-switch.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>
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
    for (const Watched& watched : m_ports)
    {
        watched.port->SetPauseListener(nullptr);
    }
    m_check.Cancel();
}

void
FabricPauseWatchdog::AddPort(Ptr<FabricPort> port, std::string name)
{
    const std::size_t place = m_ports.size();
    m_places[PeekPointer(port)] = place;
    port->SetPauseListener(this);
    m_ports.push_back({port, std::move(name)});
}

void
FabricPauseWatchdog::CatchUp()
{
    FabricSimulator::Get().CatchUp();
    for (const Watched& watched : m_ports)
    {
        if (watched.port->GetCredits())
        {
            watched.port->GetCounters(); // credit may have come while nobody looked
        }
    }
}

uint64_t
FabricPauseWatchdog::GetStorms()
{
    CatchUp();
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
    // Ports are heard in no order of time, so equal ones go by their numbers.
    const int64_t lengthPs = endPs - pause.sincePs;
    if (lengthPs > m_longestPs || (lengthPs == m_longestPs && pause.stop.port < m_longest.port))
    {
        m_longestPs = lengthPs;
        m_longest = pause.stop;
    }
}

void
FabricPauseWatchdog::Count(int64_t nowPs)
{
    for (Pause& pause : m_pauses)
    {
        CountOne(pause, nowPs);
    }
}

void
FabricPauseWatchdog::CountOne(Pause& pause, int64_t nowPs)
{
    NoteLength(pause, nowPs);
    if (!pause.counted && nowPs - pause.sincePs >= m_limitPs)
    {
        pause.counted = true;
        m_storms++;
    }
}

void
FabricPauseWatchdog::PauseChanged(const FabricPort& port, int64_t nowPs, uint8_t pausedPriorities)
{
    const std::size_t place = m_places.at(&port);
    const uint8_t before = m_ports[place].stopped;
    m_ports[place].stopped = pausedPriorities;
    std::erase_if(m_pauses, [this, place, pausedPriorities, nowPs](Pause& pause) {
        const bool ends =
            pause.stop.port == place && (pausedPriorities >> pause.stop.priority & 1) == 0;
        if (ends)
        {
            CountOne(pause, nowPs);
        }
        return ends;
    });
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        if ((pausedPriorities & ~before) >> priority & 1)
        {
            m_pauses.push_back({{place, priority}, nowPs, false});
            CheckAt(nowPs + m_limitPs);
        }
    }
}

void
FabricPauseWatchdog::CheckAt(int64_t timePs)
{
    if (m_check.IsPending())
    {
        if (static_cast<int64_t>(m_check.GetTs()) <= timePs)
        {
            return;
        }
        m_check.Cancel();
    }
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    m_check = Simulator::Schedule(TimeStep(std::max<int64_t>(timePs - nowPs, 0)),
                                  &FabricPauseWatchdog::Check,
                                  this);
}

void
FabricPauseWatchdog::ScheduleCheck(int64_t nowPs)
{
    if (m_pauses.empty())
    {
        return;
    }
    // Old ones again after a while too: others may yet close a circle with them.
    int64_t duePs = nowPs + m_limitPs;
    for (const Pause& pause : m_pauses)
    {
        if (!pause.counted)
        {
            duePs = std::min(duePs, pause.sincePs + m_limitPs);
        }
    }
    CheckAt(duePs);
}

void
FabricPauseWatchdog::Check()
{
    CatchUp();
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    Count(nowPs);
    std::sort(m_pauses.begin(), m_pauses.end(), [](const Pause& a, const Pause& b) {
        return std::tie(a.sincePs, a.stop.port, a.stop.priority) <
               std::tie(b.sincePs, b.stop.port, b.stop.priority);
    });
    FindStuck();
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
        for (uint32_t priority = 0; place != m_places.end() && priority < FABRIC_PRIORITIES;
             ++priority)
        {
            // One that was stopped just now may be let go on yet; in a deadlock it stays stopped.
            if (IsStoppedForLong(*port, priority, nowPs) &&
                BytesFrom(port->GetQueue(priority), waiting.GetReceiverPort(), stop.priority) > 0 &&
                (!port->GetCredits() || m_stuck.contains({place->second, priority})))
            {
                found.push_back({place->second, priority});
            }
        }
    }
    return found;
}

bool
FabricPauseWatchdog::IsStoppedForLong(const FabricPort& port,
                                      uint32_t priority,
                                      int64_t nowPs) const
{
    return (port.GetPaused() >> priority & 1) &&
           nowPs - port.GetPausedSincePs(priority) >= m_limitPs;
}

uint64_t
FabricPauseWatchdog::BytesFrom(const FabricFrameList& queue, uint32_t ingressPort, uint32_t lane)
{
    uint64_t bytes = 0;
    for (const FabricFrame* frame = queue.GetFirst(); frame; frame = frame->next)
    {
        const bool came = frame->ingressPort == ingressPort && frame->ingressLane == lane;
        bytes += came ? frame->bufferBytes : 0;
    }
    return bytes;
}

uint64_t
FabricPauseWatchdog::CountStuckBytes(const Key& lane) const
{
    const FabricPort& waiting = *m_ports[lane.first].port;
    auto* stopper = dynamic_cast<FabricSwitch*>(waiting.GetReceiver());
    uint64_t bytes = 0;
    for (uint32_t number = 0; stopper && number < stopper->GetNPorts(); ++number)
    {
        const Ptr<FabricPort> port = stopper->GetPort(number);
        const auto place = m_places.find(PeekPointer(port));
        for (uint32_t next = 0; place != m_places.end() && next < FABRIC_PRIORITIES; ++next)
        {
            bytes += m_stuck.contains({place->second, next})
                         ? BytesFrom(port->GetQueue(next), waiting.GetReceiverPort(), lane.second)
                         : 0;
        }
    }
    return bytes;
}

void
FabricPauseWatchdog::FindStuck()
{
    m_stuck.clear();
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (std::size_t place = 0; place < m_ports.size(); ++place)
    {
        const FabricPort& port = *m_ports[place].port;
        for (uint32_t lane = 0; port.GetCredits() && lane < FABRIC_PRIORITIES; ++lane)
        {
            if (IsStoppedForLong(port, lane, nowPs))
            {
                m_stuck.insert({place, lane});
            }
        }
    }
    // Any frame that leaves gives credit. So a lane is stuck only if all that it has sent waits in
    // lanes that are stuck: none of it travels, no credit is on its way, and no other lane has any.
    const auto isFree = [this](const Key& lane) {
        const FabricCredits& credits = *m_ports[lane.first].port->GetCredits();
        return credits.GetLink().laneBytes - credits.GetBytes(lane.second) != CountStuckBytes(lane);
    };
    while (std::erase_if(m_stuck, isFree) > 0)
    {
        // others may have waited for these
    }
}

std::vector<FabricPauseWatchdog::Stop>
FabricPauseWatchdog::FindCircle(const Stop& start) const
{
    // Depth first, without recursion: a path, and for each port on it what is left to try.
    std::vector<Stop> path{start};
    std::vector<std::vector<Stop>> left{WaitsFor(start)};
    const auto key = [](const Stop& stop) { return Key(stop.port, stop.priority); };
    if (m_ports[start.port].port->GetCredits() && !m_stuck.contains(key(start)))
    {
        return {};
    }
    std::set<Key> seen{key(start)};
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
        if (key(next) == key(start))
        {
            return path;
        }
        if (seen.insert(key(next)).second)
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
    const Stop& first = circle.front();
    const bool byCredit = m_ports[first.port].port->GetCredits() != nullptr;
    const auto name = [this, byCredit](const Stop& stop) {
        const std::string lane = " lane " + std::to_string(stop.priority);
        return m_ports[stop.port].name + (byCredit ? lane : "");
    };
    std::ostringstream text;
    text << (byCredit ? "credit deadlock: "
                      : "PFC deadlock in priority " + std::to_string(first.priority) + ": ");
    for (const Stop& stop : circle)
    {
        text << name(stop) << " waits for ";
    }
    text << name(first) << ", stopped since "
         << m_ports[first.port].port->GetPausedSincePs(first.priority) / 1000
         << " ns; break the circle of paths, or "
         << (byCredit ? "give credits more lanes" : "raise the switch buffer");
    return text.str();
}

} // namespace ns3
