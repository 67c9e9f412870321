// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-tcp-protocol.h"

#include "fabric-tcp-socket.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4.h"
#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/rtt-estimator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/type-id.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricTcpProtocol);

namespace
{
/// Reads the end point of a socket, which ns-3 leaves to derived classes.
class EndPointReader : public TcpSocketBase
{
  public:
    /// \return the socket's IPv4 end point
    static Ipv4EndPoint* Read(const Ptr<Socket>& socket)
    {
        Ptr<TcpSocketBase> tcp = DynamicCast<TcpSocketBase>(socket);
        return PeekPointer(tcp)->*(&EndPointReader::m_endPoint);
    }
};

/// Makes a host's sockets; ns-3's own factory can make none but TcpSocketBase.
class FabricTcpSocketFactory : public TcpSocketFactory
{
  public:
    /// \param protocol the host's
    void SetProtocol(const Ptr<FabricTcpProtocol>& protocol)
    {
        m_protocol = protocol;
    }

    Ptr<Socket> CreateSocket() override
    {
        return m_protocol->MakeSocket();
    }

  protected:
    void DoDispose() override
    {
        m_protocol = nullptr;
        TcpSocketFactory::DoDispose();
    }

  private:
    Ptr<FabricTcpProtocol> m_protocol; //!< the host's
};

/// \return an object of the TypeId that an attribute names
template <typename T>
Ptr<T>
MakeNamed(const FabricTcpProtocol& protocol, const std::string& attribute)
{
    TypeIdValue kind;
    protocol.GetAttribute(attribute, kind);
    ObjectFactory factory;
    factory.SetTypeId(kind.Get());
    return factory.Create<T>();
}
} // namespace

TypeId
FabricTcpProtocol::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricTcpProtocol")
                            .SetParent<TcpL4Protocol>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricTcpProtocol>();
    return tid;
}

void
FabricTcpProtocol::DoDispose()
{
    m_connections.clear();
    TcpL4Protocol::DoDispose();
}

void
FabricTcpProtocol::NotifyNewAggregate()
{
    Ptr<Node> node = GetObject<Node>();
    if (node && GetObject<Ipv4>() && !GetObject<TcpSocketFactory>())
    {
        SetNode(node); // with a node set, ns-3 makes no factory of its own
        auto factory = CreateObject<FabricTcpSocketFactory>();
        factory->SetProtocol(this);
        node->AggregateObject(factory);
    }
    TcpL4Protocol::NotifyNewAggregate();
}

Ptr<Socket>
FabricTcpProtocol::MakeSocket()
{
    auto socket = CreateObject<FabricTcpSocket>();
    socket->SetNode(GetObject<Node>());
    socket->SetTcp(this);
    socket->SetRtt(MakeNamed<RttEstimator>(*this, "RttEstimatorType"));
    socket->SetCongestionControlAlgorithm(MakeNamed<TcpCongestionOps>(*this, "SocketType"));
    socket->SetRecoveryAlgorithm(MakeNamed<TcpRecoveryOps>(*this, "RecoveryType"));
    AddSocket(socket);
    return socket;
}

FabricTcpProtocol::Key
FabricTcpProtocol::MakeKey(uint32_t remoteAddress, uint16_t remotePort, uint16_t localPort)
{
    return (uint64_t{remoteAddress} << 32) | (uint64_t{remotePort} << 16) | localPort;
}

void
FabricTcpProtocol::AddConnection(const Ptr<Socket>& socket)
{
    Address localAddress;
    Address remoteAddress;
    socket->GetSockName(localAddress);
    socket->GetPeerName(remoteAddress);
    const InetSocketAddress local = InetSocketAddress::ConvertFrom(localAddress);
    const InetSocketAddress remote = InetSocketAddress::ConvertFrom(remoteAddress);
    m_connections[MakeKey(remote.GetIpv4().Get(), remote.GetPort(), local.GetPort())] =
        EndPointReader::Read(socket);
}

void
FabricTcpProtocol::ForgetConnections()
{
    m_connections.clear();
}

bool
FabricTcpProtocol::ReceiveConnected(const Ptr<Packet>& packet,
                                    const Ipv4Header& header,
                                    const Ptr<Ipv4Interface>& interface)
{
    uint8_t ports[4] = {};
    packet->CopyData(ports, sizeof ports);
    const auto remotePort = static_cast<uint16_t>((ports[0] << 8) | ports[1]);
    const auto localPort = static_cast<uint16_t>((ports[2] << 8) | ports[3]);
    const auto found = m_connections.find(MakeKey(header.GetSource().Get(), remotePort, localPort));
    if (found == m_connections.end())
    {
        return false;
    }
    found->second->ForwardUp(packet, header, remotePort, interface);
    return true;
}

IpL4Protocol::RxStatus
FabricTcpProtocol::Receive(Ptr<Packet> packet,
                           const Ipv4Header& header,
                           Ptr<Ipv4Interface> interface)
{
    return ReceiveConnected(packet, header, interface)
               ? IpL4Protocol::RX_OK
               : TcpL4Protocol::Receive(packet, header, interface);
}

} // namespace ns3
