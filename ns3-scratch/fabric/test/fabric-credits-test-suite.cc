// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Links by credit: how fast they are, that nothing is lost, and that lanes keep rings, tori and
 * dragonflies from the deadlocks that they have without.
 */
#include "credit-network.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fabric_credits_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;
constexpr uint32_t FRAME_BYTES = CreditNetwork::FRAME_BYTES;
constexpr uint64_t RATE_BPS = 100'000'000'000;
constexpr int64_t FRAME_PS = (FRAME_BYTES + 20) * 80;

/// \return switches that give so much credit
SwitchParameters
GivingCredit(uint64_t bytes, int64_t updatePs, uint32_t lanes = 1)
{
    SwitchParameters parameters;
    parameters.creditBytes = bytes;
    parameters.creditLargestBytes = FRAME_BYTES;
    parameters.creditUpdatePs = updatePs;
    for (uint32_t lane = 0; lane < FABRIC_PRIORITIES; ++lane)
    {
        parameters.nextLanes.push_back(lane + 1 < lanes ? lane + 1 : lane);
    }
    return parameters;
}

/// \return a link
LinkParameters
Line(int64_t delayPs)
{
    LinkParameters link;
    link.rateBps = RATE_BPS;
    link.delayPs = delayPs;
    return link;
}

/// \return switches in a row
CreditTopology
Row(uint32_t switches)
{
    CreditTopology row;
    row.switches = switches;
    for (uint32_t number = 0; number + 1 < switches; ++number)
    {
        row.links.push_back({number, number + 1, 1, 1});
    }
    return row;
}

/// When frames start and arrive on a row of idle lines, one after the other, by the rule alone: the
/// line is free, the frame is there, and the frame so many before it has left the next buffer, an
/// update and a delay ago.
std::vector<int64_t>
ArrivalsOnRow(uint32_t lines, int64_t delayPs, int64_t updatePs, uint32_t credits, uint32_t frames)
{
    std::vector<std::vector<int64_t>> starts(lines + 1, std::vector<int64_t>(frames));
    for (uint32_t frame = 0; frame < frames; ++frame)
    {
        for (uint32_t line = 0; line < lines; ++line)
        {
            int64_t& startPs = starts[line][frame];
            startPs = frame > 0 ? starts[line][frame - 1] + FRAME_PS : 0;
            if (line > 0)
            {
                startPs = std::max(startPs, starts[line - 1][frame] + FRAME_PS + delayPs);
            }
            if (frame >= credits)
            {
                const uint32_t before = frame - credits;
                const int64_t leftPs = line + 1 < lines ? starts[line + 1][before] + FRAME_PS
                                                        : starts[line][before] + FRAME_PS + delayPs;
                startPs = std::max(startPs, leftPs + delayPs + updatePs);
            }
        }
    }
    std::vector<int64_t> arrivals;
    for (const int64_t startPs : starts[lines - 1])
    {
        arrivals.push_back(startPs + FRAME_PS + delayPs);
    }
    return arrivals;
}

/// A row of lines, from one below the loop's worth of credit to one above.
class LongLine : public TestCase
{
  public:
    LongLine()
        : TestCase("over a long line a flow gets the line's rate or credits over loop time, to the "
                   "picosecond")
    {
    }

