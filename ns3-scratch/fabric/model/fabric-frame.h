// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/packet.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Ethernet header and frame check sequence around an IP packet, in bytes.
inline constexpr uint32_t FABRIC_ETHERNET_BYTES = 18;
/// Smallest Ethernet frame, in bytes (IEEE 802.3).
inline constexpr uint32_t FABRIC_MINIMUM_FRAME_BYTES = 64;
/// Preamble, start delimiter and inter-packet gap: they take time on the line and room in no
/// buffer.
inline constexpr uint32_t FABRIC_LINE_GAP_BYTES = 20;

/// ECN codepoints of RFC 3168, as in the two low bits of the IP TOS byte.
enum class FabricEcn : uint8_t
{
    NOT_CAPABLE = 0,
    CAPABLE_1 = 1,
    CAPABLE_0 = 2,
    CONGESTION_EXPERIENCED = 3
};

/**
 * What travels between hosts and switches: an IP packet with what a switch must know of it, read
 * once at the NIC. Frames are pooled (FabricFramePool) and linked into queues by `next`; exactly
 * one queue, link or caller owns one.
 */
struct FabricFrame
{
    FabricFrame* next{nullptr}; //!< next in the queue that owns this frame
    Ptr<Packet> packet;         //!< the IP packet carried
    int64_t arrivalPs{0};       //!< when the last bit reaches the far end, set by the port
    uint32_t bufferBytes{0};    //!< bytes it takes in a buffer
    uint32_t wireBytes{0};      //!< bytes it takes on the line
    uint32_t destination{0};    //!< index of the destination host
    uint32_t flowHash{0};       //!< hash of addresses and ports
    FabricEcn ecn{FabricEcn::NOT_CAPABLE}; //!< codepoint, marked by switches
    bool marked{false};                    //!< a switch on the way marked it
};

/// First in, first out list of frames that allocates nothing.
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

    /// \param frame the frame to append
    void PushBack(FabricFrame* frame)
    {
        frame->next = nullptr;
        (m_head ? m_tail->next : m_head) = frame;
        m_tail = frame;
    }

    /// \return the oldest frame, taken out; the list must not be empty
    FabricFrame* PopFront()
    {
        FabricFrame* frame = m_head;
        m_head = frame->next;
        frame->next = nullptr;
        return frame;
    }

  private:
    FabricFrame* m_head{nullptr}; //!< oldest
    FabricFrame* m_tail{nullptr}; //!< newest, meaningless when empty
};

/// Recycles frames. ns-3 runs a simulation in one thread, so this is per thread and needs no lock.
class FabricFramePool
{
  public:
    /// \return a frame as if newly made
    static FabricFrame* Take();
    /// \param frame a frame that nobody uses any more; its packet is released
    static void Give(FabricFrame* frame);

  private:
    ~FabricFramePool();
    /// \return this thread's pool
    static FabricFramePool& Get();

    std::vector<FabricFrame*> m_free; //!< frames to hand out again
};

} // namespace ns3
