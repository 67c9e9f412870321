// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-routes.h"

#include <algorithm>

namespace ns3
{

void
FabricRoutes::SetGroups(std::shared_ptr<const FabricHostGroups> groups,
                        std::vector<uint32_t> setOfGroup,
                        std::vector<uint32_t> setOffsets,
                        std::vector<uint32_t> setPorts)
{
    m_groups = std::move(groups);
    m_setOfGroup = std::move(setOfGroup);
    m_setOffsets = std::move(setOffsets);
    m_setPorts = std::move(setPorts);
}

void
FabricRoutes::SetLocal(const std::vector<uint32_t>& hosts, const std::vector<uint32_t>& ports)
{
    if (hosts.empty())
    {
        return;
    }
    const auto [lowest, highest] = std::minmax_element(hosts.begin(), hosts.end());
    m_firstLocal = *lowest;
    m_localOffsets.assign(*highest - *lowest + 2, 0);
    for (uint32_t host : hosts)
    {
        m_localOffsets[host - m_firstLocal + 1]++;
    }
    for (std::size_t place = 1; place < m_localOffsets.size(); ++place)
    {
        m_localOffsets[place] += m_localOffsets[place - 1];
    }
    m_localPorts.resize(hosts.size());
    std::vector<uint32_t> next = m_localOffsets;
    for (std::size_t entry = 0; entry < hosts.size(); ++entry)
    {
        m_localPorts[next[hosts[entry] - m_firstLocal]++] = ports[entry];
    }
}

FabricRoutes::Ports
FabricRoutes::FindLocal(uint32_t destination) const
{
    const uint32_t place = destination - m_firstLocal; // wraps below the lowest
    if (place + std::size_t{1} >= m_localOffsets.size())
    {
        return {};
    }
    const uint32_t first = m_localOffsets[place];
    return {m_localPorts.data() + first, m_localOffsets[place + 1] - first};
}

} // namespace ns3
