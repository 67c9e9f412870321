// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Many connections into one port over ns-3's TCP: incast, loss, who watches, and connections that
 * fail.
 */
#include "../../bridge/test/session-fixture.h"
#include "fabric-switch.h"

#include "ns3/config.h"
#include "ns3/ipv4-header.h"
#include "ns3/ipv4.h"
#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tcp_contention_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;
constexpr double PS_PER_SECOND = 1e12;

/// What came out of a many-to-one transfer.
struct IncastOutcome
{
    uint32_t status{RUN_FAILED};   //!< why Run returned
    uint64_t bytes{0};             //!< bytes that arrived, by the flow records
    uint64_t drops{0};             //!< frames the switch dropped
    uint64_t marks{0};             //!< frames the switch marked
    uint64_t retransmissions{0};   //!< segments sent again
    uint64_t highestQueueBytes{0}; //!< of the port to the receiver
    double shareOfLine{0.0};       //!< payload per second over the line's rate
};

/// Give the switch of a star that is playing another table.
void
CutRoutes(const Session& session, const Star& star)
{
    auto [offsets, ports] = StarRoutes(star);
    const auto groups = std::make_shared<const FabricHostGroups>(Counted(star.hosts));
    NodeList::GetNode(session.GetNs3NodeId(star.hosts))
        ->GetObject<FabricSwitch>()
        ->GetRoutes()
        .SetGroups(groups, *groups, std::move(offsets), std::move(ports));
}

/// Let hosts 1, 2, ... send `bytes` each to host 0, all at the same time.
IncastOutcome
RunIncast(const Star& star, const TcpParameters& tcp, uint64_t bytes)
{
    BuiltStar built(star, tcp);
    Session& session = built.Get();
    RecordingListener& listener = built.GetListener();
    const uint32_t schedule = RegisterOneMessage(session);
    for (uint32_t sender = 1; sender < star.hosts; ++sender)
    {
        SendMessage(session, schedule, sender, 0, bytes, sender);
    }
    IncastOutcome outcome;
    outcome.status = session.Run(-1);
    session.FlushRecords();
    int64_t endPs = 1;
    for (const Flow& flow : listener.GetFlows())
    {
        outcome.bytes += static_cast<uint64_t>(flow.bytes);
        endPs = std::max(endPs, flow.endPs);
    }
    for (uint32_t port = 0; port < star.hosts; ++port)
    {
        outcome.drops += built.GetPortStatistics(star.hosts, port).at("dropped_frames");
        outcome.marks += built.GetPortStatistics(star.hosts, port).at("marked_frames");
    }
    outcome.retransmissions = session.GetStatistics().retransmissions;
    outcome.highestQueueBytes = built.GetPortStatistics(star.hosts, 0).at("highest_queue_bytes");
    outcome.shareOfLine = static_cast<double>(outcome.bytes) * 8 * PS_PER_SECOND /
                          static_cast<double>(endPs) / static_cast<double>(star.rateBps);
    return outcome;
}

class IncastFillsTheLine : public TestCase
{
  public:
    IncastFillsTheLine()
        : TestCase(
              "15 to 1: goodput above 95% of the line, nothing dropped, with Cubic and with Dctcp")
    {
    }

  private:
    static constexpr double LEAST_SHARE = 0.95;

