// SPDX-License-Identifier: GPL-2.0-only
#include "roce-path.h"

#include "fabric-switch.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace ns3
{

namespace
{
constexpr double PS_TIMES_BITS = 8e12;   // picoseconds a byte takes at 1 bit/s
constexpr uint32_t MOST_SWITCHES = 1000; // a longer path is a loop in the routing tables
} // namespace

void
RocePath::Append(const FabricPort* line)
{
    delayPs += line->GetDelayPs();
    lines.push_back(line);
    cutsThrough |= line->GetAnnouncedBytes() > 0;
    psPerByte += PS_TIMES_BITS / static_cast<double>(line->GetRateBps());
    lowestRateBps =
        lowestRateBps == 0 ? line->GetRateBps() : std::min(lowestRateBps, line->GetRateBps());
}

std::optional<RocePath>
RocePath::Find(const FabricNetDevice& from, uint32_t port, uint32_t destination)
{
    RocePath path;
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
        const double bytePs = PS_TIMES_BITS / static_cast<double>(line.port->GetRateBps());
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
    RocePathFrames sent(GetLines(true));
    sent.Send(1, wireBytes);
    return delayPs + sent.GetLastPs();
}

int64_t
RocePath::TravelPs(uint64_t fullFrames, uint32_t fullWireBytes, uint32_t lastWireBytes) const
{
    if (cutsThrough)
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

} // namespace ns3
