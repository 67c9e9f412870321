// SPDX-License-Identifier: GPL-2.0-only
#include "analytical-network.h"

#include <algorithm>
#include <stdexcept>

namespace ns3
{

AnalyticalGrid::AnalyticalGrid(std::vector<AnalyticalDimension> dimensions)
    : m_dimensions(std::move(dimensions))
{
    for (const AnalyticalDimension& dimension : m_dimensions)
    {
        if (dimension.npus == 0 || dimension.bytesPerNs <= 0 || dimension.memoryBytesPerNs <= 0)
        {
            throw std::invalid_argument(
                "analytical network: a dimension without NPUs or bandwidth");
        }
        const std::vector<uint32_t>& classes = dimension.classOfPlace;
        if (!classes.empty() &&
            (classes.size() != dimension.npus ||
             *std::max_element(classes.begin(), classes.end()) >= dimension.classes))
        {
            throw std::invalid_argument("analytical network: a class for each place is needed");
        }
        if (dimension.portNpus == 0 || m_npus % dimension.portNpus != 0 ||
            dimension.portLines == 0 || dimension.portLines > dimension.portNpus)
        {
            throw std::invalid_argument("analytical network: a port is shared by NPUs that are one "
                                        "after the other and alike along its dimension, and has a "
                                        "line for each at most");
        }
        m_strides.push_back(m_npus);
        m_npus *= dimension.npus;
    }
}

uint32_t
AnalyticalGrid::GetNpus() const
{
    return m_npus;
}

const std::vector<AnalyticalDimension>&
AnalyticalGrid::GetDimensions() const
{
    return m_dimensions;
}

uint32_t
AnalyticalGrid::Coordinate(uint32_t npu, uint32_t dimension) const
{
    return npu / m_strides[dimension] % m_dimensions[dimension].npus;
}

uint32_t
AnalyticalGrid::Move(uint32_t npu, uint32_t dimension, uint32_t coordinate) const
{
    return npu + coordinate * m_strides[dimension] -
           Coordinate(npu, dimension) * m_strides[dimension];
}

uint32_t
AnalyticalGrid::HighestDifference(uint32_t a, uint32_t b) const
{
    uint32_t dimension = m_dimensions.size() - 1;
    while (dimension > 0 && Coordinate(a, dimension) == Coordinate(b, dimension))
    {
        dimension--;
    }
    return dimension;
}

uint32_t
AnalyticalGrid::Hops(uint32_t dimension, uint32_t from, uint32_t to) const
{
    if (from == to)
    {
        return 0;
    }
    switch (m_dimensions[dimension].topology)
    {
    case AnalyticalTopology::RING: {
        const uint32_t clockwise = from < to ? to - from : from - to;
        return std::min(clockwise, m_dimensions[dimension].npus - clockwise);
    }
    case AnalyticalTopology::SWITCH:
        return 2;
    default:
        return 1;
    }
}

double
AnalyticalGrid::LatencyNs(uint32_t dimension, uint32_t from, uint32_t to) const
{
    const AnalyticalDimension& d = m_dimensions[dimension];
    if (d.classOfPlace.empty())
    {
        return Hops(dimension, from, to) * d.linkLatencyNs;
    }
    return d.latenciesNs[uint64_t{d.classOfPlace[from]} * d.classes + d.classOfPlace[to]];
}

} // namespace ns3
