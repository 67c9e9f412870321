// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-path-choice.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Adaptive routing: each frame takes the port whose queue takes the shortest time to send, the
/// first in turn where several are equal. Only the node's own queues are known to it. Frames of a
/// flow overtake each other. Where nothing queues, choices so far count instead of bytes, and what
/// ports carry instead of their rates (FabricPortLoads).
class FabricLoadChoice : public FabricPathChoice
{
  public:
    /// \param seed where the turns begin \param countsFlows there are no queues, but flows
    explicit FabricLoadChoice(uint32_t seed, bool countsFlows = false)
        : m_next(seed),
          m_countsFlows(countsFlows)
    {
    }

    uint32_t Choose(const FabricFrame& frame,
                    const FabricRoutes::Ports& choices,
                    const std::vector<Ptr<FabricPort>>& ports) override;
    void RoutesChanged() override;

  private:
    uint32_t m_next;             //!< where to begin to look
    bool m_countsFlows;          //!< choices so far count
    std::vector<double> m_flows; //!< choices so far, by port
};

} // namespace ns3
