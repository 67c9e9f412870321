// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-port.h"

#include "fabric-delay.h"
#include "fabric-lane.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

void
FabricPort::Enqueue(FabricFrame* frame)
{
    const int64_t nowPs = FabricNowPs();
    frame->ingressLane = frame->priority;
    if (!IsUp()) [[unlikely]]
    {
        m_admission.Discard(*frame);
        DropDown(frame, nowPs);
        return;
    }
    if (m_hasCredits)
    {
        __builtin_prefetch(m_credits.get());
    }
    const int64_t duePs = GetDuePs(nowPs, 0); // an arrival was scheduled long ago
    Settle(duePs);
    if (!m_admission.Admit(*frame, m_queues.GetBytes(frame->priority)))
    {
        Drop(frame);
        return;
    }
    const uint32_t priority = frame->priority;
    if (GetsMark(*frame, m_queues.GetBytes(priority), true))
    {
        Mark(frame, nowPs);
    }
    // With nothing on its way the line was idle: there is no departure that could be due just now.
    // The line is asked, not the wire: when a head is taken off hangs on what is played first.
    const bool nothing = m_line.GetLastArrivalPs() <= nowPs;
    const bool idle = nothing && !m_queues.IsReady() && m_line.IsFree(nowPs);
    if ((m_line.IsFree(duePs) || idle) && !m_queues.IsStopped(priority))
    {
        TransmitHeld(frame, nowPs); // after Settle nothing else can be waiting for a free line
    }
    else
    {
        Push(frame, nowPs);
    }
    SetEvents(nowPs);
}

void
FabricPort::SendPause(uint8_t pausedPriorities)
{
    if (!IsUp())
    {
        return; // nobody is there to stop or to let go on
    }
    const int64_t nowPs = FabricNowPs();
    Settle(nowPs);
    FabricFrame* frame = FabricFramePool::Take();
    frame->isPause = true;
    frame->pausedPriorities = pausedPriorities;
    frame->bufferBytes = FABRIC_MINIMUM_FRAME_BYTES;
    frame->wireBytes = FABRIC_MINIMUM_FRAME_BYTES + FABRIC_LINE_GAP_BYTES;
    m_counters.pauseFrames++;
    if (m_line.IsFree(nowPs))
    {
        Transmit(frame, nowPs);
    }
    else
    {
        // It lies in no memory and is no part of what waits: it is sent by the port itself. The
        // memory knows of it all the same, for while a neighbour is stopped no departure is late.
        List();
        m_queues.PushPause(frame);
    }
    SetEvents(nowPs);
}

void
FabricPort::SetPaused(uint8_t pausedPriorities)
{
    const int64_t nowPs = FabricNowPs();
    Settle(nowPs);
    StopPriorities(pausedPriorities, nowPs);
    SourceChanged(nowPs);
}

void
FabricPort::StopPriorities(uint8_t pausedPriorities, int64_t nowPs)
{
    if (!m_pauses.Stop(pausedPriorities, nowPs))
    {
        return;
    }
    m_queues.Stop(pausedPriorities);
    if (m_observed)
    {
        m_observers->TellPause(nowPs, pausedPriorities);
    }
    if (m_pauseListener && FabricLane::Here().besideOthers)
    {
        FabricLane::Here().notes.push_back(
            {nowPs, GetWakeRank(), nullptr, this, nullptr, pausedPriorities});
    }
    else
    {
        TellPaused(nowPs, pausedPriorities);
    }
}

void
FabricPort::SourceChanged(int64_t nowPs)
{
    if (m_line.GetFreePs() < nowPs)
    {
        FreeLine(nowPs); // it stood idle until now
        PlayDepartures(nowPs);
    }
    else
    {
        PlayDepartures(GetDuePs(nowPs, 0));
    }
    SetEvents(nowPs);
}

void
FabricPort::FreeLine(int64_t nowPs)
{
    m_line.BecomeFree(nowPs);
    m_lineStartPs = nowPs;
}

void
FabricPort::WakeAtDeparture()
{
    if (m_queues.IsReady())
    {
        ScheduleWake(m_line.GetFreePs(), FabricNowPs());
    }
}

void
FabricPort::List()
{
    if (!m_queues.IsListed() && m_admission.GetMemory())
    {
        m_queues.SetListed(true);
        m_admission.GetMemory()->NoteBusy(this);
    }
}

void
FabricPort::Push(FabricFrame* frame, int64_t nowPs)
{
    if (frame->accounted) [[unlikely]]
    {
        frame->trail->Wait(nowPs, GetStoppedPs(frame->priority, nowPs));
        if (FabricServedLog* served = GetServed())
        {
            served->Wait(nowPs);
        }
    }
    List();
    m_queues.Push(frame);
    TellQueue(nowPs);
}

