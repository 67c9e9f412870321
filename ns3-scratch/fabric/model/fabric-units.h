// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace ns3
{

constexpr int64_t FABRIC_PS_PER_NS = 1'000;   //!< picoseconds of a nanosecond
constexpr double FABRIC_PS_TIMES_BITS = 8e12; //!< picoseconds a byte takes at 1 bit/s

} // namespace ns3
