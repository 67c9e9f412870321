// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-timely.h"

#include <algorithm>

namespace ns3
{

RoceControlTimely::Numbers::Numbers(const RoceControlParameters& parameters)
    : rateAiBps(parameters.Get("rate_ai", 10e6)),
      rateHaiBps(parameters.Get("rate_hai", 50e6)),
      ewma(parameters.Get("ewma", 0.875)),
      beta(parameters.Get("beta", 0.8)),
      lowPs(parameters.Get("t_low", 50e6)),
      highPs(parameters.Get("t_high", 500e6)),
      minimumRttPs(parameters.Get("minimum_rtt", 20e6)),
      haiAfter(static_cast<uint32_t>(parameters.Get("hai_after", 5.0))),
      segmentBytes(static_cast<uint64_t>(parameters.Get("segment", 16384.0))),
      maxDecrease(parameters.Get("max_decrease", 1.0)),
      haiBelowLow(parameters.Get("hai_below_t_low", 0.0) != 0.0),
      minimumRateBps(parameters.Get("minimum_rate", 100e6))
{
}

void
RoceControlTimely::Numbers::Fit(const RoceSender& sender)
{
    minimumRateBps = std::min(minimumRateBps, static_cast<double>(sender.GetLineRateBps()));
    if (minimumRttPs <= 0.0)
    {
        minimumRttPs = static_cast<double>(sender.GetBaseRoundTripPs());
    }
}

RoceControlTimely::RoceControlTimely(const RoceControlParameters& parameters)
    : m_numbers(parameters)
{
}

void
RoceControlTimely::Follow(const RoceCongestionControl& other, RoceSender& sender)
{
    m_numbers = static_cast<const RoceControlTimely&>(other).m_numbers;
    m_numbers.Fit(sender);
}

void
RoceControlTimely::LineChanged(RoceSender& sender)
{
    const double beforeBps = m_lineRateBps;
    m_lineRateBps = static_cast<double>(sender.GetLineRateBps());
    m_numbers.Fit(sender);
    m_rateBps = m_onLine.Follow(m_rateBps, beforeBps, m_lineRateBps);
}

void
RoceControlTimely::Start(RoceSender& sender)
{
    m_lineRateBps = static_cast<double>(sender.GetLineRateBps());
    m_numbers.Fit(sender);
    m_rateBps = m_lineRateBps;
    m_nextUpdateBytes = m_numbers.segmentBytes;
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
    m_rateBps = std::clamp(UpdatedRate(roundTripPs), m_numbers.minimumRateBps, m_lineRateBps);
    m_previousRttPs = roundTripPs;
    sender.SetRateBps(m_rateBps);
}

double
RoceControlTimely::GetAlpha() const
{
    return m_numbers.minimumRttPs > 0.0 ? m_differencePs / m_numbers.minimumRttPs : 0.0;
}

bool
RoceControlTimely::IsUpdateDue(const RoceSender& sender, const RoceAck& ack)
{
    if (m_numbers.segmentBytes == 0)
    {
        const bool due = ack.acknowledgedBytes > m_nextUpdateBytes;
        m_nextUpdateBytes = due ? sender.GetSentBytes() : m_nextUpdateBytes;
        return due;
    }
    const bool due = ack.acknowledgedBytes >= m_nextUpdateBytes;
    m_nextUpdateBytes =
        due ? (ack.acknowledgedBytes / m_numbers.segmentBytes + 1) * m_numbers.segmentBytes
            : m_nextUpdateBytes;
    return due;
}

double
RoceControlTimely::UpdatedRate(double roundTripPs)
{
    m_differencePs =
        (1.0 - m_numbers.ewma) * m_differencePs + m_numbers.ewma * (roundTripPs - m_previousRttPs);
    if (roundTripPs < m_numbers.lowPs)
    {
        return RaisedRate(m_numbers.haiBelowLow);
    }
    const double gradient = m_differencePs / m_numbers.minimumRttPs;
    if (roundTripPs <= m_numbers.highPs && gradient <= 0.0)
    {
        return RaisedRate(true);
    }
    m_increases = 0;
    const bool tooLong = roundTripPs > m_numbers.highPs;
    const double decrease =
        m_numbers.beta * (tooLong ? 1.0 - m_numbers.highPs / roundTripPs : gradient);
    return m_rateBps * (1.0 - std::min(decrease, m_numbers.maxDecrease));
}

double
RoceControlTimely::RaisedRate(bool counts)
{
    if (!counts)
    {
        m_increases = 0;
        return m_rateBps + m_numbers.rateAiBps;
    }
    const double step =
        m_increases < m_numbers.haiAfter ? m_numbers.rateAiBps : m_numbers.rateHaiBps;
    m_increases = std::min(m_increases + 1, m_numbers.haiAfter);
    return m_rateBps + step;
}

bool
RoceControlTimely::IsLikeNew() const
{
    return m_isNew;
}

} // namespace ns3
