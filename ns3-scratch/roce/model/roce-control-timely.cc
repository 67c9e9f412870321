// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-timely.h"

#include <algorithm>

namespace ns3
{

RoceControlTimely::RoceControlTimely(const RoceControlParameters& parameters)
    : m_rateAiBps(parameters.Get("rate_ai", 10e6)),
      m_rateHaiBps(parameters.Get("rate_hai", 50e6)),
      m_ewma(parameters.Get("ewma", 0.875)),
      m_beta(parameters.Get("beta", 0.8)),
      m_lowPs(parameters.Get("t_low", 50e6)),
      m_highPs(parameters.Get("t_high", 500e6)),
      m_minimumRttPs(parameters.Get("minimum_rtt", 20e6)),
      m_haiAfter(static_cast<uint32_t>(parameters.Get("hai_after", 5.0))),
      m_segmentBytes(static_cast<uint64_t>(parameters.Get("segment", 16384.0))),
      m_maxDecrease(parameters.Get("max_decrease", 1.0)),
      m_haiBelowLow(parameters.Get("hai_below_t_low", 0.0) != 0.0),
      m_minimumRateBps(parameters.Get("minimum_rate", 100e6))
{
}

void
RoceControlTimely::Start(RoceSender& sender)
{
    m_lineRateBps = static_cast<double>(sender.GetLineRateBps());
    m_minimumRateBps = std::min(m_minimumRateBps, m_lineRateBps);
    m_rateBps = m_lineRateBps;
    if (m_minimumRttPs <= 0.0)
    {
        m_minimumRttPs = static_cast<double>(sender.GetBaseRoundTripPs());
    }
    m_nextUpdateBytes = m_segmentBytes;
}

void
RoceControlTimely::AckReceived(RoceSender& sender, const RoceAck& ack)
{
    m_isNew = false;
    if (!IsUpdateDue(sender, ack))
    {
        return;
    }
    const auto roundTripPs = static_cast<double>(ack.roundTripPs);
    if (m_previousRttPs < 0.0)
    {
        m_previousRttPs = roundTripPs; // one measurement has no gradient
        return;
    }
    m_rateBps = std::clamp(UpdatedRate(roundTripPs), m_minimumRateBps, m_lineRateBps);
    m_previousRttPs = roundTripPs;
    sender.SetRateBps(m_rateBps);
}

double
RoceControlTimely::GetAlpha() const
{
    return m_minimumRttPs > 0.0 ? m_differencePs / m_minimumRttPs : 0.0;
}

bool
RoceControlTimely::IsUpdateDue(const RoceSender& sender, const RoceAck& ack)
{
    if (m_segmentBytes == 0)
    {
        const bool due = ack.acknowledgedBytes > m_nextUpdateBytes;
        m_nextUpdateBytes = due ? sender.GetSentBytes() : m_nextUpdateBytes;
        return due;
    }
    const bool due = ack.acknowledgedBytes >= m_nextUpdateBytes;
    m_nextUpdateBytes =
        due ? (ack.acknowledgedBytes / m_segmentBytes + 1) * m_segmentBytes : m_nextUpdateBytes;
    return due;
}

double
RoceControlTimely::UpdatedRate(double roundTripPs)
{
    m_differencePs = (1.0 - m_ewma) * m_differencePs + m_ewma * (roundTripPs - m_previousRttPs);
    if (roundTripPs < m_lowPs)
    {
        return RaisedRate(m_haiBelowLow);
    }
    const double gradient = m_differencePs / m_minimumRttPs;
    if (roundTripPs <= m_highPs && gradient <= 0.0)
    {
        return RaisedRate(true);
    }
    m_increases = 0;
    const bool tooLong = roundTripPs > m_highPs;
    const double decrease = m_beta * (tooLong ? 1.0 - m_highPs / roundTripPs : gradient);
    return m_rateBps * (1.0 - std::min(decrease, m_maxDecrease));
}

double
RoceControlTimely::RaisedRate(bool counts)
{
    if (!counts)
    {
        m_increases = 0;
        return m_rateBps + m_rateAiBps;
    }
    const double step = m_increases < m_haiAfter ? m_rateAiBps : m_rateHaiBps;
    m_increases = std::min(m_increases + 1, m_haiAfter);
    return m_rateBps + step;
}

bool
RoceControlTimely::IsLikeNew() const
{
    return m_isNew;
}

} // namespace ns3
