// SPDX-License-Identifier: GPL-2.0-only
#include "tcp-stack.h"

#include "fabric-host-routing.h"
#include "fabric-ipv4.h"
#include "fabric-tcp-dctcp.h"
#include "fabric-tcp-protocol.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/data-rate.h"
#include "ns3/enum.h"
#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/nstime.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/type-id.h"
#include "ns3/udp-l4-protocol.h"
#include "ns3/uinteger.h"

#include <stdexcept>

namespace astra_ns3
{

using namespace ns3;

namespace
{

/// Above any line: what paces is limited by its control and the network alone.
constexpr uint64_t MAX_PACING_RATE_BPS = 1'000'000'000'000'000;

} // namespace

void
SetTcpDefaults(const TcpParameters& parameters)
{
    TypeId congestionControl;
    if (!TypeId::LookupByNameFailSafe(parameters.congestionControl, &congestionControl) ||
        !congestionControl.IsChildOf(TcpCongestionOps::GetTypeId()))
    {
        throw std::invalid_argument(parameters.congestionControl +
                                    " is no TCP congestion control of ns-3");
    }
    if (congestionControl == TcpDctcp::GetTypeId())
    {
        congestionControl = FabricTcpDctcp::GetTypeId();
    }
    const auto set = [](const char* name, const AttributeValue& value) {
        Config::SetDefault(name, value);
    };
    set("ns3::TcpL4Protocol::SocketType", TypeIdValue(congestionControl));
    set("ns3::TcpSocket::SndBufSize", UintegerValue(parameters.windowBytes));
    set("ns3::TcpSocket::RcvBufSize", UintegerValue(parameters.windowBytes));
    set("ns3::TcpSocket::SegmentSize", UintegerValue(parameters.segmentBytes));
    set("ns3::TcpSocket::InitialCwnd", UintegerValue(parameters.initialWindowSegments));
    set("ns3::TcpSocket::DelAckCount", UintegerValue(parameters.delayedAckCount));
    set("ns3::TcpSocket::DelAckTimeout", TimeValue(TimeStep(parameters.delayedAckTimeoutPs)));
    set("ns3::TcpSocket::ConnTimeout", TimeValue(TimeStep(parameters.connectTimeoutPs)));
    set("ns3::TcpSocket::ConnCount", UintegerValue(parameters.connectRetries));
    set("ns3::TcpSocket::DataRetries", UintegerValue(parameters.dataRetries));
    set("ns3::TcpSocket::TcpNoDelay", BooleanValue(true));
    set("ns3::TcpSocketBase::MinRto", TimeValue(TimeStep(parameters.minRtoPs)));
    set("ns3::TcpSocketBase::ClockGranularity", TimeValue(TimeStep(parameters.clockGranularityPs)));
    set("ns3::TcpSocketBase::Sack", BooleanValue(parameters.sack));
    set("ns3::TcpSocketBase::Timestamp", BooleanValue(parameters.timestamps));
    set("ns3::TcpSocketBase::WindowScaling", BooleanValue(true));
    // ns-3's default of 4 Gb/s would hold a control that paces, BBR, below the lines of a data
    // centre.
    set("ns3::TcpSocketState::MaxPacingRate", DataRateValue(DataRate(MAX_PACING_RATE_BPS)));
    set("ns3::TcpSocketBase::UseEcn",
        EnumValue(parameters.ecn ? TcpSocketState::On : TcpSocketState::Off));
}

void
InstallTcpStack(const std::vector<Ptr<Node>>& hosts, uint32_t baseAddress)
{
    const Ipv4Mask mask("255.0.0.0");
    for (uint32_t host = 0; host < hosts.size(); ++host)
    {
        const Ptr<Node>& node = hosts[host];
        // The IP interfaces hand everything to the traffic control layer, which has no queue disc
        // here.
        node->AggregateObject(FabricIpv4::MakeTrafficControl());
        Ptr<FabricIpv4> ipv4 = CreateObject<FabricIpv4>();
        node->AggregateObject(ipv4);
        node->AggregateObject(CreateObject<FabricTcpProtocol>());
        // For a user's own applications: UDP, and ICMP, which answers datagrams that nobody waits
        // for.
        node->AggregateObject(CreateObject<Icmpv4L4Protocol>());
        node->AggregateObject(CreateObject<UdpL4Protocol>());
        ipv4->SetRoutingProtocol(CreateObject<FabricHostRouting>());
        const uint32_t interface = ipv4->AddInterface(node->GetDevice(0));
        ipv4->AddAddress(interface, Ipv4InterfaceAddress(Ipv4Address(baseAddress + host), mask));
        ipv4->SetUp(interface);
    }
}

} // namespace astra_ns3