void
FabricPort::TellQueue(int64_t timePs) const
{
    if (m_observed)
    {
        m_observers->TellQueue(timePs, m_queues.GetBytes());
    }
}

void
FabricPort::PlayDepartures(int64_t nowPs)
{
    while (m_line.IsFree(nowPs))
    {
        if (LacksCredit())
        {
            TakeCredits(m_line.GetFreePs());
        }
        if (m_queues.IsReady())
        {
            Depart(m_line.GetFreePs());
            continue;
        }
        const uint8_t paused = m_queues.GetStopped();
        const int64_t startPs = m_source ? std::max(m_source->GetNextPs(paused), m_line.GetFreePs())
                                         : FabricFrameSource::NEVER;
        if (LacksCredit() && WaitForCredit(std::min(startPs, nowPs)))
        {
            continue;
        }
        if (startPs > nowPs)
        {
            break;
        }
        Transmit(m_source->Take(startPs, paused), startPs);
    }
    if (LacksCredit())
    {
        TakeCredits(nowPs); // while the line is busy too: for how long a lane waited may be asked
    }
}

void
FabricPort::Depart(int64_t startPs)
{
    const uint32_t queue = m_queues.Choose();
    FabricFrame* frame = m_queues.Pop(queue);
    if (queue == FabricQueues::PAUSES)
    {
        Transmit(frame, startPs);
        return;
    }
    TellQueue(startPs);
    if (GetsMark(*frame, m_queues.GetBytes(queue), false))
    {
        Mark(frame, startPs);
    }
    TransmitHeld(frame, startPs);
}

void
FabricPort::TransmitHeld(FabricFrame* frame, int64_t startPs)
{
    if (frame->collects && m_admission.GetMemory())
    {
        Stamp(frame, startPs);
    }
    Transmit(frame, startPs);
    // Last, since a memory with room again may have ports send pauses, this one too.
    m_admission.Release(*frame);
}

void
FabricPort::Transmit(FabricFrame* frame, int64_t startPs)
{
    m_sent.frames++;
    m_sent.bytes += frame->bufferBytes;
    m_sent.wireBytes += frame->wireBytes;
    if (m_observed)
    {
        m_observers->TellTransmit(startPs, *frame);
    }
    if (m_oldestFirst)
    {
        m_lineStartPs = startPs;
    }
    const int64_t beforePs = m_line.GetLastArrivalPs();
    int64_t nextPs = m_line.Carry(startPs, TransmissionPs(frame->wireBytes));
    if (frame->accounted) [[unlikely]]
    {
        const int64_t stoppedPs = GetStoppedPs(frame->priority, startPs);
        frame->trail->Leave(this, startPs, m_line.GetFreePs(), nextPs, stoppedPs);
    }
    if (FabricServedLog* served = GetServed()) [[unlikely]]
    {
        served->Put(*frame, startPs, m_line.GetFreePs());
    }
    if (m_announcesHeads) [[unlikely]]
    {
        nextPs = PlanHead(frame, beforePs);
    }
    if (m_hasCredits && !frame->isPause)
    {
        SpendCredit(*frame, startPs);
    }
    if (m_threads)
    {
        Send(frame, nextPs);
        return;
    }
    m_wire.PushBack(frame, nextPs);
}

void
FabricPort::Stamp(FabricFrame* frame, int64_t startPs)
{
    FabricTelemetry& telemetry = *frame->telemetry;
    if (!frame->pathOnly)
    {
        telemetry.hops.Put(frame->switches,
                           {startPs, m_sent.wireBytes, m_queues.GetBytes(), m_rate.GetBps()});
    }
    else if (m_meter)
    {
        const double utilisation =
            m_meter->Update(startPs, frame->wireBytes, m_queues.GetBytes(), m_rate.GetBps());
        telemetry.pathUtilisation = std::max(telemetry.pathUtilisation, utilisation);
    }
}

bool
FabricPort::GetsMark(const FabricFrame& frame, uint64_t queueBytes, bool joins)
{
    // Where nothing waits none is given: the marker isn't even looked at.
    return queueBytes > 0 && m_marker && m_marker->MarksAtEnqueue() == joins &&
           m_marker->Marks(frame, queueBytes);
}

void
FabricPort::Mark(FabricFrame* frame, int64_t timePs)
{
    frame->ecn = FabricEcn::CONGESTION_EXPERIENCED;
    frame->marked = true;
    m_counters.markedFrames++;
    if (m_observed)
    {
        m_observers->TellMark(timePs, *frame);
    }
}

