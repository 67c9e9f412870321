// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-host-routing.h"

#include "ns3/net-device.h"
#include "ns3/output-stream-wrapper.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricHostRouting);

TypeId
FabricHostRouting::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricHostRouting")
                            .SetParent<Ipv4RoutingProtocol>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricHostRouting>();
    return tid;
}

void
FabricHostRouting::DoDispose()
{
    m_ipv4 = nullptr;
    m_routes.clear();
    Ipv4RoutingProtocol::DoDispose();
}

Ptr<Ipv4Route>
FabricHostRouting::RouteOutput(Ptr<Packet>,
                               const Ipv4Header& header,
                               Ptr<NetDevice>,
                               Socket::SocketErrno& error)
{
    error = Socket::ERROR_NOTERROR;
    Ptr<Ipv4Route>& route = m_routes[header.GetDestination().Get()];
    if (!route)
    {
        route = Create<Ipv4Route>();
        route->SetDestination(header.GetDestination());
        route->SetSource(m_ipv4->GetAddress(NIC_INTERFACE, 0).GetLocal());
        route->SetGateway(Ipv4Address::GetZero());
        route->SetOutputDevice(m_ipv4->GetNetDevice(NIC_INTERFACE));
    }
    return route;
}

bool
FabricHostRouting::RouteInput(Ptr<const Packet> packet,
                              const Ipv4Header& header,
                              Ptr<const NetDevice>,
                              const UnicastForwardCallback&,
                              const MulticastForwardCallback&,
                              const LocalDeliverCallback& deliver,
                              const ErrorCallback&)
{
    deliver(packet, header, NIC_INTERFACE);
    return true;
}

void
FabricHostRouting::NotifyInterfaceUp(uint32_t)
{
    m_routes.clear();
}

void
FabricHostRouting::NotifyInterfaceDown(uint32_t)
{
    m_routes.clear();
}

void
FabricHostRouting::NotifyAddAddress(uint32_t, Ipv4InterfaceAddress)
{
    m_routes.clear();
}

void
FabricHostRouting::NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress)
{
    m_routes.clear();
}

void
FabricHostRouting::SetIpv4(Ptr<Ipv4> ipv4)
{
    m_ipv4 = ipv4;
}

void
FabricHostRouting::PrintRoutingTable(Ptr<OutputStreamWrapper> stream, Time::Unit) const
{
    *stream->GetStream() << "every destination is reached directly through interface "
                         << NIC_INTERFACE << "\n";
}

} // namespace ns3
