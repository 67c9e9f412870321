// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Networks of switches that give credit, with a host at each, for the suite of credits.
 */
#pragma once

#include "fabric-changes.h"
#include "fabric-network.h"
#include "fabric-pause-watchdog.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

/// Counts the frames that reach their hosts, and keeps when and in which lane.
class CountingFlow : public ns3::FabricFlow
{
  public:
    /// A frame that has arrived.
    struct Arrival
    {
        int64_t timePs;    //!< when
        uint32_t lane;     //!< of its last link
        uint32_t switches; //!< that it has passed
        uint64_t number;   //!< its number
    };

    void ReceiveFrame(ns3::FabricFrame* frame) override
    {
        m_arrivals.push_back({ns3::Simulator::Now().GetTimeStep(),
                              frame->priority,
                              frame->switches,
                              frame->sequence});
        ns3::FabricFramePool::Give(frame);
    }

    ns3::Ptr<ns3::Packet> MakePacket(const ns3::FabricFrame& frame) const override
    {
        return ns3::Create<ns3::Packet>(frame.bufferBytes);
    }

    /// \return what has arrived, in order
    const std::vector<Arrival>& GetArrivals() const
    {
        return m_arrivals;
    }

  private:
    std::vector<Arrival> m_arrivals; //!< what has arrived
};

/// Switches and the links between them, each with its order there and back.
struct CreditTopology
{
    /// A link between two switches.
    struct Link
    {
        uint32_t from;      //!< a switch
        uint32_t to;        //!< another
        uint32_t order;     //!< of the way there
        uint32_t backOrder; //!< of the way back
    };

    uint32_t switches{0};    //!< how many
    std::vector<Link> links; //!< between them
    uint32_t lanes{1};       //!< enough of them for all routes
    bool hasDetours{false};  //!< frames first go to a switch that their flow draws
};

/// A network, a host at each switch by the switch's port 0; a frame takes any shortest way, to
/// where it goes or to its detour and from there on.
class CreditNetwork
{
  public:
    static constexpr uint32_t FRAME_BYTES = 1'000;
    static constexpr uint32_t TO_HOST = 1U << 31; //!< order of links to hosts
    static constexpr int64_t AT_REST_PS = 1'000'000'000'000;

    CreditNetwork(const CreditTopology& topology,
                  const SwitchParameters& parameters,
                  const LinkParameters& link)
        : m_switches(topology.switches)
    {
        m_network.AddHosts(m_switches);
        for (uint32_t number = 0; number < m_switches; ++number)
        {
            SwitchParameters own = parameters;
            own.hashSeed = number;
            m_network.AddSwitch(own);
        }
        LinkParameters injection = link;
        injection.farCreditOrder = TO_HOST;
        for (uint32_t number = 0; number < m_switches; ++number)
        {
            m_network.AddLink(number, m_switches + number, injection);
        }
        std::vector<std::vector<uint32_t>> peers(m_switches, {UINT32_MAX});
        for (const CreditTopology::Link& each : topology.links)
        {
            LinkParameters between = link;
            between.creditOrder = each.order;
            between.farCreditOrder = each.backOrder;
            m_network.AddLink(m_switches + each.from, m_switches + each.to, between);
            peers[each.from].push_back(each.to);
            peers[each.to].push_back(each.from);
        }
        if (topology.hasDetours)
        {
            RoutingParameters routing;
            routing.kind = ROUTE_BY_DETOUR;
            routing.seed = m_switches + static_cast<uint32_t>(topology.links.size());
            m_network.UseRouting(routing);
        }
        SetRoutes(peers);
        m_network.Finish();
        m_network.AddTo(m_changes);
    }

    ~CreditNetwork()
    {
        m_watchdog.reset();
        ns3::Simulator::Destroy();
    }

    CreditNetwork(const CreditNetwork&) = delete;
    CreditNetwork& operator=(const CreditNetwork&) = delete;

    /// \return the network
    FabricNetwork& Get()
    {
        return m_network;
    }

    /// \return what may happen to it
    ns3::FabricChanges& GetChanges()
    {
        return m_changes;
    }

    /// \return all that has arrived
    const CountingFlow& GetFlow() const
    {
        return m_flow;
    }

    /// Watch all ports. \param limitPs stopped for so long is too long
    void Watch(int64_t limitPs)
    {
        m_watchdog =
            std::make_unique<ns3::FabricPauseWatchdog>(limitPs, [this](const auto& report) {
                m_reports.push_back(report);
            });
        ForEachPort([this](ns3::FabricPort& port) { m_watchdog->AddPort(&port, port.GetName()); });
    }

    /// \return what was reported
    const std::vector<std::string>& GetReports() const
    {
        return m_reports;
    }

