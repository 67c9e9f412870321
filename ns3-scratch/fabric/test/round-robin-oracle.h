// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Deficit weighted round robin worked out in one step. Shares nothing with FabricDeficitRoundRobin.
 */
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

/// Deficit round robin without rounds: works out whose turn comes first.
class RoundRobinOracle
{
  public:
    /// \return the priority that sends. \param fronts by priority: size of its first frame, or 0 if
    /// it may not send \param last bit p: p has no other frame
    uint32_t Choose(const std::vector<uint32_t>& quanta,
                    const std::array<uint32_t, 8>& fronts,
                    uint32_t last)
    {
        std::pair<uint64_t, uint32_t> first{UINT64_MAX, 0}; // step, priority
        for (uint32_t priority = 0; priority < 8; ++priority)
        {
            if (fronts[priority] > 0 && quanta[priority] > 0)
            {
                first = std::min(first, {StepOf(priority, quanta, fronts), priority});
            }
        }
        const auto [step, winner] = first;
        for (uint32_t priority = 0; priority < 8; ++priority)
        {
            const uint64_t place = (priority + 8 - m_current) % 8;
            if (fronts[priority] > 0 && quanta[priority] > 0 && place <= step)
            {
                const bool begun = place == 0 && m_begun;
                m_left[priority] += ((step - place) / 8 + (begun ? 0 : 1)) * quanta[priority];
            }
        }
        m_left[winner] = (last >> winner & 1) != 0 ? 0 : m_left[winner] - fronts[winner];
        m_current = winner;
        m_begun = true;
        return winner;
    }

  private:
    /// \return after how many places, from the current one on, a priority has saved up enough
    uint64_t StepOf(uint32_t priority,
                    const std::vector<uint32_t>& quanta,
                    const std::array<uint32_t, 8>& fronts) const
    {
        const uint64_t place = (priority + 8 - m_current) % 8;
        const uint64_t missing =
            fronts[priority] - std::min<uint64_t>(m_left[priority], fronts[priority]);
        const uint64_t quantaNeeded = (missing + quanta[priority] - 1) / quanta[priority];
        if (place == 0 && m_begun)
        {
            return 8 * quantaNeeded;
        }
        return place + 8 * (std::max<uint64_t>(quantaNeeded, 1) - 1);
    }

    std::array<uint64_t, 8> m_left{}; //!< bytes each may still send
    uint32_t m_current{0};            //!< whose turn it is
    bool m_begun{false};              //!< it has got its quantum
};

} // namespace astra_ns3::test
