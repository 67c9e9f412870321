// SPDX-License-Identifier: GPL-2.0-only
#include "flow-network.h"

#include "fabric-delay.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

FlowNetwork::FlowNetwork(FlowOwner& owner, FlowMeter& meter, bool tallies, FlowRooms& rooms)
    : m_owner(owner),
      m_meter(meter),
      m_tallies(tallies),
      m_rooms(rooms),
      m_shares(tallies ? LINE_STEP : 0.0)
{
}

uint32_t
FlowNetwork::AddLink(double rate)
{
    m_answers.emplace_back().line = rate;
    return m_shares.AddLink(rate);
}

void
FlowNetwork::SetRate(uint32_t link, double rate)
{
    Answers& answers = m_answers[link];
    answers.line = rate;
    m_shares.SetCapacity(link, std::max(rate - answers.kept, 0.0));
    SolveLater();
}

uint32_t
FlowNetwork::Begin(const FlowDemand& demand)
{
    const uint32_t number = m_shares.Add(demand.forth, demand.cap / demand.used);
    if (number >= m_flows.size())
    {
        m_flows.resize(number + 1);
    }
    Flow& flow = m_flows[number];
    flow.demand = demand;
    flow.rate = flow.answered = 0.0;
    flow.rise = {};
    flow.carried = 0.0;
    flow.left = demand.bytes;
    flow.unsent = demand.used * demand.bytes;
    flow.sincePs = flow.talliedPs = Simulator::Now().GetTimeStep();
    flow.slowing = flow.stands = FlowShares::NONE;
    flow.standing = 0.0;
    flow.waits.clear();
    m_agenda.Add(number, m_order++, FlowAgenda::NEVER);
    SolveLater();
    return number;
}

void
FlowNetwork::Move(uint32_t number,
                  std::span<const FlowUse> forth,
                  std::span<const FlowUse> back,
                  double cap)
{
    Flow& flow = m_flows[number];
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    Settle(flow, nowPs);
    Tally(flow, FlowShares::NONE, nowPs);
    Follow(flow, 0.0, nowPs);
    Meter(flow, 0.0, nowPs);
    Stand(flow, FlowShares::NONE, 0.0);
    flow.demand.forth = forth;
    flow.demand.back = back;
    flow.rate = 0.0;
    flow.rise = {};
    m_agenda.Move(number, FlowAgenda::NEVER);
    m_shares.Remove(number);
    m_shares.Add(forth, cap / flow.demand.used); // gets the number that was given back last
    SolveLater();
}

double
FlowNetwork::LeftOf(uint32_t number)
{
    Flow& flow = m_flows[number];
    Settle(flow, Simulator::Now().GetTimeStep());
    return flow.unsent;
}

double
FlowNetwork::SentOf(uint32_t number, int64_t beforePs) const
{
    const Flow& flow = m_flows[number];
    const int64_t passedPs = Simulator::Now().GetTimeStep() - beforePs - flow.sincePs;
    const double unsent = flow.unsent - flow.carried * static_cast<double>(passedPs);
    return std::max(flow.demand.used * flow.demand.bytes - std::max(unsent, 0.0), 0.0);
}

void
FlowNetwork::Settle(Flow& flow, int64_t nowPs)
{
    const int64_t passedPs = nowPs - flow.sincePs;
    const double missed = flow.rise.Missed(flow.sincePs) - flow.rise.Missed(nowPs);
    flow.left = std::max(0.0, flow.left + missed - flow.rate * static_cast<double>(passedPs));
    flow.unsent = std::max(0.0, flow.unsent - flow.carried * static_cast<double>(passedPs));
    flow.sincePs = nowPs;
    if (flow.rate > 0.0)
    {
        flow.demand.from = flow.rate - flow.rise.Lag(nowPs);
    }
}

void
FlowNetwork::Wait(Flow& flow, uint32_t link, double ps, double bytes)
{
    if (ps == 0.0 && bytes == 0.0)
    {
        return;
    }
    auto found = std::find_if(flow.waits.begin(), flow.waits.end(), [link](const FlowWait& wait) {
        return wait.link == link;
    });
    if (found == flow.waits.end() && flow.waits.size() < MOST_WAITS)
    {
        found = flow.waits.insert(found, {link, 0.0});
    }
    FlowWait& wait = found == flow.waits.end() ? flow.waits.back() : *found;
    wait.ps += ps;
    wait.bytes += bytes;
}

