// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace ns3
{

/// When flows end, the next one first; of those that end together the one that began first. A heap
/// that knows where each flow is, so that its time can be moved.
class FlowAgenda
{
  public:
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max(); //!< no time

    /// \param flow a flow that is not on the agenda \param order when it began, among all
    /// \param timePs when it ends
    void Add(uint32_t flow, uint64_t order, int64_t timePs);
    /// \param flow one that is on it \param timePs when it ends now
    void Move(uint32_t flow, int64_t timePs);
    /// \return the time of the next one, or NEVER
    int64_t GetNextPs() const;
    /// \return the flow that ends next, taken out; there must be one
    uint32_t Pop();

  private:
    /// A flow with its time.
    struct Entry
    {
        int64_t timePs; //!< when it ends
        uint64_t order; //!< when it began, among all
        uint32_t flow;  //!< its number

        /// \return whether it comes before another
        bool operator<(const Entry& other) const
        {
            return timePs != other.timePs ? timePs < other.timePs : order < other.order;
        }
    };

    /// Put an entry that may be too far back where it belongs.
    void Rise(uint32_t place, const Entry& entry);
    /// Put an entry that may be too far in front where it belongs.
    void Sink(uint32_t place, const Entry& entry);

    std::vector<Entry> m_heap;     //!< four below each
    std::vector<uint32_t> m_place; //!< of each flow in it
};

} // namespace ns3
