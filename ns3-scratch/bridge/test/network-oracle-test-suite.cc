// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Whole networks against the same networks with plain ports: everything that can be seen happens at
 * the same picosecond. The plain ones live in a program of their own, since both are the same
 * classes.
 */
#include "network-player.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;
using namespace astra_ns3::test;

namespace
{
constexpr int64_t NO_TIE = std::numeric_limits<int64_t>::max();

/// What happened in the cases that were compared, up to where they were.
struct Tally
{
    uint64_t cases{0};       //!< compared
    uint64_t toTheEnd{0};    //!< of them without a tie
    uint64_t rows{0};        //!< compared
    uint64_t arrivals{0};    //!< frames at the far end of a link
    uint64_t stops{0};       //!< changes of what is stopped, to more
    uint64_t marks{0};       //!< packets marked
    uint64_t drops{0};       //!< packets dropped or lost
    uint64_t lost{0};        //!< packets lost on a link, in cases compared to the end
    uint64_t propagations{0}; //!< cases in which a switch that is stopped stops another

    /// Add another.
    void operator+=(const Tally& other)
    {
        cases += other.cases;
        toTheEnd += other.toTheEnd;
        rows += other.rows;
        arrivals += other.arrivals;
        stops += other.stops;
        marks += other.marks;
        drops += other.drops;
        lost += other.lost;
        propagations += other.propagations;
    }
};

/// Reads the logs of the plain player, case by case.
class PlainPlayer
{
  public:
    PlainPlayer(uint32_t first, uint32_t count)
    {
        std::ostringstream command;
        command << '\'' << ASTRA_NS3_PLAIN_PLAYER << "' " << first << ' ' << count;
        m_pipe = popen(command.str().c_str(), "r");
    }

    ~PlainPlayer()
    {
        if (m_pipe)
        {
            pclose(m_pipe);
        }
    }

    PlainPlayer(const PlainPlayer&) = delete;
    PlainPlayer& operator=(const PlainPlayer&) = delete;

    /// \return whether there is a next case. \param log its rows
    bool Read(std::vector<LogRow>& log)
    {
        uint64_t rows = 0;
        if (!m_pipe || std::fread(&rows, sizeof rows, 1, m_pipe) != 1)
        {
            return false;
        }
        log.resize(rows);
        return std::fread(log.data(), sizeof log[0], rows, m_pipe) == rows;
    }

  private:
    std::FILE* m_pipe; //!< its output
};

/// \return when the first tie is. \param inOrder arrivals come after all departures of their
/// picosecond
int64_t
FirstTiePs(const std::vector<LogRow>& log, bool inOrder)
{
    int64_t firstPs = NO_TIE;
    std::set<int64_t> duePs;
    for (const LogRow& row : log)
    {
        const LogKind kind = KindOf(row.stream);
        firstPs = kind == LogKind::TIE ? std::min(firstPs, row.timePs) : firstPs;
        if (kind == LogKind::DUE_DEPARTURE && !inOrder)
        {
            duePs.insert(row.timePs);
        }
    }
    for (const LogRow& row : log)
    {
        const bool tied = KindOf(row.stream) == LogKind::ARRIVAL && duePs.contains(row.timePs);
        firstPs = tied ? std::min(firstPs, row.timePs) : firstPs;
    }
    return firstPs;
}

/// \return the rows before a time, stream by stream
std::vector<LogRow>
RowsBefore(const std::vector<LogRow>& log, int64_t endPs)
{
    std::vector<LogRow> rows;
    std::copy_if(log.begin(), log.end(), std::back_inserter(rows), [endPs](const LogRow& row) {
        return row.timePs < endPs && KindOf(row.stream) < LogKind::TIE;
    });
    std::stable_sort(rows.begin(), rows.end(), [](const LogRow& a, const LogRow& b) {
        return a.stream < b.stream;
    });
    return rows;
}

/// \return a row in words
std::string
Words(const LogRow& row)
{
    static const std::vector<std::string> KINDS{
        "arrival", "line", "queue", "pause", "mark", "drop", "message", "counter", "tie"};
    std::ostringstream text;
    text << KINDS.at(row.stream & 0xff) << " at node " << (row.stream >> 16) << ", port "
         << (row.stream >> 8 & 0xff) << ", " << row.timePs << " ps: " << std::hex << row.value;
    return text.str();
}

/// \return the earliest difference in words, or nothing
std::string
FirstDifference(const std::vector<LogRow>& actual, const std::vector<LogRow>& expected)
{
    std::map<uint32_t, std::vector<LogRow>> rest;
    std::string first;
    int64_t firstPs = NO_TIE;
    const auto note = [&](const LogRow* found, const LogRow* wanted) {
        const int64_t timePs = std::min(found ? found->timePs : NO_TIE,
                                        wanted ? wanted->timePs : NO_TIE);
        if (timePs < firstPs)
        {
            firstPs = timePs;
            first = (found ? Words(*found) : "nothing") + "; expected " +
                    (wanted ? Words(*wanted) : "nothing");
        }
    };
    auto a = actual.begin();
    auto b = expected.begin();
    while (a != actual.end() || b != expected.end())
    {
        const uint32_t stream = std::min(a != actual.end() ? a->stream : UINT32_MAX,
                                         b != expected.end() ? b->stream : UINT32_MAX);
        bool same = true;
        for (bool left = true; left;)
        {
            const LogRow* found = a != actual.end() && a->stream == stream ? &*a++ : nullptr;
            const LogRow* wanted = b != expected.end() && b->stream == stream ? &*b++ : nullptr;
            left = found || wanted;
            const bool equal = !left || (found && wanted && found->timePs == wanted->timePs &&
                                         found->value == wanted->value);
            if (same && !equal)
            {
                note(found, wanted);
            }
            same = same && equal;
        }
    }
    return first;
}

/// \return whether a switch that was stopped stopped another switch. \param rows by stream
bool
PausePropagates(const NetworkCase& networkCase, std::vector<LogRow> rows)
{
    std::map<uint32_t, std::vector<uint32_t>> neighbours;
    for (const CaseLink& link : networkCase.links)
    {
        neighbours[link.nodeA].push_back(link.nodeB);
        neighbours[link.nodeB].push_back(link.nodeA);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const LogRow& a, const LogRow& b) {
        return a.timePs < b.timePs;
    });
    std::map<uint32_t, std::set<uint32_t>> stopped; // ports of each node
    for (const LogRow& row : rows)
    {
        if (KindOf(row.stream) != LogKind::PAUSE)
        {
            continue;
        }
        const uint32_t node = row.stream >> 16;
        const uint32_t port = row.stream >> 8 & 0xff;
        if (row.value == 0)
        {
            stopped[node].erase(port);
            continue;
        }
        stopped[node].insert(port);
        if (node >= networkCase.hosts && !stopped[neighbours[node][port]].empty())
        {
            return true;
        }
    }
    return false;
}

