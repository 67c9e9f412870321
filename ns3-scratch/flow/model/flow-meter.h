// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// Tells the ports of some links what crosses them: bytes of each interval, at its beginning or
/// where it goes on within one. All links are told of an interval before any is told of the next.
class FlowMeter
{
  public:
    /// \param intervalPs the interval
    explicit FlowMeter(int64_t intervalPs);

    /// \param port of the next link, or none if nobody wants to know
    void AddLink(FabricPort* port);

    /// \return whether anybody wants to know of any link
    bool IsUsed() const
    {
        return m_used;
    }

    /// \param link a link \param more bytes per picosecond that it carries from now on
    /// \param nowPs the time
    void Change(uint32_t link, double more, int64_t nowPs)
    {
        if (m_links[link].port)
        {
            Pass(nowPs);
            Tell(m_links[link], nowPs);
            m_links[link].load += more;
        }
    }

    /// \param nowPs the time until which all is told
    void Flush(int64_t nowPs)
    {
        if (m_used)
        {
            Pass(nowPs);
            TellAll(nowPs);
        }
    }

  private:
    /// What a link carries.
    struct Link
    {
        FabricPort* port{nullptr}; //!< who is told, or none
        double load{0.0};          //!< bytes per picosecond
        double rest{0.0};          //!< of a byte, what was not told
        int64_t toldPs{0};         //!< until when all was told
    };

    /// Tell what a link has carried.
    void Tell(Link& link, int64_t nowPs) const;
    /// Tell what each link has carried.
    void TellAll(int64_t nowPs);
    /// Tell of the intervals that have ended by `nowPs`, one after the other.
    void Pass(int64_t nowPs);

    int64_t m_intervalPs;      //!< the interval
    int64_t m_passedPs{0};     //!< end of the last interval of which all links were told
    bool m_used{false};        //!< a link has a port
    std::vector<Link> m_links; //!< by number
};

} // namespace ns3
