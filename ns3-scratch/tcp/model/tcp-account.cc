// SPDX-License-Identifier: GPL-2.0-only
#include "tcp-account.h"

#include "ns3/simulator.h"
#include "ns3/tcp-socket-base.h"

#include <algorithm>
#include <utility>

namespace ns3
{

TcpAccount::TcpAccount(FabricNetDevice& from, const FabricNetDevice& to)
    : m_from(from),
      m_to(to)
{
}

void
TcpAccount::Watch(const Ptr<Socket>& socket)
{
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&TcpAccount::Sent, this));
}

void
TcpAccount::Posted(const CollectiveMessage& message, uint64_t begin, uint64_t end)
{
    const int64_t nextPs = m_highest >= begin ? message.startPs : NEVER;
    m_messages.push_back({begin, end, message.startPs, nextPs, NEVER, {}});
}

uint64_t
TcpAccount::PositionOf(const TcpHeader& header)
{
    const uint32_t sequence = header.GetSequenceNumber().GetValue();
    if (!m_begin)
    {
        m_begin = sequence;
    }
    // Sequence numbers have 32 bits, and no segment is 2 GiB away from the newest.
    const uint32_t highest = *m_begin + static_cast<uint32_t>(m_highest);
    return m_highest + static_cast<int64_t>(static_cast<int32_t>(sequence - highest));
}

void
TcpAccount::Sent(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    const uint32_t bytes = packet->GetSize();
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    if (bytes == 0)
    {
        if (header.GetFlags() & TcpHeader::SYN)
        {
            m_lost.Add(m_began ? m_sentPs : nowPs, nowPs); // else its first try
            m_began = true;
            m_sentPs = nowPs;
        }
        return;
    }
    m_from.Follow(packet->GetUid());
    const uint64_t begin = PositionOf(header);
    const uint64_t end = begin + bytes;
    const bool again = end <= m_highest;
    if (again || m_recovering)
    {
        m_lost.Add(m_sentPs, nowPs);
    }
    m_sentPs = nowPs;
    if (again)
    {
        m_recovering = begin >= m_read;
        m_lostAt = begin;
        return;
    }
    m_highest = end;
    m_first.push_back({end, nowPs});
    for (Message& message : m_messages)
    {
        if (message.begin > m_highest)
        {
            break;
        }
        message.nextPs = std::min(message.nextPs, nowPs);
    }
}

int64_t
TcpAccount::FirstPs(uint64_t position, int64_t latestPs) const
{
    const auto first =
        std::upper_bound(m_first.begin(),
                         m_first.end(),
                         position,
                         [](uint64_t wanted, const First& each) { return wanted < each.end; });
    return first == m_first.end() ? latestPs : first->timePs;
}

MessageAccount
TcpAccount::AccountFor(const Message& message, uint64_t missing) const
{
    const FabricTrail* trail = m_to.GetTrail();
    const int64_t postedPs = message.postedPs;
    // Read at another time than a segment's arrival, as nobody of ours does, it is all transport.
    const int64_t sentPs =
        trail ? trail->GetHops().front().arrivalPs : Simulator::Now().GetTimeStep();
    const int64_t firstPs = std::max(trail ? FirstPs(missing, sentPs) : sentPs, postedPs);
    const int64_t turnEndPs = std::min(message.nextPs, firstPs);
    MessageAccount account;
    const int64_t lostInTurnPs = m_lost.GetPs(postedPs, turnEndPs);
    const int64_t lostPs = m_lost.GetPs(turnEndPs, firstPs);
    account.Add(AccountPart::TURN, turnEndPs - postedPs - lostInTurnPs);
    account.Add(AccountPart::TRANSPORT, firstPs - turnEndPs - lostPs);
    account.Add(AccountPart::LOST, lostInTurnPs + lostPs + std::max(sentPs, postedPs) - firstPs);
    if (trail)
    {
        account.AddWay(*trail, postedPs);
    }
    return account;
}

void
TcpAccount::Read(uint64_t before, uint64_t now)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    m_read = now;
    if (m_recovering && now > m_lostAt)
    {
        m_lost.Add(m_sentPs, nowPs);
        m_sentPs = nowPs;
        m_recovering = false;
    }
    for (Message& message : m_messages)
    {
        if (message.end > now)
        {
            break;
        }
        if (message.deliveredPs == NEVER)
        {
            message.account = AccountFor(message, before);
            message.deliveredPs = nowPs;
        }
    }
    while (!m_first.empty() && m_first.front().end <= now)
    {
        m_first.pop_front();
    }
}

MessageAccount
TcpAccount::TakeOldest()
{
    Message& oldest = m_messages.front();
    MessageAccount account = std::move(oldest.account);
    account.Add(AccountPart::ACKNOWLEDGEMENT, Simulator::Now().GetTimeStep() - oldest.deliveredPs);
    m_messages.pop_front();
    m_lost.DropBefore(m_messages.empty() ? m_sentPs : m_messages.front().postedPs);
    return account;
}

} // namespace ns3
