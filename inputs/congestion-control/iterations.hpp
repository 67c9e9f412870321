// SPDX-License-Identifier: GPL-2.0-only
// A congestion control that sees the iterations of a training job: the more of an iteration's bytes
// it has sent, the faster its rate grows. So jobs that share a line come to send one after the
// other.
//
//     astra-ns3 run --scenario inputs/scenarios/interleaving.yaml
//         --congestion-control inputs/congestion-control/iterations.hpp:IterationControl
//
// additive.hpp with another step: `step` x (`slope` x share + `intercept`). The share is the part
// of an iteration's bytes that has been sent. An iteration begins with the first packet after a
// pause of `pause`. Its bytes are taken to be those of the iteration before. Source: S. Rajasekaran
// et al., "MLTCP: A Distributed Technique to Approximate Centralized Flow Scheduling For Machine
// Learning", arXiv:2402.09589. Slope and intercept are recalled, not looked up.
#pragma once

#include "roce-congestion-control.h"

#include <algorithm>

class IterationControl : public ns3::RoceCongestionControl
{
  public:
    /// \param parameters step (1 Gb/s), factor (0.8), minimum_rate (100 Mb/s), slope (1.75),
    /// intercept (0.25), pause (50 us)
    explicit IterationControl(const ns3::RoceControlParameters& parameters)
        : m_stepBps(parameters.Get("step", 1e9)),
          m_factor(parameters.Get("factor", 0.8)),
          m_minimumRateBps(parameters.Get("minimum_rate", 100e6)),
          m_slope(parameters.Get("slope", 1.75)),
          m_intercept(parameters.Get("intercept", 0.25)),
          m_pausePs(parameters.Get("pause", 50e6))
    {
    }

    void Start(ns3::RoceSender& sender) override
    {
        m_roundTripEnd = sender.GetSentBytes();
        m_begin = m_roundTripEnd;
    }

    void PacketSent(ns3::RoceSender& sender, uint32_t) override
    {
        const int64_t nowPs = sender.GetNowPs();
        if (m_lastPs >= 0 && static_cast<double>(nowPs - m_lastPs) > m_pausePs)
        {
            m_iterationBytes = sender.GetSentBytes() - m_begin;
            m_begin = sender.GetSentBytes();
        }
        m_lastPs = nowPs;
    }

    void AckReceived(ns3::RoceSender& sender, const ns3::RoceAck& ack) override
    {
        m_marked = m_marked || ack.marked;
        if (ack.acknowledgedBytes <= m_roundTripEnd)
        {
            return;
        }
        const double sent = static_cast<double>(sender.GetSentBytes() - m_begin);
        const double share =
            m_iterationBytes ? std::min(1.0, sent / static_cast<double>(m_iterationBytes)) : 0.0;
        const double stepBps = m_stepBps * (m_slope * share + m_intercept);
        const double rateBps = sender.GetRateBps();
        const double wantedBps = m_marked ? rateBps * m_factor : rateBps + stepBps;
        sender.SetRateBps(std::max(m_minimumRateBps, wantedBps));
        m_roundTripEnd = sender.GetSentBytes();
        m_marked = false;
    }

  private:
    double m_stepBps;             // added once a round trip, before it is multiplied
    double m_factor;              // what is left of the rate after a mark
    double m_minimumRateBps;      // least rate
    double m_slope;               // how much the share counts
    double m_intercept;           // what counts without it
    double m_pausePs;             // a longer pause ends an iteration
    int64_t m_lastPs{-1};         // when the last packet was sent
    uint64_t m_begin{0};          // stream position at which the iteration began
    uint64_t m_iterationBytes{0}; // of the iteration before; 0: none has ended
    uint64_t m_roundTripEnd{0};   // stream position whose acknowledgement ends the round trip
    bool m_marked{false};         // a mark came in this round trip
};
