// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-network.h"

#include "ns3/double.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

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
FabricNetwork::AddSwitch(uint64_t bufferBytes, uint32_t hashSeed)
{
    Ptr<FabricSharedBuffer> buffer = CreateObject<FabricSharedBuffer>();
    buffer->SetAttribute("Capacity", UintegerValue(bufferBytes));
    Ptr<FabricSwitch> fabricSwitch = CreateObject<FabricSwitch>();
    fabricSwitch->SetAttribute("Buffer", PointerValue(buffer));
    fabricSwitch->SetAttribute("HashSeed", UintegerValue(hashSeed));
    Ptr<Node> node = CreateObject<Node>();
    node->AggregateObject(fabricSwitch);
    m_nodes.push_back(node);
    m_ports.emplace_back();
    m_switches.push_back(fabricSwitch);
}

void
FabricNetwork::UseMarking(uint64_t kminBytes, uint64_t kmaxBytes, double pmax)
{
    m_marking = true;
    m_kminBytes = kminBytes;
    m_kmaxBytes = kmaxBytes;
    m_pmax = pmax;
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

FabricNetwork::End
FabricNetwork::MakeEnd(uint32_t node, uint64_t rateBps, int64_t delayPs)
{
    Ptr<FabricPort> port = CreateObject<FabricPort>();
    port->SetAttribute("DataRate", DataRateValue(DataRate(rateBps)));
    port->SetAttribute("Delay", TimeValue(TimeStep(delayPs)));
    m_ports[node].push_back(port);
    if (node >= m_hosts)
    {
        if (m_marking)
        {
            Ptr<FabricEcnMarker> marker = CreateObject<FabricEcnMarker>();
            marker->SetAttribute("Kmin", UintegerValue(m_kminBytes));
            marker->SetAttribute("Kmax", UintegerValue(m_kmaxBytes));
            marker->SetAttribute("Pmax", DoubleValue(m_pmax));
            port->SetMarker(marker);
            m_markers.push_back(marker);
        }
        FabricSwitch* fabricSwitch = PeekPointer(m_switches[node - m_hosts]);
        return {port, fabricSwitch, fabricSwitch->AddPort(port)};
    }
    if (m_nicBufferBytes > 0)
    {
        Ptr<FabricSharedBuffer> buffer = CreateObject<FabricSharedBuffer>();
        buffer->SetAttribute("Capacity", UintegerValue(m_nicBufferBytes));
        port->SetBuffer(buffer);
    }
    Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
    device->SetPort(port);
    device->SetAddress(Mac48Address::Allocate());
    device->SetBaseAddress(BASE_ADDRESS);
    m_nodes[node]->AddDevice(device);
    m_devices[node] = device;
    return {port, PeekPointer(device), 0};
}

void
FabricNetwork::AddLink(uint32_t nodeA, uint32_t nodeB, uint64_t rateBps, int64_t delayPs)
{
    if (nodeA >= m_nodes.size() || nodeB >= m_nodes.size() || nodeA == nodeB || rateBps == 0 ||
        delayPs < 0)
    {
        throw std::invalid_argument("link between nodes " + std::to_string(nodeA) + " and " +
                                    std::to_string(nodeB) + ": no such node, rate or delay");
    }
    for (uint32_t node : {nodeA, nodeB})
    {
        if (node < m_hosts && m_devices[node])
        {
            throw std::invalid_argument("host " + std::to_string(node) + " has a link already");
        }
    }
    const End a = MakeEnd(nodeA, rateBps, delayPs);
    const End b = MakeEnd(nodeB, rateBps, delayPs);
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

void
FabricNetwork::SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports)
{
    if (node < m_hosts || node >= m_nodes.size())
    {
        throw std::invalid_argument("node " + std::to_string(node) + " is no switch");
    }
    std::vector<uint32_t> routePorts(ports, ports + offsets[m_hosts]);
    for (uint32_t port : routePorts)
    {
        if (port >= m_ports[node].size())
        {
            throw std::invalid_argument("node " + std::to_string(node) + " has no port " +
                                        std::to_string(port));
        }
    }
    m_switches[node - m_hosts]->SetRoutes(std::vector<uint32_t>(offsets, offsets + m_hosts + 1),
                                          std::move(routePorts));
}

void
FabricNetwork::AssignStreams(int64_t stream)
{
    for (const auto& marker : m_markers)
    {
        stream += marker->AssignStreams(stream);
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
