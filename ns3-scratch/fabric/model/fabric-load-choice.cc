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
    uint32_t best = 0;
    double shortest = 0.0;
    const uint32_t first = m_next++;
    for (uint32_t turn = 0; turn < choices.count; ++turn)
    {
        const uint32_t number = choices.first[(first + turn) % choices.count];
        FabricPort& port = *ports[number];
        const double length =
            static_cast<double>(port.GetQueueBytes()) / static_cast<double>(port.GetRateBps());
        if (turn == 0 || length < shortest)
        {
            best = number;
            shortest = length;
        }
    }
    return best;
}

} // namespace ns3
