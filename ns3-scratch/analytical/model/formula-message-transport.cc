// SPDX-License-Identifier: GPL-2.0-only
#include "formula-message-transport.h"

#include "fabric-delay.h"
#include "fabric-units.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{
constexpr const char* MESSAGE = "a message of the analytical network";
} // namespace

FormulaMessageTransport::FormulaMessageTransport(const AnalyticalGrid& grid,
                                                 const Options& options,
                                                 MessageListener& listener)
    : m_grid(grid),
      m_options(options),
      m_listener(listener)
{
}

double
FormulaMessageTransport::DimensionNs(uint32_t dimension,
                                     uint32_t from,
                                     uint32_t to,
                                     uint64_t bytes) const
{
    const AnalyticalDimension& d = m_grid.GetDimensions()[dimension];
    const bool isSwitch = d.topology == AnalyticalTopology::SWITCH;
    return SumNs(d,
                 bytes,
                 m_grid.LatencyNs(dimension, from, to),
                 2 * d.nicLatencyNs,
                 isSwitch ? d.routerLatencyNs : 0.0);
}

double
FormulaMessageTransport::HalfNs(uint64_t bytes, bool up) const
{
    const AnalyticalDimension& d = m_grid.GetDimensions().front();
    return SumNs(d, bytes, d.linkLatencyNs, d.nicLatencyNs, up ? d.routerLatencyNs : 0.0);
}

double
FormulaMessageTransport::SumNs(const AnalyticalDimension& d,
                               uint64_t bytes,
                               double latencyNs,
                               double nicsNs,
                               double routerNs) const
{
    const double addends[] = {latencyNs,
                              static_cast<double>(bytes) / d.bytesPerNs,
                              nicsNs,
                              routerNs};
    double networkNs = 0.0;
    for (double addend : addends)
    {
        networkNs += addend;
        if (m_options.truncate)
        {
            networkNs = std::trunc(networkNs);
        }
    }
    const double memoryNs =
        (d.memoryLatencyNs + static_cast<double>(bytes) / d.memoryBytesPerNs) * d.memoryScale;
    return std::max(networkNs, memoryNs);
}

double
FormulaMessageTransport::DelayPs(uint32_t sender, uint32_t receiver, uint64_t bytes) const
{
    if (m_grid.IsSwitch(sender) || m_grid.IsSwitch(receiver))
    {
        return HalfNs(bytes, m_grid.IsSwitch(receiver)) * FABRIC_PS_PER_NS;
    }
    double ns = 0.0;
    const uint32_t highest = m_grid.HighestDifference(sender, receiver);
    for (uint32_t dimension = m_options.highestDimensionOnly ? highest : 0; dimension <= highest;
         ++dimension)
    {
        const uint32_t from = m_grid.Coordinate(sender, dimension);
        const uint32_t to = m_grid.Coordinate(receiver, dimension);
        if (from != to)
        {
            ns += DimensionNs(dimension, from, to, bytes);
            if (m_options.lowestDimensionOnly)
            {
                break;
            }
        }
    }
    return ns * FABRIC_PS_PER_NS;
}

void
FormulaMessageTransport::Send(const CollectiveMessage& message)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    int64_t arrivalPs =
        FabricLater(nowPs, DelayPs(message.sender, message.receiver, message.bytes), MESSAGE);
    if (m_options.rendezvousBytes > 0)
    {
        arrivalPs =
            FabricLater(arrivalPs,
                        DelayPs(message.receiver, message.sender, m_options.rendezvousBytes),
                        MESSAGE);
    }
    Simulator::Schedule(FabricDelay(arrivalPs - nowPs, MESSAGE), [this, message]() {
        m_listener.BytesArrived(message.receiver, static_cast<int64_t>(message.bytes));
        m_listener.MessageArrived(message);
    });
}

} // namespace ns3
