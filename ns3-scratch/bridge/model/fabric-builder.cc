// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-builder.h"

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr int64_t MARKING_STREAMS = 1; // first random stream of the network

/// \return numbers of their own
std::vector<uint32_t>
Copy(const Numbers& numbers)
{
    return {numbers.begin(), numbers.end()};
}

void
AddLinks(const NetworkDescription& description, FabricNetwork& fabric)
{
    const std::vector<LinkParameters> kinds(description.linkKinds.begin(),
                                            description.linkKinds.end());
    for (uint64_t place = 0; place < description.links.count; place += 3)
    {
        const uint32_t* link = description.links.values + place;
        fabric.AddLink(link[0], link[1], kinds[link[2]]);
    }
}

void
SetRoutes(const RoutesDescription& routes, FabricNetwork& fabric)
{
    if (routes.tables.count == 0)
    {
        return;
    }
    const auto array = [&routes](uint32_t number) {
        return std::vector<uint32_t>(routes.numbers.values + routes.offsets[number],
                                     routes.numbers.values + routes.offsets[number + 1]);
    };
    fabric.SetHostGroups(Copy(routes.groupOfHost));
    for (uint64_t place = 0; place < routes.tables.count; place += 6)
    {
        const uint32_t* table = routes.tables.values + place;
        fabric.SetGroupRoutes(table[0],
                              array(table[1]),
                              array(table[2]),
                              array(table[3]),
                              array(table[4]),
                              array(table[5]));
    }
}
} // namespace

void
BuildFabric(const NetworkDescription& description, FabricNetwork& fabric)
{
    fabric.AddHosts(description.hosts);
    fabric.SetNicBuffer(description.nicBufferBytes);
    fabric.SetTimeRounding(description.timeRoundingPs);
    std::vector<SwitchParameters> kinds(description.switchKinds.begin(),
                                        description.switchKinds.end());
    uint32_t number = 0;
    for (const uint32_t kind : description.switches)
    {
        kinds[kind].hashSeed = number++;
        fabric.AddSwitch(kinds[kind]);
    }
    AddLinks(description, fabric);
    SetRoutes(description.routes, fabric);
    fabric.UseRouting(description.routing);
    fabric.SetNodeNames(Copy(description.nodeNames));
    for (const PinnedPath& pin : description.pins)
    {
        fabric.PinPath(pin.fromHost, pin.toHost, Copy(pin.choices));
    }
    fabric.Finish(MARKING_STREAMS);
}

} // namespace astra_ns3
