// SPDX-License-Identifier: GPL-2.0-only
#include "network-player.h"

#include "fabric-changes.h"
#include "fabric-network.h"
#include "fabric-simulator.h"
#include "roce-control-registry.h"
#include "roce-path.h"
#include "roce-queue-pair.h"

#include "ns3/object-factory.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <memory>
#include <tuple>

namespace astra_ns3::test
{

using namespace ns3;

namespace
{
std::vector<LogRow>* g_log = nullptr; //!< of the case that is played

/// \return all that is known of a frame, in one number
uint64_t
Describe(const FabricFrame& frame)
{
    if (frame.isPause)
    {
        return uint64_t{1} << 63 | frame.pausedPriorities;
    }
    // A notification leaves in it what the pooled frame last had.
    uint64_t word = frame.kind == ROCE_CNP ? 0 : frame.sequence & 0xffffffff;
    word |= uint64_t{frame.bufferBytes & 0x3fff} << 32;
    word |= uint64_t{frame.source & 0xf} << 46;
    word |= uint64_t{frame.destination & 0xf} << 50;
    word |= uint64_t{frame.priority} << 54;
    word |= uint64_t{frame.kind} << 57;
    word |= uint64_t{frame.marked} << 59;
    if (frame.telemetry)
    {
        for (const auto& hop : frame.telemetry->hops)
        {
            word ^= (hop.timePs * 31 + hop.sentBytes * 17 + hop.queueBytes) & 0x3fffffff;
        }
        word ^= std::bit_cast<uint64_t>(frame.telemetry->pathUtilisation) >> 32;
    }
    return word;
}

/// Who knows of senders that time out in this very picosecond, before or after what arrives.
class TimeoutTies
{
  public:
    virtual ~TimeoutTies() = default;
    /// \return whether a sender of a host times out now. \param node the host, or a switch
    virtual bool TimesOutNow(uint32_t node) const = 0;
};

/// Stands before a node: logs what arrives and, if asked, hands on what arrives in one picosecond
/// in the order of the ports. It waits as long as more comes, since on a link that has become
/// shorter several frames may arrive at once, one event after the other.
class Watch : public FabricReceiver
{
  public:
    Watch(uint32_t node, FabricReceiver* behind, bool inOrder, const TimeoutTies& timeouts)
        : m_node(node),
          m_behind(behind),
          m_inOrder(inOrder),
          m_timeouts(timeouts)
    {
    }

    void ReceiveFrame(FabricFrame* frame, uint32_t port) override
    {
        const int64_t nowPs = Simulator::Now().GetTimeStep();
        g_log->push_back({nowPs, Describe(*frame), StreamOf(m_node, port, LogKind::ARRIVAL), 0});
        if (!m_inOrder)
        {
            if (nowPs == m_lastPs)
            {
                LogNote(LogKind::TIE, nowPs);
            }
            m_lastPs = nowPs;
            HandOn(frame, port);
            return;
        }
        if (m_waiting.empty())
        {
            Simulator::ScheduleNow(&Watch::HandOnAll, this, std::size_t{0});
        }
        m_waiting.emplace(port, frame);
    }

    // The order of heads and of whatever else comes in their picosecond is given by no rule.
    bool AdmitHead(FabricFrame* frame, uint32_t port) override
    {
        const int64_t nowPs = Simulator::Now().GetTimeStep();
        g_log->push_back({nowPs, Describe(*frame), StreamOf(m_node, port, LogKind::ARRIVAL), 0});
        if (nowPs == m_lastPs)
        {
            LogNote(LogKind::TIE, nowPs);
        }
        m_lastPs = nowPs;
        return m_behind->AdmitHead(frame, port);
    }

    void ReceiveHead(FabricFrame* frame, uint32_t port) override
    {
        LogNote(LogKind::CUT_THROUGH, Simulator::Now().GetTimeStep());
        m_behind->ReceiveHead(frame, port);
    }

    ~Watch() override
    {
        for (const auto& [port, frame] : m_waiting)
        {
            FabricFramePool::Give(frame);
        }
    }

