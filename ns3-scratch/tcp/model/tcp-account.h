// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-net-device.h"
#include "lost-times.h"
#include "message-account.h"

#include "ns3/socket.h"
#include "ns3/tcp-header.h"

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>

namespace ns3
{

class TcpSocketBase;

/**
 * Where the time of the messages of a TCP connection goes, as far as ns-3's trace of sent segments
 * and our own lines tell: see docs/accounts.md. It exists only while accounts are recorded.
 */
class TcpAccount
{
  public:
    /// \param from NIC of the sender \param to NIC of the receiver; both must outlive this
    TcpAccount(FabricNetDevice& from, const FabricNetDevice& to);

    /// \param socket the sending end
    void Watch(const Ptr<Socket>& socket);
    /// \param message one that was handed over \param begin its first byte of the stream
    /// \param end the one behind its last
    void Posted(const CollectiveMessage& message, uint64_t begin, uint64_t end);
    /// More of the stream has been read. \param before up to where it had been \param now up to
    /// where it is
    void Read(uint64_t before, uint64_t now);
    /// \return the account of the oldest message, which is complete now
    MessageAccount TakeOldest();

  private:
    /// Not yet.
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

    /// A message that is not complete.
    struct Message
    {
        uint64_t begin;         //!< its first byte
        uint64_t end;           //!< behind its last
        int64_t postedPs;       //!< when it was handed over
        int64_t nextPs;         //!< when all before it had been sent, or NEVER
        int64_t deliveredPs;    //!< when it was read, or NEVER
        MessageAccount account; //!< of its time until then
    };

    /// Bytes that the NIC got for the first time.
    struct First
    {
        uint64_t end;   //!< behind the last of them
        int64_t timePs; //!< when
    };

    /// The socket sends a segment.
    void Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase> socket);
    /// \return position in the stream of a segment's first byte
    uint64_t PositionOf(const TcpHeader& header);
    /// \param missing the byte that was waited for \return where the time of a message went
    MessageAccount AccountFor(const Message& message, uint64_t missing) const;
    /// \return when the NIC first got a byte, at the latest at `latestPs`
    int64_t FirstPs(uint64_t position, int64_t latestPs) const;

    FabricNetDevice& m_from;         //!< NIC of the sender
    const FabricNetDevice& m_to;     //!< NIC of the receiver
    std::optional<uint32_t> m_begin; //!< sequence number of the stream's first byte
    uint64_t m_highest{0};           //!< behind the highest byte ever sent
    bool m_began{false};             //!< the handshake has begun
    uint64_t m_read{0};              //!< behind the last byte that was read
    uint64_t m_lostAt{0};            //!< the byte that was sent again last
    bool m_recovering{false};        //!< it was not read
    int64_t m_sentPs{0};             //!< when a segment was sent last, or what was lost was read
    LostTimes m_lost;                //!< since the oldest message was handed over
    std::deque<First> m_first;       //!< of what was not read
    std::deque<Message> m_messages;  //!< in order
};

} // namespace ns3
