// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * All that a session is made from, as plain data without any ns-3 header: described by Python (see
 * description-reader.h), checked and read once when the session is made. Times are picoseconds,
 * rates bits per second, sizes bytes.
 */
#pragma once

#include "numbers-view.h"
#include "part-description.h"

#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

namespace astra_ns3
{

/// ECN marking of ports of one rate: see ns3::FabricEcnMarker.
struct MarkingParameters
{
    uint64_t rateBps{0};   //!< ports of this rate; 0: of any
    uint64_t kminBytes{0}; //!< nothing is marked up to it
    uint64_t kmaxBytes{0}; //!< everything is marked above it
    double pmax{1.0};      //!< probability just below kmax
    bool atEnqueue{true};  //!< when frames join the queue, else when they leave it
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, MarkingParameters& parameters)
{
    field("rateBps", parameters.rateBps);
    field("kminBytes", parameters.kminBytes);
    field("kmaxBytes", parameters.kmaxBytes);
    field("pmax", parameters.pmax);
    field("atEnqueue", parameters.atEnqueue);
}

/// One switch: see ns3::FabricSharedBuffer and ns3::FabricSwitch.
struct SwitchParameters
{
    uint64_t bufferBytes{32'000'000};       //!< memory that all ports share
    uint32_t hashSeed{0};                   //!< makes its choices between equal paths its own
    double alpha{0.0};                      //!< of lossy egress queues; 0: the whole memory
    std::vector<MarkingParameters> marking; //!< by rate; none marks nothing
    uint32_t losslessPriorities{0};         //!< bit p: PFC stops priority p
    uint64_t reserveBytes{4096};            //!< of each ingress queue
    uint64_t resumeOffsetBytes{3072};       //!< hysteresis
    std::vector<uint32_t> quantumBytes;     //!< of 8 priorities (DWRR); none: strict priority
    uint32_t cutThroughBytes{0}; //!< of a frame that must be there before it is sent on; 0: all
    uint64_t creditBytes{0};     //!< buffer of each lane of each link to it; 0: it gives no credit
    uint32_t creditLargestBytes{0};  //!< the largest frame of the network
    int64_t creditUpdatePs{0};       //!< from free buffer to the update's first bit
    std::vector<uint32_t> nextLanes; //!< by credit: lane after each of 8 lanes; none: the same
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, SwitchParameters& parameters)
{
    field("bufferBytes", parameters.bufferBytes);
    field("alpha", parameters.alpha);
    field("losslessPriorities", parameters.losslessPriorities);
    field("reserveBytes", parameters.reserveBytes);
    field("resumeOffsetBytes", parameters.resumeOffsetBytes);
    field("quantumBytes", parameters.quantumBytes);
    field("cutThroughBytes", parameters.cutThroughBytes);
    field("creditBytes", parameters.creditBytes);
    field("creditLargestBytes", parameters.creditLargestBytes);
    field("creditUpdatePs", parameters.creditUpdatePs);
    field("nextLanes", parameters.nextLanes);
}

/// One full-duplex link.
struct LinkParameters
{
    uint64_t rateBps{100'000'000'000}; //!< rate of each direction
    int64_t delayPs{500'000};          //!< propagation delay one way
    double errorRate{0.0};             //!< probability that a frame is lost
    uint64_t headroomBytes{0};         //!< PFC headroom of the first node's port, if a switch's
    double pfcAlpha{0.125};            //!< PFC: that port's share in the free shared memory
    int64_t farHeadroomBytes{-1};      //!< headroom of the second node's port; below 0: the same
    double farPfcAlpha{0.0};           //!< share of the second node's port; 0: the same
    uint32_t creditOrder{0};           //!< of the way to the second node: ns3::FabricCreditRule
    uint32_t farCreditOrder{0};        //!< of the way back
    uint32_t ownPort{0xffff};          //!< of the first node's port: ns3::FabricQueues
    uint32_t farOwnPort{0xffff};       //!< of the second node's port
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, LinkParameters& parameters)
{
    field("rateBps", parameters.rateBps);
    field("delayPs", parameters.delayPs);
    field("errorRate", parameters.errorRate);
    field("headroomBytes", parameters.headroomBytes);
    field("pfcAlpha", parameters.pfcAlpha);
    field("farHeadroomBytes", parameters.farHeadroomBytes);
    field("farPfcAlpha", parameters.farPfcAlpha);
    field("creditOrder", parameters.creditOrder);
    field("farCreditOrder", parameters.farCreditOrder);
    field("ownPort", parameters.ownPort);
    field("farOwnPort", parameters.farOwnPort);
}

/// How nodes choose between equal paths.
enum RoutingKind : uint32_t
{
    ROUTE_BY_FLOW_HASH = 0, //!< ECMP
    ROUTE_BY_SPRAY = 1,     //!< packet by packet, in turns
    ROUTE_BY_LOAD = 2,      //!< packet by packet, the port with the shortest queue
    ROUTE_BY_FLOWLET = 3,   //!< the port with the shortest queue after a pause of the flow
    ROUTE_BY_MURMUR = 4,    //!< ECMP as simulators of the HPCC family hash
    ROUTE_BY_PIN = 5,       //!< as the description's pins say, the rest by flow hash
    ROUTE_BY_DETOUR = 6     //!< first to a place that the flow hash draws: see FabricDetours
};

/// Choice between equal paths.
struct RoutingParameters
{
    uint32_t kind{ROUTE_BY_FLOW_HASH}; //!< a RoutingKind
    bool random{false};                //!< ROUTE_BY_SPRAY: at random, not in turns
    uint32_t seed{0};                  //!< of all choices
    int64_t flowletGapPs{50'000'000};  //!< pause after which a flow may change its path
    bool countsFlows{false};           //!< ROUTE_BY_FLOWLET: there are no queues, but flows
};

/// Words for RoutingKind.
inline constexpr std::array
    ROUTING_KINDS{"flow-hash", "spray", "load", "flowlet", "murmur", "pin", "detour"};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, RoutingParameters& routing)
{
    field("kind", routing.kind, ROUTING_KINDS);
    field("random", routing.random);
    field("seed", routing.seed);
    field("flowletGapPs", routing.flowletGapPs);
    field("countsFlows", routing.countsFlows);
}

/**
 * The tables of all nodes that have one: see ns3::FabricRoutes. Arrays that recur stand in
 * `numbers` once.
 */
struct RoutesDescription
{
    Numbers groupOfHost; //!< group of each host
    Numbers numbers;     //!< arrays, one after the other
    Numbers offsets;     //!< where each array begins, and where the last ends
    Numbers tables; //!< six numbers a table: a node, then five arrays: the set of ports towards
                    //!< each group (or 0xffffffff), where each set begins, the ports of the sets,
                    //!< hosts of groups without a set, the port of each
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, RoutesDescription& routes)
{
    field("groupOfHost", routes.groupOfHost);
    field("numbers", routes.numbers);
    field("offsets", routes.offsets);
    field("tables", routes.tables);
}

/// What is different in a network from a time on: see ns3::FabricChange.
struct ChangeDescription
{
    int64_t timePs{0};    //!< when
    Numbers links;        //!< number of each link that differs
    Numbers up;           //!< 1 if it is up
    Numbers silent;       //!< 1 if it is up and carries nothing
    Quantities ratesBps;  //!< rate of each
    Quantities delaysPs;  //!< delay of each
    Reals errorRates;     //!< error rate of each
    Numbers storms;       //!< priorities that the host of each has its switch stop, a bit each
    Numbers markedNodes;  //!< node of each port that marks otherwise
    Numbers markedPorts;  //!< its number there
    Quantities kminBytes; //!< nothing is marked up to this, of each
    Quantities kmaxBytes; //!< all is marked above this, of each
    Reals pmax;           //!< probability just below, of each

