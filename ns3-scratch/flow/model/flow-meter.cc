// SPDX-License-Identifier: GPL-2.0-only
#include "flow-meter.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{
constexpr uint64_t MOST_BYTES = 1U << 31; // told at once
constexpr double NOTHING = 1e-12; // bytes per picosecond: what adding and taking away leaves over
} // namespace

FlowMeter::FlowMeter(int64_t intervalPs)
    : m_intervalPs(intervalPs)
{
}

void
FlowMeter::AddLink(FabricPort* port)
{
    m_links.push_back({port});
    m_used = m_used || port;
}

void
FlowMeter::Tell(Link& link, int64_t nowPs) const
{
    while (link.toldPs < nowPs && link.load > NOTHING)
    {
        const int64_t endPs = std::min((link.toldPs / m_intervalPs + 1) * m_intervalPs, nowPs);
        link.rest += link.load * static_cast<double>(endPs - link.toldPs);
        for (auto whole = static_cast<uint64_t>(std::max(link.rest, 0.0)); whole > 0;)
        {
            const uint64_t bytes = std::min(whole, MOST_BYTES);
            link.port->TellLine(link.toldPs, bytes);
            link.rest -= static_cast<double>(bytes);
            whole -= bytes;
        }
        link.toldPs = endPs;
    }
    link.toldPs = nowPs;
}

void
FlowMeter::TellAll(int64_t nowPs)
{
    for (Link& link : m_links)
    {
        if (link.port)
        {
            Tell(link, nowPs);
        }
    }
}

void
FlowMeter::Pass(int64_t nowPs)
{
    while (nowPs - m_passedPs >= m_intervalPs)
    {
        const bool carries = std::any_of(m_links.begin(), m_links.end(), [](const Link& link) {
            return link.load > NOTHING;
        });
        m_passedPs = carries ? m_passedPs + m_intervalPs : nowPs / m_intervalPs * m_intervalPs;
        TellAll(m_passedPs);
    }
}

} // namespace ns3
