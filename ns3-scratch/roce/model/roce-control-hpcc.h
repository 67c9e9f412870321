// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-control-utilisation-rate.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * HPCC (Y. Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, algorithm 1). The
 * telemetry of consecutive acknowledgements gives the utilisation of each switch port on the path;
 * the rate is what brings the highest to `eta`. It is a reference rate, which changes once a round
 * trip, over U / eta, so that no acknowledgement is reacted to twice. The paper's window is in
 * proportion to the rate: it is the queue pair's own, if that scales with the rate.
 */
class RoceControlHpcc : public RoceCongestionControl
{
  public:
    /**
     * \param parameters those of RoceUtilisationRule; multiple_rates (0; 1: a reference rate for
     * each hop, the lowest counts), base_rtt (T; 0: the path's own)
     */
    explicit RoceControlHpcc(const RoceControlParameters& parameters);

    // Inherited
    void Start(RoceSender& sender) override;
    void Follow(const RoceCongestionControl& other, RoceSender& sender) override;
    void LineChanged(RoceSender& sender) override;
    void AckReceived(RoceSender& sender, const RoceAck& ack) override;
    RoceTelemetry GetTelemetry() const override;
    /// \return U, with multiple rates the highest
    double GetAlpha() const override;
    bool IsLikeNew() const override;

  private:
    /// Fit the numbers to the path. \param sender the sender
    void Fit(const RoceSender& sender);

    /// What is remembered of a switch port of the path.
    struct Hop
    {
        FabricTelemetryHop record; //!< its last entry
        double utilisation{1.0};   //!< with multiple rates, its U
        RoceUtilisationRate rate;  //!< with multiple rates, its rate
    };

    /// Forget the path and begin with that of an acknowledgement. \param ack the acknowledgement
    void Remember(const RoceAck& ack);
    /**
     * Use an entry of telemetry, and remember it.
     * \param hop what was remembered of its port
     * \param now the entry
     * \param[out] tauPs time since the port's last entry, at most T
     * \return the port's utilisation in this time, below 0 if the entry is not newer
     */
    double Measure(Hop& hop, const FabricTelemetryHop& now, double& tauPs) const;
    /// \return the rate by the highest utilisation \param ack the acknowledgement \param commits
    /// whether a round trip is over
    double SingleRate(const RoceAck& ack, bool commits);
    /// \return the lowest of the hops' rates \param ack the acknowledgement \param commits whether
    /// a round trip is over
    double LowestRate(const RoceAck& ack, bool commits);

    RoceUtilisationRule m_rule;    //!< the numbers
    bool m_multipleRates;          //!< a reference rate for each hop
    double m_baseRttPs;            //!< T
    double m_utilisation{1.0};     //!< U
    double m_rateBps{0.0};         //!< the rate
    RoceRateOnLine m_onLine;       //!< where lines change
    RoceUtilisationRate m_single;  //!< the reference rate
    std::vector<Hop> m_hops;       //!< the ports of the path
    uint64_t m_nextUpdateBytes{0}; //!< stream position that ends the round trip
    bool m_isNew{true};            //!< it has heard of no packet yet
};

} // namespace ns3