void
FlowNetwork::Tally(Flow& flow, uint32_t link, int64_t nowPs)
{
    if (!m_tallies)
    {
        return;
    }
    const auto passedPs = static_cast<double>(nowPs - flow.talliedPs);
    const double missed =
        flow.rise.Missed(static_cast<double>(flow.talliedPs)) - flow.rise.Missed(nowPs);
    const double usedPs = passedPs * flow.demand.used;
    Wait(flow, flow.slowing, usedPs, usedPs * flow.rate);
    Wait(flow, SLOWED, passedPs - usedPs, -missed * flow.demand.used);
    flow.talliedPs = nowPs;
    flow.slowing = link;
}

void
FlowNetwork::Meter(Flow& flow, double rate, int64_t nowPs)
{
    if (m_meter.IsUsed())
    {
        for (const FlowUse& use : flow.demand.forth)
        {
            m_meter.Change(use.link, use.share * (rate - flow.carried), nowPs);
        }
    }
    flow.carried = rate;
}

void
FlowNetwork::Stand(Flow& flow, uint32_t link, double rate)
{
    double standing = 0.0;
    if (link != FlowShares::NONE)
    {
        const double moves = rate * static_cast<double>(flow.demand.roundTripPs);
        standing = std::max(std::min(flow.demand.inFlight, flow.left) - moves, 0.0);
    }
    if (link != flow.stands && flow.standing > 0.0)
    {
        m_rooms.Put(flow.stands, flow.demand.forth, -flow.standing);
        flow.standing = 0.0;
    }
    if (standing != flow.standing)
    {
        m_rooms.Put(link, flow.demand.forth, standing - flow.standing);
    }
    flow.stands = link;
    flow.standing = standing;
}

void
FlowNetwork::Follow(Flow& flow, double rate, int64_t nowPs)
{
    const double more = rate - flow.answered;
    if (flow.demand.back.empty() || std::abs(more) <= RATE_STEP * flow.answered)
    {
        return;
    }
    flow.answered = rate;
    m_due.push({nowPs + flow.demand.answersAfterPs,
                m_order++,
                flow.demand.back,
                more * flow.demand.backShare});
}

bool
FlowNetwork::TakeAnswers(int64_t nowPs)
{
    while (!m_due.empty() && m_due.top().timePs <= nowPs)
    {
        const Answer& answer = m_due.top();
        for (const FlowUse& use : answer.back)
        {
            Answers& answers = m_answers[use.link];
            answers.load += answer.rate * use.share;
            m_meter.Change(use.link, answer.rate * use.share, nowPs);
            if (!answers.touched)
            {
                answers.touched = true;
                m_touched.push_back(use.link);
            }
        }
        m_due.pop();
    }
    bool different = false;
    for (const uint32_t link : m_touched)
    {
        Answers& answers = m_answers[link];
        answers.touched = false;
        if (std::abs(answers.load - answers.kept) > LINE_STEP * answers.line)
        {
            answers.kept = answers.load;
            m_shares.SetCapacity(link, std::max(answers.line - answers.kept, 0.0));
            different = true;
        }
    }
    m_touched.clear();
    return different;
}

void
FlowNetwork::ChangeRate(uint32_t number, double rate, int64_t nowPs)
{
    Flow& flow = m_flows[number];
    const uint32_t bottleneck = m_shares.GetBottleneck(number);
    if (bottleneck != FlowShares::NONE)
    {
        const double line = m_answers[bottleneck].line;
        if (line <= 0.0 || rate < LEAST_SHARE * line)
        {
            rate = 0.0; // acknowledgements have all of the line, or it is down; rounding is left
        }
    }
    Settle(flow, nowPs);
    Tally(flow, m_shares.GetSlowing(number), nowPs);
    if (flow.demand.firstWindow > 0.0 && rate > 0.0)
    {
        Start(flow, rate);
    }
    Follow(flow, rate, nowPs);
    Stand(flow, bottleneck, rate);
    Rise(flow, rate, nowPs);
    flow.rate = rate;
    if (rate <= 0.0)
    {
        Meter(flow, 0.0, nowPs);
        m_agenda.Move(number, FlowAgenda::NEVER);
        return;
    }
    const double lastsPs = flow.rise.SendPs(flow.left, rate, nowPs);
    const double mean = flow.rise.perPs > 0.0 ? flow.left / lastsPs : rate;
    Meter(flow, flow.left > 0.0 ? mean * flow.unsent / flow.left : 0.0, nowPs);
    m_agenda.Move(number, FabricLater(nowPs, lastsPs, "a flow"));
}

