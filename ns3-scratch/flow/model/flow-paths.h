// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-net-device.h"
#include "flow-shares.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ns3
{

/// A port on the way of a flow.
struct FlowLine
{
    FabricPort* port; //!< sends on the line
    double share;     //!< of the flow's bytes, how many cross it
};

/**
 * The ways that packets would take over the fabric: each node chooses among the ports of its table
 * as it does for a frame, by hash or pin. Where every packet is sent its own way, the bytes are
 * spread over the ports that lead on: evenly, or, where queues decide, by FabricPortLoads.
 */
class FlowPaths
{
  public:
    /// \param hosts NIC of each host \param spreads packets of a flow take different ways
    /// \param byRate faster ports then carry more, where even shares are too much for slow ones
    FlowPaths(std::vector<Ptr<FabricNetDevice>> hosts, bool spreads, bool byRate = false);

    /**
     * \param from a host
     * \param to another
     * \param flowHash hash of the flow
     * \return the lines from one to the other, in the order in which they are reached; none if the
     *         tables lead nowhere
     * \throw std::invalid_argument if they lead in a circle
     */
    std::vector<FlowLine> Find(uint32_t from, uint32_t to, uint32_t flowHash) const;

  private:
    /// \return the lines of the one way that a hash chooses
    std::vector<FlowLine> FindOne(FabricPort* first,
                                  uint32_t from,
                                  uint32_t to,
                                  uint32_t flowHash) const;
    /// \return the lines of all ways, with the share of each
    std::vector<FlowLine> FindAll(FabricPort* first, uint32_t to) const;
    /// \param node a switch \param choices its ports that lead on
    /// \return how much of what the switch sends each takes, over what others take
    std::vector<double> WeightsOf(const FabricSwitch& node,
                                  const FabricRoutes::Ports& choices) const;

    std::vector<Ptr<FabricNetDevice>> m_hosts; //!< NICs
    bool m_spreads;                            //!< packets of a flow take different ways
    bool m_byRate;                             //!< faster ones may carry more
};

} // namespace ns3
