// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricPort and FabricChanges: links that go down and come up, that get other rates, delays and
 * error rates, and tables that change. Times are worked out by hand: at 100 Gb/s a byte takes 80
 * ps, and a frame of b bytes has 20 more on the line.
 */
#include "changes-fixture.h"
#include "fabric-flowlet-choice.h"

#include "ns3/ipv4-header.h"
#include "ns3/test.h"

#include <functional>
#include <random>
#include <stdexcept>

using namespace ns3;
using namespace ns3::test;

namespace
{

constexpr uint64_t RATE_BPS = 100'000'000'000;
constexpr int64_t PS_PER_BYTE = 80;
constexpr uint32_t FRAME_BYTES = 980; // 1000 on the line: 80 ns
constexpr int64_t FRAME_PS = 1000 * PS_PER_BYTE;
constexpr int64_t DELAY_PS = 500'000;
constexpr uint8_t PRIORITY = 3;

/// Run something at a time.
void
At(int64_t timePs, std::function<void()> what)
{
    Simulator::Schedule(TimeStep(timePs), what);
}

/// Take a port down, as FabricChanges does.
void
TakeDown(FabricPort& port)
{
    port.SettleMemory();
    port.GoDown();
    port.LoseContents();
}

/// A port to an owner's far end.
struct Wire : public FabricReceiver
{
    explicit Wire(uint64_t rateBps = RATE_BPS, int64_t delayPs = DELAY_PS)
        : port(MakePort(rateBps, delayPs))
    {
        port->Connect(this, 0, 0);
    }

    ~Wire() override
    {
        port->Dispose();
        Simulator::Destroy();
    }

    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    void ReceiveFrame(FabricFrame* frame, uint32_t) override
    {
        frame->flow->ReceiveFrame(frame);
    }

    /// Send some frames now.
    void Send(uint32_t frames, uint8_t priority = 0)
    {
        for (; frames > 0; --frames)
        {
            port->Enqueue(owner.Make(FRAME_BYTES, priority));
        }
    }

    CountingOwner owner;  //!< of the frames
    Ptr<FabricPort> port; //!< sends them
};

class WhatIsInADownedPortIsLost : public TestCase
{
  public:
    WhatIsInADownedPortIsLost()
        : TestCase(
              "a link that goes down loses what is on the wire, what waits and what comes, each "
              "counted for its reason and told to its owner at once")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t before = FabricFramePool::CountFrames();
        Wire wire;
        // One frame leaves every 80 ns; 0 arrives at 580 ns, 1 at 660 ns.
        wire.Send(12);
        const int64_t downPs = 660'000 + 1;
        At(downPs, [&wire] { TakeDown(*wire.port); });
        At(700'000, [&wire] { wire.Send(2); });
        Simulator::Run();
        // At 660.001 ns frames 0 and 1 have arrived, 2 to 8 have left, the last of them at 640 ns.
        const FabricPortCounters& counters = wire.port->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(wire.port->IsUp(), false, "it is down");
        NS_TEST_EXPECT_MSG_EQ(
            FirstDifference(wire.owner.GetArrivals(), {{580'000, 0}, {660'000, 1}}),
            "",
            "arrivals");
        NS_TEST_EXPECT_MSG_EQ(counters.sentFrames, 9U, "sent");
        NS_TEST_EXPECT_MSG_EQ(counters.arrivedFrames, 2U, "arrived");
        NS_TEST_EXPECT_MSG_EQ(counters.cutFrames, 7U, "cut");
        NS_TEST_EXPECT_MSG_EQ(counters.downFrames, 5U, "three waited, two came later");
        NS_TEST_EXPECT_MSG_EQ(counters.downBytes, 5U * FRAME_BYTES, "their bytes");
        NS_TEST_EXPECT_MSG_EQ(counters.lostFrames + counters.droppedFrames, 0U, "other reasons");
        Stamps losses;
        for (uint64_t number = 2; number < 12; ++number)
        {
            losses.emplace_back(downPs, number);
        }
        losses.emplace_back(700'000, 12);
        losses.emplace_back(700'000, 13);
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(wire.owner.GetLosses(), losses), "", "losses");
        NS_TEST_EXPECT_MSG_EQ(wire.port->GetQueueBytes(), 0U, "nothing waits");
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountFrames(), before, "all were given back");
    }
};

class APortThatComesUpIsAsNew : public TestCase
{
  public:
    APortThatComesUpIsAsNew()
        : TestCase("a port that comes up sends at once, is not stopped, and no arrival is late "
                   "because of a frame that was cut")
    {
    }

