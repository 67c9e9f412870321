// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-tcp-socket.h"

#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-tx-buffer.h"

#include <algorithm>
#include <array>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricTcpSocket);

namespace
{
constexpr std::size_t FLAGS_BYTE = 13; // of a TCP header
} // namespace

TypeId
FabricTcpSocket::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricTcpSocket")
                            .SetParent<TcpSocketBase>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricTcpSocket>();
    return tid;
}

TypeId
FabricTcpSocket::GetInstanceTypeId() const
{
    return GetTypeId();
}

Ptr<TcpSocketBase>
FabricTcpSocket::Fork()
{
    return CopyObject<FabricTcpSocket>(this);
}

void
FabricTcpSocket::DoForwardUp(Ptr<Packet> packet,
                             const Address& fromAddress,
                             const Address& toAddress)
{
    std::array<uint8_t, FLAGS_BYTE + 1> header{};
    packet->CopyData(header.data(), header.size());
    const bool again = m_state == ESTABLISHED && (header[FLAGS_BYTE] & TcpHeader::SYN);
    TcpSocketBase::DoForwardUp(packet, fromAddress, toAddress);
    if (again)
    {
        SendEmptyPacket(TcpHeader::ACK);
    }
}

void
FabricTcpSocket::ProcessAck(const SequenceNumber32& ackNumber,
                            bool scoreboardUpdated,
                            uint32_t currentDelivered,
                            const SequenceNumber32& oldHeadSequence,
                            bool receivedData)
{
    // In CA_OPEN none can be counted, unless this acknowledgement has just ended CA_CWR.
    if (m_tcb->m_congState == TcpSocketState::CA_OPEN)
    {
        m_dupAckCount = 0;
    }
    TcpSocketBase::ProcessAck(ackNumber,
                              scoreboardUpdated,
                              currentDelivered,
                              oldHeadSequence,
                              receivedData);
    // Nothing is left in flight whose acknowledgement, or timeout, could open the window again.
    if (m_tcb->m_cWnd < m_tcb->m_segmentSize && BytesInFlight() == 0)
    {
        m_tcb->m_cWnd = m_tcb->m_segmentSize;
        m_tcb->m_cWndInfl = m_tcb->m_segmentSize;
    }
    // TcpSocketBase sends next, unless one of these comes in between.
    if (!receivedData && !m_congestionControl->HasCongControl())
    {
        SendNewSegments();
    }
}

int
FabricTcpSocket::Send(Ptr<Packet> packet, uint32_t flags)
{
    // TcpSocketBase sends a moment after the first of several calls, in an event. It makes none
    // where one is due.
    if ((m_state == ESTABLISHED || m_state == CLOSE_WAIT) && !m_shutdownSend &&
        packet->GetSize() <= GetTxAvailable() && TcpSocketBase::AvailableWindow() > 0 &&
        !m_sendPendingDataEvent.IsPending())
    {
        m_sendPendingDataEvent =
            Simulator::Schedule(TimeStep(1), &FabricTcpSocket::SendPending, this);
    }
    return TcpSocketBase::Send(packet, flags);
}

uint32_t
FabricTcpSocket::GetSentBytes() const
{
    return m_txBuffer->BytesInFlight() + m_txBuffer->GetSacked() + m_txBuffer->GetLost() -
           m_txBuffer->GetRetransmitsCount();
}

uint32_t
FabricTcpSocket::AvailableWindow() const
{
    const uint32_t window = TcpSocketBase::AvailableWindow();
    if (window == 0 || m_txBuffer->GetLost() > 0)
    {
        return window;
    }
    const uint32_t sent = GetSentBytes();
    const uint32_t unsent = m_txBuffer->Size() - sent;
    if (unsent == 0)
    {
        // A recovery may send a segment again that nobody calls lost (RFC 6675, NextSeg, rule 3).
        return m_tcb->m_congState == TcpSocketState::CA_RECOVERY ? window : 0;
    }
    // No part of a segment goes out while more of it waits: the silly window syndrome.
    const bool waits = sent >= GetRWnd() || (window < m_tcb->m_segmentSize && window < unsent);
    return waits ? 0 : window;
}

void
FabricTcpSocket::SendNewSegments()
{
    if (m_state != ESTABLISHED || !m_endPoint || !m_noDelay || m_tcb->m_pacing)
    {
        return;
    }
    while (m_txBuffer->GetLost() == 0)
    {
        const uint32_t window = AvailableWindow();
        const uint32_t sent = GetSentBytes();
        const uint32_t unsent = m_txBuffer->Size() - sent;
        if (window == 0 || unsent == 0)
        {
            return;
        }
        if (unsent < window)
        {
            NotifySend(GetTxAvailable());
        }
        const SequenceNumber32 next = m_txBuffer->HeadSequence() + SequenceNumber32(sent);
        if (m_tcb->m_nextTxSequence != next)
        {
            m_tcb->m_nextTxSequence = next;
        }
        if (m_tcb->m_bytesInFlight.Get() == 0)
        {
            m_congestionControl->CwndEvent(m_tcb, TcpSocketState::CA_EVENT_TX_START);
        }
        const uint32_t most = std::min({window, m_tcb->m_segmentSize, GetRWnd() - sent});
        m_tcb->m_nextTxSequence += SendDataPacket(next, most, m_connected);
    }
}

void
FabricTcpSocket::SendPending()
{
    SendNewSegments();
    SendPendingData(m_connected);
}

} // namespace ns3
