// SPDX-License-Identifier: GPL-2.0-only
#include "roce-ranges.h"

#include <algorithm>

namespace ns3
{

void
RoceRanges::Insert(uint64_t begin, uint64_t end)
{
    // The first range that reaches `begin`, and the first that begins behind `end`.
    const auto first = std::lower_bound(
        m_ranges.begin(),
        m_ranges.end(),
        begin,
        [](const Range& range, uint64_t position) { return range.end < position; });
    auto last = first;
    while (last != m_ranges.end() && last->begin <= end)
    {
        begin = std::min(begin, last->begin);
        end = std::max(end, last->end);
        ++last;
    }
    if (first == last)
    {
        m_ranges.insert(first, {begin, end});
        return;
    }
    *first = {begin, end};
    m_ranges.erase(first + 1, last);
}

void
RoceRanges::DropBelow(uint64_t position)
{
    const auto kept = std::find_if(m_ranges.begin(),
                                   m_ranges.end(),
                                   [position](const Range& range) { return range.end > position; });
    m_ranges.erase(m_ranges.begin(), kept);
}

uint64_t
RoceRanges::EndOf(uint64_t position) const
{
    const auto found =
        std::upper_bound(m_ranges.begin(),
                         m_ranges.end(),
                         position,
                         [](uint64_t wanted, const Range& range) { return wanted < range.end; });
    return found != m_ranges.end() && found->begin <= position ? found->end : position;
}

} // namespace ns3
