// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricPauseWatchdog: a ring of switches that deadlocks is reported with the names of its ports,
 * and what is reported never moves again.
 */
#include "fabric-network.h"
#include "fabric-pause-watchdog.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace fabric_pause_watchdog_test
{
using namespace ns3;
using namespace astra_ns3;
constexpr uint32_t FRAME_BYTES = 1'000;
constexpr int64_t LINK_DELAY_PS = 500'000;
constexpr uint8_t PRIORITY = 3;

/// Counts the frames that reach their hosts.
class CountingFlow : public FabricFlow
{
  public:
    void ReceiveFrame(FabricFrame* frame) override
    {
        m_frames++;
        FabricFramePool::Give(frame);
    }

    Ptr<Packet> MakePacket(const FabricFrame& frame) const override
    {
        return Create<Packet>(frame.bufferBytes);
    }

    /// \return frames so far
    uint64_t GetFrames() const
    {
        return m_frames;
    }

  private:
    uint64_t m_frames{0}; //!< frames so far
};

/// Switches in a circle, a host at each by port 0, and all routes the same way round.
class Ring
{
  public:
    /// \param headroomBytes enough to lose nothing in any case
    Ring(uint32_t switches, uint64_t sharedBytes, uint64_t headroomBytes)
        : m_switches(switches)
    {
        m_network.AddHosts(switches);
        SwitchParameters parameters;
        parameters.losslessPriorities = 1U << PRIORITY;
        parameters.bufferBytes = sharedBytes + 3 * (headroomBytes + parameters.reserveBytes);
        for (uint32_t number = 0; number < switches; ++number)
        {
            m_network.AddSwitch(parameters);
        }
        LinkParameters link;
        link.delayPs = LINK_DELAY_PS;
        link.headroomBytes = headroomBytes;
        for (uint32_t number = 0; number < switches; ++number)
        {
            m_network.AddLink(number, switches + number, link);
        }
        for (uint32_t number = 0; number < switches; ++number)
        {
            const uint32_t next = (number + 1) % switches;
            m_onwards.push_back(m_network.GetNPorts(switches + number));
            m_network.AddLink(switches + number, switches + next, link);
        }
        for (uint32_t number = 0; number < switches; ++number)
        {
            std::vector<uint32_t> offsets;
            std::vector<uint32_t> ports;
            for (uint32_t host = 0; host <= switches; ++host)
            {
                offsets.push_back(host);
                ports.push_back(host == number ? 0 : m_onwards[number]);
            }
            m_network.SetRoutes(switches + number, offsets.data(), ports.data());
        }
        m_network.Finish();
    }

    ~Ring()
    {
        m_watchdog.reset();
        Simulator::Destroy();
    }

    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    /// Watch all ports.
    void Watch(int64_t limitPs)
    {
        m_watchdog = std::make_unique<FabricPauseWatchdog>(limitPs, [this](const auto& report) {
            m_reports.push_back(report);
        });
        for (uint32_t node = 0; node < 2 * m_switches; ++node)
        {
            for (uint32_t port = 0; port < m_network.GetNPorts(node); ++port)
            {
                const std::string name = (node < m_switches ? "host" : "switch") +
                                         std::to_string(node % m_switches) + ":" +
                                         std::to_string(port);
                m_watchdog->AddPort(m_network.GetPort(node, port), name);
                m_named[name] = m_network.GetPort(node, port);
            }
        }
    }

    /// Have a host send frames from a time on.
    void Send(uint32_t from, uint32_t to, uint32_t frames, int64_t timePs)
    {
        m_sent += frames;
        Simulator::Schedule(TimeStep(timePs), [this, from, to, frames] {
            for (uint32_t count = 0; count < frames; ++count)
            {
                FabricFrame* frame = FabricFramePool::Take();
                frame->flow = &m_flow;
                frame->source = from;
                frame->destination = to;
                frame->priority = PRIORITY;
                frame->bufferBytes = FRAME_BYTES;
                frame->wireBytes = FRAME_BYTES + FABRIC_LINE_GAP_BYTES;
                m_network.GetPort(from, 0)->Enqueue(frame);
            }
        });
    }

    /// \return frames on their way for ever
    uint64_t CountStuck() const
    {
        return m_sent - m_flow.GetFrames();
    }

    /// \return frames dropped by all switches
    uint64_t CountDrops() const
    {
        uint64_t drops = 0;
        for (const auto& [name, port] : m_named)
        {
            drops += port->GetCounters().droppedFrames;
        }
        return drops;
    }

    /// \return what was reported
    const std::vector<std::string>& GetReports() const
    {
        return m_reports;
    }

    /// \return times a port was stopped for too long without a deadlock
    uint64_t GetStorms()
    {
        return m_watchdog->GetStorms();
    }

    /// \return names of the ports of a report, in order, the first once more at the end
    std::vector<std::string> NamesIn(const std::string& report) const
    {
        std::istringstream words(report);
        std::vector<std::string> names;
        for (std::string word; words >> word;)
        {
            word.erase(std::remove(word.begin(), word.end(), ','), word.end());
            if (m_named.count(word) > 0)
            {
                names.push_back(word);
            }
        }
        return names;
    }

    /// \return the port of that name
    const FabricPort& GetPort(const std::string& name) const
    {
        return *m_named.at(name);
    }

    /// \return name of a switch's port onwards
    std::string Onwards(uint32_t number) const
    {
        return "switch" + std::to_string(number) + ":" + std::to_string(m_onwards[number]);
    }

  private:
    uint32_t m_switches;                             //!< how many
    FabricNetwork m_network;                         //!< hosts, switches, links
    std::vector<uint32_t> m_onwards;                 //!< each switch's port to the next
    CountingFlow m_flow;                             //!< all frames
    uint64_t m_sent{0};                              //!< frames sent
    std::unique_ptr<FabricPauseWatchdog> m_watchdog; //!< watches all ports
    std::map<std::string, Ptr<FabricPort>> m_named;  //!< ports by name
    std::vector<std::string> m_reports;              //!< what was reported
};

// 2 delays of 500 ns at 100 Gb/s, three frames, a pause frame.
constexpr uint64_t HEADROOM_BYTES = 2 * 6'250 + 3 * (FRAME_BYTES + 20) + 84;

class RingDeadlocks : public TestCase
{
  public:
    RingDeadlocks()
        : TestCase("a ring of 3, 4 or 7 switches with small buffers deadlocks, and its ports are "
                   "named")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t switches : {3U, 4U, 7U})
        {
            Ring ring(switches, 40'000, HEADROOM_BYTES);
            ring.Watch(100'000'000); // 100 us
            for (uint32_t host = 0; host < switches; ++host)
            {
                ring.Send(host, (host + 2) % switches, 2'000, 0);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_GT(ring.CountStuck(), 0U, "it does deadlock");
            NS_TEST_EXPECT_MSG_EQ(ring.CountDrops(), 0U, "nothing is dropped");
            NS_TEST_ASSERT_MSG_EQ(ring.GetReports().size(), 1U, "one report");
            const auto names = ring.NamesIn(ring.GetReports()[0]);
            NS_TEST_ASSERT_MSG_EQ(names.size(), switches + 1, ring.GetReports()[0]);
            NS_TEST_EXPECT_MSG_EQ(names.front(), names.back(), "a circle");
            uint32_t number = std::stoul(names.front().substr(std::string("switch").size()));
            for (const auto& name : names)
            {
                NS_TEST_EXPECT_MSG_EQ(name, ring.Onwards(number % switches), "in order");
                number++;
            }
        }
    }
};

class NoCircleNoReport : public TestCase
{
  public:
    NoCircleNoReport()
        : TestCase("ports stopped for long without a circle are storms, not deadlocks")
    {
    }

  private:
    void DoRun() override
    {
        Ring ring(4, 40'000, HEADROOM_BYTES);
        ring.Watch(1'000'000); // 1 us: stops last longer
        // Hosts 0, 1 and 2 send to host 3, so nothing goes on from switch 3.
        for (uint32_t host = 0; host < 3; ++host)
        {
            ring.Send(host, 3, 2'000, 0);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(ring.CountStuck(), 0U, "everything arrives");
        NS_TEST_EXPECT_MSG_EQ(ring.GetReports().size(), 0U, "no deadlock");
        NS_TEST_EXPECT_MSG_GT(ring.GetStorms(), 0U, "but stops longer than 1 us");
    }
};

class ReportsAreTrue : public TestCase
{
  public:
    ReportsAreTrue()
        : TestCase("what is reported never moves again, and what never moves again is reported")
    {
    }

  private:
    void DoRun() override
    {
        uint32_t deadlocks = 0;
        uint32_t free = 0;
        for (uint32_t seed = 1; seed <= 100; ++seed)
        {
            std::mt19937 random(seed);
            const uint32_t switches = 3 + random() % 3;
            Ring ring(switches, 40'000 + random() % 160'000, HEADROOM_BYTES);
            ring.Watch(300'000); // shorter than a stop without a deadlock
            for (uint32_t message = 0; message < 30; ++message)
            {
                const uint32_t from = random() % switches;
                const uint32_t to = (from + 1 + random() % (switches - 1)) % switches;
                ring.Send(from, to, random() % 300, random() % 200'000'000);
            }
            Simulator::Run();
            for (const auto& report : ring.GetReports())
            {
                for (const auto& name : ring.NamesIn(report))
                {
                    NS_TEST_EXPECT_MSG_EQ((ring.GetPort(name).GetPaused() >> PRIORITY & 1),
                                          1,
                                          "seed " << seed << ": " << report << ", but " << name
                                                  << " went on");
                }
            }
            NS_TEST_EXPECT_MSG_EQ(ring.GetReports().empty(),
                                  (ring.CountStuck() == 0),
                                  "seed " << seed << ", " << ring.CountStuck() << " frames stuck");
            (ring.CountStuck() > 0 ? deadlocks : free)++;
        }
        NS_TEST_EXPECT_MSG_GT(deadlocks, 5U, "some cases deadlock");
        NS_TEST_EXPECT_MSG_GT(free, 5U, "some don't");
    }
};

class FabricPauseWatchdogTestSuite : public TestSuite
{
  public:
    FabricPauseWatchdogTestSuite()
        : TestSuite("astra-fabric-pause-watchdog", Type::UNIT)
    {
        AddTestCase(new RingDeadlocks);
        AddTestCase(new NoCircleNoReport);
        AddTestCase(new ReportsAreTrue);
    }
};

FabricPauseWatchdogTestSuite g_fabricPauseWatchdogTestSuite; //!< registers itself
} // namespace fabric_pause_watchdog_test