  private:
    void DoRun() override
    {
        for (const int64_t delayPs : {0L, 500'000L, 5'000'000L, 50'000'000L})
        {
            for (const int64_t updatePs : {1L, 100'000L})
            {
                for (const uint32_t frames : {1U, 2U, 7U, 64U, 127U})
                {
                    PlayLine(delayPs, updatePs, frames);
                }
            }
        }
    }

    void PlayLine(int64_t delayPs, int64_t updatePs, uint32_t credits)
    {
        constexpr uint32_t FRAMES = 500;
        CreditNetwork network(Row(2),
                              GivingCredit(credits * FRAME_BYTES + FRAME_BYTES - 1, updatePs),
                              Line(delayPs));
        network.Send(0, 1, FRAMES, 0);
        CreditNetwork::Play();
        const auto& arrivals = network.GetFlow().GetArrivals();
        const auto expected = ArrivalsOnRow(3, delayPs, updatePs, credits, FRAMES);
        NS_TEST_ASSERT_MSG_EQ(arrivals.size(), expected.size(), "all arrive");
        for (uint32_t frame = 0; frame < FRAMES; ++frame)
        {
            NS_TEST_ASSERT_MSG_EQ(arrivals[frame].timePs, expected[frame], "frame " << frame);
        }
        // On each line the loop is the frame's time there and on the next line, and both ways.
        const int64_t loopPs = 2 * FRAME_PS + 2 * delayPs + updatePs;
        const int64_t roundPs = std::max(credits * FRAME_PS, loopPs);
        const uint32_t last = FRAMES - 1 - (FRAMES - 1) % credits;
        const uint32_t rounds = last / credits - 2;
        NS_TEST_EXPECT_MSG_EQ(arrivals[last].timePs - arrivals[last - rounds * credits].timePs,
                              rounds * roundPs,
                              "credits " << credits << " over " << loopPs << " ps");
        NS_TEST_EXPECT_MSG_EQ(network.CountDrops(), 0U, "nothing is dropped");
        NS_TEST_EXPECT_MSG_EQ(network.CountLanesThatLack(), 0U, "all credit is back");
    }
};

/// \return a ring; by hop, or with a date line
CreditTopology
Ring(uint32_t switches, bool dateLine)
{
    CreditTopology ring;
    ring.switches = switches;
    for (uint32_t number = 0; number < switches; ++number)
    {
        const uint32_t back = switches - number;
        ring.links.push_back(
            {number, (number + 1) % switches, dateLine ? number + 1 : 1, dateLine ? back : 1});
    }
    ring.lanes = dateLine ? 2 : switches / 2;
    return ring;
}

/// \return a torus of two axes, by hop
CreditTopology
Torus(uint32_t width, uint32_t height)
{
    CreditTopology torus;
    torus.switches = width * height;
    for (uint32_t y = 0; y < height; ++y)
    {
        for (uint32_t x = 0; x < width; ++x)
        {
            torus.links.push_back({y * width + x, y * width + (x + 1) % width, 1, 1});
            torus.links.push_back({y * width + x, (y + 1) % height * width + x, 1, 1});
        }
    }
    torus.lanes = width / 2 + height / 2;
    return torus;
}

/// \return a dragonfly of `routers` + 1 groups, each router with a link to another group, by hop
CreditTopology
Dragonfly(uint32_t routers)
{
    CreditTopology dragonfly;
    const uint32_t groups = routers + 1;
    dragonfly.switches = groups * routers;
    for (uint32_t group = 0; group < groups; ++group)
    {
        for (uint32_t router = 0; router < routers; ++router)
        {
            for (uint32_t other = router + 1; other < routers; ++other)
            {
                dragonfly.links.push_back(
                    {group * routers + router, group * routers + other, 1, 1});
            }
            const uint32_t to = (group + router + 1) % groups;
            if (to > group)
            {
                const uint32_t back = (group + groups - to - 1) % groups;
                dragonfly.links.push_back({group * routers + router, to * routers + back, 1, 1});
            }
        }
    }
    dragonfly.lanes = 3;
    return dragonfly;
}

/// \return a ring, a torus or a dragonfly. \param number of the case
CreditTopology
DrawTopology(uint32_t number, bool hasDetours, std::mt19937& random)
{
    if (hasDetours)
    {
        CreditTopology topology = DrawTopology(number, false, random);
        topology.hasDetours = true;
        topology.lanes *=
            2; // two routes one behind the other: by hop or across the date line twice
        return topology;
    }
    switch (number % 4)
    {
    case 0:
        return Ring(5 + random() % 5, true);
    case 1:
        return Ring(5 + random() % 5, false);
    case 2:
        return Torus(3 + random() % 3, 3 + random() % 3);
    default:
        return Dragonfly(2 + random() % 3);
    }
}

/// What came of the cases of one kind of routes.
struct LanesTally
{
    uint32_t cases{0};     //!< played, with lanes and without
    uint32_t deadlocks{0}; //!< without lanes
};

/// Cases with lanes and without, on shortest or on Valiant's routes.
class LanesAgainstDeadlock : public TestCase
{
  public:
    LanesAgainstDeadlock(bool hasDetours, uint32_t first, uint32_t count)
        : TestCase((hasDetours ? "Valiant's routes, cases " : "cases ") + std::to_string(first) +
                   " to " + std::to_string(first + count - 1) +
                   ": with lanes none deadlocks; without, what deadlocks is named and stays"),
          m_hasDetours(hasDetours),
          m_first(first),
          m_count(count)
    {
    }

    /// \return what came of all cases \param hasDetours on Valiant's routes
    static LanesTally& GetTally(bool hasDetours)
    {
        static std::array<LanesTally, 2> tallies;
        return tallies[hasDetours ? 1 : 0];
    }

  private:
    void DoRun() override
    {
        for (uint32_t number = m_first; number < m_first + m_count; ++number)
        {
            PlayCase(number, true);
            PlayCase(number, false);
            GetTally(m_hasDetours).cases++;
        }
    }

    void PlayCase(uint32_t number, bool lanes)
    {
        std::mt19937 random(number + 1);
        const CreditTopology topology = DrawTopology(number, m_hasDetours, random);
        const uint64_t credits = (1 + random() % 3) * FRAME_BYTES + random() % FRAME_BYTES;
        const int64_t updatePs = 1 + random() % 100'000;
        const int64_t delayPs = random() % 300'000;
        CreditNetwork network(topology,
                              GivingCredit(credits, updatePs, lanes ? topology.lanes : 1),
                              Line(delayPs));
        network.Watch(500'000);
        for (uint32_t from = 0; from < topology.switches; ++from)
        {
            for (uint32_t messages = 3 + random() % 4; messages > 0; --messages)
            {
                const uint32_t to =
                    (from + 1 + random() % (topology.switches - 1)) % topology.switches;
                network.Send(from, to, 20 + random() % 40, random() % 300'000);
            }
        }
        CreditNetwork::Play();
        NS_TEST_EXPECT_MSG_EQ(network.CountDrops(), 0U, "case " << number << " drops");
        const bool stuck = network.CountMissing() > 0;
        NS_TEST_EXPECT_MSG_EQ(network.GetReports().empty(),
                              !stuck,
                              "case " << number << ", " << network.CountMissing() << " stuck");
        if (!stuck)
        {
            NS_TEST_EXPECT_MSG_EQ(network.CountLanesThatLack(), 0U, "case " << number);
        }
        if (lanes)
        {
            NS_TEST_EXPECT_MSG_EQ(stuck, false, "case " << number << " deadlocks with lanes");
            return;
        }
        GetTally(m_hasDetours).deadlocks += stuck ? 1 : 0;
        for (const auto& report : network.GetReports())
        {
            CheckReport(network, report);
        }
    }

    void CheckReport(CreditNetwork& network, const std::string& report)
    {
        const auto lanes = network.LanesIn(report);
        // On Valiant's routes a frame may turn back at its place, so two lanes can close a circle.
        NS_TEST_ASSERT_MSG_GT(lanes.size(), m_hasDetours ? 2U : 3U, report);
        NS_TEST_EXPECT_MSG_EQ((lanes.front().port == lanes.back().port), true, report);
        for (std::size_t place = 0; place < lanes.size(); ++place)
        {
            const auto& [port, lane] = lanes[place];
            NS_TEST_EXPECT_MSG_EQ((port->GetPaused() >> lane & 1),
                                  1,
                                  report << ", but " << port->GetName() << " went on");
            NS_TEST_EXPECT_MSG_EQ(port->GetQueue(lane).IsEmpty(), false, report);
            if (place > 0)
            {
                const uint32_t node = lanes[place - 1].port->GetFarContext();
                NS_TEST_EXPECT_MSG_EQ(node, port->GetPlace().node, report << ": no way");
            }
        }
    }

    bool m_hasDetours; //!< on Valiant's routes
    uint32_t m_first;  //!< case
    uint32_t m_count;  //!< how many
};

/// Sees to it that the cases would deadlock.
class ManyWouldDeadlock : public TestCase
{
  public:
    explicit ManyWouldDeadlock(bool hasDetours)
        : TestCase(std::string(hasDetours ? "Valiant's routes: " : "") +
                   "of the cases with lanes at least a fifth deadlocks without"),
          m_hasDetours(hasDetours)
    {
    }

  private:
    void DoRun() override
    {
        const LanesTally& tally = LanesAgainstDeadlock::GetTally(m_hasDetours);
        NS_TEST_EXPECT_MSG_GT(5 * tally.deadlocks, tally.cases, "deadlocks");
    }

    bool m_hasDetours; //!< on Valiant's routes
};

/// By hop a frame ends in the lane of its number of links between switches.
class LanesByHop : public TestCase
{
  public:
    LanesByHop()
        : TestCase("a frame changes lanes at each switch behind the first, and not to its host")
    {
    }

  private:
    void DoRun() override
    {
        CreditNetwork network(Row(7), GivingCredit(4 * FRAME_BYTES, 1, 4), Line(1'000));
        for (uint32_t to = 1; to < 7; ++to)
        {
            network.Send(0, to, 20, 0);
        }
        CreditNetwork::Play();
        NS_TEST_EXPECT_MSG_EQ(network.CountMissing(), 0U, "all arrive");
        for (const auto& arrival : network.GetFlow().GetArrivals())
        {
            // switches - 1 links between them; the first of them is in lane 0, the fourth in the
            // last lane, and so are all behind it.
            const uint32_t lane = std::min(arrival.switches - 2, 3U);
            NS_TEST_EXPECT_MSG_EQ(arrival.lane, lane, "over " << arrival.switches << " switches");
        }
    }
};

/// A link that goes down and comes back.
class LinkComesBack : public TestCase
{
  public:
    LinkComesBack()
        : TestCase("a link that comes back has all its credit, whatever it lost")
    {
    }

  private:
    void DoRun() override
    {
        for (const int64_t downPs : {300'000L, 1'234'567L, 2'000'000L, 9'000'000L})
        {
            constexpr uint32_t FRAMES = 200;
            CreditNetwork network(Row(3), GivingCredit(5 * FRAME_BYTES, 7), Line(400'000));
            // Links 0 to 2 are those of the hosts, link 3 joins the first two switches.
            for (const uint32_t link : {1U, 3U, 4U})
            {
                network.GetChanges().Schedule(
                    {downPs + link, {{link, false, RATE_BPS, 400'000, 0.0}}, {}, {}});
                network.GetChanges().Schedule(
                    {downPs + 500'000 + link, {{link, true, RATE_BPS, 400'000, 0.0}}, {}, {}});
            }
            network.Send(0, 2, FRAMES, 0);
            network.Send(1, 0, FRAMES, 0);
            network.Send(2, 1, FRAMES, 0);
            CreditNetwork::Play();
            NS_TEST_EXPECT_MSG_GT(network.CountMissing(), 0U, "some were cut");
            NS_TEST_EXPECT_MSG_EQ(network.CountDrops(), 0U, "none found no room");
            NS_TEST_EXPECT_MSG_EQ(network.CountLanesThatLack(), 0U, "down at " << downPs);
        }
    }
};

class FabricCreditsTestSuite : public TestSuite
{
  public:
    FabricCreditsTestSuite()
        : TestSuite("astra-fabric-credits", Type::UNIT)
    {
        AddTestCase(new LongLine);
        AddTestCase(new LanesByHop);
        AddTestCase(new LinkComesBack);
        for (const bool hasDetours : {false, true})
        {
            for (uint32_t first = 0; first < CASES; first += CASES_AT_ONCE)
            {
                AddTestCase(new LanesAgainstDeadlock(hasDetours, first, CASES_AT_ONCE),
                            first < QUICK_CASES ? Duration::QUICK : Duration::EXTENSIVE);
            }
            AddTestCase(new ManyWouldDeadlock(hasDetours));
        }
    }

  private:
    static constexpr uint32_t CASES = 1'000;
    static constexpr uint32_t CASES_AT_ONCE = 250;
    static constexpr uint32_t QUICK_CASES = 250; //!< played with --quick
};

FabricCreditsTestSuite g_fabricCreditsTestSuite; //!< registers itself
} // namespace fabric_credits_test
