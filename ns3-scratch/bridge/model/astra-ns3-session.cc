// SPDX-License-Identifier: GPL-2.0-only
#include "astra-ns3-session.h"

#include "analytical-network.h"
#include "collective-application.h"
#include "fabric-network.h"
#include "fabric-scheduler.h"
#include "formula-message-transport.h"
#include "heartbeat.h"
#include "local-message-transport.h"
#include "probes.h"
#include "queued-message-transport.h"
#include "record-table.h"
#include "tcp-message-transport.h"
#include "tcp-stack.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/names.h"
#include "ns3/object-factory.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/pointer.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <stdexcept>
#include <vector>

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr int NS3_FAILED_STATUS = 5; // exit status of the command line for it

/// ns-3 has printed what is wrong and ends the process: do so at once, without taking half a
/// simulation apart.
[[noreturn]] void
EndProcess()
{
    std::fputs("astra-ns3: error: ns-3 ended the process; its message stands above\n", stderr);
    std::fflush(stderr);
    std::_Exit(NS3_FAILED_STATUS);
}

bool g_live = false;                    //!< a session exists: ns-3 has one simulator per process
constexpr uint32_t LINK_TYPE_RAW = 101; // pcap: packets begin with the IP header
constexpr uint32_t PCAP_BYTES = 96;     // of each packet: IP and TCP headers with all options

/**
 * \param list the list
 * \param index place in it
 * \param what name of what it holds
 * \return the element
 * \throw std::invalid_argument if there is none
 */
template <typename LIST>
auto&
ElementOf(LIST& list, std::size_t index, const char* what)
{
    if (index >= list.size())
    {
        throw std::invalid_argument(std::string("there is no ") + what + " " +
                                    std::to_string(index));
    }
    return list[index];
}
} // namespace

SessionListener::~SessionListener() = default;

const char*
GetLibraryVersion()
{
    return ASTRA_NS3_VERSION;
}

const char*
GetNs3Version()
{
    return ASTRA_NS3_NS3_VERSION;
}

/// Everything behind the facade; the members of Session that only pass on are not documented again.
class Session::Implementation : public MessageListener, public PhaseListener
{
  public:
    explicit Implementation(uint32_t seed)
    {
        if (g_live)
        {
            throw std::invalid_argument("there is a live session already: close it first");
        }
        if (seed == 0)
        {
            throw std::invalid_argument("the seed must be above 0");
        }
        g_live = true;
        oldTerminate = std::set_terminate(&EndProcess);
        if (Time::GetResolution() != Time::PS)
        {
            Time::SetResolution(
                Time::PS); // ns-3 allows it once per process, before its first simulation
        }
        ObjectFactory scheduler;
        scheduler.SetTypeId(FabricScheduler::GetTypeId());
        scheduler.Set("Monitor", PointerValue(eventList));
        Simulator::SetScheduler(scheduler);
        RngSeedManager::SetSeed(seed);
        RngSeedManager::SetRun(1);
        for (uint32_t table = 0; table < RECORD_TABLES; ++table)
        {
            tables[table].SetReady([this, table] { listener->RecordsReady(table); });
        }
    }

    ~Implementation() override
    {
        heartbeat.reset();
        connectionProbes.clear();
        remote.reset();
        Simulator::Destroy();
        Config::Reset();
        RngSeedManager::ResetNextStreamIndex();
        Names::Clear();
        std::set_terminate(oldTerminate);
        g_live = false;
    }

    // The nodes of ns-3 outlive this object's other members only until Simulator::Destroy above has
    // run.
    void Build(SessionListener* newListener)
    {
        if (listener || !newListener)
        {
            throw std::invalid_argument("Build is called once, with a listener");
        }
        if (!tcp && analyticalDimensions.empty() && network.GetNHosts() > 1)
        {
            throw std::invalid_argument("there are several hosts and no transport between them");
        }
        for (uint32_t host = 0; tcp && host < network.GetNHosts(); ++host)
        {
            if (network.GetNPorts(host) == 0)
            {
                throw std::invalid_argument("host " + std::to_string(host) + " has no link");
            }
        }
        listener = newListener;
        network.AssignStreams(1);
        if (tcp)
        {
            SetTcpDefaults(*tcp);
            network.SetMtu(tcp->mtuBytes);
            InstallTcpStack(network.GetHosts(), FabricNetwork::BASE_ADDRESS);
            auto transport = std::make_unique<TcpMessageTransport>(*this,
                                                                   network.GetHosts(),
                                                                   hostOfNpu,
                                                                   tcp->acknowledged);
            transport->SetOpenedCallback([this](const TcpConnection& connection) {
                connectionProbes.push_back(
                    std::make_unique<ConnectionProbe>(tables[CONNECTION_RECORDS],
                                                      connectionQuantities,
                                                      TimeStep(tcp->connectTimeoutPs),
                                                      connection));
            });
            tcpTransport = transport.get();
            remote = std::move(transport);
        }
        if (!analyticalDimensions.empty())
        {
            BuildAnalytical();
        }
        local = std::make_unique<LocalMessageTransport>(hostOfNpu.size(),
                                                        localRateBps,
                                                        localDelayPs,
                                                        *this);
        for (uint32_t npu = 0; npu < hostOfNpu.size(); ++npu)
        {
            Ptr<CollectiveApplication> application = CreateObject<CollectiveApplication>();
            application->Configure(npu, endpoint, &router, this);
            network.GetNode(hostOfNpu[npu])->AddApplication(application);
            applications.push_back(application);
        }
    }

