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

class TellingDelay;

/**
 * Records what queue pairs do. Without an interval every change is a row; with one, the rows are
 * what a sampler at the multiples of the interval would have seen, where it differs from the row
 * before. No event is used.
 * Rows are in the order in which things happen; what was sent again is told late.
 */
class QueuePairProbe : public ns3::RoceObserver
{
  public:
    /**
     * \param table where the rows go
     * \param quantities sum of QueuePairQuantity
     * \param intervalPs interval of samples, or 0
     * \param delay with which packets are told
     */
    QueuePairProbe(PairTable& table,
                   uint32_t quantities,
                   int64_t intervalPs,
                   const TellingDelay& delay);

    void ControlChanged(const ns3::RoceQueuePair& pair) override;
    void Retransmitted(const ns3::RoceQueuePair& pair, uint32_t bytes, int64_t timePs) override;
    void Notified(const ns3::RoceQueuePair& pair) override;
    /// Report the samples up to `nowPs`, when all ports have told what they sent by then.
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

    /// Where a row is among the others: rows of a moment as they are told, then what was sent
    /// again, by queue pair.
    struct Order
    {
        int64_t toldPs;   //!< when it was told, or when the packet left
        bool isSentAgain; //!< a packet's
        Name name;        //!< of a packet that was sent again; others have none

        auto operator<=>(const Order&) const = default;
    };

    /// \return the name of a queue pair
    static Name NameOf(const ns3::RoceQueuePair& pair);
    /// Keep a row that is told now.
    void Append(const Name& name, uint32_t quantity, int64_t value, int64_t timePs);
    /// Keep a row until none can come before it.
    void Keep(const Order& order, const PairRow& row);
    /// Write the rows that were told before `beforePs`.
    void Write(int64_t beforePs);

    /// Note a value.
    void Note(const Name& name, Series& series, uint32_t quantity, int64_t value, int64_t nowPs);
    /// Write the sample that is due by `nowPs`, if it is new.
    void Sample(const Name& name, Series& series, uint32_t quantity, int64_t nowPs);

    PairTable& m_table;                                   //!< where the rows go
    const TellingDelay& m_delay;                          //!< with which packets are told
    uint32_t m_quantities;                                //!< what to record
    int64_t m_intervalPs;                                 //!< interval, or 0
    std::map<Name, std::array<Series, SAMPLED>> m_series; //!< by queue pair
    std::multimap<Order, PairRow> m_kept;                 //!< rows that others may precede
};

} // namespace astra_ns3
