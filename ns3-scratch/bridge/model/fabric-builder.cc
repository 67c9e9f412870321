// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-builder.h"

namespace astra_ns3
{

using namespace ns3;

namespace
{
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

/// \param tables tables with arrays \param number an array \return a copy of it
template <typename TABLES>
std::vector<uint32_t>
ArrayOf(const TABLES& tables, uint32_t number)
{
    return {tables.numbers.values + tables.offsets[number],
            tables.numbers.values + tables.offsets[number + 1]};
}

void
SetRoutes(const RoutesDescription& routes, FabricNetwork& fabric)
{
    if (routes.tables.count == 0)
    {
        return;
    }
    fabric.SetHostGroups(Copy(routes.groupOfHost));
    for (uint64_t place = 0; place < routes.tables.count; place += 6)
    {
        const uint32_t* table = routes.tables.values + place;
        fabric.SetGroupRoutes(table[0],
                              ArrayOf(routes, table[1]),
                              ArrayOf(routes, table[2]),
                              ArrayOf(routes, table[3]),
                              ArrayOf(routes, table[4]),
                              ArrayOf(routes, table[5]));
    }
}

/// \return the links that differ
std::vector<FabricLinkState>
ChangedLinks(const ChangeDescription& change)
{
    std::vector<FabricLinkState> links;
    for (uint64_t place = 0; place < change.links.count; ++place)
    {
        links.push_back({change.links[place],
                         change.up[place] != 0,
                         static_cast<uint64_t>(change.ratesBps[place]),
                         change.delaysPs[place],
                         change.errorRates[place],
                         change.silent[place] != 0,
                         static_cast<uint8_t>(change.storms[place])});
    }
    return links;
}

/// \return the switches that mark otherwise
std::vector<FabricMarkingState>
ChangedMarkings(const ChangeDescription& change)
{
    std::vector<FabricMarkingState> markings;
    for (uint64_t place = 0; place < change.markedNodes.count; ++place)
    {
        markings.push_back({change.markedNodes[place],
                            change.markedPorts[place],
                            static_cast<uint64_t>(change.kminBytes[place]),
                            static_cast<uint64_t>(change.kmaxBytes[place]),
                            change.pmax[place]});
    }
    return markings;
}

/// \return the switches with other memory
std::vector<FabricBufferState>
ChangedBuffers(const ChangeDescription& change)
{
    std::vector<FabricBufferState> buffers;
    uint64_t port = 0;
    for (uint64_t place = 0; place < change.bufferNodes.count; ++place)
    {
        FabricBufferState& state = buffers.emplace_back();
        state.node = change.bufferNodes[place];
        state.capacityBytes = static_cast<uint64_t>(change.bufferBytes[place]);
        state.reserveBytes = static_cast<uint64_t>(change.reserveBytes[place]);
        state.resumeOffsetBytes = static_cast<uint64_t>(change.resumeOffsetBytes[place]);
        for (const uint64_t end = port + change.bufferPorts[place]; port < end; ++port)
        {
            state.ports.push_back(
                {static_cast<uint64_t>(change.headroomBytes[port]), change.pfcAlphas[port]});
        }
    }
    return buffers;
}

/// \return the tables that differ
std::vector<FabricRoutesDifference>
ChangedTables(const ChangeDescription& change)
{
    std::vector<FabricRoutesDifference> tables;
    for (uint64_t place = 0; place < change.tables.count; place += 7)
    {
        const uint32_t* table = change.tables.values + place;
        tables.push_back({table[0],
                          ArrayOf(change, table[1]),
                          ArrayOf(change, table[2]),
                          ArrayOf(change, table[3]),
                          ArrayOf(change, table[4]),
                          ArrayOf(change, table[5]),
                          ArrayOf(change, table[6])});
    }
    return tables;
}
} // namespace

std::unique_ptr<FabricChanges>
ScheduleChanges(const NetworkDescription& description, const FabricNetwork& fabric)
{
    if (description.changes.empty())
    {
        return nullptr;
    }
    auto changes = std::make_unique<FabricChanges>();
    fabric.AddTo(*changes);
    for (const ChangeDescription& change : description.changes)
    {
        changes->Schedule({change.timePs,
                           ChangedLinks(change),
                           ChangedTables(change),
                           ChangedMarkings(change),
                           ChangedBuffers(change)});
    }
    return changes;
}

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
    fabric.Finish();
}

} // namespace astra_ns3
