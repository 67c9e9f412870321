// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include <cstdint>
#include <memory>
#include <utility>

namespace ns3
{

/**
 * The frames on a line and on the way behind it, in order of arrival, each with its time. The first
 * lies here, the others in a ring, so that no frame has to be touched to know of the next one, and
 * frames can be brought into cache before their turn.
 */
class FabricWire
{
  public:
    /// \return whether there is no frame
    bool IsEmpty() const
    {
        return m_first.frame == nullptr;
    }

    /// \return how many frames there are
    uint32_t GetSize() const
    {
        return m_behind + (IsEmpty() ? 0 : 1);
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

    /// \return the newest frame, still there; there must be one
    FabricFrame* Back() const
    {
        return m_behind == 0 ? m_first.frame : At(m_behind - 1).frame;
    }

    /// \param number of a frame, 0 for the first \return the frame
    const FabricFrame& Get(uint32_t number) const
    {
        return number == 0 ? *m_first.frame : *At(number - 1).frame;
    }

    /// \param frame a frame that goes on the line now \param arrivalPs when it arrives, not before
    /// the others
    void PushBack(FabricFrame* frame, int64_t arrivalPs)
    {
        if (IsEmpty())
        {
            m_first = {arrivalPs, frame};
            return;
        }
        if (m_behind == m_room)
        {
            Grow();
        }
        At(m_behind++) = {arrivalPs, frame};
    }

    /// \return the first frame, taken off; there must be one
    FabricFrame* PopFront()
    {
        FabricFrame* frame = m_first.frame;
        if (m_behind == 0)
        {
            m_first.frame = nullptr;
            return frame;
        }
        m_first = At(0);
        m_start = (m_start + 1) & (m_room - 1);
        m_behind--;
        if (m_behind >= AHEAD)
        {
            __builtin_prefetch(At(AHEAD - 1).frame);
        }
        return frame;
    }

    /// Have in cache what PopFront gives next.
    void Prefetch() const
    {
        __builtin_prefetch(m_first.frame);
        for (uint32_t number = 0; number < m_behind && number < AHEAD; ++number)
        {
            __builtin_prefetch(At(number).frame);
        }
    }

    /// Have in cache where the frames are listed.
    void PrefetchRing() const
    {
        __builtin_prefetch(m_ring.get() + m_start);
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

    /// \return an entry of the ring
    Entry& At(uint32_t number) const
    {
        return m_ring[(m_start + number) & (m_room - 1)];
    }

    /// Make a larger ring.
    void Grow()
    {
        const uint32_t room = m_room == 0 ? FIRST_ROOM : 2 * m_room;
        auto ring = std::make_unique<Entry[]>(room);
        for (uint32_t number = 0; number < m_behind; ++number)
        {
            ring[number] = At(number);
        }
        m_ring = std::move(ring);
        m_room = room;
        m_start = 0;
    }

    Entry m_first{0, nullptr};       //!< the first
    std::unique_ptr<Entry[]> m_ring; //!< those behind it
    uint32_t m_room{0};              //!< in the ring; a power of two, or 0
    uint32_t m_start{0};             //!< the first of the ring
    uint32_t m_behind{0};            //!< in the ring
};

} // namespace ns3
