// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricChanges: links and switches of a network that go down and come up, pauses and memories at
 * their ends, and tables that change.
 */
#include "changes-fixture.h"
#include "fabric-flowlet-choice.h"

#include "ns3/ipv4-header.h"
#include "ns3/test.h"

#include <stdexcept>

namespace fabric_changes_test
{
using namespace ns3;
using namespace ns3::test;

constexpr uint64_t RATE_BPS = ChangingNetwork::RATE_BPS;
constexpr uint8_t PRIORITY = ChangingNetwork::LOSSLESS;

/// Two hosts on one switch, and a third that both send to, but which takes nothing: all is full.
class Incast : public ChangingNetwork
{
  public:
    Incast()
        : ChangingNetwork(3, 1, {{0, 3}, {1, 3}, {2, 3}}, 185'000, 24'000)
    {
        GetPort(3, 2).SetPaused(1U << LOSSLESS);
        for (uint32_t host : {0U, 1U})
        {
            for (uint32_t frames = 0; frames < 60; ++frames)
            {
                Send(host, 2, FRAME_BYTES, LOSSLESS);
            }
        }
    }
};

class NobodyStaysStoppedByADeadLink : public TestCase
{
  public:
    NobodyStaysStoppedByADeadLink()
        : TestCase(
              "when a link goes down nobody at its ends is stopped any more; what is still too "
              "full when it is up stops its neighbour at once")
    {
    }

  private:
    void DoRun() override
    {
        Incast network;
        constexpr int64_t FULL_PS = 4'000'000; // both senders are stopped, the switch is full
        constexpr int64_t UP_PS = FULL_PS + 100'000;
        network.Change(FULL_PS, {ChangingNetwork::Usual(0, false)});
        network.Change(UP_PS, {ChangingNetwork::Usual(0, true)});
        FabricPort& sender = network.GetPort(0, 0);
        FabricPort& stopper = network.GetPort(3, 0);
        uint64_t pauseFrames = 0;
        At(FULL_PS - 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(sender.GetPaused(), 1U << PRIORITY, "it is stopped");
            pauseFrames = stopper.GetCounters().pauseFrames;
        });
        At(FULL_PS + 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(sender.GetPaused(), 0, "nobody is there who stops it");
            NS_TEST_EXPECT_MSG_EQ(network.GetPort(1, 0).GetPaused(), 1U << PRIORITY, "the other");
            NS_TEST_EXPECT_MSG_EQ(network.Audit(), "", "books");
        });
        At(UP_PS + 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(stopper.GetCounters().pauseFrames,
                                  pauseFrames + 1,
                                  "what it sent before is in the switch, and too much");
        });
        // A pause frame takes 84 bytes, 6.72 ns, and the delay.
        At(UP_PS + 6'720 + ChangingNetwork::DELAY_PS + 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(sender.GetPaused(), 1U << PRIORITY, "it is stopped anew");
        });
        At(UP_PS + 5'000'000, [&] { network.GetPort(3, 2).SetPaused(0); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.AuditAtRest(), "", "all is as in a new network");
        NS_TEST_EXPECT_MSG_EQ(network.Sum(&FabricPortCounters::droppedFrames), 0U, "lossless");
        NS_TEST_EXPECT_MSG_GT(network.Sum(&FabricPortCounters::downFrames), 0U, "some waited");
    }
};

class AnOldStopIsForgotten : public TestCase
{
  public:
    AnOldStopIsForgotten()
        : TestCase(
              "an ingress queue that was stopped before its link went down, and is not too full "
              "when it is up, stops its neighbour in time when it fills again")
    {
    }

