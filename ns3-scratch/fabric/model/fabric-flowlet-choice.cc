// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-flowlet-choice.h"

#include "fabric-lane.h"

namespace ns3
{

FabricFlowletChoice::FabricFlowletChoice(int64_t gapPs, uint32_t seed, bool countsFlows)
    : m_gapPs(gapPs),
      m_least(seed, countsFlows)
{
}

uint32_t
FabricFlowletChoice::Choose(const FabricFrame& frame,
                            const FabricRoutes::Ports& choices,
                            const std::vector<Ptr<FabricPort>>& ports)
{
    const int64_t nowPs = FabricNowPs();
    const auto [found, isNew] =
        m_flows.try_emplace(uint64_t{frame.destination} << 32 | frame.flowHash);
    Flow& flow = found->second;
    if (isNew || nowPs - flow.lastPs > m_gapPs)
    {
        flow.port = m_least.Choose(frame, choices, ports);
    }
    flow.lastPs = nowPs;
    return flow.port;
}

void
FabricFlowletChoice::RoutesChanged()
{
    m_flows.clear();
    m_least.RoutesChanged();
}

} // namespace ns3
