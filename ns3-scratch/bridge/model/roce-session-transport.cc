// SPDX-License-Identifier: GPL-2.0-only
#include "roce-session-transport.h"

#include "fabric-delay.h"
#include "fabric-simulator.h"
#include "roce-control-registry.h"
#include "roce-fields.h"

#include "ns3/simulator.h"

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

/// Numbers of congestion controls by name.
using NamedNumbers = std::map<std::string, double>;

/// The congestion controls of a session: ours of a name.
struct NamedControls
{
    std::string name;                          //!< their name
    NamedNumbers numbers;                      //!< their numbers
    std::map<uint64_t, NamedNumbers> ofFaster; //!< others where no line is slower than the key

    /// \param changed numbers that hold instead of all these \return what makes the controls
    RoceControls With(const NamedNumbers& changed) const
    {
        const auto make = [&](const NamedNumbers& faster) {
            RoceControlParameters parameters;
            for (const NamedNumbers* each : {&numbers, &faster, &changed})
            {
                for (const auto& [key, value] : *each)
                {
                    parameters.Set(key, value);
                }
            }
            return MakeRoceControlFactory(name, parameters);
        };
        RoceControls controls{make({}), {}};
        for (const auto& [rateBps, faster] : ofFaster)
        {
            controls.faster.emplace(rateBps, make(faster));
        }
        return controls;
    }
};

/// \return numbers by a number that their names begin with, and a dot \param prefix before it
std::map<uint64_t, NamedNumbers>
ReadNumbered(PartReader& part, const std::string& prefix)
{
    std::map<uint64_t, NamedNumbers> found;
    part.ReadAll(prefix, [&found](const std::string& name, double value) {
        found[std::stoull(name)][name.substr(name.find('.') + 1)] = value;
    });
    return found;
}

/// \return who makes queue pairs' congestion controls: ours of the name `control`, or what the
/// function at the address `control_factory` makes. `faster.RATE.` begins numbers that hold instead
/// where no line is slower than RATE, in bit/s. \param[out] named ours, if they are
RoceControls
ReadControl(PartReader& part, NamedControls& named)
{
    part.ReadAll("control.",
                 [&named](const std::string& name, double value) { named.numbers[name] = value; });
    if (part.Has("control_factory"))
    {
        uint64_t factory = 0;
        part("control_factory", factory);
        const auto make = reinterpret_cast<ControlMaker>(factory);
        RoceControlParameters parameters;
        for (const auto& [key, value] : named.numbers)
        {
            parameters.Set(key, value);
        }
        const auto makeOwn = [make, parameters] {
            return std::unique_ptr<RoceCongestionControl>(make(parameters));
        };
        return {makeOwn, {}};
    }
    part("control", named.name);
    named.ofFaster = ReadNumbered(part, "faster.");
    return named.With({});
}
} // namespace

RoceSessionTransport::RoceSessionTransport(const TransportContext& context, PartReader& part)
{
    const Numbers& hostOfNpu = context.description.hostOfNpu;
    context.fabric.RequireLinks();
    RoceContext shared;
    shared.parameters = ReadParameters(part);
    shared.listener = &context.listener;
    shared.npus = static_cast<uint32_t>(hostOfNpu.count) - context.description.reducers;
    const bool isForeign = part.Has("control_factory");
    NamedControls named;
    shared.controls = ReadControl(part, named);
    // A message that completes where it was sent, several that one packet completes, a control in
    // Python, and who watches would all act on more than one host.
    m_mayPlayHostsApart = !shared.parameters.acknowledged &&
                          shared.parameters.reliability != RoceReliability::SELECTIVE_REPEAT &&
                          !isForeign && !shared.listener->GetAccountant() &&
                          context.description.observation.FindTable("queue_pairs").quantities == 0;
    // Queue pairs that are opened and closed, and messages in parts, are looked for in one place.
    m_mayUseThreads = !shared.parameters.perMessage && (!shared.parameters.splitMessages ||
                                                        shared.parameters.queuePairsPerPair <= 1);
    const bool measures = shared.controls.make()->GetTelemetry() == RoceTelemetry::PATH;
    m_transport = std::make_unique<RoceMessageTransport>(
        std::move(shared),
        context.fabric.GetDevices(),
        std::vector<uint32_t>(hostOfNpu.begin(), hostOfNpu.end()));
    Observe(context);
    if (context.changes)
    {
        context.changes->AddListener(m_transport.get());
    }
    for (const auto& [number, change] : ReadNumbered(part, "changed."))
    {
        ScheduleChange(change.at("time_ps"),
                       {change.at("first_npu"), change.at("last_npu")},
                       named.With(change));
        m_mayPlayHostsApart = false; // a change meets all of them at one time
    }
    if (measures)
    {
        context.fabric.MeasureUtilisation(m_transport->GetLongestRoundTripPs());
    }
}

void
RoceSessionTransport::ScheduleChange(double timePs,
                                     const std::pair<double, double>& npus,
                                     const RoceControls& controls)
{
    const auto shared = std::make_shared<const RoceControls>(controls);
    Simulator::Schedule(FabricDelay(static_cast<int64_t>(timePs), "a change of controls"),
                        [this, npus, shared] {
                            FabricSimulator::Get().CatchUp();
                            m_transport->ChangeControls(static_cast<uint32_t>(npus.first),
                                                        static_cast<uint32_t>(npus.second),
                                                        shared);
                        });
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
