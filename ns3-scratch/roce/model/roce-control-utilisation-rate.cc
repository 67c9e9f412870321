// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-utilisation-rate.h"

#include <algorithm>

namespace ns3
{

RoceUtilisationRule::RoceUtilisationRule(const RoceControlParameters& parameters)
    : eta(parameters.Get("eta", 0.95)),
      maximumStage(static_cast<uint32_t>(parameters.Get("max_stage", 5.0))),
      rateAiBps(parameters.Get("rate_ai", 50e6)),
      minimumRateBps(parameters.Get("minimum_rate", 100e6)),
      reactsBetween(parameters.Get("fast_react", 1.0) != 0.0)
{
}

void
RoceUtilisationRule::SetLine(const RoceSender& sender)
{
    lineRateBps = static_cast<double>(sender.GetLineRateBps());
    minimumRateBps = std::min(minimumRateBps, lineRateBps);
}

void
RoceUtilisationRate::Begin(double rateBps)
{
    m_referenceBps = rateBps;
    m_stage = 0;
}

void
RoceUtilisationRate::Follow(double beforeBps, double lineBps)
{
    m_referenceBps = m_onLine.Follow(m_referenceBps, beforeBps, lineBps);
}

double
RoceUtilisationRate::Compute(double utilisation, const RoceUtilisationRule& rule, bool commits)
{
    const double excess = utilisation / rule.eta;
    const bool multiplies = excess >= 1.0 || m_stage >= rule.maximumStage;
    double rateBps = m_referenceBps;
    if (multiplies)
    {
        rateBps = excess > 0.0 ? rateBps / excess : rule.lineRateBps;
    }
    rateBps = std::clamp(rateBps + rule.rateAiBps, rule.minimumRateBps, rule.lineRateBps);
    if (commits)
    {
        m_referenceBps = rateBps;
        m_stage = multiplies ? 0 : m_stage + 1;
    }
    return rateBps;
}

} // namespace ns3
