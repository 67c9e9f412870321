// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * Numbers of the receivers of each sender: 0 for the first that is asked for, 1 for the next. A
 * table for each sender, which one thread may use while another uses those of other senders; open
 * addressing: whoever sends to all others in turn stays in one small piece of memory, and whoever
 * sends to one has a table of a few bytes.
 */
class RocePairTable
{
  public:
    /// \param senders how many NPUs there are
    explicit RocePairTable(std::size_t senders);

    /// \param sender an NPU \param receiver another \return its number among the
    /// receivers of that sender, a new one if it is asked for for the first time
    uint32_t NumberOf(uint32_t sender, uint32_t receiver);

  private:
    static constexpr uint32_t NONE = ~uint32_t{0}; //!< number of no receiver

    /// A place for a pair.
    struct Place
    {
        uint32_t receiver{0};  //!< of the pair
        uint32_t number{NONE}; //!< its number, or NONE
    };

    /// The pairs of one sender.
    struct Receivers
    {
        std::vector<Place> places; //!< a power of two, or none
        uint32_t used{0};          //!< of them
    };

    /// \param places where to look; one at least is free \param receiver of a pair
    /// \return the place that the pair has, or the free one that it gets
    static Place& Find(std::vector<Place>& places, uint32_t receiver);
    /// Double the places of a sender.
    static void Grow(Receivers& receivers);

    std::vector<Receivers> m_receivers; //!< by sender
};

} // namespace ns3
