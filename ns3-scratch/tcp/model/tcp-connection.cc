// SPDX-License-Identifier: GPL-2.0-only
#include "tcp-connection.h"

#include "fabric-tcp-protocol.h"

#include "ns3/node.h"
#include "ns3/packet.h"

#include <algorithm>

namespace ns3
{

namespace
{
/// \return the host's TCP if it is ours, else none
Ptr<FabricTcpProtocol>
ProtocolOf(const Ptr<Socket>& socket)
{
    return socket->GetNode()->GetObject<FabricTcpProtocol>();
}

/// Let the packets of an open connection find this end of it fast.
void
AddToTable(const Ptr<Socket>& socket)
{
    if (Ptr<FabricTcpProtocol> protocol = ProtocolOf(socket))
    {
        protocol->AddConnection(socket);
    }
}
} // namespace

TcpConnection::TcpConnection(uint32_t sender,
                             uint32_t receiver,
                             bool acknowledged,
                             MessageListener& listener)
    : m_sender(sender),
      m_receiver(receiver),
      m_acknowledged(acknowledged),
      m_listener(listener)
{
}

void
TcpConnection::Open(Ptr<Socket> socket, const Address& remote)
{
    m_sendSocket = socket;
    m_bufferBytes = socket->GetTxAvailable();
    if (m_account)
    {
        m_account->Watch(socket);
    }
    socket->SetConnectCallback(MakeCallback(&TcpConnection::Connected, this),
                               MakeCallback(&TcpConnection::RefuseConnect, this));
    socket->SetCloseCallbacks(MakeCallback(&TcpConnection::GiveUp, this),
                              MakeCallback(&TcpConnection::GiveUp, this));
    socket->SetSendCallback(MakeCallback(&TcpConnection::Write, this));
    if (socket->Connect(remote) != 0)
    {
        Fail("could not be opened");
        return;
    }
    AddToTable(socket);
}

void
TcpConnection::KeepAccounts(FabricNetDevice& from, const FabricNetDevice& to)
{
    m_account = std::make_unique<TcpAccount>(from, to);
}

void
TcpConnection::FailToOpen(const CollectiveMessage& message, const std::string& why)
{
    m_newest = message;
    Fail("could not be opened: " + why);
}

void
TcpConnection::Accept(Ptr<Socket> socket)
{
    m_receiveSocket = socket;
    AddToTable(socket);
    socket->SetRecvCallback(MakeCallback(&TcpConnection::Read, this));
    socket->SetCloseCallbacks(MakeCallback(&TcpConnection::GiveUp, this),
                              MakeCallback(&TcpConnection::GiveUp, this));
    Read(socket);
}

void
TcpConnection::Send(const CollectiveMessage& message)
{
    const uint64_t begin = m_queuedBytes;
    m_queuedBytes += std::max<uint64_t>(message.bytes, 1);
    if (m_account)
    {
        m_account->Posted(message, begin, m_queuedBytes);
    }
    m_messages.push_back({m_queuedBytes, message});
    m_newest = message;
    if (m_connected)
    {
        Write(m_sendSocket, m_sendSocket->GetTxAvailable());
    }
}

void
TcpConnection::Close()
{
    for (Ptr<Socket>* socket : {&m_sendSocket, &m_receiveSocket})
    {
        if (*socket)
        {
            (*socket)->SetConnectCallback(MakeNullCallback<void, Ptr<Socket>>(),
                                          MakeNullCallback<void, Ptr<Socket>>());
            (*socket)->SetCloseCallbacks(MakeNullCallback<void, Ptr<Socket>>(),
                                         MakeNullCallback<void, Ptr<Socket>>());
            (*socket)->SetSendCallback(MakeNullCallback<void, Ptr<Socket>, uint32_t>());
            (*socket)->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
            *socket = nullptr;
        }
    }
}

void
TcpConnection::Connected(Ptr<Socket> socket)
{
    m_connected = true;
    Write(socket, socket->GetTxAvailable());
}

void
TcpConnection::Write(Ptr<Socket> socket, uint32_t available)
{
    if (m_acknowledged)
    {
        // ns-3 calls this with every acknowledgement of new data; what the buffer holds is not
        // acknowledged yet.
        Complete(m_writtenBytes - (m_bufferBytes - available));
    }
    if (!m_connected || m_writtenBytes == m_queuedBytes || available == 0)
    {
        return;
    }
    const auto bytes =
        static_cast<uint32_t>(std::min<uint64_t>(available, m_queuedBytes - m_writtenBytes));
    const int sent = socket->Send(Create<Packet>(bytes), 0);
    if (sent > 0)
    {
        m_writtenBytes += static_cast<uint64_t>(sent);
    }
}

void
TcpConnection::Read(Ptr<Socket> socket)
{
    const uint64_t before = m_readBytes;
    while (socket->GetRxAvailable() > 0)
    {
        m_readBytes += socket->Recv()->GetSize();
    }
    if (m_account)
    {
        m_account->Read(before, m_readBytes);
    }
    m_listener.BytesArrived(m_receiver, static_cast<int64_t>(m_readBytes - before));
    if (!m_acknowledged)
    {
        Complete(m_readBytes);
    }
}

void
TcpConnection::Complete(uint64_t byte)
{
    while (!m_messages.empty() && m_messages.front().endByte <= byte)
    {
        const CollectiveMessage message = m_messages.front().message;
        m_messages.pop_front();
        if (m_account)
        {
            m_listener.GetAccountant()->MessageAccounted(message, m_account->TakeOldest());
        }
        m_listener.MessageArrived(message);
    }
}

void
TcpConnection::RefuseConnect(Ptr<Socket>)
{
    Fail("could not be opened: the handshake was not answered");
}

void
TcpConnection::GiveUp(Ptr<Socket>)
{
    Fail("was given up after too many retransmissions");
}

void
TcpConnection::Fail(const std::string& what)
{
    for (const Ptr<Socket>& socket : {m_sendSocket, m_receiveSocket})
    {
        if (Ptr<FabricTcpProtocol> protocol = socket ? ProtocolOf(socket) : nullptr)
        {
            protocol->ForgetConnections();
        }
    }
    const std::string reason = "the TCP connection from NPU " + std::to_string(m_sender) +
                               " to NPU " + std::to_string(m_receiver) + " " + what;
    // Where all have arrived, their acknowledgements haven't.
    m_listener.TransportFailed(m_messages.empty() ? m_newest : m_messages.front().message,
                               reason.c_str());
}

bool
TcpConnection::IsConnected() const
{
    return m_connected;
}

uint32_t
TcpConnection::GetSender() const
{
    return m_sender;
}

uint32_t
TcpConnection::GetReceiver() const
{
    return m_receiver;
}

Ptr<Socket>
TcpConnection::GetSocket() const
{
    return m_sendSocket;
}

} // namespace ns3
