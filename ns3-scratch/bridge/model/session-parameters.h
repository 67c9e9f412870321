// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What a session tells, and the bits of what is recorded: plain numbers. Times are picoseconds,
 * rates bits per second, sizes bytes.
 */
#pragma once

#include <cstdint>

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
    uint64_t unroutedFrames{0};  //!< frames for which a node had no way
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

/// A transport that gave up.
struct TransportFailure
{
    uint64_t instance{0};        //!< of the first message that can never arrive
    uint32_t npu{0};             //!< its sender
    const char* reason{nullptr}; //!< why, in one line
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
