// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceControlHpcc and RoceControlHpccPint, the paper's algorithm 1 by hand.
 */
#include "fake-roce-sender.h"

#include "ns3/test.h"

#include <utility>
#include <vector>

namespace roce_control_hpcc_test
{
using namespace ns3;
using namespace astra_ns3::test;

class UtilisationSetsTheRate : public TestCase
{
  public:
    UtilisationSetsTheRate()
        : TestCase("rate by line and queue by bandwidth-delay product give U, and U the rate")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("hpcc", {});
        NS_TEST_EXPECT_MSG_EQ((nic.GetTelemetry() == RoceTelemetry::HOPS), true, "telemetry");
        nic.Send(20'000);
        nic.AckHops(1'000, {{1 * MICROSECOND, 0, 50'000, 100'000'000'000}});
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "one entry has no rate");
        // In 1 us 12500 bytes, all that the line takes, and a queue of at least 25000 bytes, half
        // of 100 Gb/s times 4 us: u = 1.5. U = 0.75 * 1 + 0.25 * 1.5.
        nic.AckHops(1'000, {{2 * MICROSECOND, 12'500, 25'000, 100'000'000'000}});
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 1.125, 1e-12, "U");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  LINE_BPS * 0.95 / 1.125 + 50 * MBPS,
                                  TOLERANCE_BPS,
                                  "a reaction within the round trip");
        // u = 0.5, a round trip is over: the rate is set from the line's, not from the last one.
        nic.Send(20'000);
        nic.AckHops(18'001, {{3 * MICROSECOND, 18'750, 0, 100'000'000'000}});
        const double reference = LINE_BPS * 0.95 / 0.96875 + 50 * MBPS;
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.96875, 1e-12, "0.75 * 1.125 + 0.25 * 0.5");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), reference, TOLERANCE_BPS, "commits");
        for (int ack = 4; ack < 7; ++ack)
        {
            nic.AckHops(100, {{ack * MICROSECOND, uint64_t(6'250 * ack), 0, 100'000'000'000}});
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                      reference + 50 * MBPS,
                                      TOLERANCE_BPS,
                                      "below eta: one step from the reference, not three");
        }
    }
};

class OnlyStandingQueuesCount : public TestCase
{
  public:
    OnlyStandingQueuesCount()
        : TestCase("of the queues of two entries the shorter one counts: what has just come may go")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("hpcc", {});
        nic.Send(20'000);
        nic.AckHops(1'000, {{1 * MICROSECOND, 0, 0, 100'000'000'000}});
        // Half of what the line takes, and a queue that wasn't there before: u = 0.5.
        nic.AckHops(1'000, {{2 * MICROSECOND, 6'250, 50'000, 100'000'000'000}});
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.875, 1e-12, "0.75 * 1 + 0.25 * 0.5");
        // It stands: u = 0.5 + 1.
        nic.AckHops(1'000, {{3 * MICROSECOND, 12'500, 50'000, 100'000'000'000}});
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 1.03125, 1e-12, "0.75 * 0.875 + 0.25 * 1.5");
    }
};

