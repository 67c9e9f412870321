// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-net-device.h"

#include "fabric-flow-hash.h"

#include "ns3/abort.h"
#include "ns3/ipv4-header.h"
#include "ns3/object-vector.h"
#include "ns3/trace-source-accessor.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricNetDevice);

namespace
{
constexpr uint16_t IPV4_PROTOCOL = 0x0800;
constexpr uint32_t IPV4_HEADER_BYTES = 20; // ns-3's IPv4 carries no options
constexpr uint32_t PORTS_BYTES = 4; // source and destination port, first in TCP and UDP alike

/// \return the 32-bit number in network byte order at `bytes`
uint32_t
ReadWord(const uint8_t* bytes)
{
    return (uint32_t{bytes[0]} << 24) | (uint32_t{bytes[1]} << 16) | (uint32_t{bytes[2]} << 8) |
           uint32_t{bytes[3]};
}
} // namespace

TypeId
FabricNetDevice::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FabricNetDevice")
            .SetParent<NetDevice>()
            .SetGroupName("Fabric")
            .AddConstructor<FabricNetDevice>()
            .AddAttribute("Mtu",
                          "Largest IP packet in bytes.",
                          UintegerValue(1500),
                          MakeUintegerAccessor(&FabricNetDevice::SetMtu, &FabricNetDevice::GetMtu),
                          MakeUintegerChecker<uint16_t>(64))
            .AddAttribute("HashSeed",
                          "Mixed into the flow hash when several ports lead on.",
                          UintegerValue(0),
                          MakeUintegerAccessor(&FabricNetDevice::m_hashSeed),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Ports",
                          "The sending halves of the NIC's ports.",
                          ObjectVectorValue(),
                          MakeObjectVectorAccessor(&FabricNetDevice::m_ports),
                          MakeObjectVectorChecker<FabricPort>())
            .AddTraceSource("MacTx",
                            "Packet handed over by the IP stack.",
                            MakeTraceSourceAccessor(&FabricNetDevice::m_sendTrace),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacRx",
                            "Packet handed to the IP stack.",
                            MakeTraceSourceAccessor(&FabricNetDevice::m_receiveTrace),
                            "ns3::Packet::TracedCallback");
    return tid;
}

void
FabricNetDevice::DoDispose()
{
    for (auto& port : m_ports)
    {
        port->Dispose();
    }
    m_ports.clear();
    m_channel = nullptr;
    m_node = nullptr;
    m_receive.Nullify();
    m_sniff.Nullify();
    NetDevice::DoDispose();
}

uint32_t
FabricNetDevice::AddPort(Ptr<FabricPort> port)
{
    m_ports.push_back(port);
    return m_ports.size() - 1;
}

uint32_t
FabricNetDevice::GetNPorts() const
{
    return m_ports.size();
}

Ptr<FabricPort>
FabricNetDevice::GetPort(uint32_t port) const
{
    return m_ports.at(port);
}

FabricRoutes&
FabricNetDevice::GetRoutes()
{
    return m_routes;
}

void
FabricNetDevice::PinPort(uint32_t destination, uint32_t choice)
{
    m_pins[destination] = choice;
}

uint32_t
FabricNetDevice::ChoosePort(uint32_t destination, uint32_t flowHash) const
{
    if (m_ports.size() == 1)
    {
        return 0;
    }
    const FabricRoutes::Ports choices = m_routes.Find(destination);
    if (choices.count == 0)
    {
        return NO_PORT;
    }
    const auto pin = m_pins.find(destination);
    return choices.first[pin == m_pins.end() ? FabricPickByHash(flowHash, m_hashSeed, choices.count)
                                             : pin->second % choices.count];
}

void
FabricNetDevice::SetChannel(Ptr<FabricChannel> channel)
{
    m_channel = channel;
}

void
FabricNetDevice::SetBaseAddress(uint32_t baseAddress)
{
    m_baseAddress = baseAddress;
}

uint64_t
FabricNetDevice::GetReceivedPackets() const
{
    return m_receivedPackets;
}

uint64_t
FabricNetDevice::GetUnroutedPackets() const
{
    return m_unroutedPackets;
}

