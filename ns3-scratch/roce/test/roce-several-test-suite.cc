// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Several queue pairs between two NPUs: whole messages in turns, or each message in parts; and the
 * count of packets that come out of order. Times by hand, on links of 100 Gb/s.
 */
#include "roce-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace roce_several_test
{
using namespace ns3;
using namespace ns3::test;
constexpr int64_t DELAY_PS = 500'000;
constexpr int64_t BYTE_PS = 80;
constexpr int64_t PACKET_PS = 1'082 * BYTE_PS;

/// \return parameters of so many queue pairs
RoceParameters
Several(uint32_t queuePairs, bool split)
{
    RoceParameters parameters;
    parameters.queuePairsPerPair = queuePairs;
    parameters.splitMessages = split;
    return parameters;
}

/// \return rows of the messages that have arrived, in order
std::vector<uint32_t>
RowsOf(const RoceBench& bench)
{
    std::vector<uint32_t> rows;
    for (const Arrival& arrival : bench.GetArrivals())
    {
        rows.push_back(arrival.message.row);
    }
    return rows;
}

class MessagesTakeTurns : public TestCase
{
  public:
    MessagesTakeTurns()
        : TestCase("whole messages take the queue pairs of their two NPUs in turns")
    {
    }

  private:
    void DoRun() override
    {
        auto bench = MakeStar(3, MakeLink(100 * GBPS, DELAY_PS));
        bench->Build(Several(3, false));
        // Far apart, so that the positions show which queue pair a message took.
        for (int message = 0; message < 7; ++message)
        {
            bench->Send(0, 1, 2'000, message * 10'000'000);
        }
        bench->Send(0, 2, 2'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().queuePairs,
                              4U,
                              "three to one NPU, one so far to the other");
        const std::vector<uint64_t> expected{0,
                                             1'000,
                                             0,
                                             1'000,
                                             0,
                                             1'000,
                                             2'000,
                                             3'000,
                                             2'000,
                                             3'000,
                                             2'000,
                                             3'000,
                                             4'000,
                                             5'000};
        NS_TEST_EXPECT_MSG_EQ((bench->GetGate(1).GetPositions() == expected),
                              true,
                              "each goes on where its queue pair was");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().CountBusyQueuePairs(), 0U, "all are done");
    }
};

class LaterMessagesOvertake : public TestCase
{
  public:
    LaterMessagesOvertake()
        : TestCase("messages of two queue pairs share the line packet by packet; a short one is "
                   "there before a long one that was sent before it")
    {
    }

  private:
    void DoRun() override
    {
        auto bench = MakeStar(2, MakeLink(100 * GBPS, 0));
        bench->Build(Several(2, false));
        bench->Send(0, 1, 10'000);
        bench->Send(0, 1, 2'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ((RowsOf(*bench) == std::vector<uint32_t>{1, 0}), true, "order");
        // Its packets are the second and fourth on the line, and once more on the switch's.
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals()[0].timePs, 5 * PACKET_PS, "short message");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals()[1].timePs, 13 * PACKET_PS, "long message");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().outOfOrderPackets,
                              0U,
                              "no packet was overtaken by one of its own queue pair");
    }
};

class PartsOfAMessage : public TestCase
{
  public:
    PartsOfAMessage()
        : TestCase("a message is cut into equal parts, one for each queue pair, none empty, and is "
                   "there when its last part is")
    {
    }

  private:
    void DoRun() override
    {
        const std::map<uint64_t, std::vector<uint64_t>> expected{
            {1, {1}},
            {2, {1, 1}},
            {3, {1, 1, 1}},
            {4, {1, 1, 1, 1}},
            {10, {3, 3, 2, 2}},
            {3'999, {1'000, 1'000, 1'000, 999}},
            {4'001, {1'001, 1'000, 1'000, 1'000}},
        };
        for (const auto& [bytes, parts] : expected)
        {
            auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
            bench->Build(Several(4, true));
            bench->Send(0, 1, bytes, 7'000);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 1U, bytes << " bytes: once");
            const Arrival& arrival = bench->GetArrivals()[0];
            NS_TEST_EXPECT_MSG_EQ(arrival.message.bytes, bytes, "whole");
            NS_TEST_EXPECT_MSG_EQ(arrival.message.row, 0U, "its own row");
            NS_TEST_EXPECT_MSG_EQ(bench->GetDeliveredBytes(), int64_t(bytes), "delivered");
            NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().queuePairs,
                                  parts.size(),
                                  bytes << " bytes: queue pairs");
            uint64_t packets = 0;
            for (const uint64_t part : parts)
            {
                packets += (part + 999) / 1'000;
            }
            const auto seen = bench->GetGate(1).GetSeen(ROCE_DATA);
            NS_TEST_EXPECT_MSG_EQ(seen.size(), packets, bytes << " bytes: packets");
            NS_TEST_EXPECT_MSG_EQ(arrival.timePs, seen.back().timePs, "with the last of them");
        }
    }
};

class ShortMessagesSpread : public TestCase
{
  public:
    ShortMessagesSpread()
        : TestCase("messages with fewer bytes than queue pairs begin where the last one ended")
    {
    }

  private:
    void DoRun() override
    {
        auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
        bench->Build(Several(4, true));
        for (int message = 0; message < 6; ++message)
        {
            bench->Send(0, 1, 2, message * 10'000'000);
        }
        Simulator::Run();
        // Twelve bytes over four queue pairs: positions 0, 1 and 2 of each.
        std::map<uint64_t, int> times;
        for (const uint64_t position : bench->GetGate(1).GetPositions())
        {
            times[position]++;
        }
        NS_TEST_EXPECT_MSG_EQ((times == std::map<uint64_t, int>{{0, 4}, {1, 4}, {2, 4}}),
                              true,
                              "the same for all");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 6U, "messages");
    }
};

