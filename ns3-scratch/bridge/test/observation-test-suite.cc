// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What a session records on request: queues, connections, packets of a port.
 */
#include "record-table.h"
#include "session-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace observation_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;
using Rows = std::vector<std::vector<int64_t>>;

constexpr uint32_t SWITCH = 2; // node number in a star of two hosts

/// Rows of the queues, of one message of 40 segments between two hosts, at the sender's port and
/// at the switch's.
Rows
RecordQueues(int64_t intervalPs)
{
    TcpParameters tcp;
    tcp.initialWindowSegments = 100;
    DescribedNetwork network = DescribeStar(Star(), tcp);
    network.ObserveQueue(0, 0);
    network.ObserveQueue(SWITCH, 1);
    network.Get().observation.queueIntervalPs = intervalPs;
    OpenSession session(std::move(network));
    session.Send(0, 1, 58'400);
    session.Get().Run(-1);
    session.Get().FlushRecords();
    return session.GetRows("queues"); // reports nothing twice
}

class TableOfManyColumns : public TestCase
{
  public:
    TableOfManyColumns()
        : TestCase("a table has as many columns as are described, and hands its rows over in time")
    {
    }

  private:
    void DoRun() override
    {
        const RecordColumn<int64_t> square{"square", [](const int64_t& row) { return row * row; }};
        std::vector<RecordColumn<int64_t>> columns(11, square);
        columns.push_back({"row", [](const int64_t& row) { return row; }});
        RecordTableOf<int64_t> table("wide", columns);
        std::vector<std::size_t> handedOver;
        uint64_t wrong = 0;
        int64_t expected = 0;
        table.SetReady([&] {
            handedOver.push_back(table.GetRows());
            for (std::size_t row = 0; row < table.GetRows(); ++row, ++expected)
            {
                wrong += table.GetColumn(10)[row] == expected * expected ? 0 : 1;
                wrong += table.GetColumn(11)[row] == expected ? 0 : 1;
            }
        });
        for (int64_t row = 0; row <= static_cast<int64_t>(RecordTable::ROWS); ++row)
        {
            table.Append(row);
        }
        NS_TEST_EXPECT_MSG_EQ(table.GetColumnNames().size(), 12U, "columns");
        NS_TEST_EXPECT_MSG_EQ(table.GetColumnNames().back(), "row", "name");
        table.Flush();
        NS_TEST_EXPECT_MSG_EQ(wrong, 0U, "numbers in the eleventh and in the last column");
        NS_TEST_EXPECT_MSG_EQ((handedOver == std::vector<std::size_t>{RecordTable::ROWS, 1}),
                              true,
                              "handed over");
        NS_TEST_EXPECT_MSG_EQ(table.GetRows(), 0U, "and dropped");
    }
};

class QueueRecords : public TestCase
{
  public:
    QueueRecords()
        : TestCase("queues are recorded at each change, or at multiples of an interval where they "
                   "differ")
    {
    }

  private:
    static constexpr int64_t SEGMENTS = 40;
    static constexpr int64_t FRAME_BYTES = 1'518;
    static constexpr int64_t SEGMENT_PS = 1'538 * 80;
    // Twice two links with a SYN of 48 + 18 + 20 bytes, then the acknowledgement of 84 goes on the
    // line at once, and ns-3 sends the data from an event one time step later.
    static constexpr int64_t CONNECTED_PS = 4 * (86 * 80 + 500'000);
    static constexpr int64_t BURST_PS = CONNECTED_PS + 1;
    static constexpr int64_t LINE_FREE_PS = CONNECTED_PS + 84 * 80;

    void DoRun() override
    {
        Rows expected;
        for (int64_t waiting = 1; waiting <= SEGMENTS; ++waiting)
        {
            expected.push_back({BURST_PS, 0, 0, waiting * FRAME_BYTES});
        }
        for (int64_t left = 1; left <= SEGMENTS; ++left)
        {
            const int64_t startPs = LINE_FREE_PS + (left - 1) * SEGMENT_PS;
            expected.push_back({startPs, 0, 0, (SEGMENTS - left) * FRAME_BYTES});
        }
        // The switch's port is as fast as the sender's: nothing ever waits in it.
        NS_TEST_EXPECT_MSG_EQ((RecordQueues(0) == expected), true, "each change");
        for (int64_t intervalPs : {1'000'000, 123'040, 100'000, 1'000})
        {
            const Rows sampled = Sample(expected, intervalPs);
            NS_TEST_EXPECT_MSG_GT(sampled.size(), 1U, "something to see");
            NS_TEST_EXPECT_MSG_EQ((RecordQueues(intervalPs) == sampled),
                                  true,
                                  "every " << intervalPs << " ps");
        }
        // Exactly at the burst and at the first departure after it: a change at a sampling instant
        // belongs to it.
        for (int64_t intervalPs : {BURST_PS, LINE_FREE_PS})
        {
            NS_TEST_EXPECT_MSG_EQ((RecordQueues(intervalPs) == Sample(expected, intervalPs)),
                                  true,
                                  intervalPs);
        }
    }

    /// \return what someone sees who looks at every multiple of an interval, but for repetitions
    static Rows Sample(const Rows& changes, int64_t intervalPs)
    {
        Rows seen;
        int64_t lastBytes = 0;
        for (int64_t timePs = 0; timePs < changes.back()[0] + intervalPs; timePs += intervalPs)
        {
            int64_t bytes = 0;
            for (const auto& change : changes)
            {
                bytes = change[0] <= timePs ? change[3] : bytes;
            }
            if (bytes != lastBytes)
            {
                seen.push_back({timePs, 0, 0, bytes});
            }
            lastBytes = bytes;
        }
        return seen;
    }
};

/// What was observed of an incast that loses packets.
struct LossyRun
{
    Rows rows;                   //!< of connections
    uint64_t retransmissions{0}; //!< counted by the session
    uint64_t timeouts{0};        //!< counted by the session
    int64_t endPs{0};            //!< end of the run
};

/// \return what was observed. \param quantities what to observe
LossyRun
RunLossy(uint32_t quantities)
{
    Star star;
    star.hosts = 5;
    star.bufferBytes = 60'000;
    DescribedNetwork network = DescribeStar(star, TcpParameters());
    network.Get().observation.tables.emplace_back() = {"connections", quantities};
    OpenSession built(std::move(network));
    Session& session = built.Get();
    const uint32_t schedule = RegisterOneMessage(session);
    for (uint32_t sender = 1; sender < star.hosts; ++sender)
    {
        SendMessage(session, schedule, sender, 0, 400'000, sender);
    }
    session.Run(-1);
    session.FlushRecords();
    return {built.GetRows("connections"),
            session.GetStatistics().retransmissions,
            session.GetStatistics().timeouts,
            session.GetNowPs()};
}

class ConnectionRecords : public TestCase
{
  public:
    ConnectionRecords()
        : TestCase(
              "window, round-trip time, retransmissions and timeouts of connections, as asked for")
    {
    }

  private:
    // Four link crossings of 500 ns with the smallest frame.
    static constexpr int64_t LEAST_RTT_PS = 4 * (500'000 + 84 * 80);

    void DoRun() override
    {
        const LossyRun all =
            RunLossy(CONGESTION_WINDOW | ROUND_TRIP_TIME | RETRANSMISSION | TIMEOUT);
        NS_TEST_EXPECT_MSG_GT(all.retransmissions, 0U, "packets were lost");
        NS_TEST_EXPECT_MSG_GT(all.timeouts, 0U, "and timers ran out");
        CheckRows(all);
        NS_TEST_EXPECT_MSG_EQ(CountRows(all.rows, RETRANSMISSION),
                              all.retransmissions,
                              "retransmissions");
        NS_TEST_EXPECT_MSG_EQ(CountRows(all.rows, TIMEOUT), all.timeouts, "timeouts");
        NS_TEST_EXPECT_MSG_GT(CountRows(all.rows, CONGESTION_WINDOW), 0U, "windows");
        NS_TEST_EXPECT_MSG_GT(CountRows(all.rows, ROUND_TRIP_TIME), 0U, "round-trip times");

        const LossyRun one = RunLossy(TIMEOUT);
        NS_TEST_EXPECT_MSG_EQ(one.rows.size(), CountRows(all.rows, TIMEOUT), "timeouts only");
        NS_TEST_EXPECT_MSG_EQ(CountRows(one.rows, TIMEOUT), one.rows.size(), "timeouts only");
        const LossyRun none = RunLossy(0);
        NS_TEST_EXPECT_MSG_EQ(none.rows.size(), 0U, "nothing asked for");
        NS_TEST_EXPECT_MSG_EQ(none.retransmissions, all.retransmissions, "counted all the same");
        NS_TEST_EXPECT_MSG_EQ(none.endPs, all.endPs, "observation changes nothing");
    }

    void CheckRows(const LossyRun& run)
    {
        int64_t lastPs = 0;
        std::set<int64_t> senders;
        for (const auto& row : run.rows)
        {
            NS_TEST_EXPECT_MSG_GT_OR_EQ(row[0], lastPs, "in order of time");
            NS_TEST_EXPECT_MSG_EQ(row[2], 0, "all to NPU 0");
            lastPs = row[0];
            senders.insert(row[1]);
            const int64_t value = row[4];
            const bool plausible = row[3] == CONGESTION_WINDOW ? value >= 1'460
                                   : row[3] == ROUND_TRIP_TIME
                                       ? value >= LEAST_RTT_PS && value < row[0] + 1
                                   : row[3] == RETRANSMISSION ? value > 0 && value <= 1'460
                                                              : value == 1;
            NS_TEST_EXPECT_MSG_EQ(plausible, true, "quantity " << row[3] << ": " << value);
        }
        NS_TEST_EXPECT_MSG_EQ((senders == std::set<int64_t>{1, 2, 3, 4}), true, "each connection");
    }

    static uint64_t CountRows(const Rows& rows, int64_t quantity)
    {
        return std::count_if(rows.begin(), rows.end(), [quantity](const auto& row) {
            return row[3] == quantity;
        });
    }
};

/// Reads a pcap file without help.
class PcapReader
{
  public:
    explicit PcapReader(const std::string& path)
    {
        std::ifstream file(path, std::ios::binary);
        m_bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }

    /// \return a little-endian number of `size` bytes, next in the file
    uint32_t Take(uint32_t size)
    {
        uint32_t value = 0;
        for (uint32_t byte = 0; byte < size; ++byte)
        {
            value |= uint32_t{m_bytes.at(m_next++)} << (8 * byte);
        }
        return value;
    }

    /// \return so many bytes
    std::vector<uint8_t> TakeBytes(uint32_t size)
    {
        std::vector<uint8_t> bytes;
        for (uint32_t byte = 0; byte < size; ++byte)
        {
            bytes.push_back(m_bytes.at(m_next++));
        }
        return bytes;
    }

    /// \return whether all was read
    bool IsAtEnd() const
    {
        return m_next == m_bytes.size();
    }

  private:
    std::vector<uint8_t> m_bytes; //!< the file
    std::size_t m_next{0};        //!< place of the next byte
};

class PcapOfAPort : public TestCase
{
  public:
    PcapOfAPort()
        : TestCase("a pcap file has a valid header and every packet of its port")
    {
    }

  private:
    void DoRun() override
    {
        const std::string path = CreateTempDirFilename("port.pcap");
        PortNumbers statistics;
        {
            TcpParameters tcp;
            tcp.initialWindowSegments = 100;
            DescribedNetwork network = DescribeStar(Star(), tcp);
            network.Get().observation.captures.emplace_back() = {0, 0, path};
            OpenSession built(std::move(network));
            built.Send(0, 1, 58'400);
            built.Get().Run(-1);
            statistics = built.GetPortStatistics(0, 0);
        }
        PcapReader file(path);
        CheckHeader(file);
        // SYN, acknowledgement, 40 segments: when each goes on the line, and its size.
        CheckPacket(file, 0, 48);
        CheckPacket(file, 2'027'520, 40);
        for (int64_t segment = 0; segment < 40; ++segment)
        {
            CheckPacket(file, 2'034'240 + segment * 123'040, 1'500);
        }
        NS_TEST_EXPECT_MSG_EQ(file.IsAtEnd(), true, "nothing more");
        NS_TEST_EXPECT_MSG_EQ(statistics.at("sent_frames"), 42U, "frames counted");
        NS_TEST_EXPECT_MSG_EQ(statistics.at("sent_bytes"),
                              66U + 64U + 40U * 1'518U,
                              "bytes counted");
    }

    void CheckHeader(PcapReader& file)
    {
        NS_TEST_EXPECT_MSG_EQ(file.Take(4), 0xa1b23c4dU, "magic number of nanosecond stamps");
        NS_TEST_EXPECT_MSG_EQ(file.Take(2), 2U, "major version");
        NS_TEST_EXPECT_MSG_EQ(file.Take(2), 4U, "minor version");
        NS_TEST_EXPECT_MSG_EQ(file.Take(4), 0U, "time zone");
        NS_TEST_EXPECT_MSG_EQ(file.Take(4), 0U, "accuracy");
        NS_TEST_EXPECT_MSG_EQ(file.Take(4), 96U, "bytes kept of a packet");
        NS_TEST_EXPECT_MSG_EQ(file.Take(4), 101U, "link type: raw IP");
    }

    void CheckPacket(PcapReader& file, int64_t timePs, uint32_t ipBytes)
    {
        const uint64_t seconds = file.Take(4);
        const uint64_t nanoseconds = file.Take(4);
        const uint32_t kept = file.Take(4);
        NS_TEST_EXPECT_MSG_EQ(seconds * 1'000'000'000 + nanoseconds,
                              static_cast<uint64_t>(timePs / 1'000),
                              "time");
        NS_TEST_EXPECT_MSG_EQ(kept, std::min(ipBytes, 96U), "bytes kept");
        NS_TEST_EXPECT_MSG_EQ(file.Take(4), ipBytes, "size");
        const auto packet = file.TakeBytes(kept);
        NS_TEST_EXPECT_MSG_EQ(uint32_t{packet[0]}, 0x45U, "IPv4 without options");
        NS_TEST_EXPECT_MSG_EQ(packet[2] * 256U + packet[3], ipBytes, "length in the IP header");
        NS_TEST_EXPECT_MSG_EQ(uint32_t{packet[9]}, 6U, "TCP");
        NS_TEST_EXPECT_MSG_EQ(uint32_t{packet[15]}, 1U, "from 10.0.0.1");
        NS_TEST_EXPECT_MSG_EQ(uint32_t{packet[19]}, 2U, "to 10.0.0.2");
        const bool isSyn = timePs == 0;
        NS_TEST_EXPECT_MSG_EQ(uint32_t{packet[33]}, isSyn ? 0x02U : 0x10U, "SYN first, then ACK");
    }
};

class ObservationTestSuite : public TestSuite
{
  public:
    ObservationTestSuite()
        : TestSuite("astra-session-observation", Type::SYSTEM)
    {
        AddTestCase(new TableOfManyColumns);
        AddTestCase(new QueueRecords);
        AddTestCase(new PcapOfAPort);
        AddTestCase(new ConnectionRecords);
    }
};

ObservationTestSuite g_observationTestSuite; //!< registers itself
} // namespace observation_test
