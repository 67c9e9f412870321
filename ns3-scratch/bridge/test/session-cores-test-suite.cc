// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Sessions that are played by several threads, against one: all that is told and counted is equal.
 */
#include "fabric-simulator.h"
#include "session-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace session_cores_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;
constexpr uint32_t LEAVES = 4;
constexpr uint32_t HOSTS_PER_LEAF = 4;
constexpr uint32_t SPINES = 3;
constexpr uint32_t HOSTS = LEAVES * HOSTS_PER_LEAF;

/// \return a network of two levels, drawn
DescribedNetwork
DrawNetwork(std::mt19937& random)
{
    SwitchParameters parameters;
    const bool lossless = random() % 2 == 0;
    parameters.bufferBytes = lossless ? 400'000 : 60'000 + random() % 100'000;
    parameters.losslessPriorities = lossless ? 1U << 3 : 0;
    parameters.cutThroughBytes = random() % 4 == 0 ? 64 : 0;
    MarkingParameters& marking = parameters.marking.emplace_back();
    marking.kminBytes = 10'000;
    marking.kmaxBytes = 40'000;
    marking.pmax = 0.3;
    LinkParameters link;
    link.headroomBytes = 12'000;
    link.pfcAlpha = 0.05;
    link.errorRate = random() % 3 == 0 ? 1e-3 : 0.0;
    DescribedNetwork network(HOSTS);
    for (uint32_t node = 0; node < LEAVES + SPINES; ++node)
    {
        parameters.hashSeed = node;
        network.AddSwitch(parameters);
    }
    for (uint32_t host = 0; host < HOSTS; ++host)
    {
        network.AddLink(host, HOSTS + host / HOSTS_PER_LEAF, link);
    }
    link.delayPs = random() % 2 == 0 ? 500'000 : 700'000;
    for (uint32_t leaf = 0; leaf < LEAVES; ++leaf)
    {
        for (uint32_t spine = 0; spine < SPINES; ++spine)
        {
            network.AddLink(HOSTS + leaf, HOSTS + LEAVES + spine, link);
        }
    }
    network.SetGroups(Counted(HOSTS));
    for (uint32_t host = 0; host < HOSTS; ++host)
    {
        network.AddTable(host, {std::vector<uint32_t>(HOSTS, 0), {0, 1}, {0}, {}, {}});
    }
    for (uint32_t leaf = 0; leaf < LEAVES; ++leaf)
    {
        // One set for each of its hosts, and one with all ports up.
        std::vector<uint32_t> sets(HOSTS, HOSTS_PER_LEAF);
        for (uint32_t own = 0; own < HOSTS_PER_LEAF; ++own)
        {
            sets[leaf * HOSTS_PER_LEAF + own] = own;
        }
        std::vector<uint32_t> offsets = Counted(HOSTS_PER_LEAF + 1);
        offsets.push_back(HOSTS_PER_LEAF + SPINES);
        network.AddTable(HOSTS + leaf, {sets, offsets, Counted(HOSTS_PER_LEAF + SPINES), {}, {}});
    }
    for (uint32_t spine = 0; spine < SPINES; ++spine)
    {
        std::vector<uint32_t> sets(HOSTS);
        for (uint32_t host = 0; host < HOSTS; ++host)
        {
            sets[host] = host / HOSTS_PER_LEAF;
        }
        network.AddTable(HOSTS + LEAVES + spine,
                         {sets, Counted(LEAVES + 1), Counted(LEAVES), {}, {}});
    }
    network.SetNpus(Counted(HOSTS));
    network.Get().observation.flows = true;
    network.Get().pauseWatchdogPs = 20'000'000;
    RoceParameters roce;
    roce.perMessage = random() % 2 == 0;
    network.UseRoce(roce, random() % 2 == 0 ? "dcqcn" : "none");
    return network;
}

