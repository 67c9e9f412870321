// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Messages over ns-3's TCP through whole sessions: closed forms, order, incast, loss, and
 * connections that fail.
 */
#include "../../bridge/test/session-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tcp_transport_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;
constexpr uint32_t HEADER_BYTES = 20 + 20; // IPv4 and TCP without options: timestamps are off
// SYN and SYN-ACK carry two options: window scale (3 bytes) and SACK permitted (2), filled up to a
// multiple of 4 bytes.
constexpr uint32_t SYN_BYTES = HEADER_BYTES + 8;

/// \return time a link is busy with an IP packet: Ethernet adds 18 bytes, up to 64 at least, and a
/// gap of 20
int64_t
LinkPs(uint32_t ipBytes, const Star& star)
{
    const uint64_t wireBytes = std::max<uint64_t>(ipBytes + 18, 64) + 20;
    return static_cast<int64_t>(wireBytes * 8'000'000'000'000 /
                                star.rateBps); // whole at the rates used here
}

/// \return when these IP packets, sent back to back from `startPs` on, have passed host link and
/// switch
std::vector<int64_t>
ArrivalsPs(const std::vector<uint32_t>& packets, int64_t startPs, const Star& star)
{
    std::vector<int64_t> arrivals;
    int64_t hostFreePs = startPs;
    int64_t switchFreePs = startPs;
    for (uint32_t ipBytes : packets)
    {
        hostFreePs += LinkPs(ipBytes, star);
        const int64_t atSwitchPs = hostFreePs + star.delayPs; // store and forward
        switchFreePs = std::max(switchFreePs, atSwitchPs) + LinkPs(ipBytes, star);
        arrivals.push_back(switchFreePs + star.delayPs);
    }
    return arrivals;
}

/// \return when the last of them has
int64_t
LastArrivalPs(const std::vector<uint32_t>& packets, int64_t startPs, const Star& star)
{
    return ArrivalsPs(packets, startPs, star).back();
}

/// \return IP packets of a message
std::vector<uint32_t>
SegmentsOf(uint64_t bytes, uint32_t segmentBytes)
{
    std::vector<uint32_t> packets(bytes / segmentBytes, segmentBytes + HEADER_BYTES);
    if (bytes % segmentBytes > 0)
    {
        packets.push_back(bytes % segmentBytes + HEADER_BYTES);
    }
    return packets;
}

class FirstMessageMatchesClosedForm : public TestCase
{
  public:
    FirstMessageMatchesClosedForm()
        : TestCase(
              "first message of a pair takes handshake, serialisation and delays to the picosecond")
    {
    }