    void DoRun() override
    {
        constexpr uint64_t BYTES = 5'000'000;
        constexpr uint32_t SENDERS = 15;
        Star star;
        star.hosts = SENDERS + 1;
        TcpParameters tcp;
        tcp.mtuBytes = 9'000; // 8960 of 9038 bytes on the line are payload, so 95% can be reached
        tcp.segmentBytes = 8'960;
        for (const std::string control : {"ns3::TcpCubic", "ns3::TcpDctcp"})
        {
            const bool marking = control == "ns3::TcpDctcp";
            tcp.congestionControl = control;
            tcp.ecn = marking;
            star.kminBytes = star.kmaxBytes = marking ? 600'000 : 0;
            const IncastOutcome outcome = RunIncast(star, tcp, BYTES);
            NS_TEST_EXPECT_MSG_EQ(outcome.status, RUN_DRAINED, control);
            NS_TEST_EXPECT_MSG_EQ(outcome.bytes, SENDERS * BYTES, control << ": every byte");
            NS_TEST_EXPECT_MSG_GT(outcome.shareOfLine, LEAST_SHARE, control << ": goodput");
            NS_TEST_EXPECT_MSG_LT(outcome.shareOfLine,
                                  8'960.0 / 9'038.0,
                                  control << ": not above the line");
            NS_TEST_EXPECT_MSG_EQ(outcome.drops, 0U, control << ": drops");
            NS_TEST_EXPECT_MSG_EQ(outcome.retransmissions, 0U, control << ": retransmissions");
            NS_TEST_EXPECT_MSG_EQ((outcome.marks > 0), marking, control << ": marks");
            // Windows of 0.5 MB bound Cubic's queue; Dctcp keeps it well below.
            const uint64_t windows = uint64_t{SENDERS} * tcp.windowBytes * 9'018 / 8'960;
            const uint64_t mostBytes = marking ? windows / 2 : windows;
            NS_TEST_EXPECT_MSG_LT(outcome.highestQueueBytes, mostBytes, control << ": queue");
        }
    }
};

class SmallBufferDropsAndTcpRepairs : public TestCase
{
  public:
    SmallBufferDropsAndTcpRepairs()
        : TestCase("a shared buffer that is too small drops frames, and every byte still arrives")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 1'000'000;
        Star star;
        star.hosts = 9;
        star.bufferBytes = 100'000;
        for (bool sack : {true, false})
        {
            TcpParameters tcp;
            tcp.sack = sack;
            const IncastOutcome outcome = RunIncast(star, tcp, BYTES);
            NS_TEST_EXPECT_MSG_EQ(outcome.status, RUN_DRAINED, "it ends by itself");
            NS_TEST_EXPECT_MSG_EQ(outcome.bytes, 8 * BYTES, "every byte");
            NS_TEST_EXPECT_MSG_GT(outcome.drops, 0U, "drops");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(outcome.retransmissions,
                                        outcome.drops,
                                        "each one sent again");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(outcome.highestQueueBytes, star.bufferBytes, "buffer");
        }
    }
};

/// What two runs have alike if their packets are the same.
struct Carried
{
    std::vector<Flow> flows; //!< messages
    uint64_t bytesHash{0};   //!< of all that host 0 received, IP headers included
    uint64_t watched{0};     //!< packets that a trace source told of

    bool operator==(const Carried& other) const
    {
        return flows == other.flows && bytesHash == other.bytesHash;
    }
};

/// Count a packet of the trace sources Tx and Rx.
void
CountPacket(Carried* carried, Ptr<const Packet>, Ptr<Ipv4>, uint32_t)
{
    carried->watched++;
}

/// Count a packet of the trace sources SendOutgoing and LocalDeliver.
void
CountWithHeader(Carried* carried, const Ipv4Header&, Ptr<const Packet>, uint32_t)
{
    carried->watched++;
}

/// Add the bytes of a packet to the hash.
void
HashPacket(Carried* carried, Ptr<const Packet> packet)
{
    std::vector<uint8_t> bytes(packet->GetSize());
    packet->CopyData(bytes.data(), packet->GetSize());
    const std::string text(bytes.begin(), bytes.end());
    carried->bytesHash = carried->bytesHash * 31 + std::hash<std::string>()(text);
}

class WatchedPacketsAreTheSame : public TestCase
{
  public:
    WatchedPacketsAreTheSame()
        : TestCase("whoever watches IP sees every packet, from the start or from the middle, and "
                   "hosts receive the same bytes at the same times")
    {
    }

  private:
    static constexpr int64_t MIDDLE_PS = 200'000'000;

    void DoRun() override
    {
        const Carried alone = Run("", 0);
        NS_TEST_EXPECT_MSG_EQ(alone.flows.size(), 8U, "messages");
        for (const std::string source : {"Tx", "Rx", "SendOutgoing", "LocalDeliver"})
        {
            const Carried always = Run(source, 0);
            const Carried later = Run(source, MIDDLE_PS);
            NS_TEST_EXPECT_MSG_EQ((always == alone), true, source);
            NS_TEST_EXPECT_MSG_EQ((later == alone), true, source << " from the middle");
            NS_TEST_EXPECT_MSG_GT(later.watched, 0U, source << " from the middle");
            NS_TEST_EXPECT_MSG_GT(always.watched, later.watched, source);
        }
    }

