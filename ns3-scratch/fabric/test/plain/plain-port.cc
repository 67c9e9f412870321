// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricPort the plain way, for the oracle of whole networks: one event when the line is free
 * again, one for each frame that arrives, every pause acted upon at once. It stands in the place of
 * fabric-port.cc, fabric-port-changes.cc and fabric-port-credits.cc; nothing is settled late, and a
 * departure that would lie in the past is an error. It holds what the parts of the port say against
 * what it works out itself. Each frame on a link knows when it arrives and how probably it is lost;
 * an arrival for which no frame is due is one of a frame that was lost before. Credit that comes
 * back is an event of its own, and each frame knows the port and the lane it came by.
 */
#include "fabric-port.h"
#include "plain-ties.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

namespace ns3
{

using test::Demand;

namespace
{
constexpr uint32_t NO_QUEUE = ~0U;
constexpr int64_t DOWN = std::numeric_limits<int64_t>::max(); // when the line of a port is free

std::unordered_map<const FabricFrame*, double> g_errorRates; //!< of what is on any link
std::unordered_map<const FabricFrame*, int64_t> g_headsPs;   //!< of it, arrival of heads to come
std::unordered_map<const FabricFrame*, bool> g_losses;       //!< of it, whether lost, once known

/// Credit on its way back.
struct Coming
{
    uint32_t lane;  //!< of it
    uint32_t bytes; //!< how much
};

/// What a port may send by credit.
struct Credit
{
    std::array<int64_t, FABRIC_PRIORITIES> bytes{}; //!< of each lane
    std::multimap<int64_t, Coming> coming;          //!< by time
};

/// By which port, and in which lane, a frame went on a link last.
struct Came
{
    FabricPort* port; //!< the port
    uint32_t lane;    //!< the lane
};

std::unordered_map<const FabricPort*, Credit> g_credits; //!< of each port that sends by credit
std::unordered_map<const FabricFrame*, Came> g_came;     //!< of what was sent by credit

/// \return the present time
int64_t
NowPs()
{
    return Simulator::Now().GetTimeStep();
}

/// Forget what is known of a frame that has arrived. \param losses draws for it, if nothing did
/// before \return whether it is lost
bool
Forget(const FabricFrame* frame, FabricLosses& losses)
{
    const double errorRate = g_errorRates.at(frame);
    g_errorRates.erase(frame);
    g_headsPs.erase(frame);
    const auto known = g_losses.find(frame);
    if (known == g_losses.end())
    {
        return losses.Draw(*frame, errorRate);
    }
    const bool lost = known->second;
    g_losses.erase(known);
    return lost;
}

/// \return bytes of all frames in a list, one by one
uint64_t
BytesOf(const FabricFrameList& list)
{
    uint64_t bytes = 0;
    for (const FabricFrame* frame = list.GetFirst(); frame; frame = frame->next)
    {
        bytes += frame->bufferBytes;
    }
    return bytes;
}

/// \return how long a line is busy with so many bytes
int64_t
LinePs(uint32_t bytes, uint64_t rateBps)
{
    const __int128 bits = __int128{bytes} * 8;
    return static_cast<int64_t>((bits * 1'000'000'000'000 + rateBps / 2) / rateBps);
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
    if (m_credits && IsUp() && nowPs == NowPs())
    {
        SetEvents(nowPs); // credit may have come just now
    }
    const bool idle = m_line.GetFreePs() < NowPs();
    Demand(!idle || !m_queues.IsReady(), m_name + " has let a departure pass");
    Demand(!idle || !m_source || m_source->GetNextPs(m_pauses.GetStopped()) >= NowPs(),
           m_name + " has let a frame of its source pass");
    if (nowPs == NowPs())
    {
        SetEvents(nowPs);
    }
}

// Take what credit has come, and stop the lanes that have too little.
void
FabricPort::TakeCredits(int64_t nowPs)
{
    const FabricCreditLink& link = m_credits->GetLink();
    Credit& credit = g_credits[this];
    if (m_sent.frames == 0) // another port may have lain at the same place before
    {
        credit.coming.clear();
        credit.bytes.fill(static_cast<int64_t>(link.laneBytes));
    }
    while (!credit.coming.empty() && credit.coming.begin()->first <= nowPs)
    {
        const Coming& coming = credit.coming.begin()->second;
        Demand(credit.coming.begin()->first == nowPs || !IsUp(), m_name + " has let credit pass");
        credit.bytes[coming.lane] += coming.bytes;
        credit.coming.erase(credit.coming.begin());
    }
    uint8_t stopped = 0;
    for (uint32_t lane = 0; lane < FABRIC_PRIORITIES; ++lane)
    {
        const int64_t bytes = credit.bytes[lane];
        Demand(bytes >= 0 && bytes <= static_cast<int64_t>(link.laneBytes),
               m_name + " has credit that there is no buffer for, or a buffer overflows");
        stopped |= bytes < link.largestBytes ? 1U << lane : 0;
    }
    if (IsUp() && stopped != m_pauses.GetStopped())
    {
        StopPriorities(stopped, nowPs);
    }
}

void
FabricPort::SpendCredit(const FabricFrame& frame, int64_t startPs)
{
    g_came[&frame] = {this, frame.priority};
    if (!m_credits)
    {
        return;
    }
    TakeCredits(startPs);
    g_credits.at(this).bytes[frame.priority] -= frame.bufferBytes;
    TakeCredits(startPs);
    if (m_credits->GetLink().returnsAtOnce)
    {
        GiveCredit(m_line.GetLastArrivalPs() + GetDelayPs(), frame.priority, frame.bufferBytes);
    }
}

void
FabricPort::GiveCredit(int64_t leftPs, uint32_t lane, uint32_t bytes)
{
    const int64_t timePs = leftPs + m_credits->GetLink().updatePs;
    TakeCredits(NowPs());
    g_credits.at(this).coming.emplace(timePs, Coming{lane, bytes});
    At(timePs, this, FabricSimulator::Call::WAKE);
}

void
FabricPort::ReturnLost(const FabricFrame& frame, int64_t arrivalPs)
{
    if (m_credits && !m_credits->GetLink().returnsAtOnce && !frame.isPause)
    {
        GiveCredit(arrivalPs + GetDelayPs(), frame.priority, frame.bufferBytes);
    }
}

void
FabricPort::RestoreCredit(const FabricFrame& frame)
{
    if (m_credits && !m_credits->GetLink().returnsAtOnce && !frame.isPause)
    {
        TakeCredits(NowPs());
        g_credits.at(this).bytes[frame.priority] += frame.bufferBytes;
    }
}

void
FabricPort::SettleByCredit(int64_t nowPs)
{
    PlayDepartures(nowPs);
}

void
FabricPort::SetCreditEvents(int64_t)
{
    Demand(false, m_name + " looks ahead");
}

bool
FabricPort::WaitForCredit(int64_t)
{
    Demand(false, m_name + " looks ahead");
    return false;
}

int64_t
FabricPort::FindCreditPs() const
{
    Demand(false, m_name + " looks ahead");
    return 0;
}

void
FabricPort::CreditsGiven(int64_t)
{
    Demand(false, m_name + " plays in windows");
}

void
FabricPort::RenewCredits(int64_t nowPs)
{
    if (m_credits)
    {
        TakeCredits(nowPs);
    }
}

namespace
{
/// A frame has left a switch, or never got into it: whoever sent it there gets its credit back.
/// \param leftPs when its last bit was there last
void
GiveBack(const Came& came, const FabricFrame& frame, int64_t leftPs)
{
    if (came.port && came.port->GetCredits())
    {
        came.port->GiveCredit(leftPs + came.port->GetDelayPs(), came.lane, frame.bufferBytes);
    }
}

/// \return by what a frame came into the node that holds it
Came
CameBy(const FabricFrame* frame)
{
    const auto found = g_came.find(frame);
    return found == g_came.end() ? Came{nullptr, 0} : found->second;
}
} // namespace

void
FabricPort::Discard(FabricFrame* frame)
{
    GiveBack(CameBy(frame), *frame, NowPs());
    LetGo(frame, NowPs());
}

// Put on a free line what is due.
void
FabricPort::SetEvents(int64_t nowPs)
{
    if (m_credits)
    {
        TakeCredits(nowPs);
    }
    if (m_line.GetFreePs() > nowPs)
    {
        return;
    }
    List();
    if (m_queues.IsReady())
    {
        Depart(nowPs);
        return;
    }
    const uint8_t paused = m_pauses.GetStopped();
    const int64_t nextPs = m_source ? m_source->GetNextPs(paused) : FabricFrameSource::NEVER;
    if (nextPs <= nowPs)
    {
        Transmit(m_source->Take(nowPs, paused), nowPs);
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
    if (m_admission.GetMemory())
    {
        m_admission.GetMemory()
            ->GetUsedBytes(); // all lines of the memory that get free now, by their numbers
    }
    SetEvents(NowPs());
}

void
FabricPort::Enqueue(FabricFrame* frame)
{
    const bool inSwitch = m_admission.GetMemory() && frame->switches > 0;
    const Came came = inSwitch ? CameBy(frame) : Came{nullptr, 0};
    if (m_line.GetFreePs() == DOWN)
    {
        GiveBack(came, *frame, NowPs());
        m_counters.downFrames++;
        m_counters.downBytes += frame->bufferBytes;
        Lose(frame, NowPs());
        return;
    }
    Wake(); // a departure comes before an enqueue
    const int64_t nowPs = NowPs();
    const uint32_t before = frame->priority;
    if (!m_admission.Admit(*frame, BytesOf(m_queues.GetList(before))))
    {
        Drop(frame);
        return;
    }
    const uint32_t priority = frame->priority;
    // Towards a switch without credits only the rule knows the order of the link.
    const bool byCredit = came.port && came.port->GetCredits();
    const bool changes = byCredit && (!m_credits || came.port->GetCredits()->GetLink().order >=
                                                        m_credits->GetLink().order);
    Demand(priority == before || (changes && priority == before + 1), m_name + " changes the lane");
    if (m_marker && m_marker->MarksAtEnqueue() &&
        m_marker->Marks(*frame, BytesOf(m_queues.GetList(priority))))
    {
        Mark(frame, nowPs);
    }
    if (m_line.GetFreePs() <= nowPs && (m_pauses.GetStopped() >> priority & 1) == 0)
    {
        TransmitHeld(frame, nowPs);
        return;
    }
    Push(frame, nowPs);
}

void
FabricPort::SendPause(uint8_t pausedPriorities)
{
    const int64_t nowPs = NowPs();
    if (m_line.GetFreePs() == DOWN)
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
    if (m_line.GetFreePs() <= nowPs)
    {
        Transmit(frame, nowPs);
        return;
    }
    m_queues.PushPause(frame);
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
    const uint8_t before = m_pauses.GetStopped();
    m_pauses.Stop(pausedPriorities, nowPs);
    m_queues.Stop(pausedPriorities);
    if (pausedPriorities != before)
    {
        if (m_observers)
        {
            m_observers->TellPause(nowPs, pausedPriorities);
        }
        if (m_pauseListener)
        {
            m_pauseListener->PauseChanged(*this, nowPs, pausedPriorities);
        }
    }
    List();
}

void
FabricPort::SourceChanged(int64_t nowPs)
{
    SetEvents(nowPs);
}

// Hold what the queues say of themselves against what is in them.
void
FabricPort::List()
{
    bool waits = false;
    bool ready = false;
    uint64_t bytes = 0;
    for (uint32_t queue = 0; queue < FabricQueues::QUEUES; ++queue)
    {
        const FabricFrameList& list = m_queues.GetList(queue);
        const bool pauses = queue == FabricQueues::PAUSES;
        waits |= !list.IsEmpty();
        ready |= !list.IsEmpty() && (pauses || (m_pauses.GetStopped() >> queue & 1) == 0);
        bytes += pauses ? 0 : BytesOf(list);
    }
    Demand(waits != m_queues.IsEmpty(), m_name + " doesn't know whether something waits");
    Demand(ready == m_queues.IsReady(), m_name + " doesn't know whether it may send");
    Demand(bytes == m_queues.GetBytes(), m_name + " doesn't know how much waits");
    m_counters.highestQueueBytes = std::max(m_counters.highestQueueBytes, bytes);
    Demand(m_counters.highestQueueBytes == m_queues.GetHighestBytes(), m_name + " has forgotten");
}

void
FabricPort::Push(FabricFrame* frame, int64_t nowPs)
{
    if (frame->accounted)
    {
        frame->trail->Wait(nowPs, GetStoppedPs(frame->priority, nowPs));
    }
    m_queues.Push(frame);
    List();
    TellQueue(nowPs);
}

void
FabricPort::TellQueue(int64_t timePs) const
{
    if (m_observers)
    {
        m_observers->TellQueue(timePs, m_queues.GetBytes());
    }
}

void
FabricPort::Depart(int64_t startPs)
{
    uint32_t queue = NO_QUEUE;
    for (uint32_t each = 0; each < FabricQueues::QUEUES; ++each)
    {
        const bool stopped = each < FABRIC_PRIORITIES && (m_pauses.GetStopped() >> each & 1);
        queue = m_queues.GetList(each).IsEmpty() || stopped ? queue : each;
    }
    if (!m_queues.IsStrict() && queue != FabricQueues::PAUSES)
    {
        queue = m_queues.Choose();
    }
    FabricFrame* frame = m_queues.Pop(queue);
    List();
    if (queue == FabricQueues::PAUSES)
    {
        Transmit(frame, startPs);
        return;
    }
    TellQueue(startPs);
    if (m_marker && !m_marker->MarksAtEnqueue() &&
        m_marker->Marks(*frame, BytesOf(m_queues.GetList(queue))))
    {
        Mark(frame, startPs);
    }
    TransmitHeld(frame, startPs);
}

void
FabricPort::TransmitHeld(FabricFrame* frame, int64_t startPs)
{
    FabricSharedBuffer* memory = m_admission.GetMemory();
    if (frame->collects && memory)
    {
        Stamp(frame, startPs);
    }
    const Came came = memory && frame->switches > 0 ? CameBy(frame) : Came{nullptr, 0};
    Transmit(frame, startPs);
    if (memory)
    {
        memory->Release(*frame);
    }
    GiveBack(came, *frame, m_line.GetFreePs());
}

void
FabricPort::Transmit(FabricFrame* frame, int64_t startPs)
{
    Demand(startPs == NowPs() && m_line.GetFreePs() <= startPs, m_name + " sends at another time");
    const int64_t linePs = LinePs(frame->wireBytes, GetRateBps());
    m_sent.frames++;
    m_sent.bytes += frame->bufferBytes;
    m_sent.wireBytes += frame->wireBytes;
    if (m_observers)
    {
        m_observers->TellTransmit(startPs, *frame);
    }
    m_lineStartPs = startPs;
    // Behind whatever is on the link already, though that may have left when it was longer.
    const int64_t beforePs = m_line.GetLastArrivalPs();
    const int64_t freePs = startPs + RoundPs(linePs);
    const int64_t arrivalPs = std::max(freePs + GetDelayPs(), beforePs);
    Demand(TransmissionPs(frame->wireBytes) == RoundPs(linePs), m_name + " takes another time");
    Demand(m_line.Carry(startPs, RoundPs(linePs)) == arrivalPs && m_line.GetFreePs() == freePs,
           m_name + " has another line");
    frame->tailPs = arrivalPs;
    frame->egressPort = FABRIC_NO_PORT;
    g_headsPs.erase(frame); // of the case before, if it ended with the frame on a link
    g_losses.erase(frame);
    if (m_headWireBytes > 0 && !frame->isPause && frame->wireBytes > m_headWireBytes)
    {
        const int64_t headPs = LinePs(m_headWireBytes, GetRateBps());
        g_headsPs[frame] = std::max(beforePs, frame->tailPs - (RoundPs(linePs) - RoundPs(headPs)));
        At(g_headsPs[frame], this, FabricSimulator::Call::ARRIVAL);
    }
    if (frame->accounted)
    {
        const int64_t stoppedPs = GetStoppedPs(frame->priority, startPs);
        frame->trail->Leave(this, startPs, freePs, arrivalPs, stoppedPs);
    }
    g_errorRates[frame] = GetErrorRate();
    SpendCredit(*frame, startPs);
    m_wire.PushBack(frame, arrivalPs);
    At(freePs, this, FabricSimulator::Call::WAKE);
    At(arrivalPs, this, FabricSimulator::Call::ARRIVAL);
}

void
FabricPort::Stamp(FabricFrame* frame, int64_t startPs)
{
    FabricTelemetry& telemetry = *frame->telemetry;
    const uint64_t queueBytes = m_queues.GetBytes();
    if (!telemetry.pathOnly)
    {
        telemetry.hops.Put(0, {startPs, m_sent.wireBytes, queueBytes, GetRateBps()});
    }
    else if (m_meter)
    {
        const double share = m_meter->Update(startPs, frame->wireBytes, queueBytes, GetRateBps());
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
    g_losses[frame] = m_losses.Draw(*frame, errorRate);
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
    if (m_line.GetFreePs() == DOWN)
    {
        return false;
    }
    Wake();
    const int64_t linePs = LinePs(frame->wireBytes, GetRateBps());
    const bool stopped = m_pauses.GetStopped() >> frame->priority & 1;
    FabricSharedBuffer* memory = m_admission.GetMemory();
    if (m_line.GetFreePs() > NowPs() || stopped || NowPs() + RoundPs(linePs) < frame->tailPs ||
        (memory && !memory->Admit(*frame, BytesOf(m_queues.GetList(frame->priority)))))
    {
        return false;
    }
    if (m_line.GetFreePs() > NowPs())
    {
        memory->Release(*frame);
        return false;
    }
    return true;
}

void
FabricPort::SendHead(FabricFrame* frame)
{
    if (m_marker && m_marker->MarksAtEnqueue() &&
        m_marker->Marks(*frame, BytesOf(m_queues.GetList(frame->priority))))
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
    const bool silent = g_errorRates.at(frame) >= FabricLosses::SILENCE;
    if (Forget(frame, m_losses))
    {
        (silent ? m_counters.silentFrames : m_counters.lostFrames)++;
        ReturnLost(*frame, NowPs());
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
    if (m_observers)
    {
        m_observers->TellMark(timePs, *frame);
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
    if (m_observers)
    {
        m_observers->TellDrop(timePs, *frame);
    }
    if (frame->flow)
    {
        frame->flow->FrameLost(frame);
        return;
    }
    FabricFramePool::Give(frame);
}

// Each frame on the link is lost, whatever was drawn for it.
void
FabricPort::BeginSilence()
{
    Wake();
    for (uint32_t place = 0; place < m_wire.GetSize(); ++place)
    {
        const FabricFrame* frame = &m_wire.Get(place);
        g_errorRates.at(frame) = FabricLosses::SILENCE;
        if (g_losses.contains(frame))
        {
            g_losses[frame] = true;
        }
    }
    m_losses.BeginSilence();
}

// Both ends take it that nothing was said before, and say what holds.
void
FabricPort::RenewPauses()
{
    Wake();
    if (!m_credits)
    {
        StopPriorities(0, NowPs());
    }
    SetEvents(NowPs());
    if (m_admission.GetMemory())
    {
        m_admission.GetMemory()->LinkWentDown(this);
        m_admission.GetMemory()->LinkCameUp(this);
    }
}

void
FabricPort::SettleMemory()
{
    Wake();
}

void
FabricPort::GoDown()
{
    if (m_line.GetFreePs() == DOWN)
    {
        return;
    }
    m_line.GoDown();
    StopPriorities(0, NowPs());
    if (m_admission.GetMemory())
    {
        m_admission.GetMemory()->LinkWentDown(this);
    }
}

void
FabricPort::LoseContents()
{
    Demand(m_line.GetFreePs() == DOWN, m_name + " loses what it has while it is up");
    while (!m_wire.IsEmpty())
    {
        (IsSilent() ? m_counters.silentFrames : m_counters.cutFrames)++;
        g_errorRates.erase(m_wire.Front());
        g_headsPs.erase(m_wire.Front());
        g_losses.erase(m_wire.Front());
        RestoreCredit(*m_wire.Front());
        Lose(m_wire.PopFront(), NowPs());
    }
    std::vector<FabricFrame*> waiting;
    for (uint32_t priority = FABRIC_PRIORITIES; priority > 0; --priority)
    {
        while (!m_queues.GetList(priority - 1).IsEmpty())
        {
            waiting.push_back(m_queues.Pop(priority - 1));
        }
    }
    while (!m_queues.GetList(FabricQueues::PAUSES).IsEmpty())
    {
        FabricFramePool::Give(m_queues.Pop(FabricQueues::PAUSES));
    }
    List();
    Demand(m_queues.GetBytes() == 0, m_name + " is empty and holds something");
    uint64_t queueBytes = 0;
    for (const FabricFrame* frame : waiting)
    {
        queueBytes += frame->bufferBytes;
    }
    for (FabricFrame* frame : waiting)
    {
        queueBytes -= frame->bufferBytes;
        if (m_observers)
        {
            m_observers->TellQueue(NowPs(), queueBytes);
        }
        m_counters.downFrames++;
        m_counters.downBytes += frame->bufferBytes;
        if (m_admission.GetMemory())
        {
            m_admission.GetMemory()->Release(*frame);
            GiveBack(frame->switches > 0 ? CameBy(frame) : Came{nullptr, 0}, *frame, NowPs());
        }
        Lose(frame, NowPs());
    }
    m_queues.BeginAnew();
}

void
FabricPort::GoUp()
{
    if (m_line.GetFreePs() != DOWN)
    {
        return;
    }
    m_line.BecomeFree(NowPs());
    if (m_admission.GetMemory())
    {
        m_admission.GetMemory()->LinkCameUp(this);
    }
    SetEvents(NowPs());
}

} // namespace ns3
