// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"
#include "fabric-trail.h"

#include <cstdint>
#include <deque>

namespace ns3
{

/**
 * What a port has put on its line lately: whose it was, and when. A port has one while accounts of
 * messages are kept. Only what a frame that is accounted for may have waited behind is remembered.
 */
class FabricServedLog
{
  public:
    /// A frame that is accounted for begins to wait. \param nowPs when
    void Wait(int64_t nowPs)
    {
        m_waiting.push_back(nowPs);
    }

    /// Nobody waits any more: all were lost.
    void Forget()
    {
        m_waiting.clear();
    }

    /// A frame goes on the line; one that is accounted for is told what it has waited behind.
    /// \param frame it, whose trail has this line as its last \param startPs its first bit
    /// \param endPs its last bit
    void Put(const FabricFrame& frame, int64_t startPs, int64_t endPs);

  private:
    /// Tell a trail what was on the line while its frame waited.
    void Tell(FabricTrail& trail) const;

    std::deque<FabricServed> m_served; //!< in turn
    std::deque<int64_t> m_waiting;     //!< arrivals of frames that wait and are accounted for
};

} // namespace ns3
