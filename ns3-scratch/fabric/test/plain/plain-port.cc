// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricPort the plain way, for the oracle of whole networks: one event when the line is free
 * again, one for each frame that arrives, every pause acted upon at once. It stands in the place of
 * fabric-port.cc and fabric-port-changes.cc; nothing is settled late, and a departure that would
 * lie in the past is an error. Each frame on a link knows when it arrives and how probably it is
 * lost; an arrival for which no frame is due is one of a frame that was lost before.
 */
#include "fabric-port.h"
#include "plain-ties.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace ns3
{

using test::Demand;

namespace
{
constexpr uint32_t NO_QUEUE = ~0U;

std::unordered_map<const FabricFrame*, double> g_errorRates; //!< of what is on any link
std::unordered_map<const FabricFrame*, int64_t> g_headsPs;   //!< of it, arrival of heads to come
std::unordered_map<const FabricFrame*, bool> g_losses;       //!< of it, whether lost, once known

/// \return the present time
int64_t
NowPs()
{
    return Simulator::Now().GetTimeStep();
}

/// Forget what is known of a frame that has arrived. \param draws for it, if nothing did before
/// \return whether it is lost
bool
Forget(const FabricFrame* frame, FabricDraws& draws)
{
    const double errorRate = g_errorRates.at(frame);
    g_errorRates.erase(frame);
    g_headsPs.erase(frame);
    const auto known = g_losses.find(frame);
    if (known == g_losses.end())
    {
        return errorRate > 0.0 && !frame->isPause && draws.Next() < errorRate;
    }
    const bool lost = known->second;
    g_losses.erase(known);
    return lost;
}

/// Have a port called at a time.
void
At(int64_t timePs, FabricPort* port, FabricSimulator::Call call)
{
    Demand(timePs >= NowPs(), "an event lies in the past");
    FabricSimulator::Get().Post(port, call, timePs);
}
} // namespace

// Each call is of one frame; one for which nothing is due finds nothing.
bool
FabricPort::IsDue(FabricSimulator::Call, int64_t) const
{
    return true;
}

void
FabricPort::WindowEnded(int64_t)
{
    Demand(false, m_name + " plays in windows");
}

void
FabricPort::ScheduleArrival(int64_t)
{
    Demand(false, m_name + " plays in windows");
}

void
FabricPort::ScheduleWake(int64_t, int64_t)
{
    Demand(false, m_name + " plays in windows");
}

// Called by Settle: the line is free and something may be due in this very picosecond.
void
FabricPort::PlayDepartures(int64_t nowPs)
{
    const bool idle = m_lineFreePs < NowPs();
    Demand(!idle || m_ready == 0, m_name + " has let a departure pass");
    Demand(!idle || !m_source || m_source->GetNextPs(m_paused) >= NowPs(),
           m_name + " has let a frame of its source pass");
    if (nowPs == NowPs())
    {
        SetEvents(nowPs);
    }
}

// Put on a free line what is due.
void
FabricPort::SetEvents(int64_t nowPs)
{
    if (m_lineFreePs > nowPs)
    {
        return;
    }
    if (m_ready != 0)
    {
        Depart(nowPs);
        return;
    }
    const int64_t nextPs = m_source ? m_source->GetNextPs(m_paused) : FabricFrameSource::NEVER;
    if (nextPs <= nowPs)
    {
        Transmit(m_source->Take(nowPs, m_paused), nowPs);
    }
    else if (nextPs != FabricFrameSource::NEVER && nextPs != m_wakePs)
    {
        m_wakePs = nextPs;
        At(nextPs, this, FabricSimulator::Call::WAKE);
    }
}

// The line is free again, or the source's pacing lets a frame out.
void
FabricPort::Wake()
{
    if (m_buffer)
    {
        m_buffer->GetUsedBytes(); // all lines of the memory that get free now, by their numbers
    }
    SetEvents(NowPs());
}

void
FabricPort::Enqueue(FabricFrame* frame)
{
    if (m_lineFreePs == DOWN)
    {
        m_counters.downFrames++;
        m_counters.downBytes += frame->bufferBytes;
        Lose(frame, NowPs());
        return;
    }
    Wake(); // a departure comes before an enqueue
    const int64_t nowPs = NowPs();
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
    if (m_lineFreePs <= nowPs && (m_paused >> priority & 1) == 0)
    {
        TransmitHeld(frame, nowPs);
        return;
    }
    Push(frame, priority, nowPs);
}

void
FabricPort::SendPause(uint8_t pausedPriorities)
{
    const int64_t nowPs = NowPs();
    if (m_lineFreePs == DOWN)
    {
        return;
    }
    SetEvents(nowPs);
    FabricFrame* frame = FabricFramePool::Take();
    frame->isPause = true;
    frame->pausedPriorities = pausedPriorities;
    frame->bufferBytes = 64;
    frame->wireBytes = 84;
    m_counters.pauseFrames++;
    if (m_lineFreePs <= nowPs)
    {
        Transmit(frame, nowPs);
        return;
    }
    m_queues[CONTROL].PushBack(frame);
    List();
}

void
FabricPort::SetPaused(uint8_t pausedPriorities)
{
    Wake();
    StopPriorities(pausedPriorities, NowPs());
    SetEvents(NowPs());
}

void
FabricPort::StopPriorities(uint8_t pausedPriorities, int64_t nowPs)
{
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        const bool was = m_paused >> priority & 1;
        const bool is = pausedPriorities >> priority & 1;
        if (is && !was)
        {
            m_counters.pauses++;
            m_pausedSincePs[priority] = nowPs;
        }
        if (was && !is)
        {
            m_stoppedPs[priority] += nowPs - m_pausedSincePs[priority];
        }
    }
    if (m_paused != 0)
    {
        m_counters.pausedPs += nowPs - m_anyPausedSincePs;
    }
    m_anyPausedSincePs = nowPs;
    if (pausedPriorities != m_paused)
    {
        m_paused = pausedPriorities;
        m_pauseTrace(TimeStep(nowPs), m_paused);
        if (m_pauseListener)
        {
            m_pauseListener->PauseChanged(*this, nowPs, m_paused);
        }
    }
    List();
}