    /// \param source the trace source to watch on all hosts; none if empty
    /// \param fromPs when the watching begins
    Carried Run(const std::string& source, int64_t fromPs)
    {
        Star star;
        star.hosts = 9;
        star.bufferBytes = 100'000;
        BuiltStar built(star, TcpParameters());
        Session& session = built.Get();
        Carried carried;
        Config::ConnectWithoutContext("/NodeList/0/DeviceList/0/$ns3::FabricNetDevice/MacRx",
                                      MakeBoundCallback(&HashPacket, &carried));
        const auto watch = [source, &carried] {
            const std::string path = "/NodeList/*/$ns3::Ipv4L3Protocol/" + source;
            if (source.size() == 2)
            {
                Config::ConnectWithoutContext(path, MakeBoundCallback(&CountPacket, &carried));
            }
            else
            {
                Config::ConnectWithoutContext(path, MakeBoundCallback(&CountWithHeader, &carried));
            }
        };
        if (!source.empty())
        {
            Simulator::Schedule(TimeStep(fromPs), watch);
        }
        const uint32_t schedule = RegisterOneMessage(session);
        for (uint32_t sender = 1; sender < star.hosts; ++sender)
        {
            SendMessage(session, schedule, sender, 0, 1'000'000, sender);
        }
        NS_TEST_EXPECT_MSG_EQ(session.Run(-1), RUN_DRAINED, "it ends by itself");
        session.FlushRecords();
        carried.flows = built.GetListener().GetFlows();
        return carried;
    }
};

class FailedConnectionEndsTheRun : public TestCase
{
  public:
    FailedConnectionEndsTheRun()
        : TestCase("a connection that can't be opened, or is cut, ends the run with a reason")
    {
    }

  private:
    void DoRun() override
    {
        Star star;
        star.unreachableHosts = {0}; // host 1 hears the SYN, its answer has no way back
        RunFailing(star, false);
        star.unreachableHosts = {};
        RunFailing(star, true);
    }

    /// \param cut whether the way to host 1 vanishes after the first message
    void RunFailing(const Star& star, bool cut)
    {
        TcpParameters tcp;
        tcp.connectRetries = 3;
        tcp.dataRetries = 3;
        BuiltStar built(star, tcp);
        Session& session = built.Get();
        RecordingListener& listener = built.GetListener();
        const uint32_t schedule = RegisterOneMessage(session);
        listener.OnPhase([&](const auto& phase) {
            if (phase[0] == 1 && phase[1] == 0)
            {
                Star broken = star;
                broken.unreachableHosts = {1};
                CutRoutes(session, broken);
                SendMessage(session, schedule, 0, 1, 100'000, 1);
            }
        });
        SendMessage(session, schedule, 0, 1, 10'000, 0);
        const uint32_t status = session.Run(-1);
        session.FlushRecords();
        const std::string failure = session.GetFailure();
        const std::string expected = "the TCP connection from NPU 0 to NPU 1 ";
        NS_TEST_EXPECT_MSG_EQ(status, RUN_FAILED, "cut: " << cut);
        NS_TEST_EXPECT_MSG_EQ(failure.substr(0, expected.size()), expected, "it names the pair");
        NS_TEST_EXPECT_MSG_EQ((failure.find("handshake") == std::string::npos), cut, failure);
        NS_TEST_EXPECT_MSG_EQ(listener.GetFlows().size(), cut ? 1U : 0U, "messages that arrived");
        NS_TEST_EXPECT_MSG_EQ(session.CountPending(1, cut ? 1 : 0), 1U, "the message is pending");
    }
};

class TcpContentionTestSuite : public TestSuite
{
  public:
    TcpContentionTestSuite()
        : TestSuite("astra-tcp-contention", Type::SYSTEM)
    {
        AddTestCase(new IncastFillsTheLine);
        AddTestCase(new SmallBufferDropsAndTcpRepairs);
        AddTestCase(new WatchedPacketsAreTheSame);
        AddTestCase(new FailedConnectionEndsTheRun);
    }
};

TcpContentionTestSuite g_tcpContentionTestSuite; //!< registers itself
} // namespace tcp_contention_test
