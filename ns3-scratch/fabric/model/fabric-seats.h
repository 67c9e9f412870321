// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * Say who sits beside whom in the row that threads take groups from (FabricSimulator::SeatGroups).
 * Tier by tier from the hosts up: a leaf stands where its number says, hosts where their leaf does,
 * and whoever is above at the mean of those below.
 * \param groups how many there are
 * \param hosts groups with hosts
 * \param links groups that are linked to each other; those linked to themselves don't matter
 * \return of each group its place in the row
 */
std::vector<uint32_t> SeatsOf(uint32_t groups,
                              const std::vector<uint32_t>& hosts,
                              const std::vector<std::pair<uint32_t, uint32_t>>& links);

} // namespace ns3
