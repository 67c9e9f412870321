// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace ns3
{

/**
 * When a window lets bytes out onto a path with nothing else on it: a window in each round trip, at
 * the line's rate. One that grows does so by a share of what was acknowledged, as in slow start.
 */
struct FlowWindow
{
    double mostBytes;   //!< the largest window
    double growth;      //!< bytes that it grows by for each acknowledged one; 0: it is the largest
    double line;        //!< bytes of data in a picosecond
    double roundTripPs; //!< of the path

    /// \param bytes of data \param window the first, where windows grow \return when all have left
    double SendPs(uint64_t bytes, double window) const
    {
        auto left = static_cast<double>(bytes);
        double ps = 0.0;
        window = growth > 0.0 ? window : mostBytes;
        const double enough = line * roundTripPs;
        while (window < std::min(mostBytes, enough) && left > window)
        {
            ps += roundTripPs;
            left -= window;
            window += growth * window;
        }
        window = std::min(window, mostBytes);
        if (window >= enough)
        {
            return ps + left / line;
        }
        const double windows = std::floor((left - 1.0) / window);
        return ps + windows * roundTripPs + (left - windows * window) / line;
    }
};

} // namespace ns3
