// SPDX-License-Identifier: GPL-2.0-only
#include "session-implementation.h"

#include "ns3/boolean.h"
#include "ns3/simulator.h"

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr uint32_t LINK_TYPE_RAW = 101;    // pcap: packets begin with the IP header
constexpr uint32_t LINK_TYPE_ETHERNET = 1; // pcap: packets begin with the Ethernet header
constexpr uint32_t PCAP_BYTES = 96;        // of each packet: all headers with all options
} // namespace

void
Session::RecordFlows()
{
    m_implementation->recordFlows = true;
}

void
Session::ObserveConnections(uint32_t quantities)
{
    m_implementation->connectionQuantities = quantities;
}

void
Session::ObserveQueuePairs(uint32_t quantities, int64_t intervalPs)
{
    m_implementation->queuePairProbe =
        std::make_unique<QueuePairProbe>(m_implementation->tables[QUEUE_PAIR_RECORDS],
                                         quantities,
                                         intervalPs);
}

void
Session::ObservePauses(uint32_t node, uint32_t port)
{
    RecordTable* table = &m_implementation->tables[PAUSE_RECORDS];
    m_implementation->network.GetPort(node, port)
        ->TraceConnectWithoutContext(
            "Pause",
            Callback<void, Time, uint8_t>([table, node, port](Time time, uint8_t paused) {
                table->Append<4>({time.GetTimeStep(), node, port, paused});
            }));
}

void
Session::ObserveUtilisation(uint32_t node, uint32_t port, int64_t intervalPs)
{
    if (intervalPs <= 0)
    {
        throw std::invalid_argument("utilisation is observed over an interval above 0");
    }
    auto& probes = m_implementation->utilisationProbes;
    probes.push_back(
        std::make_unique<UtilisationProbe>(m_implementation->tables[UTILISATION_RECORDS],
                                           node,
                                           port,
                                           intervalPs));
    m_implementation->network.GetPort(node, port)
        ->TraceConnectWithoutContext("Line",
                                     MakeCallback(&UtilisationProbe::Sent, probes.back().get()));
}

void
Session::ObserveQueue(uint32_t node, uint32_t port, int64_t intervalPs)
{
    auto& probes = m_implementation->queueProbes;
    probes.push_back(std::make_unique<QueueProbe>(m_implementation->tables[QUEUE_RECORDS],
                                                  node,
                                                  port,
                                                  intervalPs));
    m_implementation->network.GetPort(node, port)
        ->TraceConnectWithoutContext("Queue",
                                     MakeCallback(&QueueProbe::Changed, probes.back().get()));
}

void
Session::WritePcap(uint32_t node, uint32_t port, const char* path)
{
    Ptr<PcapFileWrapper> file = CreateObject<PcapFileWrapper>();
    file->SetAttribute("NanosecMode", BooleanValue(true));
    file->Open(path, std::ios::out);
    if (file->Fail())
    {
        throw std::invalid_argument(std::string("can't write ") + path);
    }
    file->Init(m_implementation->roce ? LINK_TYPE_ETHERNET : LINK_TYPE_RAW, PCAP_BYTES);
    m_implementation->captures.emplace_back(path, file);
    m_implementation->network.GetPort(node, port)
        ->TraceConnectWithoutContext(
            "Transmit",
            Callback<void, Time, Ptr<const Packet>>(
                [file, &captures = m_implementation->captures](Time time,
                                                               Ptr<const Packet> packet) {
                    // They are closed when a hook plays on after the end; and ns-3 would end the
                    // process when the disk is full.
                    if (!captures.empty() && !file->Fail())
                    {
                        file->Write(time, packet);
                    }
                }));
}

uint32_t
Session::GetPorts(uint32_t node) const
{
    return m_implementation->network.GetNPorts(node);
}

PortStatistics
Session::GetPortStatistics(uint32_t node, uint32_t port) const
{
    const FabricPortCounters& counters =
        m_implementation->network.GetPort(node, port)->GetCounters();
    return {counters.sentFrames,
            counters.sentBytes,
            counters.droppedFrames,
            counters.droppedBytes,
            counters.markedFrames,
            counters.highestQueueBytes,
            counters.lostFrames,
            counters.pauses,
            counters.pausedPs,
            counters.pauseFrames};
}

uint32_t
Session::CountPorts(bool exact)
{
    auto& numbers = m_implementation->portNumbers;
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    uint32_t ports = 0;
    numbers.clear();
    for (uint32_t node = 0; node < m_implementation->network.GetNNodes(); ++node)
    {
        for (uint32_t number = 0; number < GetPorts(node); ++number)
        {
            const Ptr<FabricPort> port = m_implementation->network.GetPort(node, number);
            const FabricPortCounters& counters =
                exact ? port->GetCounters() : port->GetSettledCounters();
            numbers.insert(numbers.end(),
                           {static_cast<int64_t>(counters.sentFrames),
                            static_cast<int64_t>(counters.sentBytes),
                            static_cast<int64_t>(counters.droppedFrames),
                            static_cast<int64_t>(counters.droppedBytes),
                            static_cast<int64_t>(counters.markedFrames),
                            static_cast<int64_t>(counters.highestQueueBytes),
                            static_cast<int64_t>(counters.lostFrames),
                            static_cast<int64_t>(counters.pauses),
                            port->GetPausedPs(nowPs),
                            static_cast<int64_t>(counters.pauseFrames)});
            ports++;
        }
    }
    return ports;
}

