// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * The parts of a NetworkDescription, and what a session tells: plain numbers. Times are
 * picoseconds, rates bits per second, sizes bytes.
 */
#pragma once

#include "roce-parameters.h"

#include <cstdint>
#include <string>
#include <vector>

namespace astra_ns3
{

/// RoCE's parameters are its own.
using RoceParameters = ns3::RoceParameters;

/// What is recorded of a connection; bits of Observation::connectionQuantities.
enum ConnectionQuantity : uint32_t
{
    CONGESTION_WINDOW = 1, //!< bytes
    ROUND_TRIP_TIME = 2,   //!< last sample, picoseconds
    RETRANSMISSION = 4,    //!< bytes sent again
    TIMEOUT = 8            //!< 1 for each retransmission timeout
};

/// What is recorded of a queue pair; bits of Observation::queuePairQuantities.
enum QueuePairQuantity : uint32_t
{
    QUEUE_PAIR_RATE = 1,           //!< bits per second
    QUEUE_PAIR_WINDOW = 2,         //!< bytes, 0 without limit
    QUEUE_PAIR_ALPHA = 4,          //!< the control's estimate of congestion, in millionths
    QUEUE_PAIR_RETRANSMISSION = 8, //!< payload bytes sent again
    QUEUE_PAIR_CNP = 16            //!< 1 for each congestion notification
};

/// Parameters of ns-3's TCP and of the IP interface below it.
struct TcpParameters
{
    std::string congestionControl{"ns3::TcpCubic"}; //!< TypeId of the congestion control
    uint32_t windowBytes{500'000};                  //!< send and receive buffer
    uint32_t segmentBytes{1460};                    //!< payload of a segment
    uint32_t mtuBytes{1500};                        //!< largest IP packet
    uint32_t initialWindowSegments{10};             //!< initial congestion window
    int64_t minRtoPs{10'000'000'000};               //!< least retransmission timeout
    int64_t clockGranularityPs{10'000'000};         //!< granularity of the timeout's clock
    uint32_t delayedAckCount{2};                    //!< segments per acknowledgement
    int64_t delayedAckTimeoutPs{40'000'000};        //!< longest an acknowledgement waits
    int64_t connectTimeoutPs{5'000'000'000};        //!< first timeout of the handshake
    uint32_t connectRetries{6};                     //!< times the handshake is tried again
    uint32_t dataRetries{15}; //!< times a segment is sent again before giving up
    bool ecn{false};          //!< explicit congestion notification
    bool acknowledged{false}; //!< messages complete when acknowledged
    bool sack{true};          //!< selective acknowledgements
    bool timestamps{false};   //!< RFC 7323 timestamps, which tick in milliseconds in ns-3
};

/// ECN marking of ports of one rate: see ns3::FabricEcnMarker.
struct MarkingParameters
{
    uint64_t rateBps{0};   //!< ports of this rate; 0: of any
    uint64_t kminBytes{0}; //!< nothing is marked up to it
    uint64_t kmaxBytes{0}; //!< everything is marked above it
    double pmax{1.0};      //!< probability just below kmax
    bool atEnqueue{true};  //!< when frames join the queue, else when they leave it
};

/// One switch: see ns3::FabricSharedBuffer and ns3::FabricSwitch.
struct SwitchParameters
{
    // In the library: to see for itself how members are copied takes the bridge a twentieth of a
    // second.
    SwitchParameters();
    ~SwitchParameters();
    SwitchParameters(const SwitchParameters& other);
    SwitchParameters& operator=(const SwitchParameters& other);

    uint64_t bufferBytes{32'000'000};       //!< memory that all ports share
    uint32_t hashSeed{0};                   //!< makes its choices between equal paths its own
    double alpha{0.0};                      //!< of lossy egress queues; 0: the whole memory
    std::vector<MarkingParameters> marking; //!< by rate; none marks nothing
    uint32_t losslessPriorities{0};         //!< bit p: PFC stops priority p
    uint64_t reserveBytes{4096};            //!< of each ingress queue
    uint64_t resumeOffsetBytes{3072};       //!< hysteresis
    std::vector<uint32_t> quantumBytes;     //!< of 8 priorities (DWRR); none: strict priority
    uint32_t cutThroughBytes{0}; //!< of a frame that must be there before it is sent on; 0: all

    /// \return a new entry of `marking`
    MarkingParameters& AddMarking();
};

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
};

/// How nodes choose between equal paths.
enum RoutingKind : uint32_t
{
    ROUTE_BY_FLOW_HASH = 0, //!< ECMP
    ROUTE_BY_SPRAY = 1,     //!< packet by packet, in turns
    ROUTE_BY_LOAD = 2,      //!< packet by packet, the port with the shortest queue
    ROUTE_BY_FLOWLET = 3,   //!< the port with the shortest queue after a pause of the flow
    ROUTE_BY_MURMUR = 4,    //!< ECMP as simulators of the HPCC family hash
    ROUTE_BY_PIN = 5        //!< as the description's pins say, the rest by flow hash
};

/// Choice between equal paths.
struct RoutingParameters
{
    uint32_t kind{ROUTE_BY_FLOW_HASH}; //!< a RoutingKind
    bool random{false};                //!< ROUTE_BY_SPRAY: at random, not in turns
    uint32_t seed{0};                  //!< of all choices
    int64_t flowletGapPs{50'000'000};  //!< pause after which a flow may change its path
};

/// What a run has done so far, all transports together.
struct SessionStatistics
{
    uint64_t events{0};            //!< events played, without heartbeats
    uint64_t messages{0};          //!< messages sent by all NPUs
    uint64_t deliveredBytes{0};    //!< of messages, whole or not, that NPUs have got in order
    uint64_t packets{0};           //!< IP packets received, RoCE data packets sent
    uint64_t retransmissions{0};   //!< segments and packets sent again
    uint64_t timeouts{0};          //!< retransmission timeouts
    uint64_t connections{0};       //!< TCP connections opened
    uint64_t queuePairs{0};        //!< RoCE queue pairs opened
    uint64_t nacks{0};             //!< negative acknowledgements sent
    uint64_t cnps{0};              //!< congestion notifications that reached their sender
    uint64_t busyQueuePairs{0};    //!< with a message not both delivered and acknowledged
    uint64_t roceFrames{0};        //!< frames of RoCE that are in the network
    int64_t outOfOrderPackets{-1}; //!< RoCE data packets overtaken on the way; below 0: no RoCE
    uint64_t pauseStorms{0};       //!< times the watchdog found a port stopped for too long
};

/// A message that an NPU still has to send or to receive.
struct PendingMessage
{
    uint32_t sender{0};   //!< NPU that sends
    uint32_t receiver{0}; //!< NPU that receives
    uint32_t step{0};     //!< step of the schedule
    uint64_t bytes{0};    //!< size
    bool sent{false};     //!< false: its sender has not sent it yet
};

/// Why Session::Run came back.
enum RunStatus : uint32_t
{
    RUN_STOPPED = 0, //!< Stop was called
    RUN_DRAINED = 1, //!< no event is left
    RUN_LIMIT = 2,   //!< the limit on simulated time was reached
    RUN_FAILED = 3,  //!< a transport gave up: see GetFailure
    RUN_HALTED = 4   //!< something else called Simulator::Stop
};

} // namespace astra_ns3
