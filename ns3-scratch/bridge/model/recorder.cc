// SPDX-License-Identifier: GPL-2.0-only
#include "recorder.h"

#include "element-of.h"
#include "fabric-lane.h"

#include "ns3/boolean.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr uint32_t LINK_TYPE_RAW = 101;    // pcap: packets begin with the IP header
constexpr uint32_t LINK_TYPE_ETHERNET = 1; // pcap: packets begin with the Ethernet header
constexpr uint32_t PCAP_BYTES = 96;        // of each packet: all headers with all options

constexpr uint32_t ETHERNET_BYTES = 14;
constexpr uint8_t IPV4_BEGINS = 0x45;       // version 4, five words; no NIC's address begins so
constexpr uint32_t FIRST_HOST = 0x0a000001; // address of NPU 0

/// \return a packet as an Ethernet frame: TCP's begin with the IP header
Ptr<const Packet>
InEthernet(const Ptr<const Packet>& packet)
{
    std::array<uint8_t, 20> ip{};
    packet->CopyData(ip.data(), ip.size());
    if (ip[0] != IPV4_BEGINS)
    {
        return packet;
    }
    std::array<uint8_t, ETHERNET_BYTES> header{};
    const auto put = [&ip, &header](std::size_t from, std::size_t to) {
        const uint32_t address =
            ip[from] << 24 | ip[from + 1] << 16 | ip[from + 2] << 8 | ip[from + 3];
        header[to] = 0x02; // as of RoCE's frames: locally administered, and the NPU's number
        for (uint32_t byte = 0; byte < 4; ++byte)
        {
            header[to + 2 + byte] = (address - FIRST_HOST) >> (24 - 8 * byte);
        }
    };
    put(16, 0);
    put(12, 6);
    header[12] = 0x08; // IPv4
    Ptr<Packet> frame = Create<Packet>(header.data(), ETHERNET_BYTES);
    frame->AddAtEnd(packet);
    return frame;
}

/// Do something with each port of a list of pairs of numbers.
template <typename ACTION>
void
ForEachPort(const Numbers& ports, const ACTION& action)
{
    for (uint64_t place = 0; place + 1 < ports.count; place += 2)
    {
        action(ports[place], ports[place + 1]);
    }
}
} // namespace

Recorder::Recorder(const Observation& observation,
                   bool ethernet,
                   FabricNetwork& fabric,
                   FabricChanges* changes,
                   Ready ready)
    : m_fabric(fabric),
      m_recordsFlows(observation.flows),
      m_recordsAccounts(observation.accounts),
      m_ready(std::move(ready)),
      m_queueRecord(m_queues, observation.queueIntervalPs),
      m_changes(changes)
{
    for (RecordTable* table : std::initializer_list<RecordTable*>{&m_flows,
                                                                  &m_queues,
                                                                  &m_pauses,
                                                                  &m_utilisation,
                                                                  &m_accounts,
                                                                  &m_accountHops,
                                                                  &m_accountServed})
    {
        Number(*table);
    }
    if (m_recordsAccounts)
    {
        KeepServed(observation.jobBit);
    }
    ForEachPort(observation.queues, [&](uint32_t node, uint32_t port) {
        m_queueRecord.Observe(*m_fabric.GetPort(node, port));
    });
    ForEachPort(observation.pauses,
                [&](uint32_t node, uint32_t port) { ObservePauses(node, port); });
    if (observation.utilisation.count > 0)
    {
        m_utilisationRecord =
            std::make_unique<UtilisationRecord>(m_utilisation,
                                                GetTellingDelay(),
                                                observation.utilisationIntervalPs);
    }
    ForEachPort(observation.utilisation, [&](uint32_t node, uint32_t port) {
        m_utilisationRecord->Observe(*m_fabric.GetPort(node, port));
    });
    for (const CaptureDescription& capture : observation.captures)
    {
        Capture(capture, ethernet);
    }
}