    /// Make the analytical network in place of packets.
    void BuildAnalytical()
    {
        grid = std::make_unique<AnalyticalGrid>(analyticalDimensions);
        if (grid->GetNpus() != hostOfNpu.size())
        {
            throw std::invalid_argument("the analytical network has " +
                                        std::to_string(grid->GetNpus()) + " NPUs, not " +
                                        std::to_string(hostOfNpu.size()));
        }
        if (analyticalQueues)
        {
            remote = std::make_unique<QueuedMessageTransport>(*grid, *this);
        }
        else
        {
            remote = std::make_unique<FormulaMessageTransport>(*grid, formula, *this);
        }
    }

    void MessageArrived(const CollectiveMessage& message) override
    {
        if (recordFlows)
        {
            tables[FLOW_RECORDS].Append<7>({message.sender,
                                            message.receiver,
                                            static_cast<int64_t>(message.bytes),
                                            message.startPs,
                                            Simulator::Now().GetTimeStep(),
                                            static_cast<int64_t>(message.instance),
                                            message.row});
        }
        applications[message.receiver]->Receive(message);
    }

    void TransportFailed(const char* reason) override
    {
        if (failure.empty())
        {
            failure = reason;
        }
        Simulator::Stop();
    }

    void PhaseDone(uint32_t npu, uint64_t instance) override
    {
        listener->PhaseDone(npu, instance, Simulator::Now().GetTimeStep());
    }

    /// The limit on simulated time is reached, unless nothing else was left to happen.
    void ReachLimit()
    {
        if (heartbeat->IsPosted())
        {
            limit = Simulator::ScheduleNow(&Implementation::ReachLimit, this);
            return;
        }
        if (eventList->HasLiveEvents())
        {
            limitReached = true;
            Simulator::Stop();
        }
    }

    uint64_t GetEvents() const
    {
        return Simulator::GetEventCount() - eventList->GetPlaceholders() -
               (heartbeat ? heartbeat->GetPlayed() : 0);
    }

    /// Sends what stays in a host to the local transport, the rest over the network.
    class Router : public MessageTransport
    {
      public:
        explicit Router(Implementation& session)
            : m_session(session)
        {
        }

        void Send(const CollectiveMessage& message) override
        {
            const auto& hosts = m_session.hostOfNpu;
            const bool sameHost = hosts[message.sender] == hosts[message.receiver];
            (sameHost ? *m_session.local : *m_session.remote).Send(message);
        }

      private:
        Implementation& m_session; //!< owner
    };

