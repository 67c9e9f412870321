// SPDX-License-Identifier: GPL-2.0-only
#include "roce-session-transport.h"

#include "roce-control-registry.h"
#include "roce-fields.h"

#include <map>
#include <stdexcept>
#include <string>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// Makes a congestion control of a user's.
using ControlMaker = RoceCongestionControl* (*)(const RoceControlParameters&);

/// \return the parameters of all queue pairs
RoceParameters
ReadParameters(PartReader& part)
{
    RoceParameters parameters;
    ForEachParameter(part, parameters);
    const uint32_t queuePairs = parameters.queuePairsPerPair;
    if (queuePairs < 1 || (queuePairs > 1 && parameters.perMessage))
    {
        throw std::invalid_argument("RoCE with " + std::to_string(queuePairs) +
                                    " queue pairs for each pair of NPUs, or that with one for "
                                    "each message");
    }
    return parameters;
}

/// Read who makes queue pairs' congestion controls: ours of the name `control`, or what the
/// function at the address `control_factory` makes; `faster.RATE.` begins numbers that hold instead
/// where no line is slower than RATE, in bit/s.
void
ReadControl(PartReader& part, RoceContext& context)
{
    RoceControlParameters parameters;
    part.ReadAll("control.", [&parameters](const std::string& name, double value) {
        parameters.Set(name, value);
    });
    if (part.Has("control_factory"))
    {
        uint64_t factory = 0;
        part("control_factory", factory);
        const auto make = reinterpret_cast<ControlMaker>(factory);
        context.makeControl = [make, parameters] {
            return std::unique_ptr<RoceCongestionControl>(make(parameters));
        };
        return;
    }
    std::string control;
    part("control", control);
    context.makeControl = MakeRoceControlFactory(control, parameters);
    std::map<uint64_t, RoceControlParameters> faster;
    part.ReadAll("faster.", [&faster, &parameters](const std::string& name, double value) {
        const std::size_t dot = name.find('.');
        faster.try_emplace(std::stoull(name), parameters)
            .first->second.Set(name.substr(dot + 1), value);
    });
    for (const auto& [rateBps, numbers] : faster)
    {
        context.fasterControls.emplace(rateBps, MakeRoceControlFactory(control, numbers));
    }
}
} // namespace

RoceSessionTransport::RoceSessionTransport(const TransportContext& context, PartReader& part)
{
    const Numbers& hostOfNpu = context.description.hostOfNpu;
    context.fabric.RequireLinks();
    RoceContext shared;
    shared.parameters = ReadParameters(part);
    shared.listener = &context.listener;
    const bool isForeign = part.Has("control_factory");
    ReadControl(part, shared);
    shared.idealTimes = context.description.observation.flows; // nobody else asks for them
    // A message that completes where it was sent, several that one packet completes, a control in
    // Python, and who watches would all act on more than one host.
    m_mayPlayHostsApart = !shared.parameters.acknowledged &&
                          shared.parameters.reliability != RoceReliability::SELECTIVE_REPEAT &&
                          !isForeign && !shared.listener->GetAccountant() &&
                          context.description.observation.FindTable("queue_pairs").quantities == 0;
    // Queue pairs that are opened and closed, and messages in parts, are looked for in one place.
    m_mayUseThreads = !shared.parameters.perMessage && (!shared.parameters.splitMessages ||
                                                        shared.parameters.queuePairsPerPair <= 1);
    const bool measures = shared.makeControl()->GetTelemetry() == RoceTelemetry::PATH;
    m_transport = std::make_unique<RoceMessageTransport>(
        std::move(shared),
        context.fabric.GetDevices(),
        std::vector<uint32_t>(hostOfNpu.begin(), hostOfNpu.end()));
    Observe(context);
    if (context.changes)
    {
        context.changes->AddListener(m_transport.get());
    }
    if (measures)
    {
        context.fabric.MeasureUtilisation(m_transport->GetLongestRoundTripPs());
    }
}

void
RoceSessionTransport::Observe(const TransportContext& context)
{
    PairTable& table = context.recorder.AddTable("queue_pairs", QueuePairColumns());
    const TableObservation asked = context.description.observation.FindTable(table.GetName());
    if (asked.quantities != 0)
    {
        m_probe = std::make_unique<QueuePairProbe>(table,
                                                   asked.quantities,
                                                   asked.intervalPs,
                                                   context.recorder.GetTellingDelay());
        context.recorder.AddFlush([this](int64_t nowPs) { m_probe->Flush(nowPs); });
        m_transport->SetObserver(m_probe.get());
    }
}

MessageTransport&
RoceSessionTransport::GetMessages()
{
    return *m_transport;
}

bool
RoceSessionTransport::MayOrderByHost() const
{
    return true;
}

bool
RoceSessionTransport::MayPlayHostsApart() const
{
    return m_mayPlayHostsApart;
}

bool
RoceSessionTransport::MayPlayHostsOnThreads() const
{
    return m_mayPlayHostsApart && m_mayUseThreads;
}

bool
RoceSessionTransport::MayFail(uint32_t host, int64_t beforePs) const
{
    return m_transport->MayGiveUp(host, beforePs);
}

uint32_t
RoceSessionTransport::GetLeastWireBytes() const
{
    return m_transport->WireBytes(1);
}

uint32_t
RoceSessionTransport::GetMostBytes() const
{
    return m_transport->GetPayloadBytes();
}

void
RoceSessionTransport::AddTo(SessionStatistics& statistics) const
{
    const auto& roce = m_transport->GetStatistics();
    statistics.packets += roce.dataPackets;
    statistics.retransmissions += roce.retransmittedPackets;
    statistics.timeouts += roce.timeouts;
    statistics.busyPairs += m_transport->CountBusyQueuePairs();
    statistics.framesUnderWay += m_transport->CountFrames();
}

std::vector<TransportCounter>
RoceSessionTransport::GetCounters() const
{
    const auto& roce = m_transport->GetStatistics();
    return {{"queue_pairs", roce.queuePairs},
            {"nacks", roce.nacks},
            {"cnps", roce.cnps},
            {"new_paths", roce.newPaths},
            {"out_of_order_packets", roce.outOfOrderPackets}};
}

} // namespace astra_ns3
