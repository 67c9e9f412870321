// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace ns3
{

/// The path of a queue pair as its sender needs it.
struct RocePathNumbers
{
    int64_t baseRoundTripPs{0};      //!< of a full packet and its acknowledgement, idle network
    uint64_t bandwidthDelayBytes{0}; //!< window that keeps the slowest line busy
    uint32_t switches{0};            //!< switches on the path
    uint64_t lowestRateBps{0};       //!< rate of the slowest line

    bool operator==(const RocePathNumbers&) const = default;
};

/// What a queue pair knows of its way, which it has in common with many others.
struct RoceWay
{
    RocePathNumbers path;    //!< its path
    uint64_t lineRateBps{0}; //!< rate of the line where its packets leave

    bool operator==(const RoceWay&) const = default;
};

/// Each way once, by number, and where it stays. A network of a thousand hosts has a million pairs
/// and few ways. Any thread may call it.
class RoceWays
{
  public:
    /// \param way a way \return its number
    uint32_t NumberOf(const RoceWay& way);

    /// \param number of a way \return the way
    const RoceWay& Get(uint32_t number) const
    {
        const std::lock_guard<std::mutex> lock(*m_mutex);
        return m_ways[number];
    }

  private:
    /// A number for unordered_map.
    struct Hash
    {
        /// \param way a way \return a number that two ways rarely have in common
        std::size_t operator()(const RoceWay& way) const;
    };

    std::unique_ptr<std::mutex> m_mutex{std::make_unique<std::mutex>()}; //!< guards the others
    std::deque<RoceWay> m_ways;                                          //!< by number
    std::unordered_map<RoceWay, uint32_t, Hash> m_numbers;               //!< the other way round
    uint32_t m_last{0};                                                  //!< asked for last
};

} // namespace ns3
