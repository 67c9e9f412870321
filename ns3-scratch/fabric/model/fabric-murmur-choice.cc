// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-murmur-choice.h"

#include "fabric-flow-hash.h"

#include <bit>

namespace ns3
{

FabricMurmurChoice::FabricMurmurChoice(std::shared_ptr<const FabricHostAddresses> addresses,
                                       uint32_t seed)
    : m_addresses(std::move(addresses)),
      m_seed(seed)
{
}

uint32_t
FabricMurmurChoice::Hash(const std::array<uint32_t, 3>& words, uint32_t seed)
{
    uint32_t hash = seed;
    for (uint32_t word : words)
    {
        hash ^= std::rotl(word * 0xcc9e2d51U, 15) * 0x1b873593U;
        hash = std::rotl(hash, 13) * 5 + 0xe6546b64U;
    }
    return FabricMixHash(hash ^ sizeof words);
}

uint32_t
FabricMurmurChoice::Choose(const FabricFrame& frame,
                           const FabricRoutes::Ports& choices,
                           const std::vector<Ptr<FabricPort>>&)
{
    const uint32_t hash =
        Hash({(*m_addresses)[frame.source], (*m_addresses)[frame.destination], frame.flowHash},
             m_seed);
    return choices.first[hash % choices.count];
}

} // namespace ns3
