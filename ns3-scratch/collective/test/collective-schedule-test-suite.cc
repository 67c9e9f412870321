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

namespace collective_schedule_test
{
using namespace ns3;
using namespace ns3::test;

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
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, 3, {first, second}, 0), true, "no lanes at all");
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, 3, {first, second}, 2), false, "two lanes");
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, 3, {first, {1, 2, 1, 1, 2, 0, 2, 1}}, 2),
                              true,
                              "waits for a step of its lane without receptions");
    }

    static bool IsRefused(uint32_t ranks,
                          uint32_t blocks,
                          const std::vector<Row>& rows,
                          uint32_t lanes = 1)
    {
        try
        {
            MakeSchedule(ranks, blocks, 1, rows, {}, lanes);
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

class TurnedRowsAreThoseOfAllRanks : public TestCase
{
  public:
    TurnedRowsAreThoseOfAllRanks()
        : TestCase("rows of rank 0 that stand for all say of each rank what its own rows would")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937_64 random(7);
        for (uint32_t turn = 0; turn < 200; ++turn)
        {
            const auto ranks = static_cast<uint32_t>(2 + random() % 8);
            const auto digits = static_cast<uint32_t>(random() % 3);
            const auto width = static_cast<uint32_t>(1 + random() % 3);
            const auto lanes = static_cast<uint32_t>(1 + random() % 3);
            const auto rows = Draw(random, ranks, digits, width);
            for (uint32_t inner = 1; inner <= ranks; ++inner)
            {
                if (ranks % inner == 0)
                {
                    Compare({ranks, digits, width, lanes, inner}, rows);
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, {0, 2, 0, 0, 1, 0, -1, 0}, {true, 1, 2}),
                              true,
                              "groups of 2 of 3 ranks");
        const CollectiveRotation oneDigit{true, 1};
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, {1, 2, 0, 0, 1, 0, -1, 0}, oneDigit),
                              true,
                              "not rank 0");
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, {0, 2, 0, 0, 2, 0, -1, 0}, oneDigit), true, "too wide");
        NS_TEST_EXPECT_MSG_EQ(IsRefused(4, {0, 2, 0, 0, 1, 0, -1, 0}, oneDigit), true, "4 blocks");
        NS_TEST_EXPECT_MSG_EQ(IsRefused(3, {0, 2, 0, 2, 1, 0, -1, 0}, oneDigit), false, "good");
    }

    static bool IsRefused(uint32_t blocks, const Row& row, const CollectiveRotation& rotation)
    {
        try
        {
            MakeSchedule(3, blocks, 1, {row}, rotation);
            return false;
        }
        catch (const std::invalid_argument&)
        {
            return true;
        }
    }

    static uint32_t Blocks(uint32_t ranks, uint32_t digits, uint32_t width)
    {
        return digits == 0 ? width : ranks * Blocks(ranks, digits - 1, width);
    }

    /// \return rows of rank 0 with steps in any order, which wait for any of them
    static std::vector<Row> Draw(std::mt19937_64& random,
                                 uint32_t ranks,
                                 uint32_t digits,
                                 uint32_t width)
    {
        std::vector<Row> rows(1 + random() % 10);
        const auto below = [&random](uint32_t limit) {
            return static_cast<int32_t>(random() % limit);
        };
        for (Row& row : rows)
        {
            const int32_t within = below(width);
            const int32_t first = below(Blocks(ranks, digits, 1)) * static_cast<int32_t>(width);
            const int32_t count = below(width - within + 1);
            row = {0, 1 + below(ranks - 1), below(4), first + within, count, below(2), -1, 0};
        }
        for (Row& row : rows)
        {
            if (below(2) == 1)
            {
                row[6] = rows[below(rows.size())][2];
                row[7] = 1;
            }
        }
        return rows;
    }

    /// What a schedule that is turned has.
    struct Shape
    {
        uint32_t ranks;  //!< number of ranks
        uint32_t digits; //!< of a block's number
        uint32_t width;  //!< blocks that the last digit counts
        uint32_t lanes;  //!< number of lanes
        uint32_t inner;  //!< ranks of a group
    };

    /// \return a rank turned by another one: its group among groups, its place in the group
    static int32_t TurnRank(int32_t rank, int32_t turn, const Shape& shape)
    {
        int32_t place = rank % static_cast<int32_t>(shape.inner);
        int32_t group = rank - place;
        for (int32_t step = 0; step < turn % static_cast<int32_t>(shape.inner); ++step)
        {
            place = place + 1 == static_cast<int32_t>(shape.inner) ? 0 : place + 1;
        }
        group += turn - turn % static_cast<int32_t>(shape.inner);
        return group % static_cast<int32_t>(shape.ranks) + place;
    }

    /// \return a block with a rank added to each of its digits
    static int32_t TurnBlock(int32_t block, int32_t rank, const Shape& shape)
    {
        const auto ranks = static_cast<int32_t>(shape.ranks);
        const auto width = static_cast<int32_t>(shape.width);
        std::vector<int32_t> found;
        int32_t number = block / width;
        for (uint32_t digit = 0; digit < shape.digits; ++digit)
        {
            found.insert(found.begin(), TurnRank(number % ranks, rank, shape));
            number /= ranks;
        }
        int32_t turned = 0;
        for (const int32_t digit : found)
        {
            turned = turned * ranks + digit;
        }
        return turned * width + block % width;
    }

    void Compare(const Shape& shape, const std::vector<Row>& rows)
    {
        const auto [ranks, digits, width, lanes, inner] = shape;
        const uint32_t blocks = Blocks(ranks, digits, width);
        const auto count = static_cast<int32_t>(ranks);
        std::vector<Row> all;
        for (int32_t rank = 0; rank < count; ++rank)
        {
            for (Row row : rows)
            {
                row[0] = rank;
                row[1] = TurnRank(row[1], rank, shape);
                row[3] = TurnBlock(row[3], rank, shape);
                all.push_back(row);
            }
        }
        const auto turned = MakeSchedule(ranks, blocks, 1, rows, {true, digits, inner}, lanes);
        const auto plain = MakeSchedule(ranks, blocks, 1, all, {}, lanes);
        NS_TEST_EXPECT_MSG_EQ(turned->GetLanes(), lanes, "lanes");
        for (uint32_t rank = 0; rank < ranks; ++rank)
        {
            NS_TEST_EXPECT_MSG_EQ((turned->GetReceivedRows(rank) == plain->GetReceivedRows(rank)),
                                  true,
                                  "rows that rank " << rank << " receives");
            for (uint32_t lane = 0; lane < lanes; ++lane)
            {
                CompareLane(*turned, *plain, rank, lane);
            }
        }
        for (uint32_t row = 0; row < all.size(); ++row)
        {
            const auto a = turned->GetReception(row);
            const auto b = plain->GetReception(row);
            NS_TEST_EXPECT_MSG_EQ(a.slot, b.slot, "slot of row " << row);
            NS_TEST_EXPECT_MSG_EQ(a.sender, b.sender, "sender of row " << row);
            NS_TEST_EXPECT_MSG_EQ(a.reduces, b.reduces, "row " << row << " reduces");
            NS_TEST_EXPECT_MSG_EQ(a.lane,
                                  static_cast<uint32_t>(all[row][2]) % lanes,
                                  "lane of row " << row);
            NS_TEST_EXPECT_MSG_EQ(b.lane,
                                  static_cast<uint32_t>(all[row][2]) % lanes,
                                  "lane of row " << row);
            NS_TEST_EXPECT_MSG_EQ(a.isSignal, (all[row][4] == 0), "row " << row << " is a signal");
            NS_TEST_EXPECT_MSG_EQ(b.isSignal, (all[row][4] == 0), "row " << row << " is a signal");
            NS_TEST_EXPECT_MSG_EQ(turned->GetStep(row), plain->GetStep(row), "step of row " << row);
            NS_TEST_EXPECT_MSG_EQ(turned->RowBytes(row, 1003), plain->RowBytes(row, 1003), "size");
        }
    }

    void CompareLane(const CollectiveSchedule& turned,
                     const CollectiveSchedule& plain,
                     uint32_t rank,
                     uint32_t lane)
    {
        NS_TEST_ASSERT_MSG_EQ(turned.SendsEnd(rank, lane) - turned.SendsBegin(rank, lane),
                              plain.SendsEnd(rank, lane) - plain.SendsBegin(rank, lane),
                              "sends of rank " << rank << " in lane " << lane);
        const auto* other = plain.SendsBegin(rank, lane);
        for (const auto* send = turned.SendsBegin(rank, lane); send != turned.SendsEnd(rank, lane);
             ++send)
        {
            const auto a = turned.TurnedFor(rank, *send);
            const auto b = plain.TurnedFor(rank, *other++);
            NS_TEST_EXPECT_MSG_EQ(a.row, b.row, "row");
            NS_TEST_EXPECT_MSG_EQ(a.receiver, b.receiver, "receiver");
            NS_TEST_EXPECT_MSG_EQ(a.firstBlock, b.firstBlock, "first block");
            NS_TEST_EXPECT_MSG_EQ(a.blockCount, b.blockCount, "blocks");
            NS_TEST_EXPECT_MSG_EQ(a.waitSlot, b.waitSlot, "step waited for");
            NS_TEST_EXPECT_MSG_EQ(a.waitCount, b.waitCount, "receptions waited for");
        }
        NS_TEST_ASSERT_MSG_EQ(turned.GetSlots(rank, lane), plain.GetSlots(rank, lane), "steps");
        for (uint32_t slot = 0; slot < plain.GetSlots(rank, lane); ++slot)
        {
            NS_TEST_EXPECT_MSG_EQ(turned.GetExpected(rank, lane, slot),
                                  plain.GetExpected(rank, lane, slot),
                                  "receptions");
        }
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
        AddTestCase(new TurnedRowsAreThoseOfAllRanks);
    }
};

CollectiveScheduleTestSuite g_collectiveScheduleTestSuite; //!< registers itself
} // namespace collective_schedule_test
