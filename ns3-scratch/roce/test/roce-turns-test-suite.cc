// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceTurns against a plain set, at random.
 */
#include "roce-turns.h"

#include "ns3/test.h"

#include <cstdint>
#include <random>
#include <set>

namespace roce_turns_test
{
using namespace ns3;

class TurnsAreASet : public TestCase
{
  public:
    TurnsAreASet()
        : TestCase("the next in turn is the next number in a plain set, all around")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 20; ++seed)
        {
            std::mt19937 random(seed);
            const std::size_t space = seed % 2 == 0 ? 100 : 20'000;
            RoceTurns turns;
            std::set<std::size_t> expected;
            for (int step = 0; step < 3'000; ++step)
            {
                const std::size_t number = random() % space;
                if (random() % 2 == 0)
                {
                    turns.Set(number);
                    expected.insert(number);
                }
                else if (expected.erase(number) > 0)
                {
                    turns.Clear(number);
                }
                const std::size_t after = random() % space;
                const auto above = expected.upper_bound(after);
                const std::size_t next = expected.empty()          ? RoceTurns::NOBODY
                                         : above == expected.end() ? *expected.begin()
                                                                   : *above;
                NS_TEST_ASSERT_MSG_EQ(turns.Next(after), next, "seed " << seed);
                NS_TEST_ASSERT_MSG_EQ(turns.IsEmpty(), expected.empty(), "seed " << seed);
            }
        }
    }
};

class RoceTurnsTestSuite : public TestSuite
{
  public:
    RoceTurnsTestSuite()
        : TestSuite("astra-roce-turns", Type::UNIT)
    {
        AddTestCase(new TurnsAreASet);
    }
};

RoceTurnsTestSuite g_roceTurnsTestSuite; //!< registers itself
} // namespace roce_turns_test
