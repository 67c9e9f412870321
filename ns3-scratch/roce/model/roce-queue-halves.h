// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-slabs.h"
#include "roce-queue-receiver.h"
#include "roce-queue-sender.h"

#include <cstdint>

namespace ns3
{

/// What a queue pair has while something of it is under way, and gives back afterwards. The halves
/// share no state.
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
        return m_frames;
    }

    /// A frame goes into the network.
    void AddFrame()
    {
        m_frames++;
    }

    /// A frame has come out of it.
    void DropFrame()
    {
        m_frames--;
    }

    /// \return numbers that say which packets carry telemetry
    FabricDraws& GetSamples()
    {
        return m_samples;
    }

  private:
    RoceQueueSender m_sender;     //!< sending half
    RoceQueueReceiver m_receiver; //!< receiving half
    uint64_t m_frames{0};         //!< frames in the network
    FabricDraws m_samples;        //!< draw which packets carry telemetry
};

} // namespace ns3
