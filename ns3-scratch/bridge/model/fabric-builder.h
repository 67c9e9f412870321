// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-changes.h"
#include "fabric-network.h"
#include "network-description.h"

#include <memory>

namespace astra_ns3
{

/**
 * Make all nodes, links and tables of a network.
 * \param description what to make; it must have been checked
 * \param fabric an empty network
 * \throw std::invalid_argument for numbers that no switch, link or table can have
 */
void BuildFabric(const NetworkDescription& description, FabricNetwork& fabric);

/**
 * Schedule what changes; before anything else is, so that it comes first in its picosecond.
 * \param description what to change; it must have been checked
 * \param fabric the network
 * \return who will do it, to be told who listens; none if nothing changes
 * \throw std::invalid_argument if a group, set or port does not exist
 */
std::unique_ptr<ns3::FabricChanges> ScheduleChanges(const NetworkDescription& description,
                                                    const FabricNetwork& fabric);

} // namespace astra_ns3
