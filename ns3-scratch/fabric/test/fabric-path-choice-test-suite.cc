// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * The ways to choose between equal paths: turns, chance, load, flowlets, pins, and the hash of
 * older simulators.
 */
#include "fabric-flowlet-choice.h"
#include "fabric-load-choice.h"
#include "fabric-murmur-choice.h"
#include "fabric-pinned-choice.h"
#include "fabric-port-loads.h"
#include "fabric-spray-choice.h"
#include "port-fixture.h"
#include "switch-fixture.h"

#include "ns3/test.h"

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace fabric_path_choice_test
{
using namespace ns3;
using namespace ns3::test;

/// Ports of different rates, and a choice between them.
class Chooser
{
  public:
    /// \param rates of the ports, bit/s \param numbers the ports that lead on
    Chooser(const std::vector<uint64_t>& rates, std::vector<uint32_t> numbers)
        : m_numbers(std::move(numbers))
    {
        for (uint64_t rateBps : rates)
        {
            m_ports.push_back(MakePort(rateBps, 0));
            m_ports.back()->Connect(&m_sink, 0, 0);
        }
    }

    ~Chooser()
    {
        for (const auto& port : m_ports)
        {
            port->Dispose();
        }
        Simulator::Destroy();
    }

    Chooser(const Chooser&) = delete;
    Chooser& operator=(const Chooser&) = delete;

    /// \return the port that a frame takes
    uint32_t Choose(FabricPathChoice& choice, const FabricFrame& frame) const
    {
        return choice.Choose(frame,
                             {m_numbers.data(), static_cast<uint32_t>(m_numbers.size())},
                             m_ports);
    }

    /// \return bits per second that each of the choices carries at full load
    std::vector<double> FindLoads() const
    {
        return FabricPortLoads({m_numbers.data(), static_cast<uint32_t>(m_numbers.size())},
                               m_ports);
    }

    /// Let so many bytes wait behind the frame on the line.
    void Load(uint32_t port, uint32_t waitingBytes)
    {
        m_ports[port]->Enqueue(MakeFrame(1, 64));
        m_ports[port]->Enqueue(MakeFrame(1, waitingBytes));
    }

  private:
    std::vector<uint32_t> m_numbers;      //!< ports that lead on
    std::vector<Ptr<FabricPort>> m_ports; //!< all ports
    Sink m_sink;                          //!< their far end
};

constexpr uint64_t GBPS = 1'000'000'000;

class SprayTakesTurns : public TestCase
{
  public:
    SprayTakesTurns()
        : TestCase("packet spraying takes each port in turn, each switch from a port of its own")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t count : {2, 3, 4, 7, 8})
        {
            std::vector<uint32_t> numbers;
            for (uint32_t place = 0; place < count; ++place)
            {
                numbers.push_back(10 + 3 * place);
            }
            const Chooser chooser({}, numbers);
            std::set<uint32_t> firsts;
            for (uint32_t seed = 0; seed < count; ++seed)
            {
                FabricSprayChoice spray(seed, false);
                std::vector<uint32_t> taken;
                for (uint32_t frame = 0; frame < 5 * count; ++frame)
                {
                    taken.push_back(chooser.Choose(spray, FabricFrame()));
                }
                firsts.insert(taken.front());
                for (uint32_t frame = 0; frame + count <= taken.size(); ++frame)
                {
                    const std::set<uint32_t> round(taken.begin() + frame,
                                                   taken.begin() + frame + count);
                    NS_TEST_EXPECT_MSG_EQ(round.size(), count, "each once in any round");
                }
            }
            NS_TEST_EXPECT_MSG_EQ(firsts.size(), count, "neighbouring seeds begin differently");
        }
    }
};

class RandomSprayIsEven : public TestCase
{
  public:
    RandomSprayIsEven()
        : TestCase("spraying at random is even, without order, and different at each switch")
    {
    }

