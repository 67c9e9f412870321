// SPDX-License-Identifier: GPL-2.0-only
#include "roce-nic-port.h"

#include "fabric-delay.h"
#include "roce-queue-sender.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <bit>

namespace ns3
{

using Turn = RoceQueueSender::Turn;

namespace
{
constexpr std::size_t FORGET_AT = 1024; // numbers of closed senders, at least
} // namespace

RoceNicPort::RoceNicPort(Ptr<FabricPort> port, int64_t timeoutPs)
    : m_port(port),
      m_timeoutPs(timeoutPs)
{
    m_port->SetSource(this);
}

RoceNicPort::~RoceNicPort()
{
    m_check.Cancel();
    m_port->SetSource(nullptr);
}

void
RoceNicPort::Watch(RoceQueueSender& sender)
{
    sender.GetWatchPlace() = m_watched.size();
    m_watched.push_back(&sender);
    // Whoever is watched already is looked at before this one can time out.
    if (!m_check.IsPending())
    {
        ScheduleCheck();
    }
}

void
RoceNicPort::Unwatch(RoceQueueSender& sender)
{
    const std::size_t place = sender.GetWatchPlace();
    if (place == RoceQueueSender::NOT_WATCHED)
    {
        return;
    }
    m_watched[place] = m_watched.back();
    m_watched[place]->GetWatchPlace() = place;
    m_watched.pop_back();
    sender.GetWatchPlace() = RoceQueueSender::NOT_WATCHED;
}

void
RoceNicPort::CheckTimeouts()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    m_port->Settle(nowPs);
    std::vector<RoceQueueSender*> late;
    for (std::size_t place = m_watched.size(); place-- > 0;)
    {
        RoceQueueSender& sender = *m_watched[place];
        if (!sender.HasUnacknowledged())
        {
            Unwatch(sender);
        }
        else if (sender.GetProgressPs() + m_timeoutPs <= nowPs)
        {
            late.push_back(&sender);
        }
    }
    for (RoceQueueSender* sender : late)
    {
        sender->TimedOut(nowPs);
    }
    ScheduleCheck();
}

const RocePauses&
RoceNicPort::KeepPauses()
{
    if (!m_pauses)
    {
        m_pauses = std::make_unique<RocePauses>(*m_port, [this] { return FindLongestHeldPs(); });
    }
    return *m_pauses;
}

int64_t
RoceNicPort::FindLongestHeldPs() const
{
    int64_t longestPs = Simulator::Now().GetTimeStep();
    for (RoceQueueSender* sender : m_senders)
    {
        if (sender && sender->GetTurn().state != Turn::IDLE)
        {
            longestPs = std::min(longestPs, sender->GetHeldSincePs());
        }
    }
    return longestPs;
}

void
RoceNicPort::LineChanged()
{
    m_port->Settle(Simulator::Now().GetTimeStep());
    ScheduleCheck();
}

bool
RoceNicPort::MayHearLate() const
{
    return m_port->GetDelayPs() > m_timeoutPs;
}

void
RoceNicPort::ScheduleCheck()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const bool maySend = (m_waiting | m_pacing) != 0;
    int64_t firstPs = MayHearLate() && maySend ? nowPs : NEVER;
    for (const RoceQueueSender* sender : m_watched)
    {
        firstPs = std::min(firstPs, sender->GetProgressPs());
    }
    if (firstPs == NEVER)
    {
        return;
    }
    m_check.Cancel();
    m_check = Simulator::Schedule(FabricDelay(firstPs + m_timeoutPs - nowPs, m_port->GetName()),
                                  &RoceNicPort::CheckTimeouts,
                                  this);
}

void
RoceNicPort::Open(RoceQueueSender& sender)
{
    sender.GetTurn().number = m_senders.size();
    m_senders.push_back(&sender);
}

void
RoceNicPort::Close(RoceQueueSender& sender)
{
    m_senders[sender.GetTurn().number] = nullptr;
    while (m_firstOpen < m_senders.size() && !m_senders[m_firstOpen])
    {
        m_firstOpen++;
    }
    // Half of the numbers at least, so that a number is moved once on average.
    if (m_firstOpen >= FORGET_AT && 2 * m_firstOpen >= m_senders.size())
    {
        ForgetClosed();
    }
}

void
RoceNicPort::ForgetClosed()
{
    const std::size_t by = m_firstOpen / RoceTurns::BITS * RoceTurns::BITS;
    m_senders.erase(m_senders.begin(), m_senders.begin() + static_cast<std::ptrdiff_t>(by));
    for (RoceQueueSender* sender : m_senders)
    {
        if (sender)
        {
            sender->GetTurn().number -= by;
        }
    }
    for (Level& level : m_levels)
    {
        level.turns.Shift(by);
    }
    m_firstOpen -= by;
    m_last = m_last >= by ? m_last - by : m_senders.size();
}

