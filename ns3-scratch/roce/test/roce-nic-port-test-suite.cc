// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * RoceNicPort: who sends next among many queue pairs, by turns, priority, pace and window.
 */
#include "roce-fixture.h"
#include "roce-nic-port.h"
#include "roce-queue-pair.h"

#include "ns3/test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace roce_nic_port_test
{
using namespace ns3;
using namespace ns3::test;
constexpr int64_t BYTE_PS = 80;                // at 100 Gb/s
constexpr int64_t PACKET_PS = 1'082 * BYTE_PS; // a full packet on a line
constexpr int64_t ACK_PS = 86 * BYTE_PS;
constexpr int64_t DELAY_PS = 500'000;

/// A data packet: when it arrived, and where.
struct Packet
{
    int64_t timePs; //!< when
    uint32_t host;  //!< where
};

/// \return the data packets that hosts 1, 2, ... have got, in order of time
std::vector<Packet>
PacketsOf(RoceBench& bench, uint32_t hosts)
{
    std::vector<Packet> packets;
    for (uint32_t host = 1; host < hosts; ++host)
    {
        for (const SeenFrame& frame : bench.GetGate(host).GetSeen(ROCE_DATA))
        {
            packets.push_back({frame.timePs, host});
        }
    }
    std::sort(packets.begin(), packets.end(), [](const Packet& a, const Packet& b) {
        return a.timePs < b.timePs;
    });
    return packets;
}

class QueuePairsTakeTurns : public TestCase
{
  public:
    QueuePairsTakeTurns()
        : TestCase("queue pairs of a port send by turns at line rate, and share what others leave")
    {
    }

  private:
    void DoRun() override
    {
        for (bool byAge : {true, false})
        {
            Play(byAge);
        }
    }

    void Play(bool byAge)
    {
        RoceParameters parameters;
        parameters.turnsByAge = byAge;
        for (uint32_t hosts : {3U, 5U, 17U})
        {
            auto bench = MakeStar(hosts, MakeLink(100 * GBPS, DELAY_PS));
            bench->Build(parameters);
            std::vector<uint32_t> left(hosts, 0); // packets
            for (uint32_t host = 1; host < hosts; ++host)
            {
                left[host] = 10 * host; // the first ends first
                bench->Send(0, host, left[host] * uint64_t{1'000});
            }
            Simulator::Run();
            const auto packets = PacketsOf(*bench, hosts);
            std::size_t place = 0;
            // The first message begins before the others are there.
            while (place < packets.size())
            {
                for (uint32_t host = 1; host < hosts; ++host)
                {
                    if (left[host] == 0)
                    {
                        continue;
                    }
                    left[host]--;
                    NS_TEST_ASSERT_MSG_LT(place, packets.size(), "packets");
                    NS_TEST_ASSERT_MSG_EQ(packets[place].host, host, "turn " << place);
                    NS_TEST_ASSERT_MSG_EQ(packets[place].timePs,
                                          static_cast<int64_t>(place + 2) * PACKET_PS +
                                              2 * DELAY_PS,
                                          "line rate");
                    place++;
                }
            }
            NS_TEST_EXPECT_MSG_EQ(*std::max_element(left.begin(), left.end()), 0U, "all sent");
        }
    }
};

class PacesEachQueuePair : public TestCase
{
  public:
    PacesEachQueuePair()
        : TestCase("a queue pair keeps the distance of its rate exactly when alone, and waits for "
                   "others at most a turn")
    {
    }

  private:
    void DoRun() override
    {
        for (double rateBps : {100e9, 99.9e9, 50e9, 33.3e9, 1e9, 12.3456789e6})
        {
            Play({rateBps});
        }
        Play({10e9, 20e9, 5e9, 1e9});
        Play({7e9, 7e9, 7e9, 7e9, 7e9, 7e9, 7e9, 7e9});
        Play({60e9, 3e9, 0.5e9});
    }

    static int64_t GapPs(double rateBps)
    {
        return std::llround(1'082 * 8 * 1e12 / rateBps);
    }

    void Play(const std::vector<double>& rates)
    {
        constexpr uint64_t PACKETS = 100;
        const uint32_t hosts = rates.size() + 1;
        auto bench = MakeStar(hosts, MakeLink(100 * GBPS, DELAY_PS));
        RoceParameters parameters;
        parameters.timeoutPs = 1'000'000'000'000'000; // the slowest sends a packet every 0.7 ms
        bench->Build(parameters, {rates.begin(), rates.end()});
        for (uint32_t host = 1; host < hosts; ++host)
        {
            bench->Send(0, host, PACKETS * 1'000);
        }
        Simulator::Run();
        for (uint32_t host = 1; host < hosts; ++host)
        {
            const auto seen = bench->GetGate(host).GetSeen(ROCE_DATA);
            NS_TEST_ASSERT_MSG_EQ(seen.size(), PACKETS, "packets");
            const int64_t gapPs = GapPs(rates[host - 1]);
            const int64_t waitPs = rates.size() == 1 ? 0 : (hosts - 1) * PACKET_PS;
            for (std::size_t packet = 1; packet < seen.size(); ++packet)
            {
                const int64_t betweenPs = seen[packet].timePs - seen[packet - 1].timePs;
                NS_TEST_ASSERT_MSG_EQ((betweenPs >= gapPs && betweenPs <= gapPs + waitPs),
                                      true,
                                      betweenPs << " ps between packets at " << rates[host - 1]
                                                << " bit/s");
            }
        }
    }
};

class WindowsLimitWhatIsInFlight : public TestCase
{
  public:
    WindowsLimitWhatIsInFlight()
        : TestCase(
              "a packet goes when the line is free and the one a window before is acknowledged")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t PACKETS = 100;
        constexpr int64_t ROUND_TRIP_PS = 2 * PACKET_PS + 2 * ACK_PS + 4 * DELAY_PS;
        for (uint64_t window : {1U, 2U, 3U, 10U, 25U, 26U, 40U, 200U})
        {
            for (uint64_t more : {0U, 1U, 999U}) // begun packets of the window are sent whole
            {
                RoceParameters parameters;
                parameters.windowBytes = window * 1'000 - more;
                auto bench = MakeStar(2, MakeLink(100 * GBPS, DELAY_PS));
                bench->Build(parameters);
                bench->Send(0, 1, PACKETS * 1'000);
                Simulator::Run();
                const auto seen = bench->GetGate(1).GetSeen(ROCE_DATA);
                NS_TEST_ASSERT_MSG_EQ(seen.size(), PACKETS, "packets");
                std::vector<int64_t> starts{0};
                for (uint64_t packet = 1; packet < PACKETS; ++packet)
                {
                    const int64_t linePs = starts.back() + PACKET_PS;
                    const int64_t windowPs =
                        packet < window ? 0 : starts[packet - window] + ROUND_TRIP_PS;
                    starts.push_back(std::max(linePs, windowPs));
                    NS_TEST_ASSERT_MSG_EQ(seen[packet].timePs,
                                          starts.back() + 2 * PACKET_PS + 2 * DELAY_PS,
                                          "window of " << window << ", packet " << packet);
                }
            }
        }
    }
};

class WindowOfThePathKeepsTheLineBusy : public TestCase
{
  public:
    WindowOfThePathKeepsTheLineBusy()
        : TestCase("with the path's bandwidth-delay product as window a message takes no longer")
    {
    }

  private:
    void DoRun() override
    {
        for (bool windowOfPath : {false, true})
        {
            RoceParameters parameters;
            parameters.windowOfPath = windowOfPath;
            const std::vector<LinkParameters> links{MakeLink(400 * GBPS, 2'000'000),
                                                    MakeLink(100 * GBPS, 10'000'000),
                                                    MakeLink(200 * GBPS, 0)};
            auto bench = MakeLine(links);
            bench->Build(parameters);
            bench->Send(0, 1, 10'000'000);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bench->GetArrivals().size(), 1U, "it arrives");
            NS_TEST_EXPECT_MSG_EQ(bench->GetArrivals()[0].timePs,
                                  AlonePs(links, std::vector<uint64_t>(10'000, 1'082)),
                                  "at the line's rate");
        }
    }
};

/// Two queue pairs of different priorities on one port, made by hand.
class PrioritiesGoFirst : public TestCase, public RoceQueuePairOwner, public MessageListener
{
  public:
    PrioritiesGoFirst()
        : TestCase("a higher priority goes first, and a stopped one holds back its own queue pairs "
                   "only")
    {
    }

  private:
    static constexpr int64_t TIMEOUT_PS = 1'000'000'000;

    void QueuePairIdle(RoceQueuePair&) override
    {
    }

    void MessageArrived(const CollectiveMessage&) override
    {
        m_arrivals++;
    }

    void BytesArrived(uint32_t, int64_t) override
    {
    }

    void TransportFailed(const CollectiveMessage&, const char*) override
    {
    }

    RoceContext MakeContext(uint32_t priority)
    {
        RoceContext context;
        context.parameters.priority = priority;
        context.parameters.ackPriority = 7;
        context.parameters.timeoutPs = TIMEOUT_PS;
        context.listener = this;
        context.owner = this;
        context.controls.make = [] { return std::make_unique<RoceCongestionControl>(); };
        return context;
    }

    void DoRun() override
    {
        FabricNetwork network;
        network.AddHosts(2);
        network.AddSwitch({});
        const std::vector<uint32_t> offsets{0, 1, 2};
        const std::vector<uint32_t> ports{0, 1};
        network.AddLink(0, 2, MakeLink(100 * GBPS, DELAY_PS));
        network.AddLink(1, 2, MakeLink(100 * GBPS, DELAY_PS));
        network.SetRoutes(2, offsets.data(), ports.data());
        network.Finish();
        Gate gate(PeekPointer(network.GetDevices()[1]));
        network.GetPort(2, 1)->Connect(&gate, 0, 0);
        const Ptr<FabricPort> port = network.GetPort(0, 0);
        {
            RoceNicPort nic(port, TIMEOUT_PS);
            const RoceAddress address{0, 1, 0, 1, 1, 2, &nic, PeekPointer(network.GetPort(1, 0))};
            RoceContext low = MakeContext(3);
            RoceContext high = MakeContext(5);
            RoceQueuePair lowPair(low);
            RoceQueuePair highPair(high);
            lowPair.Open(address, {});
            highPair.Open(address, {});
            CollectiveMessage message;
            message.bytes = 40'000;
            lowPair.Post(message);
            message.bytes = 10'000;
            Simulator::Schedule(TimeStep(PACKET_PS * 11 / 2),
                                [&highPair, message] { highPair.Post(message); });
            Simulator::Schedule(TimeStep(PACKET_PS * 41 / 2), [port] { port->SetPaused(1U << 3); });
            Simulator::Schedule(TimeStep(PACKET_PS * 81 / 2),
                                [&highPair, message] { highPair.Post(message); });
            Simulator::Schedule(TimeStep(PACKET_PS * 121 / 2), [port] { port->SetPaused(0); });
            Simulator::Schedule(TimeStep(PACKET_PS * 100), [&lowPair, &highPair, message] {
                CollectiveMessage longer = message;
                longer.bytes = 40'000;
                highPair.Post(longer);
                lowPair.Post(message);
            });
            Simulator::Schedule(TimeStep(PACKET_PS * 221 / 2),
                                [port] { port->SetPaused(1U << 5); });
            Simulator::Schedule(TimeStep(PACKET_PS * 261 / 2), [port] { port->SetPaused(0); });
            Simulator::Run();
            lowPair.Close();
            highPair.Close();
        }
        Check(gate);
        Simulator::Destroy();
    }

    void Check(const Gate& gate)
    {
        // Numbers of packet times at which packets begin.
        std::vector<std::pair<double, uint32_t>> expected;
        const auto add = [&expected](double first, uint32_t count, uint32_t priority) {
            for (uint32_t packet = 0; packet < count; ++packet)
            {
                expected.emplace_back(first + packet, priority);
            }
        };
        add(0, 6, 3);     // until the higher priority is there and the line is free,
        add(6, 10, 5);    // which then goes first;
        add(16, 5, 3);    // the lower goes on until it is stopped;
        add(40.5, 10, 5); // the higher is not,
        add(60.5, 29, 3); // and at last the lower may go on.
        add(100, 11, 5);  // Again the higher first, until it is stopped:
        add(111, 10, 3);  // now the lower goes,
        add(130.5, 29, 5);
        const auto seen = gate.GetSeen(ROCE_DATA);
        NS_TEST_ASSERT_MSG_EQ(seen.size(), expected.size(), "packets");
        for (std::size_t packet = 0; packet < seen.size(); ++packet)
        {
            const auto& [start, priority] = expected[packet];
            NS_TEST_EXPECT_MSG_EQ(uint32_t{seen[packet].priority}, priority, "packet " << packet);
            NS_TEST_EXPECT_MSG_EQ(seen[packet].timePs,
                                  static_cast<int64_t>((start + 2) * PACKET_PS) + 2 * DELAY_PS,
                                  "packet " << packet);
        }
        NS_TEST_EXPECT_MSG_EQ(m_arrivals, 5U, "messages");
    }

    uint32_t m_arrivals{0}; //!< messages that have arrived
};

class RoceNicPortTestSuite : public TestSuite
{
  public:
    RoceNicPortTestSuite()
        : TestSuite("astra-roce-nic-port", Type::UNIT)
    {
        AddTestCase(new QueuePairsTakeTurns);
        AddTestCase(new PacesEachQueuePair);
        AddTestCase(new WindowsLimitWhatIsInFlight);
        AddTestCase(new WindowOfThePathKeepsTheLineBusy);
        AddTestCase(new PrioritiesGoFirst);
    }
};

RoceNicPortTestSuite g_roceNicPortTestSuite; //!< registers itself
} // namespace roce_nic_port_test
