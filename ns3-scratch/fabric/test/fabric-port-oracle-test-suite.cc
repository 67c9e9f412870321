// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Everything visible of FabricPort and FabricSharedBuffer against the plain ports of port-oracle.h,
 * at random.
 */
#include "port-fixture.h"
#include "port-oracle.h"

#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::test;
using namespace astra_ns3::test;

namespace
{
/// \return a memory to share
Ptr<FabricSharedBuffer>
MakeMemory(uint64_t bytes)
{
    return CreateObjectWithAttributes<FabricSharedBuffer>("Capacity", UintegerValue(bytes));
}

/// Several ports over one memory with everything they report, played by ns-3.
class ObservedPorts
{
  public:
    ObservedPorts(const std::vector<PortShape>& shapes, uint64_t memoryBytes)
        : m_memory(MakeMemory(memoryBytes)),
          m_sinks(shapes.size()),
          m_logs(shapes.size())
    {
        for (std::size_t number = 0; number < shapes.size(); ++number)
        {
            const PortShape& shape = shapes[number];
            Ptr<FabricPort> port = MakePort(shape.rateBps, shape.delayPs);
            port->SetBuffer(m_memory);
            port->SetMarker(
                CreateObjectWithAttributes<FabricEcnMarker>("Kmin",
                                                            UintegerValue(shape.markBytes),
                                                            "Kmax",
                                                            UintegerValue(shape.markBytes)));
            port->Connect(&m_sinks[number], 0, 0);
            Watch(port, "Transmit", m_logs[number].starts);
            Watch(port, "Drop", m_logs[number].drops);
            Watch(port, "Mark", m_logs[number].marks);
            Stamps* queue = &m_logs[number].queue;
            port->TraceConnectWithoutContext(
                "Queue",
                Callback<void, Time, uint64_t>([queue](Time time, uint64_t bytes) {
                    queue->emplace_back(time.GetTimeStep(), bytes);
                }));
            m_ports.push_back(port);
        }
    }

    /// \return what each port does. \param offers in order of time; frame n has a packet of n bytes
    std::vector<PortLog> Play(const std::vector<Offer>& offers)
    {
        for (std::size_t number = 0; number < offers.size(); ++number)
        {
            Simulator::Schedule(TimeStep(offers[number].timePs),
                                [this, number, offer = offers[number]] { Take(number, offer); });
        }
        Simulator::Run();
        m_events = Simulator::GetEventCount();
        for (std::size_t number = 0; number < m_ports.size(); ++number)
        {
            PortLog& log = m_logs[number];
            const FabricPortCounters counters = m_ports[number]->GetCounters();
            log.arrivals = m_sinks[number].GetArrivals();
            log.sentBytes = counters.sentBytes;
            log.droppedBytes = counters.droppedBytes;
            log.highestQueueBytes = counters.highestQueueBytes;
            m_counters.push_back(counters);
            m_ports[number]->Dispose();
        }
        m_memory->Dispose();
        Simulator::Destroy();
        return m_logs;
    }

    /// \return events that ns-3 played
    uint64_t GetEvents() const
    {
        return m_events;
    }

    /// \return a port's counters after the run
    const FabricPortCounters& GetCounters(std::size_t port) const
    {
        return m_counters.at(port);
    }

  private:
    static void Watch(const Ptr<FabricPort>& port, const std::string& source, Stamps& log)
    {
        Stamps* stamps = &log;
        port->TraceConnectWithoutContext(
            source,
            Callback<void, Time, Ptr<const Packet>>([stamps](Time time, Ptr<const Packet> packet) {
                stamps->emplace_back(time.GetTimeStep(), packet->GetSize());
            }));
    }

    void Take(uint64_t number, const Offer& offer)
    {
        const Ptr<FabricPort>& port = m_ports[offer.port];
        if (offer.bufferBytes > 0)
        {
            port->Enqueue(MakeFrame(number, offer.bufferBytes, offer.ecnCapable));
            return;
        }
        const int64_t nowPs = Simulator::Now().GetTimeStep();
        m_logs[offer.port].looks.emplace_back(nowPs, port->GetQueueBytes());
        m_logs[offer.port].memoryLooks.emplace_back(nowPs, m_memory->GetUsedBytes());
    }

    Ptr<FabricSharedBuffer> m_memory;           //!< the memory they share
    std::vector<Ptr<FabricPort>> m_ports;       //!< the ports
    std::vector<Sink> m_sinks;                  //!< far ends
    std::vector<PortLog> m_logs;                //!< what was seen
    std::vector<FabricPortCounters> m_counters; //!< counters at the end
    uint64_t m_events{0};                       //!< events played
};

class SamePortAsPlainOracle : public TestCase
{
  public:
    SamePortAsPlainOracle()
        : TestCase("ports over one memory do exactly what the plain two-event ports do")
    {
    }

