// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-admission.h"
#include "fabric-credits.h"
#include "fabric-ecn-marker.h"
#include "fabric-frame.h"
#include "fabric-lane.h"
#include "fabric-line-rate.h"
#include "fabric-line.h"
#include "fabric-losses.h"
#include "fabric-pause-state.h"
#include "fabric-port-observers.h"
#include "fabric-port-scheduler.h"
#include "fabric-queues.h"
#include "fabric-shared-buffer.h"
#include "fabric-simulator.h"
#include "fabric-slabs.h"
#include "fabric-utilisation-meter.h"
#include "fabric-wire.h"

#include "ns3/data-rate.h"
#include "ns3/nstime.h"
#include "ns3/object.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

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
    /**
     * \param frame a frame whose head has just arrived, which is still on its way
     * \param port the receiver's own number of the port it comes in by
     * \return whether the receiver sends it on at once; if so it has made room, and is handed the
     * frame next, by ReceiveHead
     */
    virtual bool AdmitHead(FabricFrame* frame, uint32_t port);
    /// \param frame a frame that AdmitHead has just let in; the receiver owns it now
    /// \param port as there
    virtual void ReceiveHead(FabricFrame* frame, uint32_t port);
};

/// Makes frames at the moment the line can take them: the queue pairs of a host.
class FabricFrameSource
{
  public:
    /// What GetNextPs returns if nothing can be sent until something changes.
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

    virtual ~FabricFrameSource() = default;
    /**
     * \param pausedPriorities bit p is set if priority p must not send
     * \return earliest time at which there is a frame to send; it may lie in the past
     */
    virtual int64_t GetNextPs(uint32_t pausedPriorities) = 0;
    /**
     * \param startPs when the frame goes on the line, not before GetNextPs
     * \param pausedPriorities as for GetNextPs
     * \return the frame
     */
    virtual FabricFrame* Take(int64_t startPs, uint32_t pausedPriorities) = 0;
};

class FabricPort;

/// Told of each change of what a port is stopped for.
class FabricPauseListener
{
  public:
    virtual ~FabricPauseListener() = default;
    /// \param port a port \param nowPs when it was stopped or let go on \param pausedPriorities
    /// the priorities that are stopped from then on
    virtual void PauseChanged(const FabricPort& port, int64_t nowPs, uint8_t pausedPriorities) = 0;
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
    uint64_t lostFrames{0};        //!< frames lost on the link by its error rate
    uint64_t pauses{0};            //!< times a priority was told to stop
    int64_t pausedPs{0};           //!< time during which any priority was stopped
    uint64_t pauseFrames{0};       //!< pause frames sent, to stop and to go on
    uint64_t cutFrames{0};         //!< frames sent that were lost since the link went down
    uint64_t downFrames{0};        //!< frames that waited then, or came while the link was down
    uint64_t downBytes{0};         //!< bytes of these, as in a buffer
    uint64_t silentFrames{0};      //!< frames lost on a link that neither end knew to be down
};

/// Where a port is, for who records it.
struct FabricPortPlace
{
    uint32_t node{0}; //!< its node
    uint32_t port{0}; //!< its number there
};

/// What is in a port and on its link.
struct FabricPortContents
{
    uint64_t waitingFrames{0}; //!< frames in its queues, pause frames excepted
    uint64_t waitingBytes{0};  //!< their bytes as in a buffer
    uint64_t waitingPauses{0}; //!< pause frames that wait for the line
    uint64_t wireFrames{0};    //!< frames on the line or on the way, pause frames too
    uint64_t wirePauses{0};    //!< pause frames among them
};

