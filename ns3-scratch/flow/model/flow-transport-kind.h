// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>

namespace ns3
{

/// What flows know of a transport. Sizes are bytes.
struct FlowTransportKind
{
    uint32_t payloadBytes{1000};    //!< data of a full packet
    uint32_t aroundBytes{82};       //!< what a packet has on the line beside its data
    uint32_t leastWireBytes{84};    //!< the shortest packet on the line
    uint32_t lineGapBytes{20};      //!< of all these, what is on the line only
    uint32_t answerWireBytes{86};   //!< an acknowledgement on the line
    uint32_t answerEvery{1};        //!< packets an acknowledgement
    uint32_t reducerAnswerEvery{1}; //!< the same between an NPU and a reducer, or two reducers
    uint64_t windowBytes{0};        //!< most data in flight of a queue pair; 0: no limit
    bool windowOfPath{false};       //!< each way has windows of its own in the place of these
    uint64_t firstWindowBytes{0};   //!< of a new connection, which grows; 0: windows don't grow
    double windowGrowth{0.0};       //!< bytes that such a window grows by for each acknowledged one
    uint64_t windowStepBytes{0};    //!< that it grows by in each round trip
    uint32_t openingWireBytes{0};   //!< a packet each way opens a connection; 0: nothing does
    int64_t inFlightBytes{0};       //!< most under way; 0: no limit, below: what the way holds
    uint32_t queuePairs{1};         //!< of two NPUs, in turns
    uint32_t serverNpus{0};         //!< NPUs of a server, any two with one queue pair; 0: as others
    double headroom{0.0};           //!< of the time beyond two windows, how much more it takes
    double startCost{0.0}; //!< round trips lost for each factor e that a new pair's rate falls by
    double riseRoundTrips{0.0}; //!< until it sends at a rate that has become higher; 0: none
    bool perMessage{false};     //!< a queue pair for each message
    bool splitMessages{false};  //!< each message goes over all queue pairs, else over the next
    bool acknowledged{false};   //!< a message completes at the sender's last acknowledgement
    bool portOfMessage{false};  //!< paths are hashed from a port number that grows by message
    bool tcpPorts{false};       //!< paths are hashed from addresses and TCP ports

    /// \param bytes of data in a packet \return its bytes on the line
    uint64_t WireBytes(uint64_t bytes) const
    {
        return std::max<uint64_t>(bytes + aroundBytes, leastWireBytes);
    }
};

/// The packets of a message.
struct FlowPackets
{
    uint64_t full;      //!< full ones before the last
    uint64_t lastBytes; //!< data of the last

    /// \param kind of transport \param bytes of a message
    FlowPackets(const FlowTransportKind& kind, uint64_t bytes)
        : full((bytes - 1) / kind.payloadBytes),
          lastBytes(bytes - full * kind.payloadBytes)
    {
    }

    /// \param every packets an acknowledgement \param frames that have arrived, the first ones
    /// \return acknowledgements: the last packet has one in any case
    uint64_t CountAnswers(uint32_t every, uint64_t frames) const
    {
        return frames > full ? CountAnswers(every) : frames / every;
    }

    /// \param every packets an acknowledgement \return acknowledgements
    uint64_t CountAnswers(uint32_t every) const
    {
        return (full + every) / every;
    }

    /// \param kind of transport \return bytes on the line of all of them
    uint64_t WireBytes(const FlowTransportKind& kind) const
    {
        return WireBytes(kind, full + 1);
    }

    /// \param kind of transport \param frames so many of them, the first ones
    /// \return their bytes on the line
    uint64_t WireBytes(const FlowTransportKind& kind, uint64_t frames) const
    {
        const uint64_t before = std::min(frames, full) * kind.WireBytes(kind.payloadBytes);
        return before + (frames > full ? kind.WireBytes(lastBytes) : 0);
    }

    /// \param kind of transport \param wireBytes what the line has carried of them
    /// \return how many of them it has carried whole
    uint64_t CountWhole(const FlowTransportKind& kind, double wireBytes) const
    {
        const auto packetBytes = static_cast<double>(kind.WireBytes(kind.payloadBytes));
        const auto whole = std::min(full, static_cast<uint64_t>(wireBytes / packetBytes));
        return whole == full && wireBytes >= static_cast<double>(WireBytes(kind)) ? full + 1
                                                                                  : whole;
    }
};

} // namespace ns3