  private:
    void DoRun() override
    {
        Incast network;
        constexpr int64_t DOWN_PS = 4'000'000;
        constexpr int64_t UP_PS = 7'000'000;
        network.Change(DOWN_PS, {ChangingNetwork::Usual(0, false)});
        network.Change(UP_PS, {ChangingNetwork::Usual(0, true)});
        FabricPort& stopper = network.GetPort(3, 0);
        uint64_t pauseFrames = 0;
        At(DOWN_PS - 1, [&] { pauseFrames = stopper.GetCounters().pauseFrames; });
        // It falls below its threshold, but not by so much that the neighbour might go on.
        At(DOWN_PS + 100'000, [&] { network.GetPort(3, 2).SetPaused(0); });
        At(DOWN_PS + 2'000'000, [&] { network.GetPort(3, 2).SetPaused(1U << PRIORITY); });
        At(UP_PS + 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(stopper.GetCounters().pauseFrames, pauseFrames, "not too full");
            for (uint32_t frames = 0; frames < 60; ++frames)
            {
                network.Send(0, 2, FRAME_BYTES, ChangingNetwork::LOSSLESS);
            }
        });
        At(2 * UP_PS, [&] {
            NS_TEST_EXPECT_MSG_EQ(network.GetPort(0, 0).GetPaused(), 1U << PRIORITY, "stopped");
            network.GetPort(3, 2).SetPaused(0);
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.Sum(&FabricPortCounters::droppedFrames), 0U, "lossless");
        NS_TEST_EXPECT_MSG_EQ(network.AuditAtRest(), "", "all is as in a new network");
    }
};

class OneDirectionIsDown : public TestCase
{
  public:
    OneDirectionIsDown()
        : TestCase(
              "a port that is down sends no pause, and when it is up it stops whom it could not "
              "stop before")
    {
    }

  private:
    void DoRun() override
    {
        Incast network;
        constexpr int64_t UP_PS = 4'000'000;
        FabricPort& stopper = network.GetPort(3, 0);
        TakeDown(stopper);
        At(UP_PS - 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(stopper.GetCounters().pauseFrames, 0U, "none while it is down");
            NS_TEST_EXPECT_MSG_EQ(network.GetPort(0, 0).GetPaused(), 0, "so it sends");
            NS_TEST_EXPECT_MSG_EQ(network.Audit(), "", "books");
        });
        At(UP_PS, [&] {
            stopper.GoUp();
            NS_TEST_EXPECT_MSG_EQ(stopper.GetCounters().pauseFrames, 1U, "at once");
        });
        At(2 * UP_PS, [&] { network.GetPort(3, 2).SetPaused(0); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.AuditAtRest(), "", "all is as in a new network");
    }
};

class ADeadEgressLetsItsSendersGoOn : public TestCase
{
  public:
    ADeadEgressLetsItsSendersGoOn()
        : TestCase(
              "what waits for a link that goes down leaves the memory, and who was stopped for "
              "it may go on at once")
    {
    }

  private:
    void DoRun() override
    {
        Incast network;
        constexpr int64_t DOWN_PS = 4'000'000;
        network.Change(DOWN_PS, {ChangingNetwork::Usual(2, false)});
        At(DOWN_PS + 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(network.GetSwitch(0).GetBuffer()->GetUsedBytes(), 0U, "empty");
        });
        At(DOWN_PS + 6'720 + ChangingNetwork::DELAY_PS + 1, [&] {
            for (uint32_t host : {0U, 1U})
            {
                NS_TEST_EXPECT_MSG_EQ(network.GetPort(host, 0).GetPaused(), 0, "let go on");
            }
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetSwitch(0).GetBuffer()->IsAtRest(), true, "at rest");
        NS_TEST_EXPECT_MSG_EQ(network.Audit(), "", "books");
        NS_TEST_EXPECT_MSG_GT(network.GetSwitch(0).GetUnroutedFrames(),
                              0U,
                              "those that came later");
        NS_TEST_EXPECT_MSG_EQ(network.owner.GetArrivals().size() + network.owner.GetLosses().size(),
                              network.owner.GetMade(),
                              "each frame has arrived, or its owner knows that it is lost");
    }
};

class ADeadSwitchHoldsNothing : public TestCase
{
  public:
    ADeadSwitchHoldsNothing()
        : TestCase(
              "a switch whose links all go down loses all it holds, and sends nothing more, no "
              "pause either")
    {
    }

  private:
    void DoRun() override
    {
        Incast network;
        constexpr int64_t DOWN_PS = 4'000'000;
        // First the link for which all wait: what it loses would let the others go on.
        network.Change(DOWN_PS,
                       {ChangingNetwork::Usual(2, false),
                        ChangingNetwork::Usual(1, false),
                        ChangingNetwork::Usual(0, false)});
        uint64_t sent = 0;
        At(DOWN_PS - 1, [&] { sent = network.Sum(&FabricPortCounters::pauseFrames); });
        At(DOWN_PS + 1, [&] {
            NS_TEST_EXPECT_MSG_EQ(network.GetSwitch(0).GetBuffer()->IsAtRest(), true, "at rest");
            NS_TEST_EXPECT_MSG_EQ(network.Sum(&FabricPortCounters::pauseFrames),
                                  sent,
                                  "no pause frame");
            NS_TEST_EXPECT_MSG_EQ(network.Audit(), "", "books");
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.owner.GetArrivals().size() + network.owner.GetLosses().size(),
                              120U,
                              "each frame has arrived, or its owner knows that it is lost");
    }
};

/// Notes when it hears of changes, and which links are up then.
class Listening : public FabricRoutesListener
{
  public:
    explicit Listening(const FabricPort& port)
        : m_port(port)
    {
    }

