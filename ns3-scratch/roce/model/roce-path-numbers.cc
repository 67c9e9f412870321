// SPDX-License-Identifier: GPL-2.0-only
#include "roce-path-numbers.h"

namespace ns3
{

std::size_t
RoceWays::Hash::operator()(const RoceWay& way) const
{
    constexpr std::size_t FACTOR = 0x9e3779b97f4a7c15;
    std::size_t hash = way.path.baseRoundTripPs;
    for (const std::size_t part :
         {std::size_t{way.path.bandwidthDelayBytes}, std::size_t{way.lineRateBps}})
    {
        hash = (hash ^ hash >> 29) * FACTOR + part;
    }
    return (hash ^ hash >> 29) * FACTOR + way.path.switches;
}

uint32_t
RoceWays::NumberOf(const RoceWay& way)
{
    const std::lock_guard<std::mutex> lock(*m_mutex);
    if (m_last < m_ways.size() && m_ways[m_last] == way)
    {
        return m_last;
    }
    const auto [found, isNew] = m_numbers.try_emplace(way, m_ways.size());
    if (isNew)
    {
        m_ways.push_back(way);
    }
    return m_last = found->second;
}

} // namespace ns3
