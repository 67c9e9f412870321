// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceControlTimely, each branch of the paper's algorithm 1 by hand.
 */
#include "fake-roce-sender.h"

#include "ns3/test.h"

namespace roce_control_timely_test
{
using namespace ns3;
using namespace astra_ns3::test;

class GradientSetsTheRate : public TestCase
{
  public:
    GradientSetsTheRate()
        : TestCase("between the thresholds the gradient decides")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("timely", {{"segment", 1'000.0}});
        nic.Send(100'000);
        nic.Ack(1'000, 100 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "one measurement has no gradient");
        nic.Ack(1'000, 120 * MICROSECOND);
        // 0.875 * 20 us over 20 us: 0.875, times 1 - 0.8 * 0.875.
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.875, 1e-12, "gradient");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 30 * GBPS, TOLERANCE_BPS, "rising");
        nic.Ack(1'000, 100 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), -0.765625, 1e-12, "0.125 * 0.875 - 0.875");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 30.01 * GBPS, TOLERANCE_BPS, "falling");
        for (int time = 0; time < 4; ++time)
        {
            nic.Ack(1'000, 100 * MICROSECOND);
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 30.05 * GBPS, TOLERANCE_BPS, "five in all");
        nic.Ack(1'000, 100 * MICROSECOND);
        nic.Ack(1'000, 100 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 30.15 * GBPS, TOLERANCE_BPS, "hyperactive");
        nic.Ack(1'000, 1'000 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  18.09 * GBPS,
                                  TOLERANCE_BPS,
                                  "twice T_high: 1 - 0.8 / 2");
        nic.Ack(1'000, 450 * MICROSECOND);
        nic.Ack(1'000, 460 * MICROSECOND);
        nic.Ack(1'000, 499 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 100 * MBPS, TOLERANCE_BPS, "the least rate");
    }
};

class BelowLowThresholdAlwaysIncreases : public TestCase
{
  public:
    BelowLowThresholdAlwaysIncreases()
        : TestCase("below T_low the rate grows; hyperactively only if asked for")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool counts : {false, true})
        {
            FakeRoceSender nic("timely",
                               {{"segment", 1'000.0}, {"hai_below_t_low", counts ? 1.0 : 0.0}});
            nic.Send(100'000);
            nic.Ack(1'000, 100 * MICROSECOND);
            nic.Ack(1'000, 1'000 * MICROSECOND); // 60 Gb/s
            for (int time = 0; time < 7; ++time)
            {
                nic.Ack(1'000, (30 + 2 * time) * MICROSECOND); // it rises, and that doesn't matter
            }
            const double expected = 60 * GBPS + (counts ? 5 * 10 + 2 * 50 : 7 * 10) * MBPS;
            NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), expected, TOLERANCE_BPS, "seven steps");
        }
    }
};

class UpdatesComeBySegmentOrRoundTrip : public TestCase
{
  public:
    UpdatesComeBySegmentOrRoundTrip()
        : TestCase("one update for each segment, or for each round trip")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender bySegment("timely", {{"segment", 4'000.0}});
        FakeRoceSender byRoundTrip("timely", {{"segment", 0.0}});
        for (FakeRoceSender* nic : {&bySegment, &byRoundTrip})
        {
            nic->Send(10'000);
            for (int packet = 0; packet < 5; ++packet)
            {
                nic->Ack(1'000, (packet == 4 ? 200 : 100) * MICROSECOND);
            }
            NS_TEST_EXPECT_MSG_EQ(nic->GetRateBps(), LINE_BPS, "only the first update so far");
        }
        bySegment.Ack(3'000, 120 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(bySegment.GetRateBps(), 30 * GBPS, TOLERANCE_BPS, "8000 bytes");
        byRoundTrip.Ack(5'000, 120 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(byRoundTrip.GetRateBps(), LINE_BPS, "up to what was sent by then");
        byRoundTrip.Send(1'000);
        byRoundTrip.Ack(1'000, 120 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(byRoundTrip.GetRateBps(), 30 * GBPS, TOLERANCE_BPS, "beyond it");
    }
};

class RoceControlTimelyTestSuite : public TestSuite
{
  public:
    RoceControlTimelyTestSuite()
        : TestSuite("astra-roce-control-timely", Type::UNIT)
    {
        AddTestCase(new GradientSetsTheRate);
        AddTestCase(new BelowLowThresholdAlwaysIncreases);
        AddTestCase(new UpdatesComeBySegmentOrRoundTrip);
    }
};

RoceControlTimelyTestSuite g_roceControlTimelyTestSuite; //!< registers itself
} // namespace roce_control_timely_test
