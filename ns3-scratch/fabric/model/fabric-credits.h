// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

namespace ns3
{

/// How the far end of a link gives credit. Sizes are bytes as in a buffer.
struct FabricCreditLink
{
    uint32_t laneBytes{0};     //!< buffer that the far end keeps for each lane of the link
    uint32_t largestBytes{0};  //!< the largest frame of the network: a lane with less credit stops
    int64_t updatePs{0};       //!< time from free buffer to the update's first bit
    uint32_t order{0};         //!< place of this direction in the order of links (FabricCreditRule)
    bool returnsAtOnce{false}; //!< the far end is a host: it empties its buffer at the line's rate
};

/**
 * What the sending end of a link may still send, lane by lane. A lane is a priority of the port.
 *
 * A frame takes credit for its bytes when its first bit goes on the line. Credit comes back when
 * the frame has left the far end's buffer, an update time and a propagation delay later. A lane
 * stops when its credit is below the largest frame, so no frame is ever sent without credit. Credit
 * that is on its way back is a list in order of time. While no lane is stopped nobody has to look
 * at it, until a lane runs short; only a lane that is stopped needs an event.
 *
 * Where one thread sends and another one gives, the giver calls Put; HandOver takes in what was put
 * while neither plays.
 */
class alignas(64) FabricCredits
{
  public:
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max(); //!< no credit comes

    /// \param link how the far end gives credit
    explicit FabricCredits(const FabricCreditLink& link);

    /// \return how the far end gives credit
    const FabricCreditLink& GetLink() const
    {
        return m_link;
    }

    /// \return bit l is set if lane l has less credit than the largest frame takes
    uint8_t GetStopped() const
    {
        return m_stopped;
    }

    /// \param lane a lane \return bytes that it may send, as of what was taken
    uint32_t GetBytes(uint32_t lane) const
    {
        return m_bytes.at(lane);
    }

    /// \param frame a frame that goes on the line; its lane must have credit for it
    /// \param startPs when
    void Spend(const FabricFrame& frame, int64_t startPs)
    {
        const uint32_t lane = frame.priority;
        if (m_tail - m_head > MANY_COMING)
        {
            TakeUntil(startPs);
        }
        if (m_bytes[lane] < frame.bufferBytes + m_largestBytes) [[unlikely]]
        {
            SpendLast(frame, startPs);
            return;
        }
        m_bytes[lane] -= frame.bufferBytes;
    }

    /// Credit comes back. \param timePs when it arrives \param lane of it \param bytes how much
    void Give(int64_t timePs, uint32_t lane, uint32_t bytes)
    {
        if (m_tail - m_head == m_room) [[unlikely]]
        {
            Grow();
        }
        // Frames leave a switch by several ports, so what is given last may arrive before others.
        uint32_t place = m_tail++;
        for (; place != m_head && At(place - 1).timePs > timePs; --place)
        {
            At(place) = At(place - 1);
        }
        At(place) = {timePs, lane, bytes};
    }

    /// \return whether another thread may give
    bool IsShared() const
    {
        return m_shared;
    }

    /// \param shared whether another thread may give
    void SetShared(bool shared)
    {
        m_shared = shared;
    }

    /// The same as Give from another thread. \return whether HandOver must be called
    bool Put(int64_t timePs, uint32_t lane, uint32_t bytes);
    /// Take in what Put has left, while no other thread plays.
    void HandOver();
    /// Give back credit at once for a frame that the link lost when it went down.
    void Restore(const FabricFrame& frame);

    /// \return when the next credit arrives, or NEVER
    int64_t GetNextPs() const
    {
        return m_head == m_tail ? NEVER : At(m_head).timePs;
    }

    /// \return when the first lane that is stopped is let go by what is on its way back, or NEVER
    int64_t FindLetGoPs() const;

    /// Take what has arrived. \param timePs up to when
    void TakeUntil(int64_t timePs)
    {
        for (; m_head != m_tail && At(m_head).timePs <= timePs; ++m_head)
        {
            Add(At(m_head).lane, At(m_head).bytes);
        }
    }

  private:
    /// Credit on its way back.
    struct Return
    {
        int64_t timePs; //!< when it arrives
        uint32_t lane;  //!< of it
        uint32_t bytes; //!< how much
    };

    static constexpr uint32_t MANY_COMING = 16; //!< so many are worth a look at the list
    static constexpr uint32_t FIRST_ROOM = 32;

    /// \return the return of a number
    Return& At(uint32_t number) const
    {
        return m_ring[number & (m_room - 1)];
    }

    /// Make room for more returns.
    void Grow();
    /// Spend, where the lane may stop.
    void SpendLast(const FabricFrame& frame, int64_t startPs);
    /// Give a lane credit.
    void Add(uint32_t lane, uint32_t bytes);

    std::array<uint32_t, FABRIC_PRIORITIES> m_bytes{}; //!< that each lane may send
    std::unique_ptr<Return[]> m_ring;                  //!< in order of time, by number
    uint32_t m_room{0};                                //!< in the ring; a power of two, or 0
    uint32_t m_head{0};                                //!< number of the next return
    uint32_t m_tail{0};                                //!< number behind the last
    uint32_t m_largestBytes{0};                        //!< see FabricCreditLink
    uint8_t m_stopped{0};                              //!< lanes with too little
    bool m_shared{false};                              //!< another thread may give
    FabricCreditLink m_link;                           //!< how the far end gives credit
    std::vector<Return> m_put;                         //!< by another thread
};

} // namespace ns3
