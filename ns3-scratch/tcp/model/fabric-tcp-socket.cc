// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-tcp-socket.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricTcpSocket);

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
}

} // namespace ns3
