// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What threads that play switches are made of: sharing out of work, and a link with two ends.
 */
#include "fabric-crew.h"
#include "fabric-due-list.h"
#include "fabric-frame.h"
#include "fabric-lane.h"
#include "fabric-wire.h"

#include "ns3/test.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace fabric_crew_test
{
using namespace ns3;

class EachPieceOnce : public TestCase
{
  public:
    EachPieceOnce()
        : TestCase("each piece of work is done once, whoever does it, time after time")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t helpers : {0U, 1U, 3U})
        {
            std::vector<std::atomic<uint32_t>> done(100);
            std::atomic<uint32_t> strangers{0};
            FabricCrew crew(helpers, [&](uint32_t worker, uint32_t piece) {
                done[piece]++;
                strangers += worker > helpers ? 1 : 0;
            });
            constexpr uint32_t TIMES = 2'000;
            for (uint32_t time = 0; time < TIMES; ++time)
            {
                crew.Begin(time % 101);
                crew.Finish();
            }
            NS_TEST_EXPECT_MSG_EQ(strangers, 0U, "workers are numbered");
            for (uint32_t piece = 0; piece < done.size(); ++piece)
            {
                uint32_t expected = 0;
                for (uint32_t time = 0; time < TIMES; ++time)
                {
                    expected += piece < time % 101 ? 1 : 0;
                }
                NS_TEST_EXPECT_MSG_EQ(done[piece], expected, "piece " << piece);
            }
        }
    }
};

class WhatAPieceThrows : public TestCase
{
  public:
    WhatAPieceThrows()
        : TestCase("what a piece throws comes out of Finish, and the crew goes on")
    {
    }

  private:
    void DoRun() override
    {
        std::atomic<bool> throws{true};
        FabricCrew crew(2, [&throws](uint32_t, uint32_t piece) {
            if (throws && piece == 3)
            {
                throw std::logic_error("a piece");
            }
        });
        crew.Begin(8);
        bool thrown = false;
        try
        {
            crew.Finish();
        }
        catch (const std::logic_error&)
        {
            thrown = true;
        }
        NS_TEST_EXPECT_MSG_EQ(thrown, true, "it comes out");
        throws = false;
        crew.Begin(8);
        crew.Finish();
    }
};

class FramesFromThreadToThread : public TestCase
{
  public:
    FramesFromThreadToThread()
        : TestCase("a link gives frames in their order, also those that found no room")
    {
    }

  private:
    void DoRun() override
    {
        FabricWire wire;
        std::vector<FabricFrame> frames(5'000);
        std::mt19937 random(1);
        std::size_t sent = 0;
        std::size_t received = 0;
        while (received < frames.size())
        {
            // A window: one thread sends, the other takes what had been sent before.
            const std::size_t upTo = std::min(frames.size(), sent + random() % 40);
            const std::size_t until = received + random() % (sent - received + 1);
            std::atomic<bool> grown{false};
            std::thread sender([&] {
                for (; sent < upTo; ++sent)
                {
                    const bool merge = wire.Send(&frames[sent], static_cast<int64_t>(sent));
                    grown = grown || merge;
                }
            });
            for (; received < until && wire.Pull(); ++received)
            {
                const auto timePs = static_cast<int64_t>(received);
                NS_TEST_EXPECT_MSG_EQ(wire.GetFrontPs(), timePs, "when it arrives");
                NS_TEST_EXPECT_MSG_EQ((wire.PopFront() == &frames[received]), true, "which");
            }
            sender.join();
            if (grown)
            {
                wire.Merge();
            }
        }
        NS_TEST_EXPECT_MSG_EQ(wire.Pull(), false, "all were taken");
    }
};

class CollectedFrames : public TestCase
{
  public:
    CollectedFrames()
        : TestCase("once collected, all frames of a link can be counted and looked at")
    {
    }

