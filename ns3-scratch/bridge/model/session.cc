// SPDX-License-Identifier: GPL-2.0-only
#include "astra-ns3-session.h"
#include "collective-executor.h"
#include "description-reader.h"
#include "fabric-builder.h"
#include "fabric-pause-watchdog.h"
#include "host-groups.h"
#include "message-router.h"
#include "recorder.h"
#include "simulation.h"
#include "transport-registry.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// \return a schedule with its columns. \param columns one after the other
CollectiveScheduleColumns
NamedColumns(CollectiveScheduleColumns schedule, const int32_t* columns)
{
    const uint64_t messages = schedule.messages;
    schedule.sender = columns;
    schedule.receiver = schedule.sender + messages;
    schedule.step = schedule.receiver + messages;
    schedule.firstBlock = schedule.step + messages;
    schedule.blockCount = schedule.firstBlock + messages;
    schedule.reduces = schedule.blockCount + messages;
    schedule.waitStep = schedule.reduces + messages;
    schedule.waitCount = schedule.waitStep + messages;
    return schedule;
}

/// \return names with a blank behind each. \param named what has them
template <typename NAMED>
std::string
NamesOf(const std::vector<NAMED>& named)
{
    std::string names;
    for (const NAMED& each : named)
    {
        names.append(each.name).append(" ");
    }
    return names;
}
} // namespace

struct Session::Parts
{
    std::unique_ptr<Simulation> simulation;                  //!< ns-3's simulator
    std::unique_ptr<FabricNetwork> fabric;                   //!< hosts, switches and links
    std::unique_ptr<Recorder> recorder;                      //!< tables, captures, counters
    std::unique_ptr<CollectiveExecutor> executor;            //!< NPUs and what they play
    std::unique_ptr<MessageRouter> router;                   //!< the transports
    std::unique_ptr<FabricPauseWatchdog> watchdog;           //!< of pauses, if asked for
    std::unique_ptr<FabricChanges> changes;                  //!< of the network, if there are any
    SessionStatistics statistics;                            //!< taken down last
    std::string counterNames;                                //!< of it
    std::vector<int64_t> counters;                           //!< of it
    std::string portCounterNames;                            //!< of it
    std::string tables;                                      //!< in words
    int64_t shortestPs{std::numeric_limits<int64_t>::max()}; //!< delay that links will have
    uint32_t cores{1};                                       //!< threads that play
    bool hostsApart{true};                                   //!< hosts may be played by themselves
    std::vector<uint32_t> hostOfNpu;                         //!< host of each NPU
    std::unique_ptr<HostGroups> hosts;                       //!< that are, if any
    bool begun{false};                                       //!< Run was called
};

SessionListener::~SessionListener() = default;

void
SessionListener::SeveralDue(const Due* dues, uint32_t count, int64_t timePs)
{
    for (const Due* due = dues; due != dues + count; ++due)
    {
        if (due->isTimer)
        {
            TimerDue(due->number, timePs);
        }
        else
        {
            PhaseDone(due->npu, due->number, timePs);
        }
    }
}

const char*
GetVersions()
{
    return ASTRA_NS3_VERSION " " ASTRA_NS3_NS3_VERSION;
}

Session*
Session::Open(const char* description, uint64_t size, uint32_t seed, SessionListener* listener)
{
    return std::make_unique<Session>(ReadDescription(description, size), seed, listener).release();
}

Session::Session(const NetworkDescription& description, uint32_t seed, SessionListener* listener)
{
    if (!listener)
    {
        throw std::invalid_argument("a session needs a listener");
    }
    CheckDescription(description);
    auto parts = std::make_unique<Parts>();
    m_parts = parts.get();
    m_parts->simulation =
        std::make_unique<Simulation>(seed, [this, listener](int64_t timePs, uint64_t events) {
            m_parts->recorder->PutInOrder();
            listener->Heartbeat(timePs, events);
        });
    try
    {
        Build(description, *listener);
    }
    catch (...)
    {
        End();
        throw;
    }
    parts.release();
}

Session::~Session()
{
    End();
    delete m_parts;
}

