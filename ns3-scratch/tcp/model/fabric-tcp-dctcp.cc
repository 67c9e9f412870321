// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-tcp-dctcp.h"

#include "ns3/tcp-socket-state.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricTcpDctcp);

TypeId
FabricTcpDctcp::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricTcpDctcp")
                            .SetParent<TcpDctcp>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricTcpDctcp>();
    return tid;
}

uint32_t
FabricTcpDctcp::GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight)
{
    // TcpSocketBase answers a mark in these two states alone, before it leaves them.
    const bool isUsual = tcb->m_congState == TcpSocketState::CA_OPEN ||
                         tcb->m_congState == TcpSocketState::CA_DISORDER;
    return isUsual && tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD
               ? TcpDctcp::GetSsThresh(tcb, bytesInFlight)
               : TcpLinuxReno::GetSsThresh(tcb, bytesInFlight);
}

Ptr<TcpCongestionOps>
FabricTcpDctcp::Fork()
{
    return CopyObject<FabricTcpDctcp>(this);
}

} // namespace ns3
