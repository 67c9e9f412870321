// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-telemetry.h"
#include "fabric-trail.h"

#include "ns3/packet.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

/// Ethernet header and frame check sequence around an IP packet, in bytes.
inline constexpr uint32_t FABRIC_ETHERNET_BYTES = 18;
/// Smallest Ethernet frame, in bytes (IEEE 802.3).
inline constexpr uint32_t FABRIC_MINIMUM_FRAME_BYTES = 64;
/// Frame check sequence, which is not in a capture, in bytes.
inline constexpr uint32_t FABRIC_CHECK_BYTES = 4;
/// Preamble, start delimiter and inter-packet gap: they take time on the line and room in no
/// buffer.
inline constexpr uint32_t FABRIC_LINE_GAP_BYTES = 20;
/// In the place of a port: none is chosen.
inline constexpr uint32_t FABRIC_NO_PORT = 0xffffffff;
/// Priorities of a port (IEEE 802.1Q).
inline constexpr uint32_t FABRIC_PRIORITIES = 8;

/// ECN codepoints of RFC 3168, as in the two low bits of the IP TOS byte.
enum class FabricEcn : uint8_t
{
    NOT_CAPABLE = 0,
    CAPABLE_1 = 1,
    CAPABLE_0 = 2,
    CONGESTION_EXPERIENCED = 3
};

struct FabricFrame;
struct FabricLane;

/// Gives a trail back to its pool.
struct FabricTrailGiver
{
    /// \param trail a trail that nobody uses any more
    void operator()(FabricTrail* trail) const;
};

/// A trail of one's own.
using FabricTrailPointer = std::unique_ptr<FabricTrail, FabricTrailGiver>;

/// Whose frames travel without an ns-3 packet: it gets them at the destination host.
class FabricFlow
{
  public:
    virtual ~FabricFlow() = default;
    /// \param frame a frame that has reached its destination host; the flow owns it now
    virtual void ReceiveFrame(FabricFrame* frame) = 0;
    /// \param frame a frame that was dropped or lost on the way; the flow owns it now
    virtual void FrameLost(FabricFrame* frame);

    /// Called while one thread plays, after the flow has noted that it may have nothing left to do.
    virtual void TurnsEnded()
    {
    }

    /// \param frame one of the flow's frames \return the packet it stands for, for a trace
    virtual Ptr<Packet> MakePacket(const FabricFrame& frame) const = 0;

    /// \param frame one of the flow's frames \return whether it has data of a message, which is
    /// then known if accounts are kept
    virtual bool HasData([[maybe_unused]] const FabricFrame& frame) const
    {
        return false;
    }
};

/**
 * What travels between hosts and switches: an IP packet with what a switch must know of it, read
 * once at the NIC; or a flow's own few numbers without a packet; or a pause. Frames are pooled
 * (FabricFramePool) and linked into queues by `next`; exactly one queue, link or caller owns one.
 *
 * All that a frame of a flow has as a rule lies in the first cache line: neither switches nor its
 * hosts touch the second.
 */
