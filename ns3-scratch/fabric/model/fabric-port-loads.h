// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-routes.h"

#include "ns3/ptr.h"

#include <vector>

namespace ns3
{

class FabricPort;

/**
 * What ports carry where each frame takes the port whose queue takes the shortest time to send, the
 * first in turn where several are equal, and as much comes in as the lines of the other ports
 * bring. Ports share evenly as long as none has a queue; one that has all that its line carries
 * leaves the rest to others; and if there is more than all lines carry, they are shared by rates.
 *
 * \param choices the ports; one that is there several times has as many turns
 * \param ports all ports of the node
 * \return bits per second, or what is in proportion to it, by place among the choices; 0 where a
 * port is there again
 */
std::vector<double> FabricPortLoads(const FabricRoutes::Ports& choices,
                                    const std::vector<Ptr<FabricPort>>& ports);

} // namespace ns3
