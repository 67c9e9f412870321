// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-served-log.h"

#include <algorithm>

namespace ns3
{

void
FabricServedLog::Put(const FabricFrame& frame, int64_t startPs, int64_t endPs)
{
    if (frame.accounted)
    {
        const int64_t arrivalPs = frame.trail->GetHops().back().arrivalPs;
        Tell(*frame.trail);
        const auto own = std::find(m_waiting.begin(), m_waiting.end(), arrivalPs);
        if (own != m_waiting.end())
        {
            m_waiting.erase(own);
        }
    }
    // What ended before the first of those that wait had come kept none of them waiting.
    const int64_t firstPs = m_waiting.empty() ? startPs : m_waiting.front();
    while (!m_served.empty() && m_served.front().endPs <= firstPs)
    {
        m_served.pop_front();
    }
    const bool named = frame.flow && frame.flow->HasData(frame);
    m_served.push_back({startPs, endPs, frame.instance, frame.sender, frame.receiver, 0, named});
}

void
FabricServedLog::Tell(FabricTrail& trail) const
{
    const FabricHop& hop = trail.GetHops().back();
    auto first = m_served.end();
    while (first != m_served.begin() && std::prev(first)->endPs > hop.arrivalPs)
    {
        --first;
    }
    for (; first != m_served.end(); ++first)
    {
        trail.AddServed(*first);
    }
}

} // namespace ns3