void
Session::Build(const NetworkDescription& description, SessionListener& listener)
{
    const auto& transports = description.transports;
    const auto entries = ListTransports();
    const bool ethernet =
        std::any_of(entries.begin(), entries.end(), [&transports](const TransportEntry& entry) {
            return entry.ethernet && std::any_of(transports.begin(),
                                                 transports.end(),
                                                 [&entry](const TransportDimension& each) {
                                                     return each.transport == entry.name;
                                                 });
        });
    m_parts->fabric = std::make_unique<FabricNetwork>();
    BuildFabric(description, *m_parts->fabric);
    m_parts->changes = ScheduleChanges(description, *m_parts->fabric);
    for (const ChangeDescription& change : description.changes)
    {
        for (uint64_t place = 0; place < change.links.count; ++place)
        {
            m_parts->shortestPs = std::min<int64_t>(m_parts->shortestPs, change.delaysPs[place]);
        }
    }
    m_parts->recorder =
        std::make_unique<Recorder>(description.observation,
                                   ethernet,
                                   *m_parts->fabric,
                                   m_parts->changes.get(),
                                   [&listener](uint32_t table) { listener.RecordsReady(table); });
    m_parts->executor =
        std::make_unique<CollectiveExecutor>(listener, *m_parts->simulation, *m_parts->recorder);
    m_parts->router = std::make_unique<MessageRouter>(TransportContext{description,
                                                                       *m_parts->fabric,
                                                                       *m_parts->recorder,
                                                                       *m_parts->executor,
                                                                       m_parts->changes.get()});
    if (m_parts->router->MayOrderByHost())
    {
        m_parts->simulation->GetSimulator().OrderByHost();
    }
    m_parts->hostOfNpu.assign(description.hostOfNpu.begin(),
                              description.hostOfNpu.end() - description.reducers);
    std::vector<uint32_t> hosts = m_parts->hostOfNpu;
    std::sort(hosts.begin(), hosts.end());
    const bool several = std::adjacent_find(hosts.begin(), hosts.end()) != hosts.end();
    m_parts->hostsApart = !several && !m_parts->changes && m_parts->router->MayPlayHostsApart();
    if (description.pauseWatchdogPs > 0 && m_parts->fabric->StopsPorts())
    {
        Watch(description.pauseWatchdogPs);
    }
    m_parts->executor->Install(description, *m_parts->fabric, *m_parts->router);
}

void
Session::Watch(int64_t limitPs)
{
    // A check that is due for a pause is scheduled when a window ends, at the latest.
    m_parts->shortestPs = std::min(m_parts->shortestPs, limitPs);
    m_parts->watchdog =
        std::make_unique<FabricPauseWatchdog>(limitPs, [this](const std::string& report) {
            m_parts->simulation->Fail(report);
        });
    for (uint32_t node = 0; node < m_parts->fabric->GetNNodes(); ++node)
    {
        for (uint32_t number = 0; number < m_parts->fabric->GetNPorts(node); ++number)
        {
            const Ptr<FabricPort> port = m_parts->fabric->GetPort(node, number);
            m_parts->watchdog->AddPort(port, port->GetName());
        }
    }
}

// The nodes of ns-3 are disposed of by the end of the simulation, for which the fabric, whose they
// are, must still be there, and what hangs on sockets must not.
void
Session::End()
{
    m_parts->simulation->Quieten();
    m_parts->watchdog.reset();
    m_parts->changes.reset();
    m_parts->router.reset();
    m_parts->simulation.reset();
}

uint32_t
Session::RegisterSchedule(uint32_t ranks,
                          uint32_t blocks,
                          uint32_t expansion,
                          uint32_t lanes,
                          uint64_t messages,
                          const int32_t* columns)
{
    return m_parts->executor->RegisterSchedule(
        NamedColumns({ranks, blocks, expansion, lanes, {}, messages}, columns));
}

uint32_t
Session::RegisterRotation(uint32_t ranks,
                          uint32_t blocks,
                          uint32_t expansion,
                          uint32_t lanes,
                          uint32_t digits,
                          uint32_t inner,
                          uint64_t rows,
                          const int32_t* columns)
{
    return m_parts->executor->RegisterSchedule(
        NamedColumns({ranks, blocks, expansion, lanes, {true, digits, inner}, rows}, columns));
}

uint32_t
Session::RegisterGroup(const uint32_t* npus, uint32_t count, int64_t delayPs, uint32_t connections)
{
    return m_parts->executor->RegisterGroup(npus, count, delayPs, connections);
}

uint32_t
Session::RegisterChannel(const uint32_t* npus,
                         uint32_t count,
                         const uint32_t* servers,
                         const uint64_t* costs)
{
    return m_parts->executor->RegisterChannel(npus, count, servers, costs);
}