  private:
    void DoRun() override
    {
        const Chooser chooser({}, {0, 1, 2, 3});
        std::vector<std::vector<uint32_t>> taken;
        for (uint32_t seed : {0U, 1U, 2U, 77U})
        {
            FabricSprayChoice spray(seed, true);
            std::vector<uint64_t> counts(4, 0);
            std::vector<uint64_t> pairs(64, 0); // three frames in a row
            taken.emplace_back();
            for (uint32_t frame = 0; frame < 30'000; ++frame)
            {
                taken.back().push_back(chooser.Choose(spray, FabricFrame()));
                counts[taken.back().back()]++;
                if (frame % 3 == 2)
                {
                    const auto& all = taken.back();
                    pairs[(all[frame - 2] * 4 + all[frame - 1]) * 4 + all[frame]]++;
                }
            }
            NS_TEST_EXPECT_MSG_LT(ChiSquare(counts), CHI_SQUARE_LIMIT.at(3), "seed " << seed);
            NS_TEST_EXPECT_MSG_LT(ChiSquare(pairs), CHI_SQUARE_LIMIT.at(63), "seed " << seed);
        }
        NS_TEST_EXPECT_MSG_EQ((taken[0] != taken[1] && taken[1] != taken[2]), true, "seeds differ");
    }
};

class LoadTakesTheShortestTime : public TestCase
{
  public:
    LoadTakesTheShortestTime()
        : TestCase("adaptive routing takes the queue that is sent soonest, and turns among equals")
    {
    }

