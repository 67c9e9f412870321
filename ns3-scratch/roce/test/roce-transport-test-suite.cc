// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceMessageTransport: queue pairs by pair or by message, when a message is complete, what it
 * takes alone, and the base round trip that the transport names.
 */
#include "roce-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace roce_transport_test
{
using namespace ns3;
using namespace ns3::test;

/// \return rates of the links, one more than switches, of various shapes
std::vector<std::vector<uint64_t>>
Paths()
{
    return {{100, 100},
            {100, 100, 100},
            {100, 100, 100, 100},
            {400, 100},
            {100, 400},
            {100, 25, 400},
            {25, 400, 100},
            {400, 200, 100, 50},
            {50, 100, 200, 400},
            {200, 50, 400, 50}};
}

/// \return links of those rates in Gb/s with delays of their own
std::vector<LinkParameters>
LinksOf(const std::vector<uint64_t>& rates)
{
    std::vector<LinkParameters> links;
    for (uint64_t rate : rates)
    {
        links.push_back(MakeLink(rate * GBPS, 100'000 + 37'000 * static_cast<int64_t>(rate)));
    }
    return links;
}

class QueuePairsByPairOrMessage : public TestCase
{
  public:
    QueuePairsByPairOrMessage()
        : TestCase("one queue pair for each ordered pair of NPUs, or one for each message")
    {
    }

  private:
    void DoRun() override
    {
        for (bool perMessage : {false, true})
        {
            RoceParameters parameters;
            parameters.perMessage = perMessage;
            auto bench = MakeStar(3, MakeLink(100 * GBPS, 500'000));
            bench->Build(parameters);
            for (int round = 0; round < 5; ++round)
            {
                for (const auto& [from, to] :
                     std::vector<std::pair<uint32_t, uint32_t>>{{0, 1}, {1, 0}, {0, 2}})
                {
                    bench->Send(from, to, 3'000, round * 1'000'000);
                }
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().queuePairs,
                                  (perMessage ? 15U : 3U),
                                  "queue pairs");
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 15U, "messages");
            // Queue pairs of several messages of one pair begin at position 0 each.
            const auto positions = bench->GetGate(2).GetPositions();
            NS_TEST_EXPECT_MSG_EQ(positions.size(), 15U, "packets");
            for (std::size_t packet = 0; packet < positions.size(); ++packet)
            {
                NS_TEST_EXPECT_MSG_EQ(positions[packet],
                                      (perMessage ? packet % 3 : packet) * 1'000,
                                      "position");
            }
        }
    }
};

class MessagesShareByQueuePair : public TestCase
{
  public:
    MessagesShareByQueuePair()
        : TestCase("messages of a lasting queue pair follow each other, those with their own share")
    {
    }

  private:
    void DoRun() override
    {
        for (bool perMessage : {false, true})
        {
            RoceParameters parameters;
            parameters.perMessage = perMessage;
            auto bench = MakeStar(2, MakeLink(100 * GBPS, 0));
            bench->Build(parameters);
            bench->Send(0, 1, 100'000);
            bench->Send(0, 1, 100'000);
            Simulator::Run();
            constexpr int64_t PACKET_PS = 1'082 * 80;
            const auto& arrivals = bench->GetArrivals();
            NS_TEST_ASSERT_MSG_EQ(arrivals.size(), 2U, "messages");
            // The last packet of the first message is number 99, or 198 in turns.
            NS_TEST_EXPECT_MSG_EQ(arrivals[0].timePs,
                                  ((perMessage ? 198 : 99) + 2) * PACKET_PS,
                                  "first message");
            NS_TEST_EXPECT_MSG_EQ(arrivals[1].timePs, (199 + 2) * PACKET_PS, "second message");
        }
    }
};

class TimeAlone : public TestCase
{
  public:
    TimeAlone()
        : TestCase("a message alone on the network takes what its frames take one behind the other")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto& rates : Paths())
        {
            for (bool acknowledged : {false, true})
            {
                for (uint32_t payloadBytes : {1'000U, 4'096U})
                {
                    for (uint64_t bytes :
                         {1, 2, 63, 999, 1'000, 1'001, 1'999, 2'001, 4'097, 65'536, 1'000'000})
                    {
                        RoceParameters parameters;
                        parameters.acknowledged = acknowledged;
                        parameters.payloadBytes = payloadBytes;
                        Play(rates, parameters, bytes);
                    }
                }
            }
        }
    }

    void Play(const std::vector<uint64_t>& rates, const RoceParameters& parameters, uint64_t bytes)
    {
        std::vector<LinkParameters> links = LinksOf(rates);
        auto bench = MakeLine(links);
        bench->Build(parameters);
        constexpr int64_t START_PS = 7'000;
        bench->Send(0, 1, bytes, START_PS);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 1U, "it arrives");
        const Arrival& arrival = bench->GetArrivals()[0];
        std::vector<uint64_t> frames;
        for (uint64_t begin = 0; begin < bytes; begin += parameters.payloadBytes)
        {
            frames.push_back(
                PacketWireBytes(std::min<uint64_t>(bytes - begin, parameters.payloadBytes)));
        }
        int64_t alonePs = AlonePs(links, frames);
        if (parameters.acknowledged)
        {
            std::reverse(links.begin(), links.end());
            alonePs += AlonePs(links, {86});
        }
        // A short last packet follows so closely that its acknowledgement has to wait for the one
        // before it at the slowest line.
        const uint64_t slowest = *std::min_element(rates.begin(), rates.end());
        const auto ackPs = static_cast<int64_t>(86 * 8'000 / slowest);
        const int64_t laterPs = arrival.timePs - START_PS - alonePs;
        NS_TEST_EXPECT_MSG_EQ((laterPs >= 0 && laterPs <= (parameters.acknowledged ? ackPs : 0)),
                              true,
                              laterPs << " ps later: " << bytes << " bytes, " << rates.size()
                                      << " links, the first of " << rates[0]
                                      << " Gb/s, the second of " << rates[1]
                                      << (parameters.acknowledged ? ", acknowledged" : ""));
    }
};

class BaseRoundTripIsMeasured : public TestCase
{
  public:
    BaseRoundTripIsMeasured()
        : TestCase("the base round trip is that of a full packet and its acknowledgement alone")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto& rates : Paths())
        {
            RoceParameters parameters;
            parameters.acknowledged = true;
            parameters.telemetryBytes = 42;
            parameters.ackTelemetryBytes = 42;
            auto bench = MakeLine(LinksOf(rates));
            bench->Build(parameters);
            bench->Send(0, 1, parameters.payloadBytes);
            Simulator::Run();
            auto& transport = bench->GetTransport();
            const RocePathNumbers numbers = transport.NumbersOf(transport.FindPath(0, 1));
            NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 1U, "it arrives");
            NS_TEST_EXPECT_MSG_EQ(numbers.baseRoundTripPs, bench->GetArrivals()[0].timePs, "time");
            NS_TEST_EXPECT_MSG_EQ(numbers.switches, rates.size() - 1, "switches");
            const uint64_t slowest = *std::min_element(rates.begin(), rates.end());
            const auto bits = static_cast<double>(numbers.baseRoundTripPs) * 1e-12 *
                              static_cast<double>(slowest * GBPS);
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(numbers.bandwidthDelayBytes),
                                      bits / 8,
                                      1.0, // rounded to bytes
                                      "bandwidth-delay product");
            NS_TEST_EXPECT_MSG_EQ(transport.GetLongestRoundTripPs(),
                                  numbers.baseRoundTripPs,
                                  "the same both ways");
        }
    }
};