    Numbers bufferNodes;          //!< node of each switch whose memory is otherwise
    Quantities bufferBytes;       //!< its size
    Quantities reserveBytes;      //!< of each ingress port and lossless priority there
    Quantities resumeOffsetBytes; //!< an ingress queue goes on that far below its threshold
    Numbers bufferPorts;          //!< how many of the ports below are its
    Quantities headroomBytes;     //!< of each port, switch by switch, by number
    Reals pfcAlphas;              //!< share of what is free that an ingress queue may hold, of each

    Numbers numbers; //!< arrays, one after the other
    Numbers offsets; //!< where each array begins, and where the last ends
    Numbers tables;  //!< seven numbers a table that differs: a node, then six arrays: groups, the
                     //!< set of each, where each set begins, the ports of the sets, hosts of groups
                     //!< without a set, the port of each
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, ChangeDescription& change)
{
    field("timePs", change.timePs);
    field("links", change.links);
    field("up", change.up);
    field("silent", change.silent);
    field("ratesBps", change.ratesBps);
    field("delaysPs", change.delaysPs);
    field("errorRates", change.errorRates);
    field("storms", change.storms);
    field("markedNodes", change.markedNodes);
    field("markedPorts", change.markedPorts);
    field("kminBytes", change.kminBytes);
    field("kmaxBytes", change.kmaxBytes);
    field("pmax", change.pmax);
    field("bufferNodes", change.bufferNodes);
    field("bufferBytes", change.bufferBytes);
    field("reserveBytes", change.reserveBytes);
    field("resumeOffsetBytes", change.resumeOffsetBytes);
    field("bufferPorts", change.bufferPorts);
    field("headroomBytes", change.headroomBytes);
    field("pfcAlphas", change.pfcAlphas);
    field("numbers", change.numbers);
    field("offsets", change.offsets);
    field("tables", change.tables);
}

/// The path between two hosts, for ROUTE_BY_PIN.
struct PinnedPath
{
    uint32_t fromHost{0}; //!< where it begins
    uint32_t toHost{0};   //!< where it ends
    Numbers choices;      //!< which of the ports that lead on: of the host, then of each switch
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, PinnedPath& pin)
{
    field("fromHost", pin.fromHost);
    field("toHost", pin.toHost);
    field("choices", pin.choices);
}

/// Messages inside a host.
struct LocalParameters
{
    uint64_t rateBps{2'400'000'000'000}; //!< of an NPU's sending side
    int64_t delayPs{100'000};            //!< of each message
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, LocalParameters& local)
{
    field("rateBps", local.rateBps);
    field("delayPs", local.delayPs);
}

/// What an NPU spends on a message: see ns3::EndpointCosts.
struct EndpointParameters
{
    int64_t delayPs{0};                    //!< before the first sends, after each reception
    uint64_t reductionBytesPerNs{500'000}; //!< speed of its memory
    Numbers stillNpus;                     //!< NPUs that stand still for a while, in order of time
    Quantities stillBeginsPs;              //!< when each begins to
    Quantities stillEndsPs;                //!< when each goes on
    bool tellsFailures{false}; //!< a transport that gives up is told of, else it ends the run
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, EndpointParameters& endpoint)
{
    field("delayPs", endpoint.delayPs);
    field("reductionBytesPerNs", endpoint.reductionBytesPerNs);
    field("stillNpus", endpoint.stillNpus);
    field("stillBeginsPs", endpoint.stillBeginsPs);
    field("stillEndsPs", endpoint.stillEndsPs);
    field("tellsFailures", endpoint.tellsFailures);
}

/// NPUs along a dimension, and what carries messages between those that differ in it.
struct TransportDimension
{
    uint32_t npus{1};      //!< how many
    std::string transport; //!< a name of the registry: see ListTransports
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, TransportDimension& dimension)
{
    field("npus", dimension.npus);
    field("transport", dimension.transport);
}

/// A file of packets.
struct CaptureDescription
{
    uint32_t node{0}; //!< the port's node
    uint32_t port{0}; //!< its number
    std::string path; //!< of the file
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, CaptureDescription& capture)
{
    field("node", capture.node);
    field("port", capture.port);
    field("path", capture.path);
}

/// What is recorded in a table that a transport fills, which says what that means.
struct TableObservation
{
    std::string table;      //!< its name
    uint32_t quantities{0}; //!< sum of what is recorded
    int64_t intervalPs{0};  //!< at its multiples; 0: on change
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, TableObservation& table)
{
    field("table", table.table);
    field("quantities", table.quantities);
    field("intervalPs", table.intervalPs);
}

/// What is recorded while the run goes on. Ports are pairs of numbers: a node, a port of it.
struct Observation
{
    bool flows{false};                      //!< every message
    bool accounts{false};                   //!< where the time of every message went
    int64_t jobBit{63};                     //!< from this bit on an instance says whose it is
    std::list<TableObservation> tables;     //!< those of transports
    Numbers queues;                         //!< ports whose queue is recorded
    int64_t queueIntervalPs{0};             //!< at its multiples; 0: on change
    Numbers pauses;                         //!< ports of which it is recorded what stops them
    Numbers utilisation;                    //!< ports of which it is recorded what they send
    int64_t utilisationIntervalPs{0};       //!< in each such interval
    std::list<CaptureDescription> captures; //!< ports whose packets are written

