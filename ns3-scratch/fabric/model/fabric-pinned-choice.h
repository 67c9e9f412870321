// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-flow-hash.h"
#include "fabric-path-choice.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

/// The path from one host to another: at the n-th switch on it, which choice.
using FabricPins = std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>>;

/// Source-pinned paths: a frame takes at the n-th switch of its path the n-th of the choices named
/// for its hosts; what is not pinned goes by hash.
class FabricPinnedChoice : public FabricPathChoice
{
  public:
    /// \param pins the paths, shared by all switches \param seed of this switch's hash
    FabricPinnedChoice(std::shared_ptr<const FabricPins> pins, uint32_t seed)
        : m_pins(std::move(pins)),
          m_seed(seed)
    {
    }

    uint32_t Choose(const FabricFrame& frame,
                    const FabricRoutes::Ports& choices,
                    const std::vector<Ptr<FabricPort>>&) override
    {
        const auto found = m_pins->find({frame.source, frame.destination});
        if (found == m_pins->end() || frame.switches > found->second.size())
        {
            return choices.first[FabricPickByHash(frame.flowHash, m_seed, choices.count)];
        }
        return choices.first[found->second[frame.switches - 1] % choices.count];
    }

  private:
    std::shared_ptr<const FabricPins> m_pins; //!< the paths
    uint32_t m_seed;                          //!< of the hash
};

} // namespace ns3