class TimeOfPartsAlone : public TestCase
{
  public:
    TimeOfPartsAlone()
        : TestCase("a message in parts alone on the network takes what its frames take, the parts "
                   "in turns")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::vector<uint64_t>> paths{
            {100, 100},
            {400, 100},
            {100, 400},
            {100, 25, 400},
            {400, 200, 100, 50},
            {50, 100, 200, 400},
            {200, 50, 400, 50},
        };
        for (const auto& rates : paths)
        {
            for (uint32_t queuePairs : {2U, 3U, 8U})
            {
                for (uint64_t bytes : {1, 5, 999, 2'000, 2'001, 7'999, 8'001, 65'536, 1'000'000})
                {
                    Play(rates, queuePairs, bytes);
                }
            }
        }
    }

    void Play(const std::vector<uint64_t>& rates, uint32_t queuePairs, uint64_t bytes)
    {
        std::vector<LinkParameters> links;
        for (uint64_t rate : rates)
        {
            links.push_back(MakeLink(rate * GBPS, 100'000 + 37'000 * int64_t(rate)));
        }
        auto bench = MakeLine(links);
        bench->Build(Several(queuePairs, true));
        bench->Send(0, 1, bytes, 7'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 1U, "it arrives");
        std::vector<uint64_t> left;
        for (uint32_t part = 0; part < queuePairs; ++part)
        {
            left.push_back(bytes / queuePairs + (part < bytes % queuePairs ? 1 : 0));
        }
        std::vector<uint64_t> frames;
        while (left.front() > 0)
        {
            for (uint64_t& part : left)
            {
                if (const uint64_t now = std::min<uint64_t>(part, 1'000); now > 0)
                {
                    frames.push_back(PacketWireBytes(now));
                    part -= now;
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals()[0].timePs - 7'000,
                              AlonePs(links, frames),
                              bytes << " bytes in " << queuePairs << " parts over " << rates.size()
                                    << " links, the first of " << rates[0] << " Gb/s");
    }
};

class LossesStayInTheirQueuePair : public TestCase
{
  public:
    LossesStayInTheirQueuePair()
        : TestCase("a lost packet holds up its own queue pair alone, but the message in parts with "
                   "it")
    {
    }

  private:
    static constexpr int64_t TIMEOUT_PS = 100'000'000;

    void DoRun() override
    {
        for (bool split : {false, true})
        {
            RoceParameters parameters = Several(2, split);
            parameters.timeoutPs = TIMEOUT_PS;
            auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
            bench->Build(parameters);
            bench->GetGate(1).SetRule([count = 0](const FabricFrame& frame) mutable {
                return int64_t{frame.kind == ROCE_DATA && ++count == 1 ? -1 : 0};
            });
            bench->Send(0, 1, 2'000, 0);
            bench->Send(0, 1, 2'000, 50'000'000);
            Simulator::Run();
            // The first packet is lost. Whole, its message has another behind it that tells of the
            // loss; in parts it was alone in its queue pair, up to the next message.
            const auto& statistics = bench->GetTransport().GetStatistics();
            NS_TEST_EXPECT_MSG_EQ(statistics.nacks, 1U, "the gap is reported");
            NS_TEST_EXPECT_MSG_EQ(statistics.timeouts, 0U, "before any timeout");
            NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 2U, "both arrive");
            NS_TEST_EXPECT_MSG_EQ((bench->GetArrivals()[0].timePs > 50'000'000),
                                  split,
                                  "the first is late");
            NS_TEST_EXPECT_MSG_EQ(statistics.outOfOrderPackets,
                                  0U,
                                  "what is sent again is no reordering");
        }
    }
};

class AccountsOfParts : public TestCase
{
  public:
    AccountsOfParts()
        : TestCase("accounts of messages in turns and in parts add up, over links that lose 2%, "
                   "with every reliability and both completions")
    {
    }

  private:
    static constexpr uint32_t MESSAGES = 80;

    void DoRun() override
    {
        for (bool split : {false, true})
        {
            for (bool acknowledged : {false, true})
            {
                for (const auto kind : {RoceReliability::GO_BACK_N,
                                        RoceReliability::GO_BACK_0,
                                        RoceReliability::SELECTIVE_REPEAT})
                {
                    RoceParameters parameters = Several(3, split);
                    parameters.acknowledged = acknowledged;
                    parameters.reliability = kind;
                    parameters.timeoutPs = 20'000'000;
                    parameters.retries = 0;
                    parameters.windowBytes = 3'000;
                    Play(parameters);
                }
            }
        }
    }

    void Play(const RoceParameters& parameters)
    {
        LinkParameters link = MakeLink(100 * GBPS, DELAY_PS);
        link.errorRate = 0.02;
        auto bench = MakeStar(4, link);
        bench->KeepAccounts(); // which checks the sum of each
        bench->Build(parameters);
        std::mt19937 random(7);
        for (uint32_t message = 0; message < MESSAGES; ++message)
        {
            const uint32_t from = random() % 4;
            const uint32_t to = (from + 1 + random() % 3) % 4;
            bench->Send(from, to, 1 + random() % 8'000, random() % 20'000'000);
        }
        Simulator::Run();
        std::vector<uint32_t> rows = RowsOf(*bench);
        NS_TEST_ASSERT_MSG_EQ(bench->GetAccounts().size(), rows.size(), "one for each");
        for (std::size_t place = 0; place < rows.size(); ++place)
        {
            NS_TEST_EXPECT_MSG_EQ(bench->GetAccounts()[place].message.row, rows[place], "in order");
        }
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        NS_TEST_EXPECT_MSG_EQ(rows.size(), MESSAGES, "every message once");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), MESSAGES, "and no more");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().CountBusyQueuePairs(), 0U, "all are done");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().CountFrames(), 0U, "no frame is missed");
    }
};

class QueuePairsTakePathsOfTheirOwn : public TestCase
{
  public:
    QueuePairsTakePathsOfTheirOwn()
        : TestCase("queue pairs of two NPUs are hashed each by itself, and the first as if it were "
                   "the only one")
    {
    }

  private:
    void DoRun() override
    {
        const std::set<uint32_t> one = Used(1);
        NS_TEST_EXPECT_MSG_EQ(one.size(), 1U, "one path");
        const std::set<uint32_t> many = Used(64);
        NS_TEST_EXPECT_MSG_EQ(many.size(), 4U, "all paths");
        std::set<uint32_t> all;
        for (uint32_t queuePairs : {1U, 2U, 4U, 8U})
        {
            const std::set<uint32_t> used = Used(queuePairs);
            NS_TEST_EXPECT_MSG_EQ(std::includes(used.begin(), used.end(), all.begin(), all.end()),
                                  true,
                                  "more queue pairs keep the paths of fewer");
            all = used;
        }
    }

    /// \return spines that a message in parts has passed. \param queuePairs so many parts
    std::set<uint32_t> Used(uint32_t queuePairs)
    {
        // Hosts 0 and 1, each behind a leaf (2, 3); spines 4 to 7 between the leaves.
        RoceBench bench(2, std::vector<SwitchParameters>(6));
        const LinkParameters link = MakeLink(100 * GBPS, DELAY_PS);
        for (uint32_t host : {0U, 1U})
        {
            bench.Link(host, 2 + host, link);
            for (uint32_t spine = 4; spine < 8; ++spine)
            {
                bench.Link(2 + host, spine, link);
            }
        }
        bench.Build(Several(queuePairs, true));
        bench.Send(0, 1, 64'000);
        Simulator::Run();
        std::set<uint32_t> used;
        for (uint32_t spine = 4; spine < 8; ++spine)
        {
            if (bench.GetPort(spine, 3)->GetCounters().sentFrames > 0)
            {
                used.insert(spine);
            }
        }
        return used;
    }
};

class GivingUpNamesTheQueuePair : public TestCase
{
  public:
    GivingUpNamesTheQueuePair()
        : TestCase("a queue pair that gives up says which of several it is")
    {
    }

  private:
    void DoRun() override
    {
        RoceParameters parameters = Several(3, false);
        parameters.timeoutPs = 20'000'000;
        parameters.retries = 2;
        auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
        bench->Build(parameters);
        bench->GetGate(1).SetRule(
            [](const FabricFrame& frame) { return int64_t{frame.payloadBytes == 77 ? -1 : 0}; });
        bench->Send(0, 1, 1'000);
        bench->Send(0, 1, 77);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench->GetFailures().size(), 1U, "it fails");
        NS_TEST_EXPECT_MSG_EQ(
            bench->GetFailures()[0].second.rfind("RoCE queue pair 1 from NPU 0 to NPU 1 gave up",
                                                 0),
            0U,
            bench->GetFailures()[0].second);
    }
};

class PacketsOutOfOrder : public TestCase
{
  public:
    PacketsOutOfOrder()
        : TestCase("a packet is out of order if one of its queue pair that was sent after it came "
                   "before it; one that is sent again has a new place")
    {
    }

  private:
    void DoRun() override
    {
        // The third of ten packets is held up until so many others have passed it.
        for (uint32_t passed : {0U, 1U, 3U})
        {
            NS_TEST_EXPECT_MSG_EQ(Count(RoceReliability::SELECTIVE_REPEAT, 2'000, passed, 64),
                                  (passed > 0 ? 1U : 0U),
                                  "one late packet, passed by " << passed);
        }
        // Three that are sent again without need come behind everything that was sent before: in
        // order. Only the first sending of the late one counts.
        NS_TEST_EXPECT_MSG_EQ(Count(RoceReliability::SELECTIVE_REPEAT, 2'000, 3, 0),
                              1U,
                              "sent again, too");
        NS_TEST_EXPECT_MSG_EQ(Count(RoceReliability::GO_BACK_N, 2'000, 3, 0),
                              1U,
                              "what go back N throws away is no matter");
        NS_TEST_EXPECT_MSG_EQ(Count(RoceReliability::GO_BACK_N, ~uint64_t{0}, 0, 0),
                              0U,
                              "nothing is late");
    }

    /// \return packets counted. \param late position of the packet that is held up \param passed by
    /// how many
    uint64_t Count(RoceReliability reliability,
                   uint64_t late,
                   uint32_t passed,
                   uint32_t reorderingPackets)
    {
        RoceParameters parameters;
        parameters.reliability = reliability;
        parameters.reorderingPackets = reorderingPackets;
        auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
        bench->Build(parameters);
        bench->GetGate(1).SetRule(
            [late, passed, done = false](const FabricFrame& frame) mutable -> int64_t {
                if (done || frame.kind != ROCE_DATA || frame.sequence != late)
                {
                    return 0;
                }
                done = true;
                return passed == 0 ? 0 : passed * PACKET_PS + PACKET_PS / 2;
            });
        bench->Send(0, 1, 10'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 1U, "it arrives");
        return bench->GetTransport().GetStatistics().outOfOrderPackets;
    }
};

class RoceSeveralTestSuite : public TestSuite
{
  public:
    RoceSeveralTestSuite()
        : TestSuite("astra-roce-several", Type::UNIT)
    {
        AddTestCase(new MessagesTakeTurns);
        AddTestCase(new LaterMessagesOvertake);
        AddTestCase(new PartsOfAMessage);
        AddTestCase(new ShortMessagesSpread);
        AddTestCase(new TimeOfPartsAlone);
        AddTestCase(new LossesStayInTheirQueuePair);
        AddTestCase(new AccountsOfParts);
        AddTestCase(new QueuePairsTakePathsOfTheirOwn);
        AddTestCase(new GivingUpNamesTheQueuePair);
        AddTestCase(new PacketsOutOfOrder);
    }
};

RoceSeveralTestSuite g_roceSeveralTestSuite; //!< registers itself
} // namespace roce_several_test
