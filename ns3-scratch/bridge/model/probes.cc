// SPDX-License-Identifier: GPL-2.0-only
#include "probes.h"

#include "session-parameters.h"

#include "ns3/simulator.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-base.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// Write the rows before a time in order of time, node and port, and keep the others.
void
WriteInOrder(std::vector<PortRow>& rows, int64_t beforePs, PortTable& table)
{
    const auto end =
        std::stable_partition(rows.begin(), rows.end(), [beforePs](const PortRow& row) {
            return row.timePs < beforePs;
        });
    std::stable_sort(rows.begin(), end, [](const PortRow& one, const PortRow& other) {
        return std::tie(one.timePs, one.node, one.port) <
               std::tie(other.timePs, other.node, other.port);
    });
    for (auto row = rows.begin(); row != end; ++row)
    {
        table.Append(*row);
    }
    rows.erase(rows.begin(), end);
}
} // namespace

QueueRecord::QueueRecord(PortTable& table, int64_t intervalPs)
    : m_table(table),
      m_intervalPs(intervalPs)
{
}

void
QueueRecord::Observe(FabricPort& port)
{
    m_probes.push_back(std::make_unique<Probe>(*this, port));
    port.TraceConnectWithoutContext("Queue", MakeCallback(&Probe::Changed, m_probes.back().get()));
}

void
QueueRecord::Write(int64_t nowPs)
{
    for (const auto& probe : m_probes)
    {
        probe->Settle(nowPs - 1);
        probe->Flush(nowPs - 1);
    }
    WriteInOrder(m_kept, nowPs, m_table);
}

void
QueueRecord::Flush(int64_t nowPs)
{
    for (const auto& probe : m_probes)
    {
        probe->Flush(nowPs);
    }
    WriteInOrder(m_kept, std::numeric_limits<int64_t>::max(), m_table);
}

QueueRecord::Probe::Probe(QueueRecord& record, FabricPort& port)
    : m_record(record),
      m_port(&port)
{
}

void
QueueRecord::Probe::Sample(int64_t timePs)
{
    if (m_queueBytes != m_reported)
    {
        const auto& [node, number] = m_port->GetPlace();
        m_record.m_kept.push_back({timePs, node, number, m_queueBytes});
        m_reported = m_queueBytes;
    }
}

void
QueueRecord::Probe::Changed(Time time, uint64_t queueBytes)
{
    const int64_t timePs = time.GetTimeStep();
    if (m_record.m_intervalPs > 0)
    {
        // A change at a sampling instant belongs to that sample.
        Flush(timePs - 1);
    }
    m_changedPs = timePs;
    m_queueBytes = static_cast<int64_t>(queueBytes);
    if (m_record.m_intervalPs == 0)
    {
        Sample(timePs);
    }
}

void
QueueRecord::Probe::Flush(int64_t nowPs)
{
    const int64_t intervalPs = m_record.m_intervalPs;
    if (intervalPs == 0)
    {
        return;
    }
    // The first multiple at or after the last change is the only one that can show anything new.
    const int64_t samplePs = (m_changedPs + intervalPs - 1) / intervalPs * intervalPs;
    if (samplePs <= nowPs)
    {
        Sample(samplePs);
    }
}

void
QueueRecord::Probe::Settle(int64_t nowPs)
{
    m_port->Settle(nowPs);
}

UtilisationRecord::UtilisationRecord(PortTable& table,
                                     const TellingDelay& delay,
                                     int64_t intervalPs)
    : m_table(table),
      m_delay(delay),
      m_intervalPs(intervalPs)
{
}

void
UtilisationRecord::Observe(FabricPort& port)
{
    const auto& [node, number] = port.GetPlace();
    m_probes.push_back(std::make_unique<Probe>(*this, node, number));
    port.TraceConnectWithoutContext("Line", MakeCallback(&Probe::Sent, m_probes.back().get()));
}

void
UtilisationRecord::Flush()
{
    Write(std::numeric_limits<int64_t>::max());
}

void
UtilisationRecord::Write(int64_t untilPs)
{
    if (untilPs / m_intervalPs <= m_written)
    {
        return;
    }
    if (untilPs < std::numeric_limits<int64_t>::max())
    {
        m_written = untilPs / m_intervalPs;
    }
    for (const auto& probe : m_probes)
    {
        probe->Report(untilPs);
    }
    WriteInOrder(m_kept,
                 untilPs < std::numeric_limits<int64_t>::max() ? untilPs + 1 : untilPs,
                 m_table);
}

UtilisationRecord::Probe::Probe(UtilisationRecord& record, int64_t node, int64_t port)
    : m_record(record),
      m_node(node),
      m_port(port)
{
}