    void RoutesChanged() override
    {
        m_heard.emplace_back(Simulator::Now().GetTimeStep(), m_port.IsUp());
    }

    /// \return time, and whether the port was up
    const Stamps& GetHeard() const
    {
        return m_heard;
    }

  private:
    const FabricPort& m_port; //!< watched
    Stamps m_heard;           //!< time, and whether it was up
};

class TablesFollow : public TestCase
{
  public:
    TablesFollow()
        : TestCase("frames take the ways that the tables name from then on; listeners hear of each "
                   "change, after links have gone down and before links come up")
    {
    }

  private:
    void DoRun() override
    {
        // Hosts 0 and 1 on switches 2 and 3, which two links join.
        ChangingNetwork network(2, 2, {{0, 2}, {2, 3}, {2, 3}, {1, 3}}, 1'000'000, 10'000);
        Listening listener(network.GetPort(2, 1));
        network.changes.AddListener(&listener);
        network.Change(1'000'000, {ChangingNetwork::Usual(1, false)});
        network.Change(9'000'000, {ChangingNetwork::Usual(1, true)});
        network.Change(12'000'000, {ChangingNetwork::Usual(2, false)});
        uint64_t sent = 0;
        const auto send = [&network](int64_t timePs) {
            At(timePs, [&network] {
                for (uint32_t frames = 0; frames < 40; ++frames)
                {
                    network.Send(0, 1, FRAME_BYTES, 0);
                }
            });
        };
        send(2'000'000);
        At(8'000'000, [&] {
            NS_TEST_EXPECT_MSG_EQ(network.GetPort(2, 1).GetCounters().sentFrames, 0U, "it is down");
            sent = network.GetPort(2, 2).GetCounters().sentFrames;
            NS_TEST_EXPECT_MSG_EQ(sent, 40U, "all over the other");
        });
        send(13'000'000);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network.GetPort(2, 1).GetCounters().sentFrames, 40U, "all over it");
        NS_TEST_EXPECT_MSG_EQ(network.GetPort(2, 2).GetCounters().sentFrames, sent, "none");
        NS_TEST_EXPECT_MSG_EQ(network.owner.GetArrivals().size(), 80U, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(
            FirstDifference(listener.GetHeard(), {{1'000'000, 0}, {9'000'000, 0}, {12'000'000, 1}}),
            "",
            "when the listener heard, and whether the link was up");
    }
};

class BothDirectionsChange : public TestCase
{
  public:
    BothDirectionsChange()
        : TestCase("both directions of a link get its numbers, and no other link does; the choices "
                   "of a switch whose table changes hear of it")
    {
    }

  private:
    /// Counts how often it hears that the table has changed.
    class CountingChoice : public FabricPathChoice
    {
      public:
        explicit CountingChoice(uint32_t& heard)
            : m_heard(heard)
        {
        }

        uint32_t Choose(const FabricFrame&,
                        const FabricRoutes::Ports& choices,
                        const std::vector<Ptr<FabricPort>>&) override
        {
            return choices.first[0];
        }

        void RoutesChanged() override
        {
            ++m_heard;
        }

      private:
        uint32_t& m_heard; //!< times
    };

