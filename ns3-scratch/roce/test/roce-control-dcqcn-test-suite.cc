// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceControlDcqcn against sequences worked out by hand, in exact fractions.
 */
#include "fake-roce-sender.h"

#include "ns3/test.h"

#include <vector>

namespace roce_control_dcqcn_test
{
using namespace ns3;
using namespace astra_ns3::test;
/// DCQCN as the simulator published with HPCC has it, in the numbers of its public configuration.
constexpr Numbers CLOCKED{{"g", 1.0 / 256.0},
                          {"alpha_timer", 1.0 * MICROSECOND},
                          {"decrease_timer", 4.0 * MICROSECOND},
                          {"increase_timer", 900.0 * MICROSECOND},
                          {"byte_counter", 0.0},
                          {"fast_recovery_times", 1.0},
                          {"clamp_target_rate", 0.0},
                          {"rate_ai", 50 * MBPS},
                          {"rate_hai", 100 * MBPS}};
constexpr int64_t LAG = 1'000; // the decrease clock runs one nanosecond behind alpha's

class SingleNotificationCutsAndRecovers : public TestCase
{
  public:
    SingleNotificationCutsAndRecovers()
        : TestCase("one CNP: the first cut to 0.50777 of the line's rate, then recovery")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dcqcn", CLOCKED);
        nic.Cnp(0);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "the first CNP only starts the clocks");
        nic.Advance(4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "not yet");
        nic.Advance(4 * MICROSECOND + LAG);
        // (255/256)^4 = 0.9844663145486265, the rate 1 - alpha / 2 of the line's.
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.9844663145486265, 1e-15, "alpha");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 50'776'684'272.56867, TOLERANCE_BPS, "cut");
        nic.Advance(904 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 50'776'684'272.56867, TOLERANCE_BPS, "one cut");
        nic.Advance(904 * MICROSECOND + LAG);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  75'388'342'136.28433,
                                  TOLERANCE_BPS,
                                  "half way back");
        nic.Advance(1804 * MICROSECOND + LAG);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  87'694'171'068.14217,
                                  TOLERANCE_BPS,
                                  "the target is the line's rate");
    }
};

class SecondCutClimbsByAdditiveAndHyperIncrease : public TestCase
{
  public:
    SecondCutClimbsByAdditiveAndHyperIncrease()
        : TestCase("a cut in recovery lowers the target; it then grows by rate_ai and rate_hai")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dcqcn", CLOCKED);
        nic.Cnp(0);
        // Alpha is updated at 911 us with this CNP and at 912 us without one; then comes the cut.
        nic.Cnp(910 * MICROSECOND + 500'000);
        nic.Advance(912 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 75'388'342'136.28433, TOLERANCE_BPS, "before");
        const std::vector<double> expected{74'179'806'801.83559,  // 1 - alpha / 2
                                           74'784'074'469.05997,  // towards the rate before
                                           75'111'208'302.67215,  // and 50 Mb/s above it
                                           75'324'775'219.47824,  // and 100 Mb/s more
                                           75'481'558'677.88129}; // and 100 Mb/s more
        for (std::size_t step = 0; step < expected.size(); ++step)
        {
            const auto times = static_cast<int64_t>(step);
            nic.Advance((912 + 900 * times) * MICROSECOND + LAG);
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                      expected[step],
                                      TOLERANCE_BPS,
                                      "step " << step);
        }
    }
};

class CutDuringFastRecoveryKeepsTheTarget : public TestCase
{
  public:
    CutDuringFastRecoveryKeepsTheTarget()
        : TestCase("without clamping, a cut before any increase leaves the target where it is")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool clamps : {false, true})
        {
            FakeRoceSender nic("dcqcn",
                               {{"g", 0.5},
                                {"alpha_timer", 1000.0 * MICROSECOND},
                                {"decrease_timer", 4.0 * MICROSECOND},
                                {"increase_timer", 100.0 * MICROSECOND},
                                {"byte_counter", 0.0},
                                {"clamp_target_rate", clamps ? 1.0 : 0.0}});
            nic.Cnp(0);
            nic.Cnp(5 * MICROSECOND);
            nic.Advance(8 * MICROSECOND + LAG); // alpha is 1 all the time: to a half, to a quarter
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 25 * GBPS, TOLERANCE_BPS, "two cuts");
            nic.Advance(108 * MICROSECOND + LAG);
            const double expected = clamps ? 37.5 * GBPS : 62.5 * GBPS;
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), expected, TOLERANCE_BPS, "half way back");
        }
    }
};

