// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoCE over links that lose packets, with every kind of reliability: all messages arrive exactly
 * once, and in order; and RoceRanges against a plain set.
 */
#include "roce-fixture.h"
#include "roce-ranges.h"

#include "ns3/test.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace roce_loss_test
{
using namespace ns3;
using namespace ns3::test;
constexpr int64_t DELAY_PS = 500'000;
constexpr uint32_t HOSTS = 4;

/// \return every kind of reliability with what goes with it
std::vector<std::pair<std::string, RoceParameters>>
Reliabilities()
{
    RoceParameters plain;
    plain.retries = 0;
    plain.timeoutPs = 20'000'000;
    std::vector<std::pair<std::string, RoceParameters>> all;
    const auto add = [&all](const std::string& name, const RoceParameters& parameters) {
        all.emplace_back(name, parameters);
    };
    add("go back N", plain);
    RoceParameters again = plain;
    again.nackIntervalPs = 2'000'000;
    again.ackEvery = 4;
    add("go back N, gaps reported again, an acknowledgement for 4 packets", again);
    RoceParameters zero = plain;
    zero.reliability = RoceReliability::GO_BACK_0;
    add("go back 0", zero);
    zero.chunkBytes = 2'500;
    zero.ackEvery = 3;
    add("go back 0 by chunks", zero);
    RoceParameters selective = plain;
    selective.reliability = RoceReliability::SELECTIVE_REPEAT;
    add("selective repeat", selective);
    selective.reorderingPackets = 3;
    selective.windowOfPath = true;
    selective.ackEvery = 2;
    add("selective repeat, reordering tolerated, a window", selective);
    for (bool acknowledged : {false, true})
    {
        for (bool perMessage : {false, true})
        {
            for (std::size_t kind = 0; kind < 6 && (acknowledged || perMessage); ++kind)
            {
                RoceParameters parameters = all[kind].second;
                parameters.acknowledged = acknowledged;
                parameters.perMessage = perMessage;
                add(all[kind].first + (acknowledged ? ", acknowledged" : "") +
                        (perMessage ? ", a queue pair a message" : ""),
                    parameters);
            }
        }
    }
    return all;
}

/// A timer that never stops by itself: a queue pair that is not closed keeps the simulation alive.
class RestlessControl : public RoceCongestionControl
{
  public:
    void Start(RoceSender& sender) override
    {
        sender.StartTimer(0, 10'000'000);
    }

    void TimerDue(RoceSender& sender, uint32_t) override
    {
        sender.StartTimer(0, 10'000'000);
    }
};

class EveryMessageArrivesOnce : public TestCase
{
  public:
    EveryMessageArrivesOnce()
        : TestCase("over links that lose 0.1 to 10% each way, every message arrives once, in order")
    {
    }

  private:
    static constexpr uint32_t MESSAGES = 60;

    void DoRun() override
    {
        for (const auto& [name, parameters] : Reliabilities())
        {
            for (double errorRate : {0.001, 0.02, 0.1})
            {
                Play(name + ", " + std::to_string(errorRate), parameters, errorRate);
            }
        }
    }

    void Play(const std::string& name, const RoceParameters& parameters, double errorRate)
    {
        LinkParameters link = MakeLink(100 * GBPS, DELAY_PS);
        link.errorRate = errorRate;
        auto bench = MakeStar(HOSTS, link);
        bench->Build(parameters);
        std::mt19937 random(static_cast<uint32_t>(errorRate * 1e6));
        for (uint32_t message = 0; message < MESSAGES; ++message)
        {
            const uint32_t from = random() % HOSTS;
            const uint32_t to = (from + 1 + random() % (HOSTS - 1)) % HOSTS;
            bench->Send(from, to, 1 + random() % 8'000, random() % 20'000'000);
        }
        Simulator::Run();
        std::map<uint32_t, uint32_t> times; // arrivals of each message
        std::map<std::pair<uint32_t, uint32_t>, std::pair<int64_t, uint32_t>> last; // of each pair
        for (const Arrival& arrival : bench->GetArrivals())
        {
            const CollectiveMessage& message = arrival.message;
            times[message.row]++;
            auto& before = last[{message.sender, message.receiver}];
            const std::pair<int64_t, uint32_t> now{message.startPs, message.row};
            NS_TEST_EXPECT_MSG_EQ((parameters.perMessage || before < now),
                                  true,
                                  name << ": message " << message.row << " is out of order");
            before = now;
        }
        NS_TEST_EXPECT_MSG_EQ(times.size(), MESSAGES, name << ": messages that arrived");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), MESSAGES, name << ": arrivals");
        NS_TEST_EXPECT_MSG_EQ(bench->GetFailures().size(), 0U, name << ": failures");
        NS_TEST_EXPECT_MSG_EQ(
            (errorRate < 0.02 || bench->GetTransport().GetStatistics().retransmittedPackets > 10),
            true,
            name << ": packets are lost");
    }
};

