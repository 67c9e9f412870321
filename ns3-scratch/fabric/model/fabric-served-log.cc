// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-served-log.h"

#include <algorithm>
#include <utility>

namespace ns3
{

void
FabricServedLog::Put(const FabricFrame& frame, int64_t startPs, int64_t endPs)
{
    const bool named = frame.flow && frame.flow->HasData(frame);
    if (frame.accounted)
    {
        const int64_t arrivalPs = frame.trail->GetHops().back().arrivalPs;
        FabricTrail& trail = *frame.trail;
        trail.MaySum() ? TellSums(trail, frame.instance) : Tell(trail, frame.instance, named);
        const auto own = std::find(m_waiting.begin(), m_waiting.end(), arrivalPs);
        if (own != m_waiting.end())
        {
            m_waiting.erase(own);
        }
    }
    // What ended before the first of those that wait had come kept none of them waiting.
    const int64_t firstPs = m_waiting.empty() ? startPs : m_waiting.front();
    while (!m_sent.empty() && m_sent.front().endPs <= firstPs)
    {
        m_sent.pop_front();
    }
    if (m_whose.size() > FEWEST_TO_FORGET + 2 * m_sent.size())
    {
        ForgetMessages();
    }
    const uint32_t whose = FindWhose(frame, named);
    if (!m_sent.empty() && m_sent.back().whose == whose && m_sent.back().endPs == startPs)
    {
        m_sent.back().endPs = endPs;
        return;
    }
    m_sent.push_back({startPs, endPs, whose});
}

void
FabricServedLog::ForgetMessages()
{
    std::vector<Whose> kept;
    m_places.clear();
    for (Sent& sent : m_sent)
    {
        const FabricServed& served = m_whose[sent.whose].served;
        const auto [known, isNew] = m_places.try_emplace(served, kept.size());
        if (isNew)
        {
            kept.push_back({served});
        }
        sent.whose = known->second;
    }
    m_whose = std::move(kept);
}

uint32_t
FabricServedLog::FindWhose(const FabricFrame& frame, bool named)
{
    FabricServed served;
    served.instance = frame.instance;
    served.sender = frame.sender;
    served.receiver = frame.receiver;
    served.named = named;
    if (!m_sent.empty() && m_whose[m_sent.back().whose].served.IsAlike(served))
    {
        return m_sent.back().whose;
    }
    const auto [known, isNew] = m_places.try_emplace(served, m_whose.size());
    if (isNew)
    {
        m_whose.push_back({served});
    }
    return known->second;
}

size_t
FabricServedLog::FindFirst(int64_t arrivalPs) const
{
    size_t first = m_sent.size();
    while (first > 0 && m_sent[first - 1].endPs > arrivalPs)
    {
        --first;
    }
    return first;
}

bool
FabricServedLog::IsOfOwner(const FabricServed& served, uint64_t instance) const
{
    return served.named && served.instance >> m_ownerBit == instance >> m_ownerBit;
}

void
FabricServedLog::Tell(FabricTrail& trail, uint64_t instance, bool named) const
{
    FabricServed told; // and not yet added, if it has a time
    for (size_t each = FindFirst(trail.GetHops().back().arrivalPs); each < m_sent.size(); ++each)
    {
        FabricServed served = m_whose[m_sent[each].whose].served;
        if (named && IsOfOwner(served, instance))
        {
            served = FabricServed();
            served.own = true;
        }
        served.startPs = m_sent[each].startPs;
        served.endPs = m_sent[each].endPs;
        if (told.endPs == served.startPs && told.endPs > told.startPs && told.IsAlike(served))
        {
            told.endPs = served.endPs;
            continue;
        }
        if (told.endPs > told.startPs)
        {
            trail.AddServed(told);
        }
        told = served;
    }
    if (told.endPs > told.startPs)
    {
        trail.AddServed(told);
    }
}

void
FabricServedLog::TellSums(FabricTrail& trail, uint64_t instance)
{
    // No part of these times is left out later, so each sum may begin with the wait.
    const int64_t arrivalPs = trail.GetHops().back().arrivalPs;
    FabricServed own;
    own.own = true;
    own.startPs = own.endPs = arrivalPs;
    ++m_told;
    m_sums.clear();
    for (size_t each = FindFirst(arrivalPs); each < m_sent.size(); ++each)
    {
        const int64_t timePs = m_sent[each].endPs - std::max(m_sent[each].startPs, arrivalPs);
        Whose& whose = m_whose[m_sent[each].whose];
        if (IsOfOwner(whose.served, instance))
        {
            own.endPs += timePs;
            continue;
        }
        if (whose.told != m_told)
        {
            whose.told = m_told;
            whose.place = m_sums.size();
            m_sums.push_back(whose.served);
            m_sums.back().startPs = m_sums.back().endPs = arrivalPs;
        }
        m_sums[whose.place].endPs += timePs;
    }
    if (own.endPs > own.startPs)
    {
        trail.AddServed(own);
    }
    for (const FabricServed& served : m_sums)
    {
        trail.AddServed(served);
    }
}

} // namespace ns3
