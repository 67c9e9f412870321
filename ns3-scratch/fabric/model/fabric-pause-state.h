// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include <array>
#include <cstdint>

namespace ns3
{

/// Which priorities of a port the far end has stopped, since when, and for how long before.
class FabricPauseState
{
  public:
    /// Stop these priorities and no others. \param priorities bit p is set if priority p is stopped
    /// \param nowPs from when on \return whether that changes anything
    bool Stop(uint8_t priorities, int64_t nowPs);

    /// \return bit p is set if priority p is stopped
    uint8_t GetStopped() const
    {
        return m_stopped;
    }

    /// \return times a priority was stopped
    uint64_t GetPauses() const
    {
        return m_pauses;
    }

    /// \param priority a priority \return since when it is stopped; it must be
    int64_t GetSincePs(uint32_t priority) const;
    /// \param priority a priority \param timePs a time, not before its last stop or go
    /// \return for how long it had been stopped by then, all stops together
    int64_t GetStoppedPs(uint32_t priority, int64_t timePs) const;
    /// \return for how long any priority was stopped, in stops that are over
    int64_t GetAnyStoppedPs() const;
    /// \param nowPs the present time \return the same with the stop that lasts, if one does
    int64_t GetAnyStoppedPs(int64_t nowPs) const;

  private:
    std::array<int64_t, FABRIC_PRIORITIES> m_sincePs{};   //!< start of each stop
    std::array<int64_t, FABRIC_PRIORITIES> m_stoppedPs{}; //!< stops that are over, together
    int64_t m_anySincePs{0};                              //!< since when any is stopped
    int64_t m_anyStoppedPs{0}; //!< for how long any was, in stops that are over
    uint64_t m_pauses{0};      //!< times a priority was stopped
    uint8_t m_stopped{0};      //!< priorities that are stopped
};

} // namespace ns3
