// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"
#include "fabric-served-log.h"

#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/ptr.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/traced-callback.h"

#include <cstdint>
#include <memory>

namespace ns3
{

/// Who traces a port. A port has one once somebody has connected to one of its trace sources.
class FabricPortObservers
{
  public:
    /// Time and bytes waiting after a change.
    using Queue = TracedCallback<Time, uint64_t>;
    /// Time and bytes that go on the line, preamble and gap counted.
    using Line = TracedCallback<Time, uint32_t>;
    /// Time and packet.
    using Frames = TracedCallback<Time, Ptr<const Packet>>;
    /// Time and the priorities that are stopped from then on.
    using Pauses = TracedCallback<Time, uint8_t>;

    /// \return whether nobody looks
    bool IsEmpty() const;

    /// \return whether somebody looks at what is dropped or lost
    bool SeeDrops() const
    {
        return !m_drop.IsEmpty();
    }

    /// \return whether somebody looks at what goes on the line
    bool SeeLine() const
    {
        return !m_line.IsEmpty();
    }

    /// Remember what goes on the line, for accounts.
    /// \param ownerBit from this bit on an instance says whose it is
    void KeepServed(uint32_t ownerBit);

    /// \return what has gone on the line lately, or none
    FabricServedLog* GetServed() const
    {
        return m_served.get();
    }

    /// Bytes go on the line, without a frame.
    void TellLine(int64_t timePs, uint32_t wireBytes) const;
    /// The bytes waiting have changed.
    void TellQueue(int64_t timePs, uint64_t bytes) const;
    /// A frame goes on the line.
    void TellTransmit(int64_t timePs, const FabricFrame& frame) const;
    /// A frame was dropped or lost.
    void TellDrop(int64_t timePs, const FabricFrame& frame) const;
    /// A frame was given a mark.
    void TellMark(int64_t timePs, const FabricFrame& frame) const;
    /// Other priorities are stopped.
    void TellPause(int64_t timePs, uint8_t pausedPriorities) const;

    /// \return accessors of the trace sources, for a TypeId
    static Ptr<const TraceSourceAccessor> MakeQueueAccessor();
    static Ptr<const TraceSourceAccessor> MakeTransmitAccessor(); //!< \copydoc MakeQueueAccessor
    static Ptr<const TraceSourceAccessor> MakeLineAccessor();     //!< \copydoc MakeQueueAccessor
    static Ptr<const TraceSourceAccessor> MakeDropAccessor();     //!< \copydoc MakeQueueAccessor
    static Ptr<const TraceSourceAccessor> MakeMarkAccessor();     //!< \copydoc MakeQueueAccessor
    static Ptr<const TraceSourceAccessor> MakePauseAccessor();    //!< \copydoc MakeQueueAccessor

  private:
    Queue m_queue;                             //!< queue length changed
    Line m_line;                               //!< line is busy
    Frames m_transmit;                         //!< packet put on the line
    Frames m_drop;                             //!< packet dropped or lost
    Frames m_mark;                             //!< packet marked
    Pauses m_pause;                            //!< stopped or let go on
    std::unique_ptr<FabricServedLog> m_served; //!< what has gone on the line lately, or none
};

} // namespace ns3