struct alignas(64) FabricFrame
{
    FabricFrame* next{nullptr};    //!< next in the queue that owns this frame
    FabricFlow* flow{nullptr};     //!< who gets it; none: it carries an IP packet, or is a pause
    uint64_t sequence{0};          //!< the flow's: position of the data
    int64_t sentPs{0};             //!< the flow's: when the first bit left the sender
    uint32_t bufferBytes{0};       //!< bytes it takes in a buffer
    uint32_t wireBytes{0};         //!< bytes it takes on the line
    uint32_t source{0};            //!< index of the host it comes from
    uint32_t destination{0};       //!< index of the destination host
    uint32_t flowHash{0};          //!< hash of addresses and ports
    uint32_t ingressPort : 28 {0}; //!< port by which it came into the switch that holds it
    uint32_t hasTurned : 1 {0};    //!< it has been where it goes first: see FabricDetours
    uint32_t ingressLane : 3 {0};  //!< its priority on that link
    uint32_t payloadBytes{0};      //!< the flow's: bytes of data
    uint8_t priority : 3 {0};      //!< 0 to 7; 7 is the highest
    bool pathOnly : 1 {false};     //!< switches write one number in place of entries
    uint8_t kind : 4 {0};          //!< what the flow sees in it
    uint8_t switches{0};           //!< switches passed so far
    uint8_t echoSwitches{0};       //!< the flow's: switches passed by what is answered
    FabricEcn ecn : 2 {FabricEcn::NOT_CAPABLE}; //!< codepoint, marked by switches
    bool marked : 1 {false};                    //!< a switch on the way marked it
    bool isPause : 1 {false};     //!< a pause frame (IEEE 802.1Qbb), which no switch forwards
    bool wantsAnswer : 1 {false}; //!< the flow's: it must be answered at once
    bool collects : 1 {false};    //!< switches write into the telemetry
    bool accounted : 1 {false};   //!< ports write into the trail
    bool carries : 1 {false};     //!< it has, or had, a packet or telemetry: see the setters

    uint64_t echo{0};                    //!< the flow's: position named by a negative answer
    FabricTelemetry* telemetry{nullptr}; //!< what is collected on the way, or was
    FabricTrail* trail{nullptr};         //!< where it has been, if that is accounted for
    Ptr<Packet> packet;                  //!< the IP packet carried, if there is one
    int64_t tailPs{0}; //!< towards a switch that cuts through: arrival of its last bit
    uint32_t egressPort{FABRIC_NO_PORT}; //!< there: the port chosen when its head had come
    uint8_t pausedPriorities{0};         //!< pause frame: bit p is set if priority p must stop
    uint64_t instance{0};                //!< with accounts: which run of a schedule it is of
    uint32_t sender{0};                  //!< with accounts: NPU that sends its message
    uint32_t receiver{0};                //!< with accounts: NPU that receives its message

    /// \param carried the IP packet that it carries
    void SetPacket(Ptr<Packet> carried)
    {
        packet = std::move(carried);
        carries = true;
    }

    /// \param collected where switches write what it collects, its own from now on
    /// \param onlyPath whether they write one number in place of entries
    void SetTelemetry(FabricTelemetry* collected, bool onlyPath = false)
    {
        telemetry = collected;
        telemetry->pathOnly = onlyPath;
        pathOnly = onlyPath;
        carries = true;
        collects = true;
    }

    /// \param run its message's run of a schedule \param from NPU that sends it \param to NPU that
    /// receives it
    void SetMessage(uint64_t run, uint32_t from, uint32_t to)
    {
        instance = run;
        sender = from;
        receiver = to;
    }

    /// \return what is collected on the way, or was; or none
    const FabricTelemetry* GetTelemetry() const
    {
        return carries ? telemetry : nullptr;
    }

    /// Have in cache what it has collected.
    void PrefetchTelemetry() const
    {
        if (carries && telemetry)
        {
            const char* first = reinterpret_cast<const char*>(telemetry);
            __builtin_prefetch(first);
            __builtin_prefetch(first + 64);
            __builtin_prefetch(first + 128);
        }
    }

    /// \return its trail, which nobody writes any more, or none
    FabricTrailPointer TakeTrail()
    {
        if (!accounted)
        {
            return nullptr;
        }
        accounted = false;
        return FabricTrailPointer(std::exchange(trail, nullptr));
    }

    /// \return the packet carried or stood for, for a trace
    Ptr<Packet> GetPacket() const;
};

/// First in, first out list of frames that allocates nothing and counts their bytes.
class FabricFrameList
{
  public:
    /// \return true if there is none
    bool IsEmpty() const
    {
        return m_head == nullptr;
    }

