// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * In-band network telemetry that a data packet collects. No ns-3 header is included here, since
 * congestion controls that users bring see it. Times are picoseconds.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

/// What a switch port writes into a passing data packet when the packet's first bit goes on the
/// line.
struct FabricTelemetryHop
{
    int64_t timePs{0};      //!< when the packet left the queue
    uint64_t sentBytes{0};  //!< bytes the line had carried before it, preamble and gap counted
    uint64_t queueBytes{0}; //!< bytes left waiting behind it
    uint64_t rateBps{0};    //!< rate of the line
};

/// What a data packet collects on its way; pooled with the frames.
struct FabricTelemetry
{
    FabricTelemetry* next{nullptr};       //!< next in the pool
    std::vector<FabricTelemetryHop> hops; //!< one entry a switch, unless only the path counts
    bool pathOnly{false};                 //!< collect one number in place of the entries
    double pathUtilisation{0.0};          //!< the highest utilisation on the way
};

} // namespace ns3