void
RoceNicPort::SetTurn(Level& level, RoceQueueSender& sender)
{
    Turn& turn = sender.GetTurn();
    turn.state = Turn::WAITING;
    level.turns.Set(turn.number);
    m_waiting |= 1U << turn.priority;
}

void
RoceNicPort::Add(RoceQueueSender& sender, int64_t readyPs, int64_t nowPs)
{
    Turn& turn = sender.GetTurn();
    Level& level = m_levels[turn.priority];
    if (readyPs <= nowPs)
    {
        SetTurn(level, sender);
    }
    else
    {
        turn.state = Turn::PACED;
        turn.readyPs = readyPs;
        turn.place = level.paced.size();
        level.paced.push_back(&sender);
        Sift(level, turn.place);
        m_pacing |= 1U << turn.priority;
    }
    if (MayHearLate() && !m_check.IsPending())
    {
        ScheduleCheck();
    }
}

void
RoceNicPort::Remove(RoceQueueSender& sender)
{
    Turn& turn = sender.GetTurn();
    Level& level = m_levels[turn.priority];
    if (turn.state == Turn::WAITING)
    {
        level.turns.Clear(turn.number);
        if (level.turns.IsEmpty())
        {
            m_waiting &= ~(1U << turn.priority);
        }
    }
    else if (turn.state == Turn::PACED)
    {
        RemovePaced(level, sender);
        if (level.paced.empty())
        {
            m_pacing &= ~(1U << turn.priority);
        }
    }
    turn.state = Turn::IDLE;
}

void
RoceNicPort::RemovePaced(Level& level, RoceQueueSender& sender)
{
    const std::size_t place = sender.GetTurn().place;
    RoceQueueSender* last = level.paced.back();
    level.paced.pop_back();
    if (last != &sender)
    {
        level.paced[place] = last;
        last->GetTurn().place = place;
        Sift(level, place);
    }
}

void
RoceNicPort::Sift(Level& level, std::size_t place)
{
    auto& heap = level.paced;
    const auto put = [&heap](std::size_t at, RoceQueueSender* sender) {
        heap[at] = sender;
        sender->GetTurn().place = at;
    };
    RoceQueueSender* moved = heap[place];
    const int64_t timePs = moved->GetTurn().readyPs;
    while (place > 0 && heap[(place - 1) / 2]->GetTurn().readyPs > timePs)
    {
        put(place, heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    while (true)
    {
        std::size_t child = 2 * place + 1;
        if (child >= heap.size())
        {
            break;
        }
        if (child + 1 < heap.size() &&
            heap[child + 1]->GetTurn().readyPs < heap[child]->GetTurn().readyPs)
        {
            child++;
        }
        if (heap[child]->GetTurn().readyPs >= timePs)
        {
            break;
        }
        put(place, heap[child]);
        place = child;
    }
    put(place, moved);
}

int64_t
RoceNicPort::GetNextPs(uint32_t pausedPriorities)
{
    if (m_waiting & ~pausedPriorities)
    {
        return 0;
    }
    int64_t nextPs = NEVER;
    for (uint32_t left = m_pacing & ~pausedPriorities; left != 0; left &= left - 1)
    {
        nextPs =
            std::min(nextPs, m_levels[std::countr_zero(left)].paced.front()->GetTurn().readyPs);
    }
    return nextPs;
}

void
RoceNicPort::Promote(Level& level, int64_t startPs)
{
    while (!level.paced.empty() && level.paced.front()->GetTurn().readyPs <= startPs)
    {
        RoceQueueSender& sender = *level.paced.front();
        RemovePaced(level, sender);
        SetTurn(level, sender);
    }
}

FabricFrame*
RoceNicPort::Take(int64_t startPs, uint32_t pausedPriorities)
{
    for (uint32_t left = m_pacing; left != 0; left &= left - 1)
    {
        const uint32_t priority = std::countr_zero(left);
        Promote(m_levels[priority], startPs);
        if (m_levels[priority].paced.empty())
        {
            m_pacing &= ~(1U << priority);
        }
    }
    Level& level = m_levels[std::bit_width(m_waiting & ~pausedPriorities) - 1];
    m_last = level.turns.Next(m_last);
    RoceQueueSender& sender = *m_senders[m_last];
    FabricFrame* frame = sender.MakeDataFrame(startPs);
    if (!sender.MaySend())
    {
        Remove(sender);
        return frame;
    }
    // Whoever may send again before the line is free waits for its turn only.
    const int64_t freePs = startPs + m_port->TransmissionPs(frame->wireBytes);
    if (sender.GetReadyPs() > freePs)
    {
        Remove(sender);
        Add(sender, sender.GetReadyPs(), freePs);
    }
    return frame;
}

} // namespace ns3