  private:
    // What is sent again comes back after the same time as before: just when its sender, which
    // waits since then, times out again.
    void HandOn(FabricFrame* frame, uint32_t port)
    {
        if (m_timeouts.TimesOutNow(m_node))
        {
            LogNote(LogKind::TIE, Simulator::Now().GetTimeStep());
        }
        m_behind->ReceiveFrame(frame, port);
    }

    void HandOnAll(std::size_t before)
    {
        if (m_waiting.size() > before)
        {
            Simulator::ScheduleNow(&Watch::HandOnAll, this, m_waiting.size());
            return;
        }
        const auto arrived = std::exchange(m_waiting, {});
        for (const auto& [port, frame] : arrived)
        {
            HandOn(frame, port);
        }
    }

    uint32_t m_node;                                 //!< its number
    FabricReceiver* m_behind;                        //!< the node
    bool m_inOrder;                                  //!< by port
    const TimeoutTies& m_timeouts;                   //!< of its senders
    int64_t m_lastPs{-1};                            //!< last arrival
    std::multimap<uint32_t, FabricFrame*> m_waiting; //!< arrived just now, by port
};

/// Frames without a queue pair.
class LooseFrames : public FabricFlow
{
  public:
    void ReceiveFrame(FabricFrame* frame) override
    {
        FabricFramePool::Give(frame);
    }

