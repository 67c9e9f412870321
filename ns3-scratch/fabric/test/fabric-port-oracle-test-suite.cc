// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Everything visible of FabricPort, FabricPortScheduler and FabricSharedBuffer against the plain
 * ports of port-oracle.h, at random.
 */
#include "port-observer.h"
#include "port-oracle.h"

#include "ns3/test.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace fabric_port_oracle_test
{
using namespace ns3;
using namespace ns3::test;
using namespace astra_ns3::test;
constexpr uint32_t PORTS = 4;

/// What kind of traffic is offered.
struct Traffic
{
    uint32_t offers{3'000};            //!< how many
    int64_t burstPs{80'000};           //!< most between two offers, as a rule
    std::vector<uint8_t> priorities{}; //!< frames have one of these
    uint32_t pausePercent{0};          //!< offers that stop priorities or let them go on
    uint32_t sourcePercent{0};         //!< frames that a host paces
    bool portGrids{false};             //!< ports keep to times of their own
    bool thousands{false};             //!< whole thousands of bytes, so that limits are met exactly
};

/// A comparison.
struct Comparison
{
    std::string name;              //!< what it is about
    std::vector<PortShape> shapes; //!< the ports
    MemoryShape memory;            //!< the memory
    Traffic traffic;               //!< the offers
    uint32_t seeds{20};            //!< how many random cases
    // How often what it is about must happen over all seeds, lest it compares nothing:
    uint64_t drops{0};       //!< frames dropped or lost
    uint64_t marks{0};       //!< frames marked
    uint64_t pauseFrames{0}; //!< pause frames sent
    uint64_t stops{0};       //!< priorities stopped
};

/// \return ports of different rates, one of which has no whole picoseconds a byte and one no delay
std::vector<PortShape>
UnevenPorts()
{
    return {{100'000'000'000, 500'000, 6'000},
            {100'000'000'000, 0, 0},
            {400'000'000'000, 80, 3'000},
            {2'400'000'000'000, 10'000, 1'000}};
}

/// \return random offers, a good part of them at times at which a line gets free
std::vector<Offer>
RandomOffers(const Traffic& traffic, uint32_t seed)
{
    std::mt19937 random(seed);
    std::vector<Offer> offers;
    int64_t timePs = 0;
    const std::vector<uint32_t> sizes =
        traffic.thousands ? std::vector<uint32_t>{1'000, 1'000, 2'000, 5'000}
                          : std::vector<uint32_t>{64, 64, 88, 1'000, 1'518, 1'518, 9'018};
    const auto steps = static_cast<uint32_t>(traffic.burstPs / 80);
    for (uint32_t number = 0; number < traffic.offers; ++number)
    {
        // Multiples of 80 ps, the byte time of 100 Gb/s, in bursts with pauses in which the queues
        // drain.
        const uint32_t draw = random() % 100;
        timePs += draw < 40 ? 0 : 80 * (draw < 97 ? random() % steps : random() % (20 * steps));
        const uint32_t port = random() % 2 == 0 ? 0 : random() % PORTS;
        Offer offer{timePs, port, sizes[random() % sizes.size()], random() % 2 == 0};
        offer.timePs += traffic.portGrids ? 5 * port : 0;
        offer.priority = traffic.priorities.empty()
                             ? 0
                             : traffic.priorities[random() % traffic.priorities.size()];
        offer.ingressPort = random() % PORTS;
        if (random() % 100 < traffic.pausePercent)
        {
            offer.paused = random() % 3 == 0 ? 0 : static_cast<int>(random() & random() & 0xff);
        }
        else if (random() % 10 == 0)
        {
            offer.bufferBytes = 0;
        }
        else if (random() % 100 < traffic.sourcePercent)
        {
            offer.gapPs = random() % 3 == 0 ? 0 : random() % 500'000;
        }
        offers.push_back(offer);
    }
    timePs += 100'000'000;
    for (uint32_t port = 0; port < PORTS; ++port)
    {
        Offer last{timePs, port, 0, false};
        last.paused = 0; // nothing stays stopped
        offers.push_back(last);
    }
    if (traffic.portGrids)
    {
        std::stable_sort(offers.begin(), offers.end(), [](const Offer& a, const Offer& b) {
            return a.timePs < b.timePs;
        });
    }
    return offers;
}

/// \return time in which anything was stopped. \param pauses what was stopped, at each change
int64_t
PausedPs(const Stamps& pauses)
{
    int64_t sumPs = 0;
    for (std::size_t place = 1; place < pauses.size(); ++place)
    {
        sumPs += pauses[place - 1].second != 0 ? pauses[place].first - pauses[place - 1].first : 0;
    }
    return sumPs;
}

/// Plays the same offers on both kinds of ports.
class SamePortAsPlainOracle : public TestCase
{
  public:
    explicit SamePortAsPlainOracle(const Comparison& comparison)
        : TestCase("the same as plain two-event ports: " + comparison.name),
          m_comparison(comparison)
    {
    }

  private:
    void DoRun() override
    {
        uint32_t compared = 0;
        uint64_t drops = 0;
        uint64_t marks = 0;
        uint64_t pauseFrames = 0;
        uint64_t stops = 0;
        for (uint32_t seed = 1; seed <= m_comparison.seeds && !IsStatusFailure(); ++seed)
        {
            const auto offers = RandomOffers(m_comparison.traffic, seed);
            PortOracle oracle(m_comparison.shapes, m_comparison.memory);
            const auto expected = oracle.Play(offers);
            if (oracle.IsAmbiguous())
            {
                continue;
            }
            compared++;
            ObservedPorts ports(m_comparison.shapes, m_comparison.memory);
            const auto actual = ports.Play(offers);
            uint64_t frames = 0;
            for (std::size_t port = 0; port < expected.size(); ++port)
            {
                const auto where =
                    "seed " + std::to_string(seed) + ", port " + std::to_string(port) + ": ";
                Compare(actual[port], expected[port], where);
                CompareCounters(ports.GetCounters(port), expected[port], where);
                frames += expected[port].starts.size();
                drops += expected[port].drops.size();
                marks += expected[port].marks.size();
                stops += expected[port].stops;
                pauseFrames += CountPauses(expected[port].starts);
            }
            if (m_comparison.memory.losslessPriorities == 0 &&
                m_comparison.traffic.sourcePercent == 0)
            {
                NS_TEST_EXPECT_MSG_EQ(ports.GetEvents(),
                                      offers.size() + frames,
                                      "one event a frame and link");
            }
        }
        NS_TEST_EXPECT_MSG_EQ((2 * compared >= m_comparison.seeds),
                              true,
                              "only " << compared << " cases are free of ties");
        NS_TEST_EXPECT_MSG_EQ((drops >= m_comparison.drops), true, drops << " drops are too few");
        NS_TEST_EXPECT_MSG_EQ((marks >= m_comparison.marks), true, marks << " marks are too few");
        NS_TEST_EXPECT_MSG_EQ((pauseFrames >= m_comparison.pauseFrames),
                              true,
                              pauseFrames << " pause frames are too few");
        NS_TEST_EXPECT_MSG_EQ((stops >= m_comparison.stops), true, stops << " stops are too few");
    }

    static uint64_t CountPauses(const Stamps& stamps)
    {
        return std::count_if(stamps.begin(), stamps.end(), [](const auto& stamp) {
            return stamp.second >= PAUSE_FRAME;
        });
    }

    void Compare(const PortLog& actual, const PortLog& expected, const std::string& where)
    {
        Same(actual.starts, expected.starts, where + "starts");
        Same(actual.arrivals, expected.arrivals, where + "arrivals");
        Same(actual.drops, expected.drops, where + "drops");
        Same(actual.marks, expected.marks, where + "marks");
        Same(actual.queue, expected.queue, where + "queue");
        Same(actual.looks, expected.looks, where + "looks");
        Same(actual.memoryLooks, expected.memoryLooks, where + "memory");
        Same(actual.sentStamps, expected.sentStamps, where + "telemetry of sent bytes");
        Same(actual.queueStamps, expected.queueStamps, where + "telemetry of the queue");
        Same(actual.pauses, expected.pauses, where + "stopped priorities");
    }

    void Same(const Stamps& actual, const Stamps& expected, const std::string& what)
    {
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual, expected), "", what);
    }

    void CompareCounters(const FabricPortCounters& actual,
                         const PortLog& expected,
                         const std::string& where)
    {
        const uint64_t pauses = CountPauses(expected.starts);
        NS_TEST_EXPECT_MSG_EQ(actual.sentFrames, expected.starts.size(), where << "sent frames");
        NS_TEST_EXPECT_MSG_EQ(actual.sentBytes, expected.sentBytes, where << "sent bytes");
        NS_TEST_EXPECT_MSG_EQ(actual.droppedFrames + actual.lostFrames,
                              expected.drops.size(),
                              where << "drops");
        NS_TEST_EXPECT_MSG_EQ(actual.droppedBytes, expected.droppedBytes, where << "drop bytes");
        NS_TEST_EXPECT_MSG_EQ(actual.lostFrames, expected.lostFrames, where << "lost frames");
        NS_TEST_EXPECT_MSG_EQ(actual.markedFrames, expected.marks.size(), where << "marks");
        NS_TEST_EXPECT_MSG_EQ(actual.highestQueueBytes,
                              expected.highestQueueBytes,
                              where << "highest queue");
        NS_TEST_EXPECT_MSG_EQ(actual.pauses, expected.stops, where << "stops");
        NS_TEST_EXPECT_MSG_EQ(actual.pausedPs, PausedPs(expected.pauses), where << "paused time");
        NS_TEST_EXPECT_MSG_EQ(actual.pauseFrames, pauses, where << "pause frames");
    }

    Comparison m_comparison; //!< what is compared
};

/// \return all comparisons
std::vector<Comparison>
Comparisons()
{
    const std::vector<uint8_t> all{0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<PortShape> dequeue = UnevenPorts();
    std::vector<PortShape> weighted = UnevenPorts();
    std::vector<PortShape> broken = UnevenPorts();
    broken[0].losesAll = true;
    for (uint32_t port = 0; port < PORTS; ++port)
    {
        dequeue[port].marksAtDequeue = true;
        weighted[port].marksAtDequeue = port % 2 == 0;
    }
    weighted[0].quanta = {1'500, 3'000, 500, 100, 0, 9'000, 1'500, 1};
    weighted[1].quanta = std::vector<uint32_t>(8, 1'600);
    weighted[2].quanta = {0, 0, 0, 0, 0, 0, 0, 64};
    const std::vector<PortShape> grid{{100'000'000'000, 500'000, 6'000},
                                      {400'000'000'000, 20'000, 9'000, true},
                                      {200'000'000'000, 100'000, 3'000, true},
                                      {100'000'000'000, 0, 2'000}};
    std::vector<PortShape> weightedGrid = grid;
    weightedGrid[0].quanta = {1'500, 3'000, 500, 100, 0, 9'000, 1'500, 800};
    weightedGrid[1].losesAll = true;
    const MemoryShape
        pfc{120'000, 0.0, 0x0a, 2'000, 3'000, {9'100, 12'000, 3'000, 0}, {0.5, 0.125, 1.0, 2.0}};
    MemoryShape tight = pfc;
    tight.alpha = 0.7;
    tight.losslessPriorities = 0xff;
    tight.reserveBytes = 0;
    tight.bytes = 230'000;
    MemoryShape exact = pfc;
    exact.headrooms = {9'000, 12'000, 3'000, 0};
    exact.ingressAlpha = {1.0, 0.5, 1.0, 2.0};
    exact.alpha = 0.5;
    const Traffic thousands{3'000, 160'000, all, 10, 0, true, true};
    const Traffic mixed{3'000, 160'000, all, 0, 0, true};
    const Traffic paused{3'000, 160'000, all, 10, 0, true};
    return {
        {"one priority", UnevenPorts(), {30'000}, {4'000, 80'000, {}}, 20, 400, 400},
        {"eight priorities, strictly, and pauses",
         UnevenPorts(),
         {60'000},
         {3'000, 80'000, all, 10},
         40,
         400,
         400,
         0,
         400},
        {"deficit round robin and pauses",
         weighted,
         {200'000},
         {3'000, 80'000, all, 10},
         40,
         400,
         400,
         0,
         400},
        {"marks at dequeue", dequeue, {60'000}, {3'000, 80'000, {0, 3}, 3}, 20, 400, 400, 0, 400},
        {"a lost cable", broken, {60'000}, {3'000, 80'000, {0, 3}, 3}, 10, 400},
        {"dynamic threshold of lossy queues",
         UnevenPorts(),
         {60'000, 0.5},
         {3'000, 80'000, all, 3},
         20,
         400},
        {"paced frames of a host",
         UnevenPorts(),
         {30'000},
         {3'000, 80'000, all, 10, 60},
         40,
         400,
         0,
         0,
         400},
        {"lossless priorities", grid, pfc, mixed, 60, 400, 400, 400},
        {"lossless priorities, weights, pauses", weightedGrid, pfc, paused, 60, 400, 400, 400, 400},
        {"limits met exactly", grid, exact, thousands, 60, 400, 0, 400, 400},
        {"eight lossless priorities", grid, tight, paused, 60, 400, 0, 400, 400},
    };
}

class FabricPortOracleTestSuite : public TestSuite
{
  public:
    FabricPortOracleTestSuite()
        : TestSuite("astra-fabric-port-oracle", Type::UNIT)
    {
        for (const Comparison& comparison : Comparisons())
        {
            AddTestCase(new SamePortAsPlainOracle(comparison));
        }
    }
};

FabricPortOracleTestSuite g_fabricPortOracleTestSuite; //!< registers itself
} // namespace fabric_port_oracle_test