  private:
    void DoRun() override
    {
        Chooser chooser({100 * GBPS, 400 * GBPS, 100 * GBPS, 25 * GBPS}, {0, 1, 2});
        FabricLoadChoice load(0);
        std::vector<uint32_t> turns;
        for (int frame = 0; frame < 6; ++frame)
        {
            turns.push_back(chooser.Choose(load, FabricFrame()));
        }
        NS_TEST_EXPECT_MSG_EQ((turns == std::vector<uint32_t>{0, 1, 2, 0, 1, 2}), true, "idle");
        // 720 ns of queue on port 0, 580 ns on port 1 though it is longer, 800 ns on port 2; the
        // idle port 3 doesn't lead on.
        chooser.Load(0, 9'000);
        chooser.Load(1, 29'000);
        chooser.Load(2, 10'000);
        for (int frame = 0; frame < 6; ++frame)
        {
            NS_TEST_EXPECT_MSG_EQ(chooser.Choose(load, FabricFrame()), 1U, "the shortest time");
        }
        // When the frames on the lines are gone (84 bytes: 6.72 ns, 1.68 ns), so are the queues.
        Simulator::Schedule(NanoSeconds(2), [this, &chooser, &load] {
            for (int frame = 0; frame < 6; ++frame)
            {
                NS_TEST_EXPECT_MSG_EQ(chooser.Choose(load, FabricFrame()),
                                      1U,
                                      "its queue is empty now");
            }
        });
        Simulator::Schedule(NanoSeconds(7), [this, &chooser, &load] {
            std::set<uint32_t> taken;
            for (int frame = 0; frame < 3; ++frame)
            {
                taken.insert(chooser.Choose(load, FabricFrame()));
            }
            NS_TEST_EXPECT_MSG_EQ(taken.size(), 3U, "all are equal again");
        });
        Simulator::Run();
    }
};

class FullPortsLeaveTheRest : public TestCase
{
  public:
    FullPortsLeaveTheRest()
        : TestCase("ports share evenly what may come in, full ones leave the rest to faster ones")
    {
    }

  private:
    /// A switch whose first ports lead on.
    struct Row
    {
        std::vector<uint64_t> gbps;   //!< rates of its ports
        std::vector<uint32_t> ports;  //!< those that lead on
        std::vector<double> expected; //!< what each carries, Gb/s
    };

    void DoRun() override
    {
        const std::vector<Row> rows{
            {{400, 100, 100, 100}, {0, 1}, {100, 100}}, // half of 200 each
            {{400, 100, 100, 100, 100}, {0, 1}, {200, 100}},
            {{400, 100, 800}, {0, 1}, {400, 100}}, // more than both have
            {{100, 50, 20, 100, 50}, {0, 1, 2}, {80, 50, 20}},
            {{100, 100, 40}, {0, 1}, {100, 100}},              // equal ports, whatever comes
            {{400, 100}, {0, 1}, {400, 100}},                  // nothing is known of what comes
            {{400, 100, 150}, {0, 0, 1}, {100, 0, 50}},        // two turns of three
            {{200, 100, 900}, {0, 1, 0}, {200, 100, 0}},       // weights by rates
            {{200, 100, 240}, {0, 1, 1, 1}, {140, 100, 0, 0}}, // full with three turns of four
        };
        for (const Row& row : rows)
        {
            std::vector<uint64_t> rates;
            for (const uint64_t gbps : row.gbps)
            {
                rates.push_back(gbps * GBPS);
            }
            const std::vector<double> loads = Chooser(rates, row.ports).FindLoads();
            for (std::size_t place = 0; place < loads.size(); ++place)
            {
                NS_TEST_EXPECT_MSG_EQ_TOL(loads[place], row.expected[place] * GBPS, 1.0, "a port");
            }
        }
    }
};

class FlowletsChangeAfterAGap : public TestCase
{
  public:
    FlowletsChangeAfterAGap()
        : TestCase("a flow keeps its port until it rests longer than the gap, then takes the least "
                   "loaded")
    {
    }

  private:
    void DoRun() override
    {
        Chooser chooser({100 * GBPS, 100 * GBPS}, {0, 1});
        FabricFlowletChoice flowlets(1'000'000, 0); // a gap of 1 us
        const auto at = [&](int64_t timePs, uint32_t flow, uint32_t destination, uint32_t port) {
            Simulator::Schedule(TimeStep(timePs),
                                [this, &chooser, &flowlets, timePs, flow, destination, port] {
                                    FabricFrame frame;
                                    frame.flowHash = flow;
                                    frame.destination = destination;
                                    NS_TEST_EXPECT_MSG_EQ(chooser.Choose(flowlets, frame),
                                                          port,
                                                          "flow " << flow << " at " << timePs
                                                                  << " ps");
                                });
        };
        at(0, 7, 0, 0);         // the first in turn
        at(0, 8, 0, 1);         // another flow, the next in turn
        at(1, 7, 1, 0);         // the same hash to another host is a flow of its own
        at(999'999, 7, 0, 0);   // within the gap
        at(1'999'999, 7, 0, 0); // exactly the gap after the last: it stays
        Simulator::Schedule(TimeStep(2'000'000), [&chooser] {
            chooser.Load(0, 9'000'000); // it is on the line for 720 us,
            chooser.Load(0, 9'000'000); // and as much waits
        });
        at(2'999'998, 7, 0, 0); // within the gap, though the port is loaded now
        at(3'999'998, 7, 0, 0); // and again
        at(5'000'000, 7, 0, 1); // 2 ps longer than the gap: the idle port
        at(5'000'001, 8, 0, 1);
        at(5'000'002, 7, 1, 1);
        Simulator::Run();
    }
};

class PinsLeadTheWay : public TestCase
{
  public:
    PinsLeadTheWay()
        : TestCase("a pinned path takes the named choice at each switch, all else goes by hash")
    {
    }

  private:
    void DoRun() override
    {
        const Chooser chooser({}, {4, 5, 6});
        auto pins = std::make_shared<FabricPins>();
        (*pins)[{2, 9}] = {1, 0, 5};
        FabricPinnedChoice pinned(pins, 33);
        const auto hashes = FlowHashes(24, 8);
        std::vector<uint64_t> notPinned(3, 0);
        std::vector<uint64_t> behind(3, 0);
        for (uint32_t hash : hashes)
        {
            FabricFrame frame;
            frame.flowHash = hash;
            frame.source = 2;
            frame.destination = 9;
            const std::array<uint32_t, 3> expected{5, 4, 6}; // the last of the pins is taken mod 3
            for (uint8_t passed = 1; passed <= 3; ++passed)
            {
                frame.switches = passed;
                NS_TEST_ASSERT_MSG_EQ(chooser.Choose(pinned, frame), expected[passed - 1], "pin");
            }
            frame.switches = 4;
            behind.at(chooser.Choose(pinned, frame) - 4)++;
            frame.switches = 1;
            std::swap(frame.source, frame.destination);
            notPinned.at(chooser.Choose(pinned, frame) - 4)++;
        }
        NS_TEST_EXPECT_MSG_LT(ChiSquare(notPinned), CHI_SQUARE_LIMIT.at(2), "the way back");
        NS_TEST_EXPECT_MSG_LT(ChiSquare(behind), CHI_SQUARE_LIMIT.at(2), "behind the last pin");
    }
};

class MurmurIsMurmurHash3 : public TestCase
{
  public:
    MurmurIsMurmurHash3()
        : TestCase("the hash of older simulators is MurmurHash3_x86_32 of twelve bytes, modulo")
    {
    }

  private:
    /// Three words, seed and hash, from a byte-wise program that was checked against the
    /// published values of the function (empty with seed 1: 0x514e28b7, "test": 0xba6bd213).
    struct Vector
    {
        std::array<uint32_t, 3> words; //!< what is hashed
        uint32_t seed;                 //!< seed
        uint32_t hash;                 //!< hash
    };

    void DoRun() override
    {
        const std::vector<Vector> vectors{
            {{0x00000000, 0x00000000, 0x00000000}, 0x00000000, 0xd941144b},
            {{0x00000000, 0x00000000, 0x00000000}, 0x00000001, 0x4b467fb0},
            {{0x00000001, 0x00000002, 0x00000003}, 0x00000000, 0xe9d78ad6},
            {{0xffffffff, 0xffffffff, 0xffffffff}, 0x00000000, 0xa9ed186d},
            {{0x0b000001, 0x0b000101, 0x00642710}, 0x00000010, 0x97202071},
            {{0x0b000101, 0x0b000001, 0x27100064}, 0x00000010, 0x23fbd5ac},
            {{0x0b010001, 0x0b00ff01, 0x00642711}, 0x9747b28c, 0xdbddfe6c},
            {{0x12345678, 0x9abcdef0, 0x0fedcba9}, 0xdeadbeef, 0x07402938},
        };
        for (const Vector& vector : vectors)
        {
            NS_TEST_EXPECT_MSG_EQ(FabricMurmurChoice::Hash(vector.words, vector.seed),
                                  vector.hash,
                                  "seed " << vector.seed);
            const FabricHostAddresses addresses{99, vector.words[1], vector.words[0]};
            FabricMurmurChoice choice(std::make_shared<const FabricHostAddresses>(addresses),
                                      vector.seed);
            FabricFrame frame;
            frame.source = 2;
            frame.destination = 1;
            frame.flowHash = vector.words[2];
            const Chooser five({}, {10, 11, 12, 13, 14});
            NS_TEST_EXPECT_MSG_EQ(five.Choose(choice, frame), 10 + vector.hash % 5, "modulo");
        }
    }
};

class FabricPathChoiceTestSuite : public TestSuite
{
  public:
    FabricPathChoiceTestSuite()
        : TestSuite("astra-fabric-path-choice", Type::UNIT)
    {
        AddTestCase(new SprayTakesTurns);
        AddTestCase(new RandomSprayIsEven);
        AddTestCase(new LoadTakesTheShortestTime);
        AddTestCase(new FullPortsLeaveTheRest);
        AddTestCase(new FlowletsChangeAfterAGap);
        AddTestCase(new PinsLeadTheWay);
        AddTestCase(new MurmurIsMurmurHash3);
    }
};

FabricPathChoiceTestSuite g_fabricPathChoiceTestSuite; //!< registers itself
} // namespace fabric_path_choice_test
