// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A session's run: how it ends, timers, and messages that stay in a host.
 */
#include "session-fixture.h"

#include "ns3/test.h"

#include <cstdint>
#include <vector>

namespace session_run_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;

class TimersComeInOrder : public TestCase
{
  public:
    TimersComeInOrder()
        : TestCase("timers come by time, then in the order set, also those set from a timer")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t eventsWithoutTimers = CountEventsWithoutTimers(); // ns-3 starts the nodes
        BuiltStar built;
        Session& session = built.Get();
        built.GetListener().OnTimer([&session](const auto& timer) {
            if (timer.first == 4)
            {
                session.SetTimer(0, 0, 6);     // at the same time, after 5
                session.SetTimer(1, 1'000, 7); // at the time of 2, which was set before
            }
        });
        session.SetTimer(1, 3'000, 1);
        session.SetTimer(0, 2'000, 2);
        session.SetTimer(0, 3'000, 3);
        session.SetTimer(1, 1'000, 4);
        session.SetTimer(0, 1'000, 5);
        NS_TEST_EXPECT_MSG_EQ(session.Run(-1), RUN_DRAINED, "nothing is left");
        const std::vector<RecordingListener::Timer> expected{{4, 1'000},
                                                             {5, 1'000},
                                                             {6, 1'000},
                                                             {2, 2'000},
                                                             {7, 2'000},
                                                             {1, 3'000},
                                                             {3, 3'000}};
        NS_TEST_EXPECT_MSG_EQ((built.GetListener().GetTimers() == expected),
                              true,
                              "order and times");
        // 4 and 5, 2 and 7, 1 and 3; 6 is set while the first two are told of.
        const std::vector<uint32_t> together{2, 2, 2};
        NS_TEST_EXPECT_MSG_EQ((built.GetListener().GetTogether() == together),
                              true,
                              "what follows each other in a moment is told at once");
        NS_TEST_EXPECT_MSG_EQ(session.GetNowPs(), 3'000, "now");
        NS_TEST_EXPECT_MSG_EQ(session.GetStatistics().events,
                              eventsWithoutTimers + 7,
                              "one event a timer");
    }

    static uint64_t CountEventsWithoutTimers()
    {
        BuiltStar built;
        built.Get().Run(-1);
        return built.Get().GetStatistics().events;
    }
};

class RunsEndAsTheyShould : public TestCase
{
  public:
    RunsEndAsTheyShould()
        : TestCase("stopped, drained or at its limit: a run says which, and can go on")
    {
    }

  private:
    static constexpr int64_t SECOND_PS = 1'000'000'000'000;

    void DoRun() override
    {
        CheckLimit();
        CheckStop();
        CheckDrainedBeforeLimit(10'000, SECOND_PS);
        // The timeout of 10 ms, cancelled with the last acknowledgement, lies behind this limit:
        // nothing will happen.
        CheckDrainedBeforeLimit(10'000, SECOND_PS / 1'000);
        // So many timers that the event list was swept.
        CheckDrainedBeforeLimit(20'000'000, SECOND_PS);
    }

    void CheckLimit()
    {
        BuiltStar built;
        Session& session = built.Get();
        built.Send(0, 1, 10'000'000); // 0.8 ms and more at 100 Gb/s
        NS_TEST_EXPECT_MSG_EQ(session.Run(100'000'000), RUN_LIMIT, "in the middle");
        NS_TEST_EXPECT_MSG_EQ(session.GetNowPs(), 100'000'000, "exactly there");
        NS_TEST_EXPECT_MSG_EQ(session.CountPending(1, 0), 1U, "still waiting");
        NS_TEST_EXPECT_MSG_EQ(session.GetPending(0).bytes, 10'000'000U, "for this");
        NS_TEST_EXPECT_MSG_EQ(session.GetPending(0).sent, true, "which was sent");
        NS_TEST_EXPECT_MSG_EQ(session.Run(200'000'000), RUN_LIMIT, "a later limit");
        NS_TEST_EXPECT_MSG_EQ(session.GetNowPs(), 200'000'000, "exactly there");
        NS_TEST_EXPECT_MSG_EQ(session.Run(-1), RUN_DRAINED, "no limit any more");
        NS_TEST_EXPECT_MSG_EQ(built.GetFlows().size(), 1U, "it has arrived");
        NS_TEST_EXPECT_MSG_EQ(session.CountPending(1, 0), 0U, "nothing is waited for");
    }

    void CheckStop()
    {
        BuiltStar built;
        Session& session = built.Get();
        built.GetListener().OnTimer([&session](const auto& timer) {
            if (timer.first == 1)
            {
                session.Stop();
            }
        });
        session.SetTimer(0, 1'000, 1);
        session.SetTimer(0, 1'000, 2); // told together with 1
        session.SetTimer(0, 9'000, 3);
        NS_TEST_EXPECT_MSG_EQ(session.Run(5'000), RUN_STOPPED, "asked to stop");
        NS_TEST_EXPECT_MSG_EQ(built.GetListener().GetTimers().size(),
                              2U,
                              "after what is told at once");
        NS_TEST_EXPECT_MSG_EQ(session.Run(-1), RUN_DRAINED, "the limit was that of the first run");
        NS_TEST_EXPECT_MSG_EQ(built.GetListener().GetTimers().size(), 3U, "the rest");
        NS_TEST_EXPECT_MSG_EQ(session.GetNowPs(), 9'000, "the last timer");
    }

    void CheckDrainedBeforeLimit(uint64_t bytes, int64_t limitPs)
    {
        BuiltStar built;
        built.Send(0, 1, bytes);
        const uint32_t status = built.Get().Run(limitPs);
        NS_TEST_EXPECT_MSG_EQ(status, RUN_DRAINED, bytes << " bytes, limit " << limitPs);
        NS_TEST_EXPECT_MSG_EQ(built.GetFlows().size(), 1U, "it has arrived");
    }
};

class NpusOfOneHost : public TestCase
{
  public:
    NpusOfOneHost()
        : TestCase("messages between NPUs of one host take rate, delay and endpoint costs, and no "
                   "network")
    {
    }

  private:
    void DoRun() override
    {
        Star star;
        DescribedNetwork network = DescribeStar(star, TcpParameters());
        network.SetNpus({0, 0, 1});
        network.Get().local = {800'000'000'000, 250'000}; // 10 ps a byte
        network.Get().endpoint = {7'000, 500'000};
        OpenSession built(std::move(network));
        Session& session = built.Get();
        const RecordingListener& listener = built.GetListener();
        SendMessage(session, RegisterOneMessage(session), 0, 1, 5'000'000'000, 3);
        NS_TEST_EXPECT_MSG_EQ(session.Run(-1), RUN_DRAINED, "the end");
        session.FlushRecords();
        const Flow expected{0, 1, 5'000'000'000, 7'000, 50'000'000'000 + 257'000, 3, 0};
        NS_TEST_ASSERT_MSG_EQ(listener.GetFlows().size(), 1U, "it arrives");
        NS_TEST_EXPECT_MSG_EQ(listener.GetFlows()[0].endPs, expected.endPs, "end");
        NS_TEST_EXPECT_MSG_EQ((listener.GetFlows()[0] == expected), true, "the rest");
        const std::vector<RecordingListener::Phase> phases{{0, 3, 7'000},
                                                           {1, 3, 50'000'000'000 + 264'000}};
        NS_TEST_EXPECT_MSG_EQ((listener.GetPhases() == phases),
                              true,
                              "done after the endpoint delay");
        NS_TEST_EXPECT_MSG_EQ(session.GetStatistics().packets, 0U, "no packet");
        NS_TEST_EXPECT_MSG_EQ(CounterOf(session, "connections"), 0U, "no connection");
        NS_TEST_EXPECT_MSG_EQ(session.GetStatistics().messages, 1U, "one message");
        NS_TEST_EXPECT_MSG_EQ(session.GetSentBytes(0), 5'000'000'000U, "bytes");
        NS_TEST_EXPECT_MSG_EQ(session.GetDeliveredBytes(), 5'000'000'000U, "bytes delivered");
        const uint32_t ends[]{0, 1};
        NS_TEST_EXPECT_MSG_EQ(session.GetDeliveredBytesOf(ends, 1), 0U, "none to the sender");
        NS_TEST_EXPECT_MSG_EQ(session.GetDeliveredBytesOf(ends, 2), 5'000'000'000U, "all of both");
    }
};

class SessionRunTestSuite : public TestSuite
{
  public:
    SessionRunTestSuite()
        : TestSuite("astra-session-run", Type::SYSTEM)
    {
        AddTestCase(new TimersComeInOrder);
        AddTestCase(new RunsEndAsTheyShould);
        AddTestCase(new NpusOfOneHost);
    }
};

SessionRunTestSuite g_sessionRunTestSuite; //!< registers itself
} // namespace session_run_test
