// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-port.h"

#include "fabric-delay.h"
#include "fabric-lane.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <bit>

namespace ns3
{

void
FabricPort::Enqueue(FabricFrame* frame)
{
    const int64_t nowPs = FabricNowPs();
    if (!IsUp()) [[unlikely]]
    {
        DropDown(frame, nowPs);
        return;
    }
    const int64_t duePs = GetDuePs(nowPs, 0); // an arrival was scheduled long ago
    Settle(duePs);
    const uint32_t priority = frame->priority;
    if (m_buffer && !m_buffer->Admit(*frame, m_bytes[priority]))
    {
        Drop(frame);
        return;
    }
    if (m_marker && m_marker->MarksAtEnqueue() && m_marker->Marks(*frame, m_bytes[priority]))
    {
        Mark(frame, nowPs);
    }
    // With nothing on its way the line was idle: there is no departure that could be due just now.
    // There is one if something waits, and what was on the line has been taken by its head.
    // (With threads the far end knows what is on its way, but no head is taken.)
    const bool nothing = m_threads ? m_lastArrivalPs <= nowPs : m_wire.IsEmpty();
    const bool idle = nothing && m_ready == 0 && m_lineFreePs <= nowPs;
    const bool free = m_lineFreePs <= duePs || idle;
    if (free && (m_paused >> priority & 1) == 0)
    {
        TransmitHeld(frame, nowPs); // after Settle nothing else can be waiting for a free line
    }
    else
    {
        Push(frame, priority, nowPs);
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
    FabricFrame* frame = FabricFramePool::TakePause();
    frame->isPause = true;
    frame->pausedPriorities = pausedPriorities;
    frame->bufferBytes = FABRIC_MINIMUM_FRAME_BYTES;
    frame->wireBytes = FABRIC_MINIMUM_FRAME_BYTES + FABRIC_LINE_GAP_BYTES;
    m_counters.pauseFrames++;
    if (m_lineFreePs <= nowPs)
    {
        Transmit(frame, nowPs);
    }
    else
    {
        // It lies in no memory and is no part of what waits: it is sent by the port itself. The
        // memory knows of it all the same, for while a neighbour is stopped no departure is late.
        List();
        m_queues[CONTROL].PushBack(frame);
        m_occupied |= 1U << CONTROL;
        m_ready |= 1U << CONTROL;
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
    const uint8_t stopped = pausedPriorities & ~m_paused;
    const uint8_t released = m_paused & ~pausedPriorities;
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        if (stopped >> priority & 1)
        {
            m_pausedSincePs[priority] = nowPs;
            m_counters.pauses++;
        }
        if (released >> priority & 1)
        {
            m_stoppedPs[priority] += nowPs - m_pausedSincePs[priority];
        }
    }
    if (m_paused == 0)
    {
        m_anyPausedSincePs = nowPs;
    }
    else if (pausedPriorities == 0)
    {
        m_counters.pausedPs += nowPs - m_anyPausedSincePs;
    }
    const bool changed = pausedPriorities != m_paused;
    m_paused = pausedPriorities;
    m_ready = m_occupied & ~uint32_t{m_paused};
    if (changed)
    {
        m_pauseTrace(TimeStep(nowPs), m_paused);
        if (m_pauseListener && FabricLane::Here().besideOthers)
        {
            FabricLane::Here().notes.push_back({nowPs, GetWakeRank(), nullptr, this, m_paused});
        }
        else
        {
            TellPaused(nowPs, m_paused);
        }
    }
}

void
FabricPort::SourceChanged(int64_t nowPs)
{
    if (m_lineFreePs < nowPs)
    {
        m_lineFreePs = m_lineStartPs = nowPs; // it stood idle until now
        PlayDepartures(nowPs);
    }
    else
    {
        PlayDepartures(GetDuePs(nowPs, 0));
    }
    SetEvents(nowPs);
}

void
FabricPort::WakeAtDeparture()
{
    if (m_ready != 0)
    {
        ScheduleWake(m_lineFreePs, FabricNowPs());
    }
}

void
FabricPort::List()
{
    if (m_buffer && !m_listed)
    {
        m_listed = true;
        m_buffer->NoteBusy(this);
    }
}

void
FabricPort::Push(FabricFrame* frame, uint32_t queue, int64_t nowPs)
{
    if (frame->accounted) [[unlikely]]
    {
        frame->trail->Wait(nowPs, GetStoppedPs(queue, nowPs));
    }
    List();
    m_queues[queue].PushBack(frame);
    m_occupied |= 1U << queue;
    m_ready = m_occupied & ~uint32_t{m_paused};
    m_bytes[queue] += frame->bufferBytes;
    m_queueBytes += frame->bufferBytes;
    m_counters.highestQueueBytes = std::max(m_counters.highestQueueBytes, m_queueBytes);
    m_queueTrace(TimeStep(nowPs), m_queueBytes);
}

void
FabricPort::PlayDepartures(int64_t nowPs)
{
    while (m_lineFreePs <= nowPs)
    {
        if (m_ready != 0)
        {
            Depart(m_lineFreePs);
            continue;
        }
        if (!m_source)
        {
            return;
        }
        const int64_t startPs = std::max(m_source->GetNextPs(m_paused), m_lineFreePs);
        if (startPs > nowPs)
        {
            return;
        }
        Transmit(m_source->Take(startPs, m_paused), startPs);
    }
}

void
FabricPort::Depart(int64_t startPs)
{
    const bool strict = !m_scheduler || (m_ready >> CONTROL & 1);
    const uint32_t queue =
        strict ? std::bit_width(m_ready) - 1 : m_scheduler->Choose(m_ready, m_queues.data());
    FabricFrame* frame = m_queues[queue].PopFront();
    if (m_queues[queue].IsEmpty())
    {
        m_occupied &= ~(1U << queue);
        m_ready &= ~(1U << queue);
    }
    if (queue == CONTROL)
    {
        Transmit(frame, startPs);
        return;
    }
    m_bytes[queue] -= frame->bufferBytes;
    m_queueBytes -= frame->bufferBytes;
    m_queueTrace(TimeStep(startPs), m_queueBytes);
    if (m_marker && !m_marker->MarksAtEnqueue() && m_marker->Marks(*frame, m_bytes[queue]))
    {
        Mark(frame, startPs);
    }
    TransmitHeld(frame, startPs);
}

void
FabricPort::TransmitHeld(FabricFrame* frame, int64_t startPs)
{
    if (frame->collects && m_buffer)
    {
        Stamp(frame, startPs);
    }
    Transmit(frame, startPs);
    // Last, since a memory with room again may have ports send pauses, this one too.
    if (m_buffer)
    {
        m_buffer->Release(*frame);
    }
}

void
FabricPort::Transmit(FabricFrame* frame, int64_t startPs)
{
    m_counters.sentFrames++;
    m_counters.sentBytes += frame->bufferBytes;
    m_lineBytes += frame->wireBytes;
    if (!m_transmitTrace.IsEmpty())
    {
        m_transmitTrace(TimeStep(startPs), frame->GetPacket());
    }
    m_lineTrace(TimeStep(startPs), frame->wireBytes);
    m_lineStartPs = startPs;
    m_lineFreePs = startPs + TransmissionPs(frame->wireBytes);
    // A cable keeps its order, also where it has just become shorter.
    const int64_t beforePs = m_lastArrivalPs;
    m_lastArrivalPs = std::max(m_lineFreePs + m_delay.GetTimeStep(), beforePs);
    int64_t nextPs = m_lastArrivalPs;
    if (m_headWireBytes != 0) [[unlikely]]
    {
        nextPs = PlanHead(frame, beforePs);
    }
    if (frame->accounted) [[unlikely]]
    {
        const int64_t stoppedPs = GetStoppedPs(frame->priority, startPs);
        frame->trail->Leave(this, startPs, m_lineFreePs, m_lastArrivalPs, stoppedPs);
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
    if (!telemetry.pathOnly)
    {
        telemetry.hops.push_back({startPs, m_lineBytes, m_queueBytes, m_rateBps});
    }
    else if (m_meter)
    {
        const double utilisation =
            m_meter->Update(startPs, frame->wireBytes, m_queueBytes, m_rateBps);
        telemetry.pathUtilisation = std::max(telemetry.pathUtilisation, utilisation);
    }
}

void
FabricPort::Mark(FabricFrame* frame, int64_t timePs)
{
    frame->ecn = FabricEcn::CONGESTION_EXPERIENCED;
    frame->marked = true;
    m_counters.markedFrames++;
    if (!m_markTrace.IsEmpty())
    {
        m_markTrace(TimeStep(timePs), frame->GetPacket());
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
    if (m_ready != 0 && m_buffer && m_buffer->NeedsExactDepartures())
    {
        ScheduleWake(m_lineFreePs, nowPs);
    }
}

bool
FabricPort::IsSeenTo(int64_t nowPs)
{
    if (m_threads)
    {
        if (m_lastArrivalPs <= nowPs)
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
    if (!m_wire.IsEmpty() && !m_arrivalPending)
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
    m_arrivalPending = true;
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
    return call == FabricSimulator::Call::WAKE ? m_wakePs == timePs
                                               : m_arrivalPending && m_wire.GetFrontPs() == timePs;
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
    m_arrivalPending = false;
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
        // With only its head there nothing is due yet, and SetEvents sees to the successor.
        Settle(nowPs);
    }
    SetEvents(nowPs);
    return frame;
}

void
FabricPort::Arrive()
{
    if (m_headWireBytes != 0) [[unlikely]]
    {
        ArriveInParts();
        return;
    }
    const int64_t nowPs = m_wire.GetFrontPs();
    FabricFrame* frame = TakeOffLink(nowPs);
    if (m_losesFrames && IsLost(*frame))
    {
        m_counters.lostFrames++;
        Lose(frame, nowPs);
        return;
    }
    m_arrivedFrames++;
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
    if (!m_dropTrace.IsEmpty())
    {
        m_dropTrace(TimeStep(timePs), frame->GetPacket());
    }
    LetGo(frame, timePs);
}

} // namespace ns3