const int64_t*
Session::GetPortNumbers() const
{
    return m_implementation->portNumbers.data();
}

uint64_t
Session::GetMessages() const
{
    uint64_t messages = 0;
    for (const auto& application : m_implementation->applications)
    {
        messages += application->GetSentMessages();
    }
    return messages;
}

uint64_t
Session::GetSentBytes(uint32_t npu) const
{
    return ElementOf(m_implementation->applications, npu, "NPU")->GetSentBytes();
}

uint64_t
Session::GetDeliveredBytes() const
{
    return static_cast<uint64_t>(m_implementation->deliveredBytes);
}

uint64_t
Session::GetPackets() const
{
    return m_implementation->network.GetReceivedPackets() + GetRoceStatistics().dataPackets;
}

uint64_t
Session::GetRetransmissions() const
{
    uint64_t retransmissions = GetRoceStatistics().retransmittedPackets;
    for (const auto& probe : m_implementation->connectionProbes)
    {
        retransmissions += probe->GetRetransmissions();
    }
    return retransmissions;
}

uint64_t
Session::GetTimeouts() const
{
    uint64_t timeouts = GetRoceStatistics().timeouts;
    for (const auto& probe : m_implementation->connectionProbes)
    {
        timeouts += probe->GetTimeouts();
    }
    return timeouts;
}

RoceStatistics
Session::GetRoceStatistics() const
{
    RoceStatistics statistics;
    if (m_implementation->roceTransport)
    {
        const auto& roce = m_implementation->roceTransport->GetStatistics();
        statistics.dataPackets = roce.dataPackets;
        statistics.retransmittedPackets = roce.retransmittedPackets;
        statistics.nacks = roce.nacks;
        statistics.cnps = roce.cnps;
        statistics.timeouts = roce.timeouts;
        statistics.queuePairs = roce.queuePairs;
    }
    if (m_implementation->pauseWatchdog)
    {
        statistics.pauseStorms = m_implementation->pauseWatchdog->GetStorms();
    }
    return statistics;
}

uint64_t
Session::CountBusyQueuePairs() const
{
    const auto& roce = m_implementation->roceTransport;
    return roce ? roce->CountBusyQueuePairs() : 0;
}

uint64_t
Session::CountRoceFrames() const
{
    const auto& roce = m_implementation->roceTransport;
    return roce ? roce->CountFrames() : 0;
}

const char*
Session::DescribeLongestPause()
{
    const auto& watchdog = m_implementation->pauseWatchdog;
    m_implementation->longestPause = watchdog ? watchdog->DescribeLongest() : "";
    return m_implementation->longestPause.c_str();
}

int64_t
Session::GetBaseRoundTripPs(uint32_t sender, uint32_t receiver) const
{
    const auto& transport = m_implementation->roceTransport;
    const uint32_t from = ElementOf(m_implementation->hostOfNpu, sender, "NPU");
    const uint32_t to = ElementOf(m_implementation->hostOfNpu, receiver, "NPU");
    if (!transport || from == to)
    {
        throw std::invalid_argument("there is no RoCE path between these NPUs");
    }
    return transport->NumbersOf(transport->FindPath(from, to)).baseRoundTripPs;
}

uint64_t
Session::GetConnections() const
{
    return m_implementation->tcpTransport ? m_implementation->tcpTransport->GetNConnections() : 0;
}

uint32_t
Session::GetNs3NodeId(uint32_t node) const
{
    return m_implementation->network.GetNode(node)->GetId();
}

uint64_t
Session::GetRecordRows(uint32_t table) const
{
    return ElementOf(m_implementation->tables, table, "table").GetRows();
}

const int64_t*
Session::GetRecordColumn(uint32_t table, uint32_t column) const
{
    return ElementOf(m_implementation->tables, table, "table").GetColumn(column);
}

void
Session::FlushRecords()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (uint32_t node = 0; node < m_implementation->network.GetNNodes(); ++node)
    {
        for (uint32_t port = 0; port < GetPorts(node); ++port)
        {
            m_implementation->network.GetPort(node, port)->Settle(nowPs);
        }
    }
    for (const auto& probe : m_implementation->queueProbes)
    {
        probe->Flush(nowPs);
    }
    for (const auto& probe : m_implementation->utilisationProbes)
    {
        probe->Flush();
    }
    if (m_implementation->queuePairProbe)
    {
        m_implementation->queuePairProbe->Flush(nowPs);
    }
    HandOverRecords();
}

void
Session::HandOverRecords()
{
    for (auto& table : m_implementation->tables)
    {
        table.Flush();
    }
}

uint32_t
Session::CloseCaptures()
{
    // The end of a process does not flush them: it may come without any destructor.
    for (const auto& [path, capture] : m_implementation->captures)
    {
        const bool failed = capture->Fail();
        capture->Close();
        if (failed || capture->Fail())
        {
            m_implementation->failedCaptures.push_back(path);
        }
    }
    m_implementation->captures.clear();
    return m_implementation->failedCaptures.size();
}

const char*
Session::GetFailedCapture(uint32_t index) const
{
    return ElementOf(m_implementation->failedCaptures, index, "failed capture").c_str();
}

} // namespace astra_ns3
