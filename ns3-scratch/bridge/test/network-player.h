// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Plays a NetworkCase on the fabric it is linked with, lazy or plain, and logs all that can be seen
 * of it.
 */
#pragma once

#include "network-case.h"

#include <cstdint>
#include <vector>

namespace astra_ns3::test
{

/// What a row of a log tells.
enum class LogKind : uint32_t
{
    ARRIVAL,      //!< a frame at the far end of a link: what it is
    LINE,         //!< first bit on the line: bytes
    QUEUE,        //!< bytes that wait, after a change
    PAUSE,        //!< priorities stopped from then on
    MARK,         //!< a packet marked: bytes
    DROP,         //!< a packet dropped or lost: bytes
    MESSAGE,      //!< a message has arrived: its number
    ACCOUNT,      //!< where its time went: part by part, then line by line of its path
    COUNTER,      //!< a counter at the end
    CUT_THROUGH,  //!< a frame sent on of which the head had come
    TIE,          //!< several things in one picosecond whose order no rule gives
    DUE_DEPARTURE //!< a departure in a switch that has stopped a neighbour; tied with any arrival
};

/// A row of a log.
struct LogRow
{
    int64_t timePs;  //!< when
    uint64_t value;  //!< what
    uint32_t stream; //!< node, port and kind: rows of one stream are in order
    uint32_t zero;   //!< fills it up
};

/// \return number of a stream
constexpr uint32_t
StreamOf(uint32_t node, uint32_t port, LogKind kind)
{
    return node << 16 | port << 8 | static_cast<uint32_t>(kind);
}

/// \return what the rows of a stream tell
constexpr LogKind
KindOf(uint32_t stream)
{
    return static_cast<LogKind>(stream & 0xff);
}

/// \param networkCase what to play \return everything that was seen
std::vector<LogRow> PlayNetworkCase(const NetworkCase& networkCase);

/// Add a note to the log of the case that is played. \param kind TIE or DUE_DEPARTURE
void LogNote(LogKind kind, int64_t timePs);

} // namespace astra_ns3::test