    Ptr<Packet> MakePacket(const FabricFrame& frame) const override
    {
        return Create<Packet>(frame.bufferBytes);
    }
};

/// A case that is being played.
class NetworkPlayer : public MessageListener,
                      public MessageAccountant,
                      public RoceQueuePairOwner,
                      public RoceObserver,
                      public TimeoutTies
{
  public:
    explicit NetworkPlayer(const NetworkCase& networkCase)
        : m_case(networkCase),
          m_neighbours(networkCase.hosts + networkCase.switches.size()),
          m_linkOfPort(m_neighbours.size()),
          m_up(networkCase.links.size(), true)
    {
        g_log = &m_log;
        Simulator::SetImplementation(CreateObject<FabricSimulator>());
        RngSeedManager::SetSeed(m_case.number + 1);
        RngSeedManager::SetRun(1);
        MakeNetwork();
        WatchPorts();
        MakeTransports();
        ScheduleChanges(); // before all else, so that they come first in their picosecond
        for (const CaseMessage& message : m_case.messages)
        {
            Simulator::Schedule(TimeStep(message.timePs), &NetworkPlayer::Post, this, message);
        }
        for (const CaseFrame& frame : m_case.frames)
        {
            Simulator::Schedule(TimeStep(frame.timePs), &NetworkPlayer::Send, this, frame);
        }
    }

    ~NetworkPlayer() override
    {
        m_nics.clear();
        m_pairs.clear();
        Simulator::Destroy();
        RngSeedManager::ResetNextStreamIndex();
        g_log = nullptr;
    }

    NetworkPlayer(const NetworkPlayer&) = delete;
    NetworkPlayer& operator=(const NetworkPlayer&) = delete;

    /// \return what was seen
    std::vector<LogRow> Play()
    {
        Simulator::Stop(TimeStep(m_case.limitPs));
        Simulator::Run();
        for (uint32_t node = 0; node < m_neighbours.size(); ++node)
        {
            for (uint32_t port = 0; port < m_network.GetNPorts(node); ++port)
            {
                LogCounters(node, port);
            }
        }
        return std::move(m_log);
    }

    void BytesArrived(uint32_t, int64_t) override
    {
        // of messages still on their way: the log has each when it is whole
    }

    void MessageArrived(const CollectiveMessage& message) override
    {
        Log(message.receiver, 0, LogKind::MESSAGE, NowPs(), message.row);
    }

    void MessageAccounted(const CollectiveMessage& message, const MessageAccount& account) override
    {
        account.Check(message, NowPs());
        const auto log = [this, &message](int64_t value) {
            Log(message.receiver, 0, LogKind::ACCOUNT, NowPs(), static_cast<uint64_t>(value));
        };
        for (uint32_t part = 0; part < static_cast<uint32_t>(AccountPart::PARTS); ++part)
        {
            log(account.Get(static_cast<AccountPart>(part)));
        }
        for (const AccountHop& hop : account.GetPath())
        {
            for (const int64_t timePs :
                 {hop.arrivalPs, hop.queuePs, hop.pausedPs, hop.serialisationPs, hop.propagationPs})
            {
                log(timePs);
            }
        }
    }

    void TransportFailed(const ns3::CollectiveMessage&, const char*) override
    {
        Simulator::Stop();
    }

    void QueuePairIdle(RoceQueuePair&) override
    {
    }

    void ControlChanged(const RoceQueuePair& pair) override
    {
        uint64_t timeouts = 0;
        for (const RoceContext& context : m_contexts)
        {
            timeouts += context.GetStatistics().timeouts;
        }
        if (timeouts > m_timeouts)
        {
            m_timedOutPs[pair.GetAddress().senderHost] = NowPs();
        }
        m_timeouts = timeouts;
    }

    void Retransmitted(const RoceQueuePair&, uint32_t, int64_t) override
    {
    }

    void Notified(const RoceQueuePair&) override
    {
    }

    bool TimesOutNow(uint32_t node) const override
    {
        const int64_t timeoutPs = m_case.transports.front().parameters.timeoutPs; // of all NICs
        const auto last = m_timedOutPs.find(node);
        if (last != m_timedOutPs.end() && last->second == NowPs())
        {
            return true;
        }
        return std::any_of(m_pairs.begin(), m_pairs.end(), [=](const auto& entry) {
            const RoceQueuePair& pair = *entry.second;
            return std::get<0>(entry.first) == node && pair.HasUnacknowledged() &&
                   pair.GetProgressPs() + timeoutPs == NowPs();
        });
    }

  private:
    static int64_t NowPs()
    {
        return Simulator::Now().GetTimeStep();
    }

    void Log(uint32_t node, uint32_t port, LogKind kind, int64_t timePs, uint64_t value)
    {
        m_log.push_back({timePs, value, StreamOf(node, port, kind), 0});
    }

    void MakeNetwork()
    {
        m_network.AddHosts(m_case.hosts);
        for (const SwitchParameters& parameters : m_case.switches)
        {
            m_network.AddSwitch(parameters);
        }
        m_network.SetNicBuffer(m_case.nicBufferBytes);
        for (const CaseLink& link : m_case.links)
        {
            m_network.AddLink(link.nodeA, link.nodeB, link.parameters);
            m_neighbours[link.nodeA].push_back(link.nodeB);
            m_neighbours[link.nodeB].push_back(link.nodeA);
            const auto number = static_cast<uint32_t>(&link - m_case.links.data());
            m_linkOfPort[link.nodeA].push_back(number);
            m_linkOfPort[link.nodeB].push_back(number);
        }
        SetRoutes();
        m_network.UseRouting(m_case.routing);
        std::vector<uint32_t> names(m_neighbours.size());
        for (uint32_t node = 0; node < names.size(); ++node)
        {
            names[node] = node;
        }
        m_network.SetNodeNames(names);
        for (uint32_t host = 1; host < m_case.hosts; ++host)
        {
            m_network.PinPath(0, host, {0, host, host / 2, 1});
        }
        m_network.Finish();
    }

    std::vector<uint32_t> DistancesTo(uint32_t host) const
    {
        std::vector<uint32_t> distances(m_neighbours.size(), UINT32_MAX);
        std::deque<uint32_t> next{host};
        distances[host] = 0;
        while (!next.empty())
        {
            const uint32_t node = next.front();
            next.pop_front();
            for (uint32_t port = 0; port < m_neighbours[node].size(); ++port)
            {
                const uint32_t neighbour = m_neighbours[node][port];
                if (m_up[m_linkOfPort[node][port]] && distances[neighbour] == UINT32_MAX)
                {
                    distances[neighbour] = distances[node] + 1;
                    next.push_back(neighbour);
                }
            }
        }
        return distances;
    }

    /// The ports of each node that lead to each host.
    using Tables = std::vector<std::vector<std::vector<uint32_t>>>;

    /// \return the tables for the links that are up
    Tables FindRoutes() const
    {
        Tables tables(m_neighbours.size());
        for (uint32_t host = 0; host < m_case.hosts; ++host)
        {
            const auto distances = DistancesTo(host);
            for (uint32_t node = m_case.hosts; node < m_neighbours.size(); ++node)
            {
                tables[node].emplace_back();
                for (uint32_t port = 0; port < m_neighbours[node].size(); ++port)
                {
                    if (m_up[m_linkOfPort[node][port]] &&
                        distances[m_neighbours[node][port]] + 1 == distances[node])
                    {
                        tables[node].back().push_back(port);
                    }
                }
            }
        }
        return tables;
    }

    void SetRoutes()
    {
        m_tables = FindRoutes();
        for (uint32_t node = m_case.hosts; node < m_neighbours.size(); ++node)
        {
            std::vector<uint32_t> offsets{0};
            std::vector<uint32_t> ports;
            for (const auto& set : m_tables[node])
            {
                ports.insert(ports.end(), set.begin(), set.end());
                offsets.push_back(static_cast<uint32_t>(ports.size()));
            }
            m_network.SetRoutes(node, offsets.data(), ports.data());
        }
    }

    void ScheduleChanges()
    {
        m_network.AddTo(m_changes);
        for (const CaseChange& change : m_case.changes)
        {
            FabricChange scheduled;
            scheduled.timePs = change.timePs;
            for (const CaseLinkState& link : change.links)
            {
                m_up[link.link] = link.up;
                scheduled.links.push_back(
                    {link.link, link.up, link.rateBps, link.delayPs, link.errorRate, link.silent});
            }
            AddSwitches(change, scheduled);
            if (change.reroutes)
            {
                scheduled.routes = TakeDifferences();
            }
            m_changes.Schedule(scheduled);
        }
    }

    /// \param change of a case \param scheduled gets what changes of switches
    void AddSwitches(const CaseChange& change, FabricChange& scheduled)
    {
        for (const auto& [number, marking] : change.markings)
        {
            const uint32_t node = m_case.hosts + number;
            for (uint32_t port = 0; port < m_network.GetNPorts(node); ++port)
            {
                scheduled.markings.push_back(
                    {node, port, marking.kminBytes, marking.kmaxBytes, marking.pmax});
            }
        }
        for (const auto& [number, memory] : change.memories)
        {
            FabricBufferState state{m_case.hosts + number,
                                    memory.bufferBytes,
                                    memory.reserveBytes,
                                    memory.resumeOffsetBytes,
                                    {}};
            for (const CasePort& port : memory.ports)
            {
                state.ports.push_back({port.headroomBytes, port.alpha});
            }
            scheduled.buffers.push_back(state);
        }
    }

    /// \return what is different in the tables since this was asked last
    std::vector<FabricRoutesDifference> TakeDifferences()
    {
        std::vector<FabricRoutesDifference> differences;
        const Tables tables = FindRoutes();
        for (uint32_t node = m_case.hosts; node < m_neighbours.size(); ++node)
        {
            FabricRoutesDifference difference;
            difference.node = node;
            difference.setOffsets = {0};
            for (uint32_t host = 0; host < m_case.hosts; ++host)
            {
                const auto& set = tables[node][host];
                if (set != m_tables[node][host])
                {
                    difference.groups.push_back(host);
                    difference.sets.push_back(
                        static_cast<uint32_t>(difference.setOffsets.size() - 1));
                    difference.setPorts.insert(difference.setPorts.end(), set.begin(), set.end());
                    difference.setOffsets.push_back(
                        static_cast<uint32_t>(difference.setPorts.size()));
                }
            }
            if (!difference.groups.empty())
            {
                differences.push_back(difference);
            }
        }
        m_tables = tables;
        return differences;
    }

    void WatchPorts()
    {
        const auto nodes = static_cast<uint32_t>(m_neighbours.size());
        std::vector<FabricReceiver*> receivers(nodes, nullptr);
        std::vector<std::tuple<Ptr<FabricPort>, uint32_t>> ends;
        for (uint32_t node = 0; node < nodes; ++node)
        {
            for (uint32_t port = 0; port < m_network.GetNPorts(node); ++port)
            {
                Trace(node, port);
                const uint32_t neighbour = m_neighbours[node][port];
                receivers[neighbour] = m_network.GetPort(node, port)->GetReceiver();
            }
        }
        for (uint32_t node = 0; node < nodes; ++node)
        {
            m_watches.push_back(
                std::make_unique<Watch>(node, receivers[node], m_case.inOrder, *this));
        }
        for (uint32_t node = 0; node < nodes; ++node)
        {
            for (uint32_t number = 0; number < m_network.GetNPorts(node); ++number)
            {
                const uint32_t neighbour = m_neighbours[node][number];
                FabricPort& port = *m_network.GetPort(node, number);
                port.Connect(m_watches[neighbour].get(),
                             port.GetReceiverPort(),
                             m_network.GetNode(neighbour)->GetId());
            }
        }
    }

    /// Log a trace source that tells a number.
    template <typename NUMBER>
    void TraceNumber(uint32_t node, uint32_t port, const char* source, LogKind kind)
    {
        m_network.GetPort(node, port)
            ->TraceConnectWithoutContext(
                source,
                Callback<void, Time, NUMBER>([this, node, port, kind](Time time, NUMBER number) {
                    Log(node, port, kind, time.GetTimeStep(), number);
                }));
    }

    /// Log a trace source that tells a packet.
    void TracePacket(uint32_t node, uint32_t port, const char* source, LogKind kind)
    {
        m_network.GetPort(node, port)
            ->TraceConnectWithoutContext(
                source,
                Callback<void, Time, Ptr<const Packet>>(
                    [this, node, port, kind](Time time, Ptr<const Packet> packet) {
                        Log(node, port, kind, time.GetTimeStep(), packet->GetSize());
                    }));
    }

    void Trace(uint32_t node, uint32_t port)
    {
        TraceNumber<uint32_t>(node, port, "Line", LogKind::LINE);
        TraceNumber<uint64_t>(node, port, "Queue", LogKind::QUEUE);
        TraceNumber<uint8_t>(node, port, "Pause", LogKind::PAUSE);
        TracePacket(node, port, "Mark", LogKind::MARK);
        TracePacket(node, port, "Drop", LogKind::DROP);
    }

    void MakeTransports()
    {
        for (uint32_t host = 0; host < m_case.hosts; ++host)
        {
            const int64_t timeoutPs = m_case.transports.front().parameters.timeoutPs;
            m_nics.push_back(std::make_unique<RoceNicPort>(m_network.GetPort(host, 0), timeoutPs));
        }
        for (const CaseTransport& transport : m_case.transports)
        {
            RoceControlParameters numbers;
            for (const auto& [name, value] : transport.controlNumbers)
            {
                numbers.Set(name, value);
            }
            RoceContext context;
            context.parameters = transport.parameters;
            context.listener = this;
            context.owner = this;
            context.accountant = this;
            context.observer = this;
            context.controls.make = [name = transport.control, numbers] {
                return MakeRoceControl(name, numbers);
            };
            context.telemetry = context.controls.make()->GetTelemetry();
            if (context.telemetry == RoceTelemetry::PATH)
            {
                m_network.MeasureUtilisation(ROUND_TRIP_PS);
            }
            m_contexts.push_back(std::move(context));
        }
    }

    RoceQueuePair& GetPair(const CaseMessage& message)
    {
        auto& pair = m_pairs[{message.sender, message.receiver, message.transport}];
        if (!pair)
        {
            RoceAddress address;
            address.senderNpu = address.senderHost = message.sender;
            address.receiverNpu = address.receiverHost = message.receiver;
            address.dataHash = 2'654'435'761U * (message.sender * 64 + message.receiver + 7);
            address.answerHash = address.dataHash ^ 0x9e3779b9;
            address.senderPort = m_nics[message.sender].get();
            address.receiverPort = PeekPointer(m_network.GetPort(message.receiver, 0));
            pair = std::make_unique<RoceQueuePair>(m_contexts[message.transport]);
            pair->Open(address, {ROUND_TRIP_PS, 40'000, 3});
        }
        return *pair;
    }

    void Post(const CaseMessage& message)
    {
        CollectiveMessage posted;
        posted.sender = message.sender;
        posted.receiver = message.receiver;
        posted.bytes = message.bytes;
        posted.startPs = NowPs();
        posted.row = m_posted++;
        GetPair(message).Post(posted);
    }

    void Send(const CaseFrame& sent)
    {
        FabricFrame* frame = FabricFramePool::Take();
        frame->flow = &m_loose;
        frame->kind = 0;
        frame->sequence = m_sent++;
        frame->source = sent.sender;
        frame->destination = sent.receiver;
        frame->flowHash = sent.flowHash;
        frame->priority = sent.priority;
        frame->ecn = sent.ecnCapable ? FabricEcn::CAPABLE_0 : FabricEcn::NOT_CAPABLE;
        frame->bufferBytes = sent.bufferBytes;
        frame->wireBytes = sent.bufferBytes + FABRIC_LINE_GAP_BYTES;
        m_network.GetPort(sent.sender, 0)->Enqueue(frame);
    }

    void LogCounters(uint32_t node, uint32_t port)
    {
        const FabricPortCounters& counters = m_network.GetPort(node, port)->GetCounters();
        for (uint64_t value : {counters.sentFrames,
                               counters.sentBytes,
                               counters.droppedFrames,
                               counters.droppedBytes,
                               counters.markedFrames,
                               counters.highestQueueBytes,
                               counters.lostFrames,
                               counters.pauses,
                               static_cast<uint64_t>(counters.pausedPs),
                               counters.pauseFrames,
                               counters.cutFrames,
                               counters.downFrames,
                               counters.downBytes,
                               counters.silentFrames})
        {
            Log(node, port, LogKind::COUNTER, m_case.limitPs, value);
        }
    }

    static constexpr int64_t ROUND_TRIP_PS = 5'000'000; // near enough to all for the controls

    const NetworkCase& m_case;                        //!< what is played
    std::vector<std::vector<uint32_t>> m_neighbours;  //!< of each node, by port
    std::vector<std::vector<uint32_t>> m_linkOfPort;  //!< of each node, by port
    std::vector<bool> m_up;                           //!< of each link, as of the last change
    Tables m_tables;                                  //!< as of then
    FabricNetwork m_network;                          //!< nodes and links
    FabricChanges m_changes;                          //!< of the network
    std::vector<std::unique_ptr<Watch>> m_watches;    //!< before each node
    LooseFrames m_loose;                              //!< owner of frames without a queue pair
    std::deque<RoceContext> m_contexts;               //!< what queue pairs share, by transport
    std::vector<std::unique_ptr<RoceNicPort>> m_nics; //!< of each host
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, std::unique_ptr<RoceQueuePair>>
        m_pairs;                              //!< by sender, receiver and transport
    std::vector<LogRow> m_log;                //!< what was seen
    std::map<uint32_t, int64_t> m_timedOutPs; //!< of each host, last timeout of a sender
    uint64_t m_timeouts{0};                   //!< timeouts so far
    uint32_t m_posted{0};                     //!< messages so far
    uint64_t m_sent{0};                       //!< frames without a queue pair so far
};
} // namespace

void
LogNote(LogKind kind, int64_t timePs)
{
    g_log->push_back({timePs, 0, StreamOf(0, 0, kind), 0});
}

std::vector<LogRow>
PlayNetworkCase(const NetworkCase& networkCase)
{
    return NetworkPlayer(networkCase).Play();
}

} // namespace astra_ns3::test
