// SPDX-License-Identifier: GPL-2.0-only
#include "roce-path.h"

#include "fabric-switch.h"
#include "fabric-units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace ns3
{

namespace
{
constexpr uint32_t MOST_SWITCHES = 1000; // a longer path is a loop in the routing tables
constexpr std::size_t USUAL_LINES = 6;   // of a path through three tiers
constexpr std::size_t MOST_SINGLES = 64; // of several ways
constexpr double SAME_SUM = 1e-12;

/// Ways by the node that they have come to.
template <typename Ways>
using WaysTo = std::vector<std::pair<FabricSwitch*, Ways>>;

/// \param found ways by the node that they have come to \param node one \return its ways
template <typename Ways>
Ways&
At(WaysTo<Ways>& found, FabricSwitch* node)
{
    const auto place = std::find_if(found.begin(), found.end(), [node](const auto& each) {
        return each.first == node;
    });
    return place != found.end() ? place->second : found.emplace_back(node, Ways{}).second;
}

/// \param one a line \param other another \return whether frames pass them alike
bool
IsAlike(const FabricPort* one, const FabricPort* other)
{
    return one->GetRateBps() == other->GetRateBps() && one->GetDelayPs() == other->GetDelayPs() &&
           one->GetAnnouncedBytes() == other->GetAnnouncedBytes();
}

/**
 * Go all shortest ways, step by step.
 * \param first the line by which all leave \param destination host where they end
 * \param start the ways before it
 * \param take of some ways, a line and the ways to its end: adds it to each and puts them there
 * \return the ways at the end; none in a circle, or where too many differ
 */
template <typename Ways, typename Take>
Ways
GoAll(const FabricPort* first, uint32_t destination, const Ways& start, const Take& take)
{
    Ways found;
    std::vector<std::pair<const FabricPort*, Ways>> edge{{first, start}};
    for (uint32_t steps = 0; !edge.empty(); ++steps)
    {
        WaysTo<Ways> nodes;
        for (const auto& [line, before] : edge)
        {
            auto* next = dynamic_cast<FabricSwitch*>(line->GetReceiver());
            if (!take(before, line, next ? At(nodes, next) : found) || steps > MOST_SWITCHES)
            {
                return {};
            }
        }
        edge.clear();
        for (const auto& [node, before] : nodes)
        {
            const FabricRoutes::Ports choices = node->GetRoutes().Find(destination);
            for (uint32_t place = 0; place < choices.count; ++place)
            {
                edge.emplace_back(PeekPointer(node->GetPort(choices.first[place])), before);
            }
        }
    }
    return found;
}

/// \param one a way \param other another \return whether a frame alone takes as long over both
bool
IsAlikeForOne(const RocePath& one, const RocePath& other)
{
    if (one.cutsThrough || other.cutsThrough)
    {
        return std::equal(one.lines.begin(),
                          one.lines.end(),
                          other.lines.begin(),
                          other.lines.end(),
                          IsAlike);
    }
    // Like lines in another order, whose sum may differ in its last bit.
    return one.delayPs == other.delayPs && one.lines.size() == other.lines.size() &&
           std::abs(one.psPerByte - other.psPerByte) < SAME_SUM * one.psPerByte;
}

/// \param first the line by which all leave \param destination host where they end
/// \return each of the shortest ways that are unlike for a frame; none where too many are
std::vector<RocePath>
FindSingles(const FabricPort* first, uint32_t destination)
{
    using Ways = std::vector<RocePath>;
    const auto take = [](const Ways& before, const FabricPort* line, Ways& behind) {
        for (RocePath way : before)
        {
            way.Append(line);
            if (std::none_of(behind.begin(), behind.end(), [&way](const RocePath& other) {
                    return IsAlikeForOne(way, other);
                }))
            {
                behind.push_back(std::move(way));
            }
        }
        return behind.size() <= MOST_SINGLES;
    };
    return GoAll<Ways>(first, destination, Ways(1), take);
}

/// \param first the line by which all leave \param destination host where they end
/// \return the least delay of a shortest way, or none
std::optional<int64_t>
FindLeastDelayPs(const FabricPort* first, uint32_t destination)
{
    using Delay = std::optional<int64_t>;
    return GoAll<Delay>(first,
                        destination,
                        0,
                        [](const Delay& before, const FabricPort* line, Delay& behind) {
                            const int64_t delayPs = *before + line->GetDelayPs();
                            behind = std::min(behind.value_or(delayPs), delayPs);
                            return true;
                        });
}
} // namespace

void
RocePath::Append(const FabricPort* line)
{
    delayPs += line->GetDelayPs();
    lines.push_back(line);
    cutsThrough |= line->GetAnnouncedBytes() > 0;
    psPerByte += FABRIC_PS_TIMES_BITS / static_cast<double>(line->GetRateBps());
    lowestRateBps =
        lowestRateBps == 0 ? line->GetRateBps() : std::min(lowestRateBps, line->GetRateBps());
}

std::optional<RocePath>
RocePath::Find(const FabricNetDevice& from, uint32_t port, uint32_t destination)
{
    RocePath path;
    path.lines.reserve(USUAL_LINES);
    const FabricPort* line = PeekPointer(from.GetPort(port));
    while (true)
    {
        path.Append(line);
        auto* next = dynamic_cast<FabricSwitch*>(line->GetReceiver());
        if (!next)
        {
            return path;
        }
        const FabricRoutes::Ports choices = next->GetRoutes().Find(destination);
        if (choices.count == 0)
        {
            return std::nullopt;
        }
        if (++path.switches > MOST_SWITCHES)
        {
            throw std::invalid_argument("RoCE: the routes of the switches lead in a circle and not "
                                        "to host " +
                                        std::to_string(destination));
        }
        line = PeekPointer(next->GetPort(choices.first[0]));
    }
}

std::optional<RocePath>
RocePath::FindWidest(const FabricNetDevice& from, uint32_t port, uint32_t destination)
{
    RocePath path;
    std::vector<const FabricPort*> step{PeekPointer(from.GetPort(port))};
    bool oneWay = true;
    bool areAlike = true;    // the lines of each step
    bool someArrive = false; // ways of different lengths: what lies behind is not all on every one
    while (true)
    {
        const FabricPort* fastest = step.front();
        double rateBps = 0.0;
        uint32_t head = 0;
        std::vector<FabricSwitch*> switches;
        for (const FabricPort* line : step)
        {
            const uint32_t bytes = line->GetAnnouncedBytes();
            head = head == 0 || (bytes > 0 && bytes < head) ? bytes : head;
            path.alike = path.alike && line->GetRateBps() == step.front()->GetRateBps() &&
                         bytes == step.front()->GetAnnouncedBytes();
            areAlike = areAlike && IsAlike(line, step.front());
            rateBps += static_cast<double>(line->GetRateBps());
            fastest = line->GetRateBps() > fastest->GetRateBps() ? line : fastest;
            if (auto* next = dynamic_cast<FabricSwitch*>(line->GetReceiver());
                next && std::find(switches.begin(), switches.end(), next) == switches.end())
            {
                switches.push_back(next);
            }
        }
        path.Append(fastest);
        path.width.push_back(rateBps / static_cast<double>(fastest->GetRateBps()));
        path.heads.push_back(head > 0 ? head + FABRIC_LINE_GAP_BYTES : 0);
        oneWay = oneWay && step.size() == 1;
        if (switches.empty() || someArrive)
        {
            if (oneWay)
            {
                return Find(from, port, destination);
            }
            if (!areAlike || !switches.empty())
            {
                path.singles = FindSingles(path.lines.front(), destination);
                path.delayPs =
                    FindLeastDelayPs(path.lines.front(), destination).value_or(path.delayPs);
            }
            return path;
        }
        if (++path.switches > MOST_SWITCHES)
        {
            return Find(from, port, destination);
        }
        step.clear();
        for (FabricSwitch* each : switches)
        {
            const FabricRoutes::Ports choices = each->GetRoutes().Find(destination);
            for (uint32_t place = 0; place < choices.count; ++place)
            {
                const FabricPort* line = PeekPointer(each->GetPort(choices.first[place]));
                if (std::find(step.begin(), step.end(), line) == step.end())
                {
                    step.push_back(line);
                }
            }
        }
        if (step.empty())
        {
            return Find(from, port, destination);
        }
        someArrive = std::any_of(step.begin(), step.end(), [](const FabricPort* line) {
            return !dynamic_cast<FabricSwitch*>(line->GetReceiver());
        });
    }
}

std::vector<RocePathFrames::Line>
RocePath::GetLines(bool back) const
{
    std::vector<RocePathFrames::Line> found;
    const std::size_t count = lines.size();
    for (std::size_t place = 0; place < count; ++place)
    {
        // Both ways the same switches lie between the lines, so the last leads to none.
        const std::size_t here = back ? count - 1 - place : place;
        const bool last = place + 1 == count;
        const uint32_t bytes = last ? 0 : lines[back ? here - 1 : here]->GetAnnouncedBytes();
        found.push_back({lines[here], bytes > 0 ? bytes + FABRIC_LINE_GAP_BYTES : 0});
    }
    return found;
}

double
RocePath::LinesPs(uint32_t wireBytes, bool back) const
{
    if (!cutsThrough)
    {
        return psPerByte * wireBytes;
    }
    double headPs = 0.0;
    double tailPs = 0.0;
    for (const RocePathFrames::Line& line : GetLines(back))
    {
        const double bytePs = FABRIC_PS_TIMES_BITS / static_cast<double>(line.port->GetRateBps());
        const double startPs = headPs + bytePs * wireBytes >= tailPs ? headPs : tailPs;
        const bool announced = line.headWireBytes > 0 && wireBytes > line.headWireBytes;
        tailPs = startPs + bytePs * wireBytes;
        headPs = announced ? startPs + bytePs * line.headWireBytes : tailPs;
    }
    return tailPs;
}

int64_t
RocePath::ExactAnswerPs(uint32_t wireBytes) const
{
    if (!width.empty())
    {
        return OnePs(wireBytes, true);
    }
    RocePathFrames sent(GetLines(true));
    sent.Send(1, wireBytes);
    return delayPs + sent.GetLastPs();
}

int64_t
RocePath::TravelPs(uint64_t fullFrames, uint32_t fullWireBytes, uint32_t lastWireBytes) const
{
    if (!width.empty())
    {
        return WidePs({{fullFrames, fullWireBytes}, {1, lastWireBytes}});
    }
    if (cutsThrough)
    {
        RocePathFrames sent(GetLines(false));
        sent.Send(fullFrames, fullWireBytes);
        sent.Send(1, lastWireBytes);
        return delayPs + sent.GetLastPs();
    }
    int64_t leftPs = 0;
    for (const FabricPort* line : lines)
    {
        leftPs += line->TransmissionPs(lastWireBytes);
    }
    if (fullFrames == 0)
    {
        return delayPs + leftPs;
    }
    // Some line is where the last frame has to wait for the one before it: that has passed all
    // lines up to there, and waited for its predecessors at the slowest of these.
    int64_t longestPs = 0;
    int64_t passedPs = 0;
    int64_t slowestPs = 0;
    for (const FabricPort* line : lines)
    {
        const int64_t fullPs = line->TransmissionPs(fullWireBytes);
        passedPs += fullPs;
        slowestPs = std::max(slowestPs, fullPs);
        const int64_t beforePs = passedPs + static_cast<int64_t>(fullFrames - 1) * slowestPs;
        longestPs = std::max(longestPs, beforePs + leftPs);
        leftPs -= line->TransmissionPs(lastWireBytes);
    }
    return delayPs + longestPs;
}

int64_t
RocePath::ElsewherePs(uint32_t wireBytes, std::size_t line, bool back) const
{
    // The switch between two lines is behind the earlier one on the way there.
    int64_t passedPs = 0;
    for (std::size_t other = 0; other < lines.size(); ++other)
    {
        if (other == line)
        {
            continue;
        }
        const bool before = back ? other > line : other < line;
        const uint32_t head = heads[other < line ? other : other - 1];
        const bool cuts = head > 0 && wireBytes > head;
        if (before || !cuts)
        {
            passedPs += lines[other]->TransmissionPs(cuts ? head : wireBytes);
        }
    }
    return passedPs;
}

int64_t
RocePath::AlonePs(uint32_t wireBytes, bool back) const
{
    if (alike)
    {
        RocePathFrames frame(GetLines(back));
        frame.Send(1, wireBytes);
        return frame.GetLastPs();
    }
    // The fastest line may not be the one that sends a frame on soonest: a switch can't cut through
    // to a line that would run out of bits. So each line counts by itself.
    int64_t longestPs = 0;
    for (std::size_t line = 0; line < lines.size(); ++line)
    {
        longestPs =
            std::max(longestPs,
                     lines[line]->TransmissionPs(wireBytes) + ElsewherePs(wireBytes, line, back));
    }
    return longestPs;
}

int64_t
RocePath::OnePs(uint32_t wireBytes, bool back) const
{
    if (singles.empty())
    {
        return delayPs + AlonePs(wireBytes, back);
    }
    int64_t leastPs = std::numeric_limits<int64_t>::max();
    for (const RocePath& way : singles)
    {
        leastPs =
            std::min(leastPs,
                     back ? way.ExactAnswerPs(wireBytes) : way.TravelPs(0, wireBytes, wireBytes));
    }
    return leastPs;
}

int64_t
RocePath::WidePs(const std::vector<RoceFrames>& frames) const
{
    uint32_t smallest = UINT32_MAX;
    int64_t longestPs = 0;
    for (const RoceFrames& group : frames)
    {
        if (group.count > 0)
        {
            smallest = std::min(smallest, group.wireBytes);
            longestPs = std::max(longestPs, OnePs(group.wireBytes, false));
        }
    }
    for (std::size_t line = 0; line < lines.size(); ++line)
    {
        int64_t allPs = 0;
        for (const RoceFrames& group : frames)
        {
            allPs +=
                static_cast<int64_t>(group.count) * lines[line]->TransmissionPs(group.wireBytes);
        }
        const auto togetherPs = static_cast<int64_t>(static_cast<double>(allPs) / width[line]);
        longestPs = std::max(longestPs, delayPs + togetherPs + ElsewherePs(smallest, line, false));
    }
    return longestPs;
}

} // namespace ns3
