// SPDX-License-Identifier: GPL-2.0-only
#include "roce-nic-port.h"

#include "roce-queue-pair.h"

#include "ns3/make-event.h"

#include <algorithm>
#include <bit>

namespace ns3
{

RoceNicPort::RoceNicPort(Ptr<FabricPort> port, int64_t timeoutPs, bool byAge)
    : m_port(port),
      m_clock(port->GetPlace().node),
      m_byAge(byAge),
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
RoceNicPort::Watch(RoceQueuePair& pair)
{
    pair.GetWatchPlace() = static_cast<uint32_t>(m_watched.size());
    m_watched.push_back(&pair);
    // Whoever is watched already is looked at before this one can time out.
    if (!m_check.IsPending())
    {
        ScheduleCheck();
    }
}

void
RoceNicPort::Unwatch(RoceQueuePair& pair)
{
    const uint32_t place = pair.GetWatchPlace();
    if (place == NOT_WATCHED)
    {
        return;
    }
    m_watched[place] = m_watched.back();
    m_watched[place]->GetWatchPlace() = place;
    m_watched.pop_back();
    pair.GetWatchPlace() = NOT_WATCHED;
}

void
RoceNicPort::CheckTimeouts()
{
    const int64_t nowPs = m_clock.GetNowPs();
    m_port->Settle(nowPs);
    std::vector<RoceQueuePair*> late;
    for (std::size_t place = m_watched.size(); place-- > 0;)
    {
        RoceQueuePair& pair = *m_watched[place];
        if (!pair.HasUnacknowledged())
        {
            Unwatch(pair);
        }
        else if (pair.GetProgressPs() + m_timeoutPs <= nowPs)
        {
            late.push_back(&pair);
        }
    }
    for (RoceQueuePair* pair : late)
    {
        pair->GetSender().TimedOut(nowPs);
    }
    ScheduleCheck();
}

bool
RoceNicPort::MayGiveUp(int64_t beforePs) const
{
    if (m_timeoutPs <= beforePs - FabricNowPs())
    {
        return true; // one that begins now may be over
    }
    return m_checkPs < beforePs && m_check.IsPending() &&
           std::any_of(
               m_watched.begin(),
               m_watched.end(),
               [](const RoceQueuePair* pair) {
                   return pair->HasUnacknowledged() && pair->GetSender().GivesUpNext();
               });
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
    int64_t longestPs = m_clock.GetNowPs();
    for (const Level& level : m_levels)
    {
        for (const auto* pairs : {&level.pairs, &level.paced})
        {
            for (RoceQueuePair* pair : *pairs)
            {
                if (pair && pair->GetTurn().state != RoceTurn::IDLE)
                {
                    longestPs = std::min(longestPs, pair->GetSender().GetHeldSincePs());
                }
            }
        }
    }
    return longestPs;
}

void
RoceNicPort::LineChanged()
{
    m_port->Settle(m_clock.GetNowPs());
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
    const int64_t nowPs = m_clock.GetNowPs();
    const bool maySend = (m_waiting | m_pacing) != 0;
    int64_t firstPs = MayHearLate() && maySend ? nowPs : NEVER;
    for (const RoceQueuePair* pair : m_watched)
    {
        firstPs = std::min(firstPs, pair->GetProgressPs());
    }
    if (firstPs == NEVER)
    {
        return;
    }
    m_check.Cancel();
    m_checkPs = firstPs + m_timeoutPs;
    m_check = m_clock.Schedule(m_checkPs - nowPs,
                               m_port->GetName(),
                               MakeEvent(&RoceNicPort::CheckTimeouts, this));
}

void
RoceNicPort::Open(RoceQueuePair& pair)
{
    if (m_byAge)
    {
        GiveNumber(m_levels[pair.GetPriority()], pair);
    }
}

void
RoceNicPort::Close(RoceQueuePair& pair)
{
    if (m_byAge)
    {
        TakeNumber(m_levels[pair.GetPriority()], pair);
    }
}

void
RoceNicPort::GiveNumber(Level& level, RoceQueuePair& pair)
{
    pair.GetTurn().number = static_cast<uint32_t>(level.pairs.size());
    level.pairs.push_back(&pair);
}

void
RoceNicPort::TakeNumber(Level& level, RoceQueuePair& pair)
{
    level.pairs[pair.GetTurn().number] = nullptr;
    while (level.firstUsed < level.pairs.size() && !level.pairs[level.firstUsed])
    {
        level.firstUsed++;
    }
    // Half of the numbers at least, so that a number is moved once on average.
    const std::size_t by = level.firstUsed / RoceTurns::BITS * RoceTurns::BITS;
    if (by == 0 || 2 * by < level.pairs.size())
    {
        return;
    }
    level.pairs.erase(level.pairs.begin(), level.pairs.begin() + static_cast<std::ptrdiff_t>(by));
    for (RoceQueuePair* each : level.pairs)
    {
        if (each)
        {
            each->GetTurn().number -= static_cast<uint32_t>(by);
        }
    }
    level.turns.Shift(by);
    level.firstUsed -= by;
    level.last = level.last >= by ? level.last - by : RoceTurns::NOBODY;
}

void
RoceNicPort::SetTurn(Level& level, RoceQueuePair& pair)
{
    RoceTurn& turn = pair.GetTurn();
    turn.state = RoceTurn::WAITING;
    if (!m_byAge)
    {
        GiveNumber(level, pair);
    }
    level.turns.Set(turn.number);
    m_waiting |= 1U << pair.GetPriority();
}

void
RoceNicPort::Add(RoceQueuePair& pair, int64_t readyPs, int64_t nowPs)
{
    RoceTurn& turn = pair.GetTurn();
    const uint8_t priority = pair.GetPriority();
    Level& level = m_levels[priority];
    if (readyPs <= nowPs)
    {
        SetTurn(level, pair);
    }
    else
    {
        turn.state = RoceTurn::PACED;
        RoceQueueSender::Pace& pace = pair.GetSender().GetPace();
        pace.readyPs = readyPs;
        pace.place = level.paced.size();
        level.paced.push_back(&pair);
        Sift(level, pace.place);
        m_pacing |= 1U << priority;
    }
    if (MayHearLate() && !m_check.IsPending())
    {
        ScheduleCheck();
    }
}

void
RoceNicPort::Remove(RoceQueuePair& pair)
{
    RoceTurn& turn = pair.GetTurn();
    const uint8_t priority = pair.GetPriority();
    Level& level = m_levels[priority];
    if (turn.state == RoceTurn::WAITING)
    {
        level.turns.Clear(turn.number);
        m_sent = m_sent == &pair ? nullptr : m_sent;
        if (!m_byAge)
        {
            TakeNumber(level, pair);
        }
        if (level.turns.IsEmpty())
        {
            m_waiting &= ~(1U << priority);
        }
    }
    else if (turn.state == RoceTurn::PACED)
    {
        RemovePaced(level, pair);
        if (level.paced.empty())
        {
            m_pacing &= ~(1U << priority);
        }
    }
    turn.state = RoceTurn::IDLE;
}

void
RoceNicPort::RemovePaced(Level& level, RoceQueuePair& pair)
{
    const std::size_t place = pair.GetSender().GetPace().place;
    RoceQueuePair* last = level.paced.back();
    level.paced.pop_back();
    if (last != &pair)
    {
        level.paced[place] = last;
        last->GetSender().GetPace().place = place;
        Sift(level, place);
    }
}

void
RoceNicPort::Sift(Level& level, std::size_t place)
{
    auto& heap = level.paced;
    const auto put = [&heap](std::size_t at, RoceQueuePair* pair) {
        heap[at] = pair;
        pair->GetSender().GetPace().place = at;
    };
    RoceQueuePair* moved = heap[place];
    const int64_t timePs = moved->GetSender().GetPace().readyPs;
    while (place > 0 && heap[(place - 1) / 2]->GetSender().GetPace().readyPs > timePs)
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
        if (child + 1 < heap.size() && heap[child + 1]->GetSender().GetPace().readyPs <
                                           heap[child]->GetSender().GetPace().readyPs)
        {
            child++;
        }
        if (heap[child]->GetSender().GetPace().readyPs >= timePs)
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
            std::min(nextPs,
                     m_levels[std::countr_zero(left)].paced.front()->GetSender().GetPace().readyPs);
    }
    return nextPs;
}

