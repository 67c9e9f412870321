// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What the suites that drive whole sessions share: a listener that keeps all it is told, and a star
 * of hosts.
 */
#pragma once

#include "astra-ns3-session.h"
#include "network-description.h"
#include "roce-fields.h"
#include "tcp-parameters.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

/// A row of the table of messages.
struct Flow
{
    int64_t sender;   //!< NPU that sent
    int64_t receiver; //!< NPU that received
    int64_t bytes;    //!< size
    int64_t startPs;  //!< handed to the transport
    int64_t endPs;    //!< read whole at the receiver
    int64_t instance; //!< phase
    int64_t row;      //!< row of the schedule

    bool operator==(const Flow&) const = default;
};

/// \return what stands between the ends of a text's pieces. \param end of each
inline std::vector<std::string>
PiecesOf(const std::string& text, char end)
{
    std::vector<std::string> pieces;
    std::istringstream stream(text);
    for (std::string piece; std::getline(stream, piece, end);)
    {
        pieces.push_back(piece);
    }
    return pieces;
}

/// What a port has done, by name.
using PortNumbers = std::map<std::string, uint64_t>;

/// Keeps everything a session tells, and does what a test asks for when it is told.
class RecordingListener : public astra_ns3::SessionListener
{
  public:
    /// NPU, instance, time in ps
    using Phase = std::array<int64_t, 3>;
    /// token, time in ps
    using Timer = std::pair<uint64_t, int64_t>;

    /// \param session whose records are fetched
    void Watch(const Session& session)
    {
        m_session = &session;
    }

    /// \param action called at each PhaseDone, after it was noted
    void OnPhase(std::function<void(const Phase&)> action)
    {
        m_onPhase = std::move(action);
    }

    /// \param action called at each TimerDue, after it was noted
    void OnTimer(std::function<void(const Timer&)> action)
    {
        m_onTimer = std::move(action);
    }

    void PhaseDone(uint32_t npu, uint64_t instance, int64_t timePs) override
    {
        m_phases.push_back({npu, static_cast<int64_t>(instance), timePs});
        if (m_onPhase)
        {
            m_onPhase(m_phases.back());
        }
    }

    void TimerDue(uint64_t token, int64_t timePs) override
    {
        m_timers.emplace_back(token, timePs);
        if (m_onTimer)
        {
            m_onTimer(m_timers.back());
        }
    }

    void SeveralDue(const Due* dues, uint32_t count, int64_t timePs) override
    {
        m_together.push_back(count);
        SessionListener::SeveralDue(dues, count, timePs);
    }

    void Heartbeat(int64_t, uint64_t) override
    {
    }

    void RecordsReady(uint32_t table) override
    {
        const auto words = PiecesOf(PiecesOf(m_session->DescribeTables(), '\n').at(table), ' ');
        const std::size_t columns = words.size() - 1;
        auto& rows = m_rows[words.front()];
        for (uint64_t row = 0; row < m_session->GetRecordRows(table); ++row)
        {
            auto& values = rows.emplace_back();
            for (uint32_t column = 0; column < columns; ++column)
            {
                values.push_back(m_session->GetRecordColumn(table, column)[row]);
            }
        }
    }

    /// \return phases done, in order
    const std::vector<Phase>& GetPhases() const
    {
        return m_phases;
    }

    /// \return of each time when several things were told at once, how many
    const std::vector<uint32_t>& GetTogether() const
    {
        return m_together;
    }

    /// \return timers due, in order
    const std::vector<Timer>& GetTimers() const
    {
        return m_timers;
    }

    /// \return all rows of a table fetched so far
    const std::vector<std::vector<int64_t>>& GetRows(const std::string& table) const
    {
        static const std::vector<std::vector<int64_t>> none;
        const auto found = m_rows.find(table);
        return found == m_rows.end() ? none : found->second;
    }

    /// \return messages arrived, in order; Session::FlushRecords must have been called
    std::vector<Flow> GetFlows() const
    {
        std::vector<Flow> flows;
        for (const auto& row : GetRows("flows"))
        {
            flows.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6]});
        }
        return flows;
    }

  private:
    const Session* m_session{nullptr};                               //!< source of the rows
    std::vector<uint32_t> m_together;                                //!< told at once
    std::function<void(const Phase&)> m_onPhase;                     //!< asked for
    std::function<void(const Timer&)> m_onTimer;                     //!< asked for
    std::vector<Phase> m_phases;                                     //!< phases done
    std::vector<Timer> m_timers;                                     //!< timers due
    std::map<std::string, std::vector<std::vector<int64_t>>> m_rows; //!< fetched, by table
};

