// SPDX-License-Identifier: GPL-2.0-only
#include "analytical-session-transport.h"

#include <stdexcept>
#include <string>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// \return the grid that a description has, which has its NPUs
AnalyticalGrid
MakeGrid(const NetworkDescription& description)
{
    const AnalyticalDescription& analytical = description.analytical;
    std::vector<AnalyticalDimension> dimensions = analytical.grid;
    if (analytical.latencyClasses > 0)
    {
        AnalyticalDimension& dimension = dimensions.at(analytical.latencyDimension);
        dimension.classOfPlace.assign(analytical.classOfPlace.begin(),
                                      analytical.classOfPlace.end());
        dimension.latenciesNs.assign(analytical.latenciesNs.begin(), analytical.latenciesNs.end());
        dimension.classes = analytical.latencyClasses;
    }
    AnalyticalGrid grid(std::move(dimensions));
    if (grid.GetNpus() != description.hostOfNpu.count)
    {
        throw std::invalid_argument("the analytical network has " + std::to_string(grid.GetNpus()) +
                                    " NPUs, not " + std::to_string(description.hostOfNpu.count));
    }
    return grid;
}

/// \return how the formula departs from the default
FormulaMessageTransport::Options
OptionsOf(const AnalyticalDescription& analytical)
{
    return {analytical.highestDimensionOnly,
            analytical.lowestDimensionOnly,
            analytical.truncate,
            analytical.rendezvousBytes};
}
} // namespace

FormulaSessionTransport::FormulaSessionTransport(const TransportContext& context)
    : m_grid(MakeGrid(context.description)),
      m_transport(m_grid, OptionsOf(context.description.analytical), context.listener)
{
}

MessageTransport&
FormulaSessionTransport::GetMessages()
{
    return m_transport;
}

QueuedSessionTransport::QueuedSessionTransport(const TransportContext& context)
    : m_grid(MakeGrid(context.description)),
      m_transport(m_grid, context.description.analytical.truncate, context.listener)
{
}

MessageTransport&
QueuedSessionTransport::GetMessages()
{
    return m_transport;
}

} // namespace astra_ns3
