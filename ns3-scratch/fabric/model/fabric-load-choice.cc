// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-load-choice.h"

#include "fabric-port.h"

namespace ns3
{

uint32_t
FabricLoadChoice::Choose(const FabricFrame&,
                         const FabricRoutes::Ports& choices,
                         const std::vector<Ptr<FabricPort>>& ports)
{
    m_flows.resize(m_countsFlows ? ports.size() : 0);
    uint32_t best = 0;
    double shortest = 0.0;
    const uint32_t first = m_next++;
    for (uint32_t turn = 0; turn < choices.count; ++turn)
    {
        const uint32_t number = choices.first[(first + turn) % choices.count];
        FabricPort& port = *ports[number];
        const double waiting =
            m_countsFlows ? m_flows[number] + 1.0 : static_cast<double>(port.GetQueueBytes());
        const double length = waiting / static_cast<double>(port.GetRateBps());
        if (turn == 0 || length < shortest)
        {
            best = number;
            shortest = length;
        }
    }
    if (m_countsFlows)
    {
        m_flows[best] += 1.0;
    }
    return best;
}

} // namespace ns3
