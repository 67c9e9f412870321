// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FlowQueues where lines and ways change, against times worked out by hand. Lines carry bytes per
 * picosecond, so that times are small numbers.
 */
#include "flow-queues.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace flow_queues_test
{
using namespace ns3;

using Way = std::vector<FlowUse>;

constexpr int64_t DELAY_PS = 100;   // of the sender's line
constexpr int64_t EVENT_PS = 500;   // when something changes
constexpr double BYTES = 1000.0;    // of a flow
constexpr double ROUNDING_PS = 2.0; // events are in whole picoseconds
constexpr uint32_t NOWHERE = 0;     // a link that carries nothing
constexpr uint32_t SENDER = 1;      // the sender's line
constexpr uint32_t OLD = 2;         // the line of the switch behind it
constexpr uint32_t NEW = 3;         // another one
const Way NO_WAY{{NOWHERE, 1.0}};   // where nothing leads on
const Way BY_OLD{{SENDER, 1.0}, {OLD, 1.0}};
const Way BY_NEW{{SENDER, 1.0}, {NEW, 1.0}};
const Way NO_ANSWERS;

/// Flows from one sender over a switch, each on its own.
class Net : public FlowQueuesOwner
{
  public:
    /// \param oldRate of the line OLD \param newRate of the line NEW
    Net(double oldRate, double newRate)
        : m_meter(1),
          m_rooms(MANY, {}),
          m_queues(*this, m_meter, true, {}, m_rooms)
    {
        AddLink(0.0, 0, true);
        AddLink(1.0, DELAY_PS, true);
        AddLink(oldRate, 0, false);
        AddLink(newRate, 0, false);
    }

    ~Net() override
    {
        Simulator::Destroy();
    }

    void FlowSent(uint32_t flow) override
    {
        m_sent[flow]++;
    }

    void FlowPassed(uint32_t flow) override
    {
        m_passedPs[flow] = Simulator::Now().GetTimeStep();
    }

    std::vector<FlowUse> FindOnward(uint32_t, std::span<const uint32_t> passed) override
    {
        const bool atSwitch = passed.size() == 1;
        return atSwitch && m_way->size() > 1 ? Way{m_way->back()} : Way{};
    }

    /// \param bytes of a flow that begins \param timePs when
    void Begin(double bytes, int64_t timePs = 0)
    {
        At(timePs, [this, bytes] {
            m_flows.push_back(m_queues.Begin({.forth = *m_way, .back = {}, .bytes = bytes}));
        });
    }

    /// \param timePs when \param change what happens to the queues
    void At(int64_t timePs, std::function<void()> change)
    {
        Simulator::Schedule(TimeStep(timePs), std::move(change));
    }

    /// \param way of all flows from now on
    void Take(const Way& way)
    {
        m_way = &way;
        for (const uint32_t flow : m_flows)
        {
            if (m_queues.IsUnderWay(flow))
            {
                m_queues.Move(flow, way, NO_ANSWERS);
            }
        }
    }

    /// \return the queues
    FlowQueues& Queues()
    {
        return m_queues;
    }

    /// \return when each flow has passed
    const std::map<uint32_t, int64_t>& Play()
    {
        Simulator::Run();
        return m_passedPs;
    }

    /// \return how often it was told that a flow was sent
    uint32_t GetSent(uint32_t flow)
    {
        return m_sent[flow];
    }

  private:
    static constexpr uint32_t MANY = 10; //!< hosts: no switch has a limit

    void AddLink(double rate, int64_t delayPs, bool sends)
    {
        m_meter.AddLink(nullptr);
        m_rooms.AddLink(nullptr);
        m_queues.AddLink(rate, delayPs, sends);
    }

    FlowMeter m_meter;
    FlowRooms m_rooms;
    FlowQueues m_queues;
    const Way* m_way{&BY_OLD};
    std::vector<uint32_t> m_flows;
    std::map<uint32_t, int64_t> m_passedPs;
    std::map<uint32_t, uint32_t> m_sent;
};

/// A case of one flow whose end is known.
class OneFlow : public TestCase
{
  public:
    /// \param name what is claimed \param oldRate of the line OLD \param newRate of the line NEW
    /// \param change what happens, and when \param endPs when the flow has passed then
    OneFlow(const std::string& name,
            double oldRate,
            double newRate,
            std::function<void(Net&)> change,
            int64_t endPs)
        : TestCase(name),
          m_oldRate(oldRate),
          m_newRate(newRate),
          m_change(std::move(change)),
          m_endPs(endPs)
    {
    }

  private:
    void DoRun() override
    {
        Net net(m_oldRate, m_newRate);
        net.Begin(BYTES);
        m_change(net);
        const auto& passedPs = net.Play();
        NS_TEST_ASSERT_MSG_EQ(passedPs.size(), 1, "it passes, once");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(passedPs.begin()->second),
                                  static_cast<double>(m_endPs),
                                  ROUNDING_PS,
                                  "its end");
        NS_TEST_EXPECT_MSG_EQ(net.GetSent(passedPs.begin()->first), 1, "sent once, if told");
        NS_TEST_EXPECT_MSG_EQ(net.Queues().IsUnderWay(passedPs.begin()->first),
                              false,
                              "it is over");
    }

    double m_oldRate;
    double m_newRate;
    std::function<void(Net&)> m_change;
    int64_t m_endPs;
};

