// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-hpcc.h"

#include <algorithm>

namespace ns3
{

namespace
{
constexpr double BPS_PER_BYTE_A_PS = 8e12;
} // namespace

RoceControlHpcc::RoceControlHpcc(const RoceControlParameters& parameters)
    : m_rule(parameters),
      m_multipleRates(parameters.Get("multiple_rates", 0.0) != 0.0),
      m_baseRttPs(parameters.Get("base_rtt", 0.0))
{
}

void
RoceControlHpcc::Start(RoceSender& sender)
{
    Fit(sender);
    m_rateBps = m_rule.lineRateBps;
    m_single.Begin(m_rateBps);
}

void
RoceControlHpcc::Fit(const RoceSender& sender)
{
    m_rule.SetLine(sender);
    if (m_baseRttPs <= 0.0)
    {
        m_baseRttPs = static_cast<double>(sender.GetBaseRoundTripPs());
    }
}

void
RoceControlHpcc::Follow(const RoceCongestionControl& other, RoceSender& sender)
{
    const auto& from = static_cast<const RoceControlHpcc&>(other);
    m_rule = from.m_rule;
    m_baseRttPs = from.m_baseRttPs;
    Fit(sender);
}

void
RoceControlHpcc::LineChanged(RoceSender& sender)
{
    const double beforeBps = m_rule.lineRateBps;
    m_rule.SetLine(sender);
    m_rateBps = m_onLine.Follow(m_rateBps, beforeBps, m_rule.lineRateBps);
    m_single.Follow(beforeBps, m_rule.lineRateBps);
    for (Hop& hop : m_hops)
    {
        hop.rate.Follow(beforeBps, m_rule.lineRateBps);
    }
}

void
RoceControlHpcc::AckReceived(RoceSender& sender, const RoceAck& ack)
{
    m_isNew = false;
    if (ack.hops == 0)
    {
        return;
    }
    const bool commits = ack.acknowledgedBytes > m_nextUpdateBytes;
    if (!commits && !m_rule.reactsBetween)
    {
        return;
    }
    if (commits)
    {
        m_nextUpdateBytes = sender.GetSentBytes();
    }
    if (ack.hops != m_hops.size())
    {
        Remember(ack);
        return;
    }
    const double rateBps = m_multipleRates ? LowestRate(ack, commits) : SingleRate(ack, commits);
    if (rateBps > 0.0)
    {
        m_rateBps = rateBps;
        sender.SetRateBps(rateBps);
    }
}

RoceTelemetry
RoceControlHpcc::GetTelemetry() const
{
    return RoceTelemetry::HOPS;
}

double
RoceControlHpcc::GetAlpha() const
{
    if (!m_multipleRates || m_hops.empty())
    {
        return m_utilisation;
    }
    return std::max_element(
               m_hops.begin(),
               m_hops.end(),
               [](const Hop& one, const Hop& other) { return one.utilisation < other.utilisation; })
        ->utilisation;
}

void
RoceControlHpcc::Remember(const RoceAck& ack)
{
    m_hops.resize(ack.hops);
    for (uint32_t number = 0; number < ack.hops; ++number)
    {
        m_hops[number].record = ack.telemetry[number];
        m_hops[number].utilisation = 1.0;
        m_hops[number].rate.Begin(m_rateBps);
    }
}

double
RoceControlHpcc::Measure(Hop& hop, const FabricTelemetryHop& now, double& tauPs) const
{
    const FabricTelemetryHop before = hop.record;
    if (now.timePs <= before.timePs || now.sentBytes < before.sentBytes)
    {
        return -1.0;
    }
    hop.record = now;
    const auto elapsedPs = static_cast<double>(now.timePs - before.timePs);
    const auto lineBps = static_cast<double>(now.rateBps);
    const auto queueBytes = static_cast<double>(std::min(now.queueBytes, before.queueBytes));
    const auto sentBytes = static_cast<double>(now.sentBytes - before.sentBytes);
    tauPs = std::min(elapsedPs, m_baseRttPs);
    return BPS_PER_BYTE_A_PS / lineBps * (sentBytes / elapsedPs + queueBytes / m_baseRttPs);
}

double
RoceControlHpcc::SingleRate(const RoceAck& ack, bool commits)
{
    double highest = -1.0;
    double tauPs = 0.0;
    for (uint32_t number = 0; number < ack.hops; ++number)
    {
        double hopTauPs = 0.0;
        const double utilisation = Measure(m_hops[number], ack.telemetry[number], hopTauPs);
        if (utilisation > highest)
        {
            highest = utilisation;
            tauPs = hopTauPs;
        }
    }
    if (highest < 0.0)
    {
        return 0.0;
    }
    m_utilisation += (highest - m_utilisation) * tauPs / m_baseRttPs;
    return m_single.Compute(m_utilisation, m_rule, commits);
}

double
RoceControlHpcc::LowestRate(const RoceAck& ack, bool commits)
{
    double lowest = m_rule.lineRateBps;
    bool measured = false;
    for (uint32_t number = 0; number < ack.hops; ++number)
    {
        Hop& hop = m_hops[number];
        double tauPs = 0.0;
        const double utilisation = Measure(hop, ack.telemetry[number], tauPs);
        if (utilisation < 0.0)
        {
            continue;
        }
        measured = true;
        hop.utilisation += (utilisation - hop.utilisation) * tauPs / m_baseRttPs;
        lowest = std::min(lowest, hop.rate.Compute(hop.utilisation, m_rule, commits));
    }
    return measured ? lowest : 0.0;
}

bool
RoceControlHpcc::IsLikeNew() const
{
    return m_isNew;
}

} // namespace ns3
