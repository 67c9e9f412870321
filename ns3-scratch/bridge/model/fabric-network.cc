// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-network.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace astra_ns3
{

using namespace ns3;

void
FabricNetwork::AddHosts(uint32_t count)
{
    if (!m_switches.empty())
    {
        throw std::invalid_argument("hosts must be added before switches");
    }
    for (uint32_t host = 0; host < count; ++host)
    {
        m_nodes.push_back(CreateObject<Node>());
    }
    m_hosts += count;
    m_ports.resize(m_nodes.size());
    m_devices.resize(m_hosts);
}

void
FabricNetwork::AddSwitch(const SwitchParameters& parameters)
{
    if (parameters.losslessPriorities >> FABRIC_PRIORITIES != 0 ||
        (!parameters.quantumBytes.empty() && parameters.quantumBytes.size() != FABRIC_PRIORITIES) ||
        (!parameters.nextLanes.empty() && parameters.nextLanes.size() != FABRIC_PRIORITIES))
    {
        throw std::invalid_argument("a switch has 8 priorities");
    }
    if (parameters.creditBytes > 0 &&
        (parameters.losslessPriorities != 0 || parameters.cutThroughBytes > 0 ||
         parameters.creditBytes < parameters.creditLargestBytes ||
         parameters.creditBytes > UINT32_MAX / 2))
    {
        throw std::invalid_argument(
            "a switch that gives credit has no PFC and no cut-through, and "
            "a lane has room for the largest frame, and not for more than 2 GB");
    }
    Ptr<FabricSharedBuffer> buffer = CreateObject<FabricSharedBuffer>();
    buffer->SetAttribute("Capacity", UintegerValue(parameters.bufferBytes));
    buffer->SetAttribute("Alpha", DoubleValue(parameters.alpha));
    Ptr<FabricSwitch> fabricSwitch = CreateObject<FabricSwitch>();
    fabricSwitch->SetAttribute("Buffer", PointerValue(buffer));
    fabricSwitch->SetAttribute("HashSeed", UintegerValue(parameters.hashSeed));
    Ptr<Node> node = CreateObject<Node>();
    node->AggregateObject(fabricSwitch);
    m_nodes.push_back(node);
    m_ports.emplace_back();
    m_pfcPorts.emplace_back();
    m_entrances.push_back(std::make_shared<std::vector<FabricCreditEntrance>>());
    m_switches.push_back(fabricSwitch);
    m_switchParameters.push_back(parameters);
}

void
FabricNetwork::UseMarking(const MarkingParameters& marking)
{
    m_marking = {marking};
}

void
FabricNetwork::SetNicBuffer(uint64_t bytes)
{
    m_nicBufferBytes = bytes;
}

void
FabricNetwork::SetMtu(uint32_t bytes)
{
    for (const auto& device : m_devices)
    {
        if (device)
        {
            device->SetMtu(static_cast<uint16_t>(bytes));
        }
    }
}

void
FabricNetwork::SetTimeRounding(int64_t roundingPs)
{
    m_roundingPs = roundingPs;
}

FabricNetDevice&
FabricNetwork::GetOrMakeDevice(uint32_t host)
{
    Ptr<FabricNetDevice>& device = m_devices[host];
    if (!device)
    {
        device = CreateObject<FabricNetDevice>();
        device->SetAddress(Mac48Address::Allocate());
        device->SetBaseAddress(BASE_ADDRESS);
        m_nodes[host]->AddDevice(device);
    }
    return *device;
}

void
FabricNetwork::SetUpSwitchPort(const SwitchParameters& parameters, FabricPort& port)
{
    const auto& table = parameters.marking.empty() ? m_marking : parameters.marking;
    const auto marking =
        std::find_if(table.begin(), table.end(), [&port](const MarkingParameters& each) {
            return each.rateBps == 0 || each.rateBps == port.GetRateBps();
        });
    if (marking != table.end())
    {
        Ptr<FabricEcnMarker> marker = CreateObject<FabricEcnMarker>();
        marker->SetAttribute("Kmin", UintegerValue(marking->kminBytes));
        marker->SetAttribute("Kmax", UintegerValue(marking->kmaxBytes));
        marker->SetAttribute("Pmax", DoubleValue(marking->pmax));
        marker->SetAttribute("AtEnqueue", BooleanValue(marking->atEnqueue));
        const FabricPortPlace& place = port.GetPlace();
        marker->SetDraws(FabricDraws(FabricDrawsFor::MARKS, place.node, place.port));
        port.SetMarker(marker);
        m_markers.emplace_back(Ptr<FabricPort>(&port), marker);
    }
    if (!parameters.quantumBytes.empty())
    {
        std::array<uint32_t, FABRIC_PRIORITIES> quantum{};
        std::copy(parameters.quantumBytes.begin(), parameters.quantumBytes.end(), quantum.begin());
        port.SetScheduler(std::make_unique<FabricDeficitRoundRobin>(quantum));
    }
}

FabricNetwork::End
FabricNetwork::MakeEnd(uint32_t node, const LinkParameters& parameters)
{
    Ptr<FabricPort> port = CreateObject<FabricPort>();
    port->SetAttribute("DataRate", DataRateValue(DataRate(parameters.rateBps)));
    port->SetAttribute("Delay", TimeValue(TimeStep(parameters.delayPs)));
    if (m_roundingPs > 0)
    {
        port->SetAttribute("Rounding", TimeValue(TimeStep(m_roundingPs)));
        port->SetAttribute("OldestFirst", BooleanValue(parameters.delayPs > 0));
    }
    if (parameters.errorRate > 0.0)
    {
        port->SetErrorRate(parameters.errorRate);
    }
    port->SetOwnPort(static_cast<uint16_t>(parameters.ownPort));
    const bool isSwitch = node >= m_hosts;
    const std::size_t place = m_ports[node].size();
    // As in astra_ns3/topology/ports.py: a host's first port has its name.
    port->SetName(
        (isSwitch ? "switch" + std::to_string(node - m_hosts) : "host" + std::to_string(node)) +
        (isSwitch || place > 0 ? ":" + std::to_string(place) : ""));
    port->SetPlace({node, static_cast<uint32_t>(place)});
    m_ports[node].push_back(port);
    if (isSwitch)
    {
        const uint32_t number = node - m_hosts;
        SetUpSwitchPort(m_switchParameters[number], *port);
        m_pfcPorts[number].push_back({parameters.headroomBytes, parameters.pfcAlpha});
        FabricSwitch* fabricSwitch = PeekPointer(m_switches[number]);
        return {port, fabricSwitch, fabricSwitch->AddPort(port)};
    }
    if (m_nicBufferBytes > 0)
    {
        Ptr<FabricSharedBuffer> buffer = CreateObject<FabricSharedBuffer>();
        buffer->SetAttribute("Capacity", UintegerValue(m_nicBufferBytes));
        port->SetBuffer(buffer);
    }
    FabricNetDevice& device = GetOrMakeDevice(node);
    return {port, &device, device.AddPort(port)};
}

void
FabricNetwork::AnnounceHeads(FabricPort& port, uint32_t farNode) const
{
    const uint32_t bytes =
        farNode >= m_hosts ? m_switchParameters[farNode - m_hosts].cutThroughBytes : 0;
    if (bytes > 0)
    {
        port.AnnounceHeads(bytes);
    }
}

void
FabricNetwork::UseCredits(const End& from, const End& to, uint32_t order)
{
    const uint32_t fromNode = from.port->GetPlace().node;
    const uint32_t toNode = to.port->GetPlace().node;
    const bool toHost = toNode < m_hosts;
    const uint32_t giver = toHost ? fromNode : toNode;
    if (giver < m_hosts || m_switchParameters[giver - m_hosts].creditBytes == 0)
    {
        return;
    }
    const SwitchParameters& parameters = m_switchParameters[giver - m_hosts];
    from.port->UseCredits({static_cast<uint32_t>(parameters.creditBytes),
                           parameters.creditLargestBytes,
                           parameters.creditUpdatePs,
                           order,
                           toHost});
    if (!toHost)
    {
        // Entrances are numbered as the ports of the switch are: both grow by each link.
        m_entrances[giver - m_hosts]->push_back(
            {PeekPointer(to.port), PeekPointer(from.port), from.port->GetCredits(), order});
    }
}

void
FabricNetwork::GiveCredit(const End& end, uint32_t order)
{
    const uint32_t node = end.port->GetPlace().node;
    if (node < m_hosts || m_switchParameters[node - m_hosts].creditBytes == 0)
    {
        return;
    }
    FabricNextLanes next{0, 1, 2, 3, 4, 5, 6, 7};
    const auto& lanes = m_switchParameters[node - m_hosts].nextLanes;
    std::copy(lanes.begin(), lanes.end(), next.begin());
    end.port->SetAdmission(
        std::make_unique<FabricCreditRule>(*end.port, m_entrances[node - m_hosts], order, next));
}

void
FabricNetwork::AddLink(uint32_t nodeA, uint32_t nodeB, const LinkParameters& parameters)
{
    if (nodeA >= m_nodes.size() || nodeB >= m_nodes.size() || nodeA == nodeB ||
        parameters.rateBps == 0 || parameters.delayPs < 0 || !(parameters.errorRate >= 0.0) ||
        parameters.errorRate > 1.0)
    {
        throw std::invalid_argument("link between nodes " + std::to_string(nodeA) + " and " +
                                    std::to_string(nodeB) +
                                    ": no such node, rate, delay or error rate");
    }
    const End a = MakeEnd(nodeA, parameters);
    LinkParameters far = parameters;
    far.ownPort = parameters.farOwnPort;
    if (parameters.farHeadroomBytes >= 0)
    {
        far.headroomBytes = parameters.farHeadroomBytes;
    }
    if (parameters.farPfcAlpha > 0.0)
    {
        far.pfcAlpha = parameters.farPfcAlpha;
    }
    const End b = MakeEnd(nodeB, far);
    a.port->Connect(b.receiver, b.number, m_nodes[nodeB]->GetId());
    b.port->Connect(a.receiver, a.number, m_nodes[nodeA]->GetId());
    UseCredits(a, b, parameters.creditOrder);
    UseCredits(b, a, parameters.farCreditOrder);
    GiveCredit(a, parameters.creditOrder);
    GiveCredit(b, parameters.farCreditOrder);
    AnnounceHeads(*a.port, nodeB);
    AnnounceHeads(*b.port, nodeA);
    m_links.push_back({a.port, b.port});
    Ptr<FabricChannel> channel = CreateObject<FabricChannel>();
    for (uint32_t node : {nodeA, nodeB})
    {
        if (node < m_hosts)
        {
            channel->AddDevice(m_devices[node]);
            m_devices[node]->SetChannel(channel);
        }
    }
}

void
FabricNetwork::MeasureUtilisation(int64_t averagingPs)
{
    for (uint32_t node = m_hosts; node < m_nodes.size(); ++node)
    {
        for (const auto& port : m_ports[node])
        {
            port->MeasureUtilisation(averagingPs);
        }
    }
}

void
FabricNetwork::AddTo(FabricChanges& changes) const
{
    for (const auto& [forth, back] : m_links)
    {
        changes.AddLink(forth, back);
    }
    for (const auto& device : m_devices)
    {
        changes.AddHost(device);
    }
    for (const auto& fabricSwitch : m_switches)
    {
        changes.AddSwitch(fabricSwitch);
    }
    for (const auto& [port, marker] : m_markers)
    {
        changes.AddMarker(port, marker);
    }
}

uint64_t
FabricNetwork::CountUnroutedFrames() const
{
    uint64_t frames = 0;
    for (const auto& fabricSwitch : m_switches)
    {
        frames += fabricSwitch->GetUnroutedFrames();
    }
    for (const auto& device : m_devices)
    {
        frames += device ? device->GetUnroutedPackets() : 0;
    }
    return frames;
}

void
FabricNetwork::RequireLinks() const
{
    for (uint32_t host = 0; host < m_hosts; ++host)
    {
        if (m_ports[host].empty())
        {
            throw std::invalid_argument("host " + std::to_string(host) + " has no link");
        }
    }
}

uint32_t
FabricNetwork::GetNHosts() const
{
    return m_hosts;
}

uint32_t
FabricNetwork::GetNNodes() const
{
    return m_nodes.size();
}

Ptr<Node>
FabricNetwork::GetNode(uint32_t node) const
{
    if (node >= m_nodes.size())
    {
        throw std::invalid_argument("there is no node " + std::to_string(node));
    }
    return m_nodes[node];
}

std::vector<Ptr<Node>>
FabricNetwork::GetHosts() const
{
    return {m_nodes.begin(), m_nodes.begin() + m_hosts};
}

const std::vector<Ptr<FabricNetDevice>>&
FabricNetwork::GetDevices() const
{
    return m_devices;
}

bool
FabricNetwork::StopsPorts() const
{
    return std::any_of(m_switchParameters.begin(),
                       m_switchParameters.end(),
                       [](const SwitchParameters& each) {
                           return each.losslessPriorities != 0 || each.creditBytes > 0;
                       });
}

uint32_t
FabricNetwork::GetNPorts(uint32_t node) const
{
    GetNode(node);
    return m_ports[node].size();
}

Ptr<FabricPort>
FabricNetwork::GetPort(uint32_t node, uint32_t port) const
{
    if (port >= GetNPorts(node))
    {
        throw std::invalid_argument("node " + std::to_string(node) + " has no port " +
                                    std::to_string(port));
    }
    return m_ports[node][port];
}

uint64_t
FabricNetwork::GetReceivedPackets() const
{
    uint64_t packets = 0;
    for (const auto& device : m_devices)
    {
        packets += device ? device->GetReceivedPackets() : 0;
    }
    return packets;
}

uint64_t
FabricNetwork::GetUnroutedFrames() const
{
    uint64_t frames = 0;
    for (const auto& fabricSwitch : m_switches)
    {
        frames += fabricSwitch->GetUnroutedFrames();
    }
    return frames;
}

} // namespace astra_ns3
