// SPDX-License-Identifier: GPL-2.0-only
#include "analytical-session-transport.h"

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// Words for AnalyticalTopology.
constexpr std::array<const char*, 3> TOPOLOGIES{"ring", "fully-connected", "switch"};

/// \return a dimension. \param prefix how the names of its numbers begin
AnalyticalDimension
ReadDimension(PartReader& part, const std::string& prefix)
{
    AnalyticalDimension dimension;
    part(prefix + "topology", dimension.topology, TOPOLOGIES);
    part(prefix + "npus", dimension.npus);
    part(prefix + "bytes_per_ns", dimension.bytesPerNs);
    part(prefix + "link_latency_ns", dimension.linkLatencyNs);
    part(prefix + "nic_latency_ns", dimension.nicLatencyNs);
    part(prefix + "router_latency_ns", dimension.routerLatencyNs);
    part(prefix + "memory_latency_ns", dimension.memoryLatencyNs);
    part(prefix + "memory_bytes_per_ns", dimension.memoryBytesPerNs);
    part(prefix + "memory_scale", dimension.memoryScale);
    if (part.Has(prefix + "port_npus"))
    {
        part(prefix + "port_npus", dimension.portNpus);
        part(prefix + "port_lines", dimension.portLines);
    }
    return dimension;
}

/// Read what each pair of places of a dimension has between its two, if they have such.
void
ReadLatencies(PartReader& part, std::vector<AnalyticalDimension>& grid)
{
    if (!part.Has("latency_dimension"))
    {
        return;
    }
    uint32_t number = 0;
    uint32_t classes = 0;
    Numbers classOfPlace;
    Reals latencies;
    part("latency_dimension", number);
    part("latency_classes", classes);
    part("class_of_place", classOfPlace);
    part("latencies_ns", latencies);
    if (number >= grid.size() || latencies.count != uint64_t{classes} * classes)
    {
        throw std::invalid_argument(
            "analytical network: latencies of classes of places without their dimension, or too "
            "few");
    }
    grid[number].classes = classes;
    grid[number].classOfPlace.assign(classOfPlace.begin(), classOfPlace.end());
    grid[number].latenciesNs.assign(latencies.begin(), latencies.end());
}

/// \return the grid that a part describes, the innermost dimension first. \param npus how many
AnalyticalGrid
ReadGrid(PartReader& part, uint64_t npus)
{
    uint32_t dimensions = 0;
    part("dimensions", dimensions);
    std::vector<AnalyticalDimension> grid;
    for (uint32_t dimension = 0; dimension < dimensions; ++dimension)
    {
        grid.push_back(ReadDimension(part, std::to_string(dimension) + "."));
    }
    ReadLatencies(part, grid);
    AnalyticalGrid made(std::move(grid));
    if (made.GetNpus() != npus)
    {
        throw std::invalid_argument("the analytical network has " + std::to_string(made.GetNpus()) +
                                    " NPUs, not " + std::to_string(npus));
    }
    return made;
}

/// \return NPUs, without reducers
uint64_t
CountNpus(const NetworkDescription& description)
{
    return description.hostOfNpu.count - description.reducers;
}

/// \return how the formula departs from the default
FormulaMessageTransport::Options
ReadOptions(PartReader& part)
{
    bool highest = false;
    bool lowest = false;
    bool truncate = false;
    uint64_t rendezvousBytes = 0;
    part("highest_dimension_only", highest);
    part("lowest_dimension_only", lowest);
    part("truncate", truncate);
    part("rendezvous_bytes", rendezvousBytes);
    return {highest, lowest, truncate, rendezvousBytes};
}

/// \return whether each link's time is whole nanoseconds
bool
ReadTruncate(PartReader& part)
{
    bool truncate = false;
    part("truncate", truncate);
    return truncate;
}
} // namespace

FormulaSessionTransport::FormulaSessionTransport(const TransportContext& context, PartReader& part)
    : m_grid(ReadGrid(part, CountNpus(context.description))),
      m_transport(m_grid, ReadOptions(part), context.listener)
{
}

MessageTransport&
FormulaSessionTransport::GetMessages()
{
    return m_transport;
}

QueuedSessionTransport::QueuedSessionTransport(const TransportContext& context, PartReader& part)
    : m_grid(ReadGrid(part, CountNpus(context.description))),
      m_transport(m_grid, ReadTruncate(part), context.listener)
{
}

MessageTransport&
QueuedSessionTransport::GetMessages()
{
    return m_transport;
}

} // namespace astra_ns3
