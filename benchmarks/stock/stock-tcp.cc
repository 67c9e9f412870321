/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * What the same TCP traffic costs in stock ns-3: point-to-point links, IP routers with global
 * routing, BulkSend and PacketSink. Prints one line of JSON.
 *
 * hops=2: every host on one router, flow i -> i+1 (a ring).
 * hops=4: three routers in a chain, half of the hosts on the first and half on the last, flow
 * i -> i + hosts/2 (modulo hosts). A core link has hosts/2 times the rate of a host's link, so that
 * it never is the bottleneck.
 */

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <ctime>
#include <iostream>

using namespace ns3;

namespace
{

/** What the user chooses; rates and times as ns-3 writes them. */
struct Parameters
{
    uint32_t hosts{16};                   //!< number of hosts
    uint32_t hops{2};                     //!< links a flow crosses: 2 or 4
    uint64_t bytes{4'000'000};            //!< bytes of a flow
    uint32_t segment{1440};               //!< TCP segment, bytes
    uint32_t window{500'000};             //!< send and receive buffer, bytes
    uint32_t sendSize{0};                 //!< bytes BulkSend hands over at a time; 0 = segment
    DataRate rate{"100Gbps"};             //!< of a host's link
    Time delay{NanoSeconds(500)};         //!< of every link
    bool timestamps{false};               //!< TCP timestamps
    bool sack{true};                      //!< TCP selective acknowledgements
    bool queueDisc{true};                 //!< keep the queue disc that ns-3 installs by default
    Time minRto{MilliSeconds(10)};        //!< least retransmission timeout
    Time clock{MicroSeconds(10)};         //!< granularity of the RTO's clock
    uint32_t delAckCount{2};              //!< segments per acknowledgement
    Time delAckTimeout{MicroSeconds(40)}; //!< longest wait of an acknowledgement
    uint32_t initialCwnd{10};             //!< initial window, segments
    std::string tcp{"ns3::TcpNewReno"};   //!< congestion control
};

/** What is counted while the simulation runs. */
struct Counters
{
    uint64_t expectedBytes{0};   //!< of all flows
    uint64_t receivedBytes{0};   //!< so far
    uint64_t drops{0};           //!< packets lost in queues
    uint64_t retransmissions{0}; //!< segments sent again
    Time finish;                 //!< when the last byte arrived
};

void
Received(Counters* counters, Ptr<const Packet> packet, const Address&)
{
    counters->receivedBytes += packet->GetSize();
    if (counters->receivedBytes == counters->expectedBytes)
    {
        counters->finish = Simulator::Now();
        Simulator::Stop();
    }
}

void
PacketDropped(Counters* counters, Ptr<const Packet>)
{
    ++counters->drops;
}

void
ItemDropped(Counters* counters, Ptr<const QueueDiscItem>)
{
    ++counters->drops;
}

void
Retransmitted(Counters* counters,
              Ptr<const Packet>,
              const TcpHeader&,
              const Address&,
              const Address&,
              Ptr<const TcpSocketBase>)
{
    ++counters->retransmissions;
}

Parameters
ReadParameters(int argc, char* argv[])
{
    Parameters p;
    CommandLine command(__FILE__);
    command.AddValue("hosts", "number of hosts", p.hosts);
    command.AddValue("hops", "links a flow crosses: 2 or 4", p.hops);
    command.AddValue("bytes", "bytes of a flow", p.bytes);
    command.AddValue("segment", "TCP segment in bytes", p.segment);
    command.AddValue("window", "send and receive buffer in bytes", p.window);
    command.AddValue("sendSize", "bytes BulkSend hands over at a time; 0 = segment", p.sendSize);
    command.AddValue("rate", "rate of a host's link", p.rate);
    command.AddValue("delay", "delay of every link", p.delay);
    command.AddValue("timestamps", "TCP timestamps", p.timestamps);
    command.AddValue("sack", "TCP selective acknowledgements", p.sack);
    command.AddValue("queueDisc", "keep ns-3's default queue disc", p.queueDisc);
    command.AddValue("minRto", "least retransmission timeout", p.minRto);
    command.AddValue("clock", "granularity of the RTO's clock", p.clock);
    command.AddValue("delAckCount", "segments per acknowledgement", p.delAckCount);
    command.AddValue("delAckTimeout", "longest wait of an acknowledgement", p.delAckTimeout);
    command.AddValue("initialCwnd", "initial window in segments", p.initialCwnd);
    command.AddValue("tcp", "TypeId of the congestion control", p.tcp);
    command.Parse(argc, argv);
    NS_ABORT_MSG_IF(p.hops != 2 && p.hops != 4, "hops is " << p.hops << "; 2 and 4 are allowed");
    NS_ABORT_MSG_IF(p.hosts < 2, "hosts is " << p.hosts << "; at least 2 are needed");
    NS_ABORT_MSG_IF(p.hops == 4 && p.hosts % 2 != 0, "hops=4 needs an even number of hosts");
    return p;
}

void
SetDefaults(const Parameters& p)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(p.tcp)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(p.segment));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(p.window));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(p.window));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(p.initialCwnd));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(p.delAckCount));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(p.delAckTimeout));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(p.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(p.sack));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(p.minRto));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(p.clock));
    // No queue may drop: more than all windows together fit.
    Config::SetDefault("ns3::DropTailQueue<Packet>::MaxSize", StringValue("10000000p"));
}

