// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "record-rows.h"
#include "roce-context.h"

#include <array>
#include <compare>
#include <cstdint>
#include <map>

namespace astra_ns3
{

/**
 * Records what queue pairs do. Without an interval every change is a row; with one, the rows are
 * what a sampler at the multiples of the interval would have seen, where it differs from the row
 * before. No event is used.
 */
class QueuePairProbe : public ns3::RoceObserver
{
  public:
    /**
     * \param table where the rows go
     * \param quantities sum of QueuePairQuantity
     * \param intervalPs interval of samples, or 0
     */
    QueuePairProbe(PairTable& table, uint32_t quantities, int64_t intervalPs);

    void ControlChanged(const ns3::RoceQueuePair& pair) override;
    void Retransmitted(const ns3::RoceQueuePair& pair, uint32_t bytes, int64_t timePs) override;
    void Notified(const ns3::RoceQueuePair& pair) override;
    /// Report the samples up to `nowPs`.
    void Flush(int64_t nowPs);

  private:
    static constexpr std::size_t SAMPLED = 3; //!< rate, window, alpha

    /// One quantity of one queue pair.
    struct Series
    {
        int64_t changedPs{0}; //!< time of the last change
        int64_t value{-1};    //!< value since then
        int64_t reported{-1}; //!< value in the last row
    };

    /// Which queue pair.
    struct Name
    {
        int64_t sender;   //!< NPU that sends
        int64_t receiver; //!< NPU that receives
        int64_t number;   //!< among those of the two

        auto operator<=>(const Name&) const = default;
    };

    /// \return the name of a queue pair
    static Name NameOf(const ns3::RoceQueuePair& pair);
    /// Write a row.
    void Append(const Name& name, uint32_t quantity, int64_t value, int64_t timePs);

    /// Note a value.
    void Note(const Name& name, Series& series, uint32_t quantity, int64_t value, int64_t nowPs);
    /// Write the sample that is due by `nowPs`, if it is new.
    void Sample(const Name& name, Series& series, uint32_t quantity, int64_t nowPs);

    PairTable& m_table;                                   //!< where the rows go
    uint32_t m_quantities;                                //!< what to record
    int64_t m_intervalPs;                                 //!< interval, or 0
    std::map<Name, std::array<Series, SAMPLED>> m_series; //!< by queue pair
};

} // namespace astra_ns3