/// \return number of the first steps of a ring all-gather of all hosts: from one end of a phase to
/// the next hosts have much to do that only themselves are concerned with
uint32_t
RegisterRing(Session& session, uint32_t steps)
{
    std::vector<std::vector<int32_t>> columns(8);
    for (int32_t step = 0; step < static_cast<int32_t>(steps); ++step)
    {
        for (int32_t rank = 0; rank < static_cast<int32_t>(HOSTS); ++rank)
        {
            const auto hosts = static_cast<int32_t>(HOSTS);
            const std::array<int32_t, 8> row{rank,
                                             (rank + 1) % hosts,
                                             step,
                                             (rank - step + hosts) % hosts,
                                             1,
                                             0,
                                             step - 1,
                                             step == 0 ? 0 : 1};
            for (std::size_t column = 0; column < row.size(); ++column)
            {
                columns[column].push_back(row[column]);
            }
        }
    }
    std::vector<int32_t> all;
    for (const auto& column : columns)
    {
        all.insert(all.end(), column.begin(), column.end());
    }
    return session.RegisterSchedule(HOSTS, HOSTS, 1, 1, columns.front().size(), all.data());
}

/// What was seen of a run.
struct Seen
{
    std::vector<Flow> flows;      //!< messages that arrived
    std::vector<int64_t> counted; //!< at looks on the way, and at the end
    uint32_t status{0};           //!< how it ended
    uint32_t cores{0};            //!< threads that played
    uint64_t apart{0};            //!< windows in which each host played by itself

    bool operator==(const Seen& other) const
    {
        return flows == other.flows && counted == other.counted && status == other.status;
    }
};

/// Look at everything, which has switches played up to this moment.
void
Look(OpenSession& session, Seen& seen)
{
    const SessionStatistics& statistics = session.Get().GetStatistics(true);
    seen.counted.push_back(session.Get().GetNowPs());
    for (const uint64_t number : {statistics.events,
                                  statistics.deliveredBytes,
                                  statistics.packets,
                                  statistics.retransmissions,
                                  statistics.timeouts,
                                  statistics.framesUnderWay,
                                  statistics.busyPairs,
                                  statistics.pauseStorms})
    {
        seen.counted.push_back(static_cast<int64_t>(number));
    }
    const std::size_t width = PiecesOf(statistics.portCounterNames, ' ').size();
    seen.counted.insert(seen.counted.end(),
                        statistics.portCounters,
                        statistics.portCounters + width * statistics.ports);
}

