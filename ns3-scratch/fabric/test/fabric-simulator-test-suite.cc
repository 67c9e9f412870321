// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricSimulator against ns-3's own simulator, and its sweeping of cancelled events.
 */
#include "fabric-delay.h"
#include "fabric-simulator.h"
#include "fabric-telling-event.h"
#include "known-leak.h"

#include "ns3/default-simulator-impl.h"
#include "ns3/event-impl.h"
#include "ns3/object-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fabric_simulator_test
{
using namespace ns3;

/// Counts how many of its kind are alive: what the event list still holds, seen from outside.
class CountedEvent : public EventImpl
{
  public:
    explicit CountedEvent(int64_t& alive)
        : m_alive(alive)
    {
        m_alive++;
    }

    ~CountedEvent() override
    {
        m_alive--;
    }

  private:
    void Notify() override
    {
    }

    int64_t& m_alive; //!< how many there are
};

/// Play the simulation that begins now by a simulator of this kind.
void
UseSimulator(TypeId simulator)
{
    ObjectFactory factory;
    factory.SetTypeId(simulator);
    Simulator::SetImplementation(factory.Create<SimulatorImpl>());
}

/// What a random program did: which event ran at what time.
struct ProgramLog
{
    std::vector<std::pair<int64_t, uint32_t>> played; //!< time in ps, number of the event

    bool operator==(const ProgramLog&) const = default;
};

/// Events that schedule, cancel and remove others at random: one decision out of place changes all
/// that follow.
class RandomProgram
{
  public:
    RandomProgram(TypeId simulator, uint32_t seed)
        : m_random(seed)
    {
        UseSimulator(simulator);
    }

    ProgramLog Run()
    {
        for (uint32_t event = 0; event < FIRST_EVENTS; ++event)
        {
            ScheduleOne();
        }
        Simulator::Run();
        Simulator::Destroy();
        return m_log;
    }

  private:
    static constexpr uint32_t FIRST_EVENTS =
        6'000; // above the size at which the list is first swept
    static constexpr uint32_t MOST_EVENTS = 60'000;

    void ScheduleOne()
    {
        // Few different delays, so that many events share their picosecond; some wait much longer
        // than the others.
        const uint32_t draw = m_random() % 100;
        const int64_t delayPs =
            draw < 20 ? 0 : (draw < 80 ? m_random() % 50 : 10'000 + m_random() % 500);
        const auto number = static_cast<uint32_t>(m_ids.size());
        m_ids.push_back(Simulator::Schedule(TimeStep(delayPs), [this, number] { Play(number); }));
    }

    void Play(uint32_t number)
    {
        m_log.played.emplace_back(Simulator::Now().GetTimeStep(), number);
        for (uint32_t more = m_random() % 5; more > 0 && m_ids.size() < MOST_EVENTS; --more)
        {
            ScheduleOne();
        }
        for (uint32_t fewer = m_random() % 3; fewer > 0; --fewer)
        {
            EventId& victim = m_ids[m_random() % m_ids.size()];
            if (m_random() % 4 == 0)
            {
                Simulator::Remove(victim);
            }
            else
            {
                Simulator::Cancel(victim);
            }
        }
    }

    std::mt19937 m_random;      //!< decides everything
    std::vector<EventId> m_ids; //!< every event ever scheduled
    ProgramLog m_log;           //!< what has run
};

class SameOrderAsDefault : public TestCase
{
  public:
    SameOrderAsDefault()
        : TestCase("a random program runs event for event as under ns-3's default simulator")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 8; ++seed)
        {
            const ProgramLog expected =
                RandomProgram(DefaultSimulatorImpl::GetTypeId(), seed).Run();
            const ProgramLog actual = RandomProgram(FabricSimulator::GetTypeId(), seed).Run();
            NS_TEST_ASSERT_MSG_GT(expected.played.size(), 6'000U, "the program is long enough");
            NS_TEST_ASSERT_MSG_EQ((actual == expected), true, "seed " << seed);
        }
    }
};

/// A timer that is set anew again and again, as TCP does with each acknowledgement.
class CancelledEventsAreSwept : public TestCase
{
  public:
    CancelledEventsAreSwept()
        : TestCase("cancelled events take bounded room, and a run ends when only they are left")
    {
    }

  private:
    static constexpr uint32_t TURNS = 300'000;
    static constexpr int64_t TIMEOUT_PS = 10'000'000'000;
    static constexpr int64_t MOST_ALIVE =
        2 * 4096; // the list is swept at 4096 events or twice the live ones

    void DoRun() override
    {
        UseSimulator(FabricSimulator::GetTypeId());
        Simulator::Schedule(TimeStep(0), &CancelledEventsAreSwept::SetTimer, this);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(m_turns, TURNS, "every turn was played");
        NS_TEST_ASSERT_MSG_GT(m_mostAlive, 1'000, "there was something to sweep");
        NS_TEST_ASSERT_MSG_LT(m_mostAlive, MOST_ALIVE, "the list stays short");
        NS_TEST_ASSERT_MSG_EQ(Simulator::IsFinished(), true, "nothing is left");
        NS_TEST_ASSERT_MSG_EQ(Simulator::GetEventCount(),
                              uint64_t{TURNS},
                              "cancelled events do not count");
        Simulator::Destroy();
        m_timer = EventId();
        NS_TEST_ASSERT_MSG_EQ(m_alive, 0, "no event is leaked");
    }

    void SetTimer()
    {
        Simulator::Cancel(m_timer);
        m_mostAlive = std::max(m_mostAlive, m_alive);
        const Ptr<EventImpl> event(new CountedEvent(m_alive), false);
        m_timer = Simulator::Schedule(TimeStep(TIMEOUT_PS), event);
        if (++m_turns < TURNS)
        {
            Simulator::Schedule(TimeStep(1'000), &CancelledEventsAreSwept::SetTimer, this);
        }
        else
        {
            Simulator::Cancel(m_timer);
        }
    }

    EventId m_timer;        //!< the timer as last set
    uint32_t m_turns{0};    //!< times it was set
    int64_t m_alive{0};     //!< timers in memory
    int64_t m_mostAlive{0}; //!< most there ever were
};

/// Times are 64 bits of picoseconds; what lies beyond must not come out before everything else.
class EventsBeyondTimeAreRefused : public TestCase
{
  public:
    EventsBeyondTimeAreRefused()
        : TestCase("an event whose time has no place in 64 bits is an error, the last one that has "
                   "is played")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t LAST_PS = std::numeric_limits<int64_t>::max();
        UseSimulator(FabricSimulator::GetTypeId());
        bool refused = false;
        bool played = false;
        Simulator::Schedule(TimeStep(10), [&] {
            const KnownLeak leak;
            Simulator::Schedule(TimeStep(LAST_PS - 10), [&] {
                played = true;
                Simulator::Schedule(TimeStep(1), [] {});
            });
        });
        try
        {
            Simulator::Run();
        }
        catch (const std::overflow_error&)
        {
            refused = true; // which ends the run: ns-3 has counted the event already
        }
        NS_TEST_EXPECT_MSG_EQ(played, true, "just in time");
        NS_TEST_EXPECT_MSG_EQ(refused, true, "too late");
        Simulator::Destroy();
        NS_TEST_EXPECT_MSG_EQ(FabricLater(5, 7.4, "it"), 12, "rounded");
        NS_TEST_EXPECT_MSG_EQ(Refuses(0, 9.3e18), true, "one long");
        NS_TEST_EXPECT_MSG_EQ(Refuses(LAST_PS - 100, 200.0), true, "the last of many");
        NS_TEST_EXPECT_MSG_EQ(Refuses(0, std::numeric_limits<double>::quiet_NaN()), true, "none");
    }

    static bool Refuses(int64_t beginPs, double durationPs)
    {
        try
        {
            FabricLater(beginPs, durationPs, "it");
        }
        catch (const std::overflow_error&)
        {
            return true;
        }
        return false;
    }
};

/// An event that only tells, and writes down that it has.
class Telling : public FabricTellingEvent
{
  public:
    explicit Telling(std::vector<char>& log)
        : m_log(log)
    {
    }

    bool OnlyTells() const override
    {
        return true;
    }

  private:
    void Notify() override
    {
        m_log.push_back('t');
    }

    std::vector<char>& m_log; //!< of all
};

/// What another thread schedules, as a heartbeat does, depends on wall time.
class ForeignEventsPartNothing : public TestCase
{
  public:
    ForeignEventsPartNothing()
        : TestCase("what another thread schedules comes at once, but not between events of one "
                   "moment that only tell")
    {
    }

  private:
    void DoRun() override
    {
        UseSimulator(FabricSimulator::GetTypeId());
        std::vector<char> log;
        Simulator::Schedule(TimeStep(5), [&log] {
            std::thread([&log] {
                Simulator::ScheduleWithContext(Simulator::NO_CONTEXT, TimeStep(0), [&log] {
                    log.push_back('f');
                });
            }).join();
        });
        for (uint32_t number = 0; number < 3; ++number)
        {
            Simulator::Schedule(TimeStep(5), Ptr<EventImpl>(new Telling(log), false));
        }
        Simulator::Schedule(TimeStep(6), [&log] { log.push_back('l'); });
        Simulator::Run();
        Simulator::Destroy();
        NS_TEST_EXPECT_MSG_EQ(std::string(log.begin(), log.end()), "tttfl", "in this order");
    }
};

class FabricSimulatorTestSuite : public TestSuite
{
  public:
    FabricSimulatorTestSuite()
        : TestSuite("astra-fabric-simulator", Type::UNIT)
    {
        AddTestCase(new SameOrderAsDefault);
        AddTestCase(new CancelledEventsAreSwept);
        AddTestCase(new EventsBeyondTimeAreRefused);
        AddTestCase(new ForeignEventsPartNothing);
    }
};

FabricSimulatorTestSuite g_fabricSchedulerTestSuite; //!< registers itself
} // namespace fabric_simulator_test