    Ptr<FabricSchedulerMonitor> eventList{CreateObject<FabricSchedulerMonitor>()};
    std::terminate_handler oldTerminate{nullptr};
    SessionListener* listener{nullptr};
    FabricNetwork network;
    std::vector<uint32_t> hostOfNpu;
    std::optional<TcpParameters> tcp;
    std::vector<AnalyticalDimension> analyticalDimensions;
    bool analyticalQueues{false};
    FormulaMessageTransport::Options formula;
    std::unique_ptr<AnalyticalGrid> grid;
    uint64_t localRateBps{2'400'000'000'000};
    int64_t localDelayPs{100'000};
    EndpointCosts endpoint;
    Router router{*this};
    std::unique_ptr<MessageTransport> remote;
    TcpMessageTransport* tcpTransport{nullptr};
    std::unique_ptr<LocalMessageTransport> local;
    std::vector<Ptr<CollectiveApplication>> applications;
    std::vector<std::shared_ptr<const CollectiveSchedule>> schedules;
    std::vector<std::shared_ptr<const CollectiveGroup>> groups;
    std::array<RecordTable, RECORD_TABLES> tables;
    bool recordFlows{false};
    uint32_t connectionQuantities{0};
    std::vector<std::unique_ptr<ConnectionProbe>> connectionProbes;
    std::vector<std::unique_ptr<QueueProbe>> queueProbes;
    std::vector<Ptr<PcapFileWrapper>> captures;
    std::unique_ptr<Heartbeat> heartbeat;
    std::string failure;
    EventId limit;
    bool limitReached{false};
    bool stopped{false};
    std::vector<CollectiveApplication::Pending> pending;
};

Session::Session(uint32_t seed)
    : m_implementation(std::make_unique<Implementation>(seed))
{
}

Session::~Session() = default;

void
Session::AddHosts(uint32_t count)
{
    m_implementation->network.AddHosts(count);
}

void
Session::AddSwitch(uint64_t bufferBytes, uint32_t hashSeed)
{
    m_implementation->network.AddSwitch(bufferBytes, hashSeed);
}

void
Session::UseMarking(uint64_t kminBytes, uint64_t kmaxBytes, double pmax)
{
    m_implementation->network.UseMarking(kminBytes, kmaxBytes, pmax);
}

void
Session::SetNicBuffer(uint64_t bytes)
{
    m_implementation->network.SetNicBuffer(bytes);
}

void
Session::AddLink(uint32_t nodeA, uint32_t nodeB, uint64_t rateBps, int64_t delayPs)
{
    m_implementation->network.AddLink(nodeA, nodeB, rateBps, delayPs);
}

void
Session::SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports)
{
    m_implementation->network.SetRoutes(node, offsets, ports);
}

void
Session::SetNpus(const uint32_t* hostOfNpu, uint32_t count)
{
    m_implementation->hostOfNpu.assign(hostOfNpu, hostOfNpu + count);
    for (uint32_t host : m_implementation->hostOfNpu)
    {
        if (host >= m_implementation->network.GetNHosts())
        {
            throw std::invalid_argument("there is no host " + std::to_string(host));
        }
    }
}

void
Session::UseTcp(const TcpParameters& parameters)
{
    m_implementation->tcp = parameters;
}

void
Session::AddAnalyticalDimension(const AnalyticalDimensionParameters& parameters)
{
    if (parameters.topology > static_cast<uint32_t>(AnalyticalTopology::SWITCH))
    {
        throw std::invalid_argument("there is no analytical topology " +
                                    std::to_string(parameters.topology));
    }
    m_implementation->analyticalDimensions.push_back(
        {static_cast<AnalyticalTopology>(parameters.topology),
         parameters.npus,
         parameters.bytesPerNs,
         parameters.linkLatencyNs,
         parameters.nicLatencyNs,
         parameters.routerLatencyNs,
         parameters.memoryLatencyNs,
         parameters.memoryBytesPerNs,
         parameters.memoryScale});
}

void
Session::UseAnalyticalQueues()
{
    m_implementation->analyticalQueues = true;
}

void
Session::SetFormula(bool highestDimensionOnly, bool truncate, uint64_t rendezvousBytes)
{
    m_implementation->formula = {highestDimensionOnly, truncate, rendezvousBytes};
}

void
Session::SetLocal(uint64_t rateBps, int64_t delayPs)
{
    m_implementation->localRateBps = rateBps;
    m_implementation->localDelayPs = delayPs;
}

void
Session::SetEndpoint(int64_t delayPs, uint64_t reductionBytesPerNs)
{
    m_implementation->endpoint = {delayPs, reductionBytesPerNs};
}

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
    file->Init(LINK_TYPE_RAW, PCAP_BYTES);
    m_implementation->captures.push_back(file);
    m_implementation->network.GetPort(node, port)
        ->TraceConnectWithoutContext(
            "Transmit",
            Callback<void, Time, Ptr<const Packet>>(
                [file](Time time, Ptr<const Packet> packet) { file->Write(time, packet); }));
}

void
Session::Build(SessionListener* listener)
{
    m_implementation->Build(listener);
}

uint32_t
Session::RegisterSchedule(uint32_t ranks,
                          uint32_t blocks,
                          uint32_t expansion,
                          uint64_t messages,
                          const int32_t* columns)
{
    CollectiveScheduleColumns named;
    named.ranks = ranks;
    named.blocks = blocks;
    named.expansion = expansion;
    named.messages = messages;
    named.sender = columns;
    named.receiver = named.sender + messages;
    named.step = named.receiver + messages;
    named.firstBlock = named.step + messages;
    named.blockCount = named.firstBlock + messages;
    named.reduces = named.blockCount + messages;
    named.waitStep = named.reduces + messages;
    named.waitCount = named.waitStep + messages;
    m_implementation->schedules.push_back(std::make_shared<CollectiveSchedule>(named));
    return m_implementation->schedules.size() - 1;
}