void
FabricPort::SetEvents(int64_t nowPs)
{
    if (!IsSeenTo(nowPs))
    {
        // With a frame on its way its arrival settles what is due by then; here nothing would.
        const int64_t nextPs = FindNextDeparturePs();
        if (nextPs != FabricFrameSource::NEVER)
        {
            ScheduleWake(nextPs, nowPs);
        }
    }
    if (m_hasCredits)
    {
        SetCreditEvents(nowPs);
    }
    else if (m_queues.IsReady() && m_admission.NeedsExactDepartures())
    {
        ScheduleWake(m_line.GetFreePs(), nowPs);
    }
}

bool
FabricPort::IsSeenTo(int64_t nowPs)
{
    if (m_threads)
    {
        if (m_line.GetLastArrivalPs() <= nowPs)
        {
            return false; // nothing is on its way
        }
        if (!m_busy && FindNextDeparturePs() != FabricFrameSource::NEVER)
        {
            m_busy = true;
            FabricSimulator::Get().NoteBusy(this);
        }
        return true;
    }
    if (!m_wire.IsEmpty() && !m_wire.IsScheduled())
    {
        ScheduleArrival(nowPs);
    }
    // A wire that ran empty in this window is looked at when the window ends: whether the far end
    // has been played by now makes no difference.
    return !m_wire.IsEmpty() || m_emptied;
}

void
FabricPort::ScheduleArrival(int64_t nowPs)
{
    m_wire.SetScheduled(true);
    const int64_t timePs = m_wire.GetFrontPs();
    if (timePs < nowPs) [[unlikely]]
    {
        FabricRefuseThePast(timePs - nowPs, m_name);
    }
    FabricSimulator::Get().Post(this, FabricSimulator::Call::ARRIVAL, timePs);
}

void
FabricPort::ScheduleWake(int64_t timePs, int64_t nowPs)
{
    if (timePs >= m_wakePs)
    {
        return; // an earlier one looks again
    }
    m_wakePs = timePs;
    if (timePs < nowPs) [[unlikely]]
    {
        FabricRefuseThePast(timePs - nowPs, m_name);
    }
    FabricSimulator::Get().Post(this, FabricSimulator::Call::WAKE, timePs);
}

bool
FabricPort::IsDue(FabricSimulator::Call call, int64_t timePs) const
{
    return call == FabricSimulator::Call::WAKE
               ? m_wakePs == timePs
               : m_wire.IsScheduled() && m_wire.GetFrontPs() == timePs;
}

void
FabricPort::WindowEnded(int64_t nowPs)
{
    m_emptied = false;
    Settle(nowPs);
    SetEvents(nowPs);
}

void
FabricPort::Wake()
{
    const int64_t nowPs = m_wakePs;
    m_wakePs = NO_WAKE;
    Settle(nowPs);
    SetEvents(nowPs);
}

FabricFrame*
FabricPort::TakeOffLink(int64_t nowPs)
{
    FabricFrame* frame = m_wire.PopFront();
    m_wire.SetScheduled(false);
    if (m_group != m_farGroup)
    {
        // Who receives may be ahead of this port, or behind it, by less than a window.
        FabricSimulator& simulator = FabricSimulator::Get();
        if (m_wire.IsEmpty() && !m_threads)
        {
            Settle(simulator.GetSettledPs()); // all that arrives in this window has left before it
        }
        if (!m_wire.IsEmpty())
        {
            ScheduleArrival(nowPs);
        }
        else if (m_threads)
        {
            FabricLane::Here().onTheWay.push_back(this);
        }
        else
        {
            m_emptied = true;
            simulator.NoteEmptied(this);
        }
        return frame;
    }
    if (m_wire.IsEmpty())
    {
        // The line was free before all of this frame arrived, so its successor has left by now.
        // With only its head there nothing may be due yet, and SetEvents sees to the successor;
        // with OldestFirst to one that is due just now as well, for what else arrives comes first.
        Settle(m_oldestFirst ? nowPs - 1 : nowPs);
    }
    SetEvents(nowPs);
    return frame;
}

void
FabricPort::Arrive()
{
    if (m_announcesHeads) [[unlikely]]
    {
        ArriveInParts();
        return;
    }
    const int64_t nowPs = m_wire.GetFrontPs();
    FabricFrame* frame = TakeOffLink(nowPs);
    if (m_losesFrames && IsLost(*frame))
    {
        CountLoss();
        if (m_hasCredits && !frame->isPause)
        {
            ReturnLost(*frame, nowPs);
        }
        Lose(frame, nowPs);
        return;
    }
    m_receiver->ReceiveFrame(frame, m_receiverPort);
}

void
FabricPort::Drop(FabricFrame* frame)
{
    m_counters.droppedFrames++;
    m_counters.droppedBytes += frame->bufferBytes;
    Lose(frame, FabricNowPs());
}

void
FabricPort::Lose(FabricFrame* frame, int64_t timePs)
{
    if (m_observed)
    {
        m_observers->TellDrop(timePs, *frame);
    }
    LetGo(frame, timePs);
}

} // namespace ns3
