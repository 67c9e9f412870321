// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-changes.h"

#include "fabric-delay.h"

#include "ns3/data-rate.h"
#include "ns3/double.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace ns3
{

namespace
{
/// Raise an error unless something holds. \param what does not exist
void
Require(bool holds, const std::string& what)
{
    if (!holds)
    {
        throw std::invalid_argument("a change of the network names " + what);
    }
}

/// \return whether all of some numbers are below a limit
bool
AllBelow(const std::vector<uint32_t>& numbers, std::size_t limit)
{
    return std::all_of(numbers.begin(), numbers.end(), [limit](uint32_t number) {
        return number < limit;
    });
}
} // namespace

FabricChanges::~FabricChanges()
{
    for (EventId& event : m_events)
    {
        event.Cancel();
    }
}

void
FabricChanges::AddLink(Ptr<FabricPort> forth, Ptr<FabricPort> back)
{
    m_links.push_back({forth, back, 0});
}

void
FabricChanges::AddHost(Ptr<FabricNetDevice> device)
{
    m_nodes.emplace_back(device);
}

void
FabricChanges::AddSwitch(Ptr<FabricSwitch> fabricSwitch)
{
    m_nodes.emplace_back(fabricSwitch);
}

void
FabricChanges::AddMarker(Ptr<FabricPort> port, Ptr<FabricEcnMarker> marker)
{
    m_markers.push_back({port, marker});
}

void
FabricChanges::AddListener(FabricRoutesListener* listener)
{
    m_listeners.push_back(listener);
}

void
FabricChanges::Check(const FabricChange& change) const
{
    for (const FabricLinkState& state : change.links)
    {
        const std::string link = "link " + std::to_string(state.link);
        Require(state.link < m_links.size(), link + ", which does not exist");
        Require(state.rateBps > 0 && state.delayPs >= 0 && state.errorRate >= 0.0 &&
                    state.errorRate <= 1.0,
                link + " with a rate, delay or error rate that no link has");
    }
    for (const FabricRoutesDifference& routes : change.routes)
    {
        CheckRoutes(routes);
    }
    for (const FabricMarkingState& state : change.markings)
    {
        Require(state.node < m_nodes.size() && state.kminBytes <= state.kmaxBytes &&
                    state.pmax >= 0.0 && state.pmax <= 1.0,
                "node " + std::to_string(state.node) + " with thresholds that no switch has");
    }
    for (const FabricBufferState& state : change.buffers)
    {
        CheckBuffer(state);
    }
}

FabricSharedBuffer*
FabricChanges::FindBuffer(uint32_t node) const
{
    const auto* found =
        node < m_nodes.size() ? std::get_if<Ptr<FabricSwitch>>(&m_nodes[node]) : nullptr;
    return found ? PeekPointer((*found)->GetBuffer()) : nullptr;
}

FabricPfc
FabricChanges::PfcOf(const FabricBufferState& state, const FabricSharedBuffer& buffer)
{
    return {buffer.GetPfc().losslessPriorities, state.reserveBytes, state.resumeOffsetBytes};
}

void
FabricChanges::CheckBuffer(const FabricBufferState& state) const
{
    const std::string node = "node " + std::to_string(state.node);
    const FabricSharedBuffer* buffer = FindBuffer(state.node);
    Require(buffer, node + ", which is no switch with memory");
    const FabricPfc pfc = PfcOf(state, *buffer);
    const std::size_t ports = std::get<Ptr<FabricSwitch>>(m_nodes[state.node])->GetNPorts();
    Require(pfc.losslessPriorities == 0 || state.ports.size() == ports,
            node + " with thresholds of ports that it doesn't have");
    Require(state.capacityBytes > FabricSharedBuffer::CountKept(pfc, state.ports),
            node + " with headrooms and reserves that leave no memory to share");
}

void
FabricChanges::CheckRoutes(const FabricRoutesDifference& routes) const
{
    const std::string node = "node " + std::to_string(routes.node);
    Require(routes.node < m_nodes.size(), node + ", which does not exist");
    const auto& offsets = routes.setOffsets;
    const std::size_t sets = offsets.empty() ? 0 : offsets.size() - 1;
    const bool whole = std::is_sorted(offsets.begin(), offsets.end()) &&
                       (offsets.empty() ? 0 : offsets.back()) == routes.setPorts.size() &&
                       routes.sets.size() == routes.groups.size() &&
                       routes.localPorts.size() == routes.localHosts.size();
    const bool setsExist =
        std::all_of(routes.sets.begin(), routes.sets.end(), [sets](uint32_t set) {
            return set == FabricRoutes::LOCAL || set < sets;
        });
    const auto [ports, groups] = std::visit(
        [](const auto& each) {
            return each ? std::pair<uint32_t, std::size_t>(each->GetNPorts(),
                                                           each->GetRoutes().CountGroups())
                        : std::pair<uint32_t, std::size_t>();
        },
        m_nodes[routes.node]);
    Require(whole && setsExist && AllBelow(routes.groups, groups) &&
                AllBelow(routes.setPorts, ports) && AllBelow(routes.localPorts, ports),
            node + " with a group, set or port that does not exist");
}

void
FabricChanges::Schedule(const FabricChange& change)
{
    Check(change);
    const int64_t delayPs = change.timePs - Simulator::Now().GetTimeStep();
    m_events.push_back(Simulator::Schedule(FabricDelay(delayPs, "a change of the network"),
                                           [this, change] { Apply(change); }));
}

void
FabricChanges::Apply(const FabricChange& change)
{
    FabricSimulator::Get().CatchUp();
    TakeDown(change.links);
    for (const FabricLinkState& state : change.links)
    {
        const Link& link = m_links[state.link];
        ChangeLine(state, *link.forth);
        ChangeLine(state, *link.back);
    }
    for (const FabricRoutesDifference& routes : change.routes)
    {
        ChangeRoutes(routes);
    }
    for (FabricRoutesListener* listener : m_listeners)
    {
        listener->RoutesChanged();
    }
    for (const FabricLinkState& state : change.links)
    {
        if (state.up)
        {
            m_links[state.link].forth->GoUp();
            m_links[state.link].back->GoUp();
        }
        ChangeStorm(state);
    }
    for (const FabricMarkingState& state : change.markings)
    {
        ChangeMarking(state);
    }
    for (const FabricBufferState& state : change.buffers)
    {
        ChangeBuffer(state);
    }
}

void
FabricChanges::TakeDown(const std::vector<FabricLinkState>& links)
{
    std::vector<FabricPort*> ports;
    for (const FabricLinkState& state : links)
    {
        const Link& link = m_links[state.link];
        if (!state.up && link.forth->IsUp())
        {
            ports.insert(ports.end(), {PeekPointer(link.forth), PeekPointer(link.back)});
        }
    }
    for (void (FabricPort::*step)() :
         {&FabricPort::SettleMemory, &FabricPort::GoDown, &FabricPort::LoseContents})
    {
        for (FabricPort* port : ports)
        {
            (port->*step)();
        }
    }
}

void
FabricChanges::ChangeLine(const FabricLinkState& state, FabricPort& port)
{
    if (state.rateBps != port.GetRateBps())
    {
        port.SetAttribute("DataRate", DataRateValue(DataRate(state.rateBps)));
    }
    if (state.delayPs != port.GetDelayPs())
    {
        port.SetAttribute("Delay", TimeValue(TimeStep(state.delayPs)));
    }
    const bool wasSilent = port.IsSilent();
    if (state.silent && !wasSilent)
    {
        port.BeginSilence();
    }
    else if (!state.silent && state.errorRate != port.GetErrorRate())
    {
        port.SetErrorRate(state.errorRate);
    }
    if (wasSilent && !state.silent && port.IsUp())
    {
        port.RenewPauses();
    }
}

void
FabricChanges::ChangeStorm(const FabricLinkState& state)
{
    Link& link = m_links[state.link];
    const uint8_t before = std::exchange(link.storm, state.storm);
    // A link that is up again knows nothing of the pauses before, so it is told again.
    if ((before | state.storm) == 0 || !state.up || state.silent)
    {
        return;
    }
    const bool hostFirst = dynamic_cast<FabricSwitch*>(link.forth->GetReceiver()) != nullptr;
    (hostFirst ? link.forth : link.back)->SendPause(state.storm);
}

void
FabricChanges::ChangeMarking(const FabricMarkingState& state)
{
    for (const Marker& each : m_markers)
    {
        const FabricPortPlace& place = each.port->GetPlace();
        if (place.node == state.node && place.port == state.port)
        {
            each.port->Settle(FabricNowPs());
            each.marker->SetAttribute("Kmin", UintegerValue(state.kminBytes));
            each.marker->SetAttribute("Kmax", UintegerValue(state.kmaxBytes));
            each.marker->SetAttribute("Pmax", DoubleValue(state.pmax));
        }
    }
}

void
FabricChanges::ChangeBuffer(const FabricBufferState& state)
{
    const FabricSwitch& fabricSwitch = *std::get<Ptr<FabricSwitch>>(m_nodes[state.node]);
    for (uint32_t port = 0; port < fabricSwitch.GetNPorts(); ++port)
    {
        fabricSwitch.GetPort(port)->SettleMemory();
    }
    FabricSharedBuffer& buffer = *FindBuffer(state.node);
    buffer.Change(state.capacityBytes, PfcOf(state, buffer), state.ports);
}

void
FabricChanges::ChangeRoutes(const FabricRoutesDifference& routes)
{
    const auto change = [&routes](FabricRoutes& table) {
        table.ChangeGroups(routes.groups, routes.sets, routes.setOffsets, routes.setPorts);
        table.SetLocal(routes.localHosts, routes.localPorts);
    };
    Node& node = m_nodes[routes.node];
    std::visit([&change](auto& each) { change(each->GetRoutes()); }, node);
    if (auto* fabricSwitch = std::get_if<Ptr<FabricSwitch>>(&node))
    {
        (*fabricSwitch)->RoutesChanged();
    }
}

} // namespace ns3