uint32_t
Session::RegisterGroup(const uint32_t* npus, uint32_t count)
{
    auto group = std::make_shared<CollectiveGroup>();
    group->members.assign(npus, npus + count);
    for (uint32_t rank = 0; rank < count; ++rank)
    {
        if (npus[rank] >= m_implementation->applications.size() ||
            !group->rankOfMember.emplace(npus[rank], rank).second)
        {
            throw std::invalid_argument("group: there is no NPU " + std::to_string(npus[rank]) +
                                        ", or it is in it twice");
        }
    }
    m_implementation->groups.push_back(group);
    return m_implementation->groups.size() - 1;
}

void
Session::Launch(uint32_t npu, uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes)
{
    const auto& played = ElementOf(m_implementation->schedules, schedule, "schedule");
    const auto& players = ElementOf(m_implementation->groups, group, "group");
    if (players->members.size() != played->GetRanks() || players->rankOfMember.count(npu) == 0)
    {
        throw std::invalid_argument("launch: the group has not the schedule's ranks, or NPU " +
                                    std::to_string(npu) + " is not in it");
    }
    ElementOf(m_implementation->applications, npu, "NPU")->Launch(instance, played, players, bytes);
}

void
Session::SetTimer(uint32_t npu, int64_t delayPs, uint64_t token)
{
    const uint32_t context =
        ElementOf(m_implementation->applications, npu, "NPU")->GetNode()->GetId();
    SessionListener* listener = m_implementation->listener;
    Simulator::ScheduleWithContext(context, TimeStep(delayPs), [listener, token] {
        listener->TimerDue(token, Simulator::Now().GetTimeStep());
    });
}

uint32_t
Session::Run(int64_t limitPs)
{
    Implementation& session = *m_implementation;
    if (!session.listener)
    {
        throw std::invalid_argument("Run is called after Build");
    }
    if (!session.heartbeat)
    {
        session.heartbeat = std::make_unique<Heartbeat>([&session] {
            session.listener->Heartbeat(Simulator::Now().GetTimeStep(), session.GetEvents());
        });
    }
    session.stopped = false;
    session.limitReached = false;
    session.limit = EventId();
    if (limitPs >= 0)
    {
        session.limit = Simulator::Schedule(TimeStep(limitPs) - Simulator::Now(),
                                            &Implementation::ReachLimit,
                                            m_implementation.get());
    }
    Simulator::Run();
    session.limit.Cancel();
    if (!session.failure.empty())
    {
        return RUN_FAILED;
    }
    if (session.limitReached)
    {
        return RUN_LIMIT;
    }
    if (session.stopped)
    {
        return RUN_STOPPED;
    }
    return session.eventList->HasLiveEvents() ? RUN_HALTED : RUN_DRAINED;
}

void
Session::Stop()
{
    m_implementation->stopped = true;
    Simulator::Stop();
}

int64_t
Session::GetNowPs() const
{
    return Simulator::Now().GetTimeStep();
}

uint64_t
Session::GetEvents() const
{
    return m_implementation->GetEvents();
}

const char*
Session::GetFailure() const
{
    return m_implementation->failure.c_str();
}

uint32_t
Session::CountPending(uint32_t npu, uint64_t instance)
{
    m_implementation->pending =
        ElementOf(m_implementation->applications, npu, "NPU")->GetPending(instance);
    return m_implementation->pending.size();
}

PendingMessage
Session::GetPending(uint32_t index) const
{
    const auto& message = ElementOf(m_implementation->pending, index, "pending message");
    return {message.sender, message.receiver, message.step, message.bytes, message.sent};
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
            counters.highestQueueBytes};
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
Session::GetPackets() const
{
    return m_implementation->network.GetReceivedPackets();
}

uint64_t
Session::GetRetransmissions() const
{
    uint64_t retransmissions = 0;
    for (const auto& probe : m_implementation->connectionProbes)
    {
        retransmissions += probe->GetRetransmissions();
    }
    return retransmissions;
}

uint64_t
Session::GetTimeouts() const
{
    uint64_t timeouts = 0;
    for (const auto& probe : m_implementation->connectionProbes)
    {
        timeouts += probe->GetTimeouts();
    }
    return timeouts;
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
    for (auto& table : m_implementation->tables)
    {
        table.Flush();
    }
}

} // namespace astra_ns3
