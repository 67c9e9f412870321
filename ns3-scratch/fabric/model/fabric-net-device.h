// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-channel.h"
#include "fabric-port.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/traced-callback.h"

namespace ns3
{

/**
 * The NIC of a host: what ns-3's IP stack sends goes into frames and out of a FabricPort, and back.
 *
 * It reads the IP header once, on the way out, so that no switch has to; a congestion mark is
 * written back into the IP header on the way in. Hosts own consecutive IPv4 addresses from a base
 * on, and the offset is the host's index. Only IPv4 unicast is carried; it needs no ARP.
 */
class FabricNetDevice : public NetDevice, public FabricReceiver
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /// \param port the sending half of the NIC's port
    void SetPort(Ptr<FabricPort> port);
    /// \return the sending half of the NIC's port
    Ptr<FabricPort> GetPort() const;
    /// \param channel the cable
    void SetChannel(Ptr<FabricChannel> channel);
    /// \param baseAddress IPv4 address of host 0, in host byte order
    void SetBaseAddress(uint32_t baseAddress);
    /// \return packets handed to the IP stack so far
    uint64_t GetReceivedPackets() const;

    void ReceiveFrame(FabricFrame* frame, uint32_t port) override;

    void SetIfIndex(uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address group) const override;
    Address GetMulticast(Ipv6Address group) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    bool Send(Ptr<Packet> packet, const Address& destination, uint16_t protocol) override;
    bool SendFrom(Ptr<Packet> packet,
                  const Address& source,
                  const Address& destination,
                  uint16_t protocol) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(ReceiveCallback callback) override;
    void SetPromiscReceiveCallback(PromiscReceiveCallback callback) override;
    bool SupportsSendFrom() const override;

  protected:
    void DoDispose() override;

  private:
    Ptr<FabricPort> m_port;                           //!< sending half
    Ptr<FabricChannel> m_channel;                     //!< cable
    Ptr<Node> m_node;                                 //!< host
    ReceiveCallback m_receive;                        //!< the host's stack
    PromiscReceiveCallback m_sniff;                   //!< who listens to everything
    Mac48Address m_address;                           //!< MAC address, on no wire
    uint32_t m_baseAddress{0};                        //!< IPv4 address of host 0
    uint32_t m_ifIndex{0};                            //!< number on the host
    uint16_t m_mtu{1500};                             //!< largest IP packet
    uint64_t m_receivedPackets{0};                    //!< packets handed up
    TracedCallback<Ptr<const Packet>> m_sendTrace;    //!< packet from the stack
    TracedCallback<Ptr<const Packet>> m_receiveTrace; //!< packet to the stack
};

} // namespace ns3