void
FabricPort::SourceChanged(int64_t nowPs)
{
    SetEvents(nowPs);
}

// Work out which queues have a frame, and which of them may send.
void
FabricPort::List()
{
    m_occupied = 0;
    for (uint32_t queue = 0; queue < QUEUES; ++queue)
    {
        m_occupied |= m_queues[queue].IsEmpty() ? 0 : 1U << queue;
    }
    m_ready = m_occupied & ~uint32_t{m_paused};
}

void
FabricPort::Push(FabricFrame* frame, uint32_t queue, int64_t nowPs)
{
    if (frame->accounted)
    {
        frame->trail->Wait(nowPs, GetStoppedPs(queue, nowPs));
    }
    m_queues[queue].PushBack(frame);
    List();
    m_bytes[queue] += frame->bufferBytes;
    m_queueBytes += frame->bufferBytes;
    m_counters.highestQueueBytes = std::max(m_counters.highestQueueBytes, m_queueBytes);
    m_queueTrace(TimeStep(nowPs), m_queueBytes);
}

void
FabricPort::Depart(int64_t startPs)
{
    uint32_t queue = NO_QUEUE;
    if (m_ready >> CONTROL & 1)
    {
        queue = CONTROL;
    }
    else if (m_scheduler)
    {
        queue = m_scheduler->Choose(m_ready, m_queues.data());
    }
    else
    {
        for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
        {
            queue = m_ready >> priority & 1 ? priority : queue;
        }
    }
    FabricFrame* frame = m_queues[queue].PopFront();
    List();
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
    if (m_buffer)
    {
        m_buffer->Release(*frame);
    }
}

