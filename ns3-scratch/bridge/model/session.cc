// SPDX-License-Identifier: GPL-2.0-only
#include "astra-ns3-session.h"
#include "collective-executor.h"
#include "element-of.h"
#include "fabric-builder.h"
#include "fabric-pause-watchdog.h"
#include "message-router.h"
#include "recorder.h"
#include "simulation.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <stdexcept>

namespace astra_ns3
{

using namespace ns3;

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

Session::Session(const NetworkDescription& description, uint32_t seed, SessionListener* listener)
{
    if (!listener)
    {
        throw std::invalid_argument("a session needs a listener");
    }
    CheckDescription(description);
    m_simulation = std::make_unique<Simulation>(seed, [listener](int64_t timePs, uint64_t events) {
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
}

Session::~Session()
{
    End();
}

void
Session::Build(const NetworkDescription& description, SessionListener& listener)
{
    const auto& transports = description.transports;
    const bool ethernet =
        std::any_of(transports.begin(), transports.end(), [](const TransportDimension& each) {
            return each.transport == "roce";
        });
    m_fabric = std::make_unique<FabricNetwork>();
    BuildFabric(description, *m_fabric);
    m_recorder =
        std::make_unique<Recorder>(description.observation,
                                   ethernet,
                                   *m_fabric,
                                   [&listener](uint32_t table) { listener.RecordsReady(table); });
    m_executor = std::make_unique<CollectiveExecutor>(listener, *m_simulation, *m_recorder);
    m_router = std::make_unique<MessageRouter>(
        TransportContext{description, *m_fabric, *m_recorder, *m_executor});
    if (description.pauseWatchdogPs > 0 && m_fabric->HasPfc())
    {
        Watch(description.pauseWatchdogPs);
    }
    m_executor->Install(description, *m_fabric, *m_router);
}

void
Session::Watch(int64_t limitPs)
{
    m_watchdog = std::make_unique<FabricPauseWatchdog>(limitPs, [this](const std::string& report) {
        m_simulation->Fail(report);
    });
    for (uint32_t node = 0; node < m_fabric->GetNNodes(); ++node)
    {
        for (uint32_t number = 0; number < m_fabric->GetNPorts(node); ++number)
        {
            const Ptr<FabricPort> port = m_fabric->GetPort(node, number);
            m_watchdog->AddPort(port, port->GetName());
        }
    }
}

// The nodes of ns-3 are disposed of by the end of the simulation, for which the fabric, whose they
// are, must still be there, and what hangs on sockets must not.
void
Session::End()
{
    m_simulation->Quieten();
    m_watchdog.reset();
    m_router.reset();
    m_simulation.reset();
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
    return m_executor->RegisterSchedule(named);
}

uint32_t
Session::RegisterGroup(const uint32_t* npus, uint32_t count)
{
    return m_executor->RegisterGroup(npus, count);
}

void
Session::Launch(uint32_t npu, uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes)
{
    m_executor->Launch(npu, instance, schedule, group, bytes);
}

void
Session::SetTimer(uint32_t npu, int64_t delayPs, uint64_t token)
{
    m_executor->SetTimer(npu, delayPs, token);
}

uint32_t
Session::Run(int64_t limitPs)
{
    return m_simulation->Run(limitPs);
}

void
Session::Stop()
{
    m_simulation->Stop();
}

void
Session::ShowTimeAt(uint64_t address)
{
    m_simulation->ShowTime(reinterpret_cast<int64_t*>(address));
}

int64_t
Session::GetNowPs() const
{
    return Simulator::Now().GetTimeStep();
}

const char*
Session::GetFailure() const
{
    return m_simulation->GetFailure().c_str();
}

uint32_t
Session::CountPending(uint32_t npu, uint64_t instance)
{
    return m_executor->CountPending(npu, instance);
}

PendingMessage
Session::GetPending(uint32_t index) const
{
    return m_executor->GetPending(index);
}

SessionStatistics
Session::GetStatistics() const
{
    SessionStatistics statistics;
    statistics.events = m_simulation->GetEvents();
    statistics.messages = m_executor->GetMessages();
    statistics.deliveredBytes = m_executor->GetDeliveredBytes();
    statistics.packets = m_fabric->GetReceivedPackets();
    statistics.pauseStorms = m_watchdog ? m_watchdog->GetStorms() : 0;
    m_router->AddTo(statistics);
    return statistics;
}

uint64_t
Session::GetSentBytes(uint32_t npu) const
{
    return m_executor->GetSentBytes(npu);
}

uint64_t
Session::GetDeliveredBytes() const
{
    return m_executor->GetDeliveredBytes();
}

std::string
Session::DescribeLongestPause() const
{
    return m_watchdog ? m_watchdog->DescribeLongest() : "";
}

uint32_t
Session::CountPortCounters() const
{
    return static_cast<uint32_t>(m_recorder->GetPortCounters().size());
}

std::string
Session::GetPortCounterName(uint32_t counter) const
{
    return ElementOf(m_recorder->GetPortCounters(), counter, "counter").name;
}

uint32_t
Session::CountPorts(bool exact)
{
    return m_recorder->CountPorts(exact);
}

const int64_t*
Session::GetPortNumbers() const
{
    return m_recorder->GetPortNumbers().data();
}

uint32_t
Session::GetNs3NodeId(uint32_t node) const
{
    return m_fabric->GetNode(node)->GetId();
}

uint32_t
Session::CountRecordTables() const
{
    return m_recorder->GetNTables();
}

std::string
Session::GetRecordTableName(uint32_t table) const
{
    return m_recorder->GetTable(table).GetName();
}

uint32_t
Session::CountRecordColumns(uint32_t table) const
{
    return static_cast<uint32_t>(m_recorder->GetTable(table).GetColumnNames().size());
}

std::string
Session::GetRecordColumnName(uint32_t table, uint32_t column) const
{
    return ElementOf(m_recorder->GetTable(table).GetColumnNames(), column, "column");
}

uint64_t
Session::GetRecordRows(uint32_t table) const
{
    return m_recorder->GetTable(table).GetRows();
}

const int64_t*
Session::GetRecordColumn(uint32_t table, uint32_t column) const
{
    return m_recorder->GetTable(table).GetColumn(column);
}

void
Session::FlushRecords()
{
    m_recorder->Flush();
}

void
Session::HandOverRecords()
{
    m_recorder->HandOver();
}

uint32_t
Session::CloseCaptures()
{
    return m_recorder->CloseCaptures();
}

std::string
Session::GetFailedCapture(uint32_t index) const
{
    return m_recorder->GetFailedCapture(index);
}

} // namespace astra_ns3
