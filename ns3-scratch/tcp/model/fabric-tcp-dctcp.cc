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
    // TcpSocketBase asks before it enters CA_CWR, but after it has entered CA_RECOVERY.
    const bool isMark = tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD &&
                        tcb->m_congState < TcpSocketState::CA_CWR;
    if (isMark)
    {
        return TcpDctcp::GetSsThresh(tcb, bytesInFlight);
    }
    // That of TcpDctcp is what a loss mustn't have. NOLINTNEXTLINE(bugprone-parent-virtual-call)
    return TcpLinuxReno::GetSsThresh(tcb, bytesInFlight);
}

Ptr<TcpCongestionOps>
FabricTcpDctcp::Fork()
{
    return CopyObject<FabricTcpDctcp>(this);
}

} // namespace ns3
