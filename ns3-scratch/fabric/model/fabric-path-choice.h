// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"
#include "fabric-routes.h"

#include "ns3/ptr.h"

#include <cstdint>
#include <vector>

namespace ns3
{

class FabricPort;

/// Chooses between the ports of a node that lead to a destination; one object belongs to one node.
/// Without any a node takes the port by hash of the flow.
class FabricPathChoice
{
  public:
    virtual ~FabricPathChoice() = default;
    /**
     * \param frame the frame to send on
     * \param choices the ports that lead to its destination, at least two
     * \param ports all ports of the node
     * \return number of the port to take
     */
    virtual uint32_t Choose(const FabricFrame& frame,
                            const FabricRoutes::Ports& choices,
                            const std::vector<Ptr<FabricPort>>& ports) = 0;

    /// The node's table has changed: forget every port that was chosen by the old one.
    virtual void RoutesChanged()
    {
    }
};

} // namespace ns3
