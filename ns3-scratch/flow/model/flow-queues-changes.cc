// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What FlowQueues do when lines or ways change.
 */
#include "flow-queues.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3
{

void
FlowQueues::SetLine(uint32_t number, double rate, int64_t delayPs)
{
    m_nowPs = Simulator::Now().GetTimeStep();
    if (rate != m_links[number].rate)
    {
        Settle(number);
        m_links[number].rate = rate;
        m_links[number].stale = true;
        Mark(number);
    }
    if (delayPs != m_links[number].delayPs)
    {
        ChangeDelay(number, delayPs);
    }
    ScheduleNext();
}

void
FlowQueues::ChangeDelay(uint32_t number, int64_t delayPs)
{
    Link& link = m_links[number];
    const int64_t morePs = delayPs - link.delayPs;
    std::vector<Change> gap;
    std::vector<Change> after;
    for (const Member& member : link.members)
    {
        if (member.leaving > 0.0 && m_flows[member.flow].hops[member.place].next != ARRIVED)
        {
            // What would overtake comes at once, in a picosecond.
            const double rate =
                morePs > 0 ? 0.0 : member.leaving * (1.0 - static_cast<double>(morePs));
            gap.push_back({member.flow, member.place, rate, false});
            after.push_back({member.flow, member.place, member.leaving, false});
        }
    }
    Pipe(number, std::move(gap));
    link.delayPs = delayPs;
    link.arrivalPs += morePs < 0 ? 1 : 0;
    Pipe(number, std::move(after));
}

double
FlowQueues::WaitingOf(const Link& link, const Member& member) const
{
    if (!link.backlog)
    {
        return 0.0;
    }
    if (link.open)
    {
        return std::max(link.growing, 0.0) * member.coming / link.coming;
    }
    double bytes = member.bytes + member.coming * static_cast<double>(m_nowPs - member.sincePs);
    for (const Mixture& mixture : link.mixtures)
    {
        const bool first = &mixture == &link.mixtures.front();
        for (const Part& part : mixture.parts)
        {
            if (part.flow == member.flow && part.place == member.place)
            {
                bytes += first ? part.bytes * link.left / mixture.bytes : part.bytes;
            }
        }
    }
    return bytes;
}

void
FlowQueues::Lose(uint32_t number)
{
    m_nowPs = Simulator::Now().GetTimeStep();
    Link& link = m_links[number];
    if (!link.backlog)
    {
        return;
    }
    Settle(number);
    for (Member& member : link.members)
    {
        const double bytes = WaitingOf(link, member);
        FlowRooms::Drop(member.gate, bytes, m_nowPs);
        m_flows[member.flow].lost += bytes;
        member.bytes = 0.0;
        member.mixtures = 0;
        member.sincePs = m_nowPs;
    }
    link.mixtures.clear();
    link.left = link.growing = link.queued = 0.0;
    link.backlog = link.open = link.mixed = link.whole = false;
    link.stale = true;
    Mark(number);
}

void
FlowQueues::Move(uint32_t number, std::span<const FlowUse> forth, std::span<const FlowUse> back)
{
    m_nowPs = Simulator::Now().GetTimeStep();
    const FlowDemand before = m_flows[number].demand;
    const bool turned = m_flows[number].hops.size() > before.forth.size();
    if (turned || forth.data() != before.forth.data())
    {
        for (uint32_t place = 0, end = m_flows[number].hops.size(); place < end; ++place)
        {
            Turn(number, place);
        }
    }
    Flow& flow = m_flows[number];
    if (back.data() != before.back.data())
    {
        const int64_t delayPs = m_links[forth.back().link].delayPs;
        Follow(flow, 0.0, delayPs);
        flow.demand.back = back;
        Follow(flow, ArrivingOf(flow), delayPs);
    }
    flow.demand.forth = forth;
    const bool moves =
        flow.source != FlowShares::NONE && flow.hops[flow.source].link != forth.front().link;
    if (moves || flow.lost > 0.0)
    {
        flow.branches++;
        const double bytes = TakeBack(number) + std::exchange(flow.lost, 0.0);
        flow.source = AddHops(flow, FlowShares::NONE, forth);
        Send(number, bytes);
    }
    ScheduleNext();
}

void
FlowQueues::Turn(uint32_t number, uint32_t place)
{
    const std::vector<Hop>& hops = m_flows[number].hops;
    const uint32_t before = hops[place].next;
    if (before == ARRIVED || before == LOST)
    {
        return;
    }
    std::vector<uint32_t> passed;
    for (uint32_t each = place; each != FlowShares::NONE; each = hops[each].before)
    {
        passed.insert(passed.begin(), hops[each].link);
    }
    const std::vector<FlowUse> way = m_owner.FindOnward(number, passed);
    if (!way.empty() && way.front().link == hops[before].link)
    {
        return;
    }
    Flow& flow = m_flows[number];
    const uint32_t after = way.empty() ? LOST : AddHops(flow, place, way);
    flow.hops[place].next = after;
    if (after == LOST && hops[place].slot != FlowShares::NONE)
    {
        const Link& link = m_links[hops[place].link];
        const Member& member = link.members[hops[place].slot];
        Settle(hops[place].link);
        flow.lost += link.sends ? 0.0 : WaitingOf(link, member);
        flow.lost += member.leaving * static_cast<double>(link.delayPs);
    }
    if (hops[before].slot == FlowShares::NONE)
    {
        return; // nothing has come there yet, or nothing comes any more
    }
    const Member& member = m_links[hops[before].link].members[hops[before].slot];
    if (!member.ended)
    {
        const double rate = member.coming;
        flow.branches++;
        Come(number, before, 0.0, true);
        if (after != LOST)
        {
            Come(number, after, rate, false);
        }
    }
}

double
FlowQueues::TakeBack(uint32_t number)
{
    Flow& flow = m_flows[number];
    const uint32_t place = std::exchange(flow.source, FlowShares::NONE);
    if (place == FlowShares::NONE)
    {
        return 0.0;
    }
    const uint32_t first = flow.hops[place].link;
    Settle(first);
    Link& link = m_links[first];
    std::vector<std::pair<double, uint32_t>> ends;
    double bytes = 0.0;
    for (; !link.ends.empty(); link.ends.pop())
    {
        const auto& [end, each] = link.ends.top();
        if (each == number)
        {
            bytes = std::max(end - link.served, 0.0);
        }
        else
        {
            ends.emplace_back(end, each);
        }
    }
    link.ends = decltype(link.ends)(std::greater<>{}, std::move(ends));
    m_meter.Change(first, -link.members[flow.hops[place].slot].leaving, m_nowPs);
    Leave(first, flow.hops[place].slot);
    Mark(first);
    if (flow.hops[place].next == ARRIVED)
    {
        EndBranch(number);
    }
    else
    {
        Pipe(first, {{number, place, 0.0, true}});
    }
    return bytes;
}

} // namespace ns3
