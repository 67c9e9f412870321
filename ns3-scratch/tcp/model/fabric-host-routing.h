// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/ipv4-route.h"
#include "ns3/ipv4-routing-protocol.h"
#include "ns3/ipv4.h"

#include <unordered_map>

namespace ns3
{

/**
 * Routing of a host with one NIC: every address is reached through it directly, and what comes in
 * is for this host. The routes are kept, so a packet costs one look-up whatever the number of
 * hosts.
 */
class FabricHostRouting : public Ipv4RoutingProtocol
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    Ptr<Ipv4Route> RouteOutput(Ptr<Packet> packet,
                               const Ipv4Header& header,
                               Ptr<NetDevice> device,
                               Socket::SocketErrno& error) override;
    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> device,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback& multicast,
                    const LocalDeliverCallback& deliver,
                    const ErrorCallback& fail) override;
    void NotifyInterfaceUp(uint32_t interface) override;
    void NotifyInterfaceDown(uint32_t interface) override;
    void NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address) override;
    void NotifyRemoveAddress(uint32_t interface, Ipv4InterfaceAddress address) override;
    void SetIpv4(Ptr<Ipv4> ipv4) override;
    void PrintRoutingTable(Ptr<OutputStreamWrapper> stream, Time::Unit unit) const override;

  protected:
    void DoDispose() override;

  private:
    static constexpr uint32_t NIC_INTERFACE = 1; //!< interface 0 is the loopback

    Ptr<Ipv4> m_ipv4;                                      //!< the host's stack
    std::unordered_map<uint32_t, Ptr<Ipv4Route>> m_routes; //!< routes in use, by destination
};

} // namespace ns3