class SpuriousTimeoutsDoNoHarm : public TestCase
{
  public:
    SpuriousTimeoutsDoNoHarm()
        : TestCase("a timeout shorter than the round trip sends all twice, and completes it once")
    {
    }

  private:
    void DoRun() override
    {
        for (auto& [name, parameters] : Reliabilities())
        {
            RoceParameters hasty = parameters;
            hasty.timeoutPs = 1'500'000; // the round trip takes 2.2 us
            auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
            bench->Build(hasty);
            for (uint32_t message = 0; message < 20; ++message)
            {
                bench->Send(0, 1, 2'500, message * 3'000'000);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 20U, name << ": each once");
            NS_TEST_EXPECT_MSG_GT(bench->GetTransport().GetStatistics().retransmittedPackets,
                                  20U,
                                  name << ": duplicates");
        }
    }
};

class LossDoesNotKeepQueuePairsOpen : public TestCase
{
  public:
    LossDoesNotKeepQueuePairsOpen()
        : TestCase("a queue pair of one message is closed at its end, also if packets were lost")
    {
    }

  private:
    void DoRun() override
    {
        for (auto& [name, parameters] : Reliabilities())
        {
            if (!parameters.perMessage)
            {
                continue;
            }
            LinkParameters link = MakeLink(100 * GBPS, DELAY_PS);
            link.errorRate = 0.05;
            auto bench = MakeStar(2, link);
            bench->SetControl([] { return std::make_unique<RestlessControl>(); });
            bench->Build(parameters);
            for (uint32_t message = 0; message < 50; ++message)
            {
                bench->Send(message % 2, 1 - message % 2, 5'000, message * 1'000'000);
            }
            constexpr int64_t LONG_PS = 100'000'000'000;
            bool drained = true;
            Simulator::Schedule(TimeStep(LONG_PS), [&drained] {
                drained = Simulator::IsFinished(); // nothing else is left
                Simulator::Stop();
            });
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 50U, name);
            NS_TEST_EXPECT_MSG_EQ(drained, true, name << ": timers still run");
        }
    }
};

class RangesAreSets : public TestCase
{
  public:
    RangesAreSets()
        : TestCase("ranges hold the same positions as a plain set")
    {
    }

  private:
    static constexpr uint64_t SPACE = 200;

    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 200; ++seed)
        {
            std::mt19937 random(seed);
            RoceRanges ranges;
            std::set<uint64_t> positions;
            for (int step = 0; step < 60; ++step)
            {
                const uint64_t begin = random() % SPACE;
                const uint64_t end = begin + 1 + random() % 12;
                const uint32_t draw = random() % 20;
                if (draw == 0)
                {
                    ranges.Clear();
                    positions.clear();
                }
                else if (draw < 4)
                {
                    ranges.DropBelow(begin);
                    DropBelow(positions, begin);
                }
                else
                {
                    ranges.Insert(begin, end);
                    for (uint64_t position = begin; position < end; ++position)
                    {
                        positions.insert(position);
                    }
                }
                Compare(ranges, positions, seed);
            }
        }
    }

    /// Ranges keep whole what reaches above the position: only what lies above matters to them.
    static void DropBelow(std::set<uint64_t>& positions, uint64_t position)
    {
        uint64_t first = position;
        while (first > 0 && positions.count(first) > 0 && positions.count(first - 1) > 0)
        {
            first--;
        }
        positions.erase(positions.begin(), positions.lower_bound(first));
    }

    void Compare(const RoceRanges& ranges, const std::set<uint64_t>& positions, uint32_t seed)
    {
        for (uint64_t position = 0; position < SPACE + 15; ++position)
        {
            uint64_t end = position;
            while (positions.count(end) > 0)
            {
                end++;
            }
            NS_TEST_ASSERT_MSG_EQ(ranges.EndOf(position), end, "seed " << seed);
        }
        NS_TEST_ASSERT_MSG_EQ(ranges.IsEmpty(), positions.empty(), "seed " << seed);
        NS_TEST_ASSERT_MSG_EQ(ranges.GetHighest(),
                              (positions.empty() ? 0 : *positions.rbegin() + 1),
                              "seed " << seed);
    }
};

class RoceLossTestSuite : public TestSuite
{
  public:
    RoceLossTestSuite()
        : TestSuite("astra-roce-loss", Type::UNIT)
    {
        AddTestCase(new EveryMessageArrivesOnce);
        AddTestCase(new SpuriousTimeoutsDoNoHarm);
        AddTestCase(new LossDoesNotKeepQueuePairsOpen);
        AddTestCase(new RangesAreSets);
    }
};

RoceLossTestSuite g_roceLossTestSuite; //!< registers itself
} // namespace roce_loss_test