/// \param looks look at everything on the way, too, and stop and go on once
Seen
Play(uint32_t seed, uint32_t cores, bool looks)
{
    std::mt19937 random(seed);
    OpenSession session(DrawNetwork(random), seed);
    Seen seen;
    session.Get().UseCores(cores);
    for (uint64_t message = 0; message < 60; ++message)
    {
        const uint32_t sender = random() % HOSTS;
        const uint32_t crowded = random() % 2 == 0 ? 3 : random() % HOSTS;
        const uint32_t receiver = crowded == sender ? (sender + 5) % HOSTS : crowded;
        session.Send(sender, receiver, 1 + random() % 60'000, message);
    }
    session.GetListener().OnTimer([&session, &seen](const auto& timer) {
        Look(session, seen);
        if (timer.first == 2)
        {
            session.Get().Stop();
        }
    });
    for (uint64_t timer = 0; looks && timer < 4; ++timer)
    {
        session.Get().SetTimer(0, 1 + random() % 40'000'000, timer);
    }
    seen.status = session.Get().Run(-1);
    if (seen.status == RUN_STOPPED)
    {
        seen.status = session.Get().Run(-1);
    }
    Look(session, seen);
    seen.flows = session.GetFlows();
    seen.cores = session.Get().GetCores();
    return seen;
}

class CoresChangeNothing : public TestCase
{
  public:
    explicit CoresChangeNothing(uint32_t seed)
        : TestCase("several threads see and count what one does, network " + std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        const bool looks = m_seed % 2 == 1;
        const Seen one = Play(m_seed, 1, looks);
        NS_TEST_EXPECT_MSG_EQ(one.cores, 1U, "one plays");
        NS_TEST_EXPECT_MSG_GT(one.flows.size(), 40U, "most messages arrive");
        for (const uint32_t cores : {2U, 4U})
        {
            const Seen several = Play(m_seed, cores, looks);
            NS_TEST_EXPECT_MSG_EQ(several.cores, cores, "several play");
            NS_TEST_EXPECT_MSG_EQ((several.flows == one.flows), true, "messages");
            NS_TEST_EXPECT_MSG_EQ((several == one), true, "counters, whenever looked at");
        }
    }

    uint32_t m_seed; //!< draws the network
};

/// \param cores threads \param seed draws the network \param steps of the ring \param bytes of
/// messages of the second ring
Seen
PlayRings(uint32_t seed, uint32_t cores, uint32_t steps, uint64_t bytes)
{
    std::mt19937 random(seed);
    RoceParameters roce;
    roce.queuePairsPerPair = 1 + random() % 2;
    DescribedNetwork network = DrawNetwork(random);
    network.UseRoce(roce, random() % 2 == 0 ? "dcqcn" : "hpcc");
    OpenSession session(std::move(network), seed);
    Seen seen;
    session.Get().UseCores(cores);
    const uint32_t schedule = RegisterRing(session.Get(), steps);
    const std::vector<uint32_t> members = Counted(HOSTS);
    const uint32_t group = session.Get().RegisterGroup(members.data(), HOSTS);
    std::vector<uint64_t> rows;
    for (uint64_t host = 0; host < HOSTS; ++host)
    {
        for (uint64_t instance = 0; instance < 2; ++instance)
        {
            rows.insert(rows.end(),
                        {host, schedule, group, instance, HOSTS * (instance == 0 ? 400 : bytes)});
        }
    }
    session.Get().LaunchAll(rows.data(), rows.size() / 5);
    session.GetListener().OnTimer([&session, &seen](const auto&) { Look(session, seen); });
    for (uint64_t timer = 0; seed % 2 == 1 && timer < 3; ++timer)
    {
        session.Get().SetTimer(0, 1 + random() % 60'000'000, timer);
    }
    seen.status = session.Get().Run(-1);
    Look(session, seen);
    seen.flows = session.GetFlows();
    seen.cores = session.Get().GetCores();
    seen.apart = FabricSimulator::Get().CountApart();
    return seen;
}

class HostsOnThreadsChangeNothing : public TestCase
{
  public:
    /// \param seed draws the network \param isLong whether each host gets one long message instead
    /// of many
    HostsOnThreadsChangeNothing(uint32_t seed, bool isLong)
        : TestCase("hosts that several threads play do what they do on one, " +
                   std::string(isLong ? "one long message each" : "rings") + ", network " +
                   std::to_string(seed)),
          m_seed(seed),
          m_steps(isLong ? 1 : HOSTS - 1),
          m_bytes(isLong ? LONG : 9'400)
    {
    }

  private:
    void DoRun() override
    {
        const Seen one = PlayRings(m_seed, 1, m_steps, m_bytes);
        NS_TEST_EXPECT_MSG_EQ(one.flows.size(), 2 * HOSTS * m_steps, "all messages arrive");
        for (const uint32_t cores : {2U, 4U})
        {
            const Seen several = PlayRings(m_seed, cores, m_steps, m_bytes);
            NS_TEST_EXPECT_MSG_EQ(several.cores, cores, "several play");
            NS_TEST_EXPECT_MSG_GT(several.apart, 50U, "hosts, too");
            NS_TEST_EXPECT_MSG_EQ((several.flows == one.flows), true, "messages");
            NS_TEST_EXPECT_MSG_EQ((several == one), true, "counters, whenever looked at");
        }
    }

    static constexpr uint64_t LONG = 300'000; //!< bytes; takes some hundred windows

    uint32_t m_seed;  //!< draws the network
    uint32_t m_steps; //!< of the rings
    uint64_t m_bytes; //!< of messages of the second
};

/// Rings of two channels, whose messages inside a server have fewer bytes than data.
Seen
PlayChannels(uint32_t seed, uint32_t cores)
{
    std::mt19937 random(seed);
    RoceParameters roce;
    DescribedNetwork network = DrawNetwork(random);
    network.UseRoce(roce, "dcqcn");
    OpenSession session(std::move(network), seed);
    session.Get().UseCores(cores);
    const uint32_t schedule = RegisterRing(session.Get(), HOSTS - 1);
    std::vector<uint32_t> servers;
    for (uint32_t host = 0; host < HOSTS; ++host)
    {
        servers.push_back(host / HOSTS_PER_LEAF);
    }
    std::vector<uint64_t> rows;
    for (uint64_t channel = 0; channel < 2; ++channel)
    {
        std::vector<uint32_t> members = Counted(HOSTS);
        if (channel == 1)
        {
            std::shuffle(members.begin(), members.end(), random);
        }
        const std::array<uint64_t, 9> costs{1'000'000,
                                            random() % 500'000,
                                            random() % 900'000,
                                            random() % 20'000,
                                            random() % 20'000,
                                            100 + random() % 900,
                                            1'000 + random() % 1'000,
                                            random() % 2,
                                            channel};
        std::vector<uint32_t> serversOfRanks;
        for (const uint32_t member : members)
        {
            serversOfRanks.push_back(servers[member]);
        }
        const uint32_t group = session.Get().RegisterChannel(members.data(),
                                                             HOSTS,
                                                             serversOfRanks.data(),
                                                             costs.data());
        for (uint64_t host = 0; host < HOSTS; ++host)
        {
            rows.insert(rows.end(), {host, schedule, group, channel, HOSTS * 900});
        }
    }
    session.Get().LaunchAll(rows.data(), rows.size() / 5);
    Seen seen;
    seen.status = session.Get().Run(-1);
    Look(session, seen);
    seen.flows = session.GetFlows();
    seen.cores = session.Get().GetCores();
    seen.apart = FabricSimulator::Get().CountApart();
    return seen;
}

class ChannelsOnThreadsChangeNothing : public TestCase
{
  public:
    explicit ChannelsOnThreadsChangeNothing(uint32_t seed)
        : TestCase("channels are played alike by one thread and by several, network " +
                   std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        const Seen one = PlayChannels(m_seed, 1);
        NS_TEST_EXPECT_MSG_EQ(one.flows.size(), 2 * HOSTS * (HOSTS - 1), "all messages arrive");
        for (const uint32_t cores : {2U, 4U})
        {
            const Seen several = PlayChannels(m_seed, cores);
            NS_TEST_EXPECT_MSG_EQ(several.cores, cores, "several play");
            NS_TEST_EXPECT_MSG_GT(several.apart, 50U, "hosts, too");
            NS_TEST_EXPECT_MSG_EQ((several == one), true, "messages and counters");
        }
    }

    uint32_t m_seed; //!< draws the network
};

class OneCoreWhereSwitchesAreHeard : public TestCase
{
  public:
    OneCoreWhereSwitchesAreHeard()
        : TestCase("one thread plays where somebody listens to a switch, and says so")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(1);
        DescribedNetwork network = DrawNetwork(random);
        network.ObserveQueue(HOSTS, 0);
        OpenSession session(std::move(network));
        session.Get().UseCores(4);
        session.Send(0, 15, 10'000);
        NS_TEST_EXPECT_MSG_EQ(session.Get().Run(-1), RUN_DRAINED, "all done");
        NS_TEST_EXPECT_MSG_EQ(session.Get().GetCores(), 1U, "one plays");
        NS_TEST_EXPECT_MSG_EQ(
            (session.Get().DescribeOneCore().find("listens") != std::string::npos),
            true,
            session.Get().DescribeOneCore());
    }
};

class SessionCoresTestSuite : public TestSuite
{
  public:
    SessionCoresTestSuite()
        : TestSuite("astra-session-cores", Type::UNIT)
    {
        for (uint32_t seed = 1; seed <= 12; ++seed)
        {
            AddTestCase(new CoresChangeNothing(seed), Duration::QUICK);
        }
        for (uint32_t seed = 101; seed <= 112; ++seed)
        {
            AddTestCase(new HostsOnThreadsChangeNothing(seed, false), Duration::QUICK);
            AddTestCase(new HostsOnThreadsChangeNothing(seed, true), Duration::QUICK);
        }
        for (uint32_t seed = 201; seed <= 208; ++seed)
        {
            AddTestCase(new ChannelsOnThreadsChangeNothing(seed), Duration::QUICK);
        }
        AddTestCase(new OneCoreWhereSwitchesAreHeard, Duration::QUICK);
    }
};

SessionCoresTestSuite g_sessionCoresTestSuite; //!< registers itself
} // namespace session_cores_test
