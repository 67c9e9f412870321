// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Every number of the RoCE transport. No ns-3 header is included here: Python sees it. Times are
 * picoseconds, rates bits per second, sizes bytes.
 */
#pragma once

#include <algorithm>
#include <cstdint>

namespace ns3
{

/// How a queue pair makes good what is lost.
enum class RoceReliability : uint32_t
{
    GO_BACK_N = 0,       //!< send again from the first packet that is missing
    GO_BACK_0 = 1,       //!< send again from the beginning of the message, or of a part of it
    SELECTIVE_REPEAT = 2 //!< send again what is missing (IRN, SIGCOMM 2018)
};

/// \param one who sends or receives \param other the other \param npus who is not below is a
/// reducer \param serverNpus NPUs of a server; 0: none is known \return whether they talk inside a
/// server
inline bool
AreInServer(uint32_t one, uint32_t other, uint32_t npus, uint32_t serverNpus)
{
    return serverNpus > 0 &&
           (one / serverNpus == other / serverNpus || std::max(one, other) >= npus);
}

/// Parameters of all queue pairs of a simulation.
struct RoceParameters
{
    uint32_t payloadBytes{1000};    //!< data of a full packet
    uint32_t headerBytes{62};       //!< Ethernet, IP, UDP, BTH, ICRC and FCS of a data packet
    uint32_t ackBytes{66};          //!< an acknowledgement in a buffer
    uint32_t cnpBytes{78};          //!< a congestion notification packet in a buffer
    uint32_t minimumFrameBytes{64}; //!< a shorter frame is filled up
    uint32_t lineGapBytes{20};      //!< preamble and gap, on the line only
    uint32_t telemetryBytes{0};     //!< what a data packet carries for the congestion control
    uint32_t ackTelemetryBytes{0};  //!< what an acknowledgement carries of it
    bool turnsByAge{true};          //!< a NIC's turns go all around by age, else as they come
    bool perMessage{false};         //!< a queue pair for each message, else for each pair of NPUs
    uint32_t queuePairsPerPair{1};  //!< how many of those for each pair of NPUs
    bool splitMessages{false};      //!< each message goes over all of them, else over the next
    uint32_t serverNpus{0};         //!< NPUs of a server, any two with one queue pair; 0: as others
    bool acknowledged{false};       //!< a message completes at the sender's last acknowledgement
    uint32_t priority{3};           //!< of data
    uint32_t ackPriority{3};        //!< of acknowledgements
    uint32_t cnpPriority{6};        //!< of congestion notification packets
    uint32_t ackEvery{
        1}; //!< packets an acknowledgement; a message's or window's last is always acknowledged
    RoceReliability reliability{RoceReliability::GO_BACK_N}; //!< how losses are made good
    int64_t timeoutPs{16'777'000'000}; //!< without progress for so long everything is sent again
    uint32_t retries{7};               //!< timeouts in a row before giving up; 0: never
    uint32_t newPathAfter{0};          //!< timeouts in a row after which data takes a new path
    uint32_t reducerAckEvery{1};       //!< the same between an NPU and a reducer, or two reducers
    int64_t nackIntervalPs{0};         //!< a gap is reported again after so long; 0: once
    uint32_t reorderingPackets{0}; //!< selective repeat: packets out of order before one is lost
    uint32_t chunkBytes{0};        //!< go back 0: parts a message starts over by; 0: whole messages
    uint64_t windowBytes{0};       //!< most bytes in flight; 0: no limit
    bool windowOfPath{false};      //!< the window is the path's bandwidth-delay product
    bool windowScales{false};      //!< the window shrinks with the rate
    bool paced{true};              //!< packets keep the distance of the rate
    double minimumRateBps{0.0};    //!< no congestion control goes below it
    int64_t cnpIntervalPs{50'000'000}; //!< least time between two CNPs of a queue pair
    bool cnpOnAck{false};              //!< marked acknowledgements stand for CNPs
    bool portOfMessage{false};    //!< paths are hashed from a port number that grows by message
    bool payloadRoundTrip{false}; //!< base round trip: only payload is serialised, one way
    bool longestRoundTrip{false}; //!< every pair has the longest base round trip of all pairs
    int64_t postingPs{0}; //!< messages are posted by events so old: see FabricPort's OldestFirst
    double utilisationLogBase{1.05};    //!< path utilisation is rounded to powers of it
    double utilisationProbability{1.0}; //!< of a packet to carry the path utilisation

    /// \param ofData priority of a queue pair's data \return that of its acknowledgements: the
    /// same, unless acknowledgements have one of their own
    uint8_t AckPriorityOf(uint8_t ofData) const
    {
        return ackPriority == priority ? ofData : static_cast<uint8_t>(ackPriority);
    }

    /**
     * Go back 0.
     * \param begin position of a message's first byte
     * \param position where in it a loss was noticed
     * \return position to start over from: where the message, or its part, begins
     */
    uint64_t StartOver(uint64_t begin, uint64_t position) const
    {
        const uint64_t done = chunkBytes == 0 ? 0 : (position - begin) / chunkBytes * chunkBytes;
        return begin + done / payloadBytes * payloadBytes;
    }
};

} // namespace ns3