class PaperCutsAtOnce : public TestCase
{
  public:
    PaperCutsAtOnce()
        : TestCase("without a decrease timer each CNP cuts at once, then raises alpha")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dcqcn", {{"g", 0.25}});
        nic.Cnp(MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 50 * GBPS, TOLERANCE_BPS, "alpha 1");
        // Two updates of alpha, at 56 and 111 us, and two of the rate to 75 and 87.5.
        nic.Advance(112 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.5625, 1e-15, "0.75^2");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 87.5 * GBPS, TOLERANCE_BPS, "recovery");
        nic.Cnp(112 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 62.890625 * GBPS, TOLERANCE_BPS, "cut");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.671875, 1e-15, "0.75 * 0.5625 + 0.25");
        // Target 87.5 Gb/s; five times fast recovery, then 40 Mb/s more, then 200 more.
        nic.Advance((112 + 5 * 55) * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  87.5 * GBPS - 24.609375 * GBPS / 32,
                                  TOLERANCE_BPS,
                                  "a thirty-second of the cut is left");
        nic.Advance((112 + 6 * 55) * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  87.52 * GBPS - 24.609375 * GBPS / 64,
                                  TOLERANCE_BPS,
                                  "additive increase");
    }
};

class ByteCounterIncreasesToo : public TestCase
{
  public:
    ByteCounterIncreasesToo()
        : TestCase(
              "the byte counter recovers as the timer does; only both together are hyper increase")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dcqcn",
                           {{"byte_counter", 10'820.0}, // ten packets with headers and gap
                            {"fast_recovery_times", 1.0},
                            {"rate_ai", GBPS},
                            {"rate_hai", 10 * GBPS}});
        nic.Send(100'000);
        nic.Cnp(0);
        nic.Cnp(0);
        // Rate 25, target 50 Gb/s.
        nic.Send(9'000);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 25 * GBPS, TOLERANCE_BPS, "9 packets");
        nic.Send(1'000);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 37.5 * GBPS, TOLERANCE_BPS, "recovery");
        nic.Send(20'000); // targets 51 and 52
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 48.125 * GBPS, TOLERANCE_BPS, "additive");
        nic.Advance(110 * MICROSECOND); // targets 53 and 54: the timer's own count is at most F
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 52.28125 * GBPS, TOLERANCE_BPS, "additive");
        nic.Advance(165 * MICROSECOND); // target 64
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 58.140625 * GBPS, TOLERANCE_BPS, "hyper");
    }
};

class IdleQueuePairHasNoTimers : public TestCase
{
  public:
    IdleQueuePairHasNoTimers()
        : TestCase("once the rate is the line's again, no timer runs and alpha still falls")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dcqcn", CLOCKED);
        nic.Cnp(0);
        nic.Advance(1'000'000 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "recovered");
        NS_TEST_EXPECT_MSG_EQ(nic.CountTimers(), 0U, "none runs");
        const uint64_t fired = nic.CountTimerEvents();
        // 50 Gb/s is halved to less than 1 bit/s in 36 increases; one more is the cut.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(fired, 38U, "one event for each increase");
        nic.Cnp(1'000'000 * MICROSECOND + 500'000);
        NS_TEST_EXPECT_MSG_EQ(nic.CountTimers(), 1U, "the cut");
        NS_TEST_EXPECT_MSG_LT(nic.GetAlpha(), 1e-12, "no CNP for a second");
        nic.Advance(1'000'004 * MICROSECOND + LAG);
        // Alpha took one CNP in, then fell three times: 255^3 / 256^4.
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.0038606522139161825, 1e-12, "alpha");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  LINE_BPS * (1.0 - 0.0038606522139161825 / 2),
                                  TOLERANCE_BPS,
                                  "cut");
    }
};

class FirstNotificationCanCut : public TestCase
{
  public:
    FirstNotificationCanCut()
        : TestCase("rate_on_first_cnp and minimum_rate")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dcqcn",
                           {{"rate_on_first_cnp", 0.25},
                            {"decrease_timer", 4.0 * MICROSECOND},
                            {"minimum_rate", 20 * GBPS}});
        nic.Cnp(7);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), 25 * GBPS, "a quarter at once");
        nic.Advance(4 * MICROSECOND + LAG + 7);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), 20 * GBPS, "not below the least rate");
    }
};

class RoceControlDcqcnTestSuite : public TestSuite
{
  public:
    RoceControlDcqcnTestSuite()
        : TestSuite("astra-roce-control-dcqcn", Type::UNIT)
    {
        AddTestCase(new SingleNotificationCutsAndRecovers);
        AddTestCase(new SecondCutClimbsByAdditiveAndHyperIncrease);
        AddTestCase(new CutDuringFastRecoveryKeepsTheTarget);
        AddTestCase(new PaperCutsAtOnce);
        AddTestCase(new ByteCounterIncreasesToo);
        AddTestCase(new IdleQueuePairHasNoTimers);
        AddTestCase(new FirstNotificationCanCut);
    }
};

RoceControlDcqcnTestSuite g_roceControlDcqcnTestSuite; //!< registers itself
} // namespace roce_control_dcqcn_test
