// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricPort whose link goes down and comes up, and gets another rate, delay and error rate. Times
 * are worked out by hand: at 100 Gb/s a byte takes 80 ps, and a frame of 980 bytes has 20 more on
 * the line.
 */
#include "changes-fixture.h"

#include "ns3/test.h"

namespace fabric_port_changes_test
{
using namespace ns3;
using namespace ns3::test;

constexpr uint64_t RATE_BPS = 100'000'000'000;
constexpr int64_t DELAY_PS = 500'000;
constexpr uint8_t PRIORITY = 3;

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
        NS_TEST_EXPECT_MSG_EQ(wire.port->GetArrivedFrames(), 2U, "arrived");
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
        wire.port->SetErrorRate(0.0);
        wire.Send(10);
        // 0, 1 and 2 have left; then all are lost that leave, 3 and 4; then none; and 8 and 9
        // again.
        const auto set = [&wire](int64_t timePs, double rate) {
            At(timePs, [&wire, rate] { wire.port->SetErrorRate(rate); });
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
            wire.port->SetErrorRate(1.0 - rate);
            wire.Send(3);
            At(100'000, [&wire, rate] { wire.port->SetErrorRate(rate); });
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

class FabricPortChangesTestSuite : public TestSuite
{
  public:
    FabricPortChangesTestSuite()
        : TestSuite("astra-fabric-port-changes", Type::UNIT)
    {
        AddTestCase(new WhatIsInADownedPortIsLost);
        AddTestCase(new APortThatComesUpIsAsNew);
        AddTestCase(new NewNumbersAreOfWhatLeavesLater);
        AddTestCase(new ErrorRatesAreOfWhatLeavesLater);
        AddTestCase(new ErrorRatesOfCutFramesAreForgotten);
        AddTestCase(new RoundRobinBeginsAnew);
        AddTestCase(new ASourceWaitsForTheLink);
    }
};

FabricPortChangesTestSuite g_fabricPortChangesTestSuite; //!< registers itself
} // namespace fabric_port_changes_test
