// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/ipv4-l3-protocol.h"

#include <optional>

namespace ns3
{

class FabricTcpProtocol;
class TrafficControlLayer;

/**
 * ns-3's IPv4 with a shorter way between TCP and the NIC. Ipv4L3Protocol, Ipv4Interface and
 * TrafficControlLayer copy each packet twice and look up the same few objects for each. A packet of
 * an open connection on a host with one NIC, one address and no queue disc skips them, and arrives
 * with the same bytes. Where somebody watches or changes what would be skipped, the packet takes
 * ns-3's own way.
 */
class FabricIpv4 : public Ipv4L3Protocol
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /// \return the traffic control layer for the same node, which hands packets to this class
    static Ptr<TrafficControlLayer> MakeTrafficControl();
    /// \param packet an IP packet from the NIC \return whether a connection has taken it
    bool ReceiveDirectly(const Ptr<const Packet>& packet);

    uint32_t AddInterface(Ptr<NetDevice> device) override;
    void Send(Ptr<Packet> packet,
              Ipv4Address source,
              Ipv4Address destination,
              uint8_t protocol,
              Ptr<Ipv4Route> route) override;

  protected:
    void DoDispose() override;
    void NotifyNewAggregate() override;

  private:
    /// \return whether packets carry checksums, as when the first packet came by
    bool HasChecksums();
    /// \return whether all that ns-3 would do with a packet to send is to put its header on
    bool MaySendDirectly(const Packet& packet,
                         Ipv4Address destination,
                         const Ptr<Ipv4Route>& route);
    /// \return the IP header of a packet, which has taken off the tags that tell of it
    Ipv4Header MakeHeader(Packet& packet,
                          Ipv4Address source,
                          Ipv4Address destination,
                          uint8_t protocol);

    Ptr<NetDevice> m_device;                        //!< the NIC
    Address m_broadcast;                            //!< the NIC's broadcast address
    std::optional<bool> m_hasChecksums;             //!< what HasChecksums has found
    Ptr<Ipv4Interface> m_interface;                 //!< its interface
    FabricTcpProtocol* m_tcp{nullptr};              //!< the host's
    TrafficControlLayer* m_trafficControl{nullptr}; //!< the host's
};

} // namespace ns3