  private:
    static constexpr uint32_t OFFERS = 4'000;
    static constexpr uint64_t MEMORY_BYTES = 30'000;

    /// \return ports of different rates, one of which has no whole picoseconds a byte and one no
    /// delay
    static std::vector<PortShape> Shapes()
    {
        return {{100'000'000'000, 500'000, 6'000},
                {100'000'000'000, 0, 0},
                {400'000'000'000, 80, 3'000},
                {2'400'000'000'000, 10'000, 1'000}};
    }

    /// \return random offers, a good part of them at times at which a line gets free
    static std::vector<Offer> RandomOffers(uint32_t seed)
    {
        std::mt19937 random(seed);
        std::vector<Offer> offers;
        int64_t timePs = 0;
        const std::vector<uint32_t> sizes{64, 64, 88, 1'000, 1'518, 1'518, 9'018};
        for (uint32_t number = 0; number < OFFERS; ++number)
        {
            // Multiples of 80 ps, the byte time of 100 Gb/s, in bursts with pauses in which the
            // queues drain.
            const uint32_t draw = random() % 100;
            timePs += draw < 40 ? 0 : 80 * (draw < 97 ? random() % 1'000 : random() % 20'000);
            const uint32_t port = random() % 2 == 0 ? 0 : random() % 4;
            const uint32_t bytes = random() % 10 == 0 ? 0 : sizes[random() % sizes.size()];
            offers.push_back({timePs, port, bytes, random() % 2 == 0});
        }
        return offers;
    }

    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 20; ++seed)
        {
            const auto offers = RandomOffers(seed);
            const auto expected = PortOracle(Shapes(), MEMORY_BYTES).Play(offers);
            ObservedPorts ports(Shapes(), MEMORY_BYTES);
            const auto actual = ports.Play(offers);
            uint64_t frames = 0;
            for (std::size_t port = 0; port < expected.size(); ++port)
            {
                Compare(actual[port], expected[port], seed, port);
                CompareCounters(ports.GetCounters(port), expected[port], seed);
                frames += expected[port].arrivals.size();
            }
            NS_TEST_EXPECT_MSG_EQ((expected[0].drops.size() > 20), true, "the memory overflows");
            NS_TEST_EXPECT_MSG_EQ((expected[0].marks.size() > 20), true, "frames are marked");
            NS_TEST_EXPECT_MSG_EQ(ports.GetEvents(), OFFERS + frames, "one event a frame and link");
        }
    }

    void Compare(const PortLog& actual, const PortLog& expected, uint32_t seed, std::size_t port)
    {
        const auto where = "seed " + std::to_string(seed) + ", port " + std::to_string(port) + ": ";
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual.arrivals, expected.arrivals),
                              "",
                              where << "arrivals");
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual.starts, expected.starts),
                              "",
                              where << "starts");
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual.drops, expected.drops), "", where << "drops");
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual.marks, expected.marks), "", where << "marks");
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual.queue, expected.queue), "", where << "queue");
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual.looks, expected.looks), "", where << "looks");
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(actual.memoryLooks, expected.memoryLooks),
                              "",
                              where << "memory");
    }

    void CompareCounters(const FabricPortCounters& actual, const PortLog& expected, uint32_t seed)
    {
        NS_TEST_EXPECT_MSG_EQ(actual.sentFrames, expected.starts.size(), "seed " << seed);
        NS_TEST_EXPECT_MSG_EQ(actual.sentBytes, expected.sentBytes, "seed " << seed);
        NS_TEST_EXPECT_MSG_EQ(actual.droppedFrames, expected.drops.size(), "seed " << seed);
        NS_TEST_EXPECT_MSG_EQ(actual.droppedBytes, expected.droppedBytes, "seed " << seed);
        NS_TEST_EXPECT_MSG_EQ(actual.markedFrames, expected.marks.size(), "seed " << seed);
        NS_TEST_EXPECT_MSG_EQ(actual.highestQueueBytes,
                              expected.highestQueueBytes,
                              "seed " << seed);
    }
};

class FabricPortOracleTestSuite : public TestSuite
{
  public:
    FabricPortOracleTestSuite()
        : TestSuite("astra-fabric-port-oracle", Type::UNIT)
    {
        AddTestCase(new SamePortAsPlainOracle);
    }
};

FabricPortOracleTestSuite g_fabricPortOracleTestSuite; //!< registers itself
} // namespace
