// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoCE queue pairs on a path of one switch: how messages become packets and acknowledgements.
 */
#include "roce-short-path.h"

#include "ns3/test.h"

#include <array>
#include <cstdint>
#include <vector>

namespace roce_queue_pair_test
{
using namespace ns3;
using namespace ns3::test;

class CutsMessagesIntoPackets : public TestCase
{
  public:
    CutsMessagesIntoPackets()
        : TestCase("a packet has up to the payload of one message, 62 bytes around it, at least 64")
    {
    }

  private:
    void DoRun() override
    {
        auto bench = MakePath({});
        uint64_t position = 0;
        std::vector<std::array<uint64_t, 3>> expected; // position, payload, bytes on the line
        for (uint64_t bytes : {1, 2, 3, 999, 1'000, 1'001, 2'500, 3'000})
        {
            bench->Send(0, 1, bytes);
            for (uint64_t left = bytes; left > 0;)
            {
                const uint64_t payload = left < 1'000 ? left : 1'000;
                expected.push_back({position, payload, (payload < 2 ? 64 : payload + 62) + 20});
                position += payload;
                left -= payload;
            }
        }
        Simulator::Run();
        const auto seen = bench->GetGate(1).GetSeen(ROCE_DATA);
        NS_TEST_ASSERT_MSG_EQ(seen.size(), expected.size(), "packets");
        for (std::size_t packet = 0; packet < seen.size(); ++packet)
        {
            const auto& [sequence, payload, wireBytes] = expected[packet];
            NS_TEST_EXPECT_MSG_EQ(seen[packet].sequence, sequence, "position of " << packet);
            NS_TEST_EXPECT_MSG_EQ(seen[packet].payloadBytes, payload, "payload of " << packet);
            NS_TEST_EXPECT_MSG_EQ(seen[packet].wireBytes, wireBytes, "size of " << packet);
        }
        NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 8U, "messages");
        for (uint32_t row = 0; row < 8; ++row)
        {
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals()[row].message.row, row, "in order");
        }
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().dataPackets,
                              expected.size(),
                              "counted");
    }
};

class AcknowledgesEveryFewPackets : public TestCase
{
  public:
    AcknowledgesEveryFewPackets()
        : TestCase("every n-th packet and the last of each message are acknowledged")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t every : {1U, 2U, 3U, 4U, 100U})
        {
            RoceParameters parameters;
            parameters.ackEvery = every;
            auto bench = MakePath(parameters);
            std::vector<uint64_t> expected; // positions acknowledged
            uint64_t begin = 0;
            for (uint64_t packets : {10U, 1U, 4U, 7U})
            {
                bench->Send(0, 1, packets * 1'000);
                for (uint64_t packet = 1; packet <= packets; ++packet)
                {
                    if (packet % every == 0 || packet == packets)
                    {
                        expected.push_back(begin + packet * 1'000);
                    }
                }
                begin += packets * 1'000;
            }
            Simulator::Run();
            const auto acks = bench->GetGate(0).GetSeen(ROCE_ACK);
            NS_TEST_ASSERT_MSG_EQ(acks.size(), expected.size(), "every " << every);
            for (std::size_t ack = 0; ack < acks.size(); ++ack)
            {
                NS_TEST_EXPECT_MSG_EQ(acks[ack].sequence, expected[ack], "every " << every);
                NS_TEST_EXPECT_MSG_EQ(acks[ack].wireBytes, 86U, "its size");
            }
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 4U, "messages");
        }
    }
};

class RoceQueuePairTestSuite : public TestSuite
{
  public:
    RoceQueuePairTestSuite()
        : TestSuite("astra-roce-queue-pair", Type::UNIT)
    {
        AddTestCase(new CutsMessagesIntoPackets);
        AddTestCase(new AcknowledgesEveryFewPackets);
    }
};

RoceQueuePairTestSuite g_roceQueuePairTestSuite; //!< registers itself
} // namespace roce_queue_pair_test