void
FabricPort::Transmit(FabricFrame* frame, int64_t startPs)
{
    Demand(startPs == NowPs() && m_lineFreePs <= startPs, m_name + " sends at another time");
    const __int128 bits = __int128{frame->wireBytes} * 8;
    const auto linePs =
        static_cast<int64_t>((bits * 1'000'000'000'000 + m_rateBps / 2) / m_rateBps);
    m_counters.sentFrames++;
    m_counters.sentBytes += frame->bufferBytes;
    m_lineBytes += frame->wireBytes;
    if (!m_transmitTrace.IsEmpty())
    {
        m_transmitTrace(TimeStep(startPs), frame->GetPacket());
    }
    m_lineTrace(TimeStep(startPs), frame->wireBytes);
    m_lineStartPs = startPs;
    m_lineFreePs = startPs + RoundPs(linePs);
    // Behind whatever is on the link already, though that may have left when it was longer.
    const int64_t beforePs = m_lastArrivalPs;
    m_lastArrivalPs = std::max(m_lineFreePs + m_delay.GetTimeStep(), beforePs);
    frame->tailPs = m_lastArrivalPs;
    frame->egressPort = FABRIC_NO_PORT;
    g_headsPs.erase(frame); // of the case before, if it ended with the frame on a link
    g_losses.erase(frame);
    if (m_headWireBytes > 0 && !frame->isPause && frame->wireBytes > m_headWireBytes)
    {
        const __int128 headBits = __int128{m_headWireBytes} * 8;
        const auto headPs =
            static_cast<int64_t>((headBits * 1'000'000'000'000 + m_rateBps / 2) / m_rateBps);
        g_headsPs[frame] = std::max(beforePs, frame->tailPs - (RoundPs(linePs) - RoundPs(headPs)));
        At(g_headsPs[frame], this, FabricSimulator::Call::ARRIVAL);
    }
    if (frame->accounted)
    {
        frame->trail->Leave(this,
                            startPs,
                            m_lineFreePs,
                            m_lastArrivalPs,
                            GetStoppedPs(frame->priority, startPs));
    }
    g_errorRates[frame] = m_errorRate;
    m_wire.PushBack(frame, m_lastArrivalPs);
    At(m_lineFreePs, this, FabricSimulator::Call::WAKE);
    At(m_lastArrivalPs, this, FabricSimulator::Call::ARRIVAL);
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
        const double share = m_meter->Update(startPs, frame->wireBytes, m_queueBytes, m_rateBps);
        telemetry.pathUtilisation = std::max(telemetry.pathUtilisation, share);
    }
}

// The head of the first frame has come: it is drawn now whether the frame is lost, and it is taken
// off the link if the far end sends it on; the event for its tail then finds nothing.
void
FabricPort::ArriveInParts()
{
    FabricFrame* frame = m_wire.Front();
    g_headsPs.erase(frame);
    const double errorRate = g_errorRates.at(frame);
    g_losses[frame] = errorRate > 0.0 && m_draws.Next() < errorRate;
    if (!g_losses[frame] && m_receiver->AdmitHead(frame, m_receiverPort))
    {
        m_wire.PopFront();
        g_errorRates.erase(frame);
        g_losses.erase(frame);
        m_receiver->ReceiveHead(frame, m_receiverPort);
    }
}

// Only what can leave at once, and at no more than the rate at which it comes, may leave now.
bool
FabricPort::AdmitHead(FabricFrame* frame)
{
    if (m_lineFreePs == DOWN)
    {
        return false;
    }
    Wake();
    const __int128 bits = __int128{frame->wireBytes} * 8;
    const auto linePs =
        static_cast<int64_t>((bits * 1'000'000'000'000 + m_rateBps / 2) / m_rateBps);
    const bool stopped = m_paused >> frame->priority & 1;
    if (m_lineFreePs > NowPs() || stopped || NowPs() + RoundPs(linePs) < frame->tailPs ||
        (m_buffer && !m_buffer->Admit(*frame, m_bytes[frame->priority])))
    {
        return false;
    }
    if (m_lineFreePs > NowPs())
    {
        m_buffer->Release(*frame);
        return false;
    }
    return true;
}