    /// \return the oldest frame, still in the list; the list must not be empty
    FabricFrame* Front() const
    {
        return m_head;
    }

    /// \return the oldest frame, still in the list, or none
    FabricFrame* GetFirst() const
    {
        return m_head;
    }

    /// \return the newest frame, still in the list; the list must not be empty
    FabricFrame* Back() const
    {
        return m_tail;
    }

    /// \return bytes that the frames take in a buffer
    uint64_t GetBytes() const
    {
        return m_bytes;
    }

    /// \param frame the frame to append; its size stays as it is while it is in the list
    void PushBack(FabricFrame* frame)
    {
        m_bytes += frame->bufferBytes;
        frame->next = nullptr;
        (m_head ? m_tail->next : m_head) = frame;
        m_tail = frame;
    }

    /**
     * Put a frame before the first that isn't like it; all that are like it stand at the head.
     * \param frame it; its size stays as it is while it is in the list
     * \param isAlike whether a frame in the list is like it
     */
    template <class IS_ALIKE>
    void PushBehindAlike(FabricFrame* frame, IS_ALIKE isAlike)
    {
        FabricFrame** place = &m_head;
        while (*place && isAlike(**place))
        {
            place = &(*place)->next;
        }
        if (*place == nullptr)
        {
            PushBack(frame);
            return;
        }
        m_bytes += frame->bufferBytes;
        frame->next = *place;
        *place = frame;
    }

    /// \return the oldest frame, taken out; the list must not be empty
    FabricFrame* PopFront()
    {
        FabricFrame* frame = m_head;
        m_head = frame->next;
        __builtin_prefetch(m_head); // a long queue has left the cache, and this is wanted next
        frame->next = nullptr;
        m_bytes -= frame->bufferBytes;
        return frame;
    }

  private:
    FabricFrame* m_head{nullptr}; //!< oldest
    FabricFrame* m_tail{nullptr}; //!< newest, meaningless when empty
    uint64_t m_bytes{0};          //!< of the frames
};

/// Recycles frames, telemetry and trails. The simulation's thread has the pool; other threads that
/// play have some frames and telemetry of their own (FabricLane), so that none needs a lock. Trails
/// are for the simulation's thread only.
class FabricFramePool
{
  public:
    /// \return a frame as if newly made
    static FabricFrame* Take();
    /// \param frame a frame that nobody uses any more; what it carries is released
    static void Give(FabricFrame* frame);
    /// Level what a thread has of its own with the pool. \param lane of a thread that does not play
    /// now \param least how many it is to have spare at least; 0: none, what it has is taken back
    static void Balance(FabricLane& lane, uint32_t least);
    /// \return telemetry as if newly made
    static FabricTelemetry* TakeTelemetry();
    /// \param telemetry telemetry that nobody uses any more
    static void GiveTelemetry(FabricTelemetry* telemetry);
    /// \return a trail as if newly made
    static FabricTrail* TakeTrail();
    /// \param trail a trail that nobody uses any more
    static void GiveTrail(FabricTrail* trail);
    /// \return frames taken and not given back
    static uint64_t CountFrames();
    /// \return telemetry taken and not given back
    static uint64_t CountTelemetry();
    /// \return trails taken and not given back
    static uint64_t CountTrails();

  private:
    /// \return the pool
    static FabricFramePool& Get();
    /// \param lane not of the simulation's thread \return one of its frames, or a new one
    static FabricFrame* TakeHere(FabricLane& lane);

    FabricFrame* m_free{nullptr};              //!< frames to hand out again
    FabricTelemetry* m_freeTelemetry{nullptr}; //!< telemetry to hand out again
    FabricTrail* m_freeTrail{nullptr};         //!< trails to hand out again
    uint64_t m_frames{0};                      //!< frames that are out
    int64_t m_telemetry{0};                    //!< telemetry that is out
    uint64_t m_trails{0};                      //!< trails that are out
};

} // namespace ns3