/**
 * The sending half of a port and the link direction behind it: a queue for each of 8 priorities, a
 * line of a given rate, a delay. A host's port also takes frames from a source when its queues are
 * empty.
 *
 * Only one event is pending as a rule: the next arrival at the far end. Departures are *settled*
 * lazily: whatever looks at or changes the port first plays all departures due up to now, each at
 * its own exact time with the queues as they were then. At the same picosecond a departure comes
 * before an enqueue, unless OldestFirst is set. A frame leaves the queue, and the shared buffer,
 * when its first bit goes on the line. A second event, at the next departure, is set where laziness
 * would show: in a switch that has stopped a neighbour, which must be let go on at the exact
 * departure, and in a host whose next frame is held back by its pacing. The trace sources carry the
 * exact time of what they report, which may lie before Simulator::Now().
 *
 * Towards a switch that cuts through, the next arrival may be that of a frame's head: the switch
 * may take the frame then, else it arrives once more, with its last bit
 * (fabric-port-cut-through.cc).
 *
 * Rate, delay and error rate may change at any time: each frame keeps those it left with, and none
 * overtakes another. The link may go down and come up; FabricChanges does it for both directions.
 *
 * A port that sends by credit (FabricCredits) stops lanes, which are its priorities, as a far end
 * with priority flow control would (fabric-port-credits.cc). Credit that comes in the picosecond of
 * a departure comes before it.
 *
 * The port coordinates its parts: FabricQueues (what waits), FabricAdmission (what it takes),
 * FabricPauseState (what it must not send), FabricLine with FabricLineRate (when frames leave and
 * arrive), FabricWire (what is on the way), FabricLosses (what of it is lost), FabricPortObservers
 * (who looks).
 */
