// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * The parts of a FabricPort, each by itself: how fast its line is and when it is free, what waits,
 * what is stopped, what is lost.
 */
#include "fabric-line-rate.h"
#include "fabric-line.h"
#include "fabric-losses.h"
#include "fabric-pause-state.h"
#include "fabric-queues.h"

#include "ns3/test.h"

#include <array>
#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace fabric_port_parts_test
{
using namespace ns3;

constexpr uint32_t STEPS = 20'000;

class RatesAreRoundedToTheNearest : public TestCase
{
  public:
    RatesAreRoundedToTheNearest()
        : TestCase("a time is exact where bytes take whole picoseconds, else to the nearest")
    {
    }

  private:
    void DoRun() override
    {
        FabricLineRate rate;
        rate.SetBps(400'000'000'000);
        NS_TEST_EXPECT_MSG_EQ(rate.GetBytePs(), 20, "20 ps a byte");
        NS_TEST_EXPECT_MSG_EQ(rate.TransmissionPs(1'538), 30'760, "of 1,538 bytes");
        rate.SetRoundingPs(1'000);
        NS_TEST_EXPECT_MSG_EQ(rate.GetBytePs(), 0, "it is rounded");
        NS_TEST_EXPECT_MSG_EQ(rate.TransmissionPs(1'538), 31'000, "to a nanosecond");
        NS_TEST_EXPECT_MSG_EQ(rate.RoundPs(30'499), 30'000, "below the middle");
        NS_TEST_EXPECT_MSG_EQ(rate.RoundPs(30'500), 31'000, "the middle goes up");
        rate.SetRoundingPs(0);
        rate.SetBps(2'400'000'000'000);
        NS_TEST_EXPECT_MSG_EQ(rate.GetBytePs(), 0, "10 / 3 ps a byte");
        NS_TEST_EXPECT_MSG_EQ(rate.TransmissionPs(86), 287, "286.67");
        rate.SetBps(1'000); // 8 ms a byte: it takes more than 32 bits
        FabricLine line;
        line.SetBytePs(rate.GetBytePs());
        NS_TEST_EXPECT_MSG_EQ(rate.GetBytePs(), 8'000'000'000, "whole");
        NS_TEST_EXPECT_MSG_EQ(line.GetBytePs(), 0, "the line leaves it to the rate");
        NS_TEST_EXPECT_MSG_EQ(rate.TransmissionPs(3), 24'000'000'000, "which says the same");
    }
};

class ALineKeepsItsOrder : public TestCase
{
  public:
    ALineKeepsItsOrder()
        : TestCase("no frame overtakes another, and a line that is down is never free")
    {
    }

  private:
    void DoRun() override
    {
        FabricLine line;
        line.SetDelayPs(1'000);
        NS_TEST_EXPECT_MSG_EQ(line.IsFree(0), true, "from the start");
        NS_TEST_EXPECT_MSG_EQ(line.Carry(10, 100), 1'110, "the first frame");
        NS_TEST_EXPECT_MSG_EQ(line.IsFree(109), false, "busy");
        NS_TEST_EXPECT_MSG_EQ(line.IsFree(110), true, "free again");
        line.SetDelayPs(50);
        NS_TEST_EXPECT_MSG_EQ(line.Carry(200, 100), 1'110, "behind the first");
        NS_TEST_EXPECT_MSG_EQ(line.Carry(1'200, 100), 1'350, "by the new delay");
        line.GoDown();
        NS_TEST_EXPECT_MSG_EQ(line.IsUp(), false, "down");
        NS_TEST_EXPECT_MSG_EQ(line.IsFree(1'000'000'000'000), false, "takes nothing");
        line.BecomeFree(1'300);
        NS_TEST_EXPECT_MSG_EQ(line.IsUp(), true, "up");
        NS_TEST_EXPECT_MSG_EQ(line.Carry(1'300, 10), 1'360, "nothing is before it");
    }
};

/// A flow whose frames of kind 0 have data.
class OfKinds : public FabricFlow
{
  public:
    void ReceiveFrame(FabricFrame*) override
    {
    }

    Ptr<Packet> MakePacket(const FabricFrame&) const override
    {
        return nullptr;
    }

    bool HasData(const FabricFrame& frame) const override
    {
        return frame.kind == 0;
    }
};

class QueuesAreWhatWasPutIn : public TestCase
{
  public:
    QueuesAreWhatWasPutIn()
        : TestCase("queues hold, count and choose as lists that are looked through each time")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint16_t ownPort :
             {FabricQueues::NO_PORT, uint16_t{0}, uint16_t{2}, FabricQueues::ANY_PORT})
        {
            Play(ownPort);
        }
    }

    void Play(uint16_t ownPort)
    {
        std::mt19937 random(7);
        std::vector<FabricFrame> frames(64);
        std::vector<FabricFrame*> spare;
        for (FabricFrame& frame : frames)
        {
            spare.push_back(&frame);
        }
        std::array<std::deque<FabricFrame*>, FabricQueues::QUEUES> expected;
        uint64_t highest = 0;
        uint8_t stopped = 0;
        OfKinds flow;
        FabricQueues queues;
        queues.SetOwnPort(ownPort);
        for (uint32_t step = 0; step < STEPS; ++step)
        {
            const uint32_t next = Highest(expected, stopped);
            const auto action = random() % 8;
            if (action == 0)
            {
                stopped = static_cast<uint8_t>(random());
                queues.Stop(stopped);
            }
            else if (action < 5 && !spare.empty())
            {
                FabricFrame* frame = spare.back();
                spare.pop_back();
                frame->bufferBytes = 64 + random() % 1'000;
                frame->priority = random() % FABRIC_PRIORITIES;
                frame->ingressPort = random() % 3;
                frame->kind = random() % 2;
                const bool pause = random() % 9 == 0;
                frame->flow = !pause && random() % 4 > 0 ? &flow : nullptr;
                auto& list = expected[pause ? FabricQueues::PAUSES : frame->priority];
                const auto isFirst = [ownPort](const FabricFrame* each) {
                    const bool own =
                        each->ingressPort == ownPort || ownPort == FabricQueues::ANY_PORT;
                    return own && each->flow && each->kind != 0;
                };
                const auto behind = std::find_if_not(list.begin(), list.end(), isFirst);
                list.insert(isFirst(frame) ? behind : list.end(), frame);
                pause ? queues.PushPause(frame) : queues.Push(frame);
            }
            else if (next != FabricQueues::QUEUES)
            {
                NS_TEST_ASSERT_MSG_EQ(queues.Choose(), next, "the highest that may send");
                FabricFrame* frame = queues.Pop(next);
                NS_TEST_ASSERT_MSG_EQ((frame == expected[next].front()), true, "the oldest");
                expected[next].pop_front();
                spare.push_back(frame);
            }
            highest = std::max(highest, Bytes(expected));
            Compare(queues, expected, stopped, highest);
        }
    }

    /// Expected queues.
    using Lists = std::array<std::deque<FabricFrame*>, FabricQueues::QUEUES>;

    static uint64_t Bytes(const std::deque<FabricFrame*>& list)
    {
        uint64_t bytes = 0;
        for (const FabricFrame* frame : list)
        {
            bytes += frame->bufferBytes;
        }
        return bytes;
    }

    static uint64_t Bytes(const Lists& lists)
    {
        uint64_t bytes = 0;
        for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
        {
            bytes += Bytes(lists[priority]);
        }
        return bytes;
    }

    /// \return the queue that sends next, or QUEUES
    static uint32_t Highest(const Lists& lists, uint8_t stopped)
    {
        for (uint32_t queue = FabricQueues::QUEUES; queue-- > 0;)
        {
            const bool may = queue == FabricQueues::PAUSES || (stopped >> queue & 1) == 0;
            if (may && !lists[queue].empty())
            {
                return queue;
            }
        }
        return FabricQueues::QUEUES;
    }

    void Compare(const FabricQueues& queues, const Lists& lists, uint8_t stopped, uint64_t highest)
    {
        bool empty = true;
        for (uint32_t queue = 0; queue < FabricQueues::QUEUES; ++queue)
        {
            empty = empty && lists[queue].empty();
            NS_TEST_ASSERT_MSG_EQ(queues.GetList(queue).GetBytes(), Bytes(lists[queue]), "bytes");
        }
        for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
        {
            NS_TEST_ASSERT_MSG_EQ(queues.GetBytes(priority), Bytes(lists[priority]), "bytes");
            NS_TEST_ASSERT_MSG_EQ(queues.IsStopped(priority), (stopped >> priority & 1), "stopped");
        }
        const bool ready = Highest(lists, stopped) != FabricQueues::QUEUES;
        NS_TEST_ASSERT_MSG_EQ(queues.IsEmpty(), empty, "whether anything waits");
        NS_TEST_ASSERT_MSG_EQ(queues.IsReady(), ready, "whether anything may be sent");
        NS_TEST_ASSERT_MSG_EQ(queues.GetBytes(), Bytes(lists), "all bytes");
        NS_TEST_ASSERT_MSG_EQ(queues.GetHighestBytes(), highest, "the most that ever waited");
    }
};

class StopsAreCountedPicosecondByPicosecond : public TestCase
{
  public:
    StopsAreCountedPicosecondByPicosecond()
        : TestCase("stops last as long as if each picosecond were looked at")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(11);
        FabricPauseState pauses;
        std::array<int64_t, FABRIC_PRIORITIES> stoppedPs{};
        std::array<int64_t, FABRIC_PRIORITIES> sincePs{};
        int64_t anyPs = 0;
        uint64_t count = 0;
        uint8_t stopped = 0;
        for (int64_t nowPs = 0; nowPs < STEPS; ++nowPs)
        {
            if (random() % 4 == 0)
            {
                const auto next = static_cast<uint8_t>(random() % 3 == 0 ? 0 : random());
                NS_TEST_ASSERT_MSG_EQ(pauses.Stop(next, nowPs), (next != stopped), "a change");
                for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
                {
                    const bool begins = (next & ~stopped) >> priority & 1;
                    count += begins ? 1 : 0;
                    sincePs[priority] = begins ? nowPs : sincePs[priority];
                }
                stopped = next;
            }
            NS_TEST_ASSERT_MSG_EQ(pauses.GetStopped(), stopped, "what is stopped");
            NS_TEST_ASSERT_MSG_EQ(pauses.GetPauses(), count, "how often");
            NS_TEST_ASSERT_MSG_EQ(pauses.GetAnyStoppedPs(nowPs), anyPs, "any");
            NS_TEST_ASSERT_MSG_EQ((stopped != 0 || pauses.GetAnyStoppedPs() == anyPs),
                                  true,
                                  "stops that are over");
            for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
            {
                const bool is = stopped >> priority & 1;
                NS_TEST_ASSERT_MSG_EQ(pauses.GetStoppedPs(priority, nowPs),
                                      stoppedPs[priority],
                                      "this priority");
                NS_TEST_ASSERT_MSG_EQ((!is || pauses.GetSincePs(priority) == sincePs[priority]),
                                      true,
                                      "since when");
                stoppedPs[priority] += is ? 1 : 0;
            }
            anyPs += stopped != 0 ? 1 : 0;
        }
    }
};

class FramesAreLostByTheRateTheyLeftWith : public TestCase
{
  public:
    FramesAreLostByTheRateTheyLeftWith()
        : TestCase("a frame is lost by the error rate that it left with, a pause frame never")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(13);
        std::vector<FabricFrame> frames(4'000);
        std::deque<std::pair<const FabricFrame*, bool>> way; // and whether each is lost
        FabricLosses losses;
        double rate = 0.0;
        std::size_t sent = 0;
        while (sent < frames.size() || !way.empty())
        {
            const auto action = random() % 5;
            if (action == 0)
            {
                rate = random() % 2 == 0 ? 0.0 : 1.0;
                losses.SetRate(rate, way.empty() ? nullptr : way.back().first);
                NS_TEST_ASSERT_MSG_EQ(losses.GetRate(), rate, "of what leaves now");
            }
            else if (action < 3 && sent < frames.size())
            {
                FabricFrame& frame = frames[sent++];
                frame.isPause = random() % 7 == 0;
                way.emplace_back(&frame, rate > 0.0 && !frame.isPause);
            }
            else if (!way.empty())
            {
                const auto [frame, lost] = way.front();
                way.pop_front();
                NS_TEST_ASSERT_MSG_EQ((losses.MayLose() || !lost), true, "it may be lost");
                NS_TEST_ASSERT_MSG_EQ(losses.IsLost(*frame), lost, "as it left");
            }
        }
        losses.SetRate(0.0, nullptr);
        losses.SetRate(1.0, frames.data());
        NS_TEST_EXPECT_MSG_EQ(losses.IsLost(frames.front()), false, "it left before");
        losses.SetRate(0.0, frames.data());
        losses.Forget();
        NS_TEST_EXPECT_MSG_EQ(losses.MayLose(), false, "nothing is on the way");
    }
};

class FabricPortPartsTestSuite : public TestSuite
{
  public:
    FabricPortPartsTestSuite()
        : TestSuite("astra-fabric-port-parts", Type::UNIT)
    {
        AddTestCase(new RatesAreRoundedToTheNearest);
        AddTestCase(new ALineKeepsItsOrder);
        AddTestCase(new QueuesAreWhatWasPutIn);
        AddTestCase(new StopsAreCountedPicosecondByPicosecond);
        AddTestCase(new FramesAreLostByTheRateTheyLeftWith);
    }
};

FabricPortPartsTestSuite g_fabricPortPartsTestSuite; //!< registers itself
} // namespace fabric_port_parts_test
