// SPDX-License-Identifier: GPL-2.0-only
#include "roce-path.h"

#include "fabric-switch.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ns3
{

namespace
{
constexpr double PS_TIMES_BITS = 8e12;   // picoseconds a byte takes at 1 bit/s
constexpr uint32_t MOST_SWITCHES = 1000; // a longer path is a loop in the routing tables
} // namespace

RocePath
RocePath::Find(const FabricNetDevice& from, uint32_t port, uint32_t destination)
{
    RocePath path;
    const FabricPort* line = PeekPointer(from.GetPort(port));
    while (true)
    {
        path.delayPs += line->GetDelayPs();
        path.lines.push_back(PS_TIMES_BITS / static_cast<double>(line->GetRateBps()));
        path.psPerByte += path.lines.back();
        path.lowestRateBps = path.lowestRateBps == 0
                                 ? line->GetRateBps()
                                 : std::min(path.lowestRateBps, line->GetRateBps());
        auto* next = dynamic_cast<FabricSwitch*>(line->GetReceiver());
        if (!next)
        {
            return path;
        }
        const FabricRoutes::Ports choices = next->GetRoutes().Find(destination);
        if (choices.count == 0 || ++path.switches > MOST_SWITCHES)
        {
            throw std::invalid_argument("RoCE: the routes of the switches lead to no host " +
                                        std::to_string(destination));
        }
        line = PeekPointer(next->GetPort(choices.first[0]));
    }
}

int64_t
RocePath::TravelPs(uint64_t fullFrames, uint32_t fullWireBytes, uint32_t lastWireBytes) const
{
    if (fullFrames == 0)
    {
        return TravelPs(lastWireBytes);
    }
    // Some line is where the last frame has to wait for the one before it: that has passed all
    // lines up to there, and waited for its predecessors at the slowest of these.
    double longest = 0.0;
    double passed = 0.0;
    double slowest = 0.0;
    double left = psPerByte;
    for (double line : lines)
    {
        passed += line;
        slowest = std::max(slowest, line);
        const double before = passed + static_cast<double>(fullFrames - 1) * slowest;
        longest = std::max(longest, before * fullWireBytes + left * lastWireBytes);
        left -= line;
    }
    return delayPs + static_cast<int64_t>(longest + 0.5);
}

} // namespace ns3
