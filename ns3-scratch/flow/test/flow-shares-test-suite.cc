// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FlowShares against progressive filling of all flows from nothing, and FlowAgenda against a set.
 */
#include "flow-agenda.h"
#include "flow-shares.h"

#include "ns3/test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace flow_shares_test
{
using namespace ns3;

/// A flow of a case.
struct Case
{
    std::vector<FlowUse> uses; //!< its links
    double cap;                //!< its own
    uint32_t number;           //!< among the shares
};

/// \return max-min fair rates: all rise together until a link is full or a cap is reached
std::vector<double>
FillAll(const std::vector<double>& capacities, const std::vector<Case>& flows)
{
    constexpr double FULL = 1e-12;
    std::vector<double> rates(flows.size(), 0.0);
    std::vector<double> left = capacities;
    std::vector<bool> stopped(flows.size(), false);
    double level = 0.0;
    for (std::size_t rising = flows.size(); rising > 0;)
    {
        std::vector<double> wanted(capacities.size(), 0.0);
        double step = FlowShares::NO_LIMIT;
        for (std::size_t flow = 0; flow < flows.size(); ++flow)
        {
            if (!stopped[flow])
            {
                step = std::min(step, flows[flow].cap - level);
                for (const FlowUse& use : flows[flow].uses)
                {
                    wanted[use.link] += use.share;
                }
            }
        }
        for (std::size_t link = 0; link < wanted.size(); ++link)
        {
            step = wanted[link] > 0.0 ? std::min(step, left[link] / wanted[link]) : step;
        }
        level += step;
        for (std::size_t link = 0; link < wanted.size(); ++link)
        {
            left[link] -= step * wanted[link];
        }
        for (std::size_t flow = 0; flow < flows.size(); ++flow)
        {
            const auto& uses = flows[flow].uses;
            const bool full = std::any_of(uses.begin(), uses.end(), [&](const FlowUse& use) {
                return left[use.link] <= FULL * capacities[use.link];
            });
            if (!stopped[flow] && (full || flows[flow].cap <= level * (1 + FULL)))
            {
                stopped[flow] = true;
                rates[flow] = level;
                rising--;
            }
        }
    }
    return rates;
}

class SharesAreMaxMinFair : public TestCase
{
  public:
    SharesAreMaxMinFair()
        : TestCase("rates are those of filling all links from nothing, whatever came and went")
    {
    }

  private:
    static constexpr uint32_t CASES = 500;
    static constexpr uint32_t EVENTS = 60;
    static constexpr double TOLERANCE = 1e-9; // levels are rounded to 40 bits

    /// \return a number below another
    uint32_t Draw(uint32_t count)
    {
        return m_random() % count;
    }

    /// Add a flow over some links.
    void Add()
    {
        Case flow;
        std::set<uint32_t> links;
        const auto count = 1 + Draw(std::min<uint32_t>(6, m_capacities.size()));
        while (links.size() < count)
        {
            links.insert(Draw(m_capacities.size()));
        }
        for (const uint32_t link : links)
        {
            flow.uses.push_back({link, Draw(4) > 0 ? 1.0 : 0.25 * (1 + Draw(4))});
        }
        flow.cap = Draw(4) > 0 ? FlowShares::NO_LIMIT : 0.05 * (1 + Draw(10));
        flow.number = m_shares.Add(flow.uses, flow.cap);
        m_flows.push_back(flow);
    }

    /// Add a flow, take one out, or change a link.
    void Change()
    {
        if (m_flows.empty() || Draw(5) < 3)
        {
            Add();
        }
        else if (Draw(8) == 0)
        {
            const uint32_t link = Draw(m_capacities.size());
            m_capacities[link] = 0.1 * (1 + Draw(8));
            m_shares.SetCapacity(link, m_capacities[link]);
        }
        else
        {
            const auto gone = m_flows.begin() + Draw(m_flows.size());
            m_shares.Remove(gone->number);
            m_flows.erase(gone);
        }
    }

    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= CASES; ++seed)
        {
            m_random.seed(seed);
            m_shares = FlowShares();
            m_flows.clear();
            m_capacities.clear();
            for (uint32_t links = 2 + Draw(30); links > 0; --links)
            {
                m_capacities.push_back(0.1 * (1 + Draw(8)));
                m_shares.AddLink(m_capacities.back());
            }
            for (uint32_t event = 0; event < EVENTS; ++event)
            {
                for (uint32_t changes = 1 + Draw(3); changes > 0; --changes)
                {
                    Change();
                }
                m_shares.Solve();
                const std::vector<double> expected = FillAll(m_capacities, m_flows);
                for (std::size_t flow = 0; flow < m_flows.size(); ++flow)
                {
                    NS_TEST_ASSERT_MSG_EQ_TOL(m_shares.GetRate(m_flows[flow].number),
                                              expected[flow],
                                              TOLERANCE * expected[flow],
                                              "case " << seed << ", event " << event);
                }
            }
        }
    }

    std::mt19937 m_random;            //!< draws cases
    FlowShares m_shares;              //!< what is tested
    std::vector<double> m_capacities; //!< of the links
    std::vector<Case> m_flows;        //!< flows that are there
};