void
Session::SetGroupPriority(uint32_t group, uint32_t priority)
{
    m_parts->executor->SetPriority(group, priority);
}

void
Session::Abandon(uint64_t begin, uint64_t end)
{
    m_parts->executor->Abandon(begin, end);
}

void
Session::Launch(uint32_t npu, uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes)
{
    m_parts->executor->Launch(npu, instance, schedule, group, bytes);
}

void
Session::LaunchAll(const uint64_t* rows, uint32_t count)
{
    constexpr std::size_t WIDTH = 5;
    for (const uint64_t* row = rows; row != rows + count * WIDTH; row += WIDTH)
    {
        m_parts->executor->Launch(static_cast<uint32_t>(row[0]),
                                  row[3],
                                  static_cast<uint32_t>(row[1]),
                                  static_cast<uint32_t>(row[2]),
                                  row[4]);
    }
}

void
Session::SetTimer(uint32_t npu, int64_t delayPs, uint64_t token)
{
    m_parts->executor->SetTimer(npu, delayPs, token);
}

uint32_t
Session::OpenFlows(uint32_t schedule,
                   uint64_t firstInstance,
                   uint32_t tenantBit,
                   uint32_t connections,
                   uint32_t priority,
                   uint64_t token,
                   const uint32_t* measured,
                   uint32_t count)
{
    return m_parts->executor->OpenFlows({schedule,
                                         firstInstance,
                                         tenantBit,
                                         connections,
                                         priority,
                                         token,
                                         {measured, measured + count}});
}

void
Session::AddFlows(uint32_t player,
                  uint32_t count,
                  const uint32_t* places,
                  const int64_t* numbers,
                  bool last)
{
    const FlowListPlayer::Columns columns{places,
                                          places + count,
                                          numbers,
                                          numbers + count,
                                          places + 2 * std::size_t{count}};
    m_parts->executor->GetFlows(player).Add(columns, count, last);
}

void
Session::BeginFlows(uint32_t player)
{
    m_parts->executor->GetFlows(player).Begin();
}

void
Session::StopFlows(uint32_t player)
{
    m_parts->executor->GetFlows(player).Stop();
}

uint64_t
Session::CountDeliveredFlows(uint32_t player) const
{
    return m_parts->executor->GetFlows(player).GetDelivered().size();
}

const int64_t*
Session::GetFlowStarts(uint32_t player) const
{
    return m_parts->executor->GetFlows(player).GetStarts().data();
}

const int64_t*
Session::GetFlowEnds(uint32_t player) const
{
    return m_parts->executor->GetFlows(player).GetEnds().data();
}

const int64_t*
Session::GetDeliveredFlows(uint32_t player) const
{
    return m_parts->executor->GetFlows(player).GetDelivered().data();
}

uint64_t
Session::CountFlowCurve(uint32_t player) const
{
    return m_parts->executor->GetFlows(player).GetCurve().size() / 2;
}

const int64_t*
Session::GetFlowCurve(uint32_t player) const
{
    return m_parts->executor->GetFlows(player).GetCurve().data();
}

void
Session::UseCores(uint32_t cores)
{
    m_parts->cores = std::max<uint32_t>(cores, 1);
}

void
Session::KeepHostsTogether()
{
    m_parts->hostsApart = false;
}

uint32_t
Session::GetCores() const
{
    return m_parts->cores;
}

std::string
Session::DescribeOneCore() const
{
    return m_parts->fabric->DescribeOneCore();
}

uint32_t
Session::Run(int64_t limitPs)
{
    if (!m_parts->begun)
    {
        FabricSimulator& simulator = m_parts->simulation->GetSimulator();
        const bool hostsApart = m_parts->hostsApart &&
                                (m_parts->cores == 1 || m_parts->router->MayPlayHostsOnThreads());
        const FabricNetwork::Windows windows = m_parts->fabric->PlayInWindows(simulator,
                                                                              m_parts->shortestPs,
                                                                              m_parts->cores,
                                                                              hostsApart);
        m_parts->cores = windows.cores;
        if (windows.hostsApart)
        {
            m_parts->hosts = std::make_unique<HostGroups>(windows,
                                                          m_parts->hostOfNpu,
                                                          *m_parts->fabric,
                                                          *m_parts->executor,
                                                          *m_parts->router);
            Recorder* const recorder = m_parts->recorder.get();
            simulator.PlayHostsApart(windows.groups,
                                     m_parts->hosts->GetAll(),
                                     [recorder](int64_t timePs) { recorder->TakeIn(timePs); });
        }
    }
    m_parts->begun = true;
    return m_parts->simulation->Run(limitPs);
}

