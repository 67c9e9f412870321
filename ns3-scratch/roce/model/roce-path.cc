// SPDX-License-Identifier: GPL-2.0-only
#include "roce-path.h"

#include "fabric-switch.h"
#include "fabric-units.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace ns3
{

namespace
{
constexpr uint32_t MOST_SWITCHES = 1000; // a longer path is a loop in the routing tables
constexpr std::size_t USUAL_LINES = 6;   // of a path through three tiers
constexpr std::size_t MOST_WAYS = 64;    // of a pair; where more differ, a bound stands for them

/// Lines of a way from the last to the first, and their delays.
struct Tail
{
    int64_t delayPs{0};                   //!< sum of propagation delays
    std::vector<const FabricPort*> lines; //!< the ports that send, in turn, the last one first

    /// \param other a way \return whether frames take the same time on both
    bool IsLike(const Tail& other) const
    {
        return delayPs == other.delayPs &&
               std::equal(lines.begin(),
                          lines.end(),
                          other.lines.begin(),
                          other.lines.end(),
                          [](const FabricPort* one, const FabricPort* another) {
                              return one->GetRateBps() == another->GetRateBps() &&
                                     one->GetAnnouncedBytes() == another->GetAnnouncedBytes();
                          });
    }
};

/// The ways to one destination, each kind of them once.
class Tails
{
  public:
    /// \param destination host where the ways end
    explicit Tails(uint32_t destination)
        : m_destination(destination)
    {
    }

    /// \param node a switch \return the ways from there
    const std::vector<Tail>& From(FabricSwitch* node)
    {
        const auto [entry, isNew] = m_tails.try_emplace(node);
        if (isNew)
        {
            const FabricRoutes::Ports choices = node->GetRoutes().Find(m_destination);
            std::vector<const FabricPort*> ports;
            for (uint32_t place = 0; place < choices.count; ++place)
            {
                ports.push_back(PeekPointer(node->GetPort(choices.first[place])));
            }
            m_tails[node] = Over(ports);
        }
        return m_tails[node];
    }

    /// \param ports that a node may take \return the ways by them
    std::vector<Tail> Over(const std::vector<const FabricPort*>& ports)
    {
        std::vector<Tail> found;
        for (const FabricPort* port : ports)
        {
            auto* next = dynamic_cast<FabricSwitch*>(port->GetReceiver());
            static const std::vector<Tail> ARRIVED{Tail{}};
            const std::vector<Tail> behind = next ? From(next) : ARRIVED;
            for (Tail tail : behind)
            {
                tail.delayPs += port->GetDelayPs();
                tail.lines.push_back(port);
                if (std::none_of(found.begin(), found.end(), [&tail](const Tail& other) {
                        return other.IsLike(tail);
                    }))
                {
                    found.push_back(std::move(tail));
                }
                if (found.size() > MOST_WAYS)
                {
                    return found;
                }
            }
        }
        return found;
    }

  private:
    uint32_t m_destination;                                       //!< where ways end
    std::unordered_map<FabricSwitch*, std::vector<Tail>> m_tails; //!< ways from switches
};
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

std::vector<RocePath>
RocePath::FindEach(const FabricNetDevice& from, uint32_t destination)
{
    std::vector<const FabricPort*> ports;
    for (const uint32_t choice : from.GetChoices(destination))
    {
        ports.push_back(PeekPointer(from.GetPort(choice)));
    }
    std::vector<RocePath> found;
    const std::vector<Tail> tails = Tails(destination).Over(ports);
    if (tails.size() > MOST_WAYS)
    {
        if (auto bound = FindWidest(from, 0, destination); bound && !bound->width.empty())
        {
            bound->width.assign(bound->lines.size(), 1.0);
            found.push_back(std::move(*bound));
        }
        return found;
    }
    for (const Tail& tail : tails)
    {
        RocePath& path = found.emplace_back();
        std::for_each(tail.lines.rbegin(), tail.lines.rend(), [&path](const FabricPort* line) {
            path.Append(line);
        });
        path.switches = tail.lines.size() - 1;
    }
    return found;
}

std::optional<RocePath>
RocePath::FindWidest(const FabricNetDevice& from, uint32_t port, uint32_t destination)
{
    RocePath path;
    std::vector<const FabricPort*> step;
    for (const uint32_t choice : from.GetChoices(destination))
    {
        step.push_back(PeekPointer(from.GetPort(choice)));
    }
    if (step.empty())
    {
        step.push_back(PeekPointer(from.GetPort(port)));
    }
    bool oneWay = true;
    bool someArrive = false; // ways of different lengths: what lies behind is not all on every one
    while (true)
    {
        const FabricPort* fastest = step.front();
        double rateBps = 0.0;
        int64_t delayPs = fastest->GetDelayPs();
        uint32_t head = 0;
        std::vector<FabricSwitch*> switches;
        for (const FabricPort* line : step)
        {
            const uint32_t bytes = line->GetAnnouncedBytes();
            head = head == 0 || (bytes > 0 && bytes < head) ? bytes : head;
            path.alike = path.alike && line->GetRateBps() == step.front()->GetRateBps() &&
                         bytes == step.front()->GetAnnouncedBytes();
            rateBps += static_cast<double>(line->GetRateBps());
            delayPs = std::min(delayPs, line->GetDelayPs());
            fastest = line->GetRateBps() > fastest->GetRateBps() ? line : fastest;
            if (auto* next = dynamic_cast<FabricSwitch*>(line->GetReceiver());
                next && std::find(switches.begin(), switches.end(), next) == switches.end())
            {
                switches.push_back(next);
            }
        }
        path.Append(fastest);
        path.delayPs += delayPs - fastest->GetDelayPs();
        path.width.push_back(rateBps / static_cast<double>(fastest->GetRateBps()));
        path.heads.push_back(head > 0 ? head + FABRIC_LINE_GAP_BYTES : 0);
        oneWay = oneWay && step.size() == 1;
        if (switches.empty() || someArrive)
        {
            return oneWay ? Find(from, port, destination) : path;
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
        return delayPs + AlonePs(wireBytes, true);
    }
    RocePathFrames sent(GetLines(true));
    sent.Send(1, wireBytes);
    return delayPs + sent.GetLastPs();
}

int64_t
RocePath::TravelPs(uint64_t fullFrames, uint32_t fullWireBytes, uint32_t lastWireBytes) const
{
    if (cutsThrough || !width.empty())
    {
        return TravelPs(std::vector<RoceFrames>{{fullFrames, fullWireBytes}, {1, lastWireBytes}});
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
RocePath::TravelPs(const std::vector<RoceFrames>& frames) const
{
    if (!width.empty())
    {
        return WidePs(frames);
    }
    if (cutsThrough)
    {
        RocePathFrames sent(GetLines(false));
        for (const RoceFrames& group : frames)
        {
            sent.Send(group.count, group.wireBytes);
        }
        return delayPs + sent.GetLastPs();
    }
    // When the last frame of the groups so far leaves each line. A group that joins at one line and
    // of which the last has passed another has taken each between once, and the slowest again for
    // every frame but one.
    std::vector<int64_t> leftPs(lines.size(), 0);
    for (const RoceFrames& group : frames)
    {
        if (group.count == 0)
        {
            continue;
        }
        std::vector<int64_t> nextPs(lines.size(), 0);
        for (std::size_t join = 0; join < lines.size(); ++join)
        {
            int64_t passedPs = 0;
            int64_t slowestPs = 0;
            for (std::size_t line = join; line < lines.size(); ++line)
            {
                const int64_t linePs = lines[line]->TransmissionPs(group.wireBytes);
                passedPs += linePs;
                slowestPs = std::max(slowestPs, linePs);
                const auto others = static_cast<int64_t>(group.count - 1);
                nextPs[line] = std::max(nextPs[line], leftPs[join] + passedPs + others * slowestPs);
            }
        }
        leftPs = std::move(nextPs);
    }
    return delayPs + leftPs.back();
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
RocePath::WidePs(const std::vector<RoceFrames>& frames) const
{
    uint32_t smallest = UINT32_MAX;
    int64_t longestPs = 0;
    for (const RoceFrames& group : frames)
    {
        if (group.count > 0)
        {
            smallest = std::min(smallest, group.wireBytes);
            longestPs = std::max(longestPs, AlonePs(group.wireBytes, false));
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
        longestPs = std::max(longestPs, togetherPs + ElsewherePs(smallest, line, false));
    }
    return delayPs + longestPs;
}

} // namespace ns3
