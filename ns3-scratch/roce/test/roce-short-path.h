// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Two hosts at one switch, and how long things take between them in picoseconds.
 */
#pragma once

#include "roce-fixture.h"

#include <cstdint>
#include <memory>

namespace ns3::test
{

constexpr int64_t DELAY_PS = 500'000;
constexpr int64_t BYTE_PS = 80;                            // at 100 Gb/s
constexpr int64_t PACKET_PS = (1'000 + 62 + 20) * BYTE_PS; // a full packet on a line
constexpr int64_t ACK_PS = (66 + 20) * BYTE_PS;            // an acknowledgement
constexpr int64_t ROUND_TRIP_PS = 2 * PACKET_PS + 2 * ACK_PS + 4 * DELAY_PS;

/// \return host 0, a switch, host 1, and RoCE
inline std::unique_ptr<RoceBench>
MakePath(const RoceParameters& parameters)
{
    auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
    bench->Build(parameters);
    return bench;
}

} // namespace ns3::test