void
Recorder::Number(RecordTable& table)
{
    const uint32_t number = GetNTables();
    table.SetReady([this, number] { m_ready(number); });
    m_tables.push_back(&table);
}

void
Recorder::AddFlush(std::function<void(int64_t)> flush)
{
    m_flushes.push_back(std::move(flush));
}

void
Recorder::AddSentCount(std::function<void(FabricSentCounts&)> count)
{
    m_sentCounts.push_back(std::move(count));
}

void
Recorder::KeepServed(int64_t jobBit)
{
    for (uint32_t node = 0; node < m_fabric.GetNNodes(); ++node)
    {
        for (uint32_t number = 0; number < m_fabric.GetNPorts(node); ++number)
        {
            m_fabric.GetPort(node, number)->KeepServed(static_cast<uint32_t>(jobBit));
        }
    }
}

void
Recorder::ObservePauses(uint32_t node, uint32_t port)
{
    m_pauseRecord.Observe(*m_fabric.GetPort(node, port));
}

void
Recorder::Capture(const CaptureDescription& capture, bool ethernet)
{
    const Ptr<FabricPort> port = m_fabric.GetPort(capture.node, capture.port);
    Ptr<PcapFileWrapper> file = CreateObject<PcapFileWrapper>();
    file->SetAttribute("NanosecMode", BooleanValue(true));
    file->Open(capture.path, std::ios::out);
    if (file->Fail())
    {
        throw std::invalid_argument("can't write " + capture.path);
    }
    file->Init(ethernet ? LINK_TYPE_ETHERNET : LINK_TYPE_RAW, PCAP_BYTES);
    m_captures.emplace_back(capture.path, file);
    port->TraceConnectWithoutContext(
        "Transmit",
        Callback<void, Time, Ptr<const Packet>>(
            [file, ethernet, &captures = m_captures](Time time, Ptr<const Packet> packet) {
                // They are closed when a hook plays on after the end; and ns-3 would end the
                // process when the disk is full.
                if (!captures.empty() && !file->Fail())
                {
                    file->Write(time, ethernet ? InEthernet(packet) : packet);
                }
            }));
}

void
Recorder::MessageArrived(const CollectiveMessage& message)
{
    if (!m_recordsFlows)
    {
        return;
    }
    const FabricLane& lane = FabricLane::Here();
    if (lane.besideOthers)
    {
        m_arrivedByThread[lane.number].push_back({message, lane.nowPs});
        return;
    }
    // Hosts that are played apart tell of a window host by host.
    const FabricSimulator& simulator = FabricSimulator::Get();
    const int64_t nowPs = FabricNowPs();
    const int64_t playedPs = simulator.IsApart() ? simulator.GetWindowBeginPs() : nowPs;
    if (!m_arrived.empty() && m_arrived.front().endPs < playedPs)
    {
        PutArrived(playedPs);
    }
    m_arrived.push_back({message, nowPs});
}

void
Recorder::TakeIn(int64_t playedPs)
{
    for (std::vector<Arrived>& arrived : m_arrivedByThread)
    {
        m_arrived.insert(m_arrived.end(), arrived.begin(), arrived.end());
        arrived.clear();
    }
    if (!m_arrived.empty())
    {
        PutArrived(playedPs);
    }
}

void
Recorder::PutArrived(int64_t beforePs)
{
    std::stable_sort(m_arrived.begin(), m_arrived.end(), [](const Arrived& a, const Arrived& b) {
        return a.endPs != b.endPs ? a.endPs < b.endPs : a.message.receiver < b.message.receiver;
    });
    auto next = m_arrived.begin();
    for (; next != m_arrived.end() && next->endPs < beforePs; ++next)
    {
        m_flows.Append({next->message, next->endPs});
    }
    m_arrived.erase(m_arrived.begin(), next);
}

