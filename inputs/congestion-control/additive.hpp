// SPDX-License-Identifier: GPL-2.0-only
// A congestion control of one's own: additive increase, multiplicative decrease on ECN marks.
//
//     astra-ns3 run ... --congestion-control inputs/congestion-control/additive.hpp:AdditiveControl
//
// Once a round trip the rate is multiplied by `factor` if an acknowledged packet had a mark, else
// `step` is added. additive.py is the same in Python.
#pragma once

#include "roce-congestion-control.h"

#include <algorithm>

class AdditiveControl : public ns3::RoceCongestionControl
{
  public:
    /// \param parameters step (1 Gb/s), factor (0.8), minimum_rate (100 Mb/s)
    explicit AdditiveControl(const ns3::RoceControlParameters& parameters)
        : m_stepBps(parameters.Get("step", 1e9)),
          m_factor(parameters.Get("factor", 0.8)),
          m_minimumRateBps(parameters.Get("minimum_rate", 100e6))
    {
    }

    void Start(ns3::RoceSender& sender) override
    {
        m_roundTripEnd = sender.GetSentBytes();
    }

    void AckReceived(ns3::RoceSender& sender, const ns3::RoceAck& ack) override
    {
        m_marked = m_marked || ack.marked;
        if (ack.acknowledgedBytes <= m_roundTripEnd)
        {
            return;
        }
        const double rateBps = sender.GetRateBps();
        const double wantedBps = m_marked ? rateBps * m_factor : rateBps + m_stepBps;
        sender.SetRateBps(std::max(m_minimumRateBps, wantedBps));
        m_roundTripEnd = sender.GetSentBytes();
        m_marked = false;
    }

  private:
    double m_stepBps;           // added once a round trip
    double m_factor;            // what is left of the rate after a mark
    double m_minimumRateBps;    // least rate
    uint64_t m_roundTripEnd{0}; // stream position whose acknowledgement ends the round trip
    bool m_marked{false};       // a mark came in this round trip
};
