// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ns3
{

/// \param delayPs a delay below 0 \param who would have scheduled it \throw std::logic_error always
[[noreturn]] inline void
FabricRefuseThePast(int64_t delayPs, std::string_view who)
{
    throw std::logic_error(std::string(who) + " schedules an event " + std::to_string(-delayPs) +
                           " ps in the past, at " + std::to_string(Simulator::Now().GetTimeStep()) +
                           " ps; this is a mistake of astra-ns3, please report it");
}

/// \param what takes so long \throw std::overflow_error always
[[noreturn]] inline void
FabricRefuseTheLong(std::string_view what)
{
    throw std::overflow_error(std::string(what) +
                              " would end beyond 106 days of simulated time, the most that 64 bits "
                              "of picoseconds hold; use less data, or a higher rate");
}

/**
 * A moment after another one; for durations that the user's numbers can make any size.
 * \param beginPs the moment when something begins, from 0 on
 * \param durationPs how long it takes, from 0 on; rounded to a picosecond
 * \param what it is, for the message
 * \return when it ends
 * \throw std::overflow_error if no int64 holds that
 */
inline int64_t
FabricLater(int64_t beginPs, double durationPs, std::string_view what)
{
    // The next double below 2^63: no conversion can overflow, and only the last microsecond is
    // lost.
    constexpr double LAST_PS = 9'223'372'036'854'774'784.0;
    if (!(static_cast<double>(beginPs) + durationPs <= LAST_PS))
    {
        FabricRefuseTheLong(what);
    }
    const auto duration = static_cast<int64_t>(std::llround(durationPs));
    if (duration > std::numeric_limits<int64_t>::max() - beginPs)
    {
        FabricRefuseTheLong(what);
    }
    return beginPs + duration;
}

/**
 * The delay of an event of ours, which ns-3 is to schedule. ns-3 would end the process if it lay in
 * the past, and only where its assertions are compiled in; this raises an error that says who.
 * \param delayPs the delay
 * \param who schedules it
 * \return the same as ns-3 takes it
 * \throw std::logic_error if it is below 0
 */
inline Time
FabricDelay(int64_t delayPs, std::string_view who)
{
    if (delayPs < 0) [[unlikely]]
    {
        FabricRefuseThePast(delayPs, who);
    }
    return TimeStep(delayPs);
}

} // namespace ns3