void
Recorder::MessageAccounted(const CollectiveMessage& message, const MessageAccount& account)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    account.Check(message, nowPs);
    m_accounts.Append({message, account, nowPs});
    int64_t hop = 0;
    for (const AccountHop& way : account.GetPath())
    {
        const auto& [node, port] = way.port->GetPlace();
        m_accountHops.Append({m_accountRows, hop++, node, port, way});
    }
    for (const AccountServed& behind : account.GetServed())
    {
        m_accountServed.Append({m_accountRows, behind});
    }
    m_accountRows++;
}

MessageAccountant*
Recorder::GetAccountant()
{
    return m_recordsAccounts ? this : nullptr;
}

const TellingDelay&
Recorder::GetTellingDelay()
{
    if (!m_tellingDelay)
    {
        m_tellingDelay = std::make_unique<TellingDelay>(m_fabric, m_changes);
    }
    return *m_tellingDelay;
}

uint32_t
Recorder::CountPorts(bool exact)
{
    FabricSimulator::Get().CatchUp();
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    m_portNumbers.clear();
    FabricSentCounts sent;
    for (const auto& count : m_sentCounts)
    {
        count(sent);
    }
    for (uint32_t node = 0; node < m_fabric.GetNNodes(); ++node)
    {
        for (uint32_t number = 0; number < m_fabric.GetNPorts(node); ++number)
        {
            const Ptr<FabricPort> port = m_fabric.GetPort(node, number);
            FabricPortCounters counters = exact ? port->GetCounters() : port->GetSettledCounters();
            if (const auto found = sent.find(PeekPointer(port)); found != sent.end())
            {
                counters.sentFrames += found->second.frames;
                counters.sentBytes += found->second.bytes;
            }
            for (const RecordColumn<PortState>& counter : m_portCounters)
            {
                m_portNumbers.push_back(counter.value(
                    {counters, port->GetPausedPs(nowPs), port->GetSettledQueueBytes()}));
            }
        }
    }
    return static_cast<uint32_t>(m_portNumbers.size() / m_portCounters.size());
}

const std::vector<RecordColumn<PortState>>&
Recorder::GetPortCounters() const
{
    return m_portCounters;
}

const std::vector<int64_t>&
Recorder::GetPortNumbers() const
{
    return m_portNumbers;
}

uint32_t
Recorder::GetNTables() const
{
    return static_cast<uint32_t>(m_tables.size());
}

const RecordTable&
Recorder::GetTable(uint32_t table) const
{
    return *ElementOf(m_tables, table, "table");
}

void
Recorder::Flush()
{
    FabricSimulator::Get().CatchUp();
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (uint32_t node = 0; node < m_fabric.GetNNodes(); ++node)
    {
        for (uint32_t port = 0; port < m_fabric.GetNPorts(node); ++port)
        {
            m_fabric.GetPort(node, port)->Settle(nowPs);
        }
    }
    for (const auto& flush : m_flushes)
    {
        flush(nowPs);
    }
    m_queueRecord.Flush(nowPs);
    if (m_utilisationRecord)
    {
        m_utilisationRecord->Flush();
    }
    PutArrived(std::numeric_limits<int64_t>::max());
    m_pauseRecord.Flush();
    HandOver();
}

void
Recorder::HandOver()
{
    PutArrived(FabricNowPs()); // more may arrive in this moment
    PutInOrder();
    for (RecordTable* table : m_tables)
    {
        table->Flush();
    }
}

void
Recorder::PutInOrder()
{
    FabricSimulator::Get().CatchUp();
    m_queueRecord.Write(FabricNowPs());
    m_pauseRecord.Write(FabricNowPs());
}

uint32_t
Recorder::CloseCaptures()
{
    // The end of a process does not flush them: it may come without any destructor.
    for (const auto& [path, capture] : m_captures)
    {
        const bool failed = capture->Fail();
        capture->Close();
        if (failed || capture->Fail())
        {
            m_failedCaptures.push_back(path);
        }
    }
    m_captures.clear();
    return static_cast<uint32_t>(m_failedCaptures.size());
}

const std::string&
Recorder::GetFailedCapture(uint32_t index) const
{
    return ElementOf(m_failedCaptures, index, "failed capture");
}

} // namespace astra_ns3
