// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * The parts of a NetworkDescription, and what a session tells: plain numbers. Times are
 * picoseconds, rates bits per second, sizes bytes.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace astra_ns3
{

/// What is recorded of a connection; bits of TableObservation::quantities.
enum ConnectionQuantity : uint32_t
{
    CONGESTION_WINDOW = 1, //!< bytes
    ROUND_TRIP_TIME = 2,   //!< last sample, picoseconds
    RETRANSMISSION = 4,    //!< bytes sent again
    TIMEOUT = 8            //!< 1 for each retransmission timeout
};

/// What is recorded of a queue pair; bits of TableObservation::quantities.
enum QueuePairQuantity : uint32_t
{
    QUEUE_PAIR_RATE = 1,           //!< bits per second
    QUEUE_PAIR_WINDOW = 2,         //!< bytes, 0 without limit
    QUEUE_PAIR_ALPHA = 4,          //!< the control's estimate of congestion, in millionths
    QUEUE_PAIR_RETRANSMISSION = 8, //!< payload bytes sent again
    QUEUE_PAIR_CNP = 16            //!< 1 for each congestion notification
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
    uint64_t events{0};          //!< events played, without heartbeats
    uint64_t messages{0};        //!< messages sent by all NPUs
    uint64_t deliveredBytes{0};  //!< of messages, whole or not, that NPUs have got in order
    uint64_t packets{0};         //!< received at hosts, or as transports that send others count
    uint64_t retransmissions{0}; //!< segments and packets sent again
    uint64_t timeouts{0};        //!< retransmission timeouts
    uint64_t busyPairs{0};       //!< what joins two NPUs, with a message that is not quite done
    uint64_t framesUnderWay{0};  //!< frames in the network, of transports that count them
    uint64_t pauseStorms{0};     //!< times the watchdog found a port stopped for too long
    const char* counterNames{nullptr};     //!< what transports count by names of their own
    const int64_t* counters{nullptr};      //!< the number of each
    const char* portCounterNames{nullptr}; //!< what is taken down of each port: see record-rows.h
    const int64_t* portCounters{nullptr};  //!< the numbers of all ports, node by node
    uint64_t ports{0};                     //!< how many ports there are
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
