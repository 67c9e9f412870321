// SPDX-License-Identifier: GPL-2.0-only
#include "network-description.h"

#include <algorithm>
#include <stdexcept>

namespace astra_ns3
{

namespace
{
constexpr uint64_t NUMBERS_OF_LINK = 3;
constexpr uint64_t NUMBERS_OF_TABLE = 6;
constexpr uint64_t NUMBERS_OF_CHANGED_TABLE = 7;

/// Raise an error unless something holds.
void
Require(bool holds, const std::string& otherwise)
{
    if (!holds)
    {
        throw std::invalid_argument("network description: " + otherwise);
    }
}

/// Raise an error if one of several numbers is too high.
void
RequireBelow(const Numbers& numbers, uint64_t end, const std::string& what)
{
    for (const uint32_t number : numbers)
    {
        Require(number < end, "there is no " + what + " " + std::to_string(number));
    }
}

void
CheckLinks(const NetworkDescription& description)
{
    const uint64_t nodes = description.hosts + description.switches.count;
    Require(description.links.count % NUMBERS_OF_LINK == 0, "a link is three numbers");
    for (uint64_t place = 0; place < description.links.count; place += NUMBERS_OF_LINK)
    {
        const uint32_t* link = description.links.values + place;
        Require(link[0] < nodes && link[1] < nodes && link[0] != link[1],
                "link " + std::to_string(place / NUMBERS_OF_LINK) + " joins nodes " +
                    std::to_string(link[0]) + " and " + std::to_string(link[1]) + " of " +
                    std::to_string(nodes));
        Require(link[2] < description.linkKinds.size(),
                "there is no kind of link " + std::to_string(link[2]));
    }
}

/// \param tables tables of nodes, or what differs in them \param width numbers of each
template <typename TABLES>
void
CheckTables(const TABLES& tables, uint64_t width, uint64_t nodes)
{
    if (tables.tables.count == 0)
    {
        return;
    }
    Require(std::is_sorted(tables.offsets.begin(), tables.offsets.end()) &&
                tables.offsets.count > 0 && tables.offsets[0] == 0 &&
                tables.offsets[tables.offsets.count - 1] == tables.numbers.count,
            "the arrays of its routes do not lie one after the other");
    Require(tables.tables.count % width == 0, "a table is " + std::to_string(width) + " numbers");
    for (uint64_t place = 0; place < tables.tables.count; ++place)
    {
        const bool isNode = place % width == 0;
        Require(tables.tables[place] < (isNode ? nodes : tables.offsets.count - 1),
                std::string("a table names a ") + (isNode ? "node" : "array") +
                    " that does not exist: " + std::to_string(tables.tables[place]));
    }
}

void
CheckRoutes(const NetworkDescription& description)
{
    const RoutesDescription& routes = description.routes;
    if (routes.tables.count == 0)
    {
        return;
    }
    const uint64_t nodes = description.hosts + description.switches.count;
    Require(routes.groupOfHost.count == description.hosts,
            "found groups for " + std::to_string(routes.groupOfHost.count) + " hosts, expected " +
                std::to_string(description.hosts));
    CheckTables(routes, NUMBERS_OF_TABLE, nodes);
}

void
CheckChanges(const NetworkDescription& description)
{
    const uint64_t nodes = description.hosts + description.switches.count;
    for (const ChangeDescription& change : description.changes)
    {
        const uint64_t links = change.links.count;
        Require(change.up.count == links && change.ratesBps.count == links &&
                    change.delaysPs.count == links && change.errorRates.count == links,
                "a change says too much or too little of its links");
        CheckTables(change, NUMBERS_OF_CHANGED_TABLE, nodes);
    }
}

void
CheckTransports(const NetworkDescription& description)
{
    uint64_t npus = 1;
    for (const TransportDimension& dimension : description.transports)
    {
        npus *= dimension.npus;
    }
    Require(description.reducers <= description.hostOfNpu.count,
            "it has " + std::to_string(description.reducers) + " reducers, and hosts of " +
                std::to_string(description.hostOfNpu.count) + " NPUs and reducers");
    const uint64_t described = description.hostOfNpu.count - description.reducers;
    Require(description.transports.empty() || npus == described,
            "its dimensions have " + std::to_string(npus) + " NPUs, not " +
                std::to_string(described));
    Require(description.reducers == 0 ||
                std::all_of(description.transports.begin(),
                            description.transports.end(),
                            [&description](const TransportDimension& each) {
                                return each.transport == description.transports.front().transport;
                            }),
            "it has reducers, and several transports");
    Require(!description.transports.empty() || description.hosts <= 1,
            "there are several hosts and no transport between them");
}
} // namespace

TableObservation
Observation::FindTable(const std::string& table) const
{
    for (const TableObservation& each : tables)
    {
        if (each.table == table)
        {
            return each;
        }
    }
    return {table};
}

PartDescription&
NetworkDescription::GetPart(const std::string& name)
{
    for (PartDescription& part : parts)
    {
        if (part.name == name)
        {
            return part;
        }
    }
    PartDescription& part = parts.emplace_back();
    part.name = name;
    return part;
}

void
CheckDescription(const NetworkDescription& description)
{
    RequireBelow(description.switches, description.switchKinds.size(), "kind of switch");
    CheckLinks(description);
    CheckRoutes(description);
    CheckChanges(description);
    RequireBelow(description.hostOfNpu, description.hosts, "host");
    CheckTransports(description);
    const Observation& observation = description.observation;
    for (const Numbers* ports :
         {&observation.queues, &observation.pauses, &observation.utilisation})
    {
        Require(ports->count % 2 == 0, "a port is two numbers");
    }
    Require(observation.utilisation.count == 0 || observation.utilisationIntervalPs > 0,
            "utilisation is observed over an interval above 0");
}

} // namespace astra_ns3
