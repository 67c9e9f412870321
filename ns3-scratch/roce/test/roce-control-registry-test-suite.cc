// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Congestion controls by name, and the two that never react.
 */
#include "fake-roce-sender.h"

#include "ns3/test.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace roce_control_registry_test
{
using namespace ns3;
using namespace astra_ns3::test;

class EveryNameMakesAControl : public TestCase
{
  public:
    EveryNameMakesAControl()
        : TestCase("every name listed makes a control that opens at line rate")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::string> expected{"none",
                                                "static-window",
                                                "dcqcn",
                                                "timely",
                                                "dctcp",
                                                "hpcc",
                                                "hpcc-pint",
                                                "swift"};
        NS_TEST_EXPECT_MSG_EQ((ListRoceControls() == expected), true, "names");
        for (const std::string& name : ListRoceControls())
        {
            FakeRoceSender nic(name, {});
            NS_TEST_EXPECT_MSG_EQ(nic.GetRateBps(), LINE_BPS, name);
            NS_TEST_EXPECT_MSG_EQ(nic.CountTimers(), 0U, name << " needs no timer to begin with");
        }
    }
};

class UnknownNameIsRefused : public TestCase
{
  public:
    UnknownNameIsRefused()
        : TestCase("a name that is not known is refused with those that are")
    {
    }

  private:
    void DoRun() override
    {
        std::string message;
        try
        {
            MakeRoceControl("cubic", RoceControlParameters());
        }
        catch (const std::invalid_argument& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ(
            message,
            "congestion control 'cubic' is not one of none, static-window, dcqcn, "
            "timely, dctcp, hpcc, hpcc-pint, swift",
            "message");
    }
};

class StaticWindowsStay : public TestCase
{
  public:
    StaticWindowsStay()
        : TestCase(
              "none and static-window never react; the window is the configured one or the path's")
    {
    }

  private:
    void DoRun() override
    {
        FakeRoceSender none("none", {});
        FakeRoceSender configured("static-window", {}, 12'345);
        FakeRoceSender path("static-window", {});
        for (FakeRoceSender* nic : {&none, &configured, &path})
        {
            nic->Send(10'000);
            nic->Ack(1'000, 900 * MICROSECOND, true);
            nic->Cnp(MICROSECOND);
            nic->Lose(true);
            nic->Advance(1'000 * MICROSECOND);
            NS_TEST_EXPECT_MSG_EQ(nic->GetRateBps(), LINE_BPS, "line rate");
            NS_TEST_EXPECT_MSG_EQ(nic->CountTimerEvents(), 0U, "no timers");
        }
        NS_TEST_EXPECT_MSG_EQ(none.GetWindowBytes(), 0U, "no limit");
        NS_TEST_EXPECT_MSG_EQ(configured.GetWindowBytes(), 12'345U, "as configured");
        NS_TEST_EXPECT_MSG_EQ(path.GetWindowBytes(), 50'000U, "bandwidth-delay product");
    }
};

class RoceControlRegistryTestSuite : public TestSuite
{
  public:
    RoceControlRegistryTestSuite()
        : TestSuite("astra-roce-control-registry", Type::UNIT)
    {
        AddTestCase(new EveryNameMakesAControl);
        AddTestCase(new UnknownNameIsRefused);
        AddTestCase(new StaticWindowsStay);
    }
};

RoceControlRegistryTestSuite g_roceControlRegistryTestSuite; //!< registers itself
} // namespace roce_control_registry_test
