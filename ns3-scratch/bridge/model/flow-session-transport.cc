// SPDX-License-Identifier: GPL-2.0-only
#include "flow-session-transport.h"

#include <string>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// \return a transport of the network. \param prefix how the names of its numbers begin
FlowTransportKind
ReadKind(PartReader& part, const std::string& prefix)
{
    FlowTransportKind kind;
    part(prefix + "payload_bytes", kind.payloadBytes);
    part(prefix + "around_bytes", kind.aroundBytes);
    part(prefix + "least_wire_bytes", kind.leastWireBytes);
    part(prefix + "line_gap_bytes", kind.lineGapBytes);
    part(prefix + "answer_wire_bytes", kind.answerWireBytes);
    part(prefix + "answer_every", kind.answerEvery);
    part(prefix + "reducer_answer_every", kind.reducerAnswerEvery);
    part(prefix + "window_bytes", kind.windowBytes);
    part(prefix + "window_of_path", kind.windowOfPath);
    part(prefix + "first_window_bytes", kind.firstWindowBytes);
    part(prefix + "window_growth", kind.windowGrowth);
    part(prefix + "window_step_bytes", kind.windowStepBytes);
    part(prefix + "opening_wire_bytes", kind.openingWireBytes);
    part(prefix + "headroom", kind.headroom);
    part(prefix + "start_cost", kind.startCost);
    part(prefix + "rise_round_trips", kind.riseRoundTrips);
    part(prefix + "in_flight_bytes", kind.inFlightBytes);
    part(prefix + "queue_pairs", kind.queuePairs);
    part(prefix + "server_npus", kind.serverNpus);
    part(prefix + "per_message", kind.perMessage);
    part(prefix + "split_messages", kind.splitMessages);
    part(prefix + "acknowledged", kind.acknowledged);
    part(prefix + "port_of_message", kind.portOfMessage);
    part(prefix + "tcp_ports", kind.tcpPorts);
    return kind;
}

/// \return what each switch has room for
std::vector<FlowRoom>
ReadRooms(PartReader& part)
{
    Numbers lossless;
    Quantities shared;
    Quantities own;
    Numbers ports;
    Reals alphas;
    part("room_lossless", lossless);
    part("room_shared_bytes", shared);
    part("room_own_bytes", own);
    part("room_ports", ports);
    part("room_alphas", alphas);
    std::vector<FlowRoom> rooms;
    const double* alpha = alphas.begin();
    for (uint64_t number = 0; number < ports.count; ++number)
    {
        rooms.push_back({lossless[number] != 0,
                         static_cast<double>(shared[number]),
                         static_cast<double>(own[number]),
                         {alpha, alpha + ports[number]}});
        alpha += ports[number];
    }
    return rooms;
}
} // namespace

FlowSessionTransport::FlowSessionTransport(const TransportContext& context, PartReader& part)
{
    const Numbers& hostOfNpu = context.description.hostOfNpu;
    context.fabric.RequireLinks();
    FlowContext flows;
    flows.hosts = context.fabric.GetDevices();
    flows.hostOfNpu.assign(hostOfNpu.begin(), hostOfNpu.end());
    flows.npus = static_cast<uint32_t>(hostOfNpu.count) - context.description.reducers;
    uint32_t transports = 0;
    part("transports", transports);
    for (uint32_t number = 0; number < transports; ++number)
    {
        flows.transports.push_back(ReadKind(part, std::to_string(number) + "."));
    }
    Numbers kinds;
    part("transport_of_dimension", kinds);
    uint64_t dimension = 0;
    for (const TransportDimension& each : context.description.transports)
    {
        flows.kinds.emplace_back(each.npus, kinds[dimension++]);
    }
    part("packets_part", flows.spreads);
    part("parts_by_rate", flows.spreadsByRate);
    part("flowlet_gap_ps", flows.flowletGapPs);
    flows.rooms = ReadRooms(part);
    part("queues", flows.queues);
    part("grain_bytes", flows.grain.bytes);
    part("grain_share", flows.grain.share);
    flows.baseAddress = FabricNetwork::BASE_ADDRESS;
    flows.listener = &context.listener;
    flows.meterPs = context.description.observation.utilisationIntervalPs;
    m_transport = std::make_unique<FlowMessageTransport>(std::move(flows));
    context.recorder.AddFlush([this](int64_t nowPs) { m_transport->FlushMeter(nowPs); });
    context.recorder.AddSentCount(
        [this](FabricSentCounts& counts) { m_transport->CountUnderWay(counts); });
    if (context.changes)
    {
        context.changes->AddListener(m_transport.get());
    }
}

MessageTransport&
FlowSessionTransport::GetMessages()
{
    return *m_transport;
}

std::vector<TransportCounter>
FlowSessionTransport::GetCounters() const
{
    return {{"flows", m_transport->GetFlows()},
            {"solutions", m_transport->GetSolutions()},
            {"full_queues", m_transport->GetFull(false)},
            {"full_ingress_queues", m_transport->GetFull(true)}};
}

} // namespace astra_ns3