void
UtilisationRecord::Probe::Sent(Time time, uint32_t wireBytes)
{
    const int64_t interval = time.GetTimeStep() / m_record.m_intervalPs;
    if (interval != m_interval)
    {
        Report(std::numeric_limits<int64_t>::max());
        m_interval = interval;
        // Flows are told of as late as their rates change, but in order of the intervals.
        m_record.Write(std::min(m_record.m_delay.GetToldPs(), time.GetTimeStep()));
    }
    m_bytes += wireBytes;
}

void
UtilisationRecord::Probe::Report(int64_t untilPs)
{
    const int64_t endPs = (m_interval + 1) * m_record.m_intervalPs;
    if (m_bytes > 0 && endPs <= untilPs)
    {
        m_record.m_kept.push_back({endPs, m_node, m_port, m_bytes});
        m_bytes = 0;
    }
}

PauseRecord::PauseRecord(PortTable& table)
    : m_table(table)
{
}

void
PauseRecord::Observe(FabricPort& port)
{
    m_ports.emplace_back(&port);
    const auto& [node, number] = port.GetPlace();
    port.TraceConnectWithoutContext(
        "Pause",
        Callback<void, Time, uint8_t>([this, node, number](Time time, uint8_t paused) {
            m_kept.push_back({time.GetTimeStep(), node, number, paused});
        }));
}

void
PauseRecord::Write(int64_t nowPs)
{
    for (const Ptr<FabricPort>& port : m_ports)
    {
        port->Settle(nowPs - 1);
    }
    WriteInOrder(m_kept, nowPs, m_table);
}

void
PauseRecord::Flush()
{
    WriteInOrder(m_kept, std::numeric_limits<int64_t>::max(), m_table);
}

ConnectionProbe::ConnectionProbe(PairTable& table,
                                 uint32_t quantities,
                                 Time connectTimeout,
                                 const TcpConnection& connection)
    : m_connection(connection),
      m_synTimeout(connectTimeout),
      m_synSent(Simulator::Now()),
      m_table(table),
      m_quantities(quantities),
      m_sender(connection.GetSender()),
      m_receiver(connection.GetReceiver())
{
    Ptr<Socket> socket = connection.GetSocket();
    socket->TraceConnectWithoutContext(
        "Retransmission",
        Callback<void,
                 Ptr<const Packet>,
                 const TcpHeader&,
                 const Address&,
                 const Address&,
                 Ptr<const TcpSocketBase>>([this](Ptr<const Packet> packet,
                                                  const TcpHeader&,
                                                  const Address&,
                                                  const Address&,
                                                  Ptr<const TcpSocketBase>) {
            m_retransmissions++;
            Record(RETRANSMISSION, packet->GetSize());
        }));
    socket->TraceConnectWithoutContext(
        "RTO",
        Callback<void, Time, Time>([this](Time before, Time now) { RtoChanged(before, now); }));
    if (quantities & CONGESTION_WINDOW)
    {
        socket->TraceConnectWithoutContext(
            "CongestionWindow",
            Callback<void, uint32_t, uint32_t>(
                [this](uint32_t, uint32_t bytes) { Record(CONGESTION_WINDOW, bytes); }));
    }
    if (quantities & ROUND_TRIP_TIME)
    {
        socket->TraceConnectWithoutContext("LastRTT",
                                           Callback<void, Time, Time>([this](Time, Time rtt) {
                                               Record(ROUND_TRIP_TIME, rtt.GetTimeStep());
                                           }));
    }
}

void
ConnectionProbe::RtoChanged(Time before, Time now)
{
    if (m_connection.IsConnected())
    {
        // RFC 6298, 5.5: only a timeout doubles it.
        if (now == before + before)
        {
            m_timeouts++;
            Record(TIMEOUT, 1);
        }
        return;
    }
    // A repeated SYN doubles the timer and leaves when the one before it ran out. The answer to a
    // SYN sets the timer too, maybe to the same value, but at another time.
    if (now == m_synTimeout + m_synTimeout && Simulator::Now() == m_synSent + m_synTimeout)
    {
        m_synSent = Simulator::Now();
        m_synTimeout = now;
        m_timeouts++;
        m_retransmissions++;
        Record(TIMEOUT, 1);
        Record(RETRANSMISSION, 0);
    }
}

void
ConnectionProbe::Record(uint32_t quantity, int64_t value)
{
    if (m_quantities & quantity)
    {
        m_table.Append({Simulator::Now().GetTimeStep(), m_sender, m_receiver, quantity, value});
    }
}

uint64_t
ConnectionProbe::GetRetransmissions() const
{
    return m_retransmissions;
}

uint64_t
ConnectionProbe::GetTimeouts() const
{
    return m_timeouts;
}

} // namespace astra_ns3