class OnlyNeighboursAreFilled : public TestCase
{
  public:
    OnlyNeighboursAreFilled()
        : TestCase("a flow that comes or goes leaves links alone that it has nothing to do with")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t LINKS = 1'000;
        FlowShares shares;
        for (uint32_t link = 0; link < LINKS; ++link)
        {
            shares.AddLink(1.0);
            const std::vector<FlowUse> uses{{link, 1.0}};
            shares.Add(uses, FlowShares::NO_LIMIT);
        }
        shares.Solve();
        const uint64_t before = shares.GetFillings();
        const std::vector<FlowUse> uses{{7, 1.0}};
        const uint32_t flow = shares.Add(uses, FlowShares::NO_LIMIT);
        NS_TEST_EXPECT_MSG_EQ(shares.Solve().size(), 2, "it and the one that was there");
        NS_TEST_EXPECT_MSG_EQ(shares.GetRate(flow), 0.5, "they share");
        NS_TEST_EXPECT_MSG_EQ(shares.GetBottleneck(flow), 7, "the link that they share");
        shares.Remove(flow);
        NS_TEST_EXPECT_MSG_EQ(shares.Solve().size(), 1, "the one that was there");
        NS_TEST_EXPECT_MSG_EQ(shares.GetFillings() - before, 2, "one link, twice");
    }
};

class SlowedInOneStep : public TestCase
{
  public:
    SlowedInOneStep()
        : TestCase("a sprayed flow is slowed by a full line of the first step that has one")
    {
    }

  private:
    void DoRun() override
    {
        FlowShares shares(0.01);
        for (const double capacity : {1.0, 0.25, 0.25, 1.0, 1.0})
        {
            shares.AddLink(capacity);
        }
        // Which of a step's lines it is depends on the flow's number.
        const std::vector<FlowUse> alone{{4, 1.0}};
        const std::vector<FlowUse> sprayed{{0, 0.5}, {1, 0.5}, {2, 0.5}, {3, 0.5}};
        shares.Add(alone, FlowShares::NO_LIMIT);
        const uint32_t flow = shares.Add(sprayed, FlowShares::NO_LIMIT);
        shares.Solve();
        NS_TEST_EXPECT_MSG_EQ(shares.GetSlowing(flow), 1, "of 0 and 1, the one that is full");
    }
};

class AgendaIsInOrder : public TestCase
{
  public:
    AgendaIsInOrder()
        : TestCase("flows end in the order of their times, then of their beginnings")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(1);
        FlowAgenda agenda;
        std::set<std::tuple<int64_t, uint64_t, uint32_t>> expected;
        std::vector<std::tuple<int64_t, uint64_t, uint32_t>> entries;
        for (uint32_t flow = 0; flow < 1'000; ++flow)
        {
            entries.emplace_back(random() % 50, 5'000 - flow, flow);
            agenda.Add(flow, 5'000 - flow, std::get<0>(entries.back()));
            expected.insert(entries.back());
        }
        for (uint32_t step = 0; step < 5'000; ++step)
        {
            auto& entry = entries[random() % entries.size()];
            expected.erase(entry);
            std::get<0>(entry) = random() % 50;
            expected.insert(entry);
            agenda.Move(std::get<2>(entry), std::get<0>(entry));
            NS_TEST_ASSERT_MSG_EQ(agenda.GetNextPs(), std::get<0>(*expected.begin()), "next");
        }
        for (const auto& [timePs, order, flow] : expected)
        {
            NS_TEST_ASSERT_MSG_EQ(agenda.GetNextPs(), timePs, "in order");
            NS_TEST_ASSERT_MSG_EQ(agenda.Pop(), flow, "in order");
        }
        NS_TEST_EXPECT_MSG_EQ(agenda.GetNextPs(), FlowAgenda::NEVER, "none is left");
    }
};

class FlowSharesTestSuite : public TestSuite
{
  public:
    FlowSharesTestSuite()
        : TestSuite("astra-flow-shares", Type::UNIT)
    {
        AddTestCase(new SharesAreMaxMinFair);
        AddTestCase(new OnlyNeighboursAreFilled);
        AddTestCase(new SlowedInOneStep);
        AddTestCase(new AgendaIsInOrder);
    }
};

FlowSharesTestSuite g_flowSharesTestSuite; //!< registers itself
} // namespace flow_shares_test
