// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-ranges.h"

#include <cstdint>

namespace ns3
{

/**
 * Selective repeat at the sender: what has arrived out of order, and what must be sent again (IRN:
 * R. Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, section 3.1).
 *
 * A packet counts as lost when one sent `tolerated` bytes behind it has arrived. During a recovery
 * each lost packet is sent again once; the recovery ends when everything that was in flight at its
 * beginning is acknowledged. A packet that is lost again waits for the timeout.
 */
class RoceRecovery
{
  public:
    /// What FindLost returns if nothing is lost.
    static constexpr uint64_t NOTHING = ~uint64_t{0};

    /// \param toleratedBytes how far behind a packet may come before it counts as lost
    explicit RoceRecovery(uint64_t toleratedBytes)
        : m_toleratedBytes(toleratedBytes)
    {
    }

    /**
     * \param acknowledged stream position up to which everything has arrived
     * \return position of the next packet to send again, or NOTHING
     */
    uint64_t FindLost(uint64_t acknowledged) const
    {
        return m_active ? FindInRecovery(acknowledged) : NOTHING;
    }

    /// \param position behind the packet that was sent again
    void SentAgain(uint64_t position)
    {
        m_next = position;
    }

    /// \param position everything below it has arrived
    void Acknowledged(uint64_t position);
    /**
     * A packet has arrived out of order.
     * \param begin its first byte
     * \param bytes its size
     * \param acknowledged everything below has arrived
     * \param sent behind the last byte sent
     * \return whether that begins a recovery
     */
    bool ArrivedEarly(uint64_t begin, uint32_t bytes, uint64_t acknowledged, uint64_t sent);
    /// Everything that has not arrived counts as lost. \param acknowledged, sent as above
    void TimedOut(uint64_t acknowledged, uint64_t sent);

  private:
    /// \return position of the next packet to send again, or NOTHING
    uint64_t FindInRecovery(uint64_t acknowledged) const;

    uint64_t m_toleratedBytes; //!< how far behind a packet may come
    RoceRanges m_arrived;      //!< out of order, above what is acknowledged
    uint64_t m_next{0};        //!< looked at up to here
    uint64_t m_lostBelow{0};   //!< what has not arrived below it is lost
    uint64_t m_end{0};         //!< the recovery ends when everything up to here has arrived
    bool m_active{false};      //!< a recovery goes on
};

} // namespace ns3
