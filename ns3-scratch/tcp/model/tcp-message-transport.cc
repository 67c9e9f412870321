// SPDX-License-Identifier: GPL-2.0-only
#include "tcp-message-transport.h"

#include "fabric-net-device.h"

#include "ns3/inet-socket-address.h"
#include "ns3/ipv4.h"
#include "ns3/tcp-socket-factory.h"

namespace ns3
{

namespace
{
/// \return one number for an IPv4 address and a port
uint64_t
EndpointKey(const Address& address)
{
    const InetSocketAddress inet = InetSocketAddress::ConvertFrom(address);
    return (uint64_t{inet.GetIpv4().Get()} << 16) | inet.GetPort();
}

/// \return IPv4 address of a host's NIC
Ipv4Address
AddressOf(const Ptr<Node>& host)
{
    return host->GetObject<Ipv4>()->GetAddress(1, 0).GetLocal();
}

/// \return a host's NIC
FabricNetDevice&
DeviceOf(const Ptr<Node>& host)
{
    return dynamic_cast<FabricNetDevice&>(*host->GetObject<Ipv4>()->GetNetDevice(1));
}
} // namespace

TcpMessageTransport::TcpMessageTransport(MessageListener& listener,
                                         std::vector<Ptr<Node>> hosts,
                                         std::vector<uint32_t> hostOfNpu,
                                         bool acknowledged)
    : m_listener(listener),
      m_hosts(std::move(hosts)),
      m_hostOfNpu(std::move(hostOfNpu)),
      m_acknowledged(acknowledged)
{
    for (uint32_t host = 0; host < m_hosts.size(); ++host)
    {
        Listen(host);
    }
}

TcpMessageTransport::~TcpMessageTransport()
{
    for (auto& [pair, connection] : m_connections)
    {
        connection->Close();
    }
    for (auto& server : m_servers)
    {
        server->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeNullCallback<void, Ptr<Socket>, const Address&>());
    }
}

void
TcpMessageTransport::SetOpenedCallback(OpenedCallback opened)
{
    m_opened = std::move(opened);
}

void
TcpMessageTransport::Listen(uint32_t host)
{
    Ptr<Socket> server = Socket::CreateSocket(m_hosts[host], TcpSocketFactory::GetTypeId());
    server->Bind(InetSocketAddress(Ipv4Address::GetAny(), LISTEN_PORT));
    server->Listen();
    server->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                              MakeCallback(&TcpMessageTransport::Accepted, this));
    m_servers.push_back(server);
}

void
TcpMessageTransport::Accepted(Ptr<Socket> socket, const Address& from)
{
    const auto found = m_bySource.find(EndpointKey(from));
    if (found !=
        m_bySource.end()) // a user's own application may connect to the port too; it is not ours
    {
        found->second->Accept(socket);
    }
}

TcpConnection&
TcpMessageTransport::GetConnection(const CollectiveMessage& message)
{
    constexpr uint32_t NPU_BITS = 21; // as many NPUs as no memory holds with their hosts
    const uint32_t sender = message.sender;
    const uint32_t receiver = message.receiver;
    const uint64_t pair = (uint64_t{sender} << NPU_BITS) | receiver;
    auto& connection = m_connections[(uint64_t{message.channel} << (2 * NPU_BITS)) | pair];
    if (!connection)
    {
        connection = std::make_unique<TcpConnection>(sender, receiver, m_acknowledged, m_listener);
        const Ptr<Node>& from = m_hosts[m_hostOfNpu[sender]];
        const Ptr<Node>& to = m_hosts[m_hostOfNpu[receiver]];
        if (m_listener.GetAccountant())
        {
            connection->KeepAccounts(DeviceOf(from), DeviceOf(to));
        }
        Ptr<Socket> socket = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
        if (socket->Bind(InetSocketAddress(AddressOf(from), 0)) != 0)
        {
            connection->FailToOpen(message, "its host has no free TCP port left");
            return *connection;
        }
        Address local;
        socket->GetSockName(local);
        m_bySource[EndpointKey(local)] = connection.get();
        connection->Open(socket, InetSocketAddress(AddressOf(to), LISTEN_PORT));
        if (m_opened)
        {
            m_opened(*connection);
        }
    }
    return *connection;
}

void
TcpMessageTransport::Send(const CollectiveMessage& message)
{
    GetConnection(message).Send(message);
}

std::size_t
TcpMessageTransport::GetNConnections() const
{
    return m_connections.size();
}

} // namespace ns3
