// SPDX-License-Identifier: GPL-2.0-only
#include "roce-recovery.h"

#include <algorithm>

namespace ns3
{

uint64_t
RoceRecovery::FindInRecovery(uint64_t acknowledged) const
{
    const uint64_t position = m_arrived.EndOf(std::max(m_next, acknowledged));
    return position < m_lostBelow ? position : NOTHING;
}

void
RoceRecovery::Acknowledged(uint64_t position)
{
    m_arrived.DropBelow(position);
    m_active = m_active && position < m_end;
}

bool
RoceRecovery::ArrivedEarly(uint64_t begin, uint32_t bytes, uint64_t acknowledged, uint64_t sent)
{
    if (begin < acknowledged)
    {
        return false; // it tells of something long repaired
    }
    m_arrived.Insert(begin, begin + bytes);
    const uint64_t highest = m_arrived.GetHighest() - bytes;
    if (highest < acknowledged + m_toleratedBytes)
    {
        return false;
    }
    m_lostBelow = std::max(m_lostBelow, highest - m_toleratedBytes);
    if (m_active)
    {
        return false;
    }
    m_active = true;
    m_end = sent;
    m_next = acknowledged;
    return FindInRecovery(acknowledged) != NOTHING;
}

void
RoceRecovery::TimedOut(uint64_t acknowledged, uint64_t sent)
{
    m_active = true;
    m_next = acknowledged;
    m_lostBelow = m_end = sent;
}

} // namespace ns3
