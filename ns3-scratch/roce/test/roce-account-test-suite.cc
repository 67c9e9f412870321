// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Accounts of RoCE messages against times worked out by hand, on links of 100 Gb/s and 500 ns.
 */
#include "roce-short-path.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace roce_account_test
{
using namespace ns3;
using namespace ns3::test;
constexpr uint64_t PACKET_BYTES = 1'000;
constexpr uint32_t PRIORITY = 3; // of RoCE's data, by default
constexpr uint32_t SWITCH = 2;   // node behind two hosts

/// Parts that are not 0.
using Parts = std::map<AccountPart, int64_t>;

/// Messages, and what the accounts of all must be, in order of arrival.
struct AccountCase
{
    std::string name;                      //!< what it is about
    RoceParameters parameters;             //!< of the queue pairs
    uint32_t hosts;                        //!< around one switch
    std::function<void(RoceBench&)> begin; //!< sends the messages
    std::vector<Parts> expected;           //!< of each
    std::deque<double> rates;              //!< of the queue pairs; none: the line's
};

/// \return what a message takes of the path: packets on the NIC's line, one on the switch's
Parts
Way(int64_t packets, Parts more = {})
{
    more[AccountPart::SERIALISATION] = (packets + 1) * PACKET_PS;
    more[AccountPart::PROPAGATION] = 2 * DELAY_PS;
    return more;
}

/// \return packets that have begun when the answer to what packet `packet` brings is back
int64_t
BegunAtAnswer(int64_t packet)
{
    return (packet * PACKET_PS + ROUND_TRIP_PS) / PACKET_PS + 1;
}

/// Lose the data packet at a position, once.
void
Lose(RoceBench& bench, uint64_t packet)
{
    bench.GetGate(1).SetRule([packet, done = false](const FabricFrame& frame) mutable {
        const bool lost =
            !done && frame.kind == ROCE_DATA && frame.sequence == packet * PACKET_BYTES;
        done = done || lost;
        return int64_t{lost ? -1 : 0};
    });
}

/// \return parameters
RoceParameters
With(RoceReliability reliability)
{
    RoceParameters parameters;
    parameters.reliability = reliability;
    return parameters;
}

/// \return what sends messages of so many packets from host 0 to host 1 at once
std::function<void(RoceBench&)>
SendPackets(const std::vector<uint64_t>& messages)
{
    return [messages](RoceBench& bench) {
        for (const uint64_t packets : messages)
        {
            bench.Send(0, 1, packets * PACKET_BYTES);
        }
    };
}

/// \return cases without loss: the sender
std::vector<AccountCase>
SenderCases()
{
    RoceParameters windowed;
    windowed.windowBytes = PACKET_BYTES;
    RoceParameters acknowledged;
    acknowledged.acknowledged = true;
    std::vector<AccountCase> cases;
    cases.push_back({"one packet", {}, 2, SendPackets({1}), {Way(1)}, {}});
    cases.push_back({"ten packets", {}, 2, SendPackets({10}), {Way(10)}, {}});
    cases.push_back({"one byte, filled up to the smallest frame",
                     {},
                     2,
                     [](RoceBench& bench) { bench.Send(0, 1, 1); },
                     {{{AccountPart::SERIALISATION, 2 * 84 * BYTE_PS},
                       {AccountPart::PROPAGATION, 2 * DELAY_PS}}},
                     {}});
    cases.push_back({"a window of a packet: the next one leaves a round trip later",
                     windowed,
                     2,
                     SendPackets({4}),
                     {Way(4, {{AccountPart::WINDOW, 3 * (ROUND_TRIP_PS - PACKET_PS)}})},
                     {}});
    cases.push_back({"half the line's rate",
                     {},
                     2,
                     SendPackets({8}),
                     {Way(8, {{AccountPart::PACING, 7 * PACKET_PS}})},
                     {50.0 * GBPS}});
    cases.push_back({"three messages, one behind the other",
                     {},
                     2,
                     SendPackets({5, 1, 2}),
                     {Way(5),
                      Way(1, {{AccountPart::TURN, 5 * PACKET_PS}}),
                      Way(2, {{AccountPart::TURN, 6 * PACKET_PS}})},
                     {}});
    cases.push_back({"a message long after the first one",
                     {},
                     2,
                     [](RoceBench& bench) {
                         bench.Send(0, 1, PACKET_BYTES);
                         bench.Send(0, 1, 2 * PACKET_BYTES, 10'000'000);
                     },
                     {Way(1), Way(2)},
                     {}});
    cases.push_back({"the last acknowledgement",
                     acknowledged,
                     2,
                     SendPackets({1}),
                     {Way(1, {{AccountPart::ACKNOWLEDGEMENT, 2 * ACK_PS + 2 * DELAY_PS}})},
                     {}});
    return cases;
}

/// \return cases without loss: ports
std::vector<AccountCase>
PortCases()
{
    constexpr int64_t GO_PS = 20'000'000;
    std::vector<AccountCase> cases;
    cases.push_back({"the NIC is stopped from half of the third packet on, for 7 packets more",
                     {},
                     2,
                     [](RoceBench& bench) {
                         const Ptr<FabricPort> nic = bench.GetPort(0, SWITCH);
                         Simulator::Schedule(TimeStep(5 * PACKET_PS / 2),
                                             [nic] { nic->SetPaused(1U << PRIORITY); });
                         Simulator::Schedule(TimeStep(10 * PACKET_PS),
                                             [nic] { nic->SetPaused(0); });
                         bench.Send(0, 1, 5 * PACKET_BYTES);
                     },
                     {Way(5, {{AccountPart::NIC_PAUSED, 7 * PACKET_PS}})},
                     {}});
    cases.push_back({"two queue pairs take turns at the NIC",
                     {},
                     3,
                     [](RoceBench& bench) {
                         bench.Send(0, 1, 6 * PACKET_BYTES);
                         bench.Send(0, 2, 6 * PACKET_BYTES);
                     },
                     {Way(6, {{AccountPart::NIC_QUEUE, 5 * PACKET_PS}}),
                      Way(6, {{AccountPart::NIC_QUEUE, 6 * PACKET_PS}})},
                     {}});
    cases.push_back({"two hosts send to a third at once",
                     {},
                     3,
                     [](RoceBench& bench) {
                         bench.Send(1, 0, PACKET_BYTES);
                         bench.Send(2, 0, PACKET_BYTES);
                     },
                     {Way(1), Way(1, {{AccountPart::SWITCH_QUEUE, PACKET_PS}})},
                     {}});
    cases.push_back({"the switch is stopped: the second packet waits for that, then for the first",
                     {},
                     2,
                     [](RoceBench& bench) {
                         const Ptr<FabricPort> port = bench.GetPort(SWITCH, 1);
                         port->SetPaused(1U << PRIORITY);
                         Simulator::Schedule(TimeStep(GO_PS), [port] { port->SetPaused(0); });
                         bench.Send(0, 1, 2 * PACKET_BYTES);
                     },
                     {Way(2,
                          {{AccountPart::SWITCH_PAUSED, GO_PS - 2 * PACKET_PS - DELAY_PS},
                           {AccountPart::SWITCH_QUEUE, PACKET_PS}})},
                     {}});
    return cases;
}

/// \return cases with a lost packet
std::vector<AccountCase>
LossCases()
{
    constexpr int64_t TIMEOUT_PS = 50'000'000;
    const auto losing = [](uint64_t packet, const std::vector<uint64_t>& messages) {
        return [packet, messages](RoceBench& bench) {
            Lose(bench, packet);
            SendPackets(messages)(bench);
        };
    };
    RoceParameters patient;
    patient.timeoutPs = TIMEOUT_PS;
    const RoceParameters selective = With(RoceReliability::SELECTIVE_REPEAT);
    std::vector<AccountCase> cases;
    cases.push_back({"go back N: what had begun is sent again",
                     {},
                     2,
                     losing(3, {60}),
                     {Way(60, {{AccountPart::LOST, (BegunAtAnswer(4) - 3) * PACKET_PS}})},
                     {}});
    cases.push_back({"go back 0: all that had begun is sent again",
                     With(RoceReliability::GO_BACK_0),
                     2,
                     losing(7, {60}),
                     {Way(60, {{AccountPart::LOST, BegunAtAnswer(8) * PACKET_PS}})},
                     {}});
    // The last progress is the acknowledgement of the packet before.
    cases.push_back({"the last packet is lost: a timeout after the last progress",
                     patient,
                     2,
                     losing(4, {5}),
                     {Way(5, {{AccountPart::LOST, ROUND_TRIP_PS + TIMEOUT_PS - PACKET_PS}})},
                     {}});
    // Packets 4 to 6 leave when the first three are acknowledged, the last when packet 3 is.
    RoceParameters windowed;
    windowed.windowBytes = 4 * PACKET_BYTES;
    cases.push_back(
        {"go back N in a window of four packets: what a loss keeps closed is lost, until it is "
         "made good",
         windowed,
         2,
         losing(3, {8}),
         {Way(8,
              {{AccountPart::WINDOW, ROUND_TRIP_PS - 4 * PACKET_PS},
               {AccountPart::LOST, 2 * ROUND_TRIP_PS - 3 * PACKET_PS}})},
         {}});
    // The same with a timeout after the acknowledgement of packet 2: nothing tells of the loss.
    RoceParameters late = windowed;
    late.reliability = RoceReliability::SELECTIVE_REPEAT;
    late.reorderingPackets = 4;
    late.timeoutPs = TIMEOUT_PS;
    constexpr int64_t MIDST_PS = TIMEOUT_PS / 2;
    const int64_t againAfterPs = 2 * PACKET_PS + ROUND_TRIP_PS + TIMEOUT_PS;
    const int64_t heldPs = againAfterPs - 3 * PACKET_PS;
    cases.push_back(
        {"a timeout in a window of four packets: lost, also for messages behind it",
         late,
         2,
         [](RoceBench& bench) {
             Lose(bench, 3);
             SendPackets({8, 2})(bench);
             bench.Send(0, 1, PACKET_BYTES, MIDST_PS);
         },
         {Way(8,
              {{AccountPart::WINDOW, ROUND_TRIP_PS - 4 * PACKET_PS}, {AccountPart::LOST, heldPs}}),
          Way(2, {{AccountPart::TURN, ROUND_TRIP_PS + 4 * PACKET_PS}, {AccountPart::LOST, heldPs}}),
          Way(1,
              {{AccountPart::TURN, 3 * PACKET_PS},
               {AccountPart::LOST, againAfterPs + ROUND_TRIP_PS - MIDST_PS}})},
         {}});
    RoceParameters unpaced; // else its pace holds the next one until the first would be over
    unpaced.paced = false;
    constexpr int64_t DOWN_PS = PACKET_PS / 2;
    constexpr int64_t UP_PS = PACKET_PS * 5 / 8;
    cases.push_back(
        {"the link goes down and comes up under the first packet: the next one's turn comes early",
         unpaced,
         2,
         [](RoceBench& bench) {
             const Ptr<FabricPort> nic = bench.GetPort(0, SWITCH);
             Simulator::Schedule(TimeStep(DOWN_PS), [nic] {
                 nic->SettleMemory();
                 nic->GoDown();
                 nic->LoseContents();
             });
             Simulator::Schedule(TimeStep(UP_PS), [nic] { nic->GoUp(); });
             SendPackets({1, 2})(bench);
         },
         {Way(1, {{AccountPart::LOST, UP_PS + ROUND_TRIP_PS}}),
          Way(2, {{AccountPart::TURN, UP_PS}, {AccountPart::LOST, ROUND_TRIP_PS + PACKET_PS}})},
         {}});
    cases.push_back({"selective repeat: one packet is sent again between the others",
                     selective,
                     2,
                     losing(3, {60}),
                     {Way(60, {{AccountPart::LOST, PACKET_PS}})},
                     {}});
    // What was missing is there at once for all three: the packet of the first decides.
    const int64_t againPs = 4 * PACKET_PS + ROUND_TRIP_PS;
    constexpr int64_t LATE_PS = 25 * PACKET_PS;
    cases.push_back(
        {"selective repeat: later messages wait for what is missing of the first",
         selective,
         2,
         [](RoceBench& bench) {
             Lose(bench, 3);
             SendPackets({10, 10})(bench);
             bench.Send(0, 1, PACKET_BYTES, LATE_PS);
         },
         {Way(4, {{AccountPart::LOST, againPs - 3 * PACKET_PS}}),
          Way(1,
              {{AccountPart::TURN, 3 * PACKET_PS}, {AccountPart::LOST, againPs - 3 * PACKET_PS}}),
          Way(1, {{AccountPart::LOST, againPs - LATE_PS}})},
         {}});
    return cases;
}

class TimeGoesWhereItMust : public TestCase
{
  public:
    TimeGoesWhereItMust()
        : TestCase("each part of a message's time is what is worked out by hand, and the others 0")
    {
    }

  private:
    void DoRun() override
    {
        for (const auto& cases : {SenderCases(), PortCases(), LossCases()})
        {
            std::for_each(cases.begin(), cases.end(), [this](const AccountCase& each) {
                Play(each);
            });
        }
    }

    void Play(const AccountCase& each)
    {
        {
            auto bench = MakeStar(each.hosts, MakeLink(100 * GBPS, DELAY_PS));
            bench->KeepAccounts();
            bench->Build(each.parameters, each.rates);
            each.begin(*bench);
            Simulator::Run();
            const auto& accounts = bench->GetAccounts();
            NS_TEST_ASSERT_MSG_EQ(accounts.size(), each.expected.size(), each.name << ": accounts");
            NS_TEST_EXPECT_MSG_EQ(accounts.size(), bench->GetArrivals().size(), each.name);
            for (std::size_t number = 0; number < accounts.size(); ++number)
            {
                Compare(each.name + ", message " + std::to_string(number),
                        accounts[number].account,
                        each.expected[number]);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountTrails(), 0U, each.name << ": trails left");
    }

    void Compare(const std::string& name, const MessageAccount& account, const Parts& expected)
    {
        for (uint32_t number = 0; number < static_cast<uint32_t>(AccountPart::PARTS); ++number)
        {
            const auto part = static_cast<AccountPart>(number);
            const auto found = expected.find(part);
            const int64_t expectedPs = found == expected.end() ? 0 : found->second;
            NS_TEST_EXPECT_MSG_EQ(account.Get(part), expectedPs, name << ", part " << number);
        }
    }
};

class PathIsThatOfThePacket : public TestCase
{
  public:
    PathIsThatOfThePacket()
        : TestCase("the path names the ports in turn, and when the deciding packet came to each")
    {
    }

  private:
    void DoRun() override
    {
        auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
        bench->KeepAccounts();
        bench->Build({});
        bench->Send(0, 1, 3 * PACKET_BYTES);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench->GetAccounts().size(), 1U, "accounts");
        const auto& path = bench->GetAccounts().front().account.GetPath();
        NS_TEST_ASSERT_MSG_EQ(path.size(), 2U, "lines");
        const std::vector<Ptr<FabricPort>> ports{bench->GetPort(0, SWITCH),
                                                 bench->GetPort(SWITCH, 1)};
        const std::vector<int64_t> arrivals{2 * PACKET_PS, 3 * PACKET_PS + DELAY_PS};
        for (std::size_t hop = 0; hop < path.size(); ++hop)
        {
            NS_TEST_EXPECT_MSG_EQ(path[hop].port, PeekPointer(ports[hop]), "port " << hop);
            NS_TEST_EXPECT_MSG_EQ(path[hop].arrivalPs, arrivals[hop], "arrival " << hop);
            NS_TEST_EXPECT_MSG_EQ(path[hop].queuePs, 0, "queue " << hop);
            NS_TEST_EXPECT_MSG_EQ(path[hop].pausedPs, 0, "paused " << hop);
            NS_TEST_EXPECT_MSG_EQ(path[hop].serialisationPs, PACKET_PS, "line " << hop);
            NS_TEST_EXPECT_MSG_EQ(path[hop].propagationPs, DELAY_PS, "cable " << hop);
        }
    }
};

class WrongSumsAreRefused : public TestCase
{
  public:
    WrongSumsAreRefused()
        : TestCase("an account that does not add up, or has a part below 0, is an error")
    {
    }

  private:
    void DoRun() override
    {
        CollectiveMessage message;
        message.startPs = 100;
        MessageAccount account;
        account.Add(AccountPart::TURN, 40);
        NS_TEST_EXPECT_MSG_EQ(IsRefused(account, message, 140), false, "it adds up");
        NS_TEST_EXPECT_MSG_EQ(IsRefused(account, message, 141), true, "a picosecond is missing");
        account.Add(AccountPart::WINDOW, -10);
        account.Add(AccountPart::PACING, 10);
        NS_TEST_EXPECT_MSG_EQ(IsRefused(account, message, 140), true, "a part is below 0");
    }

    static bool IsRefused(const MessageAccount& account,
                          const CollectiveMessage& message,
                          int64_t endPs)
    {
        try
        {
            account.Check(message, endPs);
        }
        catch (const std::logic_error& error)
        {
            return std::string(error.what()).find("the account of a message") == 0;
        }
        return false;
    }
};

class PausesAreForgotten : public TestCase
{
  public:
    PausesAreForgotten()
        : TestCase("pauses are known as far back as somebody asks, and their sums stay right")
    {
    }

  private:
    static constexpr int64_t PERIOD_PS = 1'000;
    static constexpr int64_t STOP_PS = 300; // of each period
    static constexpr int64_t PERIODS = 10'000;

    void DoRun() override
    {
        auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
        bench->Build({});
        FabricPort& port = *bench->GetPort(0, SWITCH);
        constexpr int64_t KEPT_PS = 50 * PERIOD_PS;
        RocePauses pauses(port, [] { return Simulator::Now().GetTimeStep() - KEPT_PS; });
        for (int64_t period = 0; period < PERIODS; ++period)
        {
            Simulator::Schedule(TimeStep(period * PERIOD_PS),
                                [&port] { port.SetPaused(1U << PRIORITY); });
            Simulator::Schedule(TimeStep(period * PERIOD_PS + STOP_PS),
                                [&port] { port.SetPaused(0); });
            Simulator::Schedule(TimeStep(period * PERIOD_PS + 800),
                                [this, &pauses] { Ask(pauses, Simulator::Now().GetTimeStep()); });
        }
        Simulator::Stop(TimeStep(PERIODS * PERIOD_PS));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_asked, static_cast<uint64_t>(PERIODS - 50), "asked");
    }

    void Ask(const RocePauses& pauses, int64_t nowPs)
    {
        if (nowPs < 50 * PERIOD_PS)
        {
            return;
        }
        m_asked++;
        NS_TEST_EXPECT_MSG_EQ(pauses.StoppedPs(PRIORITY, nowPs - 40 * PERIOD_PS, nowPs),
                              40 * STOP_PS,
                              "whole periods up to " << nowPs);
        // From 100 ps into a stop to 500 ps behind the begin of another, ten periods later.
        const int64_t fromPs = nowPs - 800 - 12 * PERIOD_PS + 100;
        NS_TEST_EXPECT_MSG_EQ(pauses.StoppedPs(PRIORITY, fromPs, fromPs + 10 * PERIOD_PS + 400),
                              10 * STOP_PS + 200,
                              "parts of periods up to " << nowPs);
        NS_TEST_EXPECT_MSG_EQ(pauses.StoppedPs(PRIORITY - 1, fromPs, nowPs), 0, "another priority");
    }

    uint64_t m_asked{0}; //!< how often
};

class RoceAccountTestSuite : public TestSuite
{
  public:
    RoceAccountTestSuite()
        : TestSuite("astra-roce-account", Type::UNIT)
    {
        AddTestCase(new TimeGoesWhereItMust);
        AddTestCase(new PathIsThatOfThePacket);
        AddTestCase(new WrongSumsAreRefused);
        AddTestCase(new PausesAreForgotten);
    }
};

RoceAccountTestSuite g_roceAccountTestSuite; //!< registers itself
} // namespace roce_account_test
