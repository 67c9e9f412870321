// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricSwitch: its table, and how it spreads flows over equal paths.
 */
#include "switch-fixture.h"

#include "ns3/test.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace fabric_switch_test
{
using namespace ns3;
using namespace ns3::test;

class RoutesByTable : public TestCase
{
  public:
    RoutesByTable()
        : TestCase(
              "a frame takes a port of its destination; one without a route is counted and freed")
    {
    }

  private:
    void DoRun() override
    {
        WatchedSwitch watched(4, 0);
        // Destination 0 by port 2, 1 by none, 2 by 0 or 3, 3 by 1.
        SetRoutes(watched.Get(), {0, 1, 1, 3, 4}, {2, 0, 3, 1});
        bool tookZero = false;
        bool tookThree = false;
        for (uint32_t hash = 0; hash < 64; ++hash)
        {
            NS_TEST_EXPECT_MSG_EQ(watched.Choose(0, hash), 2U, "destination 0");
            NS_TEST_EXPECT_MSG_EQ(watched.Choose(3, hash), 1U, "destination 3");
            const uint32_t port = watched.Choose(2, hash);
            tookZero = tookZero || port == 0;
            tookThree = tookThree || port == 3;
            NS_TEST_EXPECT_MSG_EQ((port == 0 || port == 3),
                                  true,
                                  "destination 2 took port " << port);
        }
        NS_TEST_EXPECT_MSG_EQ((tookZero && tookThree),
                              true,
                              "both ports of destination 2 are used");
        NS_TEST_EXPECT_MSG_EQ(watched.Get()->GetUnroutedFrames(), 0U, "all had a route");
        for (uint32_t destination : {1U, 4U, 5U, 0xffffffffU})
        {
            Ptr<Packet> packet = Create<Packet>(100);
            NS_TEST_EXPECT_MSG_EQ(watched.Choose(destination, 1, packet), 4U, "no port");
            NS_TEST_EXPECT_MSG_EQ(packet->GetReferenceCount(), 1U, "the packet is let go");
        }
        NS_TEST_EXPECT_MSG_EQ(watched.Get()->GetUnroutedFrames(), 4U, "four had none");
        Simulator::Destroy();
    }
};

/// Counts the frames that it is told are lost.
class CountingFlow : public FabricFlow
{
  public:
    void ReceiveFrame(FabricFrame* frame) override
    {
        FabricFramePool::Give(frame);
    }

    void FrameLost(FabricFrame* frame) override
    {
        lost++;
        FabricFramePool::Give(frame);
    }

    Ptr<Packet> MakePacket(const FabricFrame&) const override
    {
        return nullptr;
    }

    uint32_t lost{0}; //!< frames
};

class TellsAFlowOfItsUnroutedFrames : public TestCase
{
  public:
    TellsAFlowOfItsUnroutedFrames()
        : TestCase("a flow hears of a frame of its own that a switch has no route for")
    {
    }

  private:
    void DoRun() override
    {
        WatchedSwitch watched(2, 0);
        CountingFlow flow;
        for (uint32_t frames = 1; frames <= 3; ++frames)
        {
            FabricFrame* frame = FabricFramePool::Take();
            frame->flow = &flow;
            frame->destination = 7;
            watched.Get()->ReceiveFrame(frame, 0);
            NS_TEST_EXPECT_MSG_EQ(flow.lost, frames, "lost frames");
        }
        NS_TEST_EXPECT_MSG_EQ(watched.Get()->GetUnroutedFrames(), 3U, "none had a route");
        Simulator::Destroy();
    }
};

class SpreadsFlowsEvenly : public TestCase
{
  public:
    SpreadsFlowsEvenly()
        : TestCase("flows spread evenly over 2, 3, 4 and 7 equal ports, each flow always on the "
                   "same one")
    {
    }

  private:
    void DoRun() override
    {
        const auto hashes = FlowHashes(24, 8);
        NS_TEST_ASSERT_MSG_EQ(hashes.size(), 24U * 23 * 8, "flows");
        for (uint32_t ports : {2, 3, 4, 7})
        {
            for (uint32_t hashSeed : {0U, 1U, 2U, 0x9e3779b9U})
            {
                WatchedSwitch watched(ports, hashSeed);
                RouteOverAll(watched.Get(), 1, ports);
                std::vector<uint64_t> counts(ports, 0);
                for (uint32_t hash : hashes)
                {
                    const uint32_t port = watched.Choose(0, hash);
                    NS_TEST_ASSERT_MSG_LT(port, ports, "a port");
                    counts[port]++;
                }
                for (std::size_t flow = 0; flow < 50; ++flow)
                {
                    const uint32_t port = watched.Choose(0, hashes[flow]);
                    NS_TEST_EXPECT_MSG_EQ(watched.Choose(0, hashes[flow]),
                                          port,
                                          "the same port again");
                }
                NS_TEST_EXPECT_MSG_LT(ChiSquare(counts),
                                      CHI_SQUARE_LIMIT.at(ports - 1),
                                      ports << " ports, seed " << hashSeed);
                Simulator::Destroy();
            }
        }
    }
};

class SeedsMakeChoicesIndependent : public TestCase
{
  public:
    SeedsMakeChoicesIndependent()
        : TestCase("switches of two levels with different seeds choose independently of each other")
    {
    }

  private:
    void DoRun() override
    {
        const auto hashes = FlowHashes(24, 8);
        constexpr uint32_t PORTS = 4;
        const std::vector<std::pair<uint32_t, uint32_t>> seeds{{0, 1}, {1, 2}, {7, 8}, {100, 228}};
        for (const auto& [seedBelow, seedAbove] : seeds)
        {
            WatchedSwitch below(PORTS, seedBelow);
            WatchedSwitch above(PORTS, seedAbove);
            WatchedSwitch same(PORTS, seedBelow);
            RouteOverAll(below.Get(), 1, PORTS);
            RouteOverAll(above.Get(), 1, PORTS);
            RouteOverAll(same.Get(), 1, PORTS);
            std::vector<std::vector<uint64_t>> counts(PORTS, std::vector<uint64_t>(PORTS, 0));
            for (uint32_t hash : hashes)
            {
                const uint32_t first = below.Choose(0, hash);
                counts[first][above.Choose(0, hash)]++;
                NS_TEST_ASSERT_MSG_EQ(same.Choose(0, hash), first, "the same seed would polarise");
            }
            for (uint32_t port = 0; port < PORTS; ++port)
            {
                // The flows that one port below sends up meet all ports above alike.
                NS_TEST_EXPECT_MSG_LT(ChiSquare(counts[port]),
                                      CHI_SQUARE_LIMIT.at(PORTS - 1),
                                      "seeds " << seedBelow << ", " << seedAbove << ", port "
                                               << port);
            }
        }
        Simulator::Destroy();
    }
};

class ThreeLevelsDoNotPolarise : public TestCase
{
  public:
    ThreeLevelsDoNotPolarise()
        : TestCase("over three levels with different seeds every path gets its share of the flows")
    {
    }

  private:
    void DoRun() override
    {
        const auto hashes = FlowHashes(24, 8);
        constexpr uint32_t PORTS = 4;
        for (uint32_t firstSeed : {0U, 5U, 64U, 1'000U})
        {
            WatchedSwitch edge(PORTS, firstSeed);
            WatchedSwitch aggregation(PORTS, firstSeed + 1);
            WatchedSwitch core(PORTS, firstSeed + 2);
            std::vector<uint64_t> counts(PORTS * PORTS * PORTS, 0);
            for (WatchedSwitch* watched : {&edge, &aggregation, &core})
            {
                RouteOverAll(watched->Get(), 1, PORTS);
            }
            for (uint32_t hash : hashes)
            {
                const uint32_t up = edge.Choose(0, hash);
                const uint32_t further = aggregation.Choose(0, hash);
                counts[(up * PORTS + further) * PORTS + core.Choose(0, hash)]++;
            }
            NS_TEST_EXPECT_MSG_LT(ChiSquare(counts),
                                  CHI_SQUARE_LIMIT.at(counts.size() - 1),
                                  "seeds from " << firstSeed);
        }
        Simulator::Destroy();
    }
};

class FlowHashTellsFlowsApart : public TestCase
{
  public:
    FlowHashTellsFlowsApart()
        : TestCase(
              "a NIC's flow hash depends on both addresses and both ports, and on nothing else")
    {
    }

  private:
    void DoRun() override
    {
        HashReader reader;
        Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
        device->AddPort(CreateObject<FabricPort>());
        device->GetPort(0)->Connect(&reader, 0, 0);
        const uint32_t hash = reader.Read(device, 1, 2, 49'153, 5'000);
        NS_TEST_EXPECT_MSG_EQ(reader.Read(device, 1, 2, 49'153, 5'000), hash, "the same flow");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 3, 2, 49'153, 5'000), hash, "another source");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 1, 3, 49'153, 5'000),
                              hash,
                              "another destination");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 1, 2, 49'154, 5'000),
                              hash,
                              "another source port");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 1, 2, 49'153, 5'001),
                              hash,
                              "another destination port");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 2, 1, 5'000, 49'153), hash, "the way back");
        constexpr uint32_t HOSTS = 64;
        std::set<uint32_t> hashes;
        for (uint32_t from = 0; from < HOSTS; ++from)
        {
            for (uint32_t to = 0; to < HOSTS; ++to)
            {
                if (from != to)
                {
                    hashes.insert(reader.Read(device, from, to, 49'153, 5'000));
                }
            }
        }
        // Two of 4032 random numbers of 32 bits are equal once in 500 tries.
        NS_TEST_EXPECT_MSG_EQ(hashes.size(), HOSTS * (HOSTS - 1), "pairs with the same ports");
        device->Dispose();
        Simulator::Destroy();
    }
};

class FabricSwitchTestSuite : public TestSuite
{
  public:
    FabricSwitchTestSuite()
        : TestSuite("astra-fabric-switch", Type::UNIT)
    {
        AddTestCase(new RoutesByTable);
        AddTestCase(new TellsAFlowOfItsUnroutedFrames);
        AddTestCase(new FlowHashTellsFlowsApart);
        AddTestCase(new SpreadsFlowsEvenly);
        AddTestCase(new SeedsMakeChoicesIndependent);
        AddTestCase(new ThreeLevelsDoNotPolarise);
    }
};

FabricSwitchTestSuite g_fabricSwitchTestSuite; //!< registers itself
} // namespace fabric_switch_test