    /// \param table its name \return what is recorded in a table of a transport's; by default
    /// nothing
    TableObservation FindTable(const std::string& table) const;
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, Observation& observation)
{
    field("flows", observation.flows);
    field("accounts", observation.accounts);
    field("jobBit", observation.jobBit);
    field("queues", observation.queues);
    field("queueIntervalPs", observation.queueIntervalPs);
    field("pauses", observation.pauses);
    field("utilisation", observation.utilisation);
    field("utilisationIntervalPs", observation.utilisationIntervalPs);
}

/**
 * A network. Nodes are numbered hosts first, then switches; the ports of a node are numbered in the
 * order of the links that touch it.
 */
struct NetworkDescription
{
    uint32_t hosts{0};                       //!< how many hosts
    uint64_t nicBufferBytes{0};              //!< buffer of a host's port; 0: no limit
    int64_t timeRoundingPs{0};               //!< transmission times are multiples of it; 0: exact
    std::list<SwitchParameters> switchKinds; //!< kinds of switches
    Numbers switches;                        //!< kind of each switch
    std::list<LinkParameters> linkKinds;     //!< kinds of full-duplex links
    Numbers links;                           //!< three numbers a link: two nodes, its kind
    RoutesDescription routes;                //!< tables
    std::list<ChangeDescription> changes;    //!< what differs later, in order of time
    RoutingParameters routing;               //!< choice between equal paths
    Numbers nodeNames;           //!< number of each node in its file, which old simulators hash
    std::list<PinnedPath> pins;  //!< pinned paths
    int64_t pauseWatchdogPs{0};  //!< a port stopped for so long is looked at; 0: never
    Numbers hostOfNpu;           //!< host of each NPU, then of each reducer
    uint32_t reducers{0};        //!< how many reducers there are: see CollectiveExecutor
    LocalParameters local;       //!< messages inside a host
    EndpointParameters endpoint; //!< what NPUs spend
    std::list<TransportDimension> transports; //!< by dimension of the NPUs, the innermost first
    std::list<PartDescription> parts;         //!< what each of these transports is made from
    Observation observation;                  //!< what is recorded

    /// \param name of a transport \return what it is made from, new if there is nothing yet
    PartDescription& GetPart(const std::string& name);
};

/// Read all fields by their names. \param field what reads them
template <typename READER>
void
ForEachField(READER& field, NetworkDescription& network)
{
    field("hosts", network.hosts);
    field("nicBufferBytes", network.nicBufferBytes);
    field("timeRoundingPs", network.timeRoundingPs);
    field("switches", network.switches);
    field("links", network.links);
    field("nodeNames", network.nodeNames);
    field("pauseWatchdogPs", network.pauseWatchdogPs);
    field("hostOfNpu", network.hostOfNpu);
    field("reducers", network.reducers);
}

/**
 * Check all that can be checked without making anything.
 * \param description a network
 * \throw std::invalid_argument that says in one line what is wrong
 */
void CheckDescription(const NetworkDescription& description);

} // namespace astra_ns3
