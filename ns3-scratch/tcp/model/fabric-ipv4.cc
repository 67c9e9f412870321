// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-ipv4.h"

#include "fabric-tcp-protocol.h"

#include "ns3/ipv4-end-point.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-raw-socket-impl.h"
#include "ns3/ipv4-route.h"
#include "ns3/node.h"
#include "ns3/queue-disc.h"
#include "ns3/socket.h"
#include "ns3/traffic-control-layer.h"

#include <array>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricIpv4);

namespace
{
constexpr uint32_t HEADER_BYTES = 20;       // ns-3's IPv4 carries no options
constexpr uint8_t VERSION_AND_WORDS = 0x45; // of such a header
constexpr uint8_t FRAGMENT_BITS = 0x3f;     // more fragments, and the high bits of the offset

/// Gives a private member of ns-3's to a function `Open(Key)`: C++ lets an explicit instantiation
/// name it. Nothing but this says whether somebody watches a trace source.
template <auto MEMBER, typename Key>
struct PrivateMember
{
    /// \return the member
    friend auto Open(Key)
    {
        return MEMBER;
    }
};

struct SendOutgoing
{
    friend auto Open(SendOutgoing);
};

struct Tx
{
    friend auto Open(Tx);
};

struct Rx
{
    friend auto Open(Rx);
};

struct LocalDelivery
{
    friend auto Open(LocalDelivery);
};

struct RawSockets
{
    friend auto Open(RawSockets);
};

struct DefaultTtl
{
    friend auto Open(DefaultTtl);
};

struct Identification
{
    friend auto Open(Identification);
};

template struct PrivateMember<&Ipv4L3Protocol::m_sendOutgoingTrace, SendOutgoing>;
template struct PrivateMember<&Ipv4L3Protocol::m_txTrace, Tx>;
template struct PrivateMember<&Ipv4L3Protocol::m_rxTrace, Rx>;
template struct PrivateMember<&Ipv4L3Protocol::m_localDeliverTrace, LocalDelivery>;
template struct PrivateMember<&Ipv4L3Protocol::m_sockets, RawSockets>;
template struct PrivateMember<&Ipv4L3Protocol::m_defaultTtl, DefaultTtl>;
template struct PrivateMember<&Ipv4L3Protocol::m_identification, Identification>;

/// Asks FabricIpv4 before ns-3.
class FabricTrafficControl : public TrafficControlLayer
{
  public:
    void Receive(Ptr<NetDevice> device,
                 Ptr<const Packet> packet,
                 uint16_t protocol,
                 const Address& from,
                 const Address& to,
                 NetDevice::PacketType type) override
    {
        if (protocol != Ipv4L3Protocol::PROT_NUMBER || !m_ipv4->ReceiveDirectly(packet))
        {
            TrafficControlLayer::Receive(device, packet, protocol, from, to, type);
        }
    }

  protected:
    void NotifyNewAggregate() override
    {
        m_ipv4 = PeekPointer(GetObject<FabricIpv4>());
        TrafficControlLayer::NotifyNewAggregate();
    }

  private:
    FabricIpv4* m_ipv4{nullptr}; //!< the host's
};
} // namespace

TypeId
FabricIpv4::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricIpv4")
                            .SetParent<Ipv4L3Protocol>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricIpv4>();
    return tid;
}

Ptr<TrafficControlLayer>
FabricIpv4::MakeTrafficControl()
{
    return CreateObject<FabricTrafficControl>();
}

void
FabricIpv4::DoDispose()
{
    m_device = nullptr;
    m_interface = nullptr;
    Ipv4L3Protocol::DoDispose();
}

void
FabricIpv4::NotifyNewAggregate()
{
    m_tcp = PeekPointer(GetObject<FabricTcpProtocol>());
    m_trafficControl = PeekPointer(GetObject<TrafficControlLayer>());
    Ipv4L3Protocol::NotifyNewAggregate();
}

