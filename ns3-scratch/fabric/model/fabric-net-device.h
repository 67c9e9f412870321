// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-channel.h"
#include "fabric-port.h"
#include "fabric-routes.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/traced-callback.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace ns3
{

/**
 * The NIC of a host: what ns-3's IP stack sends goes into frames and out of a FabricPort, and back.
 * It may have several ports, chosen by destination; frames of a FabricFlow go to their flow.
 *
 * It reads the IP header once, on the way out, so that no switch has to; a congestion mark is
 * written back into the IP header on the way in. Hosts own consecutive IPv4 addresses from a base
 * on, and the offset is the host's index. Only IPv4 unicast is carried; it needs no ARP.
 */
class FabricNetDevice : public NetDevice, public FabricReceiver
{
  public:
    /// In the place of a port: there is no way.
    static constexpr uint32_t NO_PORT = 0xffffffff;

    /// \return the TypeId
    static TypeId GetTypeId();

    /**
     * \param port the sending half of a new port, which gets the next number
     * \return its number
     */
    uint32_t AddPort(Ptr<FabricPort> port);
    /// \return how many ports there are
    uint32_t GetNPorts() const;
    /// \param port its number \return the sending half of a port
    Ptr<FabricPort> GetPort(uint32_t port) const;
    /// \return which ports lead where, to fill and to read; not used with a single port
    FabricRoutes& GetRoutes();
    /// Pin what goes to a host. \param destination the host \param choice which of the ports that
    /// lead there
    void PinPort(uint32_t destination, uint32_t choice);
    /**
     * \param destination a host
     * \param flowHash hash of a flow
     * \return the port that the flow takes, or NO_PORT; the only port is always taken
     */
    uint32_t ChoosePort(uint32_t destination, uint32_t flowHash) const;
    /// \param channel the cable
    void SetChannel(Ptr<FabricChannel> channel);
    /// \param baseAddress IPv4 address of host 0, in host byte order
    void SetBaseAddress(uint32_t baseAddress);
    /// \param uid of the packet that is handed over next, if it is: it gets a trail
    void Follow(uint64_t uid);
    /// \return where the packet has been that the IP stack is handed just now, or none
    const FabricTrail* GetTrail() const;
    /// \return packets handed to the IP stack so far
    uint64_t GetReceivedPackets() const;
    /// \return packets of the IP stack that had no way and were discarded
    uint64_t GetUnroutedPackets() const;

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
    std::vector<Ptr<FabricPort>> m_ports;             //!< sending halves
    FabricRoutes m_routes;                            //!< which ports lead where
    uint32_t m_hashSeed{0};                           //!< makes its choices its own
    std::unordered_map<uint32_t, uint32_t> m_pins;    //!< choices by destination
    Ptr<FabricChannel> m_channel;                     //!< cable
    Ptr<Node> m_node;                                 //!< host
    ReceiveCallback m_receive;                        //!< the host's stack
    PromiscReceiveCallback m_sniff;                   //!< who listens to everything
    Mac48Address m_address;                           //!< MAC address, on no wire
    uint32_t m_baseAddress{0};                        //!< IPv4 address of host 0
    uint32_t m_ifIndex{0};                            //!< number on the host
    uint16_t m_mtu{1500};                             //!< largest IP packet
    uint64_t m_receivedPackets{0};                    //!< packets handed up
    uint64_t m_unroutedPackets{0};                    //!< packets without a way
    std::optional<uint64_t> m_followed;               //!< a packet that gets a trail
    const FabricTrail* m_trail{nullptr};              //!< of the packet that is handed up
    TracedCallback<Ptr<const Packet>> m_sendTrace;    //!< packet from the stack
    TracedCallback<Ptr<const Packet>> m_receiveTrace; //!< packet to the stack
};

} // namespace ns3
