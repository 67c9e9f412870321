// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Lanes of a schedule, and what a channel of a collective library costs: times by hand, over a
 * transport of fixed latency.
 */
#include "fixed-latency-npus.h"
#include "schedule-fixture.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace collective_channel_test
{
using namespace ns3;
using namespace ns3::test;
constexpr int64_t ENDPOINT_PS = 10'000;
constexpr int64_t START_PS = 7'000;
constexpr int64_t NEAR_PS = 300;
constexpr int64_t FAR_PS = 90'000;
constexpr int64_t US = 1'000'000;
constexpr uint64_t BYTES_PER_MS = 1'000'000;

/// \return costs of a channel. \param servers of its ranks
ChannelCosts
Costs(std::vector<uint32_t> servers)
{
    ChannelCosts costs;
    costs.startPs = START_PS;
    costs.nearPs = NEAR_PS;
    costs.farPs = FAR_PS;
    costs.nearCopyBytesPerMs = BYTES_PER_MS;
    costs.farCopyBytesPerMs = BYTES_PER_MS;
    costs.nearWirePerMille = 1'000;
    costs.farWirePerMille = 1'000;
    costs.servers = std::move(servers);
    return costs;
}

/// NPUs that play a channel; endpoint costs, which play no part, are large.
class ChannelNpus : public FixedLatencyNpus
{
  public:
    explicit ChannelNpus(const ChannelCosts& costs)
        : FixedLatencyNpus(Numbers(costs.servers.size()), {50 * US, 1})
    {
        GetGroup()->channel = std::make_unique<ChannelCosts>(costs);
    }

  private:
    static std::vector<uint32_t> Numbers(std::size_t count)
    {
        std::vector<uint32_t> numbers;
        for (uint32_t rank = 0; rank < count; ++rank)
        {
            numbers.push_back(20 + 3 * rank); // ranks are not NPU numbers
        }
        return numbers;
    }
};

/// \return the NPU of a rank
uint32_t
Npu(uint32_t rank)
{
    return 20 + 3 * rank;
}

/// \return when a rank has played rows that wait for nothing. \param servers of the ranks
int64_t
DonePs(const std::vector<uint32_t>& servers,
       uint32_t rank,
       uint32_t blocks,
       const std::vector<Row>& rows,
       uint64_t bytes,
       uint32_t lanes = 1)
{
    ChannelNpus network(Costs(servers));
    const auto ranks = static_cast<uint32_t>(servers.size());
    network.LaunchAll(MakeSchedule(ranks, blocks, 1, rows, {}, lanes), bytes);
    Simulator::Run();
    return network.GetDonePs(Npu(rank));
}

class LanesGoOnByThemselves : public TestCase
{
  public:
    LanesGoOnByThemselves()
        : TestCase("lanes don't wait for each other; inside one, steps are handled in order")
    {
    }

  private:
    void DoRun() override
    {
        CheckOrder();
        CheckLostInOneLane();
    }

    /// Steps 0 and 2 are in lane 0, steps 1 and 3 in lane 1; of both the later one comes first.
    void CheckOrder()
    {
        FixedLatencyNpus network({0, 1}, {ENDPOINT_PS, 500'000});
        network.SetLatency([](const CollectiveMessage& message) {
            return message.row == 0   ? 5 * LATENCY_PS
                   : message.row == 1 ? 2 * LATENCY_PS
                                      : LATENCY_PS;
        });
        const std::vector<Row> rows{{0, 1, 0, 0, 1, 0, -1, 0},
                                    {0, 1, 1, 0, 1, 0, -1, 0},
                                    {0, 1, 2, 0, 1, 0, -1, 0},
                                    {0, 1, 3, 0, 1, 0, -1, 0},
                                    {1, 0, 0, 0, 1, 0, 0, 1},
                                    {1, 0, 1, 0, 1, 0, 1, 1},
                                    {1, 0, 2, 0, 1, 0, 2, 1},
                                    {1, 0, 3, 0, 1, 0, 3, 1}};
        network.LaunchAll(MakeSchedule(2, 1, 1, rows, {}, 2), 100);
        Simulator::Run();
        const std::vector<std::pair<uint32_t, int64_t>> expected{
            {5, 2 * LATENCY_PS + 2 * ENDPOINT_PS},
            {7, 2 * LATENCY_PS + 3 * ENDPOINT_PS},
            {4, 5 * LATENCY_PS + 2 * ENDPOINT_PS},
            {6, 5 * LATENCY_PS + 3 * ENDPOINT_PS}};
        NS_TEST_ASSERT_MSG_EQ(network.GetSent().size(), 8U, "messages");
        for (std::size_t place = 0; place < expected.size(); ++place)
        {
            const CollectiveMessage& reply = network.GetSent()[4 + place];
            NS_TEST_EXPECT_MSG_EQ(reply.row, expected[place].first, "reply " << place);
            NS_TEST_EXPECT_MSG_EQ(reply.startPs, expected[place].second, "reply " << place);
        }
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(1), 5 * LATENCY_PS + 3 * ENDPOINT_PS, "all sent");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(0), 6 * LATENCY_PS + 4 * ENDPOINT_PS, "all here");
    }

    /// What is lost in lane 0 holds up that lane alone, and is named.
    void CheckLostInOneLane()
    {
        FixedLatencyNpus network({0, 1}, {ENDPOINT_PS, 500'000});
        network.SetLatency([](const CollectiveMessage& message) {
            return message.row == 0 ? int64_t{-1} : LATENCY_PS;
        });
        const std::vector<Row> rows{{0, 1, 0, 0, 1, 0, -1, 0},
                                    {0, 1, 2, 0, 1, 0, -1, 0},
                                    {0, 1, 1, 0, 1, 0, -1, 0},
                                    {1, 0, 1, 0, 1, 0, 1, 1},
                                    {1, 0, 0, 0, 1, 0, 2, 1}};
        network.LaunchAll(MakeSchedule(2, 1, 1, rows, {}, 2), 100);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetSent().size(), 4U, "lane 1 goes on");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(1), -1, "not done");
        const auto pending = network.Get(1)->GetPending(INSTANCE);
        NS_TEST_ASSERT_MSG_EQ(pending.size(), 2U, "what is lost, and what waits for it");
        NS_TEST_EXPECT_MSG_EQ(pending[0].sender, 0U, "lost");
        NS_TEST_EXPECT_MSG_EQ(pending[0].step, 0U, "lost");
        NS_TEST_EXPECT_MSG_EQ(pending[1].sender, 1U, "waits");
        NS_TEST_EXPECT_MSG_EQ(pending[1].sent, false, "waits");
    }
};

class CopyingBeginsWhenSentOrArrived : public TestCase
{
  public:
    CopyingBeginsWhenSentOrArrived()
        : TestCase("copying begins with the sending inside a server and with the arrival between "
                   "servers, and the latency comes after")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<Row> one{{0, 1, 0, 0, 1, 1, -1, 0}};
        // 3,000 bytes are copied in 3 us; the message is under way for 1.
        NS_TEST_EXPECT_MSG_EQ(DonePs({4, 4}, 1, 1, one, 3'000),
                              START_PS + 3 * US + NEAR_PS,
                              "near, long");
        NS_TEST_EXPECT_MSG_EQ(DonePs({4, 5}, 1, 1, one, 3'000),
                              START_PS + LATENCY_PS + 3 * US + FAR_PS,
                              "far, long");
        NS_TEST_EXPECT_MSG_EQ(DonePs({4, 4}, 1, 1, one, 500),
                              START_PS + LATENCY_PS + NEAR_PS,
                              "near, copied before its end is there");
        NS_TEST_EXPECT_MSG_EQ(DonePs({4, 5}, 1, 1, one, 500),
                              START_PS + LATENCY_PS + US / 2 + FAR_PS,
                              "far, short");
        NS_TEST_EXPECT_MSG_EQ(DonePs({4, 5}, 0, 1, one, 500), START_PS, "the sender");
        NS_TEST_EXPECT_MSG_EQ(DonePs({4, 5}, 1, 1, one, 1),
                              START_PS + LATENCY_PS + US / 1'000 + FAR_PS,
                              "one byte");
        ChannelCosts atOnce = Costs({4, 5});
        atOnce.nearCopyBytesPerMs = 0;
        atOnce.farCopyBytesPerMs = 0;
        ChannelNpus network(atOnce);
        network.LaunchAll(MakeSchedule(2, 1, 1, one), 3'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(Npu(1)),
                              START_PS + LATENCY_PS + FAR_PS,
                              "copied in no time");
    }
};

class KernelsCopyOneAfterTheOther : public TestCase
{
  public:
    KernelsCopyOneAfterTheOther()
        : TestCase("a lane's kernel copies one step after the other, and those of one step side by "
                   "side; latencies overlap")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<Row> three{{0, 1, 0, 0, 1, 0, -1, 0},
                                     {0, 1, 1, 1, 1, 0, -1, 0},
                                     {0, 1, 2, 2, 1, 0, -1, 0}};
        // Blocks of 2,000 bytes: 2 us each. All are sent at the start.
        NS_TEST_EXPECT_MSG_EQ(DonePs({0, 1}, 1, 3, three, 6'000),
                              START_PS + LATENCY_PS + 6 * US + FAR_PS,
                              "far, one lane");
        NS_TEST_EXPECT_MSG_EQ(DonePs({0, 0}, 1, 3, three, 6'000),
                              START_PS + 6 * US + NEAR_PS,
                              "near, one lane");
        // Steps 0 and 2 share a lane.
        NS_TEST_EXPECT_MSG_EQ(DonePs({0, 1}, 1, 3, three, 6'000, 2),
                              START_PS + LATENCY_PS + 4 * US + FAR_PS,
                              "far, two lanes");
        NS_TEST_EXPECT_MSG_EQ(DonePs({0, 1}, 1, 3, three, 6'000, 3),
                              START_PS + LATENCY_PS + 2 * US + FAR_PS,
                              "far, three lanes");
        // Ranks 0 and 1 send 1,000 and 3,000 bytes in step 0, rank 0 then 1,000 in step 1.
        const std::vector<Row> aside{{0, 2, 0, 0, 1, 1, -1, 0},
                                     {1, 2, 0, 1, 3, 1, -1, 0},
                                     {0, 2, 1, 0, 1, 1, -1, 0}};
        NS_TEST_EXPECT_MSG_EQ(DonePs({0, 1, 2}, 2, 4, aside, 4'000),
                              START_PS + LATENCY_PS + 4 * US + FAR_PS,
                              "step 0 takes as long as the longer one");
        const std::vector<Row> longerFirst{{0, 2, 0, 0, 3, 1, -1, 0},
                                           {1, 2, 0, 3, 1, 1, -1, 0},
                                           {0, 2, 1, 0, 1, 1, -1, 0}};
        NS_TEST_EXPECT_MSG_EQ(DonePs({0, 1, 2}, 2, 4, longerFirst, 4'000),
                              START_PS + LATENCY_PS + 4 * US + FAR_PS,
                              "also if the shorter one comes behind it");
        NS_TEST_EXPECT_MSG_EQ(DonePs({0, 2, 2}, 2, 4, aside, 4'000),
                              START_PS + 3 * US + 1 * US + FAR_PS,
                              "the near one is copied from its sending on");
    }
};

class SignalsCostNothing : public TestCase
{
  public:
    SignalsCostNothing()
        : TestCase("a signal is a byte on the wire, is handled when it arrives and never waits for "
                   "a kernel's copying")
    {
    }

  private:
    void DoRun() override
    {
        CheckSignalBeforeData();
        // A signal of the next step comes while data are copied: handled as soon as they are.
        NS_TEST_EXPECT_MSG_EQ(
            DonePs({0, 1}, 1, 1, {{0, 1, 0, 0, 1, 0, -1, 0}, {0, 1, 1, 0, 0, 0, -1, 0}}, 2'000),
            START_PS + LATENCY_PS + 2 * US + FAR_PS,
            "a signal behind data");
    }

    /// A signal lets rank 1 send 2,000 bytes.
    void CheckSignalBeforeData()
    {
        ChannelCosts costs = Costs({0, 1});
        costs.farWirePerMille = 3'000;
        ChannelNpus network(costs);
        network.LaunchAll(
            MakeSchedule(2, 1, 1, {{0, 1, 0, 0, 0, 0, -1, 0}, {1, 0, 0, 0, 1, 0, 0, 1}}),
            2'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(Npu(1)), START_PS + LATENCY_PS, "handled at once");
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(Npu(0)),
                              START_PS + 2 * LATENCY_PS + 2 * US + FAR_PS,
                              "data");
        NS_TEST_EXPECT_MSG_EQ(network.Get(Npu(0))->GetSentBytes(), 1U, "a byte of a signal");
        NS_TEST_EXPECT_MSG_EQ(network.Get(Npu(1))->GetSentBytes(), 6'000U, "bytes on the wire");
    }
};

class BytesOnTheWire : public TestCase
{
  public:
    BytesOnTheWire()
        : TestCase("messages have so many bytes on the wire for 1,000 of data, rounded up, by "
                   "whether they leave the server; copying counts data")
    {
    }

  private:
    void DoRun() override
    {
        ChannelCosts costs = Costs({0, 0, 1});
        costs.nearWirePerMille = 1'067;
        costs.farWirePerMille = 2'000;
        costs.channel = 5;
        NS_TEST_EXPECT_MSG_EQ(costs.WireBytes(1'000, true), 1'067U, "near");
        NS_TEST_EXPECT_MSG_EQ(costs.WireBytes(1, true), 2U, "rounded up");
        NS_TEST_EXPECT_MSG_EQ(costs.WireBytes(1'000, false), 2'000U, "far");
        NS_TEST_EXPECT_MSG_EQ(costs.WireBytes(20'000'000'000'000'000, false),
                              40'000'000'000'000'000U,
                              "more than 64 bits on the way");
        ChannelCosts fewer = costs;
        fewer.nearWirePerMille = 1;
        NS_TEST_EXPECT_MSG_EQ(fewer.WireBytes(1, true), 1U, "never nothing");
        NS_TEST_EXPECT_MSG_EQ(fewer.WireBytes(5'001, true), 6U, "a thousandth");
        ChannelNpus network(costs);
        network.LaunchAll(
            MakeSchedule(3, 1, 1, {{0, 1, 0, 0, 1, 0, -1, 0}, {1, 2, 0, 0, 1, 0, 0, 1}}),
            1'000);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(network.GetSent().size(), 2U, "messages");
        NS_TEST_EXPECT_MSG_EQ(network.GetSent()[0].bytes, 1'067U, "near");
        NS_TEST_EXPECT_MSG_EQ(network.GetSent()[1].bytes, 2'000U, "far");
        NS_TEST_EXPECT_MSG_EQ(network.GetSent()[0].channel, 5U, "its channel");
        NS_TEST_EXPECT_MSG_EQ(network.Get(Npu(2))->GetReceivedBytes(), 2'000U, "received");
        // 1,000 bytes of data each: near, copied in the microsecond of their way; far, behind it.
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(Npu(2)),
                              START_PS + US + NEAR_PS + LATENCY_PS + US + FAR_PS,
                              "what is copied is the data");
    }
};

class AwaitedBytesAreThoseOnTheWire : public TestCase
{
  public:
    AwaitedBytesAreThoseOnTheWire()
        : TestCase("no more bytes are awaited than come, even if fewer are on the wire than are "
                   "data")
    {
    }

  private:
    void DoRun() override
    {
        // sender's server, bytes on the wire of 1,000 inside and outside, those awaited at least
        Check(0, 400, 3'000, 400);
        Check(1, 3'000, 700, 700);
        Check(1, 3'000, 3'000, 1'000);
    }

    void Check(uint32_t server, uint32_t near, uint32_t far, uint64_t least)
    {
        ChannelCosts costs = Costs({0, server});
        costs.nearWirePerMille = near;
        costs.farWirePerMille = far;
        ChannelNpus network(costs);
        const auto schedule = MakeSchedule(2, 1, 1, {{1, 0, 0, 0, 1, 0, -1, 0}});
        network.Get(Npu(0))->Launch(INSTANCE, schedule, network.GetGroup(), 1'000);
        const auto awaited = network.Get(Npu(0))->CountAwaited(0);
        NS_TEST_EXPECT_MSG_EQ(awaited.messages, 1U, "messages");
        NS_TEST_EXPECT_MSG_EQ(awaited.bytes, least, "bytes");
    }
};

class AwaitedMessagesAreThoseOfAllLanes : public TestCase
{
  public:
    AwaitedMessagesAreThoseOfAllLanes()
        : TestCase("messages of every lane are awaited, until they are here")
    {
    }

  private:
    void DoRun() override
    {
        FixedLatencyNpus network({0, 1}, {ENDPOINT_PS, 500'000});
        network.SetLatency(
            [](const CollectiveMessage& message) { return (1 + message.row) * LATENCY_PS; });
        network.LaunchAll(
            MakeSchedule(
                2,
                1,
                1,
                {{0, 1, 0, 0, 1, 0, -1, 0}, {0, 1, 1, 0, 1, 0, -1, 0}, {0, 1, 3, 0, 1, 0, -1, 0}},
                {},
                2),
            100);
        for (uint64_t here = 0; here <= 2; ++here)
        {
            const auto when = static_cast<int64_t>(here) * LATENCY_PS + LATENCY_PS / 2;
            Simulator::Schedule(TimeStep(when), [this, &network, here] {
                const auto awaited = network.Get(1)->CountAwaited(100 * here);
                NS_TEST_EXPECT_MSG_EQ(awaited.messages, 3 - here, here << " are here");
                NS_TEST_EXPECT_MSG_EQ(awaited.bytes, 100 * (3 - here), here << " are here");
            });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetDonePs(1), 3 * LATENCY_PS + 2 * ENDPOINT_PS, "done");
    }
};

class CollectiveChannelTestSuite : public TestSuite
{
  public:
    CollectiveChannelTestSuite()
        : TestSuite("astra-collective-channel", Type::UNIT)
    {
        AddTestCase(new LanesGoOnByThemselves);
        AddTestCase(new CopyingBeginsWhenSentOrArrived);
        AddTestCase(new KernelsCopyOneAfterTheOther);
        AddTestCase(new SignalsCostNothing);
        AddTestCase(new BytesOnTheWire);
        AddTestCase(new AwaitedBytesAreThoseOnTheWire);
        AddTestCase(new AwaitedMessagesAreThoseOfAllLanes);
    }
};

CollectiveChannelTestSuite g_collectiveChannelTestSuite; //!< registers itself
} // namespace collective_channel_test