uint32_t
FabricIpv4::AddInterface(Ptr<NetDevice> device)
{
    const uint32_t index = Ipv4L3Protocol::AddInterface(device);
    m_device = device;
    m_interface = GetInterface(index);
    m_broadcast = device->GetBroadcast();
    return index;
}

bool
FabricIpv4::HasChecksums()
{
    if (!m_hasChecksums)
    {
        m_hasChecksums = Node::ChecksumEnabled();
    }
    return *m_hasChecksums;
}

bool
FabricIpv4::MaySendDirectly(const Packet& packet,
                            Ipv4Address destination,
                            const Ptr<Ipv4Route>& route)
{
    return route && route->GetOutputDevice() == m_device && route->GetGateway().IsAny() &&
           (this->*Open(SendOutgoing{})).IsEmpty() && (this->*Open(Tx{})).IsEmpty() &&
           m_interface->IsUp() && m_interface->GetNAddresses() == 1 &&
           m_interface->GetAddress(0).GetLocal() != destination &&
           packet.GetSize() + HEADER_BYTES <= m_device->GetMtu() &&
           !m_trafficControl->GetRootQueueDiscOnDevice(m_device) && !HasChecksums();
}

Ipv4Header
FabricIpv4::MakeHeader(Packet& packet,
                       Ipv4Address source,
                       Ipv4Address destination,
                       uint8_t protocol)
{
    Ipv4Header header;
    header.SetTtl(this->*Open(DefaultTtl{}));
    if (packet.GetPacketTagIterator().HasNext())
    {
        SocketIpTtlTag ttl;
        header.SetTtl(packet.RemovePacketTag(ttl) ? ttl.GetTtl() : header.GetTtl());
        SocketIpTosTag tos;
        header.SetTos(packet.RemovePacketTag(tos) ? tos.GetTos() : 0);
        SocketPriorityTag priority; // for a queue disc
        packet.RemovePacketTag(priority);
    }
    header.SetSource(source);
    header.SetDestination(destination);
    header.SetProtocol(protocol);
    header.SetPayloadSize(static_cast<uint16_t>(packet.GetSize()));
    header.SetMayFragment();
    const uint64_t ends = (uint64_t{source.Get()} << 32) | destination.Get();
    header.SetIdentification((this->*Open(Identification{}))[{ends, protocol}]++);
    return header;
}

void
FabricIpv4::Send(Ptr<Packet> packet,
                 Ipv4Address source,
                 Ipv4Address destination,
                 uint8_t protocol,
                 Ptr<Ipv4Route> route)
{
    if (protocol != TcpL4Protocol::PROT_NUMBER || !MaySendDirectly(*packet, destination, route))
    {
        Ipv4L3Protocol::Send(packet, source, destination, protocol, route);
        return;
    }
    // Who has seen the packet in a trace of the socket may still hold it.
    Ptr<Packet> sent = packet->Copy();
    sent->AddHeader(MakeHeader(*sent, source, destination, protocol));
    m_device->Send(sent, m_broadcast, PROT_NUMBER);
}

bool
FabricIpv4::ReceiveDirectly(const Ptr<const Packet>& packet)
{
    if (!(this->*Open(Rx{})).IsEmpty() || !(this->*Open(LocalDelivery{})).IsEmpty() ||
        !(this->*Open(RawSockets{})).empty() || !m_interface->IsUp() || HasChecksums())
    {
        return false;
    }
    std::array<uint8_t, HEADER_BYTES> bytes{};
    packet->CopyData(bytes.data(), bytes.size());
    if (bytes[0] != VERSION_AND_WORDS || bytes[9] != TcpL4Protocol::PROT_NUMBER ||
        (bytes[6] & FRAGMENT_BITS) != 0 || bytes[7] != 0)
    {
        return false;
    }
    Ptr<Packet> received = packet->Copy();
    Ipv4Header header;
    received->RemoveHeader(header);
    return m_tcp->ReceiveConnected(received, header, m_interface);
}

} // namespace ns3
