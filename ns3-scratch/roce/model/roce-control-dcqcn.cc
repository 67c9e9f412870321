// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-dcqcn.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{
// The decrease clock runs this much behind alpha's, so that alpha is updated first when both beat.
constexpr int64_t DECREASE_LAG_PS = 1'000;
// So close to the line's, a rate is the line's.
constexpr double NO_DIFFERENCE_BPS = 1.0;
} // namespace

RoceControlDcqcn::RoceControlDcqcn(const RoceControlParameters& parameters)
    : m_numbers(std::make_shared<const Numbers>(Numbers{
          .g = parameters.Get("g", 1.0 / 256.0),
          .alphaTimerPs =
              std::max<int64_t>(1, static_cast<int64_t>(parameters.Get("alpha_timer", 55e6))),
          .decreaseTimerPs = static_cast<int64_t>(parameters.Get("decrease_timer", 0.0)),
          .increaseTimerPs = static_cast<int64_t>(parameters.Get("increase_timer", 55e6)),
          .byteCounterBytes = static_cast<uint64_t>(parameters.Get("byte_counter", 10e6)),
          .fastRecoveryTimes = static_cast<uint32_t>(parameters.Get("fast_recovery_times", 5.0)),
          .rateAiBps = parameters.Get("rate_ai", 40e6),
          .rateHaiBps = parameters.Get("rate_hai", 200e6),
          .minimumRateBps = parameters.Get("minimum_rate", 100e6),
          .clampTargetRate = parameters.Get("clamp_target_rate", 1.0) != 0.0,
          .rateOnFirstCnp = parameters.Get("rate_on_first_cnp", 1.0)}))
{
}

void
RoceControlDcqcn::Start(RoceSender& sender)
{
    m_sender = &sender;
    m_lineRateBps = static_cast<double>(sender.GetLineRateBps());
    m_minimumRateBps = std::min(m_numbers->minimumRateBps, m_lineRateBps);
    m_rateBps = m_lineRateBps;
    m_targetBps = m_lineRateBps;
}

void
RoceControlDcqcn::Follow(const RoceCongestionControl& other, RoceSender& sender)
{
    if (m_firstCnpPs >= 0)
    {
        SettleAlpha(sender.GetNowPs());
    }
    m_numbers = static_cast<const RoceControlDcqcn&>(other).m_numbers;
    m_minimumRateBps = std::min(m_numbers->minimumRateBps, m_lineRateBps);
    m_countedBytes = std::min(m_countedBytes, m_numbers->byteCounterBytes); // one step at most
}

void
RoceControlDcqcn::LineChanged(RoceSender& sender)
{
    const double beforeBps = m_lineRateBps;
    m_lineRateBps = static_cast<double>(sender.GetLineRateBps());
    m_minimumRateBps = std::min(m_numbers->minimumRateBps, m_lineRateBps);
    m_rateBps = m_onLine.Follow(m_rateBps, beforeBps, m_lineRateBps);
    m_targetBps = m_targetOnLine.Follow(m_targetBps, beforeBps, m_lineRateBps);
    if (!m_increasing && m_lineRateBps - m_rateBps >= NO_DIFFERENCE_BPS)
    {
        m_increasing = true; // it had all of a slower line
        sender.StartTimer(INCREASE, m_numbers->increaseTimerPs);
    }
}

void
RoceControlDcqcn::CnpReceived(RoceSender& sender)
{
    const int64_t nowPs = sender.GetNowPs();
    if (m_firstCnpPs < 0)
    {
        BeginControl(sender);
    }
    else if (m_numbers->decreaseTimerPs > 0)
    {
        SettleAlpha(nowPs);
        m_cnpForAlpha = true;
    }
    if (m_numbers->decreaseTimerPs == 0)
    {
        SettleAlpha(nowPs);
        Cut(sender);
        m_alpha = (1.0 - m_numbers->g) * m_alpha + m_numbers->g;
        m_alphaPs = nowPs;
    }
    else if (!m_cutPending)
    {
        m_cutPending = true;
        sender.StartTimer(DECREASE, UntilDecrease(nowPs));
    }
}

