// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-pause-state.h"

#include <bit>

namespace ns3
{

bool
FabricPauseState::Stop(uint8_t priorities, int64_t nowPs)
{
    const uint8_t stopped = priorities & ~m_stopped;
    const uint8_t released = m_stopped & ~priorities;
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        if (stopped >> priority & 1)
        {
            m_sincePs[priority] = nowPs;
        }
        if (released >> priority & 1)
        {
            m_stoppedPs[priority] += nowPs - m_sincePs[priority];
        }
    }
    m_pauses += std::popcount(stopped);
    if (m_stopped == 0)
    {
        m_anySincePs = nowPs;
    }
    else if (priorities == 0)
    {
        m_anyStoppedPs += nowPs - m_anySincePs;
    }
    m_stopped = priorities;
    return stopped != 0 || released != 0;
}

int64_t
FabricPauseState::GetSincePs(uint32_t priority) const
{
    return m_sincePs.at(priority);
}

int64_t
FabricPauseState::GetStoppedPs(uint32_t priority, int64_t timePs) const
{
    const bool lasts = m_stopped >> priority & 1;
    return m_stoppedPs[priority] + (lasts ? timePs - m_sincePs[priority] : 0);
}

int64_t
FabricPauseState::GetAnyStoppedPs() const
{
    return m_anyStoppedPs;
}

int64_t
FabricPauseState::GetAnyStoppedPs(int64_t nowPs) const
{
    return m_anyStoppedPs + (m_stopped != 0 ? nowPs - m_anySincePs : 0);
}

} // namespace ns3
