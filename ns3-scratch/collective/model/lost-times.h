// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace ns3
{

/// When a sender was held by what was lost: times apart from each other, in order, in picoseconds.
class LostTimes
{
  public:
    /// \param fromPs begin of another one, not before the last one's end \param toPs its end
    void Add(int64_t fromPs, int64_t toPs)
    {
        if (fromPs >= toPs)
        {
            return;
        }
        if (!m_times.empty() && m_times.back().toPs == fromPs)
        {
            m_times.back().toPs = toPs;
            return;
        }
        m_times.push_back({fromPs, toPs});
    }

    /// The last one ended earlier. \param nowPs then
    void EndAt(int64_t nowPs)
    {
        while (!m_times.empty() && m_times.back().fromPs >= nowPs)
        {
            m_times.pop_back();
        }
        if (!m_times.empty())
        {
            m_times.back().toPs = std::min(m_times.back().toPs, nowPs);
        }
    }

    /// Forget those before a time. \param fromPs nobody asks about what was before
    void DropBefore(int64_t fromPs)
    {
        while (!m_times.empty() && m_times.front().toPs <= fromPs)
        {
            m_times.pop_front();
        }
    }

    /// \param fromPs begin \param toPs end \return how long it was held between
    int64_t GetPs(int64_t fromPs, int64_t toPs) const
    {
        int64_t sumPs = 0;
        for (const Time& time : m_times)
        {
            sumPs +=
                std::max<int64_t>(0, std::min(toPs, time.toPs) - std::max(fromPs, time.fromPs));
        }
        return sumPs;
    }

  private:
    /// One of them.
    struct Time
    {
        int64_t fromPs; //!< its begin
        int64_t toPs;   //!< its end
    };

    std::deque<Time> m_times; //!< in order
};

} // namespace ns3
