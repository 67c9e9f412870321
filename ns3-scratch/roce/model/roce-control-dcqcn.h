// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-congestion-control.h"

#include <memory>

namespace ns3
{

/**
 * The reaction point of DCQCN (Y. Zhu et al., "Congestion Control for Large-Scale RDMA
 * Deployments", SIGCOMM 2015, section 3.1), in two forms:
 *
 * - `decrease_timer` 0, the paper's: a CNP cuts the rate by alpha / 2 at once, then raises alpha;
 *   alpha falls after each `alpha_timer` without a CNP.
 * - `decrease_timer` above 0, as NICs do it and the simulator published with HPCC models it: the
 *   first CNP sets two clocks going. Every `alpha_timer` alpha falls, or rises if a CNP came in
 *   that time; every `decrease_timer` the rate is cut if a CNP came in that time.
 *
 * Neither clock is an event: alpha is worked out when it is needed, and a cut is scheduled, for the
 * clock's next beat, when a CNP comes. Increases stop once the rate is less than 1 bit/s below
 * the line's, which is then taken; the next cut starts them again. So an idle queue pair has no
 * timers, and nothing else changes.
 */
class RoceControlDcqcn : public RoceCongestionControl
{
  public:
    /**
     * \param parameters g (1/256), alpha_timer (55 us), decrease_timer (0), increase_timer (55 us),
     * byte_counter (10 MB; 0: none), fast_recovery_times (5), rate_ai (40 Mb/s), rate_hai
     * (200 Mb/s), minimum_rate (100 Mb/s), clamp_target_rate (1), rate_on_first_cnp (1)
     */
    explicit RoceControlDcqcn(const RoceControlParameters& parameters);

    // Inherited
    void Start(RoceSender& sender) override;
    void Follow(const RoceCongestionControl& other, RoceSender& sender) override;
    void LineChanged(RoceSender& sender) override;
    void CnpReceived(RoceSender& sender) override;
    void PacketSent(RoceSender& sender, uint32_t bytes) override;
    void TimerDue(RoceSender& sender, uint32_t timer) override;
    double GetAlpha() const override;
    bool IsLikeNew() const override;

  private:
    /// What the timers are for.
    enum Timer : uint32_t
    {
        DECREASE = 0,
        INCREASE = 1
    };

    /// \return alpha at that time \param nowPs the time
    double AlphaAt(int64_t nowPs) const;
    /// Bring alpha up to date. \param nowPs the time
    void SettleAlpha(int64_t nowPs);
    /// The first CNP of all. \param sender the sender
    void BeginControl(RoceSender& sender);
    /// \return time until the next beat of the decrease clock \param nowPs the time
    int64_t UntilDecrease(int64_t nowPs) const;
    /// Cut the rate. \param sender the sender
    void Cut(RoceSender& sender);
    /// One step of fast recovery, additive or hyper increase. \param sender the sender
    void Increase(RoceSender& sender);

    /// What all of a run have in common.
    struct Numbers
    {
        double g;                   //!< weight of the newest observation in alpha
        int64_t alphaTimerPs;       //!< time between updates of alpha
        int64_t decreaseTimerPs;    //!< time between cuts, 0: at each CNP
        int64_t increaseTimerPs;    //!< time between increases
        uint64_t byteCounterBytes;  //!< bytes between increases, 0: no byte counter
        uint32_t fastRecoveryTimes; //!< F, increases that only average
        double rateAiBps;           //!< step of additive increase
        double rateHaiBps;          //!< step of hyper increase
        double minimumRateBps;      //!< least rate
        bool clampTargetRate;       //!< a cut always lowers the target too
        double rateOnFirstCnp;      //!< share of the rate after the first CNP
    };

    std::shared_ptr<const Numbers> m_numbers; //!< what all have in common
    double m_minimumRateBps{0.0};             //!< least rate, no higher than the line's

    const RoceSender* m_sender{nullptr}; //!< the clock for GetAlpha
    double m_lineRateBps{0.0};           //!< rate of the line
    double m_rateBps{0.0};               //!< R_C
    double m_targetBps{0.0};             //!< R_T
    RoceRateOnLine m_onLine;             //!< the rate, where lines change
    RoceRateOnLine m_targetOnLine;       //!< the same, of the target
    double m_alpha{1.0};                 //!< alpha at m_alphaPs
    int64_t m_alphaPs{0};                //!< time of alpha's last update
    int64_t m_firstCnpPs{-1};            //!< when the clocks started, below 0: not yet
    bool m_cnpForAlpha{false};           //!< a CNP came since alpha's last update
    bool m_cutPending{false};            //!< a CNP came since the last beat of the decrease clock
    bool m_increasing{false};            //!< below line rate after a cut
    uint32_t m_timerStage{0};            //!< increases by timer since the last cut
    uint32_t m_byteStage{0};             //!< increases by byte counter since the last cut
    uint64_t m_countedBytes{0};          //!< bytes sent since the last of these
};

} // namespace ns3
