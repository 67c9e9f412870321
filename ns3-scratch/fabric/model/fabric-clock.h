// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-delay.h"
#include "fabric-lane.h"
#include "fabric-simulator.h"

#include <cstdint>
#include <string_view>

namespace ns3
{

/// The time of a host, and what it does later by itself (FabricSimulator::ScheduleOn).
class FabricClock
{
  public:
    /// \param node the host's node
    explicit FabricClock(uint32_t node)
        : m_node(node)
    {
    }

    /// \return the present time
    static int64_t GetNowPs()
    {
        return FabricNowPs();
    }

    /// \param delayPs from now \param who schedules it, for errors \param event what to do, a
    /// counted reference \return its id \throw std::logic_error if the delay is below 0
    EventId Schedule(int64_t delayPs, std::string_view who, EventImpl* event) const
    {
        if (delayPs < 0) [[unlikely]]
        {
            FabricRefuseThePast(delayPs, who);
        }
        return FabricSimulator::Get().ScheduleOn(m_node, delayPs, event);
    }

  private:
    uint32_t m_node; //!< of the host
};

} // namespace ns3