    /// Have a host send frames from a time on.
    void Send(uint32_t from, uint32_t to, uint32_t frames, int64_t timePs)
    {
        ns3::Simulator::Schedule(ns3::TimeStep(timePs), [this, from, to, frames] {
            for (uint32_t count = 0; count < frames; ++count)
            {
                ns3::FabricFrame* frame = ns3::FabricFramePool::Take();
                frame->flow = &m_flow;
                frame->source = from;
                frame->destination = to;
                frame->sequence = m_sent++;
                frame->flowHash = static_cast<uint32_t>(2'654'435'761U * (m_sent / 8 + from));
                frame->priority = 0;
                frame->bufferBytes = FRAME_BYTES;
                frame->wireBytes = FRAME_BYTES + ns3::FABRIC_LINE_GAP_BYTES;
                m_network.GetPort(from, 0)->Enqueue(frame);
            }
        });
    }

    /// Play until nothing happens any more, and all credit has come back.
    static void Play()
    {
        ns3::Simulator::Schedule(ns3::TimeStep(AT_REST_PS), [] {});
        ns3::Simulator::Run();
    }

    /// \return frames on their way for ever, or lost
    uint64_t CountMissing() const
    {
        return m_sent - m_flow.GetArrivals().size();
    }

    /// \return frames that any port has dropped for lack of room
    uint64_t CountDrops()
    {
        uint64_t drops = 0;
        ForEachPort([&drops](ns3::FabricPort& port) { drops += port.GetCounters().droppedFrames; });
        return drops;
    }

    /// \return lanes of ports that lack credit
    uint64_t CountLanesThatLack()
    {
        uint64_t lanes = 0;
        ForEachPort([&lanes](ns3::FabricPort& port) {
            port.GetCounters(); // takes what has come
            for (uint32_t lane = 0; lane < ns3::FABRIC_PRIORITIES; ++lane)
            {
                const ns3::FabricCredits& credits = *port.GetCredits();
                lanes += credits.GetBytes(lane) < credits.GetLink().laneBytes ? 1 : 0;
            }
        });
        return lanes;
    }

    /// A lane of a port.
    struct Lane
    {
        ns3::FabricPort* port; //!< the port
        uint32_t lane;         //!< its lane
    };

    /// \return the lanes that a report names, in order, the first once more at the end
    std::vector<Lane> LanesIn(const std::string& report)
    {
        std::map<std::string, ns3::FabricPort*> named;
        ForEachPort([&named](ns3::FabricPort& port) { named[port.GetName()] = &port; });
        std::istringstream words(report);
        std::vector<Lane> lanes;
        for (std::string word, label; words >> word;)
        {
            if (named.contains(word))
            {
                uint32_t lane = 0;
                words >> label >> lane;
                lanes.push_back({named.at(word), lane});
            }
        }
        return lanes;
    }

  private:
    template <typename WORK>
    void ForEachPort(WORK work)
    {
        for (uint32_t node = 0; node < m_network.GetNNodes(); ++node)
        {
            for (uint32_t port = 0; port < m_network.GetNPorts(node); ++port)
            {
                work(*m_network.GetPort(node, port));
            }
        }
    }

    void SetRoutes(const std::vector<std::vector<uint32_t>>& peers)
    {
        std::vector<std::vector<uint32_t>> distances;
        for (uint32_t to = 0; to < m_switches; ++to)
        {
            distances.push_back(DistancesTo(to, peers));
        }
        std::vector<uint32_t> groups(m_switches);
        std::iota(groups.begin(), groups.end(), 0);
        m_network.SetHostGroups(groups);
        for (uint32_t number = 0; number < m_switches; ++number)
        {
            std::vector<uint32_t> setOfGroup(groups);
            setOfGroup[number] = ns3::FabricRoutes::LOCAL;
            std::vector<uint32_t> offsets{0};
            std::vector<uint32_t> ports;
            for (uint32_t to = 0; to < m_switches; ++to)
            {
                for (uint32_t port = 1; port < peers[number].size(); ++port)
                {
                    if (distances[to][peers[number][port]] + 1 == distances[to][number])
                    {
                        ports.push_back(port);
                    }
                }
                offsets.push_back(static_cast<uint32_t>(ports.size()));
            }
            m_network
                .SetGroupRoutes(m_switches + number, setOfGroup, offsets, ports, {number}, {0});
        }
    }

    static std::vector<uint32_t> DistancesTo(uint32_t to,
                                             const std::vector<std::vector<uint32_t>>& peers)
    {
        std::vector<uint32_t> distances(peers.size(), UINT32_MAX / 2);
        std::deque<uint32_t> next{to};
        distances[to] = 0;
        while (!next.empty())
        {
            const uint32_t at = next.front();
            next.pop_front();
            for (std::size_t port = 1; port < peers[at].size(); ++port)
            {
                uint32_t& distance = distances[peers[at][port]];
                if (distance > distances[at] + 1)
                {
                    distance = distances[at] + 1;
                    next.push_back(peers[at][port]);
                }
            }
        }
        return distances;
    }

    uint32_t m_switches;                                  //!< how many
    FabricNetwork m_network;                              //!< hosts, switches, links
    ns3::FabricChanges m_changes;                         //!< of the network
    CountingFlow m_flow;                                  //!< all frames
    uint64_t m_sent{0};                                   //!< frames sent
    std::unique_ptr<ns3::FabricPauseWatchdog> m_watchdog; //!< watches all ports
    std::vector<std::string> m_reports;                   //!< what was reported
};

} // namespace astra_ns3::test
