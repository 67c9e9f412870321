// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Random networks and what travels over them, for the oracle of whole networks. Times are
 * picoseconds, rates bits per second, sizes bytes.
 */
#pragma once

#include "network-description.h"
#include "roce-parameters.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

/// A link of a case.
struct CaseLink
{
    uint32_t nodeA;            //!< a node, hosts first
    uint32_t nodeB;            //!< another
    LinkParameters parameters; //!< what the link is like
};

/// What the queue pairs of one priority are like.
struct CaseTransport
{
    ns3::RoceParameters parameters;                               //!< all numbers
    std::string control{"none"};                                  //!< congestion control
    std::vector<std::pair<std::string, double>> controlNumbers{}; //!< numbers of it
};

/// A message that is posted.
struct CaseMessage
{
    uint32_t sender;    //!< host
    uint32_t receiver;  //!< host
    uint32_t transport; //!< place in NetworkCase::transports
    uint64_t bytes;     //!< size
    int64_t timePs;     //!< when
};

/// A frame without a queue pair, which a host sends.
struct CaseFrame
{
    uint32_t sender;      //!< host
    uint32_t receiver;    //!< host
    uint8_t priority;     //!< of the frame
    bool ecnCapable;      //!< whether it may be marked
    uint32_t bufferBytes; //!< size
    uint32_t flowHash;    //!< picks its path
    int64_t timePs;       //!< when
};

/// What a link is like from a time on.
struct CaseLinkState
{
    uint32_t link;    //!< place in NetworkCase::links
    bool up;          //!< whether it carries anything
    uint64_t rateBps; //!< rate
    int64_t delayPs;  //!< delay
    double errorRate; //!< probability that a frame is lost
    bool silent;      //!< it is up and carries nothing; the tables lead over it
};

/// What PFC keeps for a port of a switch.
struct CasePort
{
    uint64_t headroomBytes; //!< of each of its lossless priorities
    double alpha;           //!< share of what is free that its ingress queues may hold
};

/// What the memory of a switch is like from a time on.
struct CaseMemory
{
    uint64_t bufferBytes;        //!< size
    uint64_t reserveBytes;       //!< of each ingress port and lossless priority
    uint64_t resumeOffsetBytes;  //!< so far below its threshold an ingress queue goes on
    std::vector<CasePort> ports; //!< by number
};

/// When a switch marks from a time on, if it marks at all.
struct CaseMarking
{
    uint64_t kminBytes; //!< nothing up to this
    uint64_t kmaxBytes; //!< all above this
    double pmax;        //!< probability just below
};

/// What changes in a network at one time.
struct CaseChange
{
    int64_t timePs;                           //!< when
    std::vector<CaseLinkState> links;         //!< links that are different from then on
    bool reroutes;                            //!< the tables follow the links that are up
    std::map<uint32_t, CaseMemory> memories;  //!< of switches, by number
    std::map<uint32_t, CaseMarking> markings; //!< the same
};

/// Cases from this number on change while they are played.
constexpr uint32_t FIRST_CASE_WITH_CHANGES = 800;
/// From this number on switches cut through, and half of the cases change.
constexpr uint32_t FIRST_CASE_WITH_CUT_THROUGH = 1'600;
/// From this number on links also go silent, flap, and are noticed late; half of the cases cut
/// through.
constexpr uint32_t FIRST_CASE_WITH_SILENCE = 2'400;
/// From this number on buffers and thresholds of switches change, and half of the cases have links
/// that go silent.
constexpr uint32_t FIRST_CASE_WITH_MEMORIES = 3'200;
/// From this number on switches give credit; half of the cases change, a quarter with silence.
constexpr uint32_t FIRST_CASE_WITH_CREDITS = 4'000;

/// A network and all that is asked of it.
struct NetworkCase
{
    uint32_t number{0};                     //!< of the case, which is its seed too
    bool inOrder{false};                    //!< arrivals of one picosecond go by ingress port
    uint32_t hosts{0};                      //!< how many
    uint64_t nicBufferBytes{0};             //!< of a host's port; 0: no limit
    std::vector<SwitchParameters> switches; //!< the switches
    std::vector<CaseLink> links;            //!< the links
    RoutingParameters routing;              //!< choice between equal paths
    std::vector<CaseTransport> transports;  //!< kinds of queue pairs
    std::vector<CaseMessage> messages;      //!< in order of time
    std::vector<CaseFrame> frames;          //!< in order of time
    std::vector<CaseChange> changes;        //!< in order of time
    int64_t limitPs{0};                     //!< when it ends
};

/// \param number of the case \return the case
NetworkCase MakeNetworkCase(uint32_t number);

} // namespace astra_ns3::test