/// Events that nobody's bytes meet.
class NothingChanges : public TestCase
{
  public:
    NothingChanges()
        : TestCase("an event that no byte meets changes no time by a picosecond")
    {
    }

  private:
    /// \return when drawn flows pass, with events or without them
    static std::map<uint32_t, int64_t> EndsOf(bool events)
    {
        Net net(0.7, 0.3);
        std::mt19937 random(7);
        for (uint32_t flow = 0; flow < 30; ++flow)
        {
            const double bytes = 1.0 + random() % 5'000;
            net.Begin(bytes, random() % 50'000);
        }
        for (int64_t ps = 1; events && ps < 200'000; ps += 77)
        {
            net.At(ps, [&net, ps] {
                const double rate = ps % 2 == 0 ? 0.0 : 1.0 / ps;
                net.Queues().SetLine(NEW, rate, ps);
                net.Queues().Lose(NEW);
                net.Take(BY_OLD);
            });
        }
        return net.Play();
    }

    void DoRun() override
    {
        const std::map<uint32_t, int64_t> before = EndsOf(false);
        NS_TEST_EXPECT_MSG_EQ(before.empty(), false, "flows pass");
        NS_TEST_EXPECT_MSG_EQ((before == EndsOf(true)), true, "the same times");
    }
};

/// \param net where the lines of the switch change at EVENT_PS \param rate of the line OLD from
/// then on \param way of all flows from then on
void
Fail(Net& net, double rate, const Way& way)
{
    net.At(EVENT_PS, [&net, rate, &way] {
        net.Queues().SetLine(OLD, rate, 0);
        if (rate <= 0.0)
        {
            net.Queues().Lose(OLD);
        }
        net.Take(way);
    });
}

/// \param delayPs of the sender's line from EVENT_PS on, which was DELAY_PS \return the change
std::function<void(Net&)>
Delay(int64_t delayPs)
{
    return [delayPs](Net& net) {
        net.At(EVENT_PS, [&net, delayPs] { net.Queues().SetLine(SENDER, 1.0, delayPs); });
    };
}

class FlowQueuesTestSuite : public TestSuite
{
  public:
    FlowQueuesTestSuite()
        : TestSuite("astra-flow-queues", Type::UNIT)
    {
        AddTestCase(new NothingChanges);
        // At 500, 400 bytes have come to the switch, of which 200 wait at half the sender's rate.
        const auto moves = [](Net& net) { Fail(net, 0.5, BY_NEW); };
        const auto fails = [](Net& net) { Fail(net, 0.0, BY_NEW); };
        Add("bytes that come to a switch leave it by its new way", 0.5, 1.0, moves, 1'100);
        Add("they wait there", 0.5, 0.25, moves, 500 + 2'400);
        Add("those in front of the old line leave by it", 0.5, 1e9, moves, 1'100);
        const auto slow = [](Net& net) { Fail(net, 0.1, BY_NEW); };
        Add("and the flow has passed after them", 0.1, 1e9, slow, 500 + 3'600);
        Add("a line that goes down has what waited sent again", 0.5, 1.0, fails, 1'300);
        Add("which the new line carries, too", 0.5, 0.5, fails, 500 + 1'600);
        // 200 bytes are lost there, and the 100 on the sender's line; 800 are sent from 2000 on.
        const auto ends = [](Net& net) {
            Fail(net, 0.0, NO_WAY);
            net.At(2'000, [&net] {
                net.Queues().SetLine(OLD, 0.5, 0);
                net.Take(BY_OLD);
            });
        };
        Add("without a way senders wait", 0.5, 1.0, ends, 2'100 + 1'600);
        // A pause of 200 from 600 on: 100 wait then, and the line idles from 725 on.
        Add("a longer delay is a pause", 0.8, 1.0, Delay(300), 800 + 625);
        Add("which full queues don't feel", 0.5, 1.0, Delay(300), 100 + 2'000);
        // Nothing overtakes: what has left until 580 comes with the last before, at 600.
        Add("with a shorter delay bytes come at once", 1.0, 1.0, Delay(20), 1'020 + 80);
        Add("and wait", 0.8, 1.0, Delay(20), 100 + 1'250);
    }

  private:
    /// Add a case of one flow.
    void Add(const std::string& name,
             double oldRate,
             double newRate,
             std::function<void(Net&)> change,
             int64_t endPs)
    {
        AddTestCase(new OneFlow(name, oldRate, newRate, std::move(change), endPs));
    }
};

FlowQueuesTestSuite g_flowQueuesTestSuite; //!< registers itself
} // namespace flow_queues_test
