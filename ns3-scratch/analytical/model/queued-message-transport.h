// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "analytical-network.h"
#include "message-transport.h"

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace ns3
{

/**
 * Messages that share links: each link direction sends one whole message at a time, first come
 * first served, and passes it on when its last byte has arrived (ASTRA-sim's congestion-aware
 * network). NPUs may share a port to a switch: a message takes the line of it that is free first.
 * A message crosses the dimensions in which its ends differ one after the other, the
 * innermost first; on a ring it goes the shorter way round, clockwise if equal.
 */
class QueuedMessageTransport : public MessageTransport
{
  public:
    /**
     * \param grid the NPUs
     * \param truncate whether links are busy, and messages on them, for whole nanoseconds
     * \param listener who is told of arrivals
     */
    QueuedMessageTransport(const AnalyticalGrid& grid, bool truncate, MessageListener& listener);
    void Send(const CollectiveMessage& message) override;

  private:
    /// A message on its way.
    struct Journey
    {
        CollectiveMessage message; //!< the message
        uint32_t npu{0};           //!< NPU it has reached, or that its switch belongs to
        uint32_t dimension{0};     //!< dimension it crosses now
        bool atSwitch{false};      //!< it is at the switch of that dimension
    };

    /// One direction of a link.
    struct Link
    {
        int64_t freePs{0}; //!< when it can send the next message
    };

    /// Names a link: where it begins, in which dimension, and which way it goes.
    using LinkKey = uint64_t;

    /// \return the key of a link that begins at an NPU (or, downwards, ends there)
    static LinkKey MakeKey(uint32_t npu, uint32_t dimension, uint32_t way);
    /// \return the key of the line that is free first of those that an NPU has to a switch, up or
    /// down
    LinkKey FreeFirst(uint32_t npu, uint32_t dimension, uint32_t way);
    /// The message is at an NPU or a switch: let it take its next link, or arrive.
    void Continue(uint32_t journey);
    /// Send it over a link.
    void Cross(uint32_t journey,
               LinkKey link,
               const AnalyticalDimension& dimension,
               double latencyNs);
    /// \return a time in nanoseconds, without its fraction if that is asked for
    double WholeNs(double ns) const;
    /// Send it over the one link between an NPU and its switch, which is the message's other end.
    void CrossHalf(uint32_t journey);
    /// Take the next link of the dimension it is to cross.
    void TakeLink(uint32_t journey);

    const AnalyticalGrid& m_grid;              //!< the NPUs
    bool m_truncate;                           //!< whole nanoseconds
    MessageListener& m_listener;               //!< who is told
    std::unordered_map<LinkKey, Link> m_links; //!< links used so far
    std::deque<Journey> m_journeys;            //!< messages on their way, and free places
    std::vector<uint32_t> m_free;              //!< free places
};

} // namespace ns3
