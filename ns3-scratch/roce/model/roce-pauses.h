// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace ns3
{

/// When the priorities of a port were stopped, as far back as somebody may still ask.
class RocePauses
{
  public:
    /**
     * \param port the port; it must outlive this
     * \param oldestPs tells the earliest time that is still asked about
     */
    RocePauses(FabricPort& port, std::function<int64_t()> oldestPs);
    ~RocePauses();
    RocePauses(const RocePauses&) = delete;
    RocePauses& operator=(const RocePauses&) = delete;

    /// \param priority a priority \param fromPs a time \param toPs one not before it
    /// \return for how long the priority was stopped between them
    int64_t StoppedPs(uint32_t priority, int64_t fromPs, int64_t toPs) const
    {
        return m_stops[priority].empty() ? 0 : UntilPs(priority, toPs) - UntilPs(priority, fromPs);
    }

  private:
    static constexpr std::size_t FORGET_AT = 1024; // stops of a priority, at least
    static constexpr int64_t LASTS = std::numeric_limits<int64_t>::max();

    /// A priority was stopped.
    struct Stop
    {
        int64_t beginPs;  //!< from then on
        int64_t endPs;    //!< until then, or LASTS
        int64_t beforePs; //!< all stops before it together
    };

    /// Other priorities are stopped from now on.
    void Changed(Time time, uint8_t pausedPriorities);
    /// Forget the stops of a priority that nobody asks about any more.
    void Forget(uint32_t priority);
    /// \return for how long a priority had been stopped by a time, as far as is known
    int64_t UntilPs(uint32_t priority, int64_t timePs) const;

    FabricPort& m_port;                                       //!< whose they are
    std::function<int64_t()> m_oldestPs;                      //!< the earliest that is asked about
    std::array<std::vector<Stop>, FABRIC_PRIORITIES> m_stops; //!< by priority, in order
    std::array<std::size_t, FABRIC_PRIORITIES> m_forgetAt{};  //!< so many, and look what can go
};

} // namespace ns3
