// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace ns3
{

/**
 * Mix the bits of a number (the 32-bit finaliser of MurmurHash3, A. Appleby, public domain
 * constants).
 * \param value any number
 * \return a number each bit of which depends on every bit of the value
 */
inline uint32_t
FabricMixHash(uint32_t value)
{
    value ^= value >> 16;
    value *= 0x85ebca6bU;
    value ^= value >> 13;
    value *= 0xc2b2ae35U;
    value ^= value >> 16;
    return value;
}

/**
 * \param source IPv4 address
 * \param destination IPv4 address
 * \param ports source port in the high half, destination port in the low one
 * \return hash of a TCP connection's packets one way
 */
inline uint32_t
FabricHashConnection(uint32_t source, uint32_t destination, uint32_t ports)
{
    return FabricMixHash(FabricMixHash(FabricMixHash(source) ^ destination) ^ ports);
}

/**
 * Choose by hash: the high bits of a product spread it evenly over any number, without a division.
 * \param flowHash hash of the flow
 * \param seed makes choices independent of each other
 * \param count how many there are to choose from
 * \return a number below count
 */
inline uint32_t
FabricPickByHash(uint32_t flowHash, uint32_t seed, uint32_t count)
{
    return (uint64_t{FabricMixHash(flowHash ^ seed)} * count) >> 32;
}

} // namespace ns3
