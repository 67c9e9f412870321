// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ns3
{

/// How a sender takes up a higher rate: what it sends less than this rate shrinks evenly.
struct FlowRise
{
    double perPs{0.0};  //!< bytes per picosecond that it sends more in each picosecond
    double endPs{-1.0}; //!< when it has reached the rate

    /// \param nowPs the time \return bytes per picosecond below the rate
    double Lag(double nowPs) const
    {
        return perPs * std::max(endPs - nowPs, 0.0);
    }

    /// \param nowPs the time \return bytes that are not sent from then on
    double Missed(double nowPs) const
    {
        return Lag(nowPs) * std::max(endPs - nowPs, 0.0) / 2.0;
    }

    /// \param bytes to send from now on \param rate to reach \param nowPs the time \return how long
    /// they take
    double SendPs(double bytes, double rate, double nowPs) const
    {
        const double risen = (bytes + Missed(nowPs)) / rate;
        if (nowPs + risen >= endPs)
        {
            return risen;
        }
        const double begins = rate - Lag(nowPs);
        return 2.0 * bytes / (begins + std::sqrt(begins * begins + 2.0 * perPs * bytes));
    }
};

} // namespace ns3
