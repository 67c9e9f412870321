// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * CollectiveSchedule: what it refuses, and how it cuts the data.
 */
#include "schedule-fixture.h"

#include "ns3/test.h"

#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace ns3;
using namespace ns3::test;

namespace
{
class BadColumnsAreRefused : public TestCase
{
  public:
    BadColumnsAreRefused()
        : TestCase("a schedule that can't be played is refused")
    {
    }

  private:
    void DoRun() override
    {
        // Rank 0 to 1 in step 0, and what 1 then sends on to 2 in step 1.
        const Row first{0, 1, 0, 0, 1, 1, -1, 0};
        const Row second{1, 2, 1, 1, 2, 0, 0, 1};
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, 3, {first, second}), false, "the good one");
        const std::vector<std::pair<const char*, Row>> bad{
            {"sender below 0", {-1, 2, 1, 1, 2, 0, 0, 1}},
            {"no such sender", {3, 2, 1, 1, 2, 0, -1, 0}},
            {"receiver below 0", {1, -1, 1, 1, 2, 0, 0, 1}},
            {"no such receiver", {1, 3, 1, 1, 2, 0, 0, 1}},
            {"to itself", {1, 1, 1, 1, 2, 0, 0, 1}},
            {"step below 0", {1, 2, -1, 1, 2, 0, 0, 1}},
            {"block below 0", {1, 2, 1, -1, 2, 0, 0, 1}},
            {"blocks below 0", {1, 2, 1, 1, -1, 0, 0, 1}},
            {"too many blocks", {1, 2, 1, 1, 3, 0, 0, 1}},
            {"waits for a step without receptions", {1, 2, 1, 1, 2, 0, 1, 1}},
            {"waits for more than there is", {1, 2, 1, 1, 2, 0, 0, 2}},
            {"waits for nothing", {1, 2, 1, 1, 2, 0, 0, 0}},
            {"another rank's reception", {2, 0, 1, 1, 2, 0, 0, 1}},
        };
        for (const auto& [what, row] : bad)
        {
            NS_TEST_EXPECT_MSG_EQ(IsRefused(3, 3, {first, row}), true, what);
        }
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, 0, {{0, 1, 0, 0, 0, 0, -1, 0}}),
                              true,
                              "no blocks at all");
    }

    static bool IsRefused(uint32_t ranks, uint32_t blocks, const std::vector<Row>& rows)
    {
        try
        {
            MakeSchedule(ranks, blocks, 1, rows);
            return false;
        }
        catch (const std::invalid_argument&)
        {
            return true;
        }
    }
};

class BytesArePartitioned : public TestCase
{
  public:
    BytesArePartitioned()
        : TestCase("blocks cut the data without loss, alike to one byte, and no message is empty")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937_64 random(3);
        for (uint32_t turn = 0; turn < 300; ++turn)
        {
            const auto blocks = static_cast<uint32_t>(1 + random() % 200);
            const auto expansion = static_cast<uint32_t>(turn % 2 == 0 ? 1 : 1 + random() % 64);
            const uint64_t bytes = blocks + random() % (turn % 3 == 0 ? 5'000'000'000'000 : 1'000);
            CheckPartition(blocks, expansion, bytes);
        }
        const auto schedule = MakeSchedule(2, 8, 1, {{0, 1, 0, 0, 1, 0, -1, 0}});
        for (uint64_t bytes : {0, 1, 3, 7})
        {
            for (uint32_t block = 0; block < 8; ++block)
            {
                NS_TEST_EXPECT_MSG_EQ(schedule->MessageBytes(block, 1, bytes),
                                      1U,
                                      bytes << " bytes");
            }
        }
    }

    void CheckPartition(uint32_t blocks, uint32_t expansion, uint64_t bytes)
    {
        const auto schedule = MakeSchedule(2, blocks, expansion, {{0, 1, 0, 0, 1, 0, -1, 0}});
        const uint64_t whole = bytes * expansion;
        uint64_t sum = 0;
        for (uint32_t block = 0; block < blocks; ++block)
        {
            const uint64_t size = schedule->MessageBytes(block, 1, bytes);
            const uint64_t least = whole / blocks;
            NS_TEST_EXPECT_MSG_EQ((size == least || size == least + 1),
                                  true,
                                  "block " << block << ": " << size);
            sum += size;
            NS_TEST_EXPECT_MSG_EQ(schedule->MessageBytes(0, block + 1, bytes),
                                  sum,
                                  "blocks up to " << block);
        }
        NS_TEST_EXPECT_MSG_EQ(sum, whole, "nothing lost");
    }
};

class CollectiveScheduleTestSuite : public TestSuite
{
  public:
    CollectiveScheduleTestSuite()
        : TestSuite("astra-collective-schedule", Type::UNIT)
    {
        AddTestCase(new BadColumnsAreRefused);
        AddTestCase(new BytesArePartitioned);
    }
};

CollectiveScheduleTestSuite g_collectiveScheduleTestSuite; //!< registers itself
} // namespace