void
Session::Stop()
{
    m_parts->simulation->Stop();
}

void
Session::ShowTimeAt(uint64_t address)
{
    m_parts->simulation->ShowTime(reinterpret_cast<int64_t*>(address));
}

int64_t
Session::GetNowPs() const
{
    return Simulator::Now().GetTimeStep();
}

const char*
Session::GetFailure() const
{
    return m_parts->simulation->GetFailure().c_str();
}

TransportFailure
Session::GetTransportFailure(uint32_t number) const
{
    return m_parts->executor->GetTransportFailure(number);
}

uint32_t
Session::CountPending(uint32_t npu, uint64_t instance)
{
    return m_parts->executor->CountPending(npu, instance);
}

PendingMessage
Session::GetPending(uint32_t index) const
{
    return m_parts->executor->GetPending(index);
}

const SessionStatistics&
Session::GetStatistics(bool exact)
{
    SessionStatistics& statistics = m_parts->statistics;
    statistics = {};
    statistics.ports = m_parts->recorder->CountPorts(exact);
    statistics.portCounters = m_parts->recorder->GetPortNumbers().data();
    statistics.events = m_parts->simulation->GetEvents();
    statistics.messages = m_parts->executor->GetMessages();
    statistics.deliveredBytes = m_parts->executor->GetDeliveredBytes();
    statistics.packets = m_parts->fabric->GetReceivedPackets();
    statistics.unroutedFrames = m_parts->fabric->CountUnroutedFrames();
    statistics.pauseStorms = m_parts->watchdog ? m_parts->watchdog->GetStorms() : 0;
    m_parts->router->AddTo(statistics);
    const auto counted = m_parts->router->GetCounters();
    m_parts->counterNames = NamesOf(counted);
    m_parts->counters.clear();
    for (const TransportCounter& counter : counted)
    {
        m_parts->counters.push_back(static_cast<int64_t>(counter.value));
    }
    m_parts->portCounterNames = NamesOf(m_parts->recorder->GetPortCounters());
    statistics.counterNames = m_parts->counterNames.c_str();
    statistics.counters = m_parts->counters.data();
    statistics.portCounterNames = m_parts->portCounterNames.c_str();
    return statistics;
}

uint64_t
Session::GetSentBytes(uint32_t npu) const
{
    return m_parts->executor->GetSentBytes(npu);
}

uint64_t
Session::GetDeliveredBytes() const
{
    return m_parts->executor->GetDeliveredBytes();
}

uint64_t
Session::GetDeliveredBytesOf(const uint32_t* npus, uint32_t count) const
{
    uint64_t bytes = 0;
    for (const uint32_t* npu = npus; npu != npus + count; ++npu)
    {
        bytes += m_parts->executor->GetDeliveredBytes(*npu);
    }
    return bytes;
}

std::string
Session::DescribeLongestPause() const
{
    return m_parts->watchdog ? m_parts->watchdog->DescribeLongest() : "";
}

uint32_t
Session::GetNs3NodeId(uint32_t node) const
{
    return m_parts->fabric->GetNode(node)->GetId();
}

const char*
Session::DescribeTables() const
{
    m_parts->tables.clear();
    for (uint32_t number = 0; number < m_parts->recorder->GetNTables(); ++number)
    {
        const RecordTable& table = m_parts->recorder->GetTable(number);
        m_parts->tables += table.GetName();
        for (const std::string& column : table.GetColumnNames())
        {
            m_parts->tables += " " + column;
        }
        m_parts->tables += '\n';
    }
    return m_parts->tables.c_str();
}

uint64_t
Session::GetRecordRows(uint32_t table) const
{
    return m_parts->recorder->GetTable(table).GetRows();
}

const int64_t*
Session::GetRecordColumn(uint32_t table, uint32_t column) const
{
    return m_parts->recorder->GetTable(table).GetColumn(column);
}

void
Session::FlushRecords()
{
    m_parts->recorder->Flush();
}

void
Session::HandOverRecords()
{
    m_parts->recorder->HandOver();
}

uint32_t
Session::CloseCaptures()
{
    return m_parts->recorder->CloseCaptures();
}

std::string
Session::GetFailedCapture(uint32_t index) const
{
    return m_parts->recorder->GetFailedCapture(index);
}

} // namespace astra_ns3
