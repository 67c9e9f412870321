// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricSharedBuffer: the smallest network in which a pause frame alone waits at a port when the
 * memory begins to need each departure at its time; and what becomes of an event in the past.
 */
#include "fabric-delay.h"
#include "known-leak.h"
#include "port-fixture.h"

#include "ns3/boolean.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fabric_shared_buffer_test
{
using namespace ns3;
using namespace ns3::test;
constexpr uint64_t RATE_BPS = 100'000'000'000; // 80 ps a byte
constexpr int64_t DELAY_PS = 500'000;
constexpr int64_t DATA_PS = 1'000 * 80; // of the frames below
constexpr int64_t PAUSE_PS = 84 * 80;
constexpr uint64_t NO_NUMBER = 0; // of a pause frame

/// The far end of a port of a switch: notes what arrives.
class Neighbour : public FabricReceiver
{
  public:
    void ReceiveFrame(FabricFrame* frame, uint32_t) override
    {
        const uint64_t number = frame->isPause ? NO_NUMBER : frame->packet->GetSize();
        m_arrivals.emplace_back(Simulator::Now().GetTimeStep(), number);
        FabricFramePool::Give(frame);
    }

    /// \return time and number of each frame
    const Stamps& GetArrivals() const
    {
        return m_arrivals;
    }

  private:
    Stamps m_arrivals; //!< time and number of each frame
};

/// Three ports over a memory whose ingress queues are full with the first frame.
class SmallSwitch
{
  public:
    explicit SmallSwitch(bool oldestFirst = false)
        : m_memory(
              CreateObjectWithAttributes<FabricSharedBuffer>("Capacity", UintegerValue(100'000)))
    {
        for (std::size_t number = 0; number < m_neighbours.size(); ++number)
        {
            m_ports.push_back(MakePort(RATE_BPS, DELAY_PS));
            m_ports.back()->SetName("switch3:" + std::to_string(number));
            m_ports.back()->SetAttribute("OldestFirst", BooleanValue(oldestFirst));
            m_ports.back()->SetBuffer(m_memory);
            m_ports.back()->Connect(&m_neighbours[number], 0, 0);
        }
        m_memory->UsePfc({LOSSLESS, 0, 0}, {3, {9'000, 0.001}});
    }

    ~SmallSwitch()
    {
        for (const auto& port : m_ports)
        {
            port->Dispose();
        }
        m_memory->Dispose();
        Simulator::Destroy();
    }

    SmallSwitch(const SmallSwitch&) = delete;
    SmallSwitch& operator=(const SmallSwitch&) = delete;

    /// A frame of 1000 bytes on the line comes in by a port and goes to another.
    void Pass(int64_t timePs, uint64_t number, uint32_t ingress, uint32_t egress, bool lossless)
    {
        PassWithPriority(timePs, number, ingress, egress, lossless ? 3 : 0);
    }

    /// The same, at a priority; 3 is lossless.
    void PassWithPriority(int64_t timePs,
                          uint64_t number,
                          uint32_t ingress,
                          uint32_t egress,
                          uint8_t priority)
    {
        Simulator::Schedule(TimeStep(timePs) - Simulator::Now(), [=, this] {
            FabricFrame* frame = MakeFrame(number, 980);
            frame->ingressPort = ingress;
            frame->priority = priority;
            m_ports[egress]->Enqueue(frame);
        });
    }

    /// \return a port
    FabricPort& GetPort(uint32_t number)
    {
        return *m_ports.at(number);
    }

    /// \return what they share
    FabricSharedBuffer& GetMemory()
    {
        return *m_memory;
    }

    /// \return what stands behind a port
    const Neighbour& GetNeighbour(uint32_t number) const
    {
        return m_neighbours.at(number);
    }

  private:
    static constexpr uint8_t LOSSLESS = 1U << 3;

    Ptr<FabricSharedBuffer> m_memory;       //!< of all ports
    std::vector<Neighbour> m_neighbours{3}; //!< far ends
    std::vector<Ptr<FabricPort>> m_ports;   //!< the ports
};

/// Run the simulation. \return what was thrown, or nothing
std::string
ErrorOfRun()
{
    try
    {
        Simulator::Run();
    }
    catch (const std::logic_error& error)
    {
        return error.what();
    }
    return "";
}

class PauseFrameThatWaitsAlone : public TestCase
{
  public:
    PauseFrameThatWaitsAlone()
        : TestCase("a pause frame that waits alone at a port leaves as soon as the line is free, "
                   "also when a neighbour is stopped by then, and nothing lies in the past")
    {
    }

  private:
    static constexpr uint64_t FIRST = 5;
    static constexpr uint64_t LAST = 11;

    void DoRun() override
    {
        SmallSwitch small;
        small.Pass(0, 1, 0, 1, false);
        small.Pass(20'000, 2, 0, 2, false);
        // It waits for port 2, and stops the neighbour behind port 1 until it leaves at 100000.
        small.Pass(30'000, 3, 1, 2, true);
        // This follows the stop out of port 1. The end of the stop waits for it, alone.
        small.Pass(81'000, 4, 0, 1, false);
        // Who looks at the memory before has it forget port 1, in which nothing waits then.
        Simulator::Schedule(TimeStep(90'000), [this, &small] {
            NS_TEST_EXPECT_MSG_EQ(small.GetMemory().GetUsedBytes(), 980U, "frame 3 alone");
        });
        // Meanwhile another neighbour is stopped, until the last of these leaves. Long before that
        // the first frame of port 1 has arrived, with others behind it on the wire.
        for (uint64_t number = FIRST; number <= LAST; ++number)
        {
            small.Pass(110'000, number, 0, 2, true);
        }
        NS_TEST_ASSERT_MSG_EQ(ErrorOfRun(), "", "no error");
        const Stamps atOne{{DATA_PS + DELAY_PS, 1},
                           {DATA_PS + PAUSE_PS + DELAY_PS, NO_NUMBER},
                           {2 * DATA_PS + PAUSE_PS + DELAY_PS, 4},
                           {2 * DATA_PS + 2 * PAUSE_PS + DELAY_PS, NO_NUMBER}};
        Same(small, 1, atOne);
        Stamps atTwo{{20'000 + DATA_PS + DELAY_PS, 2}, {20'000 + 2 * DATA_PS + DELAY_PS, 3}};
        int64_t startPs = 20'000 + 2 * DATA_PS;
        for (uint64_t number = FIRST; number <= LAST; ++number, startPs += DATA_PS)
        {
            atTwo.emplace_back(startPs + DATA_PS + DELAY_PS, number);
        }
        Same(small, 2, atTwo);
        const int64_t lastPs = startPs - DATA_PS;
        const Stamps atZero{{110'000 + PAUSE_PS + DELAY_PS, NO_NUMBER},
                            {lastPs + PAUSE_PS + DELAY_PS, NO_NUMBER}};
        Same(small, 0, atZero);
    }

    void Same(const SmallSwitch& small, uint32_t port, const Stamps& expected)
    {
        const Stamps& actual = small.GetNeighbour(port).GetArrivals();
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual, expected), "", "behind port " << port);
    }
};

class AnEventInThePastIsAnError : public TestCase
{
  public:
    AnEventInThePastIsAnError()
        : TestCase("an event in the past is an exception that names the port, and never the end of "
                   "the process")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(FabricDelay(0, "switch3:1").GetTimeStep(), 0, "now is no past");
        NS_TEST_EXPECT_MSG_EQ(FabricDelay(7, "switch3:1").GetTimeStep(), 7, "later");
        SmallSwitch small;
        small.Pass(0, 1, 0, 1, false);
        small.Pass(1, 2, 0, 1, false);
        // The second frame is due at 80000. Nobody settles the port before it is to wake.
        {
            const KnownLeak leak;
            Simulator::Schedule(TimeStep(90'000), [&small] { small.GetPort(1).WakeAtDeparture(); });
        }
        NS_TEST_EXPECT_MSG_EQ(
            ErrorOfRun(),
            "switch3:1 schedules an event 10000 ps in the past, at 90000 ps; this "
            "is a mistake of astra-ns3, please report it",
            "what the error says");
    }
};

class ArrivalsAndDeparturesOfOnePicosecond : public TestCase
{
  public:
    ArrivalsAndDeparturesOfOnePicosecond()
        : TestCase("while a neighbour is stopped, too, a frame that comes in the picosecond of a "
                   "departure comes after it, with OldestFirst before it")
    {
    }

  private:
    void DoRun() override
    {
        for (bool oldestFirst : {false, true})
        {
            for (uint8_t priority : {3, 7})
            {
                Compare(oldestFirst, priority);
            }
        }
    }

    /// Frame 2 waits at port 2 for the end of frame 1, when frame 3 comes, of a higher priority.
    /// Frames at port 1 keep neighbour 0 stopped.
    void Compare(bool oldestFirst, uint8_t priority)
    {
        SmallSwitch small(oldestFirst);
        for (uint64_t number : {11, 12, 13})
        {
            small.Pass(0, number, 0, 1, true);
        }
        small.Pass(0, 1, 2, 2, false);
        small.Pass(1, 2, 2, 2, false);
        small.PassWithPriority(DATA_PS, 3, 1, 2, priority); // before the run, so before a wake
        Simulator::Run();
        Stamps expected;
        for (uint64_t number :
             oldestFirst ? std::vector<uint64_t>{1, 3, 2} : std::vector<uint64_t>{1, 2, 3})
        {
            const auto before = static_cast<int64_t>(expected.size());
            expected.emplace_back((before + 1) * DATA_PS + DELAY_PS, number);
        }
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(small.GetNeighbour(2).GetArrivals(), expected),
                              "",
                              "OldestFirst " << oldestFirst << ", priority " << int{priority});
    }
};

class KeptMemoryLeavesSomeToShare : public TestCase
{
  public:
    KeptMemoryLeavesSomeToShare()
        : TestCase("headrooms and reserves that need the whole memory are refused, one byte less "
                   "is not")
    {
    }

  private:
    void DoRun() override
    {
        // Two ports, two lossless priorities: 2 x (1000 + 250) + 2 x (3000 + 250) bytes.
        constexpr uint64_t KEPT_BYTES = 9'000;
        const FabricPfc pfc{(1U << 3) | (1U << 4), 250, 0};
        const std::vector<FabricSharedBuffer::PfcPort> ports{{1'000, 0.1}, {3'000, 0.1}};
        for (const auto& [capacity, fits] : {std::pair{KEPT_BYTES - 1, false},
                                             std::pair{KEPT_BYTES, false},
                                             std::pair{KEPT_BYTES + 1, true}})
        {
            const auto memory =
                CreateObjectWithAttributes<FabricSharedBuffer>("Capacity", UintegerValue(capacity));
            NS_TEST_EXPECT_MSG_EQ(memory->UsePfc(pfc, ports), fits, "capacity " << capacity);
            memory->Dispose();
        }
    }
};

class FabricSharedBufferTestSuite : public TestSuite
{
  public:
    FabricSharedBufferTestSuite()
        : TestSuite("astra-fabric-shared-buffer", Type::UNIT)
    {
        AddTestCase(new ArrivalsAndDeparturesOfOnePicosecond);
        AddTestCase(new PauseFrameThatWaitsAlone);
        AddTestCase(new AnEventInThePastIsAnError);
        AddTestCase(new KeptMemoryLeavesSomeToShare);
    }
};

FabricSharedBufferTestSuite g_fabricSharedBufferTestSuite; //!< registers itself
} // namespace fabric_shared_buffer_test
