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

uint32_t
FabricRoutes::FindSet(const uint32_t* first, const uint32_t* last)
{
    const uint32_t sets = m_setOffsets.size() - 1;
    for (uint32_t set = 0; set < sets; ++set)
    {
        const uint32_t* ports = m_setPorts.data();
        if (std::equal(ports + m_setOffsets[set], ports + m_setOffsets[set + 1], first, last))
        {
            return set;
        }
    }
    m_setPorts.insert(m_setPorts.end(), first, last);
    m_setOffsets.push_back(m_setPorts.size());
    return sets;
}

void
FabricRoutes::ChangeGroups(const std::vector<uint32_t>& groups,
                           const std::vector<uint32_t>& sets,
                           const std::vector<uint32_t>& setOffsets,
                           const std::vector<uint32_t>& setPorts)
{
    std::vector<uint32_t> numbers;
    for (std::size_t set = 0; set + 1 < setOffsets.size(); ++set)
    {
        numbers.push_back(
            FindSet(setPorts.data() + setOffsets[set], setPorts.data() + setOffsets[set + 1]));
    }
    for (std::size_t place = 0; place < groups.size(); ++place)
    {
        m_setOfGroup[groups[place]] = sets[place] == LOCAL ? LOCAL : numbers[sets[place]];
    }
}

void
FabricRoutes::SetLocal(const std::vector<uint32_t>& hosts, const std::vector<uint32_t>& ports)
{
    if (hosts.empty())
    {
        m_localOffsets.clear();
        m_localPorts.clear();
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