  private:
    void DoRun() override
    {
        FabricWire wire;
        std::vector<FabricFrame> frames(11);
        for (FabricFrame& frame : frames)
        {
            wire.Send(&frame, 7);
        }
        wire.Collect();
        NS_TEST_ASSERT_MSG_EQ(wire.GetSize(), frames.size(), "all");
        for (uint32_t number = 0; number < frames.size(); ++number)
        {
            NS_TEST_EXPECT_MSG_EQ((&wire.Get(number) == &frames[number]), true, number);
        }
        NS_TEST_EXPECT_MSG_EQ((wire.Back() == &frames.back()), true, "the newest");
    }
};

class FramesOneThreadTakes : public TestCase
{
  public:
    FramesOneThreadTakes()
        : TestCase("what one thread takes and another gives back is handed out again, also after "
                   "quiet windows")
    {
    }

  private:
    void DoRun() override
    {
        FabricLane other;
        other.number = 1;
        const uint64_t before = FabricFramePool::CountFrames();
        for (uint32_t window = 0; window < 5; ++window)
        {
            std::vector<FabricFrame*> frames;
            std::vector<FabricTelemetry*> telemetry;
            FabricLane::Enter(&other);
            for (uint32_t number = 0; number < 1'000; ++number)
            {
                frames.push_back(FabricFramePool::Take());
                telemetry.push_back(FabricFramePool::TakeTelemetry());
            }
            FabricLane::Enter(nullptr);
            const uint32_t made = window == 0 ? 1'000U : 0U;
            NS_TEST_EXPECT_MSG_EQ(other.frames.lacked, made, "frames made in window " << window);
            NS_TEST_EXPECT_MSG_EQ(other.telemetry.lacked, made, "telemetry, window " << window);
            std::for_each(frames.begin(), frames.end(), FabricFramePool::Give);
            std::for_each(telemetry.begin(), telemetry.end(), FabricFramePool::GiveTelemetry);
            FabricFramePool::Balance(other, 10);
            NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountFrames(), before, "none is out");
            for (uint32_t quiet = 0; quiet < 5'000; ++quiet)
            {
                FabricFramePool::Balance(other, 10);
            }
            NS_TEST_EXPECT_MSG_GT_OR_EQ(other.frames.count, 1'000U, "levelled");
        }
        FabricFramePool::Balance(other, 0);
        NS_TEST_EXPECT_MSG_EQ(other.frames.count + other.telemetry.count, 0U, "all taken back");
    }
};

class DuesComeInOrder : public TestCase
{
  public:
    DuesComeInOrder()
        : TestCase("a list of dues gives them by time, order and rank, whatever is taken out")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(2);
        FabricDueList list;
        std::vector<FabricDue> kept;
        for (uint32_t number = 0; number < 2'000; ++number)
        {
            const FabricDue due{static_cast<int64_t>(random() % 50),
                                random() % 5,
                                number,
                                static_cast<uint32_t>(random() % 1'000'000)};
            list.Push(due);
            if (due.target % 3 != 0)
            {
                kept.push_back(due);
            }
        }
        const auto erased = list.EraseIf([](const FabricDue& due) { return due.target % 3 == 0; });
        NS_TEST_EXPECT_MSG_EQ(erased + kept.size(), 2'000U, "a third is taken out");
        std::sort(kept.begin(), kept.end(), [](const FabricDue& a, const FabricDue& b) {
            return a.IsBefore(b);
        });
        for (const FabricDue& due : kept)
        {
            NS_TEST_EXPECT_MSG_EQ(list.Pop().target, due.target, "in order");
        }
        NS_TEST_EXPECT_MSG_EQ(list.IsEmpty(), true, "none is left");
    }
};

class FabricCrewTestSuite : public TestSuite
{
  public:
    FabricCrewTestSuite()
        : TestSuite("astra-fabric-crew", Type::UNIT)
    {
        AddTestCase(new EachPieceOnce, Duration::QUICK);
        AddTestCase(new WhatAPieceThrows, Duration::QUICK);
        AddTestCase(new FramesFromThreadToThread, Duration::QUICK);
        AddTestCase(new FramesOneThreadTakes, Duration::QUICK);
        AddTestCase(new CollectedFrames, Duration::QUICK);
        AddTestCase(new DuesComeInOrder, Duration::QUICK);
    }
};

FabricCrewTestSuite g_fabricCrewTestSuite; //!< registers itself
} // namespace fabric_crew_test
