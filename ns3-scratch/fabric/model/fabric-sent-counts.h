// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <unordered_map>

namespace ns3
{

class FabricPort;

/// What has crossed a line without frames, and its port doesn't count yet.
struct FabricSentCount
{
    uint64_t frames{0}; //!< how many frames it stands for
    uint64_t bytes{0};  //!< of these, as in a buffer
};

using FabricSentCounts = std::unordered_map<const FabricPort*, FabricSentCount>; //!< by port

} // namespace ns3
