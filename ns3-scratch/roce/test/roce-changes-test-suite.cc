// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoCE over a network that changes: queue pairs leave ports that lead nowhere, know their paths,
 * and go on when a way is there again.
 */
#include "fabric-changes.h"
#include "roce-fixture.h"

#include "ns3/test.h"

#include <limits>

namespace roce_changes_test
{
using namespace ns3;
using namespace ns3::test;

constexpr int64_t MICROSECOND_PS = 1'000'000;
constexpr int64_t DELAY_PS = 500'000;
constexpr uint64_t MESSAGE_BYTES = 4'000'000; // 350 us at 100 Gb/s

/// Knows the queue pair that sent last.
class LastPair : public RoceObserver
{
  public:
    void ControlChanged(const RoceQueuePair& pair) override
    {
        m_pair = &pair;
    }

    void Retransmitted(const RoceQueuePair&, uint32_t, int64_t) override
    {
    }

    void Notified(const RoceQueuePair&) override
    {
    }

    /// \return the queue pair
    const RoceQueuePair& Get() const
    {
        NS_ABORT_IF(!m_pair);
        return *m_pair;
    }

  private:
    const RoceQueuePair* m_pair{nullptr}; //!< that sent last
};

/// Hosts 0 and 1, both joined to switches 2 and 3; the way over switch 3 is longer.
class TwoWays
{
  public:
    static constexpr int64_t LONG_DELAY_PS = 4 * DELAY_PS;

    explicit TwoWays(const RoceParameters& parameters)
        : bench(2, {{}, {}})
    {
        for (uint32_t host : {0U, 1U})
        {
            bench.Link(host, 2, MakeLink(100 * GBPS, DELAY_PS));
            bench.Link(host, 3, MakeLink(100 * GBPS, LONG_DELAY_PS));
        }
        FabricNetwork& network = bench.GetNetwork();
        network.SetHostGroups({0, 1});
        for (uint32_t host : {0U, 1U})
        {
            network.SetGroupRoutes(host, {0, 0}, {0, 2}, {0, 1}, {}, {});
        }
        bench.Build(parameters);
        bench.GetTransport().SetObserver(&lastPair);
        for (uint32_t host : {0U, 1U})
        {
            changes.AddHost(network.GetDevices()[host]);
        }
        for (uint32_t node : {2U, 3U})
        {
            changes.AddSwitch(network.GetNode(node)->GetObject<FabricSwitch>());
        }
        for (uint32_t host : {0U, 1U})
        {
            changes.AddLink(network.GetPort(host, 0), network.GetPort(2, host));
            changes.AddLink(network.GetPort(host, 1), network.GetPort(3, host));
        }
        changes.AddListener(&bench.GetTransport());
    }

    /// Take down the switch in which one of the ways lies, later. \param way 0 or 1
    void LoseWay(int64_t timePs, uint32_t way)
    {
        FabricChange change;
        change.timePs = timePs;
        const int64_t delayPs = way == 0 ? DELAY_PS : LONG_DELAY_PS;
        for (uint32_t host : {0U, 1U})
        {
            change.links.push_back({2 * host + way, false, 100 * GBPS, delayPs, 0.0});
            change.routes.push_back({host, {0, 1}, {0, 0}, {0, 1}, {1 - way}, {}, {}});
        }
        changes.Schedule(change);
    }

    RoceBench bench;       //!< network and transport
    LastPair lastPair;     //!< the only one
    FabricChanges changes; //!< of the network
};

class QueuePairsLeaveDeadPorts : public TestCase
{
  public:
    QueuePairsLeaveDeadPorts()
        : TestCase(
              "a queue pair whose port leads nowhere goes on over another, with the numbers of "
              "its path, whichever of both goes down, and its messages arrive")
    {
    }

  private:
    void DoRun() override
    {
        for (bool perMessage : {false, true})
        {
            for (uint32_t way : {0U, 1U})
            {
                Play(way, perMessage, 1);
            }
        }
        for (uint32_t way : {0U, 1U})
        {
            Play(way, false, 3);
        }
    }

