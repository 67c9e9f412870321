// SPDX-License-Identifier: GPL-2.0-only
#include "message-account.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ns3
{

namespace
{
/// \return how much of a time from begin to end lies behind another time
int64_t
Behind(int64_t fromPs, int64_t beginPs, int64_t endPs)
{
    return std::max<int64_t>(0, endPs - std::max(beginPs, fromPs));
}
} // namespace

void
MessageAccount::AddWay(const FabricTrail& trail, int64_t fromPs)
{
    bool inNic = true;
    for (const FabricHop& hop : trail.GetHops())
    {
        const int64_t waitPs = Behind(fromPs, hop.arrivalPs, hop.startPs);
        const int64_t pausedPs = std::min(hop.pausedPs, waitPs);
        const AccountHop added{hop.port,
                               std::max(hop.arrivalPs, fromPs),
                               waitPs - pausedPs,
                               pausedPs,
                               Behind(fromPs, hop.startPs, hop.lineEndPs),
                               Behind(fromPs, hop.lineEndPs, hop.endPs)};
        m_path.push_back(added);
        Add(inNic ? AccountPart::NIC_QUEUE : AccountPart::SWITCH_QUEUE, added.queuePs);
        Add(inNic ? AccountPart::NIC_PAUSED : AccountPart::SWITCH_PAUSED, added.pausedPs);
        Add(AccountPart::SERIALISATION, added.serialisationPs);
        Add(AccountPart::PROPAGATION, added.propagationPs);
        inNic = false;
    }
    AddServed(trail, fromPs);
}

void
MessageAccount::AddServed(const FabricTrail& trail, int64_t fromPs)
{
    for (const FabricServed& served : trail.GetServed())
    {
        const FabricHop& hop = trail.GetHops()[served.hop];
        const int64_t beginPs = std::max({served.startPs, hop.arrivalPs, fromPs});
        const int64_t timePs = std::min(served.endPs, hop.startPs) - beginPs;
        if (timePs <= 0)
        {
            continue;
        }
        const auto known = std::find_if(m_served.begin(), m_served.end(), [&](const auto& each) {
            return each.hop == served.hop && each.served.IsAlike(served);
        });
        if (known != m_served.end())
        {
            known->timePs += timePs;
            continue;
        }
        m_served.push_back({served.hop, served, timePs});
    }
}

void
MessageAccount::Check(const CollectiveMessage& message, int64_t endPs) const
{
    int64_t sumPs = 0;
    int64_t leastPs = 0;
    for (const int64_t partPs : m_parts)
    {
        sumPs += partPs;
        leastPs = std::min(leastPs, partPs);
    }
    const int64_t timePs = endPs - message.startPs;
    if (sumPs != timePs || leastPs < 0) [[unlikely]]
    {
        throw std::logic_error(
            "the account of a message from NPU " + std::to_string(message.sender) + " to NPU " +
            std::to_string(message.receiver) + ", handed over at " +
            std::to_string(message.startPs) + " ps, adds up to " + std::to_string(sumPs) +
            " ps, expected " + std::to_string(timePs) + " ps, with a least part of " +
            std::to_string(leastPs) + " ps; this is a mistake of astra-ns3, please report it");
    }
}

} // namespace ns3
