// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-congestion-control.h"

namespace ns3
{

/**
 * TIMELY (R. Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM
 * 2015, algorithm 1): the round-trip time's gradient sets the rate, with a low and a high threshold
 * on the round-trip time itself and hyperactive increase. One update for each `segment` bytes
 * acknowledged, or once a round trip.
 */
class RoceControlTimely : public RoceCongestionControl
{
  public:
    /**
     * \param parameters rate_ai (10 Mb/s), rate_hai (50 Mb/s), ewma (0.875), beta (0.8), t_low
     * (50 us), t_high (500 us), minimum_rtt (20 us; 0: the path's own), hai_after (5), segment
     * (16384 bytes; 0: one update a round trip), hai_below_t_low (0), max_decrease (1),
     * minimum_rate (100 Mb/s)
     */
    explicit RoceControlTimely(const RoceControlParameters& parameters);

    // Inherited
    void Start(RoceSender& sender) override;
    void Follow(const RoceCongestionControl& other, RoceSender& sender) override;
    void LineChanged(RoceSender& sender) override;
    void AckReceived(RoceSender& sender, const RoceAck& ack) override;
    /// \return the normalised gradient
    double GetAlpha() const override;
    bool IsLikeNew() const override;

  private:
    /// \return whether this acknowledgement completes a segment or a round trip
    /// \param sender the sender \param ack the acknowledgement
    bool IsUpdateDue(const RoceSender& sender, const RoceAck& ack);
    /// \return the rate after the update \param roundTripPs the round-trip time measured
    double UpdatedRate(double roundTripPs);
    /// \return the rate one step up \param counts towards the hyperactive ones
    double RaisedRate(bool counts);

    /// What a file says.
    struct Numbers
    {
        /// \param parameters as the class takes them
        explicit Numbers(const RoceControlParameters& parameters);
        /// Fit them to the path. \param sender the sender
        void Fit(const RoceSender& sender);

        double rateAiBps;      //!< delta
        double rateHaiBps;     //!< N delta
        double ewma;           //!< weight of the newest difference
        double beta;           //!< multiplicative decrement factor
        double lowPs;          //!< T_low
        double highPs;         //!< T_high
        double minimumRttPs;   //!< what the gradient is normalised by
        uint32_t haiAfter;     //!< increases in a row before hyperactive ones
        uint64_t segmentBytes; //!< bytes between updates, 0: once a round trip
        double maxDecrease;    //!< largest share of the rate that one update takes away
        bool haiBelowLow;      //!< increases below T_low count, and can be hyperactive
        double minimumRateBps; //!< least rate
    };

    Numbers m_numbers;             //!< in force
    double m_lineRateBps{0.0};     //!< rate of the line
    double m_rateBps{0.0};         //!< the rate
    RoceRateOnLine m_onLine;       //!< where lines change
    double m_previousRttPs{-1.0};  //!< the last round-trip time, below 0: none
    double m_differencePs{0.0};    //!< average difference of round-trip times
    uint32_t m_increases{0};       //!< increases in a row
    uint64_t m_nextUpdateBytes{0}; //!< stream position that brings the next update
    bool m_isNew{true};            //!< it has heard of no packet yet
};

} // namespace ns3