  private:
    void DoRun() override
    {
        Wire wire;
        wire.Send(3, PRIORITY);
        At(10'000, [&wire] { wire.port->SetPaused(1U << PRIORITY); });
        At(100'000, [&wire] { TakeDown(*wire.port); });
        At(300'000, [&wire] {
            wire.port->SetAttribute("Delay", TimeValue(TimeStep(1'000)));
            wire.port->GoUp();
            wire.port->GoUp(); // it is up already
            wire.Send(2, PRIORITY);
        });
        Simulator::Run();
        // The first frame would have arrived at 580 ns.
        NS_TEST_EXPECT_MSG_EQ(
            FirstDifference(wire.owner.GetArrivals(),
                            {{300'000 + FRAME_PS + 1'000, 3}, {300'000 + 2 * FRAME_PS + 1'000, 4}}),
            "",
            "arrivals");
        NS_TEST_EXPECT_MSG_EQ(wire.port->GetPaused(), 0, "not stopped");
        const FabricPortCounters& counters = wire.port->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(counters.pausedPs, 90'000, "it was stopped until it went down");
        NS_TEST_EXPECT_MSG_EQ(counters.cutFrames, 1U, "one was on the wire");
        NS_TEST_EXPECT_MSG_EQ(counters.downFrames, 2U, "two waited");
    }
};

class NewNumbersAreOfWhatLeavesLater : public TestCase
{
  public:
    NewNumbersAreOfWhatLeavesLater()
        : TestCase("a frame keeps rate and delay with which it left, and none overtakes another")
    {
    }

  private:
    void DoRun() override
    {
        Wire wire;
        // Frame 0 leaves at 0, 1 at 80 ns; from 100 ns on at half the rate, so 2 leaves at 160 ns
        // and takes 160 ns. From 350 ns on the link is 1 ns long: 3, which left at 320 ns, keeps
        // 500 ns. 4 leaves at 480 ns and would arrive at 641 ns, before 3 does.
        wire.Send(6);
        At(100'000,
           [&wire] { wire.port->SetAttribute("DataRate", DataRateValue(DataRate(RATE_BPS / 2))); });
        At(350'000, [&wire] { wire.port->SetAttribute("Delay", TimeValue(TimeStep(1'000))); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(wire.owner.GetArrivals(),
                                              {{580'000, 0},
                                               {660'000, 1},
                                               {820'000, 2},
                                               {980'000, 3},
                                               {980'000, 4},
                                               {980'000, 5}}),
                              "",
                              "arrivals");
    }
};

class ErrorRatesAreOfWhatLeavesLater : public TestCase
{
  public:
    ErrorRatesAreOfWhatLeavesLater()
        : TestCase("a frame is lost with the probability of when it left")
    {
    }

  private:
    void DoRun() override
    {
        Wire wire;
        wire.port->SetErrorRate(0.0, CreateObject<UniformRandomVariable>());
        wire.Send(10);
        // 0, 1 and 2 have left; then all are lost that leave, 3 and 4; then none; and 8 and 9
        // again.
        const auto set = [&wire](int64_t timePs, double rate) {
            At(timePs, [&wire, rate] { wire.port->SetErrorRate(rate, nullptr); });
        };
        set(200'000, 0.5);
        set(200'000, 1.0);
        set(360'000, 0.0);
        set(620'000, 1.0);
        Simulator::Run();
        Stamps arrivals;
        for (uint64_t number : {0, 1, 2, 5, 6, 7})
        {
            arrivals.emplace_back(580'000 + static_cast<int64_t>(number) * FRAME_PS, number);
        }
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(wire.owner.GetArrivals(), arrivals), "", "arrivals");
        NS_TEST_EXPECT_MSG_EQ(wire.port->GetCounters().lostFrames, 4U, "lost");
        NS_TEST_EXPECT_MSG_EQ(wire.port->GetErrorRate(), 1.0, "as set last");
    }
};

class ErrorRatesOfCutFramesAreForgotten : public TestCase
{
  public:
    ErrorRatesOfCutFramesAreForgotten()
        : TestCase("what leaves a link that is up again is lost with its present probability, not "
                   "with that of what was cut")
    {
    }

  private:
    void DoRun() override
    {
        for (double rate : {0.0, 1.0})
        {
            Wire wire;
            wire.port->SetErrorRate(1.0 - rate, CreateObject<UniformRandomVariable>());
            wire.Send(3);
            At(100'000, [&wire, rate] { wire.port->SetErrorRate(rate, nullptr); });
            At(200'000, [&wire] { TakeDown(*wire.port); });
            At(300'000, [&wire] {
                wire.port->GoUp();
                wire.Send(10);
            });
            Simulator::Run();
            const std::size_t expected = rate > 0.0 ? 0 : 10;
            NS_TEST_EXPECT_MSG_EQ(wire.owner.GetArrivals().size(), expected, "all or none arrive");
        }
    }
};

class RoundRobinBeginsAnew : public TestCase
{
  public:
    RoundRobinBeginsAnew()
        : TestCase("round robin takes turns after a failure as in a new port")
    {
    }

  private:
    /// \return the order in which frames of two priorities arrive. \param failAfterPs when the link
    /// fails for a moment while others wait; 0: never
    static std::vector<uint64_t> Play(int64_t failAfterPs)
    {
        Wire wire;
        // A frame and a half in a turn, so that something is left over.
        wire.port->SetScheduler(std::make_unique<FabricDeficitRoundRobin>(
            std::array<uint32_t, FABRIC_PRIORITIES>{FRAME_BYTES * 3 / 2, FRAME_BYTES * 5 / 2}));
        uint64_t first = 0;
        const auto send = [&wire](uint32_t frames) {
            for (uint32_t number = 0; number < frames; ++number)
            {
                wire.Send(1, number % 2);
            }
        };
        if (failAfterPs > 0)
        {
            send(30);
            first = 30;
            At(failAfterPs, [&wire] { TakeDown(*wire.port); });
        }
        At(5'000'000, [&wire, send] {
            wire.port->GoUp();
            send(30);
        });
        Simulator::Run();
        std::vector<uint64_t> order;
        for (const auto& [timePs, number] : wire.owner.GetArrivals())
        {
            if (number >= first)
            {
                order.push_back(number - first);
            }
        }
        return order;
    }

    void DoRun() override
    {
        const std::vector<uint64_t> fresh = Play(0);
        NS_TEST_EXPECT_MSG_EQ(fresh.size(), 30U, "all arrive");
        for (int64_t frames = 1; frames < 12; ++frames)
        {
            NS_TEST_EXPECT_MSG_EQ((Play(frames * FRAME_PS + 1) == fresh),
                                  true,
                                  "after " << frames << " frames");
        }
    }
};

/// A source that always has frames.
class EagerSource : public FabricFrameSource
{
  public:
    EagerSource(CountingOwner& owner, uint32_t frames)
        : m_owner(owner),
          m_left(frames)
    {
    }

    int64_t GetNextPs(uint32_t) override
    {
        return m_left > 0 ? 0 : NEVER;
    }

    FabricFrame* Take(int64_t, uint32_t) override
    {
        --m_left;
        return m_owner.Make(FRAME_BYTES, 0);
    }

  private:
    CountingOwner& m_owner; //!< of its frames
    uint32_t m_left;        //!< frames
};

class ASourceWaitsForTheLink : public TestCase
{
  public:
    ASourceWaitsForTheLink()
        : TestCase("a source is not asked while the link is down, and goes on when it is up")
    {
    }

  private:
    void DoRun() override
    {
        Wire wire;
        EagerSource source(wire.owner, 5);
        wire.port->SetSource(&source);
        wire.port->SourceChanged(0);
        At(100'000, [&wire] { TakeDown(*wire.port); }); // 0 and 1 have left
        At(500'000, [&wire] {
            wire.port->SourceChanged(500'000);
            NS_ABORT_IF(wire.owner.GetMade() != 2);
        });
        At(2'000'000, [&wire] { wire.port->GoUp(); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(wire.owner.GetArrivals(),
                                              {{2'580'000, 2}, {2'660'000, 3}, {2'740'000, 4}}),
                              "",
                              "arrivals");
        wire.port->SetSource(nullptr);
    }
};

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
            NS_TEST_EXPECT_MSG_EQ(port->DrawsLosses(), true, "somebody draws");
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

/// Plays random traffic on a network with circles while links and switches come and go.
class BooksAddUp : public TestCase
{
  public:
    explicit BooksAddUp(uint32_t seed)
        : TestCase("frames are conserved, and a mended network is as new, seed " +
                   std::to_string(seed)),
          m_seed(seed)
    {
    }

    /// Frames that were cut and dropped because a link was down, in all of them.
    static std::pair<uint64_t, uint64_t>& GetTotal()
    {
        static std::pair<uint64_t, uint64_t> total;
        return total;
    }

  private:
    static constexpr uint32_t HOSTS = 6;
    static constexpr uint32_t SWITCHES = 4;
    static constexpr int64_t TRAFFIC_PS = 60'000'000;
    static constexpr int64_t MENDED_PS = 70'000'000;
    static constexpr int64_t AFTER_PS = 1'000'000'000; // all has come to rest long before
    static constexpr uint32_t LINKS = 14;

    static std::unique_ptr<ChangingNetwork> MakeNetwork()
    {
        // Hosts hang on two leaves, each of which is joined to both spines twice.
        return std::make_unique<ChangingNetwork>(HOSTS,
                                                 SWITCHES,
                                                 std::vector<ChangingNetwork::Ends>{{0, 6},
                                                                                    {1, 7},
                                                                                    {2, 6},
                                                                                    {3, 7},
                                                                                    {4, 6},
                                                                                    {5, 7},
                                                                                    {6, 8},
                                                                                    {6, 9},
                                                                                    {7, 8},
                                                                                    {7, 9},
                                                                                    {6, 8},
                                                                                    {6, 9},
                                                                                    {7, 8},
                                                                                    {7, 9}},
                                                 290'000,
                                                 16'000);
    }

    /// \return a number below a limit
    uint32_t Below(uint64_t limit)
    {
        return static_cast<uint32_t>(m_random() % limit);
    }

    /// Send a frame at a time between random hosts, more often to the first two.
    void SendAt(ChangingNetwork& network, int64_t timePs)
    {
        const uint32_t from = Below(HOSTS);
        const uint32_t among = Below(3) > 0 ? 2 : HOSTS;
        const uint32_t drawn = Below(among);
        const uint32_t to = drawn == from ? (drawn + 1) % HOSTS : drawn;
        const uint32_t bytes = 64 + Below(1'500);
        const std::array<uint8_t, 3> priorities{0,
                                                ChangingNetwork::LOSSLESS,
                                                ChangingNetwork::LOSSLESS_TOO};
        const uint8_t priority = priorities[Below(3)];
        At(timePs,
           [&network, from, to, bytes, priority] { network.Send(from, to, bytes, priority); });
    }

    void ScheduleChanges(ChangingNetwork& network)
    {
        std::map<int64_t, std::map<uint32_t, bool>> changes;
        for (uint32_t left = 1 + Below(5); left > 0; --left)
        {
            const int64_t downPs = Below(TRAFFIC_PS / 2);
            const int64_t upPs = downPs + 1 + Below(TRAFFIC_PS / 2);
            const std::vector<uint32_t> links =
                Below(3) == 0 ? network.LinksOf(Below(SWITCHES)) : std::vector{Below(LINKS)};
            for (uint32_t link : links)
            {
                changes[downPs][link] = false;
                changes[upPs][link] = true;
            }
        }
        for (uint32_t link = 0; link < LINKS; ++link)
        {
            changes[MENDED_PS][link] = true;
        }
        for (const auto& [timePs, links] : changes)
        {
            std::vector<FabricLinkState> states;
            for (const auto& [link, up] : links)
            {
                states.push_back(ChangingNetwork::Usual(link, up));
            }
            network.Change(timePs, states);
        }
    }

    /// \return arrivals of a burst in which much is stopped, by time since it began
    Stamps PlayBurst(ChangingNetwork& network, int64_t startPs)
    {
        const uint64_t before = network.owner.GetMade();
        const std::size_t arrived = network.owner.GetArrivals().size();
        m_random.seed(m_seed + 1'000);
        for (uint32_t frames = 0; frames < 1'500; ++frames)
        {
            SendAt(network, startPs - Simulator::Now().GetTimeStep() + Below(8'000'000));
        }
        Simulator::Run();
        Stamps arrivals(network.owner.GetArrivals().begin() + static_cast<std::ptrdiff_t>(arrived),
                        network.owner.GetArrivals().end());
        for (auto& [timePs, number] : arrivals)
        {
            timePs -= startPs;
            number -= before;
        }
        return arrivals;
    }

    void DoRun() override
    {
        const uint64_t pooled = FabricFramePool::CountFrames();
        m_random.seed(m_seed);
        auto network = MakeNetwork();
        ScheduleChanges(*network);
        for (uint32_t frames = 0; frames < 6'000; ++frames)
        {
            SendAt(*network, Below(TRAFFIC_PS));
        }
        for (uint32_t looks = 0; looks < 40; ++looks)
        {
            At(Below(MENDED_PS), [this, &network] {
                NS_TEST_EXPECT_MSG_EQ(network->Audit(), "", "books, on the way");
            });
        }
        Simulator::Stop(TimeStep(AFTER_PS));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network->AuditAtRest(), "", "books, at rest");
        NS_TEST_EXPECT_MSG_EQ(network->owner.GetArrivals().size() +
                                  network->owner.GetLosses().size(),
                              6'000U,
                              "each frame has arrived, or its owner knows that it is lost");
        GetTotal().first += network->Sum(&FabricPortCounters::cutFrames);
        GetTotal().second += network->Sum(&FabricPortCounters::downFrames);
        const Stamps mended = PlayBurst(*network, AFTER_PS + 1'000'000);
        network.reset();
        auto fresh = MakeNetwork();
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(mended, PlayBurst(*fresh, 1'000'000)),
                              "",
                              "the same burst in a network that never changed");
        NS_TEST_EXPECT_MSG_GT(fresh->Sum(&FabricPortCounters::pauseFrames), 0U, "it is crowded");
        fresh.reset();
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountFrames(), pooled, "all were given back");
    }

    uint32_t m_seed;          //!< of what is drawn
    std::mt19937_64 m_random; //!< draws
};

class MuchWasLost : public TestCase
{
  public:
    MuchWasLost()
        : TestCase("links went down while much was in them")
    {
    }

  private:
    void DoRun() override
    {
        const auto [cut, down] = BooksAddUp::GetTotal();
        NS_TEST_EXPECT_MSG_GT(cut, 500U, "frames on the wire");
        NS_TEST_EXPECT_MSG_GT(down, 2'000U, "frames that waited or came");
    }
};

class FabricChangesTestSuite : public TestSuite
{
  public:
    FabricChangesTestSuite()
        : TestSuite("astra-fabric-changes", Type::UNIT)
    {
        AddTestCase(new WhatIsInADownedPortIsLost);
        AddTestCase(new APortThatComesUpIsAsNew);
        AddTestCase(new NewNumbersAreOfWhatLeavesLater);
        AddTestCase(new ErrorRatesAreOfWhatLeavesLater);
        AddTestCase(new ErrorRatesOfCutFramesAreForgotten);
        AddTestCase(new RoundRobinBeginsAnew);
        AddTestCase(new ASourceWaitsForTheLink);
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
        for (uint32_t seed = 1; seed <= 30; ++seed)
        {
            AddTestCase(new BooksAddUp(seed));
        }
        AddTestCase(new MuchWasLost);
    }
};

FabricChangesTestSuite g_fabricChangesTestSuite; //!< registers itself
} // namespace
