// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * CollectiveSchedule, CollectiveApplication over a transport of fixed latency, and
 * LocalMessageTransport.
 */
#include "fixed-latency-npus.h"
#include "schedule-fixture.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <array>
#include <cstdint>
#include <vector>

namespace collective_application_test
{
using namespace ns3;
using namespace ns3::test;
constexpr int64_t ENDPOINT_PS = 10'000;
constexpr int64_t PS_PER_NS = 1'000;

/// \return ring all-reduce: n - 1 steps that reduce and n - 1 that spread, each rank sends to the
/// next
std::vector<Row>
RingAllReduce(int32_t ranks)
{
    std::vector<Row> rows;
    for (int32_t step = 0; step < 2 * (ranks - 1); ++step)
    {
        for (int32_t rank = 0; rank < ranks; ++rank)
        {
            const int32_t block = (rank - step + 2 * ranks) % ranks;
            const int32_t reduces = step < ranks - 1 ? 1 : 0;
            rows.push_back({rank, (rank + 1) % ranks, step, block, 1, reduces, step - 1, 1});
        }
    }
    return rows;
}

/// \return direct all-reduce: everyone sends each block to its owner, then each owner its block to
/// everyone
std::vector<Row>
DirectAllReduce(int32_t ranks)
{
    std::vector<Row> rows;
    for (int32_t rank = 0; rank < ranks; ++rank)
    {
        for (int32_t other = 0; other < ranks; ++other)
        {
            if (other != rank)
            {
                rows.push_back({rank, other, 0, other, 1, 1, -1, 0});
                rows.push_back({rank, other, 1, rank, 1, 0, 0, ranks - 1});
            }
        }
    }
    return rows;
}

class RingMatchesClosedForm : public TestCase
{
  public:
    RingMatchesClosedForm()
        : TestCase(
              "ring all-reduce: k (L + e) + e, and for each reduction 3 ns for every 500000 bytes")
    {
    }

