// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-path-choice.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/// What older simulators hash: numbers that stand for the hosts.
using FabricHostAddresses = std::vector<uint32_t>;

/**
 * Chooses as simulators of the HPCC family do: MurmurHash3 (A. Appleby, x86, 32 bits, public
 * domain) of source, destination and port numbers, seeded by the number of the switch, modulo the
 * number of ports. The frame's flow hash holds the two port numbers.
 */
class FabricMurmurChoice : public FabricPathChoice
{
  public:
    /// \param addresses address of each host \param seed number of the switch
    FabricMurmurChoice(std::shared_ptr<const FabricHostAddresses> addresses, uint32_t seed);
    uint32_t Choose(const FabricFrame& frame,
                    const FabricRoutes::Ports& choices,
                    const std::vector<Ptr<FabricPort>>& ports) override;
    /// \param words three numbers \param seed a seed \return their hash
    static uint32_t Hash(const std::array<uint32_t, 3>& words, uint32_t seed);

  private:
    std::shared_ptr<const FabricHostAddresses> m_addresses; //!< of the hosts
    uint32_t m_seed;                                        //!< number of the switch
};

} // namespace ns3