bool
FabricNetDevice::Send(Ptr<Packet> packet, const Address&, uint16_t protocol)
{
    NS_ABORT_MSG_IF(protocol != IPV4_PROTOCOL, "FabricNetDevice carries IPv4 only");
    m_sendTrace(packet);
    uint8_t header[IPV4_HEADER_BYTES + PORTS_BYTES] = {};
    packet->CopyData(header, sizeof header);
    const uint32_t source = ReadWord(header + 12);
    const uint32_t destination = ReadWord(header + 16);
    const uint32_t flowHash =
        FabricHashConnection(source, destination, ReadWord(header + IPV4_HEADER_BYTES));
    const uint32_t port = ChoosePort(destination - m_baseAddress, flowHash);
    if (port == NO_PORT)
    {
        m_unroutedPackets++; // as where a switch has no route: the sender hears nothing
        return true;
    }

    FabricFrame* frame = FabricFramePool::Take();
    frame->ecn = static_cast<FabricEcn>(header[1] & 3);
    frame->source = source - m_baseAddress;
    frame->destination = destination - m_baseAddress;
    frame->flowHash = flowHash;
    frame->bufferBytes =
        std::max(packet->GetSize() + FABRIC_ETHERNET_BYTES, FABRIC_MINIMUM_FRAME_BYTES);
    frame->wireBytes = frame->bufferBytes + FABRIC_LINE_GAP_BYTES;
    frame->SetPacket(packet);
    if (m_followed) [[unlikely]]
    {
        frame->accounted = *m_followed == packet->GetUid();
        frame->trail = frame->accounted ? FabricFramePool::TakeTrail() : nullptr;
        m_followed.reset();
    }
    m_ports[port]->Enqueue(frame);
    return true;
}

void
FabricNetDevice::ReceiveFrame(FabricFrame* frame, uint32_t port)
{
    if (frame->flow)
    {
        frame->flow->ReceiveFrame(frame);
        return;
    }
    if (frame->isPause)
    {
        const uint8_t paused = frame->pausedPriorities;
        FabricFramePool::Give(frame);
        m_ports[port]->SetPaused(paused);
        return;
    }
    const FabricTrailPointer trail = frame->TakeTrail();
    Ptr<Packet> packet = std::move(frame->packet);
    if (frame->marked)
    {
        Ipv4Header header;
        packet->RemoveHeader(header);
        header.SetEcn(Ipv4Header::ECN_CE);
        packet->AddHeader(header);
    }
    FabricFramePool::Give(frame);
    m_receivedPackets++;
    m_receiveTrace(packet);
    if (!m_sniff.IsNull())
    {
        m_sniff(this, packet, IPV4_PROTOCOL, m_address, m_address, PACKET_HOST);
    }
    m_trail = trail.get();
    m_receive(this, packet, IPV4_PROTOCOL, m_address);
    m_trail = nullptr;
}

void
FabricNetDevice::Follow(uint64_t uid)
{
    m_followed = uid;
}

const FabricTrail*
FabricNetDevice::GetTrail() const
{
    return m_trail;
}

void
FabricNetDevice::SetIfIndex(uint32_t index)
{
    m_ifIndex = index;
}

uint32_t
FabricNetDevice::GetIfIndex() const
{
    return m_ifIndex;
}

Ptr<Channel>
FabricNetDevice::GetChannel() const
{
    return m_channel;
}

void
FabricNetDevice::SetAddress(Address address)
{
    m_address = Mac48Address::ConvertFrom(address);
}

Address
FabricNetDevice::GetAddress() const
{
    return m_address;
}

bool
FabricNetDevice::SetMtu(uint16_t mtu)
{
    m_mtu = mtu;
    return true;
}

uint16_t
FabricNetDevice::GetMtu() const
{
    return m_mtu;
}

bool
FabricNetDevice::IsLinkUp() const
{
    return !m_ports.empty();
}

void
FabricNetDevice::AddLinkChangeCallback(Callback<void>)
{
    // Who must know of links that change listens to FabricChanges; no stack of ours asks here.
}

bool
FabricNetDevice::IsBroadcast() const
{
    return false;
}

Address
FabricNetDevice::GetBroadcast() const
{
    return Mac48Address::GetBroadcast();
}

bool
FabricNetDevice::IsMulticast() const
{
    return false;
}

Address
FabricNetDevice::GetMulticast(Ipv4Address group) const
{
    return Mac48Address::GetMulticast(group);
}

Address
FabricNetDevice::GetMulticast(Ipv6Address group) const
{
    return Mac48Address::GetMulticast(group);
}

bool
FabricNetDevice::IsBridge() const
{
    return false;
}

bool
FabricNetDevice::IsPointToPoint() const
{
    return false;
}

bool
FabricNetDevice::SendFrom(Ptr<Packet>, const Address&, const Address&, uint16_t)
{
    return false;
}

Ptr<Node>
FabricNetDevice::GetNode() const
{
    return m_node;
}

void
FabricNetDevice::SetNode(Ptr<Node> node)
{
    m_node = node;
}

bool
FabricNetDevice::NeedsArp() const
{
    return false;
}

void
FabricNetDevice::SetReceiveCallback(ReceiveCallback callback)
{
    m_receive = callback;
}

void
FabricNetDevice::SetPromiscReceiveCallback(PromiscReceiveCallback callback)
{
    m_sniff = callback;
}

bool
FabricNetDevice::SupportsSendFrom() const
{
    return false;
}

} // namespace ns3
