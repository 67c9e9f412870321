// SPDX-License-Identifier: GPL-2.0-only
#include "telling-delay.h"

#include "fabric-clock.h"
#include "fabric-network.h"
#include "fabric-port.h"
#include "fabric-simulator.h"

#include <algorithm>

namespace astra_ns3
{

using namespace ns3;

TellingDelay::TellingDelay(const FabricNetwork& fabric, FabricChanges* changes)
    : m_fabric(fabric)
{
    RoutesChanged();
    if (changes)
    {
        changes->AddListener(this);
    }
}

void
TellingDelay::RoutesChanged()
{
    for (uint32_t node = 0; node < m_fabric.GetNNodes(); ++node)
    {
        for (uint32_t port = 0; port < m_fabric.GetNPorts(node); ++port)
        {
            m_longestPs = std::max(m_longestPs, m_fabric.GetPort(node, port)->GetDelayPs());
        }
    }
}

int64_t
TellingDelay::GetToldPs() const
{
    return FabricNowPs() - m_longestPs - FabricSimulator::Get().GetLeastDelayPs();
}

} // namespace astra_ns3
