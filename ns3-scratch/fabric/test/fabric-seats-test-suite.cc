// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * SeatsOf: which groups are near each other in the row that threads take them from.
 */
#include "fabric-seats.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace
{
using namespace ns3;

using Links = std::vector<std::pair<uint32_t, uint32_t>>;

/// \return the groups as they sit
std::vector<uint32_t>
RowOf(const std::vector<uint32_t>& seats)
{
    std::vector<uint32_t> row(seats.size());
    for (uint32_t group = 0; group < seats.size(); ++group)
    {
        row.at(seats[group]) = group;
    }
    return row;
}

class LeavesSitBesideTheirHosts : public TestCase
{
  public:
    LeavesSitBesideTheirHosts()
        : TestCase("hosts sit beside their leaf, a spine that has links to all in the middle")
    {
    }

  private:
    void DoRun() override
    {
        // Hosts 1 to 4, of which 1 and 3 hang on leaf 5, 2 and 4 on leaf 6; spine 7. Group 0 is
        // empty, as it is where hosts are played apart.
        const Links links = {{1, 5}, {2, 6}, {3, 5}, {4, 6}, {5, 7}, {6, 7}};
        const std::vector<uint32_t> expected = {0, 1, 3, 5, 7, 2, 4, 6};
        NS_TEST_ASSERT_MSG_EQ((RowOf(SeatsOf(8, {1, 2, 3, 4}, links)) == expected), true, "row");
    }
};

class PodsStayTogether : public TestCase
{
  public:
    PodsStayTogether()
        : TestCase("switches of a pod sit beside each other, whatever their numbers")
    {
    }

  private:
    void DoRun() override
    {
        // All hosts are in group 0, which is linked to itself, too. Leaves 1 and 2 are below 6,
        // leaves 3 and 4 below 5, and 7 joins both; 8 is linked to nobody.
        const Links links = {{0, 0},
                             {0, 1},
                             {0, 2},
                             {0, 3},
                             {0, 4},
                             {1, 6},
                             {2, 6},
                             {3, 5},
                             {4, 5},
                             {5, 7},
                             {6, 7}};
        const std::vector<uint32_t> row = RowOf(SeatsOf(9, {0, 0, 0}, links));
        const std::vector<uint32_t> expected = {8, 0, 1, 6, 2, 7, 3, 5, 4};
        NS_TEST_ASSERT_MSG_EQ((row == expected), true, "row");
    }
};

class SeatsSuite : public TestSuite
{
  public:
    SeatsSuite()
        : TestSuite("astra-fabric-seats", Type::UNIT)
    {
        AddTestCase(new LeavesSitBesideTheirHosts, TestCase::Duration::QUICK);
        AddTestCase(new PodsStayTogether, TestCase::Duration::QUICK);
    }
};

SeatsSuite g_seatsSuite; //!< registers itself
} // namespace
