// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-network.h"

#include "fabric-flowlet-choice.h"
#include "fabric-load-choice.h"
#include "fabric-spray-choice.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// \return address that simulators of the HPCC family give a node
uint32_t
HpccAddress(uint32_t name)
{
    return 0x0b000001 + name / 256 * 0x00010000 + name % 256 * 0x00000100;
}
} // namespace

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
        (!parameters.quantumBytes.empty() && parameters.quantumBytes.size() != FABRIC_PRIORITIES))
    {
        throw std::invalid_argument("a switch has 8 priorities");
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
        device->SetAttribute("HashSeed", UintegerValue(host));
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
        port.SetMarker(marker);
        m_markers.push_back(marker);
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
        m_losses.push_back(CreateObject<UniformRandomVariable>());
        port->SetErrorRate(parameters.errorRate, m_losses.back());
    }
    m_ports[node].push_back(port);
    if (node >= m_hosts)
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
    const End b = MakeEnd(nodeB, parameters);
    a.port->Connect(b.receiver, b.number, m_nodes[nodeB]->GetId());
    b.port->Connect(a.receiver, a.number, m_nodes[nodeA]->GetId());
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

FabricRoutes&
FabricNetwork::GetRoutes(uint32_t node)
{
    if (node >= m_nodes.size() || (node < m_hosts && !m_devices[node]))
    {
        throw std::invalid_argument("node " + std::to_string(node) +
                                    " is no switch and has no NIC");
    }
    return node < m_hosts ? m_devices[node]->GetRoutes() : m_switches[node - m_hosts]->GetRoutes();
}

void
FabricNetwork::CheckPorts(uint32_t node, const std::vector<uint32_t>& ports) const
{
    for (uint32_t port : ports)
    {
        if (port >= m_ports[node].size())
        {
            throw std::invalid_argument("node " + std::to_string(node) + " has no port " +
                                        std::to_string(port));
        }
    }
}

void
FabricNetwork::SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports)
{
    if (node < m_hosts || node >= m_nodes.size())
    {
        throw std::invalid_argument("node " + std::to_string(node) + " is no switch");
    }
    if (!m_singles)
    {
        FabricHostGroups singles(m_hosts);
        std::iota(singles.begin(), singles.end(), 0);
        m_singles = std::make_shared<const FabricHostGroups>(std::move(singles));
    }
    std::vector<uint32_t> routePorts(ports, ports + offsets[m_hosts]);
    CheckPorts(node, routePorts);
    GetRoutes(node).SetGroups(m_singles,
                              *m_singles,
                              std::vector<uint32_t>(offsets, offsets + m_hosts + 1),
                              std::move(routePorts));
}

void
FabricNetwork::SetHostGroups(std::vector<uint32_t> groups)
{
    if (groups.size() != m_hosts)
    {
        throw std::invalid_argument("found groups for " + std::to_string(groups.size()) +
                                    " hosts, expected " + std::to_string(m_hosts));
    }
    m_groups = std::make_shared<const FabricHostGroups>(std::move(groups));
}

void
FabricNetwork::SetGroupRoutes(uint32_t node,
                              std::vector<uint32_t> setOfGroup,
                              std::vector<uint32_t> setOffsets,
                              std::vector<uint32_t> setPorts,
                              const std::vector<uint32_t>& localHosts,
                              const std::vector<uint32_t>& localPorts)
{
    FabricRoutes& routes = GetRoutes(node);
    CheckPorts(node, setPorts);
    CheckPorts(node, localPorts);
    const bool setsExist = std::all_of(setOfGroup.begin(), setOfGroup.end(), [&](uint32_t set) {
        return set == FabricRoutes::LOCAL || std::size_t{set} + 1 < setOffsets.size();
    });
    const bool groupsExist =
        m_groups && std::all_of(m_groups->begin(), m_groups->end(), [&](uint32_t group) {
            return group < setOfGroup.size();
        });
    if (!setsExist || !groupsExist || setOffsets.back() != setPorts.size())
    {
        throw std::invalid_argument("routes of node " + std::to_string(node) +
                                    " name a group or a set that does not exist");
    }
    routes.SetGroups(m_groups, std::move(setOfGroup), std::move(setOffsets), std::move(setPorts));
    routes.SetLocal(localHosts, localPorts);
}

