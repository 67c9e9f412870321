// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-network.h"
#include "network-description.h"

namespace astra_ns3
{

/**
 * Make all nodes, links and tables of a network.
 * \param description what to make; it must have been checked
 * \param fabric an empty network
 * \throw std::invalid_argument for numbers that no switch, link or table can have
 */
void BuildFabric(const NetworkDescription& description, FabricNetwork& fabric);

} // namespace astra_ns3