class StageLimitMultiplies : public TestCase
{
  public:
    StageLimitMultiplies()
        : TestCase(
              "after max_stage additive steps the utilisation multiplies the rate even below eta")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("hpcc", {{"max_stage", 2.0}, {"rate_ai", GBPS}, {"base_rtt", 1.0}});
        // With T of 1 ps only the newest u counts; each acknowledgement ends a round trip.
        const std::vector<std::pair<uint64_t, double>> steps{
            {12'500, LINE_BPS},                        // nothing to compare with yet
            {25'000, 48.5 * GBPS},                     // u = 2: 100 * 0.95 / 2 + 1
            {11'250, 49.5 * GBPS},                     // u = 0.9, below eta
            {11'250, 50.5 * GBPS},                     // and again
            {11'250, 50.5 * GBPS * 0.95 / 0.9 + GBPS}, // the third time it multiplies
            {11'250, 50.5 * GBPS * 0.95 / 0.9 + 2 * GBPS},
        };
        int64_t timePs = 0;
        uint64_t sentBytes = 0;
        for (const auto& [bytes, rateBps] : steps)
        {
            timePs += MICROSECOND;
            sentBytes += bytes;
            nic.Send(1'000);
            nic.AckHops(1'000, {{timePs, sentBytes, 0, 100'000'000'000}});
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), rateBps, TOLERANCE_BPS, "at " << timePs);
        }
    }
};

class BusiestHopCounts : public TestCase
{
  public:
    BusiestHopCounts()
        : TestCase(
              "the hop with the highest utilisation counts, or the lowest of the hops' own rates")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool multiple : {false, true})
        {
            FakeRoceSender nic("hpcc",
                               {{"multiple_rates", multiple ? 1.0 : 0.0}, {"base_rtt", 1.0}});
            const uint64_t fastBps = 400'000'000'000;
            const uint64_t slowBps = 100'000'000'000;
            nic.Send(1'000);
            nic.AckHops(1'000, {{10, 0, 0, fastBps}, {20, 0, 0, slowBps}});
            nic.Send(1'000);
            // 25000 bytes in 1 us: half of one line, twice the other.
            nic.AckHops(
                1'000,
                {{MICROSECOND + 10, 25'000, 0, fastBps}, {MICROSECOND + 20, 25'000, 0, slowBps}});
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 2.0, 1e-12, "the slow line");
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 47.55 * GBPS, TOLERANCE_BPS, "eta / 2");
            nic.Send(1'000);
            // Now the fast line has 1.9, the slow one 0.475.
            nic.AckHops(1'000,
                        {{2 * MICROSECOND + 10, 120'000, 0, fastBps},
                         {2 * MICROSECOND + 20, 30'937, 0, slowBps}});
            // Single: half of 47.55. Multiple: half of the fast hop's own, which is the line's; the
            // slow hop's own is one step above 47.55.
            const double expected = multiple ? 47.6 * GBPS : (47.55 / 2 + 0.05) * GBPS;
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), expected, TOLERANCE_BPS, "two rates");
        }
    }
};

class StaleTelemetryIsLeftOut : public TestCase
{
  public:
    StaleTelemetryIsLeftOut()
        : TestCase("an entry that is not newer, or a path of another length, measures nothing")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("hpcc", {});
        nic.Send(100'000);
        nic.AckHops(1'000, {{MICROSECOND, 0, 0, 100'000'000'000}});
        nic.AckHops(1'000, {{MICROSECOND, 0, 0, 100'000'000'000}});
        nic.AckHops(1'000, {{MICROSECOND / 2, 90'000, 90'000, 100'000'000'000}});
        NS_TEST_EXPECT_MSG_EQ(nic.GetAlpha(), 1.0, "U as at the beginning");
        nic.AckHops(1'000,
                    {{2 * MICROSECOND, 90'000, 90'000, 100'000'000'000},
                     {2 * MICROSECOND, 90'000, 90'000, 100'000'000'000}});
        NS_TEST_EXPECT_MSG_EQ(nic.GetAlpha(), 1.0, "the first entries of another path");
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "no reaction");
        nic.Ack(1'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "no telemetry, no reaction");
    }
};

class PintTakesTheUtilisationAsItIs : public TestCase
{
  public:
    PintTakesTheUtilisationAsItIs()
        : TestCase("HPCC-PINT reacts to sampled packets only, by the switches' own average")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("hpcc-pint", {});
        NS_TEST_EXPECT_MSG_EQ((nic.GetTelemetry() == RoceTelemetry::PATH), true, "telemetry");
        nic.Send(10'000);
        nic.AckPath(1'000, 3.0);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "the first one opens the round trip");
        nic.AckPath(1'000, 1.9);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 50.05 * GBPS, TOLERANCE_BPS, "eta / 1.9");
        nic.AckPath(1'000, 3.8);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 25.05 * GBPS, TOLERANCE_BPS, "from the line's");
        nic.AckPath(1'000, -1.0);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 25.05 * GBPS, TOLERANCE_BPS, "not sampled");
        nic.AckPath(6'001, 1.9);
        nic.AckPath(1'000, 0.9);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.9, 0.0, "U");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 50.1 * GBPS, TOLERANCE_BPS, "committed");
    }
};

class RoceControlHpccTestSuite : public TestSuite
{
  public:
    RoceControlHpccTestSuite()
        : TestSuite("astra-roce-control-hpcc", Type::UNIT)
    {
        AddTestCase(new UtilisationSetsTheRate);
        AddTestCase(new OnlyStandingQueuesCount);
        AddTestCase(new StageLimitMultiplies);
        AddTestCase(new BusiestHopCounts);
        AddTestCase(new StaleTelemetryIsLeftOut);
        AddTestCase(new PintTakesTheUtilisationAsItIs);
    }
};

RoceControlHpccTestSuite g_roceControlHpccTestSuite; //!< registers itself
} // namespace roce_control_hpcc_test
