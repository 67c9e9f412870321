// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-flow-hash.h"
#include "fabric-path-choice.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Packet spraying: each frame takes the next of the ports that lead on, in turns over the node, or
/// one at random, so that all are loaded alike whatever the flows (A. Dixit et al., INFOCOM 2013).
/// Frames of a flow overtake each other.
class FabricSprayChoice : public FabricPathChoice
{
  public:
    /// \param seed where the turns begin \param random no turns, but a hash of their number
    FabricSprayChoice(uint32_t seed, bool random)
        : m_next(random ? seed << TURN_BITS : seed),
          m_random(random)
    {
    }

    uint32_t Choose(const FabricFrame&,
                    const FabricRoutes::Ports& choices,
                    const std::vector<Ptr<FabricPort>>&) override
    {
        const uint32_t turn = m_next++;
        return choices
            .first[m_random ? FabricPickByHash(turn, 0, choices.count) : turn % choices.count];
    }

  private:
    static constexpr uint32_t TURN_BITS = 16; // random: seeds differ in the bits above

    uint32_t m_next; //!< whose turn it is
    bool m_random;   //!< at random
};

} // namespace ns3
