// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoCE over priority flow control: with enough headroom nothing is ever dropped, pauses reach
 * upstream when they should, and they stop the innocent too.
 */
#include "roce-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace roce_pfc_test
{
using namespace ns3;
using namespace ns3::test;
constexpr uint32_t PRIORITY = 3; // of RoCE's data, by default
constexpr uint64_t FRAME_BYTES = 1'062;
constexpr uint64_t WIRE_BYTES = FRAME_BYTES + 20;
constexpr uint64_t PAUSE_WIRE_BYTES = 84;

/// \return what a link can still bring after its receiver has asked for a pause: twice its length,
/// a frame that the pause waits for, one begun before it is read, the one that asked, the pause
uint64_t
HeadroomBytes(uint64_t rateBps, int64_t delayPs)
{
    const auto length =
        static_cast<unsigned __int128>(2 * delayPs) * rateBps / 8 / 1'000'000'000'000U;
    return static_cast<uint64_t>(length) + 1 + 3 * WIRE_BYTES + PAUSE_WIRE_BYTES;
}

/// \return a link with its headroom
LinkParameters
MakeLosslessLink(uint64_t rateBps, int64_t delayPs)
{
    LinkParameters link = MakeLink(rateBps, delayPs);
    link.headroomBytes = HeadroomBytes(rateBps, delayPs);
    return link;
}

/// \return a switch with PFC. \param links its links \param sharedBytes left to share
SwitchParameters
MakeLosslessSwitch(const std::vector<LinkParameters>& links, uint64_t sharedBytes)
{
    SwitchParameters parameters;
    parameters.losslessPriorities = 1U << PRIORITY;
    parameters.bufferBytes = sharedBytes;
    for (const LinkParameters& link : links)
    {
        parameters.bufferBytes += link.headroomBytes + parameters.reserveBytes;
    }
    return parameters;
}

class HeadroomIsEnough : public TestCase
{
  public:
    HeadroomIsEnough()
        : TestCase("an incast of 2 to 64 hosts over random links drops nothing with computed "
                   "headroom, and something without")
    {
    }

  private:
    void DoRun() override
    {
        uint64_t dropsWithout = 0;
        for (uint32_t fanIn : {2U, 3U, 5U, 8U, 16U, 32U, 64U})
        {
            for (uint32_t seed = 1; seed <= 4; ++seed)
            {
                Play(fanIn, seed, true);
                dropsWithout += Play(fanIn, seed, false);
            }
        }
        NS_TEST_EXPECT_MSG_GT(dropsWithout, 100U, "without headroom frames are lost");
        NS_TEST_EXPECT_MSG_GT(m_paused, 40U, "of 56 networks most see pauses");
    }

    /// \return frames dropped
    uint64_t Play(uint32_t fanIn, uint32_t seed, bool withHeadroom)
    {
        std::mt19937 random(seed * 100 + fanIn);
        const std::vector<uint64_t> rates{25, 100, 200, 400};
        std::vector<LinkParameters> links;
        for (uint32_t host = 0; host <= fanIn; ++host)
        {
            const uint64_t rateBps = rates[random() % rates.size()] * GBPS;
            const auto delayPs = static_cast<int64_t>(random() % 5'000'000);
            links.push_back(MakeLosslessLink(rateBps, delayPs));
            links.back().headroomBytes *= withHeadroom ? 1 : 0;
        }
        RoceBench bench(fanIn + 1, {MakeLosslessSwitch(links, 20'000 + random() % 200'000)});
        for (uint32_t host = 0; host <= fanIn; ++host)
        {
            bench.Link(host, fanIn + 1, links[host]);
        }
        RoceParameters parameters;
        parameters.timeoutPs = withHeadroom ? 100'000'000'000 : 1'000'000'000;
        parameters.retries = 0;
        bench.Build(parameters);
        for (uint32_t host = 1; host <= fanIn; ++host)
        {
            bench.Send(host, 0, 100'000 + random() % 100'000, random() % 1'000'000);
            bench.Send(0, host, 20'000, random() % 1'000'000); // so that pauses wait for frames
        }
        Simulator::Run();
        const uint64_t drops = bench.Sum(&FabricPortCounters::droppedFrames);
        const auto& statistics = bench.GetTransport().GetStatistics();
        const auto where = "fan-in " + std::to_string(fanIn) + ", seed " + std::to_string(seed);
        NS_TEST_EXPECT_MSG_EQ(bench.GetArrivals().size(), 2 * fanIn, where << ": messages");
        m_paused += bench.Sum(&FabricPortCounters::pauses) > 0 ? 1 : 0;
        if (withHeadroom)
        {
            NS_TEST_EXPECT_MSG_EQ(drops, 0U, where << ": dropped frames");
            NS_TEST_EXPECT_MSG_EQ(statistics.retransmittedPackets, 0U, where << ": sent again");
        }
        else
        {
            NS_TEST_EXPECT_MSG_EQ((drops == 0 || statistics.retransmittedPackets > 0),
                                  true,
                                  where << ": what is dropped is sent again");
        }
        return drops;
    }

    uint32_t m_paused{0}; //!< networks with pauses
};

/// One sender over one switch to a host whose port is stopped at first.
class PauseComesWhenItShould : public TestCase
{
  public:
    PauseComesWhenItShould()
        : TestCase("the pause and the way free reach upstream at the time worked out by hand")
    {
    }

  private:
    static constexpr int64_t BYTE_PS = 80; // at 100 Gb/s
    static constexpr int64_t FRAME_PS = WIRE_BYTES * BYTE_PS;
    static constexpr int64_t DELAY_PS = 1'000'000;
    static constexpr int64_t GO_PS = 30'000'000;
    static constexpr uint64_t RESERVE_BYTES = 4'096;
    static constexpr uint64_t RESUME_OFFSET_BYTES = 3'072;

    void DoRun() override
    {
        for (uint64_t sharedBytes : {20'000U, 50'000U, 100'000U})
        {
            for (double alpha : {0.125, 0.5, 1.0})
            {
                Play(sharedBytes, alpha);
            }
        }
    }

    /// \return whether an ingress queue of so many frames is at its threshold
    static bool IsFull(uint64_t frames, uint64_t offsetBytes, uint64_t sharedBytes, double alpha)
    {
        const auto above =
            static_cast<int64_t>(frames * FRAME_BYTES) - static_cast<int64_t>(RESERVE_BYTES);
        const double used = std::max<double>(static_cast<double>(above), 0.0);
        const auto threshold =
            static_cast<int64_t>(alpha * (static_cast<double>(sharedBytes) - used));
        return above > 0 && above + static_cast<int64_t>(offsetBytes) >= threshold;
    }

    void Play(uint64_t sharedBytes, double alpha)
    {
        LinkParameters link = MakeLosslessLink(100 * GBPS, DELAY_PS);
        link.pfcAlpha = alpha;
        auto bench = MakeStar(2, link, MakeLosslessSwitch({link, link}, sharedBytes));
        bench->Build({});
        std::vector<std::pair<int64_t, uint8_t>> pauses;
        bench->GetPort(0, 2)->TraceConnectWithoutContext(
            "Pause",
            Callback<void, Time, uint8_t>([&pauses](Time time, uint8_t priorities) {
                pauses.emplace_back(time.GetTimeStep(), priorities);
            }));
        const Ptr<FabricPort> out = bench->GetPort(2, 1);
        out->SetPaused(1U << PRIORITY);
        Simulator::Schedule(TimeStep(GO_PS), [out] { out->SetPaused(0); });
        bench->Send(0, 1, 400'000);
        Simulator::Run();
        // The n-th frame is in the switch after n frame times and the delay.
        uint64_t frames = 1;
        while (!IsFull(frames, 0, sharedBytes, alpha))
        {
            frames++;
        }
        constexpr int64_t PAUSE_PS = PAUSE_WIRE_BYTES * BYTE_PS + DELAY_PS;
        const int64_t stopPs = static_cast<int64_t>(frames) * FRAME_PS + DELAY_PS + PAUSE_PS;
        NS_TEST_ASSERT_MSG_GT(pauses.size(), 1U, "stopped and let go on");
        NS_TEST_EXPECT_MSG_EQ(pauses[0].first, stopPs, "stopped");
        NS_TEST_EXPECT_MSG_EQ(uint32_t{pauses[0].second}, 1U << PRIORITY, "which priority");
        // The sender has begun those frames by then; they lie in the switch. What found the queue
        // at its threshold is in the headroom and leaves the accounts first, frame by frame.
        const auto begun = static_cast<uint64_t>(stopPs / FRAME_PS + 1);
        uint64_t left = begun;
        uint64_t gone = 0;
        const auto mayGoOn = [&] {
            // Nothing in the headroom, and the offset below the threshold or at it.
            return left < frames + 1 && !IsFull(left, RESUME_OFFSET_BYTES - 1, sharedBytes, alpha);
        };
        while (!mayGoOn())
        {
            left--;
            gone++;
        }
        const int64_t goOnPs = GO_PS + static_cast<int64_t>(gone - 1) * FRAME_PS + PAUSE_PS;
        NS_TEST_EXPECT_MSG_EQ(pauses[1].first, goOnPs, "let go on");
        NS_TEST_EXPECT_MSG_EQ(uint32_t{pauses[1].second}, 0U, "all priorities");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 1U, "it arrives");
        NS_TEST_EXPECT_MSG_EQ(bench->Sum(&FabricPortCounters::droppedFrames), 0U, "no drop");
        const FabricPortCounters& counters = bench->GetPort(0, 2)->GetCounters();
        int64_t pausedPs = 0;
        for (std::size_t place = 1; place < pauses.size(); place += 2)
        {
            pausedPs += pauses[place].first - pauses[place - 1].first;
        }
        NS_TEST_EXPECT_MSG_EQ(counters.pausedPs, pausedPs, "time stopped");
        NS_TEST_EXPECT_MSG_EQ(counters.pauses, pauses.size() / 2, "times stopped");
    }
};

class PausesStopTheInnocent : public TestCase
{
  public:
    PausesStopTheInnocent()
        : TestCase(
              "with PFC, not without, a slow host also stops a flow to another host that shares "
              "the link between two switches")
    {
    }

  private:
    void DoRun() override
    {
        // Alone on its 100 Gb/s the victim's message of 1 MB takes 88 us and a little.
        const int64_t alone = VictimPs(false, false);
        NS_TEST_EXPECT_MSG_LT(alone, 95'000'000, "without the other");
        const int64_t lossy = VictimPs(true, false);
        NS_TEST_EXPECT_MSG_LT(lossy, 95'000'000, "a deep buffer, no pauses");
        const int64_t paused = VictimPs(true, true);
        // Behind the flow to a host of 10 Gb/s it gets about as much as that one.
        NS_TEST_EXPECT_MSG_GT(paused, 400'000'000, "stopped with it");
        NS_TEST_EXPECT_MSG_LT(paused, 1'200'000'000, "but it shares the link evenly");
    }

    /// \return time of the message from host 1 to host 3. \param congested host 0 sends to host 2,
    /// which is slow \param pfc with pauses
    int64_t VictimPs(bool congested, bool pfc)
    {
        const LinkParameters fast = MakeLosslessLink(100 * GBPS, 500'000);
        const LinkParameters slow = MakeLosslessLink(10 * GBPS, 500'000);
        const LinkParameters trunk = MakeLosslessLink(400 * GBPS, 500'000);
        SwitchParameters left = MakeLosslessSwitch({fast, fast, trunk}, 300'000);
        SwitchParameters right = MakeLosslessSwitch({slow, fast, trunk}, 300'000);
        if (!pfc)
        {
            left.losslessPriorities = right.losslessPriorities = 0;
            left.bufferBytes = right.bufferBytes = 64'000'000;
        }
        RoceBench bench(4, {left, right});
        bench.Link(0, 4, fast);
        bench.Link(1, 4, fast);
        bench.Link(2, 5, slow);
        bench.Link(3, 5, fast);
        bench.Link(4, 5, trunk);
        bench.Build({});
        if (congested)
        {
            bench.Send(0, 2, 4'000'000);
        }
        constexpr int64_t START_PS = 100'000'000;
        bench.Send(1, 3, 1'000'000, START_PS);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.Sum(&FabricPortCounters::droppedFrames), 0U, "no drop");
        NS_TEST_EXPECT_MSG_EQ((bench.Sum(&FabricPortCounters::pauses) > 0), pfc, "pauses");
        for (const Arrival& arrival : bench.GetArrivals())
        {
            if (arrival.message.receiver == 3)
            {
                return arrival.timePs - START_PS;
            }
        }
        return -1;
    }
};

class RocePfcTestSuite : public TestSuite
{
  public:
    RocePfcTestSuite()
        : TestSuite("astra-roce-pfc", Type::UNIT)
    {
        AddTestCase(new HeadroomIsEnough);
        AddTestCase(new PauseComesWhenItShould);
        AddTestCase(new PausesStopTheInnocent);
    }
};

RocePfcTestSuite g_rocePfcTestSuite; //!< registers itself
} // namespace roce_pfc_test