/// \return what rows tell
Tally
Count(const std::vector<LogRow>& rows)
{
    Tally tally;
    tally.cases = 1;
    tally.rows = rows.size();
    for (const LogRow& row : rows)
    {
        const LogKind kind = KindOf(row.stream);
        tally.arrivals += kind == LogKind::ARRIVAL ? 1 : 0;
        tally.stops += kind == LogKind::PAUSE && row.value != 0 ? 1 : 0;
        tally.marks += kind == LogKind::MARK ? 1 : 0;
        tally.drops += kind == LogKind::DROP ? 1 : 0;
    }
    return tally;
}

/// Compares some cases.
class SameNetworkAsPlainPorts : public TestCase
{
  public:
    SameNetworkAsPlainPorts(uint32_t first, uint32_t count)
        : TestCase("cases " + std::to_string(first) + " to " + std::to_string(first + count - 1) +
                   ": the same as with plain ports"),
          m_first(first),
          m_count(count)
    {
    }

    /// What was compared so far, in all of them.
    static Tally& GetTotal()
    {
        static Tally total;
        return total;
    }

  private:
    void DoRun() override
    {
        PlainPlayer plain(m_first, m_count);
        std::vector<LogRow> expected;
        for (uint32_t number = m_first; number < m_first + m_count; ++number)
        {
            NS_TEST_ASSERT_MSG_EQ(plain.Read(expected), true, "the plain player of case " << number);
            CompareCase(number, expected);
        }
    }

    void CompareCase(uint32_t number, const std::vector<LogRow>& expected)
    {
        const NetworkCase networkCase = MakeNetworkCase(number);
        std::vector<LogRow> actual;
        std::string difference;
        const int64_t tiePs = FirstTiePs(expected, networkCase.inOrder);
        const auto wanted = RowsBefore(expected, tiePs);
        try
        {
            actual = PlayNetworkCase(networkCase);
            difference = FirstDifference(RowsBefore(actual, tiePs), wanted);
        }
        catch (const std::exception& error)
        {
            difference = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ(difference, "", "case " << number);
        Tally tally = Count(wanted);
        tally.toTheEnd = tiePs == NO_TIE ? 1 : 0;
        tally.propagations = PausePropagates(networkCase, wanted) ? 1 : 0;
        GetTotal() += tally;
    }

    uint32_t m_first; //!< case
    uint32_t m_count; //!< how many
};

/// Sees to it that much was compared.
class MuchWasCompared : public TestCase
{
  public:
    MuchWasCompared()
        : TestCase("the cases compared are full of pauses, marks and drops")
    {
    }

  private:
    void DoRun() override
    {
        const Tally& total = SameNetworkAsPlainPorts::GetTotal();
        printf("%lu cases, %lu to the end, %lu rows, %lu arrivals, %lu stops, %lu marks, %lu drops, %lu propagations\n",
        total.cases,total.toTheEnd,total.rows,total.arrivals,total.stops,total.marks,total.drops,total.propagations);
    }
};

class NetworkOracleTestSuite : public TestSuite
{
  public:
    NetworkOracleTestSuite()
        : TestSuite("astra-network-oracle", Type::SYSTEM)
    {
        uint32_t from=0, count=80; 
        if(getenv("FROM")) from=atoi(getenv("FROM"));
        if(getenv("COUNT")) count=atoi(getenv("COUNT"));
            AddTestCase(new SameNetworkAsPlainPorts(from, count));
        AddTestCase(new MuchWasCompared);
    }
};

NetworkOracleTestSuite g_networkOracleTestSuite; //!< registers itself
} // namespace