/// Hosts around one switch, one NPU on each.
struct Star
{
    uint32_t hosts{2};                 //!< number of hosts, and so the node number of the switch
    uint64_t rateBps{100'000'000'000}; //!< rate of each link
    int64_t delayPs{500'000};          //!< delay of each link
    uint64_t bufferBytes{64'000'000};  //!< buffer of the switch
    uint64_t kminBytes{0};             //!< marking, if kmaxBytes is above 0
    uint64_t kmaxBytes{0};             //!< marking, if above 0
    double pmax{1.0};                  //!< marking
    std::vector<uint32_t> unreachableHosts; //!< hosts the switch has no route to
};

/// Writes all that a transport reads.
class PartWriter
{
  public:
    /// \param part where it goes
    explicit PartWriter(PartDescription& part)
        : m_part(part)
    {
    }

    /// A number or a word.
    template <typename VALUE>
    void operator()(const char* key, const VALUE& value)
    {
        if constexpr (std::is_same_v<VALUE, std::string>)
        {
            m_part.Add(key, "word").word = value;
        }
        else if constexpr (std::is_same_v<VALUE, double>)
        {
            m_part.Add(key, "real").real = value;
        }
        else
        {
            m_part.Add(key, "whole").whole = static_cast<int64_t>(value);
        }
    }

    /// What a word stands for.
    template <typename CHOICE, std::size_t COUNT>
    void operator()(const char* key,
                    const CHOICE& value,
                    const std::array<const char*, COUNT>& words)
    {
        m_part.Add(key, "word").word = words.at(static_cast<std::size_t>(value));
    }

  private:
    PartDescription& m_part; //!< where it goes
};

/// A NetworkDescription with the numbers that it shows.
class DescribedNetwork
{
  public:
    /// \param hosts how many hosts
    explicit DescribedNetwork(uint32_t hosts)
        : m_ports(hosts, 0)
    {
        m_description.hosts = hosts;
    }

    /// \return all but what this class has methods for; call Describe before it is used
    NetworkDescription& Get()
    {
        return m_description;
    }

    /// \param transport its name \param parameters its numbers
    template <typename PARAMETERS>
    void Describe(const std::string& transport, PARAMETERS parameters)
    {
        PartWriter part(m_description.GetPart(transport));
        ForEachParameter(part, parameters);
    }

    /// Use RoCE alone. \param parameters its numbers \param control its congestion control
    void UseRoce(const ns3::RoceParameters& parameters, const std::string& control = "none")
    {
        Describe("roce", parameters);
        m_description.GetPart("roce").Add("control", "word").word = control;
        UseTransport("roce");
    }

    /// \param parameters what the next switch is like
    void AddSwitch(const SwitchParameters& parameters)
    {
        m_switches.push_back(static_cast<uint32_t>(m_switches.size()));
        m_description.switchKinds.emplace_back() = parameters;
        m_ports.push_back(0);
    }

    /// Join two nodes.
    void AddLink(uint32_t nodeA, uint32_t nodeB, const LinkParameters& parameters)
    {
        const auto kind = static_cast<uint32_t>(m_description.linkKinds.size());
        m_links.insert(m_links.end(), {nodeA, nodeB, kind});
        m_description.linkKinds.emplace_back() = parameters;
        for (uint32_t node : {nodeA, nodeB})
        {
            if (node < m_ports.size())
            {
                m_ports[node]++;
            }
        }
    }

    /// \param groups group of each host
    void SetGroups(std::vector<uint32_t> groups)
    {
        m_groups = std::move(groups);
    }

    /// Give a node a table: see RoutesDescription.
    void AddTable(uint32_t node, const std::array<std::vector<uint32_t>, 5>& arrays)
    {
        m_tables.push_back(node);
        for (const auto& array : arrays)
        {
            m_tables.push_back(static_cast<uint32_t>(m_offsets.size() - 1));
            m_numbers.insert(m_numbers.end(), array.begin(), array.end());
            m_offsets.push_back(static_cast<uint32_t>(m_numbers.size()));
        }
    }

    /// \param hostOfNpu host of each NPU
    void SetNpus(std::vector<uint32_t> hostOfNpu)
    {
        m_npus = std::move(hostOfNpu);
    }

    /// \param name of the only transport
    void UseTransport(const std::string& name)
    {
        m_transport = name;
    }

    /// Record a queue.
    void ObserveQueue(uint32_t node, uint32_t port)
    {
        m_queues.insert(m_queues.end(), {node, port});
    }

    /// Record what stops a port.
    void ObservePauses(uint32_t node, uint32_t port)
    {
        m_pauses.insert(m_pauses.end(), {node, port});
    }

    /// Record what a port sends.
    void ObserveUtilisation(uint32_t node, uint32_t port)
    {
        m_utilisation.insert(m_utilisation.end(), {node, port});
    }

    /// Pin the path between two hosts.
    void PinPath(uint32_t fromHost, uint32_t toHost, std::vector<uint32_t> choices)
    {
        PinnedPath& pin = m_description.pins.emplace_back();
        pin.fromHost = fromHost;
        pin.toHost = toHost;
        m_choices.push_back(std::move(choices));
        Show(pin.choices, m_choices.back());
    }

    /// \return the description, with all numbers; good until the next change
    const NetworkDescription& Describe()
    {
        Show(m_description.switches, m_switches);
        Show(m_description.links, m_links);
        Show(m_description.routes.groupOfHost, m_groups);
        Show(m_description.routes.numbers, m_numbers);
        Show(m_description.routes.offsets, m_offsets);
        Show(m_description.routes.tables, m_tables);
        Show(m_description.hostOfNpu, m_npus);
        Show(m_description.observation.queues, m_queues);
        Show(m_description.observation.pauses, m_pauses);
        Show(m_description.observation.utilisation, m_utilisation);
        m_description.transports.clear();
        if (!m_transport.empty())
        {
            TransportDimension& dimension = m_description.transports.emplace_back();
            dimension.npus = static_cast<uint32_t>(m_npus.size());
            dimension.transport = m_transport;
        }
        return m_description;
    }

    /// \return place of a port among all ports
    uint32_t PlaceOf(uint32_t node, uint32_t port) const
    {
        return std::accumulate(m_ports.begin(), m_ports.begin() + node, 0U) + port;
    }

  private:
    static void Show(Numbers& view, const std::vector<uint32_t>& numbers)
    {
        view.Show(numbers.data(), numbers.size());
    }

    NetworkDescription m_description;           //!< what is described
    std::vector<uint32_t> m_switches;           //!< kinds of switches
    std::vector<uint32_t> m_links;              //!< nodes and kinds of links
    std::vector<uint32_t> m_groups;             //!< groups of hosts
    std::vector<uint32_t> m_numbers;            //!< arrays of tables
    std::vector<uint32_t> m_offsets{0};         //!< where they begin
    std::vector<uint32_t> m_tables;             //!< tables
    std::vector<uint32_t> m_npus;               //!< host of each NPU
    std::vector<uint32_t> m_queues;             //!< ports
    std::vector<uint32_t> m_pauses;             //!< ports
    std::vector<uint32_t> m_utilisation;        //!< ports
    std::list<std::vector<uint32_t>> m_choices; //!< of pinned paths
    std::vector<uint32_t> m_ports;              //!< number of ports of each node
    std::string m_transport;                    //!< the only transport
};

/// \return where the ports towards each host begin in the switch's table, and these ports
inline std::pair<std::vector<uint32_t>, std::vector<uint32_t>>
StarRoutes(const Star& star)
{
    std::vector<uint32_t> offsets{0};
    std::vector<uint32_t> ports;
    for (uint32_t host = 0; host < star.hosts; ++host)
    {
        const auto& unreachable = star.unreachableHosts;
        if (std::find(unreachable.begin(), unreachable.end(), host) == unreachable.end())
        {
            ports.push_back(host);
        }
        offsets.push_back(static_cast<uint32_t>(ports.size()));
    }
    return {offsets, ports};
}

/// \return 0, 1, ...
inline std::vector<uint32_t>
Counted(uint32_t count)
{
    std::vector<uint32_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

/// \return the star, without a transport. \param parameters of its switch \param links of the hosts
inline DescribedNetwork
DescribeStar(const Star& star,
             const SwitchParameters& parameters,
             const std::vector<LinkParameters>& links)
{
    DescribedNetwork network(star.hosts);
    network.AddSwitch(parameters);
    for (uint32_t host = 0; host < star.hosts; ++host)
    {
        network.AddLink(host, star.hosts, links[host]);
    }
    const auto [offsets, ports] = StarRoutes(star);
    network.SetGroups(Counted(star.hosts));
    network.AddTable(star.hosts, {Counted(star.hosts), offsets, ports});
    network.SetNpus(Counted(star.hosts));
    network.Get().observation.flows = true;
    return network;
}

/// \return the star with TCP
inline DescribedNetwork
DescribeStar(const Star& star, const TcpParameters& tcp)
{
    SwitchParameters parameters;
    parameters.bufferBytes = star.bufferBytes;
    if (star.kmaxBytes > 0)
    {
        parameters.marking.emplace_back() = {0, star.kminBytes, star.kmaxBytes, star.pmax, true};
    }
    LinkParameters link;
    link.rateBps = star.rateBps;
    link.delayPs = star.delayPs;
    DescribedNetwork network =
        DescribeStar(star, parameters, std::vector<LinkParameters>(star.hosts, link));
    network.Describe("tcp", tcp);
    network.UseTransport("tcp");
    return network;
}

/// \return what the transports of a session count under a name
inline uint64_t
CounterOf(Session& session, const std::string& name)
{
    const SessionStatistics& statistics = session.GetStatistics();
    const auto names = PiecesOf(statistics.counterNames, ' ');
    uint64_t sum = 0;
    for (std::size_t counter = 0; counter < names.size(); ++counter)
    {
        sum += names[counter] == name ? statistics.counters[counter] : 0;
    }
    return sum;
}

/// \return number of a schedule of one message, from rank 0 to rank 1
inline uint32_t
RegisterOneMessage(Session& session)
{
    constexpr std::array<int32_t, 8> COLUMNS{0, 1, 0, 0, 1, 0, -1, 0};
    return session.RegisterSchedule(2, 1, 1, 1, 1, COLUMNS.data());
}

/// Send a message now, as phase `instance`. \param schedule from RegisterOneMessage
inline void
SendMessage(Session& session,
            uint32_t schedule,
            uint32_t sender,
            uint32_t receiver,
            uint64_t bytes,
            uint64_t instance)
{
    const std::array<uint32_t, 2> members{sender, receiver};
    const uint32_t group = session.RegisterGroup(members.data(), 2);
    const std::array<uint64_t, 10>
        rows{sender, schedule, group, instance, bytes, receiver, schedule, group, instance, bytes};
    session.LaunchAll(rows.data(), 2);
}

/// Send a message now in a channel of its own server pair, at no cost but that of the network.
inline void
SendInChannel(Session& session,
              uint32_t schedule,
              std::array<uint32_t, 2> members,
              uint64_t bytes,
              uint64_t instance,
              uint64_t channel)
{
    constexpr std::array<uint32_t, 2> SERVERS{0, 1};
    const std::array<uint64_t, 9> costs{0, 0, 0, 0, 0, 1'000, 1'000, 0, channel};
    const uint32_t group = session.RegisterChannel(members.data(), 2, SERVERS.data(), costs.data());
    std::vector<uint64_t> rows;
    for (const uint64_t npu : members)
    {
        rows.insert(rows.end(), {npu, schedule, group, instance, bytes});
    }
    session.LaunchAll(rows.data(), 2);
}

/// A session, what it tells, and a schedule to send messages by.
class OpenSession
{
  public:
    /// \param network what the session is made from
    explicit OpenSession(DescribedNetwork network, uint32_t seed = 1)
        : m_network(std::move(network)),
          m_session(m_network.Describe(), seed, &m_listener),
          m_schedule(RegisterOneMessage(m_session))
    {
        m_listener.Watch(m_session);
    }

    OpenSession(const OpenSession&) = delete;
    OpenSession& operator=(const OpenSession&) = delete;

    /// Send a message now.
    void Send(uint32_t sender, uint32_t receiver, uint64_t bytes, uint64_t instance = 0)
    {
        SendMessage(m_session, m_schedule, sender, receiver, bytes, instance);
    }

    /// \return the session
    Session& Get()
    {
        return m_session;
    }

    /// \return its listener
    RecordingListener& GetListener()
    {
        return m_listener;
    }

    /// \return messages that have arrived
    std::vector<Flow> GetFlows()
    {
        m_session.FlushRecords();
        return m_listener.GetFlows();
    }

    /// \return all rows of a table
    const std::vector<std::vector<int64_t>>& GetRows(const std::string& table)
    {
        m_session.FlushRecords();
        return m_listener.GetRows(table);
    }

    /// \return what a port has done so far
    PortNumbers GetPortStatistics(uint32_t node, uint32_t port)
    {
        const SessionStatistics& statistics = m_session.GetStatistics(true);
        const auto names = PiecesOf(statistics.portCounterNames, ' ');
        const int64_t* numbers =
            statistics.portCounters + names.size() * m_network.PlaceOf(node, port);
        PortNumbers found;
        for (std::size_t counter = 0; counter < names.size(); ++counter)
        {
            found[names[counter]] = numbers[counter];
        }
        return found;
    }

  private:
    DescribedNetwork m_network;   //!< what it was made from
    RecordingListener m_listener; //!< what it told
    Session m_session;            //!< the session
    uint32_t m_schedule;          //!< a schedule of one message
};

/// A star with TCP.
class BuiltStar : public OpenSession
{
  public:
    explicit BuiltStar(const Star& star = {}, const TcpParameters& tcp = {}, uint32_t seed = 1)
        : OpenSession(DescribeStar(star, tcp), seed)
    {
    }
};

} // namespace astra_ns3::test
