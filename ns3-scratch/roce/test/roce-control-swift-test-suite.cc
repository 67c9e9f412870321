// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceControlSwift, the paper's algorithm 1 and its target delay by hand.
 */
#include "fake-roce-sender.h"

#include "ns3/test.h"

namespace roce_control_swift_test
{
using namespace ns3;
using namespace astra_ns3::test;

class DelayAgainstTarget : public TestCase
{
  public:
    DelayAgainstTarget()
        : TestCase("additive increase below the target, one decrease a round trip above it")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("swift",
                           {{"base_target", 10.0 * MICROSECOND}, {"fs_range", 0.0}},
                           50'000);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 50'000U, "the window configured");
        nic.Ack(1'000, 10'999'999); // one switch: the target is 11 us
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 50'020U, "a packet of 50");
        nic.Advance(100 * MICROSECOND);
        nic.Ack(1'000, 22 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 30'012U, "1 - 0.8 * 11 / 22");
        nic.Advance(121 * MICROSECOND);
        nic.Ack(1'000, 22 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 30'012U, "once a round trip");
        nic.Advance(210 * MICROSECOND);
        nic.Ack(1'000, 110 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 15'006U, "at most by max_mdf");
        NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, "not paced");
    }
};

class SmallWindowsHaveALongerTarget : public TestCase
{
  public:
    SmallWindowsHaveALongerTarget()
        : TestCase("a small window has a longer target, by the root of its size")
    {
    }

  private:
    void DoRun() override
    {
        const Numbers numbers{{"base_target", 10.0 * MICROSECOND},
                              {"fs_range", 18.0 * MICROSECOND},
                              {"fs_min_cwnd", 0.25},
                              {"fs_max_cwnd", 4.0}};
        // alpha = 18 / (2 - 0.5) = 12 us, beta = -12 / 2 = -6 us.
        FakeRoceSender one("swift", numbers, 1'000);
        one.Ack(1'000, 16'999'999); // 11 + 12 - 6
        NS_TEST_EXPECT_MSG_EQ(one.GetWindowBytes(), 2'000U, "below the target of one packet");
        FakeRoceSender other("swift", numbers, 1'000);
        other.Advance(MICROSECOND);
        other.Ack(1'000, 34 * MICROSECOND);
        NS_TEST_EXPECT_MSG_EQ_TOL(other.GetAlpha(), 2.0, 1e-12, "twice the target");
        // 0.6 of a packet: 1082 bytes every 34 us / 0.6.
        NS_TEST_EXPECT_MSG_EQ(other.GetWindowBytes(), 1'000U, "not below one packet");
        NS_TEST_EXPECT_MSG_EQ_TOL(other.GetRateBps(), 152'752'941.1764706, TOLERANCE_BPS, "paced");
        other.Ack(1'000, 11 * MICROSECOND); // at 0.6: 0.6 + 1 packets
        NS_TEST_EXPECT_MSG_EQ(other.GetWindowBytes(), 1'600U, "no division below one packet");
        NS_TEST_EXPECT_MSG_EQ(other.GetRateBps(), LINE_BPS, "not paced any more");
    }
};

class LossesDecreaseToo : public TestCase
{
  public:
    LossesDecreaseToo()
        : TestCase(
              "a NACK decreases by max_mdf, the fifth timeout in a row leaves the least window")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("swift", {}, 64'000);
        nic.Lose(false);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 32'000U, "half");
        nic.Lose(true);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 32'000U, "once a round trip of 4 us");
        nic.Advance(4 * MICROSECOND);
        nic.Lose(true);
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 16'000U, "half");
        nic.Ack(0, 4 * MICROSECOND);
        for (int time = 0; time < 4; ++time)
        {
            nic.Lose(true);
        }
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 16'000U, "four in a row");
        nic.Lose(true);
        // 0.01 packets of 1082 bytes in 4 us.
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 1'000U, "a packet");
        NS_TEST_EXPECT_MSG_EQ_TOL(nic.GetRateBps(), 21'640'000.0, TOLERANCE_BPS, "paced");
    }
};

class WindowStopsAtWhatTheTargetCanUse : public TestCase
{
  public:
    WindowStopsAtWhatTheTargetCanUse()
        : TestCase("the highest window is what the line sends in the target delay")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender nic("swift", {{"base_target", 9.0 * MICROSECOND}}, 50'000);
        for (int packet = 0; packet < 20'000; ++packet)
        {
            nic.Ack(1'000, 4 * MICROSECOND);
        }
        // 10 us of 100 Gb/s: 125000 bytes with headers and gaps, 115.527 packets of 1082.
        NS_TEST_EXPECT_MSG_EQ(nic.GetWindowBytes(), 115'527U, "highest");
    }
};

class RoceControlSwiftTestSuite : public TestSuite
{
  public:
    RoceControlSwiftTestSuite()
        : TestSuite("astra-roce-control-swift", Type::UNIT)
    {
        AddTestCase(new DelayAgainstTarget);
        AddTestCase(new SmallWindowsHaveALongerTarget);
        AddTestCase(new LossesDecreaseToo);
        AddTestCase(new WindowStopsAtWhatTheTargetCanUse);
    }
};

RoceControlSwiftTestSuite g_roceControlSwiftTestSuite; //!< registers itself
} // namespace roce_control_swift_test
