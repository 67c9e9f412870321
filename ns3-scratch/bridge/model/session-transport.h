// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-changes.h"
#include "fabric-frame.h"
#include "fabric-network.h"
#include "message-transport.h"
#include "network-description.h"
#include "part-reader.h"
#include "recorder.h"
#include "session-parameters.h"

#include <limits>
#include <vector>

namespace astra_ns3
{

/// What a transport is made from; all of it outlives the transport.
struct TransportContext
{
    const NetworkDescription& description; //!< all numbers; gone once the session is made
    FabricNetwork& fabric;                 //!< hosts, switches and links, all set up
    Recorder& recorder;                    //!< records what there is to record
    ns3::MessageListener& listener;        //!< told of messages
    ns3::FabricChanges* changes;           //!< of the network: tells who keeps paths; or none
};

/// Something that a transport counts.
struct TransportCounter
{
    const char* name; //!< as results have it
    uint64_t value;   //!< so far
};

/// One way of carrying messages between hosts, as a session keeps it. A new one is a class like
/// this, made from a TransportContext and a PartReader, and a line in transport-registry.cc. Its
/// numbers and counters are its own affair: it reads the one by name, and tells the other.
class SessionTransport
{
  public:
    virtual ~SessionTransport() = default;
    /// \return what carries the messages
    virtual ns3::MessageTransport& GetMessages() = 0;

    /// \return whether what happens at hosts at one time may come by host (FabricSimulator), not in
    /// the order of its scheduling, whatever is observed
    virtual bool MayOrderByHost() const
    {
        return false;
    }

    /// \return whether hosts may be played by themselves (FabricSimulator::PlayHostsApart): what it
    /// does for one of them touches no other, and nobody has to hear of it in order of time
    virtual bool MayPlayHostsApart() const
    {
        return false;
    }

    /// \return whether several threads may then play hosts at the same time
    virtual bool MayPlayHostsOnThreads() const
    {
        return false;
    }

    /// \param host a host \param beforePs a time \return whether it may fail there before that
    virtual bool MayFail(uint32_t host, int64_t beforePs) const
    {
        (void)host;
        (void)beforePs;
        return false;
    }

    /// \return least bytes on the line of a frame that may end a message; asked for where hosts may
    /// be played by themselves
    virtual uint32_t GetLeastWireBytes() const
    {
        return ns3::FABRIC_MINIMUM_FRAME_BYTES + ns3::FABRIC_LINE_GAP_BYTES;
    }

    /// \return most bytes of a message in a frame; asked for likewise
    virtual uint32_t GetMostBytes() const
    {
        return std::numeric_limits<uint16_t>::max();
    }

    /// \param statistics to which it adds what it has done
    virtual void AddTo(SessionStatistics& statistics) const
    {
        (void)statistics;
    }

    /// \return what else it counts
    virtual std::vector<TransportCounter> GetCounters() const
    {
        return {};
    }
};

} // namespace astra_ns3
