// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include <array>
#include <cstdint>

namespace ns3
{

/// Chooses which priority of a port sends next.
class FabricPortScheduler
{
  public:
    virtual ~FabricPortScheduler() = default;
    /**
     * \param ready bit p is set if priority p has a frame and may send; not 0
     * \param queues what waits, by priority
     * \return the priority whose oldest frame goes next, which the caller takes out
     */
    virtual uint32_t Choose(uint32_t ready, const FabricFrameList* queues) = 0;
    /// All queues were emptied at once: begin as if newly made.
    virtual void Reset() = 0;
};

/**
 * Deficit weighted round robin (M. Shreedhar, G. Varghese, SIGCOMM 1995): in its turn a priority
 * may send its quantum of bytes, and what it leaves over is kept as long as it has frames.
 */
class FabricDeficitRoundRobin : public FabricPortScheduler
{
  public:
    /// \param quantumBytes bytes of each priority in a round; 0: only when no other has a frame
    explicit FabricDeficitRoundRobin(const std::array<uint32_t, FABRIC_PRIORITIES>& quantumBytes);
    uint32_t Choose(uint32_t ready, const FabricFrameList* queues) override;
    void Reset() override;

  private:
    std::array<uint32_t, FABRIC_PRIORITIES> m_quantumBytes; //!< bytes in a round
    std::array<int64_t, FABRIC_PRIORITIES> m_deficit{};     //!< bytes it may still send
    uint32_t m_current{0};                                  //!< whose turn it is
    bool m_fresh{true};                                     //!< its turn has just begun
    uint32_t m_weighted{0};                                 //!< bit p is set if p has a quantum
};

} // namespace ns3