void
FabricNetwork::UseRouting(const RoutingParameters& parameters)
{
    if (parameters.kind > ROUTE_BY_PIN || parameters.flowletGapPs < 0)
    {
        throw std::invalid_argument("there is no routing " + std::to_string(parameters.kind) +
                                    " with that gap");
    }
    m_routing = parameters;
}

void
FabricNetwork::PinPath(uint32_t fromHost, uint32_t toHost, std::vector<uint32_t> choices)
{
    if (fromHost >= m_hosts || toHost >= m_hosts)
    {
        throw std::invalid_argument("a path is pinned from or to a host that does not exist");
    }
    if (!choices.empty())
    {
        GetOrMakeDevice(fromHost).PinPort(toHost, choices.front());
        choices.erase(choices.begin());
    }
    (*m_pins)[{fromHost, toHost}] = std::move(choices);
}

void
FabricNetwork::SetNodeNames(std::vector<uint32_t> names)
{
    m_names = std::move(names);
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
FabricNetwork::SetUpRouting(uint32_t node)
{
    FabricSwitch& fabricSwitch = *m_switches[node - m_hosts];
    const uint32_t seed = m_switchParameters[node - m_hosts].hashSeed ^ m_routing.seed;
    fabricSwitch.SetAttribute("HashSeed", UintegerValue(seed));
    switch (m_routing.kind)
    {
    case ROUTE_BY_SPRAY:
        fabricSwitch.SetPathChoice(std::make_unique<FabricSprayChoice>(seed, m_routing.random));
        break;
    case ROUTE_BY_LOAD:
        fabricSwitch.SetPathChoice(std::make_unique<FabricLoadChoice>(seed));
        break;
    case ROUTE_BY_FLOWLET:
        fabricSwitch.SetPathChoice(
            std::make_unique<FabricFlowletChoice>(m_routing.flowletGapPs, seed));
        break;
    case ROUTE_BY_PIN:
        fabricSwitch.SetPathChoice(std::make_unique<FabricPinnedChoice>(m_pins, seed));
        break;
    default:
        break;
    }
}

void
FabricNetwork::Finish(int64_t stream)
{
    std::shared_ptr<FabricHostAddresses> addresses;
    if (m_routing.kind == ROUTE_BY_MURMUR)
    {
        if (m_names.size() != m_nodes.size())
        {
            throw std::invalid_argument("this routing needs the number of every node");
        }
        addresses = std::make_shared<FabricHostAddresses>();
        for (uint32_t host = 0; host < m_hosts; ++host)
        {
            addresses->push_back(HpccAddress(m_names[host]));
        }
    }
    for (uint32_t number = 0; number < m_switches.size(); ++number)
    {
        const uint32_t node = m_hosts + number;
        SetUpRouting(node);
        if (addresses)
        {
            m_switches[number]->SetPathChoice(
                std::make_unique<FabricMurmurChoice>(addresses, m_names[node]));
        }
        const SwitchParameters& parameters = m_switchParameters[number];
        const FabricPfc pfc{static_cast<uint8_t>(parameters.losslessPriorities),
                            parameters.reserveBytes,
                            parameters.resumeOffsetBytes};
        if (pfc.losslessPriorities != 0 &&
            !m_switches[number]->GetBuffer()->UsePfc(pfc, m_pfcPorts[number]))
        {
            throw std::invalid_argument(
                "switch " + std::to_string(number) +
                ": the headrooms and reserves of its ports leave nothing of "
                "its buffer of " +
                std::to_string(parameters.bufferBytes) + " bytes");
        }
    }
    for (const auto& marker : m_markers)
    {
        stream += marker->AssignStreams(stream);
    }
    for (const auto& loss : m_losses)
    {
        loss->SetStream(stream++);
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
FabricNetwork::HasPfc() const
{
    return std::any_of(m_switchParameters.begin(),
                       m_switchParameters.end(),
                       [](const SwitchParameters& each) { return each.losslessPriorities != 0; });
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
