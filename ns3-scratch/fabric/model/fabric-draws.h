// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/rng-seed-manager.h"

#include <cstdint>
#include <initializer_list>

namespace ns3
{

/// What random numbers are drawn for; numbers for one thing have nothing to do with others.
enum class FabricDrawsFor : uint64_t
{
    MARKS = 1,   //!< congestion marks of a port
    LOSSES = 2,  //!< losses on a link direction
    SAMPLES = 3, //!< packets of a queue pair that carry telemetry
    CONTROL = 4  //!< the congestion control of a queue pair
};

/**
 * Random numbers of a port or a queue pair, uniform in [0, 1). The n-th is a hash of a key and n:
 * the run's seed, what they are for and whose they are make the key, so nobody's draws depend on
 * when others draw. The hash is the generator SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
 */
class FabricDraws
{
  public:
    FabricDraws() = default;

    /// \param purpose what for \param first of four numbers that say whose \param second the next
    /// \param third the next \param fourth the last
    explicit FabricDraws(FabricDrawsFor purpose,
                         uint64_t first,
                         uint64_t second = 0,
                         uint64_t third = 0,
                         uint64_t fourth = 0)
        : m_state(RngSeedManager::GetSeed())
    {
        for (const uint64_t part : {static_cast<uint64_t>(purpose), first, second, third, fourth})
        {
            m_state = Mix(m_state + STEP) ^ part;
        }
        m_state = Mix(m_state);
    }

    /// \return the next number
    double Next()
    {
        m_state += STEP;
        return static_cast<double>(Mix(m_state) >> 11) * 0x1p-53;
    }

  private:
    static constexpr uint64_t STEP = 0x9e3779b97f4a7c15; //!< odd, so all states come up

    /// \return a number each bit of which depends on all bits of the value
    static uint64_t Mix(uint64_t value)
    {
        value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
        value = (value ^ value >> 27) * 0x94d049bb133111eb;
        return value ^ value >> 31;
    }

    uint64_t m_state{0}; //!< the key and how many were drawn
};

} // namespace ns3
