// SPDX-License-Identifier: GPL-2.0-only
#include "local-message-transport.h"

#include "fabric-delay.h"
#include "message-account.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <limits>

namespace ns3
{

LocalMessageTransport::LocalMessageTransport(uint32_t npus,
                                             uint64_t rateBps,
                                             int64_t delayPs,
                                             MessageListener& listener)
    : m_freePs(npus, 0),
      m_rateBps(rateBps),
      m_delayPs(delayPs),
      m_listener(listener)
{
}

void
LocalMessageTransport::Send(const CollectiveMessage& message)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const auto bits = static_cast<__int128>(message.bytes) * 8;
    const __int128 busyPs = (bits * 1'000'000'000'000 + m_rateBps / 2) / m_rateBps;
    int64_t& freePs = m_freePs[message.sender];
    const __int128 endPs = std::max(freePs, nowPs) + busyPs;
    if (endPs > std::numeric_limits<int64_t>::max() - m_delayPs)
    {
        FabricRefuseTheLong("a message inside a host");
    }
    freePs = static_cast<int64_t>(endPs);
    Simulator::Schedule(
        FabricDelay(freePs + m_delayPs - nowPs, "a message inside a host"),
        [this, message, linePs = static_cast<int64_t>(busyPs)]() { Arrive(message, linePs); });
}

void
LocalMessageTransport::Arrive(const CollectiveMessage& message, int64_t linePs)
{
    m_listener.BytesArrived(message.receiver, static_cast<int64_t>(message.bytes));
    if (MessageAccountant* accountant = m_listener.GetAccountant())
    {
        const int64_t timePs = Simulator::Now().GetTimeStep() - message.startPs;
        MessageAccount account;
        account.Add(AccountPart::TURN, timePs - linePs - m_delayPs);
        account.Add(AccountPart::SERIALISATION, linePs);
        account.Add(AccountPart::PROPAGATION, m_delayPs);
        accountant->MessageAccounted(message, account);
    }
    m_listener.MessageArrived(message);
}

} // namespace ns3
