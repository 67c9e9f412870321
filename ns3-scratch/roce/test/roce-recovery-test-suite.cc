// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoCE queue pairs on a path of one switch: exactly what is sent again, and when, if a packet is
 * lost or late.
 */
#include "roce-short-path.h"

#include "ns3/test.h"

#include <cstdint>
#include <string>
#include <vector>

namespace roce_recovery_test
{
using namespace ns3;
using namespace ns3::test;

/// \return positions of packets `first` to before `end`
std::vector<uint64_t>
Positions(uint64_t first, uint64_t end)
{
    std::vector<uint64_t> positions;
    for (uint64_t packet = first; packet < end; ++packet)
    {
        positions.push_back(packet * 1'000);
    }
    return positions;
}

/// \return one list behind the other
std::vector<uint64_t>
Join(std::vector<uint64_t> first, const std::vector<uint64_t>& second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// Drop or hold up the data packet at a position, the first time it comes.
void
Disturb(Gate& gate, uint64_t position, int64_t heldPs)
{
    gate.SetRule([position, heldPs, done = false](const FabricFrame& frame) mutable {
        if (done || frame.kind != ROCE_DATA || frame.sequence != position)
        {
            return int64_t{0};
        }
        done = true;
        return heldPs;
    });
}

constexpr int64_t DROPPED = -1;

/// \return packets that have begun when the answer to what packet `packet` brings is back
uint64_t
BegunAtAnswer(uint64_t packet)
{
    const int64_t timePs = static_cast<int64_t>(packet) * PACKET_PS + ROUND_TRIP_PS;
    return timePs / PACKET_PS + 1;
}

/// What is sent when one packet does not come in time.
struct Recovery
{
    std::string name;               //!< what it is about
    RoceParameters parameters;      //!< the queue pair's
    uint64_t disturbed;             //!< the packet
    int64_t heldPs;                 //!< how long it is held up, or DROPPED
    std::vector<uint64_t> expected; //!< positions of all data packets sent, in order
    uint64_t nacks;                 //!< negative acknowledgements
};

constexpr uint64_t PACKETS = 60;

/// \return parameters
RoceParameters
With(RoceReliability reliability, uint32_t reorderingPackets = 0, uint32_t chunkBytes = 0)
{
    RoceParameters parameters;
    parameters.reliability = reliability;
    parameters.reorderingPackets = reorderingPackets;
    parameters.chunkBytes = chunkBytes;
    return parameters;
}

/// \return what must be sent again in each case
std::vector<Recovery>
Recoveries()
{
    const auto selective = RoceReliability::SELECTIVE_REPEAT;
    std::vector<Recovery> cases;
    // The packet behind the lost one brings a single negative acknowledgement; what has begun by
    // then is thrown away.
    cases.push_back({"go back N",
                     With(RoceReliability::GO_BACK_N),
                     3,
                     DROPPED,
                     Join(Positions(0, BegunAtAnswer(4)), Positions(3, PACKETS)),
                     1});
    cases.push_back({"go back 0",
                     With(RoceReliability::GO_BACK_0),
                     7,
                     DROPPED,
                     Join(Positions(0, BegunAtAnswer(8)), Positions(0, PACKETS)),
                     1});
    cases.push_back({"go back 0 by chunks of 5 packets",
                     With(RoceReliability::GO_BACK_0, 0, 5'000),
                     7,
                     DROPPED,
                     Join(Positions(0, BegunAtAnswer(8)), Positions(5, PACKETS)),
                     1});
    cases.push_back({"go back 0 by chunks that are no whole packets",
                     With(RoceReliability::GO_BACK_0, 0, 3'500),
                     8,
                     DROPPED,
                     Join(Positions(0, BegunAtAnswer(9)), Positions(7, PACKETS)),
                     1});
    for (uint32_t tolerated : {0U, 1U, 3U, 8U})
    {
        const uint64_t noticed = BegunAtAnswer(4 + tolerated);
        // Everything behind the hole is reported until it is filled a round trip later.
        cases.push_back({"selective repeat tolerates " + std::to_string(tolerated),
                         With(selective, tolerated),
                         3,
                         DROPPED,
                         Join(Join(Positions(0, noticed), {3'000}), Positions(noticed, PACKETS)),
                         noticed - 4});
        // A late packet is overtaken by as many as fit into its time.
        cases.push_back({"a late packet, tolerated by " + std::to_string(tolerated),
                         With(selective, tolerated),
                         3,
                         tolerated * PACKET_PS + PACKET_PS / 2,
                         Positions(0, PACKETS),
                         tolerated});
        cases.push_back({"a packet one too late for " + std::to_string(tolerated),
                         With(selective, tolerated),
                         3,
                         (tolerated + 1) * PACKET_PS + PACKET_PS * 9 / 10,
                         Join(Join(Positions(0, noticed), {3'000}), Positions(noticed, PACKETS)),
                         tolerated + 1});
    }
    return cases;
}

class SendsAgainExactlyWhatItMust : public TestCase
{
  public:
    SendsAgainExactlyWhatItMust()
        : TestCase("what one lost or late packet has sent again, packet by packet")
    {
    }

  private:
    void DoRun() override
    {
        for (const Recovery& recovery : Recoveries())
        {
            auto bench = MakePath(recovery.parameters);
            Disturb(bench->GetGate(1), recovery.disturbed * 1'000, recovery.heldPs);
            bench->Send(0, 1, PACKETS * 1'000);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ((bench->GetGate(1).GetPositions() == recovery.expected),
                                  true,
                                  recovery.name);
            const auto& statistics = bench->GetTransport().GetStatistics();
            NS_TEST_EXPECT_MSG_EQ(statistics.retransmittedPackets,
                                  recovery.expected.size() - PACKETS,
                                  recovery.name);
            NS_TEST_EXPECT_MSG_EQ(statistics.nacks, recovery.nacks, recovery.name);
            NS_TEST_EXPECT_MSG_EQ(statistics.timeouts, 0U, recovery.name);
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 1U, recovery.name);
            NS_TEST_EXPECT_MSG_EQ(bench->GetDeliveredBytes(), PACKETS * 1'000, recovery.name);
        }
    }
};

class GoBackZeroKeepsEarlierMessages : public TestCase
{
  public:
    GoBackZeroKeepsEarlierMessages()
        : TestCase("go back 0 starts over with the message that lost a packet, not with those "
                   "before it")
    {
    }

  private:
    void DoRun() override
    {
        auto bench = MakePath(With(RoceReliability::GO_BACK_0));
        Disturb(bench->GetGate(1), 14'000, DROPPED);
        for (int message = 0; message < 6; ++message)
        {
            bench->Send(0, 1, 10'000);
        }
        Simulator::Run();
        const auto expected = Join(Positions(0, BegunAtAnswer(15)), Positions(10, 60));
        NS_TEST_EXPECT_MSG_EQ((bench->GetGate(1).GetPositions() == expected), true, "packets");
        NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 6U, "each once");
        NS_TEST_EXPECT_MSG_EQ(bench->GetDeliveredBytes(), 60'000, "what was thrown away, too");
    }
};

class GoBackZeroIgnoresStaleReports : public TestCase
{
  public:
    GoBackZeroIgnoresStaleReports()
        : TestCase("go back 0 ignores the report of a gap in a message that is acknowledged by now")
    {
    }

  private:
    static constexpr int64_t TIMEOUT_PS = 100'000'000;

    void DoRun() override
    {
        RoceParameters parameters = With(RoceReliability::GO_BACK_0);
        parameters.timeoutPs = TIMEOUT_PS;
        auto bench = MakePath(parameters);
        Disturb(bench->GetGate(1), 3'000, DROPPED);
        // The report comes when a timeout has long sent all of it again.
        bench->GetGate(0).SetRule([](const FabricFrame& frame) {
            return frame.kind == ROCE_NACK ? TIMEOUT_PS * 3 / 2 : int64_t{0};
        });
        bench->Send(0, 1, 10'000);
        Simulator::Run();
        const auto expected = Join(Positions(0, 10), Positions(0, 10));
        NS_TEST_EXPECT_MSG_EQ((bench->GetGate(1).GetPositions() == expected), true, "packets");
        NS_TEST_EXPECT_MSG_EQ(bench->GetGate(0).GetSeen(ROCE_NACK).size(), 1U, "one report");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().timeouts, 1U, "one timeout");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 1U, "arrived");
    }
};

class GoBackNIgnoresStaleReports : public TestCase
{
  public:
    GoBackNIgnoresStaleReports()
        : TestCase("go back N ignores the report of a gap that a timeout has closed, with packets "
                   "behind it on their way")
    {
    }

  private:
    static constexpr int64_t TIMEOUT_PS = 100'000'000;

    void DoRun() override
    {
        RoceParameters parameters = With(RoceReliability::GO_BACK_N);
        parameters.timeoutPs = TIMEOUT_PS;
        auto bench = MakePath(parameters);
        Disturb(bench->GetGate(1), 3'000, DROPPED);
        // The last progress is the answer to packet 2. Packet 22's is back when the report comes.
        const int64_t againPs = 2 * PACKET_PS + ROUND_TRIP_PS + TIMEOUT_PS;
        const int64_t reportPs = againPs + 19 * PACKET_PS + ROUND_TRIP_PS + PACKET_PS / 2;
        bench->GetGate(0).SetRule([reportPs](const FabricFrame& frame) {
            return frame.kind == ROCE_NACK ? reportPs - Simulator::Now().GetTimeStep() : int64_t{0};
        });
        bench->Send(0, 1, PACKETS * 1'000);
        Simulator::Run();
        const auto expected = Join(Positions(0, PACKETS), Positions(3, PACKETS));
        NS_TEST_EXPECT_MSG_EQ((bench->GetGate(1).GetPositions() == expected), true, "packets");
        NS_TEST_EXPECT_MSG_EQ(bench->GetGate(0).GetSeen(ROCE_NACK).size(), 1U, "one report");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().timeouts, 1U, "one timeout");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 1U, "arrived");
    }
};

class SelectiveRepeatIgnoresStaleReports : public TestCase
{
  public:
    SelectiveRepeatIgnoresStaleReports()
        : TestCase("selective repeat doesn't judge what is out of order by the report of a packet "
                   "that is acknowledged by now")
    {
    }

  private:
    /// \return how long a packet takes on a line
    static constexpr int64_t WirePs(int64_t bytes)
    {
        return (bytes + 82) * BYTE_PS;
    }

    /// Two packets are late: one is overtaken by a small one, the other by as many bytes as are
    /// tolerated, less a small packet. The report of the former comes while the latter is missing.
    void DoRun() override
    {
        constexpr uint64_t FIRST = 3'000;
        constexpr uint64_t SMALL = 4'000;   // of 100 bytes
        constexpr uint64_t SECOND = 10'000; // overtaken by 10,500, 11,500 and 12,500
        constexpr int64_t HELD_FIRST_PS = WirePs(100) + PACKET_PS / 2;
        constexpr int64_t HELD_SECOND_PS = 3 * PACKET_PS + PACKET_PS / 2;
        constexpr int64_t HELD_REPORT_PS = // until packet 12,500 has been reported
            8 * PACKET_PS + WirePs(900) + WirePs(500) + PACKET_PS / 4;
        auto bench = MakePath(With(RoceReliability::SELECTIVE_REPEAT, 3));
        bench->GetGate(1).SetRule([](const FabricFrame& frame) {
            const bool data = frame.kind == ROCE_DATA;
            return data && frame.sequence == FIRST    ? HELD_FIRST_PS
                   : data && frame.sequence == SECOND ? HELD_SECOND_PS
                                                      : int64_t{0};
        });
        bench->GetGate(0).SetRule([](const FabricFrame& frame) {
            return frame.kind == ROCE_NACK && frame.echo == SMALL ? HELD_REPORT_PS : int64_t{0};
        });
        for (uint64_t bytes : {4'100, 5'900, 500, 2'000, 10'000})
        {
            bench->Send(0, 1, bytes);
        }
        Simulator::Run();
        const auto& statistics = bench->GetTransport().GetStatistics();
        const auto reports = bench->GetGate(0).GetSeen(ROCE_NACK);
        NS_TEST_ASSERT_MSG_EQ(reports.size(), 4U, "one for the first, three for the second");
        const int64_t stalePs = reports[0].timePs + HELD_REPORT_PS;
        NS_TEST_EXPECT_MSG_EQ(reports[0].echo, SMALL, "the stale one");
        NS_TEST_EXPECT_MSG_EQ((reports[3].timePs < stalePs), true, "after the others");
        NS_TEST_EXPECT_MSG_EQ((stalePs < reports[3].timePs + PACKET_PS / 2), true, "in time");
        NS_TEST_EXPECT_MSG_EQ(statistics.retransmittedPackets, 0U, "nothing is sent again");
        NS_TEST_EXPECT_MSG_EQ(statistics.timeouts, 0U, "no timeout");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 5U, "arrived");
    }
};

class ReportsAGapAgain : public TestCase
{
  public:
    ReportsAGapAgain()
        : TestCase("with a NACK interval a gap is reported again, and a lost report does no harm")
    {
    }

  private:
    void DoRun() override
    {
        RoceParameters parameters;
        parameters.nackIntervalPs = 10 * PACKET_PS;
        auto bench = MakePath(parameters);
        Disturb(bench->GetGate(1), 3'000, DROPPED);
        bench->GetGate(0).SetRule([first = true](const FabricFrame& frame) mutable {
            const bool drops = first && frame.kind == ROCE_NACK;
            first = first && !drops;
            return drops ? DROPPED : int64_t{0};
        });
        bench->Send(0, 1, PACKETS * 1'000);
        Simulator::Run();
        const auto nacks = bench->GetGate(0).GetSeen(ROCE_NACK);
        // The first by packet 4, the second by packet 14, then 24, ..., until packet 3 is back.
        NS_TEST_ASSERT_MSG_GT(nacks.size(), 1U, "reported again");
        for (std::size_t nack = 0; nack < nacks.size(); ++nack)
        {
            NS_TEST_EXPECT_MSG_EQ(nacks[nack].sequence, 3'000U, "expected next");
            NS_TEST_EXPECT_MSG_EQ(nacks[nack].echo, 4'000 + nack * 10'000, "by which packet");
        }
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().timeouts, 0U, "no timeout");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 1U, "arrived");
    }
};

class TimesOutAndGivesUp : public TestCase
{
  public:
    TimesOutAndGivesUp()
        : TestCase("a lost tail is sent again a timeout after the last progress; after so many in "
                   "a row the queue pair gives up")
    {
    }

  private:
    static constexpr int64_t TIMEOUT_PS = 100'000'000;

    void DoRun() override
    {
        for (auto reliability : {RoceReliability::GO_BACK_N,
                                 RoceReliability::GO_BACK_0,
                                 RoceReliability::SELECTIVE_REPEAT})
        {
            RoceParameters parameters = With(reliability);
            parameters.timeoutPs = TIMEOUT_PS;
            parameters.retries = 3;
            LosesTheTail(parameters);
            LosesEverything(parameters);
            LosesEachTail(parameters);
        }
    }

    /// Timeouts with progress between them are not in a row.
    void LosesEachTail(RoceParameters parameters)
    {
        constexpr uint64_t MESSAGES = 6;
        parameters.retries = 1;
        auto bench = MakePath(parameters);
        bench->GetGate(1).SetRule([next = uint64_t{9'000}](const FabricFrame& frame) mutable {
            if (frame.kind != ROCE_DATA || frame.sequence != next)
            {
                return int64_t{0};
            }
            next += 10'000;
            return DROPPED;
        });
        for (uint64_t message = 0; message < MESSAGES; ++message)
        {
            bench->Send(0, 1, 10'000, static_cast<int64_t>(message) * 2 * TIMEOUT_PS);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), MESSAGES, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(bench->GetFailures().size(), 0U, "it doesn't give up");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().timeouts,
                              MESSAGES,
                              "a timeout each");
    }

    void LosesTheTail(const RoceParameters& parameters)
    {
        auto bench = MakePath(parameters);
        Disturb(bench->GetGate(1), 9'000, DROPPED);
        bench->Send(0, 1, 10'000);
        Simulator::Run();
        // Packet 8 begins at 8 packet times; its acknowledgement is the last progress.
        const int64_t lastAckPs = 8 * PACKET_PS + ROUND_TRIP_PS;
        // Go back 0 sends all ten again, the others the last.
        const uint64_t again = parameters.reliability == RoceReliability::GO_BACK_0 ? 10 : 1;
        const int64_t againPs = lastAckPs + TIMEOUT_PS + 2 * PACKET_PS + 2 * DELAY_PS +
                                static_cast<int64_t>(again - 1) * PACKET_PS;
        NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 1U, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals()[0].timePs, againPs, "after the timeout");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().timeouts, 1U, "one timeout");
        NS_TEST_EXPECT_MSG_EQ(bench->GetTransport().GetStatistics().retransmittedPackets,
                              again,
                              "sent again");
    }

    void LosesEverything(const RoceParameters& parameters)
    {
        auto bench = MakePath(parameters);
        bench->GetGate(1).SetRule([](const FabricFrame&) { return DROPPED; });
        bench->Send(0, 1, 5'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 0U, "nothing arrives");
        NS_TEST_ASSERT_MSG_EQ(bench->GetFailures().size(), 1U, "it gives up once");
        const auto& [timePs, reason] = bench->GetFailures()[0];
        NS_TEST_EXPECT_MSG_EQ(timePs, 4 * TIMEOUT_PS, "at the fourth timeout");
        NS_TEST_EXPECT_MSG_EQ(
            (reason.find("NPU 0 to NPU 1 gave up after 4 timeouts") != std::string::npos),
            true,
            reason);
        NS_TEST_EXPECT_MSG_EQ(bench->GetGate(1).GetPositions().size(), 4U * 5, "sent four times");
    }
};

class TimesOutOnALongLink : public TestCase
{
  public:
    TimesOutOnALongLink()
        : TestCase("on a link longer than the timeout a packet times out to the picosecond, also "
                   "one that left behind an acknowledgement")
    {
    }

  private:
    static constexpr int64_t LONG_PS = 50'000'000;
    static constexpr int64_t TIMEOUT_PS = 10'000'000;
    static constexpr int64_t DATA_PS = 1'082 * 80; // at 100 Gb/s
    static constexpr int64_t ACK_PS = 86 * 80;

    void DoRun() override
    {
        RoceParameters parameters;
        parameters.timeoutPs = TIMEOUT_PS;
        parameters.retries = 0;
        auto bench = MakeStar(2, MakeLink(100 * GBPS, LONG_PS));
        bench->Build(parameters);
        // Host 0 acknowledges a packet at this time, and sends one of its own as soon as it can.
        const int64_t ackPs = 2 * (DATA_PS + LONG_PS);
        bench->Send(1, 0, 1'000);
        bench->Send(0, 1, 1'000, ackPs + 1);
        Simulator::Run();
        const int64_t firstPs = ackPs + ACK_PS + 2 * (DATA_PS + LONG_PS);
        const auto seen = bench->GetGate(1).GetSeen(ROCE_DATA);
        NS_TEST_ASSERT_MSG_GT(seen.size(), 9U, "no acknowledgement can be back before");
        for (std::size_t packet = 0; packet < 9; ++packet)
        {
            NS_TEST_EXPECT_MSG_EQ(seen[packet].timePs,
                                  firstPs + static_cast<int64_t>(packet) * TIMEOUT_PS,
                                  "packet " << packet);
        }
        NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals().size(), 2U, "both arrived");
    }
};

class RoceRecoveryTestSuite : public TestSuite
{
  public:
    RoceRecoveryTestSuite()
        : TestSuite("astra-roce-recovery", Type::UNIT)
    {
        AddTestCase(new SendsAgainExactlyWhatItMust);
        AddTestCase(new GoBackZeroKeepsEarlierMessages);
        AddTestCase(new GoBackZeroIgnoresStaleReports);
        AddTestCase(new GoBackNIgnoresStaleReports);
        AddTestCase(new SelectiveRepeatIgnoresStaleReports);
        AddTestCase(new ReportsAGapAgain);
        AddTestCase(new TimesOutOnALongLink);
        AddTestCase(new TimesOutAndGivesUp);
    }
};

RoceRecoveryTestSuite g_roceRecoveryTestSuite; //!< registers itself
} // namespace roce_recovery_test
