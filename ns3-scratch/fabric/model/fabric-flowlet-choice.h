// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-load-choice.h"
#include "fabric-path-choice.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ns3
{

/// Flowlet switching: a flow keeps its port until it pauses for longer than a gap, then takes the
/// least loaded (S. Kandula et al., "Dynamic Load Balancing Without Packet Reordering", CCR 2007;
/// E. Vanini et al., "Let It Flow", NSDI 2017). Flows are told apart by their hash and destination.
class FabricFlowletChoice : public FabricPathChoice
{
  public:
    /// \param gapPs the gap \param seed where the turns begin \param countsFlows as
    /// FabricLoadChoice
    FabricFlowletChoice(int64_t gapPs, uint32_t seed, bool countsFlows = false);
    uint32_t Choose(const FabricFrame& frame,
                    const FabricRoutes::Ports& choices,
                    const std::vector<Ptr<FabricPort>>& ports) override;
    void RoutesChanged() override;

  private:
    /// What is known of a flow.
    struct Flow
    {
        int64_t lastPs{0}; //!< its last frame
        uint32_t port{0};  //!< the port it takes
    };

    int64_t m_gapPs;                            //!< the gap
    FabricLoadChoice m_least;                   //!< chooses for a new flowlet
    std::unordered_map<uint64_t, Flow> m_flows; //!< by hash and destination
};

} // namespace ns3
