// SPDX-License-Identifier: GPL-2.0-only
#include "roce-session-transport.h"

#include "roce-control-registry.h"

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr int64_t ROCE_STREAM = 1LL << 40; // of the congestion controls, far behind the network's

/// Makes a congestion control of a user's.
using ControlMaker = RoceCongestionControl* (*)(const RoceControlParameters&);

/// \return a function that makes a queue pair's congestion control
std::function<std::unique_ptr<RoceCongestionControl>()>
MakerOf(const RoceControlDescription& control)
{
    if (control.factory != 0)
    {
        const auto make = reinterpret_cast<ControlMaker>(control.factory);
        return [make, parameters = control.parameters] {
            return std::unique_ptr<RoceCongestionControl>(make(parameters));
        };
    }
    return [name = control.name, parameters = control.parameters] {
        return MakeRoceControl(name, parameters);
    };
}
} // namespace

RoceSessionTransport::RoceSessionTransport(const TransportContext& context)
{
    const Numbers& hostOfNpu = context.description.hostOfNpu;
    context.fabric.RequireLinks();
    RoceContext shared;
    shared.parameters = context.description.roce;
    shared.listener = &context.listener;
    shared.random = CreateObject<UniformRandomVariable>();
    shared.random->SetStream(ROCE_STREAM);
    shared.makeControl = MakerOf(context.description.roceControl);
    const bool measures = shared.makeControl()->GetTelemetry() == RoceTelemetry::PATH;
    m_transport = std::make_unique<RoceMessageTransport>(
        std::move(shared),
        context.fabric.GetDevices(),
        std::vector<uint32_t>(hostOfNpu.begin(), hostOfNpu.end()));
    if (QueuePairProbe* probe = context.recorder.GetQueuePairProbe())
    {
        m_transport->SetObserver(probe);
    }
    if (context.changes)
    {
        context.changes->AddListener(m_transport.get());
    }
    if (measures)
    {
        context.fabric.MeasureUtilisation(m_transport->GetLongestRoundTripPs());
    }
}

MessageTransport&
RoceSessionTransport::GetMessages()
{
    return *m_transport;
}

void
RoceSessionTransport::AddTo(SessionStatistics& statistics) const
{
    const auto& roce = m_transport->GetStatistics();
    statistics.packets += roce.dataPackets;
    statistics.retransmissions += roce.retransmittedPackets;
    statistics.timeouts += roce.timeouts;
    statistics.nacks += roce.nacks;
    statistics.cnps += roce.cnps;
    statistics.queuePairs += roce.queuePairs;
    statistics.outOfOrderPackets = static_cast<int64_t>(roce.outOfOrderPackets);
    statistics.busyQueuePairs += m_transport->CountBusyQueuePairs();
    statistics.roceFrames += m_transport->CountFrames();
}

} // namespace astra_ns3
