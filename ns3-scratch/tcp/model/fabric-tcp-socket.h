// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/tcp-socket-base.h"

#include <cstdint>

namespace ns3
{

/**
 * ns-3's TCP socket where segments and acknowledgements may overtake each other.
 *
 * TcpSocketBase (ns-3.44) ends the reaction to a mark (CA_CWR) by going back to CA_OPEN, but keeps
 * the duplicate acknowledgements that it has counted meanwhile. If the acknowledgement that ends it
 * reports a gap too, the next one counted is not the first, which TcpSocketBase asserts. RFC 6675,
 * section 5, has them reset by every cumulative acknowledgement, and so does this class.
 *
 * TcpPrrRecovery (ns-3.44) subtracts the bytes sent from the bytes delivered, unsigned. During CWR
 * it counts each retransmission when it is sent, but deliveries only with cumulative
 * acknowledgements, and leaves out what SACK has reported before. Where more was sent, the
 * difference wraps, and the window becomes the bytes in flight: 0 once all is acknowledged. CWR
 * ends when new data is acknowledged, a window of 0 sends none, and no timer runs. RFC 5681,
 * section 3.1, leaves a window of one segment even after a timeout; so does this class whenever
 * nothing is in flight.
 *
 * TcpSocketBase leaves a SYN-ACK that comes once more unanswered. Where the acknowledgement of the
 * first was lost, and the data behind it too, the other side gives up its handshake, and then
 * nothing answers the data any more. RFC 9293, section 3.10.7.4, has it acknowledged; so does this
 * class.
 *
 * TcpSocketBase asks TcpTxBuffer::NextSeg for each segment that it sends, and once more before it
 * stops. NextSeg looks through all segments that are on their way for one that is lost. While none
 * is lost, the answer is known: the next unsent byte. So this class sends whole new segments itself
 * then, in the place and order of TcpSocketBase, and has no window left where TcpSocketBase would
 * ask in vain.
 */
class FabricTcpSocket : public TcpSocketBase
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;
    int Send(Ptr<Packet> packet, uint32_t flags) override;

  protected:
    Ptr<TcpSocketBase> Fork() override;
    void DoForwardUp(Ptr<Packet> packet,
                     const Address& fromAddress,
                     const Address& toAddress) override;
    void ProcessAck(const SequenceNumber32& ackNumber,
                    bool scoreboardUpdated,
                    uint32_t currentDelivered,
                    const SequenceNumber32& oldHeadSequence,
                    bool receivedData) override;
    uint32_t AvailableWindow() const override;

  private:
    /// \return bytes sent and not acknowledged
    uint32_t GetSentBytes() const;
    /// Send whole segments that were never sent before, while none that was sent is lost.
    void SendNewSegments();
    /// Send what the window allows.
    void SendPending();
};

} // namespace ns3
