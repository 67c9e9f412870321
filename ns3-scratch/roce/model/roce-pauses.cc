// SPDX-License-Identifier: GPL-2.0-only
#include "roce-pauses.h"

#include <algorithm>

namespace ns3
{

RocePauses::RocePauses(FabricPort& port, std::function<int64_t()> oldestPs)
    : m_port(port),
      m_oldestPs(std::move(oldestPs))
{
    m_forgetAt.fill(FORGET_AT);
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        if (port.GetPaused() >> priority & 1)
        {
            m_stops[priority].push_back({port.GetPausedSincePs(priority), LASTS, 0});
        }
    }
    m_port.TraceConnectWithoutContext("Pause", MakeCallback(&RocePauses::Changed, this));
}

RocePauses::~RocePauses()
{
    m_port.TraceDisconnectWithoutContext("Pause", MakeCallback(&RocePauses::Changed, this));
}

void
RocePauses::Changed(Time time, uint8_t pausedPriorities)
{
    const int64_t nowPs = time.GetTimeStep();
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        std::vector<Stop>& stops = m_stops[priority];
        const bool was = !stops.empty() && stops.back().endPs == LASTS;
        const bool is = pausedPriorities >> priority & 1;
        if (was && !is)
        {
            stops.back().endPs = nowPs;
        }
        else if (is && !was)
        {
            if (stops.size() >= m_forgetAt[priority])
            {
                Forget(priority);
            }
            const int64_t beforePs =
                stops.empty() ? 0
                              : stops.back().beforePs + stops.back().endPs - stops.back().beginPs;
            stops.push_back({nowPs, LASTS, beforePs});
        }
    }
}

void
RocePauses::Forget(uint32_t priority)
{
    std::vector<Stop>& stops = m_stops[priority];
    const int64_t oldestPs = m_oldestPs();
    const auto first = std::find_if(stops.begin(), stops.end(), [oldestPs](const Stop& stop) {
        return stop.endPs > oldestPs;
    });
    // The last one stays in any case: the next one continues its sum.
    stops.erase(stops.begin(), std::min(first, stops.end() - 1));
    m_forgetAt[priority] = std::max(FORGET_AT, 2 * stops.size()); // each is moved once on average
}

int64_t
RocePauses::UntilPs(uint32_t priority, int64_t timePs) const
{
    const std::vector<Stop>& stops = m_stops[priority];
    const auto behind =
        std::upper_bound(stops.begin(), stops.end(), timePs, [](int64_t time, const Stop& stop) {
            return time < stop.beginPs;
        });
    if (behind == stops.begin())
    {
        return stops.front().beforePs;
    }
    const Stop& last = *(behind - 1);
    return last.beforePs + std::min(timePs, last.endPs) - last.beginPs;
}

} // namespace ns3
