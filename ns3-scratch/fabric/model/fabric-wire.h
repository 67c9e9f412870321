// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * The frames on a line and on the way behind it, in order of arrival, each with its time. The first
 * lies here, the others in a ring, so that no frame has to be touched to know of the next one, and
 * frames can be brought into cache before their turn.
 *
 * Where one thread sends and another receives, the sender calls Send, and whoever receives all the
 * rest but Merge: the first frame is the receiver's, the ring is shared. What finds the ring full
 * waits beside it until somebody calls Merge while neither thread plays.
 */
class FabricWire
{
  public:
    /// \return whether there is no frame that whoever receives knows of
    bool IsEmpty() const
    {
        return m_first.frame == nullptr;
    }

    /// \return how many frames there are, while no other thread plays
    uint32_t GetSize() const
    {
        const std::size_t beside = m_beside ? m_beside->size() : 0;
        return CountRing() + (IsEmpty() ? 0 : 1) + static_cast<uint32_t>(beside);
    }

    /// \return the first frame, still there, or none
    FabricFrame* Front() const
    {
        return m_first.frame;
    }

    /// \return when it arrives; there must be one
    int64_t GetFrontPs() const
    {
        return m_first.arrivalPs;
    }

    /// \param arrivalPs when the first frame, or more of it, arrives
    void SetFrontPs(int64_t arrivalPs)
    {
        m_first.arrivalPs = arrivalPs;
    }

    /// \return whether the arrival of the first frame is scheduled
    bool IsScheduled() const
    {
        return m_scheduled;
    }

    /// \param scheduled whether it is
    void SetScheduled(bool scheduled)
    {
        m_scheduled = scheduled;
    }

    /// \return whether the head of the first frame has arrived, and the frame not
    bool HasHeadArrived() const
    {
        return m_headArrived;
    }

    /// \return whether that frame is lost, which shows when all of it is there
    bool IsHeadLost() const
    {
        return m_headLost;
    }

    /// \param arrived whether the head of the first frame has arrived, and the frame not
    /// \param lost whether that frame is lost
    void SetHead(bool arrived, bool lost)
    {
        m_headArrived = arrived;
        m_headLost = lost;
    }

    /// \return the newest frame, still there, after Collect; there must be one
    FabricFrame* Back() const
    {
        return CountRing() == 0 ? m_first.frame : At(Tail() - 1).frame;
    }

    /// \param number of a frame, 0 for the first \return the frame, after Collect
    const FabricFrame& Get(uint32_t number) const
    {
        return number == 0 ? *m_first.frame : *At(Head() + number - 1).frame;
    }

    /// \param frame a frame that goes on the line now \param arrivalPs when it arrives, not before
    /// the others. The thread that calls is the one that receives
    void PushBack(FabricFrame* frame, int64_t arrivalPs)
    {
        if (IsEmpty())
        {
            m_first = {arrivalPs, frame};
            return;
        }
        if (CountRing() == m_room)
        {
            Grow(m_room + 1);
        }
        Append({arrivalPs, frame});
    }

    /// The same where another thread receives. \return whether Merge must be called
    bool Send(FabricFrame* frame, int64_t arrivalPs)
    {
        const Entry entry{arrivalPs, frame};
        if (!m_beside && Tail() - m_head.load(std::memory_order_acquire) < m_room)
        {
            Append(entry);
            return false;
        }
        const bool first = !m_beside;
        if (first)
        {
            m_beside = std::make_unique<std::vector<Entry>>();
        }
        m_beside->push_back(entry);
        return first;
    }

    /// Know of all that was sent, while no other thread plays.
    void Collect()
    {
        Merge();
        Pull();
    }

    /// Take what found no room into the ring, and make it large enough.
    void Merge()
    {
        if (!m_beside)
        {
            return;
        }
        Grow(CountRing() + static_cast<uint32_t>(m_beside->size()));
        for (const Entry& entry : *m_beside)
        {
            Append(entry);
        }
        m_beside.reset();
    }

    /// \return whether there is a first frame, maybe one that was sent since
    bool Pull()
    {
        if (IsEmpty())
        {
            Advance();
        }
        return !IsEmpty();
    }

    /// \return the first frame, taken off; there must be one
    FabricFrame* PopFront()
    {
        FabricFrame* frame = m_first.frame;
        Advance();
        return frame;
    }

    /// Have in cache what PopFront gives next.
    void Prefetch() const
    {
        __builtin_prefetch(m_first.frame);
        const uint32_t behind = CountRing();
        for (uint32_t number = 0; number < behind && number < AHEAD; ++number)
        {
            __builtin_prefetch(At(Head() + number).frame);
        }
    }

    /// Have in cache where the frames are listed.
    void PrefetchRing() const
    {
        __builtin_prefetch(m_ring.get() + (Head() & (m_room - 1)));
    }

  private:
    /// A frame and when it arrives.
    struct Entry
    {
        int64_t arrivalPs;  //!< when
        FabricFrame* frame; //!< the frame, or none
    };

    static constexpr uint32_t AHEAD = 4;      //!< frames brought into cache before their turn
    static constexpr uint32_t FIRST_ROOM = 4; //!< of the ring: a cache line

    /// \return number of the first in the ring
    uint32_t Head() const
    {
        return m_head.load(std::memory_order_relaxed);
    }

    /// \return number behind the last in the ring
    uint32_t Tail() const
    {
        return m_tail.load(std::memory_order_acquire);
    }

    /// \return how many are in the ring
    uint32_t CountRing() const
    {
        return Tail() - Head();
    }

    /// \return the entry of a number
    Entry& At(uint32_t number) const
    {
        return m_ring[number & (m_room - 1)];
    }

    /// Put one into the ring, which has room.
    void Append(const Entry& entry)
    {
        const uint32_t tail = m_tail.load(std::memory_order_relaxed);
        At(tail) = entry;
        m_tail.store(tail + 1, std::memory_order_release);
    }

    /// The first of the ring, or none, becomes the first.
    void Advance()
    {
        const uint32_t head = Head();
        const uint32_t behind = Tail() - head;
        if (behind == 0)
        {
            m_first.frame = nullptr;
            return;
        }
        m_first = At(head);
        m_head.store(head + 1, std::memory_order_release);
        if (behind > AHEAD)
        {
            __builtin_prefetch(At(head + AHEAD).frame);
        }
    }

    /// Make a larger ring. \param least how many it must hold
    void Grow(uint32_t least)
    {
        if (least <= m_room)
        {
            return;
        }
        const uint32_t room = std::max(FIRST_ROOM, std::bit_ceil(least));
        auto ring = std::make_unique<Entry[]>(room);
        for (uint32_t number = Head(); number != Tail(); ++number)
        {
            ring[number & (room - 1)] = At(number);
        }
        m_ring = std::move(ring);
        m_room = room;
    }

    Entry m_first{0, nullptr};       //!< the first
    std::unique_ptr<Entry[]> m_ring; //!< those behind it, by number
    std::unique_ptr<std::vector<Entry>>
        m_beside;       //!< what found no room, behind all others; or none
    uint32_t m_room{0}; //!< in the ring; a power of two, or 0
    std::atomic<uint32_t> m_head{
        0}; //!< number of the first in the ring, whoever receives counts it
    std::atomic<uint32_t> m_tail{0}; //!< number behind the last, the sender counts it
    bool m_scheduled{false};         //!< the arrival of the first is scheduled
    bool m_headArrived{false};       //!< the head of the first has arrived
    bool m_headLost{false};          //!< that frame is lost
};

} // namespace ns3
