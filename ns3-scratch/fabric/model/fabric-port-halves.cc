// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A FabricPort of which one thread plays the sending half, and another the link behind it: how
 * frames get from one to the other, and what is put down until both pause.
 */
#include "fabric-lane.h"
#include "fabric-port.h"

#include <algorithm>

namespace ns3
{

void
FabricPort::Send(FabricFrame* frame, int64_t arrivalPs)
{
    FabricLane& lane = FabricLane::Here();
    if (m_wire.Send(frame, arrivalPs)) [[unlikely]]
    {
        lane.grown.push_back(this);
    }
    if (m_idle)
    {
        m_idle = false;
        lane.onTheWay.push_back(this);
    }
}

int64_t
FabricPort::FindNextDeparturePs()
{
    if (m_queues.IsReady())
    {
        return m_line.GetFreePs();
    }
    const int64_t creditPs = m_hasCredits ? FindCreditPs() : FabricFrameSource::NEVER;
    if (!m_source)
    {
        return creditPs;
    }
    const int64_t nextPs = m_source->GetNextPs(m_queues.GetStopped());
    return nextPs == FabricFrameSource::NEVER
               ? creditPs
               : std::min(creditPs, std::max(nextPs, m_line.GetFreePs()));
}

bool
FabricPort::EndTurn(int64_t nowPs, int64_t nextPs)
{
    Settle(nowPs);
    const int64_t departurePs = FindNextDeparturePs();
    m_busy = departurePs < nextPs;
    if (!m_busy && departurePs != FabricFrameSource::NEVER)
    {
        ScheduleWake(departurePs, nowPs);
    }
    return m_busy;
}

void
FabricPort::HandOver()
{
    if (m_hasCredits)
    {
        const int64_t beforePs = m_credits->FindLetGoPs();
        m_credits->HandOver();
        if (m_credits->FindLetGoPs() < beforePs)
        {
            CreditsGiven(0);
        }
    }
    if (m_wire.IsScheduled())
    {
        return;
    }
    m_idle = !m_wire.Pull();
    if (!m_idle)
    {
        ScheduleArrival(0);
    }
}

void
FabricPort::MergeLink()
{
    m_wire.Merge();
}

void
FabricPort::TellPaused(int64_t nowPs, uint8_t pausedPriorities)
{
    if (m_pauseListener)
    {
        m_pauseListener->PauseChanged(*this, nowPs, pausedPriorities);
    }
}

void
FabricPort::LetGo(FabricFrame* frame, int64_t timePs) const
{
    FabricLane& lane = FabricLane::Here();
    if (lane.besideOthers)
    {
        lane.notes.push_back({timePs, GetWakeRank(), frame, nullptr, nullptr, 0});
    }
    else if (frame->flow)
    {
        frame->flow->FrameLost(frame);
    }
    else
    {
        FabricFramePool::Give(frame);
    }
}

} // namespace ns3
