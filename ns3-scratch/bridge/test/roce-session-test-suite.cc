// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Sessions with RoCE: what is recorded of messages, pauses, lines and queue pairs, and hosts with
 * several links.
 */
#include "session-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

namespace roce_session_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;
constexpr uint32_t DATA_PRIORITY = 3;
constexpr uint64_t PACKET_WIRE_BYTES = 1'000 + 62 + 20;

/// \return hosts around one switch, with RoCE. \param links of the hosts, one each
DescribedNetwork
DescribeRoceStar(const SwitchParameters& parameters,
                 const std::vector<LinkParameters>& links,
                 const RoceParameters& roce = {})
{
    Star star;
    star.hosts = links.size();
    DescribedNetwork network = DescribeStar(star, parameters, links);
    network.UseRoce(roce);
    return network;
}

class FlowsHaveRows : public TestCase
{
  public:
    FlowsHaveRows()
        : TestCase("a message alone takes what its packets take, and its row says so")
    {
    }

  private:
    void DoRun() override
    {
        OpenSession star(DescribeRoceStar({}, std::vector<LinkParameters>(2)));
        star.Send(0, 1, 100'001, 7);
        NS_TEST_EXPECT_MSG_EQ(star.Get().Run(-1), RUN_DRAINED, "all done");
        const auto& rows = star.GetRows("flows");
        NS_TEST_ASSERT_MSG_EQ(rows.size(), 1U, "one message");
        // 100 full packets and one of a byte at 80 ps a byte, which waits for the last full one.
        const int64_t expectedPs = (101 * 1'082 + 84) * 80 + 2 * 500'000;
        const std::vector<int64_t> expected{0, 1, 100'001, 0, expectedPs, 7, 0};
        NS_TEST_ASSERT_MSG_EQ(rows[0].size(), expected.size(), "columns");
        for (std::size_t column = 0; column < expected.size(); ++column)
        {
            NS_TEST_EXPECT_MSG_EQ(rows[0][column], expected[column], "column " << column);
        }
        const auto statistics = star.Get().GetStatistics();
        NS_TEST_EXPECT_MSG_EQ(statistics.packets, 101U, "packets");
        NS_TEST_EXPECT_MSG_EQ(CounterOf(star.Get(), "queue_pairs"), 1U, "queue pairs");
        NS_TEST_EXPECT_MSG_EQ(statistics.retransmissions, 0U, "none again");
    }
};

class ChannelsHaveQueuePairsOfTheirOwn : public TestCase
{
  public:
    ChannelsHaveQueuePairsOfTheirOwn()
        : TestCase("each channel of a pair has queue pairs of its own, which share the line packet "
                   "by packet")
    {
    }

  private:
    void DoRun() override
    {
        CheckOpened(1, 0, 1);
        CheckOpened(2, 0, 2);
        CheckOpened(2, 1, 2); // each NPU is a server
        CheckOpened(2, 2, 1); // both are in one
        CheckTurns(0, 12);    // one queue pair: the short one waits for all of the long one
        CheckTurns(1, 4);     // two: the packets of the short one are the second and fourth
    }

    /// \param queuePairs of each pair \param serverNpus NPUs of a server \param opened of a channel
    void CheckOpened(uint32_t queuePairs, uint32_t serverNpus, uint32_t opened)
    {
        RoceParameters roce;
        roce.queuePairsPerPair = queuePairs;
        roce.serverNpus = serverNpus;
        OpenSession star(DescribeRoceStar({}, std::vector<LinkParameters>(2), roce));
        Session& session = star.Get();
        const uint32_t schedule = RegisterOneMessage(session);
        for (uint64_t turn = 0; turn < 3; ++turn)
        {
            SendInChannel(session, schedule, {0, 1}, 2'000, 10 + turn, 0);
            SendInChannel(session, schedule, {0, 1}, 2'000, 20 + turn, 1);
            SendInChannel(session, schedule, {0, 1}, 2'000, 30 + turn, 7);
        }
        SendInChannel(session, schedule, {1, 0}, 2'000, 40, 7);
        NS_TEST_EXPECT_MSG_EQ(session.Run(-1), RUN_DRAINED, "all done");
        NS_TEST_EXPECT_MSG_EQ(star.GetFlows().size(), 10U, "messages");
        // Three messages of each channel take as many of its queue pairs as there are.
        NS_TEST_EXPECT_MSG_EQ(CounterOf(session, "queue_pairs"),
                              3U * opened + 1U,
                              opened << " of each channel");
    }

    /// 10 packets in channel 0, then 2 in another. \param packets that are sent when the short
    /// message is
    void CheckTurns(uint64_t channel, int64_t packets)
    {
        OpenSession star(DescribeRoceStar({}, std::vector<LinkParameters>(2)));
        const uint32_t schedule = RegisterOneMessage(star.Get());
        SendInChannel(star.Get(), schedule, {0, 1}, 10'000, 1, 0);
        SendInChannel(star.Get(), schedule, {0, 1}, 2'000, 2, channel);
        star.Get().Run(-1);
        const auto flows = star.GetFlows();
        const auto found = std::find_if(flows.begin(), flows.end(), [](const Flow& flow) {
            return flow.bytes == 2'000;
        });
        NS_TEST_ASSERT_MSG_EQ((found != flows.end()), true, "the short one");
        const int64_t wirePs = static_cast<int64_t>(PACKET_WIRE_BYTES) * 80;
        NS_TEST_EXPECT_MSG_EQ(found->endPs,
                              (packets + 1) * wirePs + 2 * 500'000,
                              "channel " << channel);
    }
};

class LinesAreMeasured : public TestCase
{
  public:
    LinesAreMeasured()
        : TestCase("the bytes of each interval on a line are recorded, preamble and gap counted")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t INTERVAL_PS = 10 * PACKET_WIRE_BYTES * 80; // ten packets
        DescribedNetwork network = DescribeRoceStar({}, std::vector<LinkParameters>(2));
        network.ObserveUtilisation(0, 0);
        network.Get().observation.utilisationIntervalPs = INTERVAL_PS;
        OpenSession star(std::move(network));
        star.Send(0, 1, 25'000, 1);
        star.Get().Run(-1);
        const std::vector<std::vector<int64_t>> expected{
            {INTERVAL_PS, 0, 0, 10 * PACKET_WIRE_BYTES},
            {2 * INTERVAL_PS, 0, 0, 10 * PACKET_WIRE_BYTES},
            {3 * INTERVAL_PS, 0, 0, 5 * PACKET_WIRE_BYTES}};
        NS_TEST_EXPECT_MSG_EQ((star.GetRows("utilisation") == expected), true, "intervals");
    }
};

class PausesAreRecorded : public TestCase
{
  public:
    PausesAreRecorded()
        : TestCase("each stop of a port is recorded with its end, and both add up to the counters")
    {
    }

  private:
    void DoRun() override
    {
        LinkParameters link;
        link.headroomBytes = 20'000;
        SwitchParameters parameters;
        parameters.losslessPriorities = 1U << DATA_PRIORITY;
        parameters.bufferBytes = 5 * (20'000 + parameters.reserveBytes) + 60'000;
        DescribedNetwork network =
            DescribeRoceStar(parameters, std::vector<LinkParameters>(5, link));
        network.ObservePauses(1, 0);
        network.Get().pauseWatchdogPs = 1'000'000'000;
        OpenSession star(std::move(network));
        for (uint32_t host = 1; host < 5; ++host)
        {
            star.Send(host, 0, 1'000'000, host);
        }
        NS_TEST_EXPECT_MSG_EQ(star.Get().Run(-1), RUN_DRAINED, "no deadlock");
        NS_TEST_EXPECT_MSG_EQ(star.GetRows("flows").size(), 4U, "messages");
        const auto& rows = star.GetRows("pauses");
        const PortNumbers statistics = star.GetPortStatistics(1, 0);
        NS_TEST_ASSERT_MSG_GT(rows.size(), 2U, "there are pauses");
        NS_TEST_ASSERT_MSG_EQ(rows.size(), 2 * statistics.at("pauses"), "begin and end of each");
        int64_t pausedPs = 0;
        for (std::size_t row = 0; row < rows.size(); ++row)
        {
            const int64_t priorities = row % 2 == 0 ? 1 << DATA_PRIORITY : 0;
            NS_TEST_EXPECT_MSG_EQ(rows[row][1], 1, "node");
            NS_TEST_EXPECT_MSG_EQ(rows[row][2], 0, "port");
            NS_TEST_EXPECT_MSG_EQ(rows[row][3], priorities, "priorities");
            pausedPs += row % 2 == 0 ? -rows[row][0] : rows[row][0];
        }
        NS_TEST_EXPECT_MSG_EQ(static_cast<uint64_t>(pausedPs), statistics.at("paused_ps"), "time");
        NS_TEST_EXPECT_MSG_EQ(star.GetPortStatistics(5, 1).at("pause_frames"),
                              rows.size(),
                              "the switch sent as many");
        NS_TEST_EXPECT_MSG_EQ(star.GetPortStatistics(5, 0).at("dropped_frames"), 0U, "no drop");
    }
};

class QueuePairsAreObserved : public TestCase
{
  public:
    QueuePairsAreObserved()
        : TestCase("what queue pairs send again is recorded, and adds up to the counters")
    {
    }

  private:
    void DoRun() override
    {
        LinkParameters link;
        link.errorRate = 0.02;
        RoceParameters roce;
        roce.timeoutPs = 50'000'000;
        DescribedNetwork network = DescribeRoceStar({}, std::vector<LinkParameters>(2, link), roce);
        network.Get().observation.tables.emplace_back() = {"queue_pairs",
                                                           QUEUE_PAIR_RETRANSMISSION |
                                                               QUEUE_PAIR_RATE};
        OpenSession star(std::move(network));
        star.Send(0, 1, 300'000, 1);
        star.Get().Run(-1);
        NS_TEST_EXPECT_MSG_EQ(star.GetRows("flows").size(), 1U, "it arrives");
        int64_t again = 0;
        std::vector<int64_t> rates;
        for (const auto& row : star.GetRows("queue_pairs"))
        {
            NS_TEST_EXPECT_MSG_EQ(row[1], 0, "sender");
            NS_TEST_EXPECT_MSG_EQ(row[2], 1, "receiver");
            if (row[3] == QUEUE_PAIR_RETRANSMISSION)
            {
                again += row[4];
            }
            else
            {
                NS_TEST_EXPECT_MSG_EQ(row[3], QUEUE_PAIR_RATE, "what was asked for");
                rates.push_back(row[4]);
            }
        }
        const auto packets = star.Get().GetStatistics().retransmissions;
        NS_TEST_EXPECT_MSG_GT(packets, 0U, "packets are lost");
        NS_TEST_EXPECT_MSG_EQ(again, static_cast<int64_t>(packets * 1'000), "bytes sent again");
        NS_TEST_EXPECT_MSG_EQ((rates == std::vector<int64_t>{100'000'000'000}),
                              true,
                              "without a congestion control the rate is the line's");
    }
};

/// Two hosts with a link to each of two switches.
class TwoPlanes
{
  public:
    /// \param pinned every path goes by the second switch
    explicit TwoPlanes(bool pinned)
        : m_session(Describe(pinned))
    {
        for (uint64_t message = 0; message < MESSAGES; ++message)
        {
            m_session.Send(0, 1, BYTES, message);
        }
        m_session.Get().Run(-1);
        m_session.Get().FlushRecords();
    }

    static constexpr uint64_t MESSAGES = 64;
    static constexpr uint64_t BYTES = 10'000;

    /// \return data packets that went by one of host 0's ports
    uint64_t CountSent(uint32_t port)
    {
        return m_session.GetPortStatistics(0, port).at("sent_frames");
    }

    /// \return when the last message arrived
    int64_t GetEndPs()
    {
        return m_session.GetFlows().back().endPs;
    }

    /// \return messages that have arrived
    std::size_t CountArrived()
    {
        return m_session.GetFlows().size();
    }

  private:
    static DescribedNetwork Describe(bool pinned)
    {
        DescribedNetwork network(2);
        network.AddSwitch(SwitchParameters());
        network.AddSwitch(SwitchParameters());
        for (uint32_t plane : {2U, 3U})
        {
            network.AddLink(0, plane, LinkParameters());
            network.AddLink(1, plane, LinkParameters());
        }
        // Both hosts are joined to both switches, so they are one group.
        network.SetGroups({0, 0});
        const std::vector<uint32_t> ports{0, 1};
        for (uint32_t host : {0U, 1U})
        {
            network.AddTable(host, {{{0}, {0, 2}, ports, {}, {}}});
            network.AddTable(2 + host, {{{0xffffffff}, {0}, {}, ports, ports}});
        }
        if (pinned)
        {
            network.Get().routing.kind = ROUTE_BY_PIN;
            network.PinPath(0, 1, {1});
        }
        network.SetNpus({0, 1});
        network.Get().observation.flows = true;
        RoceParameters roce;
        roce.perMessage = true;
        network.UseRoce(roce);
        return network;
    }

    OpenSession m_session; //!< the session
};

class HostsWithTwoLinks : public TestCase
{
  public:
    HostsWithTwoLinks()
        : TestCase("queue pairs of messages spread over both links of a host, or take the pinned")
    {
    }

  private:
    void DoRun() override
    {
        int64_t spreadPs = 0;
        {
            TwoPlanes spread(false);
            NS_TEST_ASSERT_MSG_EQ(spread.CountArrived(), TwoPlanes::MESSAGES, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(spread.CountSent(0) + spread.CountSent(1),
                                  10 * TwoPlanes::MESSAGES,
                                  "packets");
            // 64 throws of a coin: outside 16 to 48 once in 50,000 seeds.
            NS_TEST_EXPECT_MSG_GT(spread.CountSent(0), 10U * 16, "the first link");
            NS_TEST_EXPECT_MSG_GT(spread.CountSent(1), 10U * 16, "the second link");
            spreadPs = spread.GetEndPs();
        }
        TwoPlanes pinned(true);
        NS_TEST_ASSERT_MSG_EQ(pinned.CountArrived(), TwoPlanes::MESSAGES, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(pinned.CountSent(0), 0U, "the first link");
        NS_TEST_EXPECT_MSG_EQ(pinned.CountSent(1), 10 * TwoPlanes::MESSAGES, "the second link");
        const auto packets = static_cast<int64_t>(10 * TwoPlanes::MESSAGES);
        NS_TEST_EXPECT_MSG_EQ(pinned.GetEndPs(),
                              (packets + 1) * static_cast<int64_t>(PACKET_WIRE_BYTES) * 80 +
                                  2 * 500'000,
                              "at the rate of one line");
        NS_TEST_EXPECT_MSG_LT(spreadPs, pinned.GetEndPs(), "two are faster");
    }
};

class RoceSessionTestSuite : public TestSuite
{
  public:
    RoceSessionTestSuite()
        : TestSuite("astra-session-roce", Type::UNIT)
    {
        AddTestCase(new FlowsHaveRows);
        AddTestCase(new ChannelsHaveQueuePairsOfTheirOwn);
        AddTestCase(new LinesAreMeasured);
        AddTestCase(new PausesAreRecorded);
        AddTestCase(new QueuePairsAreObserved);
        AddTestCase(new HostsWithTwoLinks);
    }
};

RoceSessionTestSuite g_roceSessionTestSuite; //!< registers itself
} // namespace roce_session_test
