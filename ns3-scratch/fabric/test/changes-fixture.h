// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A small network of hosts and switches that changes, whose frames all have an owner who counts
 * them, for the suites of FabricChanges.
 */
#pragma once

#include "fabric-changes.h"
#include "port-fixture.h"
#include "switch-fixture.h"

#include "ns3/pointer.h"
#include "ns3/uinteger.h"

#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ns3::test
{

inline constexpr int64_t PS_PER_BYTE = 80;
inline constexpr uint32_t FRAME_BYTES = 980; // 1000 on the line: 80 ns
inline constexpr int64_t FRAME_PS = 1000 * PS_PER_BYTE;

/// Run something at a time.
inline void
At(int64_t timePs, std::function<void()> what)
{
    Simulator::Schedule(TimeStep(timePs), what);
}

/// Take a port down, as FabricChanges does.
inline void
TakeDown(FabricPort& port)
{
    port.SettleMemory();
    port.GoDown();
    port.LoseContents();
}

/// Owns frames, and knows what has become of each of them.
class CountingOwner : public FabricFlow
{
  public:
    void ReceiveFrame(FabricFrame* frame) override
    {
        m_arrivals.emplace_back(Simulator::Now().GetTimeStep(), frame->sequence);
        FabricFramePool::Give(frame);
    }

    void FrameLost(FabricFrame* frame) override
    {
        m_losses.emplace_back(Simulator::Now().GetTimeStep(), frame->sequence);
        FabricFramePool::Give(frame);
    }

    Ptr<Packet> MakePacket(const FabricFrame& frame) const override
    {
        return Create<Packet>(frame.bufferBytes);
    }

    /// \return a new frame of this owner, whose number is how many there were before \param flow
    /// frames of one flow take one path
    FabricFrame* Make(uint32_t bufferBytes,
                      uint8_t priority,
                      uint32_t destination = 0,
                      uint32_t flow = 0)
    {
        FabricFrame* frame = FabricFramePool::Take();
        frame->flow = this;
        frame->sequence = m_made++;
        frame->bufferBytes = bufferBytes;
        frame->wireBytes = bufferBytes + FABRIC_LINE_GAP_BYTES;
        frame->priority = priority;
        frame->destination = destination;
        frame->flowHash = FabricMixHash(flow);
        return frame;
    }

    /// \return frames made so far
    uint64_t GetMade() const
    {
        return m_made;
    }

    /// \return time and number of each frame that has arrived
    const Stamps& GetArrivals() const
    {
        return m_arrivals;
    }

    /// \return time and number of each frame that it was told is lost
    const Stamps& GetLosses() const
    {
        return m_losses;
    }

  private:
    uint64_t m_made{0}; //!< frames
    Stamps m_arrivals;  //!< time and number
    Stamps m_losses;    //!< time and number
};

/// A host: hands frames to their owners, and lets itself be stopped.
class PausableHost : public FabricReceiver
{
  public:
    void ReceiveFrame(FabricFrame* frame, uint32_t) override
    {
        if (!frame->isPause)
        {
            frame->flow->ReceiveFrame(frame);
            return;
        }
        const uint8_t paused = frame->pausedPriorities;
        FabricFramePool::Give(frame);
        port->SetPaused(paused);
    }

    Ptr<FabricPort> port; //!< its sending half
};

/// Hosts, switches and links; every switch reaches a host by each of its shortest ways.
class ChangingNetwork
{
  public:
    static constexpr uint8_t LOSSLESS = 3;     //!< a priority that is
    static constexpr uint8_t LOSSLESS_TOO = 5; //!< another
    static constexpr uint64_t RATE_BPS = 100'000'000'000;
    static constexpr int64_t DELAY_PS = 400'000;

    /// A link between two nodes, hosts first.
    using Ends = std::pair<uint32_t, uint32_t>;

    /// \param hosts how many \param switches how many \param links links \param bufferBytes of each
    /// switch \param headroomBytes of each port
    ChangingNetwork(uint32_t hosts,
                    uint32_t switches,
                    std::vector<Ends> links,
                    uint64_t bufferBytes,
                    uint64_t headroomBytes)
        : m_links(std::move(links)),
          m_up(m_links.size(), true),
          m_hosts(hosts),
          m_ports(hosts + switches)
    {
        for (uint32_t number = 0; number < switches; ++number)
        {
            Ptr<FabricSharedBuffer> buffer =
                CreateObjectWithAttributes<FabricSharedBuffer>("Capacity",
                                                               UintegerValue(bufferBytes));
            m_switches.push_back(CreateObjectWithAttributes<FabricSwitch>("Buffer",
                                                                          PointerValue(buffer),
                                                                          "HashSeed",
                                                                          UintegerValue(number)));
        }
        MakeLinks();
        for (const auto& each : m_switches)
        {
            const std::vector<FabricSharedBuffer::PfcPort> pfc(each->GetNPorts(),
                                                               {headroomBytes, 0.5});
            NS_ABORT_IF(
                !each->GetBuffer()->UsePfc({1U << LOSSLESS | 1U << LOSSLESS_TOO, 1'000, 6'000},
                                           pfc));
        }
        m_tables = FindTables();
        for (uint32_t number = 0; number < switches; ++number)
        {
            test::SetRoutes(m_switches[number], m_tables[number].first, m_tables[number].second);
        }
        for (uint32_t host = 0; host < hosts; ++host)
        {
            changes.AddHost(nullptr);
        }
        for (const auto& each : m_switches)
        {
            changes.AddSwitch(each);
        }
    }

    ~ChangingNetwork()
    {
        for (const auto& host : m_hosts)
        {
            host.port->Dispose();
        }
        for (const auto& each : m_switches)
        {
            each->Dispose();
        }
        Simulator::Destroy();
    }

    ChangingNetwork(const ChangingNetwork&) = delete;
    ChangingNetwork& operator=(const ChangingNetwork&) = delete;

    /// Send a frame of `owner` now.
    void Send(uint32_t from, uint32_t to, uint32_t bufferBytes, uint8_t priority)
    {
        m_hosts[from].port->Enqueue(owner.Make(bufferBytes, priority, to, from << 8 | to));
    }

    /// \return what a link is like from now on, as it was made
    static FabricLinkState Usual(uint32_t link, bool up)
    {
        return {link, up, RATE_BPS, DELAY_PS, 0.0};
    }

    /// Change links later; tables follow. Only in order of time.
    void Change(int64_t timePs, const std::vector<FabricLinkState>& links)
    {
        FabricChange change;
        change.timePs = timePs;
        change.links = links;
        for (const FabricLinkState& link : links)
        {
            m_up[link.link] = link.up;
        }
        const auto tables = FindTables();
        for (uint32_t number = 0; number < m_switches.size(); ++number)
        {
            FabricRoutesDifference difference;
            difference.node = m_hosts.size() + number;
            std::tie(difference.setOffsets, difference.setPorts) = tables[number];
            for (uint32_t host = 0; host < m_hosts.size(); ++host)
            {
                difference.groups.push_back(host);
                difference.sets.push_back(host);
            }
            change.routes.push_back(difference);
        }
        changes.Schedule(change);
    }

    /// \return links of a switch
    std::vector<uint32_t> LinksOf(uint32_t fabricSwitch) const
    {
        const uint32_t node = m_hosts.size() + fabricSwitch;
        std::vector<uint32_t> found;
        for (uint32_t link = 0; link < m_links.size(); ++link)
        {
            if (m_links[link].first == node || m_links[link].second == node)
            {
                found.push_back(link);
            }
        }
        return found;
    }

    /// \return a port, by node and its number there
    FabricPort& GetPort(uint32_t node, uint32_t number) const
    {
        return *m_ports[node][number];
    }

    /// \return the switch of that number
    FabricSwitch& GetSwitch(uint32_t number) const
    {
        return *m_switches[number];
    }

    /// \return what does not add up now, or nothing
    std::string Audit() const
    {
        std::ostringstream wrong;
        uint64_t inside = 0;
        for (uint32_t node = 0; node < m_ports.size(); ++node)
        {
            uint64_t waitingBytes = 0;
            for (const auto& port : m_ports[node])
            {
                const FabricPortContents contents = port->CountContents();
                const FabricPortCounters& counters = port->GetCounters();
                waitingBytes += contents.waitingBytes;
                inside += contents.waitingFrames + contents.wireFrames - contents.wirePauses;
                if (counters.sentFrames != port->GetArrivedFrames() + counters.lostFrames +
                                               counters.cutFrames + counters.silentFrames +
                                               contents.wireFrames)
                {
                    wrong << port->GetName() << ": sent is not arrived, lost, cut or on its way; ";
                }
                if (!port->IsUp() && (contents.wireFrames > 0 || contents.waitingFrames > 0 ||
                                      contents.waitingPauses > 0 || port->GetPaused() != 0))
                {
                    wrong << port->GetName() << " is down and holds something; ";
                }
            }
            if (node >= m_hosts.size() &&
                m_switches[node - m_hosts.size()]->GetBuffer()->GetUsedBytes() != waitingBytes)
            {
                wrong << "the memory of node " << node << " does not hold what waits; ";
            }
        }
        const uint64_t known = owner.GetArrivals().size() + owner.GetLosses().size() + inside;
        if (known != owner.GetMade())
        {
            wrong << owner.GetMade() << " frames were made, and " << known << " are known of; ";
        }
        return wrong.str();
    }

    /// \return what is not as in a new network though nothing travels any more, or nothing
    std::string AuditAtRest() const
    {
        std::ostringstream wrong;
        wrong << Audit();
        for (const auto& ports : m_ports)
        {
            for (const auto& port : ports)
            {
                if (!port->IsUp() || port->GetPaused() != 0 || !port->IsEmpty())
                {
                    wrong << port->GetName() << " is down, stopped or not empty; ";
                }
            }
        }
        for (const auto& each : m_switches)
        {
            wrong << (each->GetBuffer()->IsAtRest() ? "" : "a memory is not at rest; ");
        }
        return wrong.str();
    }

    /// \return the sum of a counter over all ports
    uint64_t Sum(uint64_t FabricPortCounters::* counter) const
    {
        uint64_t sum = 0;
        for (const auto& ports : m_ports)
        {
            for (const auto& port : ports)
            {
                sum += port->GetCounters().*counter;
            }
        }
        return sum;
    }

    CountingOwner owner;   //!< of all frames
    FabricChanges changes; //!< of the network

  private:
    /// Offsets and ports of a table.
    using Table = std::pair<std::vector<uint32_t>, std::vector<uint32_t>>;

    void MakeLinks()
    {
        for (const auto& [a, b] : m_links)
        {
            Ptr<FabricPort> forth = MakeEnd(a);
            Ptr<FabricPort> back = MakeEnd(b);
            forth->Connect(&ReceiverOf(b), m_ports[b].size() - 1, b);
            back->Connect(&ReceiverOf(a), m_ports[a].size() - 1, a);
            changes.AddLink(forth, back);
        }
    }

    Ptr<FabricPort> MakeEnd(uint32_t node)
    {
        Ptr<FabricPort> port = MakePort(RATE_BPS, DELAY_PS);
        port->SetName("node" + std::to_string(node) + ":" + std::to_string(m_ports[node].size()));
        m_ports[node].push_back(port);
        if (node < m_hosts.size())
        {
            m_hosts[node].port = port;
        }
        else
        {
            m_switches[node - m_hosts.size()]->AddPort(port);
        }
        return port;
    }

    FabricReceiver& ReceiverOf(uint32_t node)
    {
        return node < m_hosts.size()
                   ? static_cast<FabricReceiver&>(m_hosts[node])
                   : static_cast<FabricReceiver&>(*m_switches[node - m_hosts.size()]);
    }

    /// \return for each node the links to a host, UINT32_MAX without a way
    std::vector<uint32_t> DistancesTo(uint32_t host) const
    {
        std::vector<uint32_t> distances(m_ports.size(), UINT32_MAX);
        distances[host] = 0;
        for (std::size_t round = 0; round < m_ports.size(); ++round)
        {
            for (std::size_t link = 0; link < m_links.size(); ++link)
            {
                for (auto [here, there] :
                     {m_links[link], Ends(m_links[link].second, m_links[link].first)})
                {
                    const bool forwards = there == host || there >= m_hosts.size();
                    if (m_up[link] && forwards && distances[there] != UINT32_MAX)
                    {
                        distances[here] = std::min(distances[here], distances[there] + 1);
                    }
                }
            }
        }
        return distances;
    }

    std::vector<Table> FindTables() const
    {
        std::vector<Table> tables(m_switches.size(), {{0}, {}});
        for (uint32_t host = 0; host < m_hosts.size(); ++host)
        {
            const auto distances = DistancesTo(host);
            for (uint32_t number = 0; number < m_switches.size(); ++number)
            {
                const uint32_t node = m_hosts.size() + number;
                uint32_t port = 0;
                for (std::size_t link = 0; link < m_links.size(); ++link)
                {
                    const auto [a, b] = m_links[link];
                    if (a != node && b != node)
                    {
                        continue;
                    }
                    const uint32_t peer = a == node ? b : a;
                    if (m_up[link] && distances[node] != UINT32_MAX &&
                        distances[peer] + 1 == distances[node])
                    {
                        tables[number].second.push_back(port);
                    }
                    ++port;
                }
                tables[number].first.push_back(tables[number].second.size());
            }
        }
        return tables;
    }

    std::vector<Ends> m_links;                         //!< links
    std::vector<bool> m_up;                            //!< as of the last change
    std::vector<PausableHost> m_hosts;                 //!< hosts
    std::vector<Ptr<FabricSwitch>> m_switches;         //!< switches
    std::vector<std::vector<Ptr<FabricPort>>> m_ports; //!< of each node
    std::vector<Table> m_tables;                       //!< of each switch, to begin with
};

} // namespace ns3::test
