// SPDX-License-Identifier: GPL-2.0-only
#include "roce-sender-account.h"

#include "fabric-frame.h"

#include <algorithm>

namespace ns3
{

RoceSenderAccount::RoceSenderAccount(bool anyDecides)
    : m_anyDecides(anyDecides)
{
}

void
RoceSenderAccount::Posted(RoceMessage& message, bool isNext, int64_t nowPs)
{
    if (!message.times)
    {
        message.times = std::make_unique<RoceMessageTimes>(); // and used again with the node
    }
    message.times->nextPs = RoceMessageTimes::NEVER;
    if (isNext)
    {
        BecomeNext(message, nowPs);
    }
}

void
RoceSenderAccount::BecomeNext(RoceMessage& message, int64_t nowPs)
{
    m_bookedPs = std::max(m_bookedPs, nowPs); // no message's turn was between
    const int64_t postedPs = message.startPs;
    m_lost.DropBefore(postedPs);
    message.times->nextPs = m_bookedPs;
    message.times->atNext = m_times;
    message.times->lostAtPostedPs = m_times.lostPs - m_lost.GetPs(postedPs, m_bookedPs);
    m_next = &message;
}

void
RoceSenderAccount::Opened(int64_t nowPs)
{
    m_openedPs = nowPs;
}

void
RoceSenderAccount::Paced(int64_t toPs)
{
    m_pacedPs = toPs;
}

void
RoceSenderAccount::GoesBack(const Hold& hold, const Loss& loss)
{
    if (m_bookedPs < loss.nowPs && loss.closed)
    {
        Lose(loss.nowPs);
    }
    else if (m_bookedPs < loss.nowPs)
    {
        Wait(hold, loss.nowPs);
    }
    m_recoverTo = loss.recoverTo;
    m_recoveredPs = RoceMessageTimes::NEVER;
}

void
RoceSenderAccount::Lose(int64_t toPs)
{
    m_lost.Add(m_bookedPs, toPs);
    m_times.lostPs += toPs - m_bookedPs;
    m_bookedPs = toPs;
}

void
RoceSenderAccount::Wait(const Hold& hold, int64_t toPs)
{
    const int64_t openPs = std::clamp(m_openedPs, m_bookedPs, toPs);
    Lose(std::clamp(m_recoveredPs, m_bookedPs, openPs));
    const int64_t readyPs = std::clamp(std::max(hold.readyPs, m_pacedPs), openPs, toPs);
    const int64_t pausedPs = hold.pauses.StoppedPs(hold.priority, readyPs, toPs);
    m_times.windowPs += openPs - m_bookedPs;
    m_times.pacingPs += readyPs - openPs;
    m_times.pausedPs += pausedPs;
    m_times.queuePs += toPs - readyPs - pausedPs;
    m_bookedPs = toPs;
}

void
RoceSenderAccount::TakeBack(int64_t nowPs)
{
    (m_lastAgain ? m_times.lostPs : m_times.serialisationPs) -= m_bookedPs - nowPs;
    m_lost.EndAt(nowPs);
    m_bookedPs = nowPs;
    if (m_next && m_next->times->nextPs > nowPs)
    {
        BecomeNext(*m_next, nowPs);
    }
}

void
RoceSenderAccount::Sent(const Packet& packet, const Hold& hold)
{
    if (packet.startPs < m_bookedPs)
    {
        TakeBack(packet.startPs);
    }
    else if (packet.again)
    {
        Lose(packet.startPs);
    }
    else
    {
        Wait(hold, packet.startPs);
    }
    const bool isLast = packet.position + packet.frame->payloadBytes == packet.message->end;
    if (!packet.again && m_anyDecides)
    {
        m_first.push_back({packet.position, packet.startPs, m_times});
    }
    else if (!packet.again && isLast)
    {
        packet.message->times->lastPs = packet.startPs;
        packet.message->times->atLast = m_times;
    }
    if (m_anyDecides || isLast)
    {
        Follow(packet);
    }
    if (packet.again)
    {
        Lose(packet.startPs + packet.linePs);
    }
    else
    {
        m_times.serialisationPs += packet.linePs;
        m_bookedPs = packet.startPs + packet.linePs;
    }
    m_lastAgain = packet.again;
    if (!packet.again && isLast && packet.behind)
    {
        BecomeNext(*packet.behind, packet.startPs);
    }
}

void
RoceSenderAccount::Follow(const Packet& packet)
{
    FabricTrail* trail = FabricFramePool::TakeTrail();
    if (m_anyDecides)
    {
        const First& first = packet.again ? FindFirst(packet.position) : m_first.back();
        trail->SetFirst(first.timePs, first.times);
    }
    else
    {
        trail->SetFirst(packet.message->times->lastPs, packet.message->times->atLast);
    }
    trail->LetSum(!m_anyDecides);
    packet.frame->trail = trail;
    packet.frame->accounted = true;
}

const RoceSenderAccount::First&
RoceSenderAccount::FindFirst(uint64_t position) const
{
    return *std::lower_bound(
        m_first.begin(),
        m_first.end(),
        position,
        [](const First& first, uint64_t wanted) { return first.position < wanted; });
}

void
RoceSenderAccount::Acknowledged(uint64_t position, int64_t nowPs)
{
    if (position >= m_recoverTo)
    {
        m_recoveredPs = std::min(m_recoveredPs, nowPs);
    }
    while (!m_first.empty() && m_first.front().position < position)
    {
        m_first.pop_front();
    }
}

int64_t
RoceSenderAccount::GetHeldSincePs(int64_t readyPs) const
{
    return std::max({m_bookedPs, m_openedPs, readyPs, m_pacedPs});
}

} // namespace ns3
