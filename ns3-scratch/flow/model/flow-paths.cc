// SPDX-License-Identifier: GPL-2.0-only
#include "flow-paths.h"

#include "fabric-port-loads.h"
#include "fabric-switch.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ns3
{

namespace
{
constexpr std::size_t MOST_LINES = 1024; // of a way; longer ones run in a circle

/// \return the switch at the far end of a line, or none
FabricSwitch*
SwitchBehind(const FabricPort& port)
{
    return dynamic_cast<FabricSwitch*>(port.GetReceiver());
}

/// Throw an error. \param to a host
[[noreturn]] void
RefuseCircle(uint32_t to)
{
    throw std::invalid_argument("flows: the routes of the switches lead in a circle and not to "
                                "host " +
                                std::to_string(to));
}
} // namespace

FlowPaths::FlowPaths(std::vector<Ptr<FabricNetDevice>> hosts, bool spreads, bool byRate)
    : m_hosts(std::move(hosts)),
      m_spreads(spreads),
      m_byRate(byRate)
{
}

std::vector<double>
FlowPaths::WeightsOf(const FabricSwitch& node, const FabricRoutes::Ports& choices) const
{
    return m_byRate ? FabricPortLoads(choices, node.GetPorts())
                    : std::vector<double>(choices.count, 1.0);
}

std::vector<FlowLine>
FlowPaths::Find(uint32_t from, uint32_t to, uint32_t flowHash) const
{
    const FabricNetDevice& nic = *m_hosts[from];
    const uint32_t number = nic.ChoosePort(to, flowHash);
    if (number == FabricNetDevice::NO_PORT)
    {
        return {};
    }
    FabricPort* first = PeekPointer(nic.GetPort(number));
    return m_spreads ? FindAll(first, to) : FindOne(first, from, to, flowHash);
}

std::vector<FlowLine>
FlowPaths::FindOne(FabricPort* port, uint32_t from, uint32_t to, uint32_t flowHash) const
{
    FabricFrame frame;
    frame.source = from;
    frame.destination = to;
    frame.flowHash = flowHash;
    std::vector<FlowLine> lines{{port, 1.0}};
    while (FabricSwitch* node = SwitchBehind(*port))
    {
        const FabricRoutes::Ports choices = node->FindWays(frame);
        if (choices.count == 0)
        {
            return {};
        }
        if (lines.size() > MOST_LINES)
        {
            RefuseCircle(to);
        }
        frame.switches++;
        port = PeekPointer(node->GetPort(node->ChoosePort(frame, choices)));
        lines.push_back({port, 1.0});
    }
    return lines;
}

std::vector<FlowLine>
FlowPaths::FindAll(FabricPort* first, uint32_t to) const
{
    // Shortest ways to one host: all lines into a switch have been found before those out of it.
    std::vector<FlowLine> lines{{first, 1.0}};
    std::unordered_map<FabricSwitch*, double> arrived;
    std::size_t begin = 0;
    while (begin < lines.size())
    {
        std::vector<FabricSwitch*> step;
        for (; begin < lines.size(); ++begin)
        {
            if (FabricSwitch* node = SwitchBehind(*lines[begin].port))
            {
                if (std::find(step.begin(), step.end(), node) == step.end())
                {
                    step.push_back(node);
                }
                arrived[node] += lines[begin].share;
            }
        }
        for (FabricSwitch* node : step)
        {
            const FabricRoutes::Ports choices = node->GetRoutes().Find(to);
            if (choices.count == 0)
            {
                return {};
            }
            const std::vector<double> weights = WeightsOf(*node, choices);
            const double of = std::exchange(arrived[node], 0.0) /
                              std::accumulate(weights.begin(), weights.end(), 0.0);
            const std::size_t own = lines.size();
            for (uint32_t place = 0; place < choices.count; ++place)
            {
                FabricPort* port = PeekPointer(node->GetPort(choices.first[place]));
                const double share = of * weights[place];
                const auto found =
                    std::find_if(lines.begin() + own, lines.end(), [port](const FlowLine& line) {
                        return line.port == port;
                    });
                if (found == lines.end())
                {
                    lines.push_back({port, share});
                }
                else
                {
                    found->share += share;
                }
            }
        }
        if (lines.size() > MOST_LINES * MOST_LINES)
        {
            RefuseCircle(to);
        }
    }
    return lines;
}

} // namespace ns3
