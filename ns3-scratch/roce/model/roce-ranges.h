// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

/// Ranges of stream positions that do not touch, in ascending order: what has arrived out of order.
class RoceRanges
{
  public:
    /// \param begin first position \param end position behind the last, above begin
    void Insert(uint64_t begin, uint64_t end);
    /// \param position forget everything below it
    void DropBelow(uint64_t position);
    /// \param position a position \return the end of the range that has it, or the position itself
    uint64_t EndOf(uint64_t position) const;

    /// \return position behind the highest range, or 0
    uint64_t GetHighest() const
    {
        return m_ranges.empty() ? 0 : m_ranges.back().end;
    }

    /// \return whether there is none
    bool IsEmpty() const
    {
        return m_ranges.empty();
    }

    /// Forget everything.
    void Clear()
    {
        m_ranges.clear();
    }

  private:
    /// Positions from begin to before end.
    struct Range
    {
        uint64_t begin; //!< first
        uint64_t end;   //!< behind the last
    };

    std::vector<Range> m_ranges; //!< the ranges
};

} // namespace ns3
