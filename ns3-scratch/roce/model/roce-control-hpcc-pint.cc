// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-hpcc-pint.h"

namespace ns3
{

RoceControlHpccPint::RoceControlHpccPint(const RoceControlParameters& parameters)
    : m_rule(parameters)
{
}

void
RoceControlHpccPint::Start(RoceSender& sender)
{
    m_rule.SetLine(sender);
    m_rate.Begin(m_rule.lineRateBps);
}

void
RoceControlHpccPint::Follow(const RoceCongestionControl& other, RoceSender& sender)
{
    m_rule = static_cast<const RoceControlHpccPint&>(other).m_rule;
    m_rule.SetLine(sender);
}

void
RoceControlHpccPint::LineChanged(RoceSender& sender)
{
    const double beforeBps = m_rule.lineRateBps;
    m_rule.SetLine(sender);
    m_rate.Follow(beforeBps, m_rule.lineRateBps);
}

void
RoceControlHpccPint::AckReceived(RoceSender& sender, const RoceAck& ack)
{
    m_isNew = false;
    if (ack.pathUtilisation < 0.0)
    {
        return;
    }
    const bool commits = ack.acknowledgedBytes > m_nextUpdateBytes;
    if (commits)
    {
        m_nextUpdateBytes = sender.GetSentBytes();
    }
    if (!m_measuring)
    {
        m_measuring = true; // HPCC's first acknowledgement changes nothing either
        return;
    }
    if (commits || m_rule.reactsBetween)
    {
        m_utilisation = ack.pathUtilisation;
        sender.SetRateBps(m_rate.Compute(m_utilisation, m_rule, commits));
    }
}

RoceTelemetry
RoceControlHpccPint::GetTelemetry() const
{
    return RoceTelemetry::PATH;
}

double
RoceControlHpccPint::GetAlpha() const
{
    return m_utilisation;
}

bool
RoceControlHpccPint::IsLikeNew() const
{
    return m_isNew;
}

} // namespace ns3