  private:
    void DoRun() override
    {
        for (uint64_t rateBps : {25'000'000'000, 100'000'000'000, 400'000'000'000})
        {
            // At most 65535 bytes: the window in a SYN-ACK is not scaled, and no later one comes
            // before they are sent.
            for (uint64_t bytes : {0, 1, 2, 1'459, 1'460, 1'461, 20'000, 58'400, 65'000})
            {
                CheckMessage(rateBps, bytes);
            }
        }
    }

    void CheckMessage(uint64_t rateBps, uint64_t bytes)
    {
        Star star;
        star.rateBps = rateBps;
        TcpParameters tcp;
        tcp.initialWindowSegments = 100; // more than any of the messages has: no slow start
        BuiltStar built(star, tcp);
        Session& session = built.Get();
        RecordingListener& listener = built.GetListener();
        SendMessage(session, RegisterOneMessage(session), 0, 1, bytes, 42);
        const uint32_t status = session.Run(-1);
        session.FlushRecords();

        const uint64_t carried = std::max<uint64_t>(bytes, 1); // an empty message rides as one byte
        const int64_t synPs = LastArrivalPs({SYN_BYTES}, 0, star);
        const int64_t synAckPs = LastArrivalPs({SYN_BYTES}, synPs, star);
        std::vector<uint32_t> packets{
            HEADER_BYTES}; // the handshake's last acknowledgement goes first
        const auto segments = SegmentsOf(carried, tcp.segmentBytes);
        packets.insert(packets.end(), segments.begin(), segments.end());
        const Flow expected{0,
                            1,
                            static_cast<int64_t>(carried),
                            0,
                            LastArrivalPs(packets, synAckPs, star),
                            42,
                            0};

        NS_TEST_ASSERT_MSG_EQ(status, RUN_DRAINED, "the session ends by itself");
        NS_TEST_ASSERT_MSG_EQ(listener.GetFlows().size(), 1U, bytes << " bytes");
        NS_TEST_EXPECT_MSG_EQ(listener.GetFlows()[0].endPs,
                              expected.endPs,
                              bytes << " bytes at " << rateBps);
        NS_TEST_EXPECT_MSG_EQ((listener.GetFlows()[0] == expected), true, bytes << " bytes");
        NS_TEST_EXPECT_MSG_EQ(built.GetPortStatistics(0, 0).at("sent_frames"),
                              1 + packets.size(),
                              "frames");
        NS_TEST_EXPECT_MSG_EQ(session.GetSentBytes(0), carried, "bytes sent by NPU 0");
        NS_TEST_EXPECT_MSG_EQ(session.GetSentBytes(1), 0U, "bytes sent by NPU 1");
        NS_TEST_EXPECT_MSG_EQ(CounterOf(session, "connections"),
                              1U,
                              "one direction, one connection");
        NS_TEST_EXPECT_MSG_EQ(session.GetStatistics().retransmissions +
                                  session.GetStatistics().timeouts,
                              0U,
                              "no loss");
    }
};

class LaterMessagesUseTheOpenConnection : public TestCase
{
  public:
    LaterMessagesUseTheOpenConnection()
        : TestCase("later messages need no handshake and arrive in the order sent")
    {
    }

  private:
    // ns-3 sends what is written to an idle socket from an event of its own one time step later, so
    // what is written in one go shares segments.
    static constexpr int64_t WRITE_PS = 1;
    static constexpr int64_t LATER_PS = 1'000'000'000; // long after the first message

    void DoRun() override
    {
        const Star star;
        TcpParameters tcp;
        tcp.initialWindowSegments = 100;
        BuiltStar built(star, tcp);
        Session& session = built.Get();
        RecordingListener& listener = built.GetListener();
        const uint32_t schedule = RegisterOneMessage(session);
        const std::vector<uint64_t> sizes{1, 0, 20'000, 1'460, 2, 7'000, 30'000};
        listener.OnTimer([&](const auto&) {
            for (uint64_t index = 0; index < sizes.size(); ++index)
            {
                SendMessage(session, schedule, 0, 1, sizes[index], index);
            }
        });
        session.SetTimer(0, LATER_PS, 0);
        SendMessage(session, schedule, 0, 1, 3'000, 99);
        session.Run(-1);
        session.FlushRecords();

        const auto flows = listener.GetFlows();
        const uint64_t streamBytes = 58'464; // 1 + 1 + 20000 + 1460 + 2 + 7000 + 30000
        const auto arrivals =
            ArrivalsPs(SegmentsOf(streamBytes, tcp.segmentBytes), LATER_PS + WRITE_PS, star);
        NS_TEST_ASSERT_MSG_EQ(flows.size(), 1 + sizes.size(), "every message arrives");
        uint64_t endByte = 0;
        for (uint64_t index = 0; index < sizes.size(); ++index)
        {
            const Flow& flow = flows[1 + index];
            const uint64_t bytes = std::max<uint64_t>(sizes[index], 1);
            endByte += bytes;
            const int64_t endPs = arrivals[(endByte - 1) / tcp.segmentBytes]; // of its last byte
            const Flow expected{0,
                                1,
                                static_cast<int64_t>(bytes),
                                LATER_PS,
                                endPs,
                                static_cast<int64_t>(index),
                                0};
            NS_TEST_EXPECT_MSG_EQ(flow.endPs, endPs, "message " << index);
            NS_TEST_EXPECT_MSG_EQ((flow == expected), true, "message " << index);
        }
        NS_TEST_EXPECT_MSG_EQ(endByte, streamBytes, "the sizes add up");
        NS_TEST_EXPECT_MSG_EQ(CounterOf(session, "connections"), 1U, "still one connection");
    }
};

class ChannelsHaveConnectionsOfTheirOwn : public TestCase
{
  public:
    ChannelsHaveConnectionsOfTheirOwn()
        : TestCase("each channel of a pair has a connection of its own, the first that of messages "
                   "without one")
    {
    }

  private:
    void DoRun() override
    {
        const Star star;
        BuiltStar built(star, TcpParameters{});
        Session& session = built.Get();
        const uint32_t schedule = RegisterOneMessage(session);
        SendMessage(session, schedule, 0, 1, 3'000, 1);
        SendInChannel(session, schedule, {0, 1}, 3'000, 2, 0);
        SendInChannel(session, schedule, {0, 1}, 3'000, 3, 1);
        SendInChannel(session, schedule, {0, 1}, 3'000, 4, 1);
        SendInChannel(session, schedule, {0, 1}, 3'000, 5, 200);
        SendInChannel(session, schedule, {1, 0}, 3'000, 6, 1);
        NS_TEST_EXPECT_MSG_EQ(session.Run(-1), RUN_DRAINED, "all is sent");
        session.FlushRecords();
        NS_TEST_EXPECT_MSG_EQ(built.GetListener().GetFlows().size(), 6U, "messages");
        NS_TEST_EXPECT_MSG_EQ(CounterOf(session, "connections"),
                              4U,
                              "channels 0, 1 and 200 one way, and channel 1 the other");
        NS_TEST_EXPECT_MSG_EQ(session.GetSentBytes(0), 15'000U, "bytes");
    }
};

class MessageAboveFourGibibytes : public TestCase
{
  public:
    MessageAboveFourGibibytes()
        : TestCase("a message of 4.4e9 bytes arrives whole, in the time of its bytes on the line")
    {
    }

  private:
    // On top of what the line needs: the handshake, a slow start of some round trips, short
    // segments at the end of the send buffer.
    static constexpr double TOLERANCE = 0.01;

    void DoRun() override
    {
        constexpr uint64_t BYTES = 4'400'000'000;
        static_assert(BYTES > uint64_t{1} << 32);
        const Star star;
        TcpParameters tcp;
        tcp.mtuBytes = 65'535; // the largest IP packets there are, so that there are few
        tcp.segmentBytes = 65'495;
        BuiltStar built(star, tcp);
        Session& session = built.Get();
        RecordingListener& listener = built.GetListener();
        SendMessage(session, RegisterOneMessage(session), 0, 1, BYTES, 0);
        session.Run(-1);
        session.FlushRecords();

        NS_TEST_ASSERT_MSG_EQ(listener.GetFlows().size(), 1U, "it arrives");
        const Flow flow = listener.GetFlows()[0];
        const double segments = static_cast<double>(BYTES) / tcp.segmentBytes;
        const double linePs = segments * static_cast<double>(LinkPs(tcp.mtuBytes, star));
        NS_TEST_EXPECT_MSG_EQ(flow.bytes, static_cast<int64_t>(BYTES), "whole");
        NS_TEST_EXPECT_MSG_EQ(session.GetSentBytes(0), BYTES, "counted in 64 bits");
        NS_TEST_EXPECT_MSG_GT(static_cast<double>(flow.endPs), linePs, "not faster than the line");
        NS_TEST_EXPECT_MSG_LT(static_cast<double>(flow.endPs),
                              linePs * (1 + TOLERANCE),
                              "at line rate");
    }
};

class TcpTransportTestSuite : public TestSuite
{
  public:
    TcpTransportTestSuite()
        : TestSuite("astra-tcp-transport", Type::SYSTEM)
    {
        AddTestCase(new FirstMessageMatchesClosedForm);
        AddTestCase(new LaterMessagesUseTheOpenConnection);
        AddTestCase(new ChannelsHaveConnectionsOfTheirOwn);
    }
};

TcpTransportTestSuite g_tcpTransportTestSuite; //!< registers itself

class TcpLongMessageTestSuite : public TestSuite
{
  public:
    TcpLongMessageTestSuite()
        : TestSuite("astra-tcp-long-message", Type::SYSTEM)
    {
        AddTestCase(new MessageAboveFourGibibytes, Duration::EXTENSIVE);
    }
};

TcpLongMessageTestSuite g_tcpLongMessageTestSuite; //!< registers itself
} // namespace tcp_transport_test