void
FlowNetwork::Start(Flow& flow, double rate)
{
    FlowDemand& demand = flow.demand;
    const uint32_t first = demand.forth.front().link;
    const double own = m_answers[first].line / m_shares.GetFlows(first);
    const double most = std::max(std::min(demand.alone, own), rate);
    const auto roundTripPs = static_cast<double>(demand.roundTripPs);
    // The first window waits in queues, and its acknowledgements come when it has left them.
    const double sentPs = std::min(demand.firstWindow, flow.left) / rate;
    demand.answersAfterPs += std::llround(std::max(sentPs - roundTripPs, 0.0));
    const double blind = demand.firstWindow * (UNHEARD_WINDOWS + most / demand.alone);
    const double loopPs = roundTripPs + UNHEARD_PACKETS * demand.packetBytes / rate;
    // Unless all is under way before its control hears of anything.
    demand.risePart *= flow.left > blind ? roundTripPs / loopPs : 0.0;
    const double recoversPs = demand.recovery * loopPs * std::log(demand.alone / rate);
    const double lost = std::min(rate * recoversPs * (1.0 - rate / most),
                                 MOST_LOST * std::max(flow.left - blind, 0.0));
    flow.left += lost;
    if (m_tallies)
    {
        Wait(flow, SLOWED, 0.0, -lost * demand.used);
    }
    demand.firstWindow = 0.0;
}

void
FlowNetwork::Rise(Flow& flow, double rate, double nowPs)
{
    const FlowDemand& demand = flow.demand;
    const double more = rate - demand.from;
    const double before = flow.rise.Lag(nowPs) > 0.0 ? flow.rise.perPs : 0.0;
    const double perPs = std::max(more * demand.risePart, before);
    flow.rise = more > 0.0 && perPs > 0.0 ? FlowRise{perPs, nowPs + more / perPs} : FlowRise{};
}

void
FlowNetwork::Solve()
{
    m_waits = false;
    m_solutions++;
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (const uint32_t number : m_shares.Solve())
    {
        Flow& flow = m_flows[number];
        const double rate = m_shares.GetRate(number);
        if (rate == flow.rate)
        {
            Tally(flow, m_shares.GetSlowing(number), nowPs);
        }
        else
        {
            ChangeRate(number, rate, nowPs);
        }
    }
    m_rooms.LookAtPut();
    ScheduleNext();
}

void
FlowNetwork::SolveLater()
{
    if (!m_waits)
    {
        m_waits = true;
        Simulator::ScheduleNow(&FlowNetwork::Solve, this);
    }
}

bool
FlowNetwork::End(int64_t nowPs)
{
    m_ended.clear();
    while (m_agenda.GetNextPs() <= nowPs)
    {
        m_ended.push_back(m_agenda.Pop());
    }
    for (const uint32_t number : m_ended)
    {
        Flow& flow = m_flows[number];
        Settle(flow, nowPs);
        Tally(flow, FlowShares::NONE, nowPs);
        Follow(flow, 0.0, nowPs);
        Meter(flow, 0.0, nowPs);
        Stand(flow, FlowShares::NONE, 0.0);
        m_shares.Remove(number);
        m_owner.FlowEnded(number);
    }
    return !m_ended.empty();
}

void
FlowNetwork::Pass()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    if (nowPs >= m_eventPs)
    {
        m_eventPs = FlowAgenda::NEVER;
    }
    const bool waited = m_waits;
    m_waits = true; // until all that is due has been played
    const bool different = TakeAnswers(nowPs);
    const bool ended = End(nowPs);
    m_waits = waited;
    if (waited)
    {
        return; // rates are shared anew in this moment
    }
    if (different || ended)
    {
        Solve();
    }
    else
    {
        ScheduleNext();
    }
}

int64_t
FlowNetwork::GetNextPs() const
{
    const int64_t endPs = m_agenda.GetNextPs();
    return m_due.empty() ? endPs : std::min(endPs, m_due.top().timePs);
}

void
FlowNetwork::ScheduleNext()
{
    const int64_t nextPs = GetNextPs();
    if (nextPs < m_eventPs)
    {
        m_eventPs = nextPs;
        Simulator::Schedule(FabricDelay(nextPs - Simulator::Now().GetTimeStep(), "a flow"),
                            &FlowNetwork::Pass,
                            this);
    }
}

} // namespace ns3