class FabricPort final : public Object, public FabricInSlabs<FabricPort>
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
    /// \param buffer the memory the queues lie in; none is queues without limit
    void SetBuffer(Ptr<FabricSharedBuffer> buffer);
    /// \param rule what else to do with frames that are to be sent; none: nothing
    void SetAdmission(std::unique_ptr<FabricAdmissionRule> rule);
    /// Send by credit from now on, before anything was sent. \param link how the far end gives it
    void UseCredits(const FabricCreditLink& link);

    /// \return what may still be sent, or none if the port doesn't send by credit
    FabricCredits* GetCredits() const
    {
        return m_credits.get();
    }

    /**
     * The far end's buffer is free of a frame that was sent.
     * \param leftPs when, and the delay of the way back, but for the update
     * \param lane the frame's
     * \param bytes its bytes
     */
    void GiveCredit(int64_t leftPs, uint32_t lane, uint32_t bytes);

    /// \return until when the line is busy with what it has taken
    int64_t GetSentUntilPs() const
    {
        return IsUp() ? m_line.GetFreePs() : FabricNowPs();
    }

    /// \param marker the congestion marker of this port; none marks nothing
    void SetMarker(Ptr<FabricEcnMarker> marker);
    /// \param source where frames come from when the queues are empty; it must outlive the port
    void SetSource(FabricFrameSource* source);

    /// The port is where a host's NIC would be. \param port see FabricQueues
    void SetOwnPort(uint16_t port)
    {
        m_queues.SetOwnPort(port);
    }

    /// \param scheduler who chooses between the priorities; none: strictly the highest
    void SetScheduler(std::unique_ptr<FabricPortScheduler> scheduler);
    /**
     * Lose frames at random, those that leave from now on.
     * \param probability of each frame, pause frames excepted
     */
    void SetErrorRate(double probability);
    /// \return probability with which frames that leave now are lost
    double GetErrorRate() const;
    /// The link carries nothing from now on, and neither end knows: what is on it is lost too. An
    /// error rate ends that.
    void BeginSilence();

    /// \return whether the link carries nothing and its ends don't know
    bool IsSilent() const
    {
        return GetErrorRate() >= FabricLosses::SILENCE;
    }

    /// Forget pauses that were told across a link that was silent meanwhile, and tell those in
    /// force anew.
    void RenewPauses();
    /// \param averagingPs write the line's utilisation, averaged so, into frames that ask for it
    void MeasureUtilisation(int64_t averagingPs);

    /**
     * Send a frame, now or when its turn comes; a frame that finds no room is dropped.
     * \param frame the frame, which the port owns from here on
     */
    void Enqueue(FabricFrame* frame);
    /**
     * Offer each frame to the far end as soon as its head is there.
     * \param headerBytes bytes of a frame that make its head; above 0
     */
    void AnnounceHeads(uint32_t headerBytes);

    /// \return bytes of a frame that must be at the far end before it may send it on; 0: all
    uint32_t GetAnnouncedBytes() const;
    /**
     * Make room for a frame whose head has come in by another port, if it can leave by this one
     * now.
     * \param frame the frame, of which the last bit comes at its `tailPs`
     * \return whether it can; then SendHead comes next
     */
    bool AdmitHead(FabricFrame* frame);
    /// \param frame a frame that AdmitHead has let in; it goes on the line now
    void SendHead(FabricFrame* frame);
    /// \param name what errors call it, such as "switch3:2"
    void SetName(const std::string& name);
    /// \return its name
    const std::string& GetName() const;
    /// \param place where it is
    void SetPlace(const FabricPortPlace& place);

    /// \return where it is
    const FabricPortPlace& GetPlace() const
    {
        return m_place;
    }

    /// \param frame a frame that came in here, and that no port sends on
    void Discard(FabricFrame* frame);
    /// Tell the far end which priorities must stop, before anything else that waits here.
    void SendPause(uint8_t pausedPriorities);
    /// \param pausedPriorities the far end asks to stop these priorities, and no others
    void SetPaused(uint8_t pausedPriorities);
    /// \return bit p is set if priority p is stopped
    uint8_t GetPaused() const;
    /// \param priority a priority \return since when it is stopped; it must be
    int64_t GetPausedSincePs(uint32_t priority) const;

    /// \param priority a priority \param timePs a time, not before its last stop or go
    /// \return for how long it had been stopped by then, all stops together
    int64_t GetStoppedPs(uint32_t priority, int64_t timePs) const
    {
        return m_pauses.GetStoppedPs(priority, timePs);
    }

    /// \param listener told of each change of what is stopped; it must outlive the port. Or none
    void SetPauseListener(FabricPauseListener* listener);

    /// \param priority a priority \return what waits in it
    const FabricFrameList& GetQueue(uint32_t priority) const;

    /// \param nowPs play all departures due up to this time, never later than Simulator::Now()
    void Settle(int64_t nowPs)
    {
        if (LacksCredit()) [[unlikely]]
        {
            SettleByCredit(nowPs);
        }
        else if (m_line.IsFree(nowPs) && (m_queues.IsReady() || m_source != nullptr))
        {
            PlayDepartures(nowPs);
        }
    }

    /**
     * What to settle before an event changes the port.
     * \param nowPs the present time
     * \param scheduledPs when the event was scheduled
     * \return nowPs, or just before it if a departure due now comes after the event
     */
    int64_t GetDuePs(int64_t nowPs, int64_t scheduledPs)
    {
        if (m_oldestFirst)
        {
            Settle(nowPs - 1); // so that the frame on the line is the last that left before
        }
        return m_oldestFirst && m_lineStartPs >= scheduledPs ? nowPs - 1 : nowPs;
    }

    /// \return whether nothing waits here, no pause frame either; the memory's to ask
    bool IsEmpty() const
    {
        return m_queues.IsEmpty();
    }

    /// \param listed whether the memory knows that something waits here
    void SetListed(bool listed)
    {
        m_queues.SetListed(listed);
    }

    /// \return whether the link is up, as it is from the start
    bool IsUp() const
    {
        return m_line.IsUp();
    }

    /// Before the link goes down: play what is due by now, in the whole memory.
    void SettleMemory();
    /// The link is down from now on, and nothing is stopped by whom it led to, nor the other way
    /// round. Call LoseContents next; ports that go down at one time are all taken down before.
    void GoDown();
    /// Lose what is on the wire and what waits, and tell their owners; the link is down.
    void LoseContents();
    /// The link is up again, and the line is free; what is still too full stops its neighbour.
    void GoUp();

    /// The source has something new, after what is due was settled: send it if the line is free.
    void SourceChanged(int64_t nowPs);
    /// The memory needs each departure at its time from now on: set an event for the next one.
    void WakeAtDeparture();

    /// \return bytes waiting now
    uint64_t GetQueueBytes();

    /// \return bytes that waited when the port was last settled; nothing is played for it
    uint64_t GetSettledQueueBytes() const
    {
        return m_queues.GetBytes();
    }

    /// \return the counters, exact as of now
    FabricPortCounters GetCounters();
    /// \return frames handed to the far end, of those sent when the port was last settled
    uint64_t GetArrivedFrames() const;
    /// \return the counters as of when the port was last settled; nothing is played for it
    FabricPortCounters GetSettledCounters() const;

    /// Count what crossed the line without frames. \param frames how many it stands for
    /// \param bytes of these, as in a buffer
    void CountSent(uint64_t frames, uint64_t bytes)
    {
        m_sent.frames += frames;
        m_sent.bytes += bytes;
    }

    /// \return whether anybody is told of what crosses the line
    bool TellsLine() const
    {
        return m_observers && m_observers->SeeLine();
    }

    /// Remember what goes on the line, for accounts of messages.
    /// \param ownerBit from this bit on an instance says whose it is
    void KeepServed(uint32_t ownerBit);

    /// \return what has gone on the line lately, if accounts are kept
    FabricServedLog* GetServed() const
    {
        return m_observed ? m_observers->GetServed() : nullptr;
    }

    /// Tell of bytes that cross the line without frames. \param timePs when \param wireBytes them
    void TellLine(int64_t timePs, uint32_t wireBytes) const
    {
        m_observers->TellLine(timePs, wireBytes);
    }

    /// \param nowPs the present time \return for how long it was stopped, until now if it is
    int64_t GetPausedPs(int64_t nowPs) const;
    /// \return what waits and travels now; it counts frame by frame, so it is for the end of a run
    FabricPortContents CountContents();
    /// \return rate of the line in bits per second
    uint64_t GetRateBps() const;
    /// \return propagation delay
    int64_t GetDelayPs() const;

    /// \param wireBytes bytes on the line \return how long the line is busy with them
    int64_t TransmissionPs(uint32_t wireBytes) const
    {
        const int64_t bytePs = m_line.GetBytePs();
        return bytePs > 0 ? bytePs * wireBytes : m_rate.TransmissionPs(wireBytes);
    }

    /// \param timePs a time \return the nearest that the port's Rounding allows
    int64_t RoundPs(int64_t timePs) const;
    /**
     * Tell which nodes are played together (FabricSimulator).
     * \param group the group of its node
     * \param farGroup the group of the far end
     * \param threads they may be played at the same time, by different threads
     */
    void SetGroups(uint32_t group, uint32_t farGroup, bool threads = false);

    /// \return the group of its node
    uint32_t GetGroup() const
    {
        return m_group;
    }

    /// \return the group of the far end
    uint32_t GetFarGroup() const
    {
        return m_farGroup;
    }

    /// \return id of the receiver's node
    uint32_t GetFarContext() const
    {
        return m_context;
    }

    /**
     * Which of several frames comes first that arrive at one time: that at the lowest node, there
     * that of the lowest rank. The ports of a node come in an order that a hash of the time sets,
     * so that none is always first; with OldestFirst they come by number.
     * \param timePs when the frame arrives
     * \return its rank
     */
    uint32_t GetArrivalRank(int64_t timePs) const
    {
        const uint64_t hash = static_cast<uint64_t>(timePs) * 0x9e3779b97f4a7c15;
        const auto mixed = static_cast<uint32_t>((m_receiverPort ^ hash >> 50) * (hash >> 32 | 1));
        const uint32_t port = m_oldestFirst ? m_receiverPort : mixed & ((1U << PORT_BITS) - 1);
        return m_context << PORT_BITS | port;
    }

    /// \return of ports that wake at one time those of the lowest rank come first
    uint32_t GetWakeRank() const
    {
        return m_place.node << PORT_BITS | m_place.port;
    }

    /// \return with OldestFirst, when the frame that arrives next was sent; else 0
    int64_t GetFirstSentPs() const
    {
        return m_oldestFirst ? m_wire.GetFrontPs() - m_line.GetDelayPs() -
                                   TransmissionPs(m_wire.Front()->wireBytes)
                             : 0;
    }

    /// \param nowPs play all departures due up to this time \return frames on the line or the way
    uint32_t CountOnLink(int64_t nowPs)
    {
        Settle(nowPs);
        return m_wire.GetSize();
    }

    /// Have in cache what tells of the link.
    void PrefetchLink() const
    {
        __builtin_prefetch(&m_line);
        __builtin_prefetch(&m_wire);
    }

    /// Have in cache the frames that arrive next.
    void PrefetchFrames() const
    {
        m_wire.Prefetch();
    }

    /// \param call what the simulator has been asked to call it for \param timePs at this time
    /// \return whether it wants to be called still
    bool IsDue(FabricSimulator::Call call, int64_t timePs) const;
    /// The simulator's call: hand the first frame on the link to the far end.
    void Arrive();
    /// The simulator's call: a departure is due.
    void Wake();
    /// The simulator's call to a port that has told it of an empty link: a window has ended.
    /// \param nowPs play all departures due up to this time
    void WindowEnded(int64_t nowPs);

    // With threads, a port is played by two: its group's sends, the far end's takes off the link.

    /// The simulator's call to a port that has told it that it is busy: its group's turn has ended.
    /// \param nowPs play all departures due up to this time \param nextPs end of the next turn
    /// \return whether it is busy still: something departs before that
    bool EndTurn(int64_t nowPs, int64_t nextPs);
    /// The simulator's call between windows to a port whose link was idle, or has run empty: have
    /// what was sent since arrive.
    void HandOver();
    /// The simulator's call between windows to a port whose link holds more than ever before.
    void MergeLink();
    /// Tell who listens what a switch has put down. \param nowPs when \param pausedPriorities what
    void TellPaused(int64_t nowPs, uint8_t pausedPriorities);
    /// \return when the next frame can leave, or FabricFrameSource::NEVER
    int64_t FindNextDeparturePs();
    /// Let a frame go that does not arrive: its flow, if it has one, is told of it.
    /// \param timePs when
    void LetGo(FabricFrame* frame, int64_t timePs) const;
    /// Before somebody looks: play what has happened to it by now.
    void CatchUp() const;
    /// \return whether somebody traces it
    bool IsTraced() const;
    /// \return whether somebody traces what it drops, or loses on its link
    bool IsDropTraced() const;
    /// \return who traces it, made on first use
    FabricPortObservers& GetObservers();

    /// \return who receives
    FabricReceiver* GetReceiver() const;
    /// \return the receiver's number of its port
    uint32_t GetReceiverPort() const;

    /// Traced: time and bytes waiting after a change.
    typedef void (*QueueTracedCallback)(Time time, uint64_t queueBytes);
    /// Traced: time and packet put on the line, or dropped.
    typedef void (*PacketTracedCallback)(Time time, Ptr<const Packet> packet);
    /// Traced: time and bytes that go on the line, preamble and gap counted.
    typedef void (*LineTracedCallback)(Time time, uint32_t wireBytes);
    /// Traced: time and the priorities that are stopped from then on.
    typedef void (*PauseTracedCallback)(Time time, uint8_t pausedPriorities);

  protected:
    void DoDispose() override;

  private:
    static constexpr std::size_t CACHE_LINE_BYTES = 64;
    static constexpr uint32_t PORT_BITS = 14; //!< of the number of a port in a rank
    static constexpr int64_t NO_WAKE = std::numeric_limits<int64_t>::max();

    /// What it has put on the line.
    struct Sent
    {
        uint64_t frames{0};    //!< frames
        uint64_t bytes{0};     //!< their bytes as in a buffer
        uint64_t wireBytes{0}; //!< preamble and gap counted
    };

    /// \param rate rate of the line for what leaves from now on
    void SetRate(DataRate rate);
    /// \return rate of the line
    DataRate GetRate() const;
    /// \param delay to the far end of what leaves from now on
    void SetDelay(Time delay);
    /// \return propagation delay
    Time GetDelay() const;
    /// \param rounding transmission times are multiples of it, or 0
    void SetRounding(Time rounding);
    /// \return what transmission times are multiples of
    Time GetRounding() const;
    /// Play what is due by now, if the port is in use.
    void SettleIfUsed();
    /// \return whether a frame that arrives is lost
    bool IsLost(const FabricFrame& frame);
    /// Count the frame that was drawn for last as lost.
    void CountLoss();

    /// \return whether a lane is stopped for lack of credit
    bool LacksCredit() const
    {
        return m_queues.GetStopped() != 0 && m_hasCredits;
    }

    /// Play all departures due up to nowPs, and let lanes go on for which credit has come by then.
    void SettleByCredit(int64_t nowPs);
    /// Take credit for a frame that goes on the line at startPs.
    void SpendCredit(const FabricFrame& frame, int64_t startPs);
    /// Let lanes go on for which credit has come by a time, by which nothing departs any more.
    void TakeCredits(int64_t timePs);
    /// The line is idle: take the credit that comes next. \return whether any comes by a time
    bool WaitForCredit(int64_t untilPs);
    /// \return when a lane that waits can be let go by credit that is on its way, or NEVER
    int64_t FindCreditPs() const;
    /// Set the events for what waits that tell others of credit in time.
    void SetCreditEvents(int64_t nowPs);
    /// Credit is on its way: see to it that whatever waits for it is looked at then.
    void CreditsGiven(int64_t nowPs);
    /// A frame is lost on the link: the far end tells so when it should have come.
    void ReturnLost(const FabricFrame& frame, int64_t arrivalPs);
    /// A frame is lost on a link that has gone down: the far end keeps no room for it.
    void RestoreCredit(const FabricFrame& frame);
    /// The link is up again: stop the lanes that have too little credit.
    void RenewCredits(int64_t nowPs);
    /// The line can take a frame from now on.
    void FreeLine(int64_t nowPs);
    /// Stop these priorities and no others.
    void StopPriorities(uint8_t pausedPriorities, int64_t nowPs);
    /// Count a frame that the link, being down, does not take, and let it go.
    void DropDown(FabricFrame* frame, int64_t nowPs);
    /// Lose what waits in a queue.
    void LoseQueue(uint32_t queue, int64_t nowPs);
    /// Play all departures due up to nowPs.
    void PlayDepartures(int64_t nowPs);
    /// Put a waiting frame on the line at startPs.
    void Depart(int64_t startPs);
    /// Put a frame that lay in the memory, if only for an instant, on the line at startPs.
    void TransmitHeld(FabricFrame* frame, int64_t startPs);
    /// Put a frame on the line at startPs.
    void Transmit(FabricFrame* frame, int64_t startPs);
    /// Give a frame that goes on the line what it collects.
    void Stamp(FabricFrame* frame, int64_t startPs);
    /// Let the memory know that something waits here.
    void List();
    /// \param queueBytes bytes that wait with a frame, or behind it \param joins it joins the
    /// queue, else it leaves it \return whether it gets a mark
    bool GetsMark(const FabricFrame& frame, uint64_t queueBytes, bool joins);
    /// Mark a frame.
    void Mark(FabricFrame* frame, int64_t timePs);
    /// Put a frame into the queue of its priority.
    void Push(FabricFrame* frame, int64_t nowPs);
    /// Tell who looks that the bytes waiting have changed.
    void TellQueue(int64_t timePs) const;
    /// The same where the far end is told of heads: that of the frame has come, or all of it.
    void ArriveInParts();
    /// Take the first frame off the link. \param nowPs when it, or its head, has arrived
    FabricFrame* TakeOffLink(int64_t nowPs);
    /// \param frame the newest on the link \param beforePs arrival of the one before it
    /// \return when its head arrives, or all of it if it has none
    int64_t PlanHead(FabricFrame* frame, int64_t beforePs) const;
    /// Put a frame on a link whose far end another thread may play.
    void Send(FabricFrame* frame, int64_t arrivalPs);
    /// Set the events that what waits now needs.
    void SetEvents(int64_t nowPs);
    /// \return whether something is seen to by the frames on the link, or when the turn ends
    bool IsSeenTo(int64_t nowPs);
    /// Schedule the arrival of the first frame on the link.
    void ScheduleArrival(int64_t nowPs);
    /// Have Wake called at timePs, or before.
    void ScheduleWake(int64_t timePs, int64_t nowPs);
    /// Count a frame that found no room, and let it go.
    void Drop(FabricFrame* frame);
    /// Let a frame go that does not arrive. \param timePs when it was dropped or lost
    void Lose(FabricFrame* frame, int64_t timePs);

    // What is touched by a frame that does not wait lies in three cache lines: that which m_line
    // begins, that which m_wire begins, and the one before these, where m_queues ends. The order of
    // the members makes it so, and the constructor holds it.

    std::string m_name{"a port"};         //!< for errors
    Ptr<FabricEcnMarker> m_marker;        //!< congestion marker, asked where something waits
    FabricQueues m_queues;                //!< waiting
    FabricFrameSource* m_source{nullptr}; //!< further frames
    int64_t m_wakePs{NO_WAKE};            //!< when Wake is due
    Sent m_sent;                          //!< what it has put on the line

    // What sending touches besides, and settling.
    alignas(CACHE_LINE_BYTES) FabricLine m_line; //!< when frames leave and arrive
    FabricAdmission m_admission;                 //!< which frames it takes
    uint32_t m_group{0};                         //!< of its node, see FabricSimulator
    uint32_t m_farGroup{0};                      //!< of the far end
    bool m_threads{false};                       //!< the far end may be played at the same time
    bool m_busy{false};                          //!< with threads: it is settled when the turn ends
    bool m_idle{true};                 //!< with threads: when the window began the link was idle
    bool m_emptied{false};             //!< the wire ran empty in this window
    bool m_losesFrames{false};         //!< any on the wire may be lost
    bool m_announcesHeads : 1 {false}; //!< the far end is told of heads
    bool m_hasCredits : 1 {false};     //!< m_credits is there
    bool m_oldestFirst{false};         //!< at equal times what was scheduled first comes first
    bool m_observed{false};            //!< m_observers is there

    // What the arrival of a frame at the far end touches.
    alignas(CACHE_LINE_BYTES) FabricWire m_wire; //!< on the line or on the way
    FabricReceiver* m_receiver{nullptr};         //!< far end
    uint32_t m_receiverPort{0};                  //!< the far end's number of its port
    uint32_t m_context{0};                       //!< its node

    // What is seldom wanted.
    FabricPortPlace m_place;       //!< for who records it
    int64_t m_lineStartPs{0};      //!< with OldestFirst, when the frame on the line began
    FabricPauseState m_pauses;     //!< which priorities are stopped
    FabricPortCounters m_counters; //!< what it has done, apart from what the parts count
    FabricLineRate m_rate;         //!< how long bytes take
    FabricLosses m_losses;         //!< what is lost on the way
    uint32_t m_headWireBytes{0};   //!< bytes on the line up to the end of a head
    FabricPauseListener* m_pauseListener{nullptr};    //!< told of stops
    std::unique_ptr<FabricUtilisationMeter> m_meter;  //!< utilisation of the line
    std::unique_ptr<FabricCredits> m_credits;         //!< what it may send, or none
    std::unique_ptr<FabricPortObservers> m_observers; //!< who looks, or none
};

} // namespace ns3
