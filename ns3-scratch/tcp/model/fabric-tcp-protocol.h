// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/ipv4-end-point.h"
#include "ns3/socket.h"
#include "ns3/tcp-l4-protocol.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace ns3
{

/**
 * ns-3's TCP with a faster way from a packet to its socket: a hash table of the connections that
 * asked for it, where TcpL4Protocol looks through all end points of the host for each packet (a
 * host in a 128-way all-to-all has 254). What is not in the table takes ns-3's own way. The sockets
 * of its host's TcpSocketFactory are FabricTcpSockets.
 */
class FabricTcpProtocol : public TcpL4Protocol
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /// \param socket one end, on this host, of an open connection, which stays open until
    /// ForgetConnections
    void AddConnection(const Ptr<Socket>& socket);
    /// Let every connection take ns-3's own way again; a must before one of those added is closed.
    void ForgetConnections();
    /// \param packet a TCP segment \param header the IP header it had \param interface where it
    /// came in \return whether one of the connections added has taken the segment
    bool ReceiveConnected(const Ptr<Packet>& packet,
                          const Ipv4Header& header,
                          const Ptr<Ipv4Interface>& interface);
    /// \return a new socket, with what this protocol's attributes say
    Ptr<Socket> MakeSocket();

    IpL4Protocol::RxStatus Receive(Ptr<Packet> packet,
                                   const Ipv4Header& header,
                                   Ptr<Ipv4Interface> interface) override;
    using TcpL4Protocol::Receive;

  protected:
    void DoDispose() override;
    void NotifyNewAggregate() override;

  private:
    /// What tells the connections of a host apart: remote address and both ports.
    using Key = uint64_t;

    /// Spreads the keys, which differ in a few bits only, over the table.
    struct KeyHash
    {
        /// \return hash of a key
        std::size_t operator()(Key key) const
        {
            return (key * 0x9e3779b97f4a7c15U) >>
                   32; // Fibonacci hashing: 2^64 over the golden ratio
        }
    };

    /// \return the key of a connection
    static Key MakeKey(uint32_t remoteAddress, uint16_t remotePort, uint16_t localPort);

    std::unordered_map<Key, Ipv4EndPoint*, KeyHash>
        m_connections; //!< end points of the connections added
};

} // namespace ns3
