// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-congestion-control.h"

namespace ns3
{

/**
 * Swift (G. Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
 * Datacenter", SIGCOMM 2020, algorithm 1): additive increase below a target delay, at most one
 * multiplicative decrease a round trip above it. The target grows with the hops of the path and
 * shrinks with the window. A window below one packet is paced. Only the fabric's window is
 * modelled: hosts take no time for a packet.
 */
class RoceControlSwift : public RoceCongestionControl
{
  public:
    /**
     * \param parameters base_target (25 us), per_hop (1 us), ai (1 packet), beta (0.8), max_mdf
     * (0.5), fs_range (100 us), fs_min_cwnd (0.1 packets), fs_max_cwnd (100 packets), min_cwnd
     * (0.01 packets), max_cwnd (packets; 0: what the line sends in the longest target delay of a
     * large window), retransmit_reset (5 timeouts in a row)
     */
    explicit RoceControlSwift(const RoceControlParameters& parameters);

    // Inherited
    void Start(RoceSender& sender) override;
    void Follow(const RoceCongestionControl& other, RoceSender& sender) override;
    void LineChanged(RoceSender& sender) override;
    void AckReceived(RoceSender& sender, const RoceAck& ack) override;
    void LossDetected(RoceSender& sender, bool timeout) override;
    /// \return delay over target delay
    double GetAlpha() const override;
    bool IsLikeNew() const override;

  private:
    /// \return the target delay in picoseconds \param switches switches on the path
    double TargetDelay(uint32_t switches) const;
    /// Take a new window. \param sender the sender \param packets the window
    void SetWindow(RoceSender& sender, double packets);
    /// \return whether a round trip is over since the last decrease \param sender the sender
    bool CanDecrease(const RoceSender& sender) const;

    /// What a file says.
    struct Numbers
    {
        /// \param parameters as the class takes them
        explicit Numbers(const RoceControlParameters& parameters);
        /// Fit them to the path. \param sender the sender \param openingPackets its first window
        void Fit(const RoceSender& sender, double openingPackets);

        double baseTargetPs;      //!< least target delay
        double perHopPs;          //!< added for each hop
        double ai;                //!< additive increase in packets a round trip
        double beta;              //!< multiplicative decrease
        double maximumDecrease;   //!< most of the window that goes at once
        double scalingRangePs;    //!< most that a small window adds
        double scalingFactorPs;   //!< alpha of flow scaling
        double scalingOffsetPs;   //!< beta of flow scaling
        double minimumPackets;    //!< least window
        double maximumPackets;    //!< highest window
        bool maximumOfLine;       //!< the highest window is worked out
        uint32_t retransmitReset; //!< timeouts in a row that set the window to the least
    };

    Numbers m_numbers;            //!< in force
    double m_openingPackets{0.0}; //!< the first window
    double m_packets{0.0};        //!< the window
    double m_delayRatio{0.0};     //!< last delay over its target
    int64_t m_roundTripPs{0};     //!< last round-trip time
    int64_t m_lastDecreasePs{-1}; //!< when the window last fell, below 0: never
    uint32_t m_timeouts{0};       //!< timeouts in a row
    bool m_isNew{true};           //!< it has heard of no packet yet
};

} // namespace ns3
