// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceControlDctcp by window and by rate, each rule by hand.
 */
#include "fake-roce-sender.h"

#include "ns3/test.h"

namespace roce_control_dctcp_test
{
using namespace ns3;
using namespace astra_ns3::test;

class MarksCutTheWindowOnceAWindow : public TestCase
{
  public:
    MarksCutTheWindowOnceAWindow()
        : TestCase("the first mark cuts by half of alpha, alpha takes in a window's share of marks")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dctcp", {{"g", 0.25}}, 50'000);
        nic.Send(50'000);
        nic.Ack(1'000, 4 * MICROSECOND, true);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 25'000U, "alpha begins with 1");
        nic.Ack(9'000, 4 * MICROSECOND, true);
        nic.Ack(40'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 25'000U, "recovery: neither cut nor growth");
        NS_TEST_EXPECT_MSG_EQ(nic.GetAlpha(), 1.0, "no window is over yet");
        nic.Send(25'000);
        nic.Ack(1'000, 4 * MICROSECOND);
        // 10 of 51 packets were marked: 0.75 + 0.25 * 10 / 51.
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.7990196078431373, 1e-12, "alpha");
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 25'040U, "a packet of 25 to the window");
        nic.Ack(1'000, 4 * MICROSECOND, true);
        // 25040 * (1 - 0.7990196078431373 / 2) = 15036.27
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 15'036U, "cut by alpha / 2");
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "the rate stays");
    }
};

class UnusedWindowDoesNotGrow : public TestCase
{
  public:
    UnusedWindowDoesNotGrow()
        : TestCase("a window grows only if it held something back")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dctcp", {}, 50'000);
        nic.Send(49'000);
        nic.Ack(1'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(),
                              50'000U,
                              "one more packet could have been sent");
        nic.Send(2'000);
        nic.Ack(1'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 50'020U, "a packet of 50");
    }
};

class LossesCutAsTcpDoes : public TestCase
{
  public:
    LossesCutAsTcpDoes()
        : TestCase(
              "a NACK halves the window, a timeout leaves two packets and slow start to half of it")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dctcp", {}, 50'000);
        nic.Send(50'000);
        nic.Ack(1'000, 4 * MICROSECOND);
        nic.Lose(false);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 25'010U, "half of 50020");
        nic.Lose(false);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 25'010U, "once a window");
        nic.Lose(true);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 2'000U, "two packets");
        nic.Ack(49'000, 4 * MICROSECOND);
        nic.Send(2'000);
        nic.Ack(1'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 3'000U, "slow start");
        nic.Send(2'000);
        nic.Ack(1'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 4'000U, "slow start");
    }
};

class MarksCutTheRate : public TestCase
{
  public:
    MarksCutTheRate()
        : TestCase("by rate: cut once a window, then rate_ai a window")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("dctcp", {{"window", 0.0}, {"g", 0.5}}, 50'000);
        nic.Send(10'000);
        nic.Ack(1'000, 4 * MICROSECOND, true);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 50 * GBPS, TOLERANCE_BPS, "alpha 1");
        nic.Send(10'000);
        nic.Ack(9'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 50 * GBPS, TOLERANCE_BPS, "recovery");
        nic.Ack(1'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetAlpha(), 0.5 + 0.5 / 11, 1e-12, "one packet of eleven");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 51 * GBPS, TOLERANCE_BPS, "a step");
        nic.Ack(1'000, 4 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 51 * GBPS, TOLERANCE_BPS, "one a window");
        nic.Ack(1'000, 4 * MICROSECOND, true);
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(),
                                  51 * GBPS * (1.0 - 3.0 / 11.0),
                                  TOLERANCE_BPS,
                                  "alpha / 2 is 3 / 11");
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 50'000U, "the window stays");
    }
};

class RoceControlDctcpTestSuite : public TestSuite
{
  public:
    RoceControlDctcpTestSuite()
        : TestSuite("astra-roce-control-dctcp", Type::UNIT)
    {
        AddTestCase(new MarksCutTheWindowOnceAWindow);
        AddTestCase(new UnusedWindowDoesNotGrow);
        AddTestCase(new LossesCutAsTcpDoes);
        AddTestCase(new MarksCutTheRate);
    }
};

RoceControlDctcpTestSuite g_roceControlDctcpTestSuite; //!< registers itself
} // namespace roce_control_dctcp_test