void
RoceControlDcqcn::PacketSent(RoceSender& sender, uint32_t bytes)
{
    if (m_numbers->byteCounterBytes == 0 || !m_increasing)
    {
        return;
    }
    m_countedBytes += bytes;
    while (m_countedBytes >= m_numbers->byteCounterBytes && m_increasing)
    {
        m_countedBytes -= m_numbers->byteCounterBytes;
        Increase(sender);
        ++m_byteStage;
    }
    if (!m_increasing)
    {
        sender.StopTimer(INCREASE);
    }
}

void
RoceControlDcqcn::TimerDue(RoceSender& sender, uint32_t timer)
{
    if (timer == DECREASE)
    {
        m_cutPending = false;
        SettleAlpha(sender.GetNowPs());
        Cut(sender);
        return;
    }
    Increase(sender);
    ++m_timerStage;
    if (m_increasing)
    {
        sender.StartTimer(INCREASE, m_numbers->increaseTimerPs);
    }
}

double
RoceControlDcqcn::GetAlpha() const
{
    return m_firstCnpPs < 0 ? m_alpha : AlphaAt(m_sender->GetNowPs());
}

bool
RoceControlDcqcn::IsLikeNew() const
{
    return m_firstCnpPs < 0; // until then no packet and no acknowledgement changes anything
}

double
RoceControlDcqcn::AlphaAt(int64_t nowPs) const
{
    const int64_t updates = (nowPs - m_alphaPs) / m_numbers->alphaTimerPs;
    if (updates <= 0)
    {
        return m_alpha;
    }
    const double first = (1.0 - m_numbers->g) * m_alpha + (m_cnpForAlpha ? m_numbers->g : 0.0);
    return first * std::pow(1.0 - m_numbers->g, static_cast<double>(updates - 1));
}

void
RoceControlDcqcn::SettleAlpha(int64_t nowPs)
{
    const int64_t updates = (nowPs - m_alphaPs) / m_numbers->alphaTimerPs;
    if (updates <= 0)
    {
        return;
    }
    m_alpha = AlphaAt(nowPs);
    m_alphaPs += updates * m_numbers->alphaTimerPs;
    m_cnpForAlpha = false;
}

void
RoceControlDcqcn::BeginControl(RoceSender& sender)
{
    m_firstCnpPs = sender.GetNowPs();
    m_alphaPs = m_firstCnpPs;
    m_rateBps = std::max(m_minimumRateBps, m_numbers->rateOnFirstCnp * m_rateBps);
    m_targetBps = m_rateBps;
    sender.SetRateBps(m_rateBps);
}

int64_t
RoceControlDcqcn::UntilDecrease(int64_t nowPs) const
{
    const int64_t sincePs = nowPs - m_firstCnpPs - DECREASE_LAG_PS;
    const int64_t beats = std::max<int64_t>(0, sincePs / m_numbers->decreaseTimerPs) + 1;
    return beats * m_numbers->decreaseTimerPs - sincePs;
}

void
RoceControlDcqcn::Cut(RoceSender& sender)
{
    if (m_numbers->clampTargetRate || m_timerStage > 0 || m_byteStage > 0)
    {
        m_targetBps = m_rateBps;
    }
    m_rateBps = std::max(m_minimumRateBps, m_rateBps * (1.0 - m_alpha / 2.0));
    m_timerStage = 0;
    m_byteStage = 0;
    m_countedBytes = 0;
    m_increasing = true;
    sender.SetRateBps(m_rateBps);
    sender.StartTimer(INCREASE, m_numbers->increaseTimerPs);
}

void
RoceControlDcqcn::Increase(RoceSender& sender)
{
    const uint32_t highest = std::max(m_timerStage, m_byteStage);
    const uint32_t lowest =
        m_numbers->byteCounterBytes > 0 ? std::min(m_timerStage, m_byteStage) : m_timerStage;
    if (highest >= m_numbers->fastRecoveryTimes)
    {
        const double step =
            lowest > m_numbers->fastRecoveryTimes ? m_numbers->rateHaiBps : m_numbers->rateAiBps;
        m_targetBps = std::min(m_lineRateBps, m_targetBps + step);
    }
    m_rateBps = (m_rateBps + m_targetBps) / 2.0;
    if (m_lineRateBps - m_rateBps < NO_DIFFERENCE_BPS)
    {
        m_rateBps = m_lineRateBps;
        m_targetBps = m_lineRateBps;
        m_increasing = false;
    }
    sender.SetRateBps(m_rateBps);
}

} // namespace ns3
