// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "analytical-network.h"
#include "message-transport.h"

namespace ns3
{

/**
 * Messages that never meet: each takes the latency of its links plus its size over the bandwidth,
 * whatever else is sent (ASTRA-sim's congestion-unaware network). The memory of the NPU may be
 * slower than the network; the longer counts.
 *
 * By default a message pays for every dimension in which its ends differ. ASTRA-sim 1.0 charges the
 * highest of them only, ASTRA-sim 2 the lowest, and both truncate the sum to whole nanoseconds
 * after each addend; three options do that.
 */
class FormulaMessageTransport : public MessageTransport
{
  public:
    /// What is done as ASTRA-sim 1.0 does it.
    struct Options
    {
        bool highestDimensionOnly{
            false}; //!< charge only the highest dimension in which the ends differ
        bool lowestDimensionOnly{
            false};           //!< charge only the lowest dimension in which the ends differ
        bool truncate{false}; //!< whole nanoseconds after each addend
        uint64_t rendezvousBytes{
            0}; //!< the receiver's request that each message waits for; 0: none
    };

    /**
     * \param grid the NPUs
     * \param options departures from the default
     * \param listener who is told of arrivals
     */
    FormulaMessageTransport(const AnalyticalGrid& grid,
                            const Options& options,
                            MessageListener& listener);
    void Send(const CollectiveMessage& message) override;
    /// \return time a message of so many bytes takes between two NPUs
    double DelayPs(uint32_t sender, uint32_t receiver, uint64_t bytes) const;

  private:
    /// \return time in one dimension, in nanoseconds
    double DimensionNs(uint32_t dimension, uint32_t from, uint32_t to, uint64_t bytes) const;
    /// \return time between an NPU and its switch, in nanoseconds \param up to the switch
    double HalfNs(uint64_t bytes, bool up) const;
    /// \return time of bytes in a dimension, in nanoseconds \param latencyNs of links
    /// \param nicsNs of NICs \param routerNs of a switch
    double SumNs(const AnalyticalDimension& dimension,
                 uint64_t bytes,
                 double latencyNs,
                 double nicsNs,
                 double routerNs) const;

    const AnalyticalGrid& m_grid; //!< the NPUs
    Options m_options;            //!< departures from the default
    MessageListener& m_listener;  //!< who is told
};

} // namespace ns3