void
FabricPort::SendHead(FabricFrame* frame)
{
    if (m_marker && m_marker->MarksAtEnqueue() && m_marker->Marks(*frame, m_bytes[frame->priority]))
    {
        Mark(frame, NowPs());
    }
    TransmitHeld(frame, NowPs());
}

void
FabricPort::Arrive()
{
    if (!m_wire.IsEmpty() && g_headsPs.contains(m_wire.Front()) &&
        g_headsPs.at(m_wire.Front()) == NowPs() && m_wire.Front()->tailPs > NowPs())
    {
        ArriveInParts();
        return;
    }
    if (m_wire.IsEmpty() || m_wire.GetFrontPs() != NowPs())
    {
        return;
    }
    FabricFrame* frame = m_wire.PopFront();
    if (Forget(frame, m_draws))
    {
        m_counters.lostFrames++;
        Lose(frame, NowPs());
        return;
    }
    m_receiver->ReceiveFrame(frame, m_receiverPort);
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
FabricPort::Drop(FabricFrame* frame)
{
    m_counters.droppedFrames++;
    m_counters.droppedBytes += frame->bufferBytes;
    Lose(frame, NowPs());
}

void
FabricPort::Lose(FabricFrame* frame, int64_t timePs)
{
    if (!m_dropTrace.IsEmpty())
    {
        m_dropTrace(TimeStep(timePs), frame->GetPacket());
    }
    if (frame->flow)
    {
        frame->flow->FrameLost(frame);
        return;
    }
    FabricFramePool::Give(frame);
}

void
FabricPort::SettleMemory()
{
    Wake();
}

void
FabricPort::GoDown()
{
    if (m_lineFreePs == DOWN)
    {
        return;
    }
    m_lineFreePs = DOWN;
    m_lastArrivalPs = 0;
    StopPriorities(0, NowPs());
    if (m_buffer)
    {
        m_buffer->LinkWentDown(this);
    }
}

void
FabricPort::LoseContents()
{
    Demand(m_lineFreePs == DOWN, m_name + " loses what it has while it is up");
    for (; !m_wire.IsEmpty(); m_counters.cutFrames++)
    {
        g_errorRates.erase(m_wire.Front());
        g_headsPs.erase(m_wire.Front());
        g_losses.erase(m_wire.Front());
        Lose(m_wire.PopFront(), NowPs());
    }
    std::vector<FabricFrame*> waiting;
    for (uint32_t priority = FABRIC_PRIORITIES; priority > 0; --priority)
    {
        for (FabricFrameList& queue = m_queues[priority - 1]; !queue.IsEmpty();)
        {
            waiting.push_back(queue.PopFront());
        }
    }
    while (!m_queues[CONTROL].IsEmpty())
    {
        FabricFramePool::Give(m_queues[CONTROL].PopFront());
    }
    List();
    for (FabricFrame* frame : waiting)
    {
        m_bytes[frame->priority] -= frame->bufferBytes;
        m_queueBytes -= frame->bufferBytes;
        m_queueTrace(TimeStep(NowPs()), m_queueBytes);
        m_counters.downFrames++;
        m_counters.downBytes += frame->bufferBytes;
        if (m_buffer)
        {
            m_buffer->Release(*frame);
        }
        Lose(frame, NowPs());
    }
    Demand(m_queueBytes == 0, m_name + " is empty and holds something");
    if (m_scheduler)
    {
        m_scheduler->Reset();
    }
}

void
FabricPort::GoUp()
{
    if (m_lineFreePs != DOWN)
    {
        return;
    }
    m_lineFreePs = m_lineStartPs = NowPs();
    if (m_buffer)
    {
        m_buffer->LinkCameUp(this);
    }
    SetEvents(NowPs());
}

} // namespace ns3