class CompleteWhenAcknowledged : public TestCase
{
  public:
    CompleteWhenAcknowledged()
        : TestCase("a message is complete when it has arrived, or when its sender knows")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t PACKET_PS = 1'082 * 80;
        constexpr int64_t ACK_PS = 86 * 80;
        constexpr int64_t DELAY_PS = 500'000;
        for (bool acknowledged : {false, true})
        {
            RoceParameters parameters;
            parameters.acknowledged = acknowledged;
            auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
            bench->Build(parameters);
            bench->Send(0, 1, 10'000);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 1U, "once");
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals()[0].timePs,
                                  11 * PACKET_PS + 2 * DELAY_PS +
                                      (acknowledged ? 2 * ACK_PS + 2 * DELAY_PS : 0),
                                  "time");
        }
    }
};

class RoceTransportTestSuite : public TestSuite
{
  public:
    RoceTransportTestSuite()
        : TestSuite("astra-roce-transport", Type::UNIT)
    {
        AddTestCase(new QueuePairsByPairOrMessage);
        AddTestCase(new MessagesShareByQueuePair);
        AddTestCase(new TimeAlone);
        AddTestCase(new BaseRoundTripIsMeasured);
        AddTestCase(new CompleteWhenAcknowledged);
    }
};

RoceTransportTestSuite g_roceTransportTestSuite; //!< registers itself
} // namespace roce_transport_test
