// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-congestion-control.h"

#include <cstdint>

namespace ns3
{

/// The numbers that HPCC's rate depends on, beside the utilisation.
struct RoceUtilisationRule
{
    double eta{0.95};           //!< utilisation aimed at
    uint32_t maximumStage{5};   //!< additive increases before a multiplicative step is taken
    double rateAiBps{0.0};      //!< step of additive increase
    double minimumRateBps{0.0}; //!< least rate
    double lineRateBps{0.0};    //!< highest rate
    bool reactsBetween{true};   //!< an acknowledgement within a round trip sets the rate too

    /// \param parameters eta (0.95), max_stage (5), rate_ai (50 Mb/s), minimum_rate (100 Mb/s),
    /// fast_react (1)
    explicit RoceUtilisationRule(const RoceControlParameters& parameters);
    /// \param sender whose line is the highest rate
    void SetLine(const RoceSender& sender);
};

/**
 * ComputeWind of HPCC (Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019,
 * algorithm 1), for a rate in place of a window: the two are proportional.
 */
class RoceUtilisationRate
{
  public:
    /// \param rateBps the reference rate from now on
    void Begin(double rateBps);
    /// \param beforeBps rate of the line before \param lineBps rate of the line from now on
    void Follow(double beforeBps, double lineBps);
    /**
     * \param utilisation U
     * \param rule the numbers
     * \param commits a round trip is over, so that the result is the new reference rate
     * \return the rate
     */
    double Compute(double utilisation, const RoceUtilisationRule& rule, bool commits);

  private:
    double m_referenceBps{0.0}; //!< R_c
    RoceRateOnLine m_onLine;    //!< where lines change
    uint32_t m_stage{0};        //!< additive increases since the last multiplicative step
};

} // namespace ns3
