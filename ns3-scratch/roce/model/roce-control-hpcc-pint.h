// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-control-utilisation-rate.h"

#include <cstdint>

namespace ns3
{

/**
 * HPCC over probabilistic telemetry (R. Ben Basat et al., "PINT: Probabilistic In-band Network
 * Telemetry", SIGCOMM 2020, section 4.3): a sampled packet brings one number, the highest
 * utilisation on its path, which the switches have averaged over time already. The rest is HPCC.
 */
class RoceControlHpccPint : public RoceCongestionControl
{
  public:
    /// \param parameters those of RoceUtilisationRule
    explicit RoceControlHpccPint(const RoceControlParameters& parameters);

    // Inherited
    void Start(RoceSender& sender) override;
    void Follow(const RoceCongestionControl& other, RoceSender& sender) override;
    void LineChanged(RoceSender& sender) override;
    void AckReceived(RoceSender& sender, const RoceAck& ack) override;
    RoceTelemetry GetTelemetry() const override;
    /// \return U
    double GetAlpha() const override;
    bool IsLikeNew() const override;

  private:
    RoceUtilisationRule m_rule;    //!< the numbers
    RoceUtilisationRate m_rate;    //!< the reference rate
    double m_utilisation{1.0};     //!< U
    bool m_measuring{false};       //!< a first sample has come
    uint64_t m_nextUpdateBytes{0}; //!< stream position that ends the round trip
    bool m_isNew{true};            //!< it has heard of no packet yet
};

} // namespace ns3
