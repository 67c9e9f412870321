// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ns3
{

/// How the far end of a link gives credit. Sizes are bytes as in a buffer.
struct FabricCreditLink
{
    uint64_t laneBytes{0};    //!< buffer that the far end keeps for each lane of the link
    uint32_t largestBytes{0}; //!< the largest frame of the network: a lane with less credit stops
    int64_t updatePs{0};      //!< time from free buffer to the update's first bit
    uint32_t order{0};        //!< place of this direction in the order of links (FabricCreditRule)
    bool returnsAtOnce{false}; //!< the far end is a host: it empties its buffer at the line's rate
};

/**
 * What the sending end of a link may still send, lane by lane. A lane is a priority of the port.
 *
 * A frame takes credit for its bytes when its first bit goes on the line. Credit comes back when
 * the frame has left the far end's buffer, an update time and a propagation delay later. A lane
 * stops when its credit is below the largest frame, so no frame is ever sent without credit. Credit
 * that is on its way back is a list in order of time: a port looks at it when it is settled, and
 * only a lane that is stopped needs an event.
 *
 * Where one thread sends and another one gives, the giver calls Put; HandOver takes in what was put
 * while neither plays.
 */
class FabricCredits
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

    /// \param lane a lane \return bytes that it may send
    uint64_t GetBytes(uint32_t lane) const
    {
        return m_bytes.at(lane);
    }

    /// \param frame a frame that goes on the line; its lane must have credit for it
    void Spend(const FabricFrame& frame);
    /// Credit comes back. \param timePs when it arrives \param lane of it \param bytes how much
    void Give(int64_t timePs, uint32_t lane, uint32_t bytes);
    /// The same from another thread. \return whether HandOver must be called
    bool Put(int64_t timePs, uint32_t lane, uint32_t bytes);
    /// Take in what Put has left, while no other thread plays.
    void HandOver();
    /// Give back credit at once for a frame that the link lost when it went down.
    void Restore(const FabricFrame& frame);

    /// \return when the next credit arrives, or NEVER
    int64_t GetNextPs() const
    {
        return m_first == m_returns.size() ? NEVER : m_returns[m_first].timePs;
    }

    /// \return when the first lane that is stopped is let go by what is on its way back, or NEVER
    int64_t FindLetGoPs() const;
    /// Take what has arrived. \param timePs up to when
    void TakeUntil(int64_t timePs);

    /// \return bytes of a lane on their way back, after HandOver
    uint64_t CountReturning(uint32_t lane) const;

  private:
    /// Credit on its way back.
    struct Return
    {
        int64_t timePs; //!< when it arrives
        uint32_t lane;  //!< of it
        uint32_t bytes; //!< how much
    };

    /// Give a lane credit.
    void Add(uint32_t lane, uint32_t bytes);

    FabricCreditLink m_link;                           //!< how the far end gives credit
    uint8_t m_stopped{0};                              //!< lanes with too little
    std::size_t m_first{0};                            //!< place of the next in m_returns
    std::vector<Return> m_returns;                     //!< in order of time, from m_first on
    std::array<uint64_t, FABRIC_PRIORITIES> m_bytes{}; //!< that each lane may send
    std::vector<Return> m_put;                         //!< by another thread
};

} // namespace ns3
