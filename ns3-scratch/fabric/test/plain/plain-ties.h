// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What the plain ports and memories report beside what the lazy ones do.
 */
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ns3::test
{

/**
 * Several things happen in one picosecond, and what comes of them depends on an order that no rule
 * gives. Whoever links the plain ports defines it.
 * \param timePs when
 */
void NoteTie(int64_t timePs);

/**
 * While a neighbour is stopped something left a memory as soon as a line was free. What arrives at
 * the same switch in the same picosecond comes after it by rule only if whoever hands it on says
 * so. Whoever links the plain ports defines it.
 * \param timePs when
 */
void NoteDueDeparture(int64_t timePs);

/// \param holds what the plain ports rely on \param what it is \throw std::logic_error if it fails
inline void
Demand(bool holds, const std::string& what)
{
    if (!holds)
    {
        throw std::logic_error("plain ports: " + what);
    }
}

} // namespace ns3::test
