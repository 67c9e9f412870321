// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <cstdint>
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
