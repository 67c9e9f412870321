// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Small networks with RoCE between their hosts, one NPU on each, for the suites of queue pairs,
 * ports, transport and flow control. Times are picoseconds.
 */
#pragma once

#include "fabric-network.h"
#include "message-account.h"
#include "roce-gate.h"
#include "roce-message-transport.h"
#include "roce-queue-sender.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3::test
{

using astra_ns3::FabricNetwork;
using astra_ns3::LinkParameters;
using astra_ns3::SwitchParameters;

constexpr uint64_t GBPS = 1'000'000'000;

/// A message that has arrived.
struct Arrival
{
    CollectiveMessage message; //!< the message
    int64_t timePs;            //!< when
};

/// A message that has arrived, and where its time went.
struct Accounted
{
    CollectiveMessage message; //!< the message
    MessageAccount account;    //!< its time
    int64_t timePs;            //!< when
};

/// A rate that never changes.
class FixedRate : public RoceCongestionControl
{
  public:
    explicit FixedRate(double rateBps)
        : m_rateBps(rateBps)
    {
    }

    void Start(RoceSender& sender) override
    {
        if (m_rateBps > 0)
        {
            sender.SetRateBps(m_rateBps);
        }
    }

  private:
    double m_rateBps; //!< the rate; 0: the line's
};

/// \return parameters of a link
inline LinkParameters
MakeLink(uint64_t rateBps, int64_t delayPs)
{
    LinkParameters link;
    link.rateBps = rateBps;
    link.delayPs = delayPs;
    return link;
}

/// \param bytes of data in a packet \return its bytes on the line
inline uint64_t
PacketWireBytes(uint64_t bytes)
{
    return std::max<uint64_t>(bytes + 62, 64) + 20;
}

/// \param links in turn \param wireBytes of frames that follow each other \return when the last bit
/// of all arrives if nothing else is there and each switch sends on what has come as a whole
inline int64_t
AlonePs(const std::vector<LinkParameters>& links, const std::vector<uint64_t>& wireBytes)
{
    std::vector<int64_t> freePs(links.size(), 0);
    int64_t atPs = 0;
    for (const uint64_t bytes : wireBytes)
    {
        atPs = 0;
        for (std::size_t link = 0; link < links.size(); ++link)
        {
            freePs[link] = std::max(atPs, freePs[link]) +
                           static_cast<int64_t>(bytes * 8'000 / (links[link].rateBps / GBPS));
            atPs = freePs[link] + links[link].delayPs;
        }
    }
    return atPs;
}

/// Hosts, switches and links with shortest routes, and a RoCE transport over them.
class RoceBench : public MessageListener, public MessageAccountant
{
  public:
    /// \param hosts how many \param switches what each is like
    RoceBench(uint32_t hosts, const std::vector<SwitchParameters>& switches)
        : m_hosts(hosts),
          m_neighbours(hosts + switches.size())
    {
        m_network.AddHosts(hosts);
        for (const SwitchParameters& parameters : switches)
        {
            m_network.AddSwitch(parameters);
        }
    }

    ~RoceBench() override
    {
        m_transport.reset();
        Simulator::Destroy();
    }

    RoceBench(const RoceBench&) = delete;
    RoceBench& operator=(const RoceBench&) = delete;

    /// Join two nodes, hosts first.
    void Link(uint32_t nodeA, uint32_t nodeB, const LinkParameters& parameters)
    {
        m_network.AddLink(nodeA, nodeB, parameters);
        m_neighbours[nodeA].push_back(nodeB);
        m_neighbours[nodeB].push_back(nodeA);
    }

    /// All links are there. \param rates of the queue pairs, in order of their making; then the
    /// line's
    void Build(const RoceParameters& parameters, std::deque<double> rates = {})
    {
        SetRoutes();
        m_network.Finish();
        for (uint32_t host = 0; host < m_hosts; ++host)
        {
            m_gates.push_back(std::make_unique<Gate>(PeekPointer(m_network.GetDevices()[host])));
            const uint32_t node = m_neighbours[host].front();
            const uint32_t port = PortTo(node, host);
            m_network.GetPort(node, port)->Connect(m_gates.back().get(), 0, host);
        }
        m_rates = std::move(rates);
        m_context.parameters = parameters;
        m_context.listener = this;
        if (!m_context.controls.make)
        {
            m_built = false;
            m_context.controls.make = [this] { return MakeFixedRate(); };
        }
        std::vector<uint32_t> hostOfNpu(m_hosts);
        for (uint32_t host = 0; host < m_hosts; ++host)
        {
            hostOfNpu[host] = host;
        }
        m_transport = std::make_unique<RoceMessageTransport>(std::move(m_context),
                                                             m_network.GetDevices(),
                                                             hostOfNpu);
        m_built = true;
    }

    /// \param make makes the congestion controls; before Build
    void SetControl(RoceControls::Factory make)
    {
        m_context.controls.make = std::move(make);
    }

    /// Queue pairs rest whenever they may; before Build.
    void LetPairsRest()
    {
        m_context.fewAwake = 0;
    }

    /// Keep accounts of messages; before Build.
    void KeepAccounts()
    {
        m_keepsAccounts = true;
    }

    MessageAccountant* GetAccountant() override
    {
        return m_keepsAccounts ? this : nullptr;
    }

    void MessageAccounted(const CollectiveMessage& message, const MessageAccount& account) override
    {
        const int64_t nowPs = Simulator::Now().GetTimeStep();
        account.Check(message, nowPs);
        m_accounts.push_back({message, account, nowPs});
    }

    /// \return accounts of messages, in order of arrival
    const std::vector<Accounted>& GetAccounts() const
    {
        return m_accounts;
    }

    /// Send a message at a time.
    void Send(uint32_t from, uint32_t to, uint64_t bytes, int64_t timePs = 0)
    {
        CollectiveMessage message;
        message.sender = from;
        message.receiver = to;
        message.bytes = bytes;
        message.startPs = timePs;
        message.row = m_sent++;
        Simulator::Schedule(TimeStep(timePs), [this, message] { m_transport->Send(message); });
    }

    void MessageArrived(const CollectiveMessage& message) override
    {
        m_arrivals.push_back({message, Simulator::Now().GetTimeStep()});
    }

    void BytesArrived(uint32_t, int64_t bytes) override
    {
        m_deliveredBytes += bytes;
    }

    void TransportFailed(const CollectiveMessage&, const char* reason) override
    {
        m_failures.emplace_back(Simulator::Now().GetTimeStep(), reason);
        Simulator::Stop();
    }

    /// \return bytes that the receivers have got, in order
    int64_t GetDeliveredBytes() const
    {
        return m_deliveredBytes;
    }

    /// \return messages that have arrived, in order
    const std::vector<Arrival>& GetArrivals() const
    {
        return m_arrivals;
    }

    /// \return time and reason of each failure
    const std::vector<std::pair<int64_t, std::string>>& GetFailures() const
    {
        return m_failures;
    }

    /// \return what stands before a host's NIC
    Gate& GetGate(uint32_t host)
    {
        return *m_gates.at(host);
    }

    /// \return the port of a node that leads to a neighbour
    Ptr<FabricPort> GetPort(uint32_t node, uint32_t neighbour) const
    {
        return m_network.GetPort(node, PortTo(node, neighbour));
    }

    /// \return the transport
    RoceMessageTransport& GetTransport()
    {
        return *m_transport;
    }

    /// \return the network
    FabricNetwork& GetNetwork()
    {
        return m_network;
    }

    /// \return the sum of a counter over all ports
    uint64_t Sum(uint64_t FabricPortCounters::* counter) const
    {
        uint64_t sum = 0;
        for (uint32_t node = 0; node < m_neighbours.size(); ++node)
        {
            for (uint32_t port = 0; port < m_network.GetNPorts(node); ++port)
            {
                sum += m_network.GetPort(node, port)->GetCounters().*counter;
            }
        }
        return sum;
    }

  private:
    std::unique_ptr<RoceCongestionControl> MakeFixedRate()
    {
        double rate = 0.0;
        if (m_built && !m_rates.empty()) // the transport itself asks one for its telemetry
        {
            rate = m_rates.front();
            m_rates.pop_front();
        }
        return std::make_unique<FixedRate>(rate);
    }

    uint32_t PortTo(uint32_t node, uint32_t neighbour) const
    {
        uint32_t port = 0;
        while (m_neighbours[node].at(port) != neighbour)
        {
            port++;
        }
        return port;
    }

    /// \return hops from each node to a host
    std::vector<uint32_t> DistancesTo(uint32_t host) const
    {
        std::vector<uint32_t> distances(m_neighbours.size(), UINT32_MAX);
        std::deque<uint32_t> next{host};
        distances[host] = 0;
        while (!next.empty())
        {
            const uint32_t node = next.front();
            next.pop_front();
            for (uint32_t neighbour : m_neighbours[node])
            {
                if (distances[neighbour] == UINT32_MAX)
                {
                    distances[neighbour] = distances[node] + 1;
                    next.push_back(neighbour);
                }
            }
        }
        return distances;
    }

    void SetRoutes()
    {
        std::vector<std::vector<uint32_t>> offsets(m_neighbours.size(), {0});
        std::vector<std::vector<uint32_t>> ports(m_neighbours.size());
        for (uint32_t host = 0; host < m_hosts; ++host)
        {
            const auto distances = DistancesTo(host);
            for (uint32_t node = m_hosts; node < m_neighbours.size(); ++node)
            {
                for (uint32_t port = 0; port < m_neighbours[node].size(); ++port)
                {
                    if (distances[m_neighbours[node][port]] + 1 == distances[node])
                    {
                        ports[node].push_back(port);
                    }
                }
                offsets[node].push_back(ports[node].size());
            }
        }
        for (uint32_t node = m_hosts; node < m_neighbours.size(); ++node)
        {
            m_network.SetRoutes(node, offsets[node].data(), ports[node].data());
        }
    }

    uint32_t m_hosts;                                        //!< how many
    std::vector<std::vector<uint32_t>> m_neighbours;         //!< of each node, by port
    FabricNetwork m_network;                                 //!< nodes and links
    RoceContext m_context;                                   //!< what queue pairs share
    std::deque<double> m_rates;                              //!< of the next queue pairs
    bool m_built{false};                                     //!< the transport is there
    std::vector<std::unique_ptr<Gate>> m_gates;              //!< before each NIC
    std::unique_ptr<RoceMessageTransport> m_transport;       //!< under test
    uint32_t m_sent{0};                                      //!< messages so far
    std::vector<Arrival> m_arrivals;                         //!< messages that have arrived
    bool m_keepsAccounts{false};                             //!< somebody wants accounts
    std::vector<Accounted> m_accounts;                       //!< of them
    int64_t m_deliveredBytes{0};                             //!< what receivers have got in order
    std::vector<std::pair<int64_t, std::string>> m_failures; //!< time and reason
};

/// \return hosts around one switch, with equal links
inline std::unique_ptr<RoceBench>
MakeStar(uint32_t hosts, const LinkParameters& link, const SwitchParameters& parameters = {})
{
    auto bench = std::make_unique<RoceBench>(hosts, std::vector{parameters});
    for (uint32_t host = 0; host < hosts; ++host)
    {
        bench->Link(host, hosts, link);
    }
    return bench;
}

/// \return two hosts and switches between them. \param links one more than switches
inline std::unique_ptr<RoceBench>
MakeLine(const std::vector<LinkParameters>& links)
{
    auto bench = std::make_unique<RoceBench>(2, std::vector<SwitchParameters>(links.size() - 1));
    for (uint32_t number = 0; number < links.size(); ++number)
    {
        // Nodes in line: host 0, switches 2, 3, ..., host 1.
        const uint32_t left = number == 0 ? 0 : number + 1;
        const uint32_t right = number + 1 == links.size() ? 1 : number + 2;
        bench->Link(left, right, links[number]);
    }
    return bench;
}

} // namespace ns3::test