void
RoceNicPort::Promote(Level& level, int64_t startPs)
{
    while (!level.paced.empty() && level.paced.front()->GetSender().GetPace().readyPs <= startPs)
    {
        RoceQueuePair& pair = *level.paced.front();
        RemovePaced(level, pair);
        SetTurn(level, pair);
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
    if (RoceQueuePair* sent = m_sent)
    {
        // Its packet has left: it comes behind those that came meanwhile.
        Remove(*sent);
        SetTurn(m_levels[sent->GetPriority()], *sent);
    }
    Level& level = m_levels[std::bit_width(m_waiting & ~pausedPriorities) - 1];
    level.last = level.turns.Next(m_byAge ? level.last : RoceTurns::NOBODY);
    RoceQueuePair& pair = *level.pairs[level.last];
    m_sent = m_byAge ? nullptr : &pair;
    FabricFrame* frame = pair.MakeNextFrame(startPs);
    if (!pair.GetSender().MaySend())
    {
        Remove(pair);
        return frame;
    }
    // Whoever may send again before the line is free waits for its turn only.
    const int64_t freePs = startPs + m_port->TransmissionPs(frame->wireBytes);
    if (pair.GetSender().GetReadyPs() > freePs)
    {
        Remove(pair);
        Add(pair, pair.GetSender().GetReadyPs(), freePs);
    }
    return frame;
}

} // namespace ns3