    void DoRun() override
    {
        ChangingNetwork network(2, 1, {{0, 2}, {1, 2}}, 200'000, 10'000);
        uint32_t heard = 0;
        network.GetSwitch(0).SetPathChoice(std::make_unique<CountingChoice>(heard));
        network.Change(1'000, {{0, true, RATE_BPS / 4, 7'000, 0.25}});
        Simulator::Run();
        for (const FabricPort* port : {&network.GetPort(0, 0), &network.GetPort(2, 0)})
        {
            NS_TEST_EXPECT_MSG_EQ(port->GetRateBps(), RATE_BPS / 4, "rate");
            NS_TEST_EXPECT_MSG_EQ(port->GetDelayPs(), 7'000, "delay");
            NS_TEST_EXPECT_MSG_EQ(port->GetErrorRate(), 0.25, "error rate");
        }
        for (const FabricPort* port : {&network.GetPort(1, 0), &network.GetPort(2, 1)})
        {
            NS_TEST_EXPECT_MSG_EQ(port->GetRateBps(), RATE_BPS, "rate");
            NS_TEST_EXPECT_MSG_EQ(port->GetDelayPs(), ChangingNetwork::DELAY_PS, "delay");
            NS_TEST_EXPECT_MSG_EQ(port->GetErrorRate(), 0.0, "error rate");
        }
        NS_TEST_EXPECT_MSG_EQ(heard, 1U, "once");
    }
};

class TablesChangeByEntries : public TestCase
{
  public:
    TablesChangeByEntries()
        : TestCase("a difference changes the sets of its groups alone, and replaces the hosts that "
                   "hang on the node")
    {
    }

  private:
    /// \return the ports towards a host
    static std::vector<uint32_t> PortsOf(const FabricRoutes& routes, uint32_t host)
    {
        const FabricRoutes::Ports ports = routes.Find(host);
        return {ports.first, ports.first + ports.count};
    }

    void DoRun() override
    {
        // Hosts 0 and 1 are group 0, which hangs on the node; 2 is group 1, 3 is group 2.
        FabricRoutes routes;
        constexpr uint32_t LOCAL = FabricRoutes::LOCAL;
        routes.SetGroups(std::make_shared<const FabricHostGroups>(FabricHostGroups{0, 0, 1, 2}),
                         {LOCAL, 0, 1},
                         {0, 2, 3},
                         {4, 5, 6});
        routes.SetLocal({0, 1}, {7, 8});
        using Ports = std::vector<uint32_t>;
        routes.ChangeGroups({1}, {0}, {0, 1}, {5});
        routes.SetLocal({0, 1}, {7, 8});
        NS_TEST_EXPECT_MSG_EQ((PortsOf(routes, 2) == Ports{5}), true, "one is left");
        NS_TEST_EXPECT_MSG_EQ((PortsOf(routes, 3) == Ports{6}), true, "as it was");
        NS_TEST_EXPECT_MSG_EQ((PortsOf(routes, 1) == Ports{8}), true, "as it was");
        routes.ChangeGroups({0, 1, 2}, {0, 1, LOCAL}, {0, 0, 2}, {4, 5});
        routes.SetLocal({3}, {9});
        NS_TEST_EXPECT_MSG_EQ(PortsOf(routes, 0).empty(), true, "no way any more");
        NS_TEST_EXPECT_MSG_EQ((PortsOf(routes, 2) == Ports{4, 5}), true, "both again");
        NS_TEST_EXPECT_MSG_EQ((PortsOf(routes, 3) == Ports{9}), true, "it hangs here now");
        routes.SetLocal({}, {});
        NS_TEST_EXPECT_MSG_EQ(PortsOf(routes, 3).empty(), true, "nothing hangs here");
    }
};

class FlowletsForgetTheirPorts : public TestCase
{
  public:
    FlowletsForgetTheirPorts()
        : TestCase("a flowlet does not stay on a port that the tables no longer name")
    {
    }

