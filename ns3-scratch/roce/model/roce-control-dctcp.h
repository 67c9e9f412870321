// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-congestion-control.h"

namespace ns3
{

/**
 * DCTCP (M. Alizadeh et al., "Data Center TCP", SIGCOMM 2010; RFC 8257, section 3.3) on a queue
 * pair: once a window of data, alpha takes in the share of bytes that were marked; the first mark
 * outside of recovery cuts by alpha / 2, and recovery lasts until what was sent by then is
 * acknowledged. `window` 1 cuts and grows the window, as the RFC does; `window` 0 the rate, as the
 * simulator published with HPCC does.
 */
class RoceControlDctcp : public RoceCongestionControl
{
  public:
    /**
     * \param parameters window (1), g (1/16), rate_ai (1000 Mb/s; rate only), minimum_rate
     * (100 Mb/s; rate only), minimum_window (bytes; window only; 0: two packets)
     */
    explicit RoceControlDctcp(const RoceControlParameters& parameters);

    // Inherited
    void Start(RoceSender& sender) override;
    void Follow(const RoceCongestionControl& other, RoceSender& sender) override;
    void LineChanged(RoceSender& sender) override;
    void AckReceived(RoceSender& sender, const RoceAck& ack) override;
    void LossDetected(RoceSender& sender, bool timeout) override;
    double GetAlpha() const override;
    bool IsLikeNew() const override;

  private:
    /// \return whether a window of data ends here; alpha is then up to date
    /// \param sender the sender \param ack the acknowledgement
    bool EndWindow(const RoceSender& sender, const RoceAck& ack);
    /// Multiply window or rate, and recover. \param sender the sender \param factor by this
    void Cut(RoceSender& sender, double factor);
    /// Grow the window by what was acknowledged. \param sender the sender \param ack the
    /// acknowledgement
    void Grow(RoceSender& sender, const RoceAck& ack);

    /// What a file says.
    struct Numbers
    {
        /// \param parameters as the class takes them
        explicit Numbers(const RoceControlParameters& parameters);
        /// Fit them to the path. \param sender the sender
        void Fit(const RoceSender& sender);

        bool byWindow;         //!< else by rate
        double g;              //!< weight of the newest window in alpha
        double rateAiBps;      //!< step of the rate
        double minimumRateBps; //!< least rate
        double minimumBytes;   //!< least window
    };

    Numbers m_numbers;               //!< in force
    double m_alpha{1.0};             //!< share of marked bytes, averaged
    double m_lineRateBps{0.0};       //!< rate of the line
    double m_rateBps{0.0};           //!< the rate
    RoceRateOnLine m_onLine;         //!< where lines change
    double m_windowBytes{0.0};       //!< the window
    double m_slowStartBytes{0.0};    //!< below this window it doubles in a round trip
    bool m_windowOpen{false};        //!< the first acknowledgement has come
    uint64_t m_windowEnd{0};         //!< stream position that ends the window of data
    uint64_t m_acknowledgedBytes{0}; //!< acknowledged in it
    uint64_t m_markedBytes{0};       //!< of these, with a mark
    bool m_recovering{false};        //!< cut, and what was sent by then not yet acknowledged
    uint64_t m_recoveryEnd{0};       //!< stream position that ends recovery
    bool m_isNew{true};              //!< it has heard of no packet yet
};

} // namespace ns3