    void Play(uint32_t way, bool perMessage, uint32_t queuePairs)
    {
        constexpr int64_t LOST_PS = 50 * MICROSECOND_PS;
        RoceParameters parameters;
        parameters.timeoutPs = 40 * MICROSECOND_PS;
        parameters.perMessage = perMessage;
        parameters.queuePairsPerPair = queuePairs;
        parameters.splitMessages = queuePairs > 1;
        TwoWays network(parameters);
        network.LoseWay(LOST_PS, way);
        network.bench.Send(0, 1, MESSAGE_BYTES);
        network.bench.Send(1, 0, MESSAGE_BYTES);
        Simulator::Schedule(TimeStep(LOST_PS + 1), [&] {
            const RoceQueuePair& pair = network.lastPair.Get();
            const RoceAddress& address = pair.GetAddress();
            FabricNetwork& made = network.bench.GetNetwork();
            NS_TEST_EXPECT_MSG_EQ(&address.senderPort->GetPort(),
                                  PeekPointer(made.GetPort(address.senderHost, 1 - way)),
                                  "data leaves by the other port");
            NS_TEST_EXPECT_MSG_EQ(address.receiverPort,
                                  PeekPointer(made.GetPort(address.receiverHost, 1 - way)),
                                  "answers leave by the other port");
            // Two links there and two back; a packet has 1082 bytes on the line, an answer 86.
            const int64_t delayPs = way == 0 ? TwoWays::LONG_DELAY_PS : DELAY_PS;
            NS_TEST_EXPECT_MSG_EQ(pair.GetSender().GetBaseRoundTripPs(),
                                  4 * delayPs + 2 * (1'082 + 86) * 80,
                                  "base round trip");
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.bench.GetArrivals().size(), 2U, "both arrive");
        NS_TEST_EXPECT_MSG_EQ(network.bench.GetTransport().CountFrames(), 0U, "no frame is missed");
        // What was lost is found out after a timeout, and most was still to send.
        for (const Arrival& arrival : network.bench.GetArrivals())
        {
            NS_TEST_EXPECT_MSG_LT(arrival.timePs, 600 * MICROSECOND_PS, "and soon");
        }
        NS_TEST_EXPECT_MSG_GT(network.bench.Sum(&FabricPortCounters::cutFrames),
                              0U,
                              "some was cut");
    }
};

class NoWayIsNoEnd : public TestCase
{
  public:
    NoWayIsNoEnd()
        : TestCase(
              "without any way a queue pair waits, one that has begun and one that begins then; "
              "both go on when there is one")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t UP_PS = 500 * MICROSECOND_PS;
        RoceParameters parameters;
        parameters.timeoutPs = 40 * MICROSECOND_PS;
        parameters.retries = 0;
        auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
        bench->Build(parameters);
        FabricNetwork& network = bench->GetNetwork();
        FabricChanges changes;
        for (uint32_t host : {0U, 1U})
        {
            changes.AddHost(network.GetDevices()[host]);
            changes.AddLink(network.GetPort(host, 0), network.GetPort(2, host));
        }
        changes.AddSwitch(network.GetNode(2)->GetObject<FabricSwitch>());
        changes.AddListener(&bench->GetTransport());
        for (bool up : {false, true})
        {
            FabricChange change;
            change.timePs = up ? UP_PS : 10 * MICROSECOND_PS;
            change.links = {{1, up, 100 * GBPS, DELAY_PS, 0.0}};
            change.routes = {{2, {1}, {0}, {0, up ? 1U : 0U}, {}, {}, {}}};
            if (up)
            {
                change.routes[0].setPorts = {1};
            }
            changes.Schedule(change);
        }
        bench->Send(0, 1, MESSAGE_BYTES);
        bench->Send(1, 0, MESSAGE_BYTES, 20 * MICROSECOND_PS);
        Simulator::Stop(TimeStep(5'000 * MICROSECOND_PS));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench->GetFailures().size(), 0U, "nobody gives up");
        NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 2U, "both arrive");
        NS_TEST_EXPECT_MSG_GT(bench->GetArrivals()[0].timePs, UP_PS, "not before there is a way");
        const RocePathNumbers numbers =
            bench->GetTransport().NumbersOf(bench->GetTransport().FindPath(1, 0));
        NS_TEST_EXPECT_MSG_EQ(numbers.switches, 1U, "and is whole now");
    }
};

class LinesThatChange : public TestCase
{
  public:
    LinesThatChange()
        : TestCase(
              "a queue pair at line rate follows its line; on a link that has become longer than "
              "its timeout no event lies in the past")
    {
    }

  private:
    void DoRun() override
    {
        RoceParameters parameters;
        parameters.timeoutPs = 100 * MICROSECOND_PS;
        parameters.retries = 0;
        TwoWays network(parameters);
        network.LoseWay(1, 1);
        const auto change = [&network](int64_t timePs, uint64_t rateBps, int64_t delayPs) {
            FabricChange change;
            change.timePs = timePs;
            change.links = {{0, true, rateBps, delayPs, 0.0}};
            network.changes.Schedule(change);
        };
        const auto expect = [&](int64_t timePs, uint64_t rateBps) {
            Simulator::Schedule(TimeStep(timePs), [this, &network, rateBps] {
                NS_TEST_EXPECT_MSG_EQ(network.lastPair.Get().GetSender().GetRateBps(),
                                      static_cast<double>(rateBps),
                                      "rate");
            });
        };
        network.bench.Send(0, 1, MESSAGE_BYTES);
        change(20 * MICROSECOND_PS, 25 * GBPS, DELAY_PS);
        change(60 * MICROSECOND_PS, 100 * GBPS, DELAY_PS);
        change(100 * MICROSECOND_PS, 100 * GBPS, 300 * MICROSECOND_PS);
        change(2'000 * MICROSECOND_PS, 100 * GBPS, DELAY_PS);
        expect(20 * MICROSECOND_PS - 1, 100 * GBPS);
        expect(20 * MICROSECOND_PS + 1, 25 * GBPS);
        expect(60 * MICROSECOND_PS + 1, 100 * GBPS);
        Simulator::Stop(TimeStep(20'000 * MICROSECOND_PS));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.bench.GetArrivals().size(), 1U, "it arrives");
    }
};

class AWindowFollowsThePathUnlessAControlHasSetIt : public TestCase
{
  public:
    AWindowFollowsThePathUnlessAControlHasSetIt()
        : TestCase("the path's window follows the path, and never takes the place of one that a "
                   "congestion control has set")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t ownBytes : {uint64_t{0}, uint64_t{7'777}})
        {
            RoceParameters parameters;
            parameters.windowOfPath = true;
            TwoWays network(parameters);
            network.bench.Send(0, 1, MESSAGE_BYTES);
            uint64_t beforeBytes = 0;
            Simulator::Schedule(TimeStep(10 * MICROSECOND_PS), [&network, &beforeBytes, ownBytes] {
                const RoceQueueSender& sender = network.lastPair.Get().GetSender();
                beforeBytes = sender.GetWindowBytes();
                if (ownBytes > 0) // as a congestion control does
                {
                    const_cast<RoceQueueSender&>(sender).SetWindowBytes(ownBytes);
                }
            });
            uint64_t afterBytes = 0;
            FabricChange change;
            change.timePs = 15 * MICROSECOND_PS;
            change.links = {{0, true, 50 * GBPS, DELAY_PS, 0.0},
                            {1, true, 50 * GBPS, 4 * DELAY_PS, 0.0}};
            network.changes.Schedule(change);
            Simulator::Schedule(TimeStep(16 * MICROSECOND_PS), [&network, &afterBytes] {
                afterBytes = network.lastPair.Get().GetSender().GetWindowBytes();
            });
            Simulator::Stop(TimeStep(17 * MICROSECOND_PS));
            Simulator::Run();
            NS_TEST_EXPECT_MSG_GT(beforeBytes, 0U, "a window");
            if (ownBytes > 0)
            {
                NS_TEST_EXPECT_MSG_EQ(afterBytes, ownBytes, "the control's");
            }
            else
            {
                NS_TEST_EXPECT_MSG_LT(afterBytes, beforeBytes, "the slower path's is smaller");
            }
        }
    }
};

class RoceChangesTestSuite : public TestSuite
{
  public:
    RoceChangesTestSuite()
        : TestSuite("astra-roce-changes", Type::UNIT)
    {
        AddTestCase(new QueuePairsLeaveDeadPorts);
        AddTestCase(new NoWayIsNoEnd);
        AddTestCase(new LinesThatChange);
        AddTestCase(new AWindowFollowsThePathUnlessAControlHasSetIt);
    }
};

RoceChangesTestSuite g_roceChangesTestSuite; //!< registers itself
} // namespace roce_changes_test
