// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-ecn-marker.h"
#include "fabric-frame.h"
#include "fabric-shared-buffer.h"

#include "ns3/data-rate.h"
#include "ns3/event-impl.h"
#include "ns3/nstime.h"
#include "ns3/object.h"
#include "ns3/traced-callback.h"

#include <cstdint>

namespace ns3
{

/// Whatever stands at the far end of a link.
class FabricReceiver
{
  public:
    virtual ~FabricReceiver() = default;
    /**
     * \param frame a frame whose last bit has just arrived; the receiver owns it now
     * \param port the receiver's own number of the port it came in by
     */
    virtual void ReceiveFrame(FabricFrame* frame, uint32_t port) = 0;
};

/// What a port has done so far.
struct FabricPortCounters
{
    uint64_t sentFrames{0};        //!< frames put on the line
    uint64_t sentBytes{0};         //!< their bytes as in a buffer (no preamble, no gap)
    uint64_t droppedFrames{0};     //!< frames refused for lack of buffer
    uint64_t droppedBytes{0};      //!< their bytes
    uint64_t markedFrames{0};      //!< frames given a congestion mark
    uint64_t highestQueueBytes{0}; //!< most bytes that ever waited
};

/**
 * The sending half of a port and the link direction behind it: a queue, a line of a given rate, a
 * delay.
 *
 * Only one event is ever pending: the next arrival at the far end. Departures from the queue are
 * *settled* lazily: whatever looks at or changes the port first plays all departures due up to now,
 * each at its own exact time. At the same picosecond a departure comes before an enqueue. A frame
 * leaves the queue, and the shared buffer, when its first bit goes on the line. The trace sources
 * carry the exact time of what they report, which may lie before Simulator::Now().
 */
class FabricPort : public Object
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    FabricPort();
    ~FabricPort() override;

    /**
     * Join the far end.
     * \param receiver who receives; it must outlive the port
     * \param receiverPort the receiver's number of its port
     * \param context id of the receiver's node
     */
    void Connect(FabricReceiver* receiver, uint32_t receiverPort, uint32_t context);
    /// \param buffer the memory the queue lies in; none is a queue without limit
    void SetBuffer(Ptr<FabricSharedBuffer> buffer);
    /// \param marker the congestion marker of this port; none marks nothing
    void SetMarker(Ptr<FabricEcnMarker> marker);

    /**
     * Send a frame, now or when its turn comes; a frame that finds no room is dropped.
     * \param frame the frame, which the port owns from here on
     */
    void Enqueue(FabricFrame* frame);
    /// \param nowPs play all departures due up to this time, never later than Simulator::Now()
    void Settle(int64_t nowPs);

    /// \return bytes waiting now
    uint64_t GetQueueBytes();
    /// \return the counters, exact as of now
    const FabricPortCounters& GetCounters();
    /// \return rate of the line in bits per second
    uint64_t GetRateBps() const;

    /// Traced: time and bytes waiting after a change.
    typedef void (*QueueTracedCallback)(Time time, uint64_t queueBytes);
    /// Traced: time and packet put on the line, or dropped.
    typedef void (*PacketTracedCallback)(Time time, Ptr<const Packet> packet);

  protected:
    void DoDispose() override;

  private:
    /// The one event of a port, used again for each arrival.
    class ArrivalEvent : public EventImpl
    {
      public:
        /// \param port the port it belongs to
        explicit ArrivalEvent(FabricPort* port)
            : m_port(port)
        {
        }

      private:
        void Notify() override
        {
            m_port->Arrive();
        }

        FabricPort* m_port; //!< owner
    };

    /// \param rate rate of the line
    void SetRate(DataRate rate);
    /// \return rate of the line
    DataRate GetRate() const;
    /// \return time the line is busy with that many bytes
    int64_t TransmissionPs(uint32_t wireBytes) const;
    /// Put the oldest waiting frame on the line at startPs.
    void Depart(int64_t startPs);
    /// Put a frame on the line at startPs.
    void Transmit(FabricFrame* frame, int64_t startPs);
    /// Hand the first frame on the link to the far end.
    void Arrive();
    /// Schedule the arrival of the first frame on the link.
    void ScheduleArrival(int64_t nowPs);
    /// Count and free a frame that found no room.
    void Drop(FabricFrame* frame);

    FabricFrameList m_queue;             //!< waiting
    FabricFrameList m_wire;              //!< on the line or on the way, in order of arrival
    int64_t m_lastArrivalPs{0};          //!< arrival of the newest frame on the link
    int64_t m_lineFreePs{0};             //!< when the line can take the next frame
    int64_t m_psPerByte{0};              //!< exact time of one byte, or 0 if it is no whole number
    uint64_t m_rateBps{0};               //!< rate
    uint64_t m_queueBytes{0};            //!< bytes waiting
    FabricReceiver* m_receiver{nullptr}; //!< far end
    uint32_t m_receiverPort{0};          //!< its number of its port
    uint32_t m_context{0};               //!< its node
    Time m_delay;                        //!< propagation delay
    ArrivalEvent* m_arrival;             //!< counted reference
    Ptr<FabricSharedBuffer> m_buffer;    //!< memory of the queue
    Ptr<FabricEcnMarker> m_marker;       //!< congestion marker
    FabricPortCounters m_counters;       //!< what it has done
    TracedCallback<Time, uint64_t> m_queueTrace;             //!< queue length changed
    TracedCallback<Time, Ptr<const Packet>> m_transmitTrace; //!< packet put on the line
    TracedCallback<Time, Ptr<const Packet>> m_dropTrace;     //!< packet dropped
    TracedCallback<Time, Ptr<const Packet>> m_markTrace;     //!< packet marked
};

} // namespace ns3