  private:
    void DoRun() override
    {
        for (int32_t ranks : {2, 3, 5, 8})
        {
            for (uint64_t blockBytes : {1'000, 499'999, 500'000, 1'234'567})
            {
                std::vector<uint32_t> npus(ranks);
                for (int32_t rank = 0; rank < ranks; ++rank)
                {
                    npus[rank] = 40 + 3 * rank; // ranks are not NPU numbers
                }
                FixedLatencyNpus network(npus, {ENDPOINT_PS, 500'000});
                const auto schedule = MakeSchedule(ranks, ranks, 1, RingAllReduce(ranks));
                network.LaunchAll(schedule, ranks * blockBytes);
                Simulator::Run();
                const int64_t steps = 2 * (ranks - 1);
                const auto reductionNs = static_cast<int64_t>(blockBytes / 500'000) * 3;
                const int64_t expectedPs = steps * (LATENCY_PS + ENDPOINT_PS) + ENDPOINT_PS +
                                           (ranks - 1) * reductionNs * PS_PER_NS;
                for (uint32_t npu : npus)
                {
                    NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(npu),
                                          expectedPs,
                                          ranks << " ranks, NPU " << npu);
                    NS_TEST_EXPECT_MSG_EQ(network.Get(npu)->GetSentMessages(),
                                          uint64_t(steps),
                                          "messages");
                    NS_TEST_EXPECT_MSG_EQ(network.Get(npu)->GetSentBytes(),
                                          steps * blockBytes,
                                          "bytes");
                }
            }
        }
    }
};

class DirectMatchesClosedForm : public TestCase
{
  public:
    DirectMatchesClosedForm()
        : TestCase("direct all-reduce: 2 L + 3 e whatever the number of ranks")
    {
    }

  private:
    void DoRun() override
    {
        for (int32_t ranks : {2, 4, 7})
        {
            std::vector<uint32_t> npus(ranks);
            for (int32_t rank = 0; rank < ranks; ++rank)
            {
                npus[rank] = rank;
            }
            FixedLatencyNpus network(npus, {ENDPOINT_PS, 500'000});
            network.LaunchAll(MakeSchedule(ranks, ranks, 1, DirectAllReduce(ranks)),
                              ranks * 1'500'000);
            Simulator::Run();
            // One round reduces blocks of 1.5 MB: 3 * 3 ns, those of one step at the same time.
            const int64_t expectedPs = 2 * LATENCY_PS + 3 * ENDPOINT_PS + 9 * PS_PER_NS;
            for (uint32_t npu : npus)
            {
                NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(npu), expectedPs, ranks << " ranks");
                NS_TEST_EXPECT_MSG_EQ(network.Get(npu)->GetSentMessages(),
                                      2U * (ranks - 1),
                                      "messages");
            }
        }
    }
};

class MessagesWaitForTheirTurn : public TestCase
{
  public:
    MessagesWaitForTheirTurn()
        : TestCase(
              "what comes before the launch or before its step waits; partial waits are kept to")
    {
    }

  private:
    void DoRun() override
    {
        CheckEarlyArrival();
        CheckOutOfStepArrival();
        CheckPartialWait();
        CheckNoRows();
    }

    /// A message that arrives long before its receiver launches the phase.
    void CheckEarlyArrival()
    {
        constexpr int64_t LAUNCH_PS = 50'000'000;
        FixedLatencyNpus network({0, 1}, {ENDPOINT_PS, 500'000});
        const auto schedule = MakeSchedule(2, 1, 1, {{0, 1, 0, 0, 1, 0, -1, 0}});
        network.Get(0)->Launch(INSTANCE, schedule, network.GetGroup(), 100);
        Simulator::Schedule(TimeStep(LAUNCH_PS), [&] {
            network.Get(1)->Launch(INSTANCE, schedule, network.GetGroup(), 100);
            NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(1), -1, "never within Launch");
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(0), ENDPOINT_PS, "the sender only sends");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(1),
                              LAUNCH_PS + ENDPOINT_PS,
                              "handled once launched");
    }

    /// Step 1 arrives before step 0: it is handled after it.
    void CheckOutOfStepArrival()
    {
        FixedLatencyNpus network({0, 1, 2}, {ENDPOINT_PS, 500'000});
        network.SetLatency([](const CollectiveMessage& message) {
            return message.sender == 0 ? 9 * LATENCY_PS : LATENCY_PS;
        });
        network.LaunchAll(
            MakeSchedule(3, 1, 1, {{0, 2, 0, 0, 1, 0, -1, 0}, {1, 2, 1, 0, 1, 1, -1, 0}}),
            1'000'000);
        Simulator::Run();
        // Sent at e, arrived at e + 9 L, handled; then the other, reduced: 3 * 2 ns.
        const int64_t expectedPs = 9 * LATENCY_PS + 3 * ENDPOINT_PS + 6 * PS_PER_NS;
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(2), expectedPs, "one step after the other");
    }

    /// A send that waits for one of two receptions of a step does not wait for the other.
    void CheckPartialWait()
    {
        FixedLatencyNpus network({0, 1, 2, 3}, {ENDPOINT_PS, 500'000});
        network.SetLatency([](const CollectiveMessage& message) {
            return message.sender == 1 ? 4 * LATENCY_PS : LATENCY_PS;
        });
        network.LaunchAll(MakeSchedule(4,
                                       2,
                                       1,
                                       {{0, 2, 5, 0, 1, 0, -1, 0},
                                        {1, 2, 5, 0, 1, 0, -1, 0},
                                        {2, 3, 8, 1, 1, 0, 5, 2},
                                        {2, 3, 7, 0, 1, 0, 5, 1}}),
                          100);
        Simulator::Run();
        const auto& sent = network.GetSent();
        NS_TEST_ASSERT_MSG_EQ(sent.size(), 4U, "messages");
        NS_TEST_EXPECT_MSG_EQ(sent[2].row, 3U, "the one that waits for less goes first");
        NS_TEST_EXPECT_MSG_EQ(sent[2].startPs,
                              LATENCY_PS + 2 * ENDPOINT_PS,
                              "after the first reception");
        NS_TEST_EXPECT_MSG_EQ(sent[3].startPs,
                              4 * LATENCY_PS + 2 * ENDPOINT_PS,
                              "after the second");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(2),
                              4 * LATENCY_PS + 2 * ENDPOINT_PS,
                              "all is sent");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(3),
                              5 * LATENCY_PS + 3 * ENDPOINT_PS,
                              "all is handled");
    }

    /// A rank without rows is done after the endpoint delay, and a second phase is another one.
    void CheckNoRows()
    {
        FixedLatencyNpus network({0, 1, 2}, {0, 500'000});
        const auto schedule = MakeSchedule(3, 1, 1, {{0, 1, 0, 0, 1, 0, -1, 0}});
        network.LaunchAll(schedule, 8);
        network.Get(2)->Launch(INSTANCE + 1, schedule, network.GetGroup(), 8);
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(2), -1, "never within Launch, even without delay");
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(2), 0, "nothing to do");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(2, INSTANCE + 1), 0, "nothing to do there either");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(1), LATENCY_PS, "the others are not disturbed");
    }
};

/// A group knows the rank of each member, of few that it searches and of many that it looks up.
class GroupsKnowTheirMembers : public TestCase
{
  public:
    GroupsKnowTheirMembers()
        : TestCase("groups of few and of many know the rank of each member")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t count : {1, 2, 7, 8, 9, 100})
        {
            CollectiveGroup group;
            for (uint32_t rank = 0; rank < count; ++rank)
            {
                NS_TEST_ASSERT_MSG_EQ(group.Add(1000 - 3 * rank), true, "new");
                NS_TEST_ASSERT_MSG_EQ(group.Add(1000 - 3 * rank), false, "twice");
            }
            NS_TEST_ASSERT_MSG_EQ(group.members.size(), count, "members");
            for (uint32_t rank = 0; rank < count; ++rank)
            {
                const auto found = group.FindRank(1000 - 3 * rank);
                NS_TEST_ASSERT_MSG_EQ(found.has_value() && *found == rank, true, "rank");
            }
            NS_TEST_ASSERT_MSG_EQ(group.FindRank(1).has_value(), false, "no member");
        }
    }
};

class StallIsReported : public TestCase
{
  public:
    StallIsReported()
        : TestCase("GetPending names what has not arrived and what was not sent")
    {
    }

  private:
    /// sender, receiver, step, bytes, sent
    using Expected = std::array<uint64_t, 5>;

    void DoRun() override
    {
        FixedLatencyNpus network({10, 11, 12}, {ENDPOINT_PS, 500'000});
        // The message of step 1 from rank 0 to rank 1 is lost; those behind it arrive and wait.
        network.SetLatency([](const CollectiveMessage& message) {
            return message.sender == 10 && message.row == 3 ? int64_t{-1} : LATENCY_PS;
        });
        network.LaunchAll(MakeSchedule(3, 3, 1, RingAllReduce(3)),
                          301); // blocks of 100, 100 and 101 bytes
        NS_TEST_EXPECT_MSG_EQ(network.Get(11)->GetPending(INSTANCE + 1).size(), 0U, "not launched");
        Simulator::Run();
        // In step s rank r sends block r - s, and sends only once it has handled step s - 1.
        Check(network, 10, {{12, 10, 3, 101, 1}});
        Check(network, 11, {{10, 11, 1, 101, 1}, {11, 12, 2, 101, 0}, {11, 12, 3, 100, 0}});
        Check(network, 12, {{11, 12, 2, 101, 1}, {11, 12, 3, 100, 1}, {12, 10, 3, 101, 0}});
        for (uint32_t npu : {10, 11, 12})
        {
            NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(npu), -1, "not done");
        }

        FixedLatencyNpus whole({0, 1, 2}, {ENDPOINT_PS, 500'000});
        whole.LaunchAll(MakeSchedule(3, 3, 1, RingAllReduce(3)), 300);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(whole.Get(0)->GetPending(INSTANCE).size(), 0U, "done");
    }

    void Check(const FixedLatencyNpus& network, uint32_t npu, const std::vector<Expected>& expected)
    {
        const auto pending = network.Get(npu)->GetPending(INSTANCE);
        NS_TEST_ASSERT_MSG_EQ(pending.size(), expected.size(), "NPU " << npu);
        for (std::size_t place = 0; place < expected.size(); ++place)
        {
            const auto& actual = pending[place];
            const Expected values{actual.sender,
                                  actual.receiver,
                                  actual.step,
                                  actual.bytes,
                                  actual.sent};
            NS_TEST_EXPECT_MSG_EQ((values == expected[place]),
                                  true,
                                  "NPU " << npu << ", message " << place);
        }
    }
};

class AbandonedPhasesAreForgotten : public TestCase
{
  public:
    AbandonedPhasesAreForgotten()
        : TestCase("an abandoned phase sends, handles and keeps nothing, though messages of it "
                   "still arrive")
    {
    }

  private:
    void DoRun() override
    {
        CheckUnderWay();
        CheckWhileSending();
        CheckNotLaunched();
    }

    /// Messages are under way and handled, and others wait for a turn that doesn't come.
    void CheckUnderWay()
    {
        for (int64_t abandonedPs : {ENDPOINT_PS / 2,                   // before the first sends
                                    ENDPOINT_PS + LATENCY_PS / 2,      // as messages are under way
                                    LATENCY_PS + 3 * ENDPOINT_PS / 2}) // as they are handled
        {
            FixedLatencyNpus network({10, 11, 12}, {ENDPOINT_PS, 500'000});
            const auto schedule = MakeSchedule(3, 3, 1, RingAllReduce(3));
            network.LaunchAll(schedule, 300);
            Simulator::Schedule(TimeStep(abandonedPs), [&] {
                network.AbandonAll();
                NS_TEST_EXPECT_MSG_EQ(network.Get(10)->GetPending(INSTANCE).size(), 0U, "pending");
            });
            Simulator::Schedule(TimeStep(4 * LATENCY_PS), [&] {
                // Nothing is left of it, so that its number is free.
                network.Get(10)->Launch(INSTANCE, schedule, network.GetGroup(), 300);
            });
            Simulator::Run();
            const uint64_t sent = abandonedPs < ENDPOINT_PS ? 0 : 1;
            for (uint32_t npu : {10, 11, 12})
            {
                const auto& application = network.Get(npu);
                NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(npu), -1, "not done");
                NS_TEST_EXPECT_MSG_EQ(application->GetSentMessages(),
                                      sent + (npu == 10 ? 1 : 0),
                                      "sent");
                NS_TEST_EXPECT_MSG_EQ(application->GetReceivedMessages(),
                                      sent + (npu == 11 ? 1 : 0),
                                      "received");
            }
        }
    }

    /// The transport gives up, so that the phase is abandoned while it sends the first message.
    void CheckWhileSending()
    {
        FixedLatencyNpus network({0, 1, 2, 3}, {ENDPOINT_PS, 500'000});
        network.SetOnSend([&](const CollectiveMessage&) { network.AbandonAll(); });
        network.LaunchAll(MakeSchedule(4, 4, 1, DirectAllReduce(4)), 400);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetSent().size(), 1U, "only the first is sent");
        for (uint32_t npu : {0, 1, 2, 3})
        {
            NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(npu), -1, "not done");
        }
    }

    /// A message that comes before its receiver launches the phase, which is abandoned by then.
    void CheckNotLaunched()
    {
        FixedLatencyNpus network({0, 1}, {ENDPOINT_PS, 500'000});
        const auto schedule = MakeSchedule(2, 1, 1, {{0, 1, 0, 0, 1, 0, -1, 0}});
        network.Get(0)->Launch(INSTANCE, schedule, network.GetGroup(), 100);
        network.SetOnSend([&](const CollectiveMessage&) { network.AbandonAll(); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.Get(1)->GetReceivedMessages(), 1U, "arrived");
        network.Get(1)->Launch(INSTANCE, schedule, network.GetGroup(), 100);
        NS_TEST_EXPECT_MSG_EQ(network.Get(1)->GetPending(INSTANCE).size(), 1U, "not kept");
    }
};

class CollectiveApplicationTestSuite : public TestSuite
{
  public:
    CollectiveApplicationTestSuite()
        : TestSuite("astra-collective", Type::UNIT)
    {
        AddTestCase(new RingMatchesClosedForm);
        AddTestCase(new DirectMatchesClosedForm);
        AddTestCase(new MessagesWaitForTheirTurn);
        AddTestCase(new GroupsKnowTheirMembers);
        AddTestCase(new StallIsReported);
        AddTestCase(new AbandonedPhasesAreForgotten);
    }
};

CollectiveApplicationTestSuite g_collectiveApplicationTestSuite; //!< registers itself
} // namespace collective_application_test
