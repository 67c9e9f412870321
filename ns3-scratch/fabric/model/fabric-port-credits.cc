// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A FabricPort that sends by credit: what it spends, and what comes back while nobody looks.
 */
#include "fabric-credits.h"
#include "fabric-lane.h"
#include "fabric-port.h"

#include <algorithm>

namespace ns3
{

void
FabricPort::SpendCredit(const FabricFrame& frame, int64_t startPs)
{
    m_credits->Spend(frame, startPs);
    const FabricCreditLink& link = m_credits->GetLink();
    if (link.returnsAtOnce)
    {
        const int64_t leftPs = m_line.GetLastArrivalPs();
        m_credits->Give(leftPs + link.updatePs + GetDelayPs(), frame.priority, frame.bufferBytes);
    }
    if (m_credits->GetStopped() != m_queues.GetStopped())
    {
        StopPriorities(m_credits->GetStopped(), startPs);
    }
}

void
FabricPort::Discard(FabricFrame* frame)
{
    frame->ingressPort = m_place.port;
    frame->ingressLane = frame->priority;
    m_admission.Discard(*frame);
    LetGo(frame, FabricNowPs());
}

void
FabricPort::SettleByCredit(int64_t nowPs)
{
    PlayDepartures(nowPs); // also while the line is busy
}

void
FabricPort::SetCreditEvents(int64_t nowPs)
{
    if (m_queues.IsEmpty() || !m_admission.GetMemory())
    {
        return; // what a host sends gives nobody credit
    }
    if (m_group == 0 || m_admission.NeedsExactDepartures())
    {
        // A host's port with a buffer of its own may not have been settled yet.
        const int64_t nextPs = m_queues.IsReady() ? m_line.GetFreePs() : FindCreditPs();
        ScheduleWake(std::max(nextPs, nowPs), nowPs);
    }
    else if (!m_busy)
    {
        m_busy = true; // what departs in this turn gives credit by its end
        FabricSimulator::Get().NoteBusy(this);
    }
}

void
FabricPort::TakeCredits(int64_t timePs)
{
    for (int64_t nextPs = m_credits->GetNextPs(); nextPs <= timePs; nextPs = m_credits->GetNextPs())
    {
        m_credits->TakeUntil(nextPs);
        if (m_credits->GetStopped() != m_queues.GetStopped())
        {
            StopPriorities(m_credits->GetStopped(), nextPs);
        }
    }
}

bool
FabricPort::WaitForCredit(int64_t untilPs)
{
    const int64_t nextPs = m_credits->GetNextPs();
    if (nextPs > untilPs)
    {
        return false;
    }
    FreeLine(nextPs); // it stood idle until then
    TakeCredits(nextPs);
    return true;
}

int64_t
FabricPort::FindCreditPs() const
{
    const bool waits = m_source || !m_queues.IsEmpty();
    return waits ? std::max(m_credits->FindLetGoPs(), m_line.GetFreePs()) : FabricCredits::NEVER;
}

void
FabricPort::GiveCredit(int64_t leftPs, uint32_t lane, uint32_t bytes)
{
    const int64_t timePs = leftPs + m_credits->GetLink().updatePs;
    if (m_threads)
    {
        if (m_credits->Put(timePs, lane, bytes))
        {
            FabricLane::Here().onTheWay.push_back(this);
        }
        return;
    }
    // What could let a lane go before has been seen to: by a wake, or by what is on the link.
    const int64_t beforePs = m_credits->FindLetGoPs();
    m_credits->Give(timePs, lane, bytes);
    if (m_credits->FindLetGoPs() < beforePs)
    {
        CreditsGiven(FabricNowPs());
    }
}

void
FabricPort::CreditsGiven(int64_t nowPs)
{
    ScheduleWake(FindCreditPs(), nowPs);
}

void
FabricPort::ReturnLost(const FabricFrame& frame, int64_t arrivalPs)
{
    if (!m_credits->GetLink().returnsAtOnce)
    {
        GiveCredit(arrivalPs + GetDelayPs(), frame.priority, frame.bufferBytes);
    }
}

void
FabricPort::RestoreCredit(const FabricFrame& frame)
{
    if (!frame.isPause && !m_credits->GetLink().returnsAtOnce)
    {
        m_credits->Restore(frame);
    }
}

void
FabricPort::RenewCredits(int64_t nowPs)
{
    m_credits->TakeUntil(nowPs);
    StopPriorities(m_credits->GetStopped(), nowPs);
}

} // namespace ns3
