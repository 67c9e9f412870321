// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * All that a session is made from, as plain data without any ns-3 header: filled in by Python,
 * checked and read once when the session is made. Times are picoseconds, rates bits per second,
 * sizes bytes.
 */
#pragma once

#include "numbers-view.h"
#include "part-description.h"
#include "session-parameters.h"

#include <cstdint>
#include <list>
#include <string>
#include <vector>

namespace astra_ns3
{

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

/// What is different in a network from a time on: see ns3::FabricChange.
struct ChangeDescription
{
    // In the library, as SwitchParameters'.
    ChangeDescription();
    ~ChangeDescription();
    ChangeDescription(const ChangeDescription& other);
    ChangeDescription& operator=(const ChangeDescription& other);

    int64_t timePs{0};   //!< when
    Numbers links;       //!< number of each link that differs
    Numbers up;          //!< 1 if it carries anything
    Quantities ratesBps; //!< rate of each
    Quantities delaysPs; //!< delay of each
    Reals errorRates;    //!< error rate of each
    Numbers numbers;     //!< arrays, one after the other
    Numbers offsets;     //!< where each array begins, and where the last ends
    Numbers tables; //!< seven numbers a table that differs: a node, then six arrays: groups, the
                    //!< set of each, where each set begins, the ports of the sets, hosts of groups
                    //!< without a set, the port of each
};

/// The path between two hosts, for ROUTE_BY_PIN.
struct PinnedPath
{
    uint32_t fromHost{0}; //!< where it begins
    uint32_t toHost{0};   //!< where it ends
    Numbers choices;      //!< which of the ports that lead on: of the host, then of each switch
};

/// Messages inside a host.
struct LocalParameters
{
    uint64_t rateBps{2'400'000'000'000}; //!< of an NPU's sending side
    int64_t delayPs{100'000};            //!< of each message
};

/// What an NPU spends on a message: see ns3::EndpointCosts.
struct EndpointParameters
{
    int64_t delayPs{0};                    //!< before the first sends, after each reception
    uint64_t reductionBytesPerNs{500'000}; //!< speed of its memory
};

/// NPUs along a dimension, and what carries messages between those that differ in it.
struct TransportDimension
{
    // In the library, as SwitchParameters'.
    TransportDimension();
    ~TransportDimension();
    TransportDimension(const TransportDimension& other);
    TransportDimension& operator=(const TransportDimension& other);

    uint32_t npus{1};      //!< how many
    std::string transport; //!< a name of the registry: see ListTransports
};

/// A file of packets.
struct CaptureDescription
{
    uint32_t node{0}; //!< the port's node
    uint32_t port{0}; //!< its number
    std::string path; //!< of the file
};

/// What is recorded in a table that a transport fills, which says what that means.
struct TableObservation
{
    std::string table;      //!< its name
    uint32_t quantities{0}; //!< sum of what is recorded
    int64_t intervalPs{0};  //!< at its multiples; 0: on change
};

/// What is recorded while the run goes on. Ports are pairs of numbers: a node, a port of it.
struct Observation
{
    // In the library, as SwitchParameters'.
    Observation();
    ~Observation();
    Observation(const Observation& other);
    Observation& operator=(const Observation& other);

    bool flows{false};                      //!< every message
    bool accounts{false};                   //!< where the time of every message went
    std::list<TableObservation> tables;     //!< those of transports
    Numbers queues;                         //!< ports whose queue is recorded
    int64_t queueIntervalPs{0};             //!< at its multiples; 0: on change
    Numbers pauses;                         //!< ports of which it is recorded what stops them
    Numbers utilisation;                    //!< ports of which it is recorded what they send
    int64_t utilisationIntervalPs{0};       //!< in each such interval
    std::list<CaptureDescription> captures; //!< ports whose packets are written

    /// \return a new capture
    CaptureDescription& AddCapture();
    /// \return a new table of a transport's
    TableObservation& AddTable();
    /// \param table its name \return what is recorded in a table of a transport's; by default
    /// nothing
    TableObservation FindTable(const std::string& table) const;
};

/**
 * A network. Nodes are numbered hosts first, then switches; the ports of a node are numbered in the
 * order of the links that touch it.
 */
struct NetworkDescription
{
    // In the library: the bridge compiles, in each process, what stands in a header.
    NetworkDescription();
    ~NetworkDescription();
    NetworkDescription(NetworkDescription&&) noexcept;

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
    int64_t pauseWatchdogPs{0};  //!< a port stopped by PFC for so long is looked at; 0: never
    Numbers hostOfNpu;           //!< host of each NPU
    LocalParameters local;       //!< messages inside a host
    EndpointParameters endpoint; //!< what NPUs spend
    std::list<TransportDimension> transports; //!< by dimension of the NPUs, the innermost first
    std::list<PartDescription> parts;         //!< what each of these transports is made from
    Observation observation;                  //!< what is recorded

    /// \return a new kind of switch
    SwitchParameters& AddSwitchKind();
    /// \return a new kind of link
    LinkParameters& AddLinkKind();
    /// \return what differs from a later time on
    ChangeDescription& AddChange();
    /// \return a new pinned path
    PinnedPath& AddPin();
    /// \return the next dimension outwards
    TransportDimension& AddTransport();
    /// \param name of a transport \return what it is made from, new if there is nothing yet
    PartDescription& GetPart(const std::string& name);
};

/**
 * Check all that can be checked without making anything.
 * \param description a network
 * \throw std::invalid_argument that says in one line what is wrong
 */
void CheckDescription(const NetworkDescription& description);

} // namespace astra_ns3
