// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"
#include "roce-context.h"
#include "roce-message.h"
#include "roce-ranges.h"

#include <cstdint>
#include <memory>

namespace ns3
{

class RoceQueuePair;

/// The receiving half of a queue pair: puts the stream in order, tells of messages that are
/// complete, acknowledges, and notifies of marks.
class RoceQueueReceiver
{
  public:
    /// \param pair the queue pair it belongs to \param context what all share
    RoceQueueReceiver(RoceQueuePair& pair, RoceContext& context);

    /// Begin, as if newly made. \param position of the next byte \param message that has it, or
    /// after which it comes
    void Open(uint64_t position, RoceMessage* message);

    /// \return whether one that begins at this position would do the same. \param nowPs the time
    bool MayRest(int64_t nowPs) const
    {
        return m_nextCnpPs <= nowPs && (!m_gap || m_gap->early.IsEmpty());
    }

    /// \param frame a data packet; it is owned from here on
    void ReceiveData(FabricFrame* frame);

  private:
    /// Data has come of what is behind all that had come: of the next message, if one is complete.
    void GoOn();
    /// Count the packet if one of the queue pair that was sent after it came before it.
    void CountOrder(const FabricFrame& frame);
    /// The next packet in order has come. \param trail where it has been, if accounts are kept
    void TakeInOrder(FabricFrame* frame, const FabricTrail* trail);
    /// A packet has come whose predecessor is missing.
    void TakeOutOfOrder(FabricFrame* frame);
    /// Go back 0: throw away what has come of the message, or of its last part.
    void StartOver();
    /// Send a congestion notification if the last is old enough.
    void Notify(const FabricFrame& frame);
    /// Turn a data packet into its answer and send it. \param kind ROCE_ACK or ROCE_NACK
    void Answer(FabricFrame* frame, uint8_t kind);

    /// What is known of missing packets.
    struct Gap
    {
        uint64_t reported{~uint64_t{0}}; //!< position of the gap reported last
        int64_t reportedPs{0};           //!< when
        RoceRanges early;                //!< selective repeat: arrived out of order
    };

    RoceQueuePair& m_pair;           //!< owner
    RoceContext& m_context;          //!< what all share
    uint64_t m_expected{0};          //!< everything below has arrived
    uint32_t m_unanswered{0};        //!< packets since the last acknowledgement
    bool m_marked{false};            //!< one of them was marked
    int64_t m_nextCnpPs{0};          //!< earliest time of the next notification
    int64_t m_latestSentPs{0};       //!< when that packet left that left last, of all here
    RoceMessage* m_message{nullptr}; //!< message that has the next byte, or the last one
    std::unique_ptr<Gap> m_gap;      //!< since a packet came whose predecessor was missing
};

} // namespace ns3
