// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * How a FabricNetwork's nodes find and choose their ways, and what is set up when all are there.
 */
#include "fabric-flowlet-choice.h"
#include "fabric-load-choice.h"
#include "fabric-network.h"
#include "fabric-spray-choice.h"

#include "ns3/uinteger.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_set>

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
    if (parameters.kind > ROUTE_BY_DETOUR || parameters.flowletGapPs < 0)
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
        fabricSwitch.SetPathChoice(std::make_unique<FabricFlowletChoice>(m_routing.flowletGapPs,
                                                                         seed,
                                                                         m_routing.countsFlows));
        break;
    case ROUTE_BY_PIN:
        fabricSwitch.SetPathChoice(std::make_unique<FabricPinnedChoice>(m_pins, seed));
        break;
    default:
        break;
    }
}

std::shared_ptr<const FabricDetours>
FabricNetwork::MakeDetours() const
{
    if (m_routing.kind != ROUTE_BY_DETOUR || !m_groups)
    {
        return nullptr;
    }
    std::vector<uint32_t> places; // the first host of each group
    std::unordered_set<uint32_t> known;
    for (uint32_t host = 0; host < m_hosts; ++host)
    {
        if (known.insert((*m_groups)[host]).second)
        {
            places.push_back(host);
        }
    }
    return std::make_shared<const FabricDetours>(std::move(places), m_routing.seed);
}

void
FabricNetwork::Finish()
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
    for (uint32_t host = 0; host < m_hosts; ++host)
    {
        if (m_devices[host])
        {
            m_devices[host]->SetAttribute("HashSeed", UintegerValue(host ^ m_routing.seed));
        }
    }
    const auto detours = MakeDetours();
    for (uint32_t number = 0; number < m_switches.size(); ++number)
    {
        const uint32_t node = m_hosts + number;
        SetUpRouting(node);
        m_switches[number]->UseDetours(detours);
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
}

} // namespace astra_ns3
