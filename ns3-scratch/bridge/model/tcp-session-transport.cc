// SPDX-License-Identifier: GPL-2.0-only
#include "tcp-session-transport.h"

#include "tcp-stack.h"

namespace astra_ns3
{

using namespace ns3;

TcpSessionTransport::TcpSessionTransport(const TransportContext& context, PartReader& part)
{
    TcpParameters tcp;
    ForEachParameter(part, tcp);
    const Numbers& hostOfNpu = context.description.hostOfNpu;
    context.fabric.RequireLinks();
    SetTcpDefaults(tcp);
    context.fabric.SetMtu(tcp.mtuBytes);
    InstallTcpStack(context.fabric.GetHosts(), FabricNetwork::BASE_ADDRESS);
    m_transport = std::make_unique<TcpMessageTransport>(
        context.listener,
        context.fabric.GetHosts(),
        std::vector<uint32_t>(hostOfNpu.begin(), hostOfNpu.end()),
        tcp.acknowledged);
    PairTable& table = context.recorder.AddTable("connections", PairColumns());
    const uint32_t quantities =
        context.description.observation.FindTable(table.GetName()).quantities;
    const Time connectTimeout = TimeStep(tcp.connectTimeoutPs);
    m_transport->SetOpenedCallback(
        [this, &table, quantities, connectTimeout](const TcpConnection& connection) {
            m_probes.push_back(
                std::make_unique<ConnectionProbe>(table, quantities, connectTimeout, connection));
        });
}

MessageTransport&
TcpSessionTransport::GetMessages()
{
    return *m_transport;
}

void
TcpSessionTransport::AddTo(SessionStatistics& statistics) const
{
    for (const auto& probe : m_probes)
    {
        statistics.retransmissions += probe->GetRetransmissions();
        statistics.timeouts += probe->GetTimeouts();
    }
}

std::vector<TransportCounter>
TcpSessionTransport::GetCounters() const
{
    return {{"connections", m_transport->GetNConnections()}};
}

} // namespace astra_ns3