/** Joins nodes by links of their own subnet. */
class Network
{
  public:
    explicit Network(const Parameters& p)
        : m_parameters(p)
    {
        m_hosts.Create(p.hosts);
        m_routers.Create(p.hops == 2 ? 1 : 3);
        InternetStackHelper internet;
        internet.Install(m_hosts);
        internet.Install(m_routers);
        m_addresses.SetBase("10.0.0.0", "255.255.255.252");
        const uint32_t near = p.hops == 2 ? p.hosts : p.hosts / 2;
        const uint32_t last = m_routers.GetN() - 1;
        for (uint32_t i = 0; i < p.hosts; ++i)
        {
            Ptr<Node> router = m_routers.Get(i < near ? 0 : last);
            m_hostAddresses.push_back(Join(m_hosts.Get(i), router, p.rate));
        }
        for (uint32_t i = 0; i < last; ++i)
        {
            Join(m_routers.Get(i), m_routers.Get(i + 1), p.rate * uint64_t{p.hosts / 2});
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    void AddFlows(Counters* counters)
    {
        const uint16_t port = 5000;
        const Parameters& p = m_parameters;
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer sinks = sink.Install(m_hosts);
        for (uint32_t i = 0; i < p.hosts; ++i)
        {
            sinks.Get(i)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, counters));
            const uint32_t receiver = (i + (p.hops == 2 ? 1 : p.hosts / 2)) % p.hosts;
            BulkSendHelper bulk("ns3::TcpSocketFactory",
                                InetSocketAddress(m_hostAddresses[receiver], port));
            bulk.SetAttribute("MaxBytes", UintegerValue(p.bytes));
            bulk.SetAttribute("SendSize", UintegerValue(p.sendSize ? p.sendSize : p.segment));
            ApplicationContainer sender = bulk.Install(m_hosts.Get(i));
            sender.Start(MicroSeconds(1));
            sender.Get(0)->TraceConnectWithoutContext("Retransmission",
                                                      MakeBoundCallback(&Retransmitted, counters));
            counters->expectedBytes += p.bytes;
        }
    }

    static void WatchDrops(Counters* counters)
    {
        Config::ConnectWithoutContextFailSafe(
            "/NodeList/*/DeviceList/*/$ns3::PointToPointNetDevice/TxQueue/Drop",
            MakeBoundCallback(&PacketDropped, counters));
        Config::ConnectWithoutContextFailSafe(
            "/NodeList/*/$ns3::TrafficControlLayer/RootQueueDiscList/*/Drop",
            MakeBoundCallback(&ItemDropped, counters));
    }

  private:
    /** @return the address of the first node on the new link. */
    Ipv4Address Join(Ptr<Node> a, Ptr<Node> b, DataRate rate)
    {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(rate));
        link.SetChannelAttribute("Delay", TimeValue(m_parameters.delay));
        NetDeviceContainer devices = link.Install(a, b);
        Ipv4InterfaceContainer interfaces = m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        if (!m_parameters.queueDisc)
        {
            TrafficControlHelper().Uninstall(devices);
        }
        return interfaces.GetAddress(0);
    }

    const Parameters m_parameters;
    NodeContainer m_hosts;
    NodeContainer m_routers;
    Ipv4AddressHelper m_addresses;
    std::vector<Ipv4Address> m_hostAddresses;
};

double
CpuSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

} // namespace

int
main(int argc, char* argv[])
{
    Time::SetResolution(Time::PS);
    const Parameters p = ReadParameters(argc, argv);
    SetDefaults(p);
    Counters counters;
    Network network(p);
    network.AddFlows(&counters);
    Network::WatchDrops(&counters);

    const double start = CpuSeconds();
    Simulator::Run();
    const double cpuSeconds = CpuSeconds() - start;

    const uint64_t packets = (p.bytes + p.segment - 1) / p.segment * p.hosts;
    std::cout << "{\"hosts\": " << p.hosts << ", \"hops\": " << p.hops
              << ", \"sack\": " << (p.sack ? "true" : "false")
              << ", \"timestamps\": " << (p.timestamps ? "true" : "false")
              << ", \"cpu_seconds\": " << cpuSeconds << ", \"data_packets\": " << packets
              << ", \"events\": " << Simulator::GetEventCount()
              << ", \"finish_ps\": " << counters.finish.GetPicoSeconds()
              << ", \"us_per_data_packet\": " << cpuSeconds * 1e6 / static_cast<double>(packets)
              << ", \"dropped_packets\": " << counters.drops
              << ", \"retransmissions\": " << counters.retransmissions << "}" << std::endl;
    const bool complete = counters.receivedBytes == counters.expectedBytes;
    Simulator::Destroy();
    return complete ? 0 : 1;
}
