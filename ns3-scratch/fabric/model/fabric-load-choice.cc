// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-load-choice.h"

#include "fabric-port-loads.h"
#include "fabric-port.h"

#include <algorithm>
#include <cstddef>

namespace ns3
{

namespace
{
/// \return where a port is first among the choices
std::size_t
PlaceOf(uint32_t port, const FabricRoutes::Ports& choices)
{
    return std::find(choices.first, choices.first + choices.count, port) - choices.first;
}
} // namespace

uint32_t
FabricLoadChoice::Choose(const FabricFrame&,
                         const FabricRoutes::Ports& choices,
                         const std::vector<Ptr<FabricPort>>& ports)
{
    std::vector<double> loads;
    if (m_countsFlows)
    {
        m_flows.resize(ports.size());
        loads = FabricPortLoads(choices, ports);
    }
    uint32_t best = 0;
    double shortest = 0.0;
    const uint32_t first = m_next++;
    for (uint32_t turn = 0; turn < choices.count; ++turn)
    {
        const uint32_t number = choices.first[(first + turn) % choices.count];
        FabricPort& port = *ports[number];
        const double length = m_countsFlows
                                  ? (m_flows[number] + 1.0) / loads[PlaceOf(number, choices)]
                                  : static_cast<double>(port.GetQueueBytes()) / port.GetRateBps();
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

void
FabricLoadChoice::RoutesChanged()
{
    m_flows.clear();
}

} // namespace ns3
