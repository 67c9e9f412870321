// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-slabs.h"
#include "roce-queue-receiver.h"
#include "roce-queue-sender.h"

#include <atomic>
#include <cstdint>

namespace ns3
{

/// What a queue pair has while something of it is under way, and gives back afterwards. The halves
/// share no state, and may be played by different threads at the same time.
class RoceQueueHalves final : public FabricInSlabs<RoceQueueHalves>
{
  public:
    /// \param pair the queue pair they belong to \param context what all share
    RoceQueueHalves(RoceQueuePair& pair, RoceContext& context)
        : m_sender(pair, context),
          m_receiver(pair, context)
    {
    }

    /// \return the sending half
    RoceQueueSender& GetSender()
    {
        return m_sender;
    }

    /// \return the receiving half
    RoceQueueReceiver& GetReceiver()
    {
        return m_receiver;
    }

    /// \return frames in the network
    uint64_t GetFrames() const
    {
        return m_sent.load(std::memory_order_relaxed) + m_answered.load(std::memory_order_relaxed);
    }

    /// The sender has put frames into the network. \param frames how many; -1: one came out there
    void CountAtSender(int64_t frames)
    {
        Add(m_sent, frames);
    }

    /// The same of the receiver.
    void CountAtReceiver(int64_t frames)
    {
        Add(m_answered, frames);
    }

    /// \return numbers that say which packets carry telemetry
    FabricDraws& GetSamples()
    {
        return m_samples;
    }

  private:
    /// Change a number that one thread changes at a time. \param more what to add
    static void Add(std::atomic<uint64_t>& number, int64_t more)
    {
        number.store(number.load(std::memory_order_relaxed) + static_cast<uint64_t>(more),
                     std::memory_order_relaxed);
    }

    RoceQueueSender m_sender;            //!< sending half
    FabricDraws m_samples;               //!< draw which packets carry telemetry
    std::atomic<uint64_t> m_sent{0};     //!< frames in the network, as far as the sender knows
    std::atomic<uint64_t> m_answered{0}; //!< the same of the receiver; the sum is right
    RoceQueueReceiver m_receiver;        //!< receiving half
};

} // namespace ns3
