// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Which nodes of a FabricNetwork are played together, and in how long windows.
 */
#include "fabric-lane.h"
#include "fabric-network.h"
#include "fabric-simulator.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr uint32_t FEWEST_GROUPS = 4;            // with fewer switches one event list is as fast
constexpr uint32_t FEWEST_GROUPS_OF_THREADS = 2; // hosts and a switch
constexpr uint32_t FEWEST_GROUPS_WITH_HOSTS = 16;

/// Sets of nodes that grow together.
class Unions
{
  public:
    explicit Unions(uint32_t nodes)
        : m_parent(nodes)
    {
        std::iota(m_parent.begin(), m_parent.end(), 0);
    }

    uint32_t Find(uint32_t node)
    {
        while (m_parent[node] != node)
        {
            m_parent[node] = m_parent[m_parent[node]];
            node = m_parent[node];
        }
        return node;
    }

    // The lowest number stands for all: that of a host, where there is one.
    void Join(uint32_t a, uint32_t b)
    {
        a = Find(a);
        b = Find(b);
        m_parent[std::max(a, b)] = std::min(a, b);
    }

  private:
    std::vector<uint32_t> m_parent; //!< of each node, a lower one or itself
};
} // namespace

std::vector<uint32_t>
FabricNetwork::GroupNodes(int64_t windowPs, int64_t shortestPs, bool hostsApart) const
{
    Unions unions(GetNNodes());
    for (uint32_t host = 1; host < m_hosts && !hostsApart; ++host)
    {
        unions.Join(0, host);
    }
    for (const auto& [forth, back] : m_links)
    {
        const int64_t delayPs = std::min({forth->GetDelayPs(), back->GetDelayPs(), shortestPs});
        if (delayPs < windowPs)
        {
            unions.Join(forth->GetPlace().node, back->GetPlace().node);
        }
    }
    // The lowest number of a node comes first, so groups of hosts come before those of switches.
    std::vector<uint32_t> groups(GetNNodes());
    std::vector<uint32_t> numbers(GetNNodes());
    uint32_t next = hostsApart ? 1 : 0;
    for (uint32_t node = 0; node < GetNNodes(); ++node)
    {
        const uint32_t lowest = unions.Find(node);
        if (lowest == node)
        {
            numbers[node] = next++;
        }
        groups[node] = numbers[lowest];
    }
    return groups;
}

FabricNetwork::Windows
FabricNetwork::PlanWindows(int64_t shortestPs, bool hostsApart) const
{
    std::set<int64_t> delays;
    for (const auto& [forth, back] : m_links)
    {
        delays.insert(std::min({forth->GetDelayPs(), back->GetDelayPs(), shortestPs}));
    }
    delays.erase(0);
    // Longer windows are better, unless they join most of the nodes.
    Windows windows;
    uint32_t most = 0;
    for (const int64_t delayPs : delays)
    {
        std::vector<uint32_t> found = GroupNodes(delayPs, shortestPs, hostsApart);
        const uint32_t count = *std::max_element(found.begin(), found.end()) + 1;
        most = std::max(most, count);
        if (2 * count > most)
        {
            windows.groups = std::move(found);
            windows.lengthPs = delayPs;
        }
    }
    const uint32_t fewest = hostsApart ? FEWEST_GROUPS_WITH_HOSTS : FEWEST_GROUPS_OF_THREADS;
    return most < fewest || windows.lengthPs < 2 ? Windows() : windows;
}

FabricNetwork::Windows
FabricNetwork::PlayInWindows(FabricSimulator& simulator,
                             int64_t shortestPs,
                             uint32_t cores,
                             bool hostsApart) const
{
    hostsApart = hostsApart && MayPlayHostsApart() && cores <= FabricLane::MOST_OF_HOSTS;
    Windows windows = PlanWindows(shortestPs, false);
    const auto count = [](const Windows& planned) {
        return planned.groups.empty()
                   ? 0
                   : *std::max_element(planned.groups.begin(), planned.groups.end()) + 1;
    };
    if (cores == 1 && count(windows) < FEWEST_GROUPS)
    {
        windows = hostsApart ? PlanWindows(shortestPs, true) : Windows();
    }
    if (hostsApart && !windows.groups.empty())
    {
        Windows apart = windows;
        apart.groups = GroupNodes(windows.lengthPs, shortestPs, true);
        apart.hostsApart = true;
        windows = cores == 1 || count(apart) > FEWEST_GROUPS_WITH_HOSTS ? apart : windows;
    }
    if (windows.groups.empty() || IsTraced(windows.groups))
    {
        return {}; // who listens is told in order of time
    }
    windows.cores = cores;
    for (const auto& [forth, back] : m_links)
    {
        const uint32_t a = windows.groups[forth->GetPlace().node];
        const uint32_t b = windows.groups[back->GetPlace().node];
        forth->SetGroups(a, b, cores > 1);
        back->SetGroups(b, a, cores > 1);
    }
    windows.lengthPs = cores > 1 ? windows.lengthPs / 2 : windows.lengthPs;
    simulator.UseWindows(count(windows), windows.lengthPs, cores);
    return windows;
}

bool
FabricNetwork::MayPlayHostsApart() const
{
    for (uint32_t node = 0; node < GetNNodes(); ++node)
    {
        const auto& ports = m_ports[node];
        const bool isTraced =
            node < m_hosts && std::any_of(
                                  ports.begin(),
                                  ports.end(),
                                  [](const auto& port) { return port->IsTraced(); });
        if (isTraced || m_nodes[node]->GetId() != node)
        {
            return false;
        }
    }
    return true;
}

bool
FabricNetwork::IsTraced(const std::vector<uint32_t>& groups) const
{
    for (uint32_t node = 0; node < GetNNodes(); ++node)
    {
        // A frame that is lost on the link from a host is lost where the switch is played.
        const bool host = groups[node] == 0;
        const auto& ports = m_ports[node];
        if (std::any_of(ports.begin(), ports.end(), [host](const auto& port) {
                return host ? port->IsDropTraced() : port->IsTraced();
            }))
        {
            return true;
        }
    }
    return false;
}

std::string
FabricNetwork::DescribeOneCore() const
{
    std::vector<uint32_t> switches(GetNNodes(), 1);
    std::fill_n(switches.begin(), m_hosts, 0);
    if (IsTraced(switches))
    {
        return "observe.queues, a capture or a hook listens to a switch";
    }
    return "no switch is far enough from the hosts to be played beside them";
}

} // namespace astra_ns3
