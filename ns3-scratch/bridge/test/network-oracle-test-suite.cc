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
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace network_oracle_test
{
using namespace ns3;
using namespace astra_ns3::test;
constexpr int64_t NO_TIE = std::numeric_limits<int64_t>::max();
constexpr uint32_t CASES = 4'800;
constexpr uint32_t CASES_AT_ONCE = 50;
constexpr uint32_t ONE_IN = 4;          // of these is played with --quick
constexpr uint32_t LOSS_COUNTER = 7;    // place of the losses among a port's counters
constexpr uint32_t CUT_COUNTER = 11;    // of what was on a link that went down
constexpr uint32_t DOWN_COUNTER = 12;   // of what waited for it
constexpr uint32_t SILENT_COUNTER = 14; // of what was lost before anybody noticed

/// What happened in the cases that were compared, up to where they were.
struct Tally
{
    uint64_t cases{0};           //!< compared
    uint64_t toTheEnd{0};        //!< of them without a tie
    uint64_t orderedToEnd{0};    //!< of these with arrivals in the order of the ports
    uint64_t arrivals{0};        //!< frames at the far end of a link
    uint64_t accounted{0};       //!< numbers of accounts of messages, without zeros
    uint64_t stops{0};           //!< times a port was told to stop something
    uint64_t marks{0};           //!< packets marked
    uint64_t drops{0};           //!< packets dropped or lost
    uint64_t losses{0};          //!< packets lost on a link, of cases compared to the end
    uint64_t propagations{0};    //!< cases in which a switch that is stopped stops another
    uint64_t changedToEnd{0};    //!< cases with changes without a tie
    uint64_t cuts{0};            //!< packets cut, of cases compared to the end
    uint64_t downs{0};           //!< packets that found a link down, of the same
    uint64_t silences{0};        //!< packets lost on links not known to be down, of the same
    uint64_t flapsToEnd{0};      //!< cases with links that flap, without a tie
    uint64_t memoriesToEnd{0};   //!< cases with memories that change, without a tie
    uint64_t cutThroughs{0};     //!< frames sent on of which the head had come
    uint64_t cutThroughToEnd{0}; //!< cases with switches that cut through, without a tie
    uint64_t creditsToEnd{0};    //!< cases with switches that give credit, without a tie
    uint64_t creditStops{0};     //!< times a port of these had no credit
    uint64_t creditFrames{0};    //!< arrivals in these

    /// Add another.
    void operator+=(const Tally& other)
    {
        cases += other.cases;
        toTheEnd += other.toTheEnd;
        orderedToEnd += other.orderedToEnd;
        arrivals += other.arrivals;
        accounted += other.accounted;
        stops += other.stops;
        marks += other.marks;
        drops += other.drops;
        losses += other.losses;
        propagations += other.propagations;
        changedToEnd += other.changedToEnd;
        cuts += other.cuts;
        downs += other.downs;
        silences += other.silences;
        flapsToEnd += other.flapsToEnd;
        memoriesToEnd += other.memoriesToEnd;
        cutThroughs += other.cutThroughs;
        cutThroughToEnd += other.cutThroughToEnd;
        creditsToEnd += other.creditsToEnd;
        creditStops += other.creditStops;
        creditFrames += other.creditFrames;
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
    static const std::vector<std::string> KINDS{"arrival",
                                                "line",
                                                "queue",
                                                "pause",
                                                "mark",
                                                "drop",
                                                "message",
                                                "account",
                                                "counter",
                                                "cut-through"};
    std::ostringstream text;
    text << KINDS.at(row.stream & 0xff) << " at node " << (row.stream >> 16) << ", port "
         << (row.stream >> 8 & 0xff) << ", " << row.timePs << " ps: " << std::hex << row.value;
    return text.str();
}

/// \return the rows of a stream. \param place where they begin; behind them afterwards
std::vector<LogRow>
TakeStream(const std::vector<LogRow>& rows, std::size_t& place, uint32_t stream)
{
    std::vector<LogRow> taken;
    while (place < rows.size() && rows[place].stream == stream)
    {
        taken.push_back(rows[place++]);
    }
    return taken;
}

/// \return the earliest difference in words, or nothing. \param actual rows by stream
std::string
FirstDifference(const std::vector<LogRow>& actual, const std::vector<LogRow>& expected)
{
    std::string first;
    int64_t firstPs = NO_TIE;
    std::size_t found = 0;
    std::size_t wanted = 0;
    while (found < actual.size() || wanted < expected.size())
    {
        const uint32_t stream =
            std::min(found < actual.size() ? actual[found].stream : UINT32_MAX,
                     wanted < expected.size() ? expected[wanted].stream : UINT32_MAX);
        const auto a = TakeStream(actual, found, stream);
        const auto b = TakeStream(expected, wanted, stream);
        const auto [x, y] =
            std::mismatch(a.begin(),
                          a.end(),
                          b.begin(),
                          b.end(),
                          [](const LogRow& one, const LogRow& other) {
                              return one.timePs == other.timePs && one.value == other.value;
                          });
        const int64_t timePs =
            std::min(x != a.end() ? x->timePs : NO_TIE, y != b.end() ? y->timePs : NO_TIE);
        if (timePs < firstPs)
        {
            firstPs = timePs;
            first = (x != a.end() ? Words(*x) : "nothing") + "; expected " +
                    (y != b.end() ? Words(*y) : "nothing");
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

/// \return what happened. \param rows by stream
Tally
Count(const std::vector<LogRow>& rows)
{
    Tally tally;
    tally.cases = 1;
    uint32_t counter = 0;
    for (const LogRow& row : rows)
    {
        const LogKind kind = KindOf(row.stream);
        tally.arrivals += kind == LogKind::ARRIVAL ? 1 : 0;
        tally.accounted += kind == LogKind::ACCOUNT && row.value != 0 ? 1 : 0;
        tally.stops += kind == LogKind::PAUSE && row.value != 0 ? 1 : 0;
        tally.marks += kind == LogKind::MARK ? 1 : 0;
        tally.drops += kind == LogKind::DROP ? 1 : 0;
        tally.cutThroughs += kind == LogKind::CUT_THROUGH ? 1 : 0;
        counter = kind == LogKind::COUNTER ? counter + 1 : 0;
        tally.losses += counter == LOSS_COUNTER ? row.value : 0;
        tally.cuts += counter == CUT_COUNTER ? row.value : 0;
        tally.downs += counter == DOWN_COUNTER ? row.value : 0;
        tally.silences += counter == SILENT_COUNTER ? row.value : 0;
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
            NS_TEST_ASSERT_MSG_EQ(plain.Read(expected),
                                  true,
                                  "the plain player of case " << number);
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
        tally.orderedToEnd = networkCase.inOrder ? tally.toTheEnd : 0;
        const bool credits = number >= FIRST_CASE_WITH_CREDITS;
        const bool memories = number >= FIRST_CASE_WITH_MEMORIES && !credits;
        tally.cutThroughToEnd =
            number >= FIRST_CASE_WITH_CUT_THROUGH && !credits ? tally.toTheEnd : 0;
        tally.flapsToEnd = number >= FIRST_CASE_WITH_SILENCE && !credits ? tally.toTheEnd : 0;
        tally.memoriesToEnd = memories ? tally.toTheEnd : 0;
        tally.creditsToEnd = credits ? tally.toTheEnd : 0;
        tally.creditStops = credits ? tally.stops : 0;
        tally.creditFrames = credits ? tally.arrivals : 0;
        tally.changedToEnd = networkCase.changes.empty() ? 0 : tally.toTheEnd;
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
        AtLeast(total.toTheEnd, 650, "cases compared to the end");
        AtLeast(total.orderedToEnd, 200, "of them with many things at one time");
        AtLeast(total.arrivals, 1'300'000, "arrivals");
        AtLeast(total.accounted, 100'000, "numbers of accounts");
        AtLeast(total.stops, 33'000, "stops");
        AtLeast(total.marks, 20'000, "marks");
        AtLeast(total.drops, 66'000, "drops");
        AtLeast(total.losses, 1'300, "losses on links");
        AtLeast(total.propagations, 130, "cases in which stops run through switches");
        AtLeast(total.changedToEnd, 600, "cases with changes compared to the end");
        AtLeast(total.cuts, 6'600, "frames cut");
        AtLeast(total.downs, 6'600, "frames that found a link down");
        AtLeast(total.silences, 5'000, "frames that found a link silent");
        AtLeast(total.flapsToEnd, 300, "cases with links that flap compared to the end");
        AtLeast(total.memoriesToEnd, 200, "cases with memories that change compared to the end");
        AtLeast(total.cutThroughs, 200'000, "frames cut through");
        AtLeast(total.cutThroughToEnd, 500, "cases with cut-through compared to the end");
        AtLeast(total.creditsToEnd, 200, "cases with credits compared to the end");
        AtLeast(total.creditStops, 10'000, "stops for lack of credit");
        AtLeast(total.creditFrames, 100'000, "arrivals by credit");
    }

    void AtLeast(uint64_t found, uint64_t ofAll, const std::string& what)
    {
        const uint64_t wanted = ofAll * SameNetworkAsPlainPorts::GetTotal().cases / CASES;
        NS_TEST_EXPECT_MSG_EQ((found >= wanted),
                              true,
                              found << ' ' << what << ", expected " << wanted << " at least");
    }
};

class NetworkOracleTestSuite : public TestSuite
{
  public:
    NetworkOracleTestSuite()
        : TestSuite("astra-network-oracle", Type::SYSTEM)
    {
        for (uint32_t first = 0; first < CASES; first += CASES_AT_ONCE)
        {
            const bool quick = first / CASES_AT_ONCE % ONE_IN == 0;
            AddTestCase(new SameNetworkAsPlainPorts(first, CASES_AT_ONCE),
                        quick ? Duration::QUICK : Duration::EXTENSIVE);
        }
        AddTestCase(new MuchWasCompared);
    }
};

NetworkOracleTestSuite g_networkOracleTestSuite; //!< registers itself
} // namespace network_oracle_test
