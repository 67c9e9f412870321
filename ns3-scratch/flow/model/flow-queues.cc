// SPDX-License-Identifier: GPL-2.0-only
#include "flow-queues.h"

#include "fabric-delay.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ns3
{

namespace
{
constexpr double RATE_CLOSE = 1e-9; // rates nearer than this are one
constexpr double ROUNDING_PS = 1.0; // of the time of an event

/// \return whether two rates are one
bool
Same(double one, double other)
{
    return std::abs(one - other) <= RATE_CLOSE * std::max(one, other);
}

/// \return whole picoseconds that bytes take, at least one
int64_t
Lasting(double bytes, double rate)
{
    return std::max<int64_t>(FabricLater(0, std::ceil(std::max(bytes, 0.0) / rate), "a flow"), 1);
}
} // namespace

FlowQueues::FlowQueues(FlowQueuesOwner& owner,
                       FlowMeter& meter,
                       bool tallies,
                       FlowGrain grain,
                       FlowRooms& rooms)
    : m_owner(owner),
      m_meter(meter),
      m_tallies(tallies),
      m_grain(grain),
      m_rooms(rooms)
{
}

uint32_t
FlowQueues::AddLink(double rate, int64_t delayPs, bool sends)
{
    Link& link = m_links.emplace_back();
    link.sends = sends;
    link.rate = rate;
    link.delayPs = delayPs;
    return m_links.size() - 1;
}

double
FlowQueues::FreeOf(const Link& link)
{
    const double free = link.rate - link.kept;
    // Where answers take all of a line, what is left is rounding.
    return !link.sends ? link.rate : free > link.rate * RATE_CLOSE ? free : 0.0;
}

void
FlowQueues::SetRate(uint32_t number, double rate)
{
    Link& link = m_links[number];
    m_nowPs = Simulator::Now().GetTimeStep();
    Settle(number);
    link.rate = rate;
    link.stale = true;
    Mark(number);
    ScheduleNext();
}

uint32_t
FlowQueues::AddFlow()
{
    if (m_free.empty())
    {
        m_free.push_back(m_flows.size());
        m_flows.emplace_back();
    }
    const uint32_t number = m_free.back();
    m_free.pop_back();
    return number;
}

uint32_t
FlowQueues::Begin(const FlowDemand& demand)
{
    const uint32_t number = AddFlow();
    m_nowPs = Simulator::Now().GetTimeStep();
    const uint32_t first = demand.forth.front().link;
    Link& link = m_links[first];
    Settle(first);
    Flow& flow = m_flows[number];
    flow.demand = demand;
    flow.answered = 0.0;
    flow.beganPs = m_nowPs;
    flow.turn = m_begun++;
    flow.waits.clear();
    flow.slots.assign(demand.forth.size(), FlowShares::NONE);
    flow.slots[0] = link.members.size();
    link.members.push_back({number, 0});
    link.members.back().sentPs = m_nowPs;
    link.ends.emplace(link.served + demand.bytes, number);
    Mark(first);
    ScheduleNext();
    return number;
}

void
FlowQueues::Push(Kind kind, uint32_t link, int64_t afterPs)
{
    m_events.push({m_nowPs + afterPs, kind, m_order++, link, m_links[link].version});
}

void
FlowQueues::Mark(uint32_t number)
{
    Link& link = m_links[number];
    if (!link.dirty)
    {
        link.dirty = true;
        Push(Kind::SERVE, number, 0);
    }
}

void
FlowQueues::Settle(uint32_t number)
{
    Link& link = m_links[number];
    const auto passed = static_cast<double>(m_nowPs - link.sincePs);
    link.sincePs = m_nowPs;
    if (link.sends)
    {
        link.served += link.share * passed;
    }
    else if (link.open)
    {
        link.growing += (link.coming - FreeOf(link)) * passed;
    }
    else if (link.backlog)
    {
        link.left -= FreeOf(link) * passed;
        link.growing += link.coming * passed;
    }
}

FlowQueues::Member&
FlowQueues::MemberOf(uint32_t number, const Change& change)
{
    Link& link = m_links[number];
    uint32_t& slot = m_flows[change.flow].slots[change.place];
    if (slot == FlowShares::NONE)
    {
        slot = link.members.size();
        Member& member = link.members.emplace_back();
        member.flow = change.flow;
        member.place = change.place;
        member.sincePs = member.sentPs = m_nowPs;
        const std::span<const FlowUse> forth = m_flows[change.flow].demand.forth;
        const bool comes = change.place > 0;
        member.gate =
            m_rooms.FindGate(number, comes ? forth[change.place - 1].link : FlowRooms::NOWHERE);
    }
    return link.members[slot];
}

void
FlowQueues::Complete(Link& link)
{
    Mixture mixture;
    mixture.parts.reserve(link.members.size());
    const double scale = link.open ? std::max(link.growing, 0.0) / link.coming : 0.0;
    link.coming = 0.0;
    for (Member& member : link.members)
    {
        const auto passed = static_cast<double>(m_nowPs - member.sincePs);
        const double bytes =
            link.open ? member.coming * scale : member.bytes + member.coming * passed;
        member.bytes = 0.0;
        member.sincePs = m_nowPs;
        link.coming += member.coming; // exact again
        if (bytes > 0.0)
        {
            mixture.parts.push_back({member.flow, member.place, bytes});
            mixture.bytes += bytes;
            member.mixtures++;
        }
    }
    if (link.mixtures.empty())
    {
        link.left += mixture.bytes;
        link.stale = true;
    }
    else
    {
        link.queued += mixture.bytes;
    }
    link.growing = 0.0;
    link.open = link.mixed = false;
    link.whole = true;
    link.mixtures.push_back(std::move(mixture));
}

void
FlowQueues::PartTails(Link& link)
{
    if (!std::exchange(link.whole, false))
    {
        return;
    }
    std::vector<Part>& parts = link.mixtures.back().parts;
    const auto memberOf = [this, &link](const Part& part) -> Member& {
        return link.members[m_flows[part.flow].slots[part.place]];
    };
    const auto first = std::partition(parts.begin(), parts.end(), [&memberOf](const Part& part) {
        const Member& member = memberOf(part);
        return !member.ended || member.bytes > 0.0;
    });
    const std::size_t count = parts.end() - first;
    if (count < 2)
    {
        return;
    }
    const auto orderOf = [this, &memberOf](const Part& part) {
        const Flow& flow = m_flows[part.flow];
        return std::tuple(memberOf(part).lastPs,
                          ~flow.demand.forth[part.place - 1].link,
                          flow.turn);
    };
    std::sort(first, parts.end(), [&orderOf](const Part& one, const Part& other) {
        return orderOf(one) < orderOf(other);
    });
    std::deque<Mixture> tails(std::min<std::size_t>(count, MOST_TAILS));
    double bytes = 0.0;
    for (std::size_t number = 0; number < count; ++number)
    {
        Part& part = first[number];
        const double packet = m_flows[part.flow].demand.lastBytes;
        const double last = part.bytes > packet * (1 + RATE_CLOSE) ? packet : part.bytes;
        Mixture& tail = tails[number * tails.size() / count];
        tail.parts.push_back({part.flow, part.place, last});
        tail.bytes += last;
        bytes += last;
        part.bytes -= last;
        memberOf(part).mixtures += part.bytes > 0.0 ? 1 : 0;
    }
    std::erase_if(parts, [](const Part& part) { return part.bytes <= 0.0; });
    link.mixtures.back().bytes = std::accumulate( // without the rounding of a difference
        parts.begin(),
        parts.end(),
        0.0,
        [](double sum, const Part& part) { return sum + part.bytes; });
    if (parts.empty())
    {
        bytes -= tails.front().bytes;
        link.mixtures.back() = std::move(tails.front());
        tails.pop_front();
    }
    link.mixtures.insert(link.mixtures.end(), tails.begin(), tails.end());
    if (link.mixtures.size() == tails.size() + 1)
    {
        link.left -= bytes;
        link.queued += bytes;
    }
}

void
FlowQueues::CompleteGrain(Link& link)
{
    const double grain = std::max(m_grain.bytes, m_grain.share * (link.left + link.queued));
    if (link.mixed && link.growing >= grain * (1 - RATE_CLOSE))
    {
        Complete(link);
    }
}

double
FlowQueues::GrainAfterPs(const Link& link, double free) const
{
    // What waits in front of the mixture that grows becomes less meanwhile.
    const double share = m_grain.share;
    return std::max((m_grain.bytes - link.growing) / link.coming,
                    (share * (link.left + link.queued) - link.growing) /
                        (link.coming + share * free));
}

void
FlowQueues::Come(const Change& change)
{
    const uint32_t number = m_flows[change.flow].demand.forth[change.place].link;
    Link& link = m_links[number];
    Settle(number);
    if (link.open)
    {
        link.left = 0.0;
        Complete(link);
    }
    else if (link.backlog && link.growing > 0.0)
    {
        link.mixed = true;
        CompleteGrain(link);
    }
    Member& member = MemberOf(number, change);
    if (link.backlog)
    {
        member.bytes += member.coming * static_cast<double>(m_nowPs - member.sincePs);
        member.sincePs = m_nowPs;
    }
    m_rooms.Grow(member.gate, change.rate - member.coming, m_nowPs);
    link.coming += change.rate - member.coming;
    member.coming = change.rate;
    if (change.last)
    {
        member.ended = true;
        member.lastPs = m_nowPs;
    }
    Mark(number);
}

void
FlowQueues::TakeNext(Link& link)
{
    for (const Part& part : link.mixtures.front().parts)
    {
        link.members[m_flows[part.flow].slots[part.place]].mixtures--;
    }
    link.mixtures.pop_front();
    link.stale = true;
    if (!link.mixtures.empty())
    {
        const double next = link.mixtures.front().bytes;
        link.left += next; // what was sent too much in the last picosecond is sent less now
        link.queued -= next;
    }
}

void
FlowQueues::Advance(Link& link, double free)
{
    const double crumb = std::max(free, link.coming) * ROUNDING_PS;
    const bool fits = link.coming <= free * (1 + RATE_CLOSE);
    while (link.backlog && !link.open && link.left <= crumb * RATE_CLOSE)
    {
        TakeNext(link);
        if (!link.mixtures.empty())
        {
            continue;
        }
        if (fits && link.growing <= crumb)
        {
            link.backlog = false;
        }
        else if (!link.mixed && link.coming > 0.0)
        {
            link.open = true;
            link.growing += link.left;
        }
        else
        {
            Complete(link);
            PartTails(link);
        }
    }
    if (link.open && fits && link.growing <= crumb)
    {
        link.backlog = link.open = false;
    }
    if (!link.backlog)
    {
        link.left = link.growing = link.queued = 0.0;
        link.mixed = false;
        link.backlog = link.open = !fits;
        link.stale = true;
    }
}

void
FlowQueues::Serve(uint32_t number)
{
    Link& link = m_links[number];
    m_solutions++;
    Settle(number);
    link.version++;
    if (link.sends)
    {
        Share(number);
        return;
    }
    link.dirty = false;
    const double free = FreeOf(link);
    CompleteGrain(link);
    PartTails(link);
    Advance(link, free);
    if (link.open || link.stale)
    {
        const bool first = link.backlog && !link.open;
        const double scale = link.open ? free / link.coming : 1.0;
        for (Member& member : link.members)
        {
            member.next = first ? 0.0 : member.coming * scale;
            member.bytes = link.backlog ? member.bytes : 0.0;
        }
        if (first)
        {
            const Mixture& mixture = link.mixtures.front();
            for (const Part& part : mixture.parts)
            {
                link.members[m_flows[part.flow].slots[part.place]].next =
                    part.bytes * free / mixture.bytes;
            }
        }
        link.stale = false;
        Tell(number);
    }
    if (link.open && link.coming < free * (1 - RATE_CLOSE))
    {
        Push(Kind::SERVE, number, Lasting(link.growing, free - link.coming));
    }
    else if (link.backlog && !link.open && free > 0.0)
    {
        const double nextPs = link.left / free;
        const bool grows = link.mixed && link.coming > 0.0;
        const double grainPs = grows ? GrainAfterPs(link, free) : nextPs;
        Push(Kind::SERVE, number, Lasting(std::min(nextPs, grainPs), 1.0));
    }
}

bool
FlowQueues::IsOut(const Link& link, const Member& member)
{
    return member.ended && member.mixtures == 0 &&
           (!link.backlog || link.open || member.bytes == 0.0);
}

void
FlowQueues::Tell(uint32_t number)
{
    Link& link = m_links[number];
    std::vector<Change> changes;
    m_done.clear();
    for (uint32_t slot = 0; slot < link.members.size();)
    {
        Member& member = link.members[slot];
        const bool out = !link.sends && IsOut(link, member);
        const double rate = out ? 0.0 : member.next;
        if (!out && Same(rate, member.leaving))
        {
            slot++;
            continue;
        }
        Flow& flow = m_flows[member.flow];
        const uint32_t next = member.place + 1;
        if (m_meter.IsUsed())
        {
            m_meter.Change(number, rate - member.leaving, m_nowPs);
        }
        m_rooms.Grow(member.gate, member.leaving - rate, m_nowPs);
        member.sent += member.leaving * static_cast<double>(m_nowPs - member.sentPs);
        member.sentPs = m_nowPs;
        member.leaving = rate;
        if (next < flow.demand.forth.size())
        {
            changes.push_back({member.flow, next, rate, out});
        }
        else
        {
            Follow(flow, rate, link.delayPs);
        }
        if (!out)
        {
            slot++;
            continue;
        }
        Wait(flow, member.place, m_nowPs - member.lastPs);
        if (next == flow.demand.forth.size())
        {
            m_done.push_back(member.flow);
        }
        Leave(number, slot);
    }
    if (!changes.empty())
    {
        link.pipe.push_back(std::move(changes));
        Push(Kind::ARRIVAL, number, link.delayPs);
    }
    for (const uint32_t flow : m_done)
    {
        m_owner.FlowPassed(flow);
        m_free.push_back(flow);
    }
}

double
FlowQueues::SentOf(uint32_t number, uint32_t place, int64_t beforePs) const
{
    const Flow& flow = m_flows[number];
    const uint32_t slot = flow.slots[place];
    if (slot == FlowShares::NONE || slot == LEFT)
    {
        return slot == LEFT ? flow.demand.bytes : 0.0;
    }
    const Member& member = m_links[flow.demand.forth[place].link].members[slot];
    const int64_t passedPs = Simulator::Now().GetTimeStep() - beforePs - member.sentPs;
    const double sent = member.sent + member.leaving * static_cast<double>(passedPs);
    return std::clamp(sent, 0.0, flow.demand.bytes);
}

int64_t
FlowQueues::GetAnswersAfterPs(uint32_t number) const
{
    const FlowDemand& demand = m_flows[number].demand;
    return demand.answersAfterPs + m_links[demand.forth.back().link].delayPs;
}

double
FlowQueues::AnswersInFrontOf(uint32_t number) const
{
    const Link& link = m_links[number];
    if (link.answers == FlowShares::NONE)
    {
        return 0.0;
    }
    const auto passedPs = static_cast<double>(Simulator::Now().GetTimeStep() - link.answersCamePs);
    const Member& member = link.members[m_flows[link.answers].slots.front()];
    const double sent =
        member.sent +
        member.leaving * static_cast<double>(Simulator::Now().GetTimeStep() - member.sentPs);
    return link.answersCame + link.kept * passedPs - sent;
}

void
FlowQueues::Wait(Flow& flow, uint32_t place, int64_t waitedPs)
{
    if (!m_tallies)
    {
        return;
    }
    const std::span<const FlowUse> forth = flow.demand.forth;
    double before = FlowShares::NO_LIMIT; // so fast the bytes come alone
    for (const FlowUse& use : forth.first(place))
    {
        before = std::min(before, m_links[use.link].rate);
    }
    const uint32_t number = forth[place].link;
    const double slower = std::min(before, m_links[number].rate);
    const double ownPs = flow.demand.bytes / slower - flow.demand.bytes / before;
    flow.waits.push_back({number, static_cast<double>(waitedPs) - ownPs});
}

void
FlowQueues::Leave(uint32_t number, uint32_t slot)
{
    Link& link = m_links[number];
    m_flows[link.members[slot].flow].slots[link.members[slot].place] = LEFT;
    link.members[slot] = link.members.back();
    link.members.pop_back();
    if (slot < link.members.size())
    {
        m_flows[link.members[slot].flow].slots[link.members[slot].place] = slot;
    }
    if (link.members.empty())
    {
        link.coming = 0.0;
    }
}

void
FlowQueues::Share(uint32_t number)
{
    std::vector<Change> changes;
    std::vector<uint32_t> passed;
    std::vector<uint32_t> sent;
    {
        Link& link = m_links[number];
        link.dirty = true; // flows that begin now are shared with at once
        const double most =
            link.served + std::max(link.share, link.rate * RATE_CLOSE) * ROUNDING_PS;
        while (!link.ends.empty() && link.ends.top().first <= most)
        {
            sent.push_back(link.ends.top().second);
            link.ends.pop();
        }
    }
    for (const uint32_t each : sent)
    {
        Link& link = m_links[number];
        Flow& flow = m_flows[each];
        const uint32_t slot = flow.slots[0];
        m_meter.Change(number, -link.members[slot].leaving, m_nowPs);
        Wait(flow, 0, m_nowPs - flow.beganPs);
        Leave(number, slot);
        if (flow.demand.forth.size() > 1)
        {
            changes.push_back({each, 1, 0.0, true});
        }
        else
        {
            Follow(flow, 0.0, link.delayPs);
            passed.push_back(each);
        }
        m_owner.FlowSent(each);
    }
    for (const uint32_t each : passed)
    {
        m_owner.FlowPassed(each);
        m_free.push_back(each);
    }
    Link& link = m_links[number];
    link.dirty = false;
    link.share = link.members.empty() ? 0.0 : FreeOf(link) / link.members.size();
    for (Member& member : link.members)
    {
        member.next = link.share;
    }
    if (!changes.empty())
    {
        link.pipe.push_back(std::move(changes));
        Push(Kind::ARRIVAL, number, link.delayPs);
    }
    Tell(number);
    if (link.share > 0.0)
    {
        Push(Kind::SERVE, number, Lasting(link.ends.top().first - link.served, link.share));
    }
}

void
FlowQueues::Follow(Flow& flow, double rate, int64_t delayPs)
{
    const double more = rate - flow.answered;
    if (flow.demand.back.empty() || std::abs(more) <= RATE_STEP * flow.answered)
    {
        return;
    }
    flow.answered = rate;
    Answer({m_nowPs + delayPs + flow.demand.answersAfterPs,
            m_order++,
            flow.demand.back,
            more * flow.demand.backShare});
}

void
FlowQueues::Answer(const Answers& answers)
{
    m_due.push(answers);
    Push(Kind::ANSWERS, 0, answers.timePs - m_nowPs);
}

void
FlowQueues::TakeAnswers()
{
    while (!m_due.empty() && m_due.top().timePs <= m_nowPs)
    {
        Answers answers = m_due.top();
        m_due.pop();
        const uint32_t number = answers.back.front().link;
        Link& link = m_links[number];
        link.load += answers.rate;
        m_touched.push_back(number);
        answers.back = answers.back.subspan(1);
        if (!answers.back.empty())
        {
            answers.timePs = m_nowPs + link.delayPs;
            Answer(answers);
        }
    }
    for (const uint32_t number : m_touched)
    {
        const Link& link = m_links[number];
        if (std::abs(link.load - link.kept) > LINE_STEP * link.rate)
        {
            ChangeAnswers(number);
        }
    }
    m_touched.clear();
}

void
FlowQueues::ChangeAnswers(uint32_t number)
{
    Link& link = m_links[number];
    Settle(number);
    if (link.sends)
    {
        m_meter.Change(number, link.load - link.kept, m_nowPs);
        Mark(number);
    }
    else
    {
        if (link.answers == FlowShares::NONE)
        {
            link.answers = AddFlow();
            m_answers.push_back({number, 1.0});
            m_flows[link.answers].demand = {{&m_answers.back(), 1}, {}};
            m_flows[link.answers].slots = {FlowShares::NONE};
        }
        link.answersCame += link.kept * static_cast<double>(m_nowPs - link.answersCamePs);
        link.answersCamePs = m_nowPs;
        Come({link.answers, 0, link.load, false});
    }
    link.kept = link.load;
}

void
FlowQueues::Pass()
{
    m_nowPs = Simulator::Now().GetTimeStep();
    if (m_nowPs >= m_eventPs)
    {
        m_eventPs = FlowAgenda::NEVER;
    }
    m_passes = true;
    while (!m_events.empty() && m_events.top().timePs <= m_nowPs)
    {
        const Event event = m_events.top();
        m_events.pop();
        Link& link = m_links[event.link];
        if (event.kind == Kind::ANSWERS)
        {
            TakeAnswers();
        }
        else if (event.kind == Kind::ARRIVAL)
        {
            const std::vector<Change> changes = std::move(link.pipe.front());
            link.pipe.pop_front();
            for (const Change& change : changes)
            {
                Come(change);
            }
        }
        else if (link.dirty || link.version == event.version)
        {
            Serve(event.link);
        }
    }
    m_passes = false;
    ScheduleNext();
}

void
FlowQueues::ScheduleNext()
{
    if (!m_passes && !m_events.empty() && m_events.top().timePs < m_eventPs)
    {
        m_eventPs = m_events.top().timePs;
        Simulator::Schedule(FabricDelay(m_eventPs - Simulator::Now().GetTimeStep(), "a flow"),
                            &FlowQueues::Pass,
                            this);
    }
}

} // namespace ns3
