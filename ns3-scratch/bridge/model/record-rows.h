// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What is recorded as tables: the rows, and their columns, a line each. What a file makes of a
 * column is said in astra_ns3/network/recorded.py, by its name. Times are picoseconds.
 */
#pragma once

#include "fabric-port.h"
#include "message-account.h"
#include "message-transport.h"
#include "record-table.h"

#include <cstdint>
#include <vector>

namespace astra_ns3
{

/// A message that has arrived.
struct FlowRow
{
    const ns3::CollectiveMessage& message; //!< the message
    int64_t endPs;                         //!< when
};

/// Where the time of a message that has arrived went.
struct AccountRow
{
    const ns3::CollectiveMessage& message; //!< the message
    const ns3::MessageAccount& account;    //!< its time
    int64_t endPs;                         //!< when it was complete
};

/// A line on the way of a message's deciding packet.
struct AccountHopRow
{
    int64_t message;            //!< number of the message's row among the accounts
    int64_t hop;                //!< the how manieth line
    int64_t node;               //!< node of the port that sends on it
    int64_t port;               //!< its number
    const ns3::AccountHop& way; //!< its times
};

/// In place of an instance: all messages of the job whose message waited (Python's SAME_JOB).
constexpr int64_t SAME_JOB = -2;

/// What a message's deciding packet waited behind on a line.
struct AccountServedRow
{
    int64_t message;                  //!< number of the message's row among the accounts
    const ns3::AccountServed& behind; //!< what
};

/// A value of a pair of NPUs.
struct PairRow
{
    int64_t timePs;       //!< when
    int64_t source;       //!< NPU that sends
    int64_t destination;  //!< NPU that receives
    int64_t quantity;     //!< a ConnectionQuantity or QueuePairQuantity
    int64_t value;        //!< the number
    int64_t queuePair{0}; //!< RoCE: which of the queue pairs of these two
};

/// A value of a port.
struct PortRow
{
    int64_t timePs; //!< when
    int64_t node;   //!< the port's node
    int64_t port;   //!< its number
    int64_t value;  //!< the number
};

/// What one port has done.
struct PortState
{
    const ns3::FabricPortCounters& counters; //!< what it counted
    int64_t pausedPs;                        //!< time during which any priority was stopped
    uint64_t queueBytes;                     //!< waiting when the port was last settled
};

using FlowTable = RecordTableOf<FlowRow>;                   //!< of messages
using AccountTable = RecordTableOf<AccountRow>;             //!< of messages
using AccountHopTable = RecordTableOf<AccountHopRow>;       //!< of messages
using AccountServedTable = RecordTableOf<AccountServedRow>; //!< of messages
using PairTable = RecordTableOf<PairRow>;                   //!< of pairs of NPUs
using PortTable = RecordTableOf<PortRow>;                   //!< of ports

/// \return columns of messages
inline std::vector<RecordColumn<FlowRow>>
FlowColumns()
{
    return {
        {"source", [](const FlowRow& row) -> int64_t { return row.message.sender; }},
        {"destination", [](const FlowRow& row) -> int64_t { return row.message.receiver; }},
        {"bytes", [](const FlowRow& row) -> int64_t { return row.message.bytes; }},
        {"start_ps", [](const FlowRow& row) -> int64_t { return row.message.startPs; }},
        {"end_ps", [](const FlowRow& row) -> int64_t { return row.endPs; }},
        {"instance", [](const FlowRow& row) -> int64_t { return row.message.instance; }},
        {"row", [](const FlowRow& row) -> int64_t { return row.message.row; }},
    };
}

/// \return column of a part of a message's time. \param name as Python knows it
template <ns3::AccountPart PART>
RecordColumn<AccountRow>
AccountColumn(const char* name)
{
    return {name, [](const AccountRow& row) { return row.account.Get(PART); }};
}

/// \return columns of accounts of messages
inline std::vector<RecordColumn<AccountRow>>
AccountColumns()
{
    using ns3::AccountPart;
    return {
        {"source", [](const AccountRow& row) -> int64_t { return row.message.sender; }},
        {"destination", [](const AccountRow& row) -> int64_t { return row.message.receiver; }},
        {"bytes", [](const AccountRow& row) -> int64_t { return row.message.bytes; }},
        {"start_ps", [](const AccountRow& row) -> int64_t { return row.message.startPs; }},
        {"end_ps", [](const AccountRow& row) -> int64_t { return row.endPs; }},
        {"instance", [](const AccountRow& row) -> int64_t { return row.message.instance; }},
        {"row", [](const AccountRow& row) -> int64_t { return row.message.row; }},
        AccountColumn<AccountPart::TURN>("turn_ps"),
        AccountColumn<AccountPart::WINDOW>("window_ps"),
        AccountColumn<AccountPart::PACING>("pacing_ps"),
        AccountColumn<AccountPart::NIC_PAUSED>("nic_paused_ps"),
        AccountColumn<AccountPart::NIC_QUEUE>("nic_queue_ps"),
        AccountColumn<AccountPart::TRANSPORT>("transport_ps"),
        AccountColumn<AccountPart::LOST>("lost_ps"),
        AccountColumn<AccountPart::SWITCH_QUEUE>("switch_queue_ps"),
        AccountColumn<AccountPart::SWITCH_PAUSED>("switch_paused_ps"),
        AccountColumn<AccountPart::SERIALISATION>("serialisation_ps"),
        AccountColumn<AccountPart::PROPAGATION>("propagation_ps"),
        AccountColumn<AccountPart::ACKNOWLEDGEMENT>("acknowledgement_ps"),
    };
}

/// \return columns of what messages waited behind
inline std::vector<RecordColumn<AccountServedRow>>
AccountServedColumns()
{
    using Row = AccountServedRow;
    return {
        {"message", [](const Row& row) { return row.message; }},
        {"hop", [](const Row& row) -> int64_t { return row.behind.hop; }},
        {"source",
         [](const Row& row) -> int64_t {
             return row.behind.served.named ? static_cast<int64_t>(row.behind.served.sender) : -1;
         }},
        {"destination",
         [](const Row& row) -> int64_t {
             return row.behind.served.named ? static_cast<int64_t>(row.behind.served.receiver) : -1;
         }},
        {"instance",
         [](const Row& row) -> int64_t {
             return row.behind.served.named ? static_cast<int64_t>(row.behind.served.instance)
                    : row.behind.served.own ? SAME_JOB
                                            : -1;
         }},
        {"served_ps", [](const Row& row) { return row.behind.timePs; }},
    };
}

/// \return columns of the lines of accounts
inline std::vector<RecordColumn<AccountHopRow>>
AccountHopColumns()
{
    return {
        {"message", [](const AccountHopRow& row) { return row.message; }},
        {"hop", [](const AccountHopRow& row) { return row.hop; }},
        {"node", [](const AccountHopRow& row) { return row.node; }},
        {"port", [](const AccountHopRow& row) { return row.port; }},
        {"arrival_ps", [](const AccountHopRow& row) { return row.way.arrivalPs; }},
        {"queue_ps", [](const AccountHopRow& row) { return row.way.queuePs; }},
        {"paused_ps", [](const AccountHopRow& row) { return row.way.pausedPs; }},
        {"serialisation_ps", [](const AccountHopRow& row) { return row.way.serialisationPs; }},
        {"propagation_ps", [](const AccountHopRow& row) { return row.way.propagationPs; }},
    };
}

/// \return columns of values of pairs
inline std::vector<RecordColumn<PairRow>>
PairColumns()
{
    return {
        {"time_ps", [](const PairRow& row) { return row.timePs; }},
        {"source", [](const PairRow& row) { return row.source; }},
        {"destination", [](const PairRow& row) { return row.destination; }},
        {"quantity", [](const PairRow& row) { return row.quantity; }},
        {"value", [](const PairRow& row) { return row.value; }},
    };
}

/// \return columns of values of queue pairs
inline std::vector<RecordColumn<PairRow>>
QueuePairColumns()
{
    auto columns = PairColumns();
    columns.push_back({"queue_pair", [](const PairRow& row) { return row.queuePair; }});
    return columns;
}

/// \param value name of the values \return columns of values of ports
inline std::vector<RecordColumn<PortRow>>
PortColumns(const char* value)
{
    return {
        {"time_ps", [](const PortRow& row) { return row.timePs; }},
        {"node", [](const PortRow& row) { return row.node; }},
        {"port", [](const PortRow& row) { return row.port; }},
        {value, [](const PortRow& row) { return row.value; }},
    };
}

/// \return what is counted at each port
inline std::vector<RecordColumn<PortState>>
PortCounters()
{
    return {
        {"sent_frames", [](const PortState& port) -> int64_t { return port.counters.sentFrames; }},
        {"sent_bytes", [](const PortState& port) -> int64_t { return port.counters.sentBytes; }},
        {"dropped_frames",
         [](const PortState& port) -> int64_t { return port.counters.droppedFrames; }},
        {"dropped_bytes",
         [](const PortState& port) -> int64_t { return port.counters.droppedBytes; }},
        {"marked_frames",
         [](const PortState& port) -> int64_t { return port.counters.markedFrames; }},
        {"highest_queue_bytes",
         [](const PortState& port) -> int64_t { return port.counters.highestQueueBytes; }},
        {"lost_frames", [](const PortState& port) -> int64_t { return port.counters.lostFrames; }},
        {"pauses", [](const PortState& port) -> int64_t { return port.counters.pauses; }},
        {"paused_ps", [](const PortState& port) { return port.pausedPs; }},
        {"pause_frames",
         [](const PortState& port) -> int64_t { return port.counters.pauseFrames; }},
        {"cut_frames", [](const PortState& port) -> int64_t { return port.counters.cutFrames; }},
        {"queue_bytes", [](const PortState& port) -> int64_t { return port.queueBytes; }},
        {"down_frames", [](const PortState& port) -> int64_t { return port.counters.downFrames; }},
        {"silent_frames",
         [](const PortState& port) -> int64_t { return port.counters.silentFrames; }},
    };
}

} // namespace astra_ns3
