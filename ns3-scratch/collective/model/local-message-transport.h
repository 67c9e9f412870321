// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "message-transport.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * Messages between NPUs of one host, which do not enter the fabric: each NPU sends one at a time at
 * a given rate, and a message arrives a given delay after its last byte has left. No headers, no
 * loss, no contention at the receiver.
 */
class LocalMessageTransport : public MessageTransport
{
  public:
    /**
     * \param npus number of NPUs
     * \param rateBps rate of an NPU's sending side in bits per second
     * \param delayPs delay in picoseconds
     * \param listener who is told of arrivals
     */
    LocalMessageTransport(uint32_t npus,
                          uint64_t rateBps,
                          int64_t delayPs,
                          MessageListener& listener);
    void Send(const CollectiveMessage& message) override;

  private:
    /// \param message one that has arrived \param linePs how long its sender was busy with it
    void Arrive(const CollectiveMessage& message, int64_t linePs);

    std::vector<int64_t> m_freePs; //!< when each NPU can send its next message
    uint64_t m_rateBps;            //!< rate
    int64_t m_delayPs;             //!< delay
    MessageListener& m_listener;   //!< who is told
};

} // namespace ns3
