// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace ns3
{

/**
 * When a window lets bytes out onto a path with nothing else on it: a window in each round trip, at
 * the line's rate. One that grows does so by a share of what was acknowledged, as in slow start, or
 * by a step in each round trip, until it holds nothing back.
 */
struct FlowWindow
{
    double mostBytes{0.0};   //!< the largest window
    double growth{0.0};      //!< bytes that it grows by for each acknowledged one
    double stepBytes{0.0};   //!< bytes that it grows by in each round trip
    double line{1.0};        //!< bytes of data in a picosecond
    double roundTripPs{0.0}; //!< of the path

    /// \return whether it grows at all
    bool Grows() const
    {
        return growth > 0.0 || stepBytes > 0.0;
    }

    /// \return the least window that holds nothing back
    double Enough() const
    {
        return line * roundTripPs;
    }

    /// The window that lets a byte out.
    struct Round
    {
        double window; //!< bytes of it
        double bytes;  //!< of these, up to the byte
        double ps;     //!< when the byte has left
    };

    /// \param bytes of data \param window the first, where windows grow \return the last byte's
    Round RoundOf(uint64_t bytes, double window) const
    {
        auto left = static_cast<double>(bytes);
        double ps = 0.0;
        window = Grows() ? window : mostBytes;
        while (Grows() && window < std::min(mostBytes, Enough()) && left > window)
        {
            ps += roundTripPs;
            left -= window;
            window += growth * window + stepBytes;
        }
        window = std::min(window, mostBytes);
        const double windows = std::max(std::floor((left - 1.0) / window), 0.0);
        const double inRound = left - windows * window;
        if (window >= Enough())
        {
            return {window, inRound, ps + left / line};
        }
        return {window, inRound, ps + windows * roundTripPs + inRound / line};
    }

    /// \param bytes of data \param window the first, where windows grow \return when all have left
    double SendPs(uint64_t bytes, double window) const
    {
        return RoundOf(bytes, window).ps;
    }

    /// \param bytes of data \param window the first \param ps a time \return bytes not let out by
    /// then
    uint64_t LeftBytes(uint64_t bytes, double window, double ps) const
    {
        uint64_t out = 0;
        for (uint64_t more = std::bit_floor(bytes); more > 0; more /= 2)
        {
            if (out + more <= bytes && SendPs(out + more, window) <= ps)
            {
                out += more;
            }
        }
        return bytes - out;
    }

    /// \param window that grows \param bytes acknowledged since \return what it has become
    double GrownBytes(double window, uint64_t bytes) const
    {
        if (growth == 0.0)
        {
            return RoundOf(bytes, window).window; // one that isn't used up doesn't grow
        }
        const double more = static_cast<double>(bytes) * (growth + stepBytes / window);
        return std::max(window, std::min({window + more, mostBytes, Enough()}));
    }
};

/// How far a queue pair is that has sent without a pause: what its window has let out since then.
class FlowWindowCourse
{
  public:
    /// All is acknowledged: a window opens. \param window lets bytes out \param firstBytes of a new
    /// queue pair, else below 0 \param nowPs the time
    void Open(const FlowWindow& window, double firstBytes, int64_t nowPs)
    {
        m_growingBytes =
            firstBytes >= 0.0 ? firstBytes : window.GrownBytes(m_growingBytes, m_bytes);
        m_bytes = 0;
        m_sincePs = nowPs;
    }

    /// \param nowPs the time \return whether all is out, and the first of its window acknowledged
    bool IsOver(int64_t nowPs) const
    {
        const FlowWindow::Round last = m_window.RoundOf(m_bytes, m_growingBytes);
        return static_cast<double>(nowPs - m_sincePs) >=
               last.ps - last.bytes / m_window.line + m_window.roundTripPs;
    }

    /// The way changes: the course goes on from what is out, and from its part of a round trip.
    /// \param after what lets bytes out from now on \param bytes left of the last message
    /// \param nowPs the time
    /// \return the same, or, where fewer are out than were sent at a mean rate, those not out
    uint64_t Turn(const FlowWindow& after, uint64_t bytes, int64_t nowPs)
    {
        const auto ps = static_cast<double>(nowPs - m_sincePs);
        const uint64_t left = m_window.LeftBytes(m_bytes, m_growingBytes, ps);
        const FlowWindow::Round last = m_window.RoundOf(m_bytes - left, m_growingBytes);
        const double roundTrips = (ps - last.ps) / std::max(m_window.roundTripPs, 1.0);
        const uint64_t inRound = std::llround(last.bytes);
        m_growingBytes = last.window;
        m_sincePs = nowPs - std::llround(after.SendPs(inRound, m_growingBytes) +
                                         roundTrips * after.roundTripPs);
        bytes = std::max(bytes, left);
        m_bytes = inRound - std::min(inRound, bytes - left);
        return bytes;
    }

    /// \param window lets bytes out \param bytes of data to send next \param nowPs the time
    /// \return until all of them are out
    double SendPs(const FlowWindow& window, uint64_t bytes, int64_t nowPs)
    {
        m_window = window;
        m_bytes += bytes;
        return window.SendPs(m_bytes, m_growingBytes) - static_cast<double>(nowPs - m_sincePs);
    }

  private:
    FlowWindow m_window;        //!< lets bytes out
    uint64_t m_bytes{0};        //!< to send since then
    int64_t m_sincePs{0};       //!< when all was acknowledged
    double m_growingBytes{0.0}; //!< the window then, where windows grow
};

} // namespace ns3
