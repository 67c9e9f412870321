// SPDX-License-Identifier: GPL-2.0-only
#include "roce-path.h"

#include "fabric-switch.h"

#include "ns3/abort.h"

#include <algorithm>

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
        path.psPerByte += PS_TIMES_BITS / static_cast<double>(line->GetRateBps());
        path.lowestRateBps = path.lowestRateBps == 0
                                 ? line->GetRateBps()
                                 : std::min(path.lowestRateBps, line->GetRateBps());
        auto* next = dynamic_cast<FabricSwitch*>(line->GetReceiver());
        if (!next)
        {
            return path;
        }
        const FabricRoutes::Ports choices = next->GetRoutes().Find(destination);
        NS_ABORT_MSG_IF(choices.count == 0 || ++path.switches > MOST_SWITCHES,
                        "RocePath: no way to host " << destination);
        line = PeekPointer(next->GetPort(choices.first[0]));
    }
}

} // namespace ns3
