// SPDX-License-Identifier: GPL-2.0-only
#include "flow-agenda.h"

#include <algorithm>

namespace ns3
{

namespace
{
constexpr uint32_t BELOW = 4; // entries below each in the heap
} // namespace

void
FlowAgenda::Rise(uint32_t place, const Entry& entry)
{
    while (place > 0)
    {
        const uint32_t above = (place - 1) / BELOW;
        if (!(entry < m_heap[above]))
        {
            break;
        }
        m_heap[place] = m_heap[above];
        m_place[m_heap[place].flow] = place;
        place = above;
    }
    m_heap[place] = entry;
    m_place[entry.flow] = place;
}

void
FlowAgenda::Sink(uint32_t place, const Entry& entry)
{
    const uint32_t size = m_heap.size();
    for (uint32_t first = place * BELOW + 1; first < size; first = place * BELOW + 1)
    {
        const auto begin = m_heap.begin() + first;
        const auto least = std::min_element(begin, begin + std::min(BELOW, size - first));
        if (!(*least < entry))
        {
            break;
        }
        m_heap[place] = *least;
        m_place[least->flow] = place;
        place = least - m_heap.begin();
    }
    m_heap[place] = entry;
    m_place[entry.flow] = place;
}

void
FlowAgenda::Add(uint32_t flow, uint64_t order, int64_t timePs)
{
    if (flow >= m_place.size())
    {
        m_place.resize(flow + 1);
    }
    m_heap.emplace_back();
    Rise(m_heap.size() - 1, {timePs, order, flow});
}

void
FlowAgenda::Move(uint32_t flow, int64_t timePs)
{
    const uint32_t place = m_place[flow];
    Entry entry = m_heap[place];
    const bool earlier = timePs < entry.timePs;
    entry.timePs = timePs;
    earlier ? Rise(place, entry) : Sink(place, entry);
}

int64_t
FlowAgenda::GetNextPs() const
{
    return m_heap.empty() ? NEVER : m_heap.front().timePs;
}

uint32_t
FlowAgenda::Pop()
{
    const uint32_t flow = m_heap.front().flow;
    const Entry last = m_heap.back();
    m_heap.pop_back();
    if (!m_heap.empty())
    {
        Sink(0, last);
    }
    return flow;
}

} // namespace ns3
