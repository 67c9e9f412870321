// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "message-transport.h"
#include "tcp-connection.h"

#include "ns3/node.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ns3
{

/**
 * Carries messages over ns-3's TCP: one lasting connection per ordered pair of NPUs, opened by the
 * sender when it has its first message. ns-3's attributes (ns3::TcpSocket, ns3::TcpL4Protocol, ...)
 * configure the sockets.
 */
class TcpMessageTransport : public MessageTransport
{
  public:
    static constexpr uint16_t LISTEN_PORT = 5000; //!< of every host

    /// Told of each connection when it is opened.
    using OpenedCallback = std::function<void(const TcpConnection& connection)>;

    /**
     * \param listener who is told of arrivals and failures
     * \param hosts the hosts' nodes, with an IPv4 stack and one NIC each
     * \param hostOfNpu host of each NPU
     * \param acknowledged messages complete at their sender's last acknowledgement: see
     * TcpConnection
     */
    TcpMessageTransport(MessageListener& listener,
                        std::vector<Ptr<Node>> hosts,
                        std::vector<uint32_t> hostOfNpu,
                        bool acknowledged);
    ~TcpMessageTransport() override;

    /// \param opened told of each connection from now on
    void SetOpenedCallback(OpenedCallback opened);
    void Send(const CollectiveMessage& message) override;
    /// \return how many connections were opened
    std::size_t GetNConnections() const;

  private:
    /// \return the connection of a message's pair and channel, opened if need be
    TcpConnection& GetConnection(const CollectiveMessage& message);
    /// Make a host listen.
    void Listen(uint32_t host);
    /// A connection was accepted somewhere.
    void Accepted(Ptr<Socket> socket, const Address& from);

    MessageListener& m_listener;        //!< who is told
    std::vector<Ptr<Node>> m_hosts;     //!< hosts
    std::vector<uint32_t> m_hostOfNpu;  //!< host of each NPU
    std::vector<Ptr<Socket>> m_servers; //!< listening socket of each host
    bool m_acknowledged;                //!< messages complete when acknowledged
    OpenedCallback m_opened;            //!< told of each connection
    std::unordered_map<uint64_t, std::unique_ptr<TcpConnection>>
        m_connections; //!< by channel, sender and receiver
    std::unordered_map<uint64_t, TcpConnection*>
        m_bySource; //!< by IPv4 address and port of the sender
};

} // namespace ns3