  private:
    void DoRun() override
    {
        WatchedSwitch watched(2, 0);
        watched.Get()->SetPathChoice(std::make_unique<FabricFlowletChoice>(1'000'000'000, 0));
        RouteOverAll(watched.Get(), 1, 2);
        const uint32_t first = watched.Choose(0, 77);
        // Twice, so that the choice is asked: a flow stays where it is until it hears of a change.
        const uint32_t other = 1 - first;
        SetRoutes(watched.Get(), {0, 2}, {other, other});
        NS_TEST_EXPECT_MSG_EQ(watched.Choose(0, 77), first, "it stays");
        watched.Get()->RoutesChanged();
        NS_TEST_EXPECT_MSG_EQ(watched.Choose(0, 77), other, "it has moved");
        Simulator::Destroy();
    }
};

class AHostWithoutAWayDropsPackets : public TestCase
{
  public:
    AHostWithoutAWayDropsPackets()
        : TestCase("what a host with several ports has no way for is counted and let go")
    {
    }

  private:
    void DoRun() override
    {
        Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
        for (uint32_t ports = 0; ports < 2; ++ports)
        {
            device->AddPort(CreateObject<FabricPort>());
        }
        device->SetBaseAddress(BASE_ADDRESS);
        device->GetRoutes().SetGroups(
            std::make_shared<const FabricHostGroups>(FabricHostGroups{0, 0}),
            {0},
            {0, 0},
            {});
        NS_TEST_EXPECT_MSG_EQ(device->ChoosePort(1, 5), FabricNetDevice::NO_PORT, "no way");
        Ptr<Packet> packet = Create<Packet>(100);
        Ipv4Header header;
        header.SetSource(Ipv4Address(BASE_ADDRESS));
        header.SetDestination(Ipv4Address(BASE_ADDRESS + 1));
        packet->AddHeader(header);
        const uint64_t before = FabricFramePool::CountFrames();
        NS_TEST_EXPECT_MSG_EQ(device->Send(packet, Address(), 0x0800), true, "taken");
        NS_TEST_EXPECT_MSG_EQ(device->GetUnroutedPackets(), 1U, "counted");
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountFrames(), before, "no frame is left");
        device->Dispose();
        Simulator::Destroy();
    }
};

class WhatDoesNotExistCanNotChange : public TestCase
{
  public:
    WhatDoesNotExistCanNotChange()
        : TestCase("a change that names what does not exist is refused when it is scheduled")
    {
    }

  private:
    void DoRun() override
    {
        ChangingNetwork network(2, 1, {{0, 2}, {1, 2}}, 100'000, 10'000);
        Refuse(network,
               {5, {ChangingNetwork::Usual(2, false)}, {}},
               "link 2, which does not exist");
        Refuse(network, {5, {{0, true, 0, 0, 0.0}}, {}}, "link 0 with a rate");
        Refuse(network, {5, {{0, true, 1, -1, 0.0}}, {}}, "link 0 with a rate");
        Refuse(network, {5, {{0, true, 1, 0, 1.5}}, {}}, "link 0 with a rate");
        Refuse(network, {5, {}, {{3, {}, {}, {0}, {}, {}, {}}}}, "node 3, which does not exist");
        for (const FabricRoutesDifference& routes :
             {FabricRoutesDifference{2, {2}, {0}, {0, 1}, {0}, {}, {}},
              FabricRoutesDifference{2, {0}, {1}, {0, 1}, {0}, {}, {}},
              FabricRoutesDifference{2, {0}, {0}, {0, 1}, {2}, {}, {}},
              FabricRoutesDifference{2, {0}, {0}, {0, 2}, {1}, {}, {}},
              FabricRoutesDifference{2, {0, 1}, {0}, {0, 1}, {1}, {}, {}},
              FabricRoutesDifference{2, {}, {}, {0}, {}, {0}, {2}},
              FabricRoutesDifference{0, {0}, {0}, {0, 1}, {0}, {}, {}}})
        {
            Refuse(network, {5, {}, {routes}}, "with a group, set or port that does not exist");
        }
        const FabricBufferState buffer{0, 1'000, 0, 0, {}};
        Refuse(network, {5, {}, {}, {}, {buffer}}, "node 0, which is no switch with memory");
    }

    void Refuse(ChangingNetwork& network, const FabricChange& change, const std::string& why)
    {
        std::string said = "nothing";
        try
        {
            network.changes.Schedule(change);
        }
        catch (const std::invalid_argument& error)
        {
            said = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(said.find(why), std::string::npos, said << "; expected " << why);
    }
};

class FabricChangesTestSuite : public TestSuite
{
  public:
    FabricChangesTestSuite()
        : TestSuite("astra-fabric-changes", Type::UNIT)
    {
        AddTestCase(new NobodyStaysStoppedByADeadLink);
        AddTestCase(new AnOldStopIsForgotten);
        AddTestCase(new OneDirectionIsDown);
        AddTestCase(new ADeadEgressLetsItsSendersGoOn);
        AddTestCase(new ADeadSwitchHoldsNothing);
        AddTestCase(new TablesFollow);
        AddTestCase(new BothDirectionsChange);
        AddTestCase(new TablesChangeByEntries);
        AddTestCase(new FlowletsForgetTheirPorts);
        AddTestCase(new AHostWithoutAWayDropsPackets);
        AddTestCase(new WhatDoesNotExistCanNotChange);
    }
};

FabricChangesTestSuite g_fabricChangesTestSuite; //!< registers itself
} // namespace fabric_changes_test
