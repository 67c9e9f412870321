// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-due-list.h"

#include <algorithm>

namespace ns3
{

void
FabricDueList::SiftUp(std::size_t place)
{
    const FabricDue due = m_heap[place];
    while (place > 0)
    {
        const std::size_t parent = (place - 1) / WAYS;
        if (!due.IsBefore(m_heap[parent]))
        {
            break;
        }
        m_heap[place] = m_heap[parent];
        place = parent;
    }
    m_heap[place] = due;
}

void
FabricDueList::SiftDown(std::size_t place)
{
    const FabricDue due = m_heap[place];
    const std::size_t size = m_heap.size();
    for (std::size_t child = place * WAYS + 1; child < size; child = place * WAYS + 1)
    {
        std::size_t least = child;
        const std::size_t end = std::min(child + WAYS, size);
        for (std::size_t other = child + 1; other < end; ++other)
        {
            if (m_heap[other].IsBefore(m_heap[least]))
            {
                least = other;
            }
        }
        if (!m_heap[least].IsBefore(due))
        {
            break;
        }
        m_heap[place] = m_heap[least];
        place = least;
    }
    m_heap[place] = due;
}

void
FabricDueList::Erase(std::size_t place)
{
    const FabricDue moved = m_heap.back();
    m_heap.pop_back();
    if (place < m_heap.size())
    {
        m_heap[place] = moved;
        SiftDown(place);
        SiftUp(place);
    }
}

} // namespace ns3
