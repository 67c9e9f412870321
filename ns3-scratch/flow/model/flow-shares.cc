// SPDX-License-Identifier: GPL-2.0-only
#include "flow-shares.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ns3
{

namespace
{
constexpr double LEVEL_CLOSE = 1e-11;   // levels nearer than this are one
constexpr double STEPS = 1099511627776; // 2^40, to which mantissas are rounded

/// \param rate a rate above 0 \return the nearest to it of 40 bits
double
Rounded(double rate)
{
    int exponent = 0;
    const double mantissa = std::frexp(rate, &exponent);
    return std::ldexp(std::round(mantissa * STEPS) / STEPS, exponent);
}
} // namespace

FlowShares::FlowShares(double within)
    : m_within(within)
{
}

uint32_t
FlowShares::AddLink(double capacity)
{
    m_links.emplace_back().capacity = capacity;
    return m_links.size() - 1;
}

FlowShares::Limits
FlowShares::FindLimits(const Flow& flow) const
{
    Limits found{flow.cap, NO_LIMIT, NONE};
    for (uint32_t use = 0; use < flow.crossings.size(); ++use)
    {
        const double level = m_links[flow.crossings[use].link].level;
        if (level < found.first)
        {
            found = {level, found.first, use};
        }
        else if (level < found.second)
        {
            found.second = level;
        }
    }
    return found;
}

double
FlowShares::FindEqual(const Link& link) const
{
    const bool full = link.load >= link.capacity * (1 - m_within);
    return link.level < NO_LIMIT || !full ? link.level : link.capacity / link.shares;
}

void
FlowShares::NoteMoved()
{
    for (const uint32_t number : m_moved)
    {
        Link& link = m_links[number];
        link.moved = false;
        const double equal = FindEqual(link);
        if (equal < link.equal * (1 - m_within) || equal > link.equal * (1 + m_within))
        {
            link.equal = equal;
            for (const Member& member : link.members)
            {
                Note(member.flow);
            }
        }
    }
    m_moved.clear();
}

uint32_t
FlowShares::FindSlowing(uint32_t number) const
{
    const Flow& flow = m_flows[number];
    if (flow.crossings.empty() || flow.limits.firstUse == NONE)
    {
        return NONE;
    }
    const auto slows = [&](uint32_t use) {
        const Link& link = m_links[flow.crossings[use].link];
        return FindEqual(link) <= flow.limits.first * (1 + m_within);
    };
    uint32_t use = 0;
    while (use < flow.limits.firstUse && !slows(use))
    {
        use++;
    }
    // All bytes cross one of the lines between begin and end: a step of the way ends with the last.
    uint32_t begin = 0;
    uint32_t end = 0;
    double passed = 0.0;
    for (; end < flow.crossings.size(); ++end)
    {
        const double share = flow.crossings[end].share;
        if (passed + share / 2 > 1.0)
        {
            if (end > use)
            {
                break;
            }
            begin = end;
            passed = 0.0;
        }
        passed += share;
    }
    const uint32_t other = begin + number % (end - begin);
    return flow.crossings[slows(other) ? other : use].link;
}

void
FlowShares::Touch(uint32_t number)
{
    if (m_within > 0.0 && !m_links[number].moved)
    {
        m_links[number].moved = true;
        m_moved.push_back(number);
    }
}

void
FlowShares::Mark(uint32_t number)
{
    Link& link = m_links[number];
    if (!link.dirty)
    {
        link.dirty = true;
        const double least = link.shares > 0.0 ? link.capacity / link.shares : 0.0;
        m_dirty.emplace(link.level < NO_LIMIT ? link.level : least, number);
    }
}

void
FlowShares::Note(uint32_t number)
{
    if (!m_flows[number].changed)
    {
        m_flows[number].changed = true;
        m_touched.push_back(number);
    }
}

uint32_t
FlowShares::Add(std::span<const FlowUse> uses, double cap)
{
    if (m_free.empty())
    {
        m_free.push_back(m_flows.size());
        m_flows.emplace_back();
    }
    const uint32_t number = m_free.back();
    m_free.pop_back();
    Flow& flow = m_flows[number];
    flow.rate = 0.0;
    flow.slowing = NONE;
    flow.cap = cap;
    double most = cap;
    uint32_t narrowest = NONE;
    for (const FlowUse& use : uses)
    {
        Link& link = m_links[use.link];
        flow.crossings.push_back({use.link, static_cast<uint32_t>(link.members.size()), use.share});
        link.members.push_back(
            {number, static_cast<uint32_t>(flow.crossings.size() - 1), use.share});
        link.shares += use.share;
        const double alone = link.capacity / use.share;
        narrowest = alone < most ? use.link : narrowest;
        most = std::min({most, alone, link.level});
    }
    flow.limits = FindLimits(flow);
    const bool bound = flow.limits.first < NO_LIMIT;
    for (const Crossing& crossing : flow.crossings)
    {
        Link& link = m_links[crossing.link];
        const double load = link.load + crossing.share * (bound ? flow.limits.first : most);
        link.load += crossing.share * flow.limits.GetRate();
        Touch(crossing.link);
        if (link.level < NO_LIMIT || load > link.capacity * (1 + LEVEL_CLOSE) ||
            (!bound && crossing.link == narrowest))
        {
            Mark(crossing.link);
        }
    }
    Note(number);
    return number;
}

void
FlowShares::Leave(const Flow& flow, uint32_t use)
{
    const Crossing& crossing = flow.crossings[use];
    Link& link = m_links[crossing.link];
    link.load -= crossing.share * flow.limits.GetRate();
    Touch(crossing.link);
    const Member last = link.members.back();
    link.members[crossing.slot] = last;
    m_flows[last.flow].crossings[last.use].slot = crossing.slot;
    link.members.pop_back();
    link.shares -= crossing.share;
    if (link.members.empty())
    {
        link.level = NO_LIMIT;
        link.load = link.shares = 0.0;
    }
    else if (link.level < NO_LIMIT)
    {
        Mark(crossing.link);
    }
}

void
FlowShares::Remove(uint32_t number)
{
    Flow& flow = m_flows[number];
    for (uint32_t use = 0; use < flow.crossings.size(); ++use)
    {
        Leave(flow, use);
    }
    flow.crossings.clear();
    m_free.push_back(number);
}

void
FlowShares::SetCapacity(uint32_t number, double capacity)
{
    m_links[number].capacity = capacity;
    Touch(number);
    if (!m_links[number].members.empty())
    {
        Mark(number);
    }
}

double
FlowShares::Fill(Link& link)
{
    m_fillings++;
    double left = link.capacity;
    double free = 0.0;
    link.load = 0.0;
    m_wanting.clear();
    for (const Member& member : link.members)
    {
        const Limits& limits = m_flows[member.flow].limits;
        m_wanting.push_back({limits.Beside(member.use), member.share});
        free += member.share;
        link.load += member.share * limits.GetRate(); // exact again
    }
    // Whoever wants less than an equal share gets that; the rest is shared again.
    while (!m_wanting.empty())
    {
        const double level = std::max(left, 0.0) / free;
        const double most = level * (1 + LEVEL_CLOSE);
        std::size_t kept = 0;
        double freeNow = 0.0;
        for (const Wanting& wanting : m_wanting)
        {
            if (wanting.limit <= most)
            {
                left -= wanting.share * wanting.limit;
            }
            else
            {
                freeNow += wanting.share;
                m_wanting[kept++] = wanting;
            }
        }
        if (kept == m_wanting.size())
        {
            return Rounded(level);
        }
        m_wanting.resize(kept);
        free = freeNow;
    }
    return NO_LIMIT;
}

void
FlowShares::Spread(const Flow& flow, const Limits& before, uint32_t use)
{
    const double moreRate = flow.limits.GetRate() - before.GetRate();
    for (uint32_t other = 0; other < flow.crossings.size(); ++other)
    {
        const Crossing& crossing = flow.crossings[other];
        Link& link = m_links[crossing.link];
        link.load += crossing.share * moreRate;
        Touch(crossing.link);
        if (other == use || link.dirty)
        {
            continue;
        }
        const double now = flow.limits.Beside(other);
        const double then = before.Beside(other);
        const bool full = link.level < NO_LIMIT;
        if (full ? now != then && std::min(now, then) < link.level
                 : now == NO_LIMIT || link.load > link.capacity * (1 + LEVEL_CLOSE))
        {
            Mark(crossing.link);
        }
    }
}

void
FlowShares::SetLevel(uint32_t number, double level)
{
    Link& link = m_links[number];
    const double before = link.level;
    link.level = level;
    for (const Member& member : link.members)
    {
        Flow& flow = m_flows[member.flow];
        const Limits limits = flow.limits;
        const bool decided = limits.firstUse == member.use;
        if (decided ? level <= limits.second : level < limits.first)
        {
            flow.limits = {level, decided ? limits.second : limits.first, member.use};
        }
        else if (!decided && level <= limits.second)
        {
            flow.limits.second = level;
        }
        else if (decided || before == limits.second)
        {
            flow.limits = FindLimits(flow);
        }
        if (flow.limits != limits)
        {
            Note(member.flow);
            Spread(flow, limits, member.use);
        }
    }
}

const std::vector<uint32_t>&
FlowShares::Solve()
{
    while (!m_dirty.empty())
    {
        const auto [key, number] = m_dirty.top();
        m_dirty.pop();
        Link& link = m_links[number];
        if (!link.dirty)
        {
            continue;
        }
        const double level = Fill(link);
        // Levels below it may be about to change what it was found from.
        if (level > key && !m_dirty.empty() && m_dirty.top().first < level)
        {
            m_dirty.emplace(level, number);
            continue;
        }
        link.dirty = false;
        const double old = link.level;
        const bool same = old == level || (old < NO_LIMIT && level < NO_LIMIT &&
                                           std::abs(level - old) <= LEVEL_CLOSE * old);
        if (!same)
        {
            SetLevel(number, level);
        }
    }
    NoteMoved();
    m_changed.clear();
    for (const uint32_t number : m_touched)
    {
        Flow& flow = m_flows[number];
        flow.changed = false;
        const uint32_t slowing = m_within > 0.0 ? FindSlowing(number) : NONE;
        if (!flow.crossings.empty() && (flow.rate != flow.limits.first || flow.slowing != slowing))
        {
            flow.rate = flow.limits.first;
            flow.slowing = slowing;
            m_changed.push_back(number);
        }
    }
    m_touched.clear();
    return m_changed;
}

uint32_t
FlowShares::GetBottleneck(uint32_t number) const
{
    const Flow& flow = m_flows[number];
    return flow.limits.firstUse == NONE ? NONE : flow.crossings[flow.limits.firstUse].link;
}

} // namespace ns3
