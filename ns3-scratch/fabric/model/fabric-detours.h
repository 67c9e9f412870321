// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-flow-hash.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * Valiant's routes: a frame first goes to a place that a hash of its flow draws, and from there to
 * its destination. So whatever hosts send whom, lines are loaded as by random traffic.
 *
 * Source: L. Valiant, "A scheme for fast parallel communication", SIAM J. Comput. 11(2), 1982. Here
 * a flow keeps its place, so its frames stay in order.
 */
class FabricDetours
{
  public:
    /// \param places a host of each place, at least one \param seed of the draw
    FabricDetours(std::vector<uint32_t> places, uint32_t seed)
        : m_places(std::move(places)),
          m_seed(seed)
    {
    }

    /// \param flowHash hash of a flow \return a host of the place that its frames see first
    uint32_t PlaceOf(uint32_t flowHash) const
    {
        const auto count = static_cast<uint32_t>(m_places.size());
        return m_places[FabricPickByHash(FabricMixHash(flowHash + SALT), m_seed, count)];
    }

  private:
    static constexpr uint32_t SALT = 0x9e3779b9; //!< ports are chosen by another hash
    std::vector<uint32_t> m_places;              //!< a host of each
    uint32_t m_seed;                             //!< of the draw
};

} // namespace ns3
