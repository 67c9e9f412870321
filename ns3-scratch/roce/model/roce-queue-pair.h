// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-draws.h"
#include "fabric-frame.h"
#include "fabric-slabs.h"
#include "roce-context.h"
#include "roce-message.h"
#include "roce-nic-port.h"
#include "roce-queue-halves.h"

#include <cstdint>
#include <memory>

namespace ns3
{

/// Where a queue pair is.
struct RoceAddress
{
    uint32_t senderNpu{0};             //!< NPU that sends
    uint32_t receiverNpu{0};           //!< NPU that receives
    uint32_t senderHost{0};            //!< its host
    uint32_t receiverHost{0};          //!< its host
    uint32_t dataHash{0};              //!< picks the path of data
    uint32_t answerHash{0};            //!< picks the path of answers
    RoceNicPort* senderPort{nullptr};  //!< where data leaves
    FabricPort* receiverPort{nullptr}; //!< where answers leave
    uint32_t number{0};                //!< among the lasting queue pairs of these two
    uint32_t priority{CollectiveMessage::OF_TRANSPORT}; //!< of its data
};

/**
 * A one-way RoCE queue pair between two NPUs (reliable connection, as RDMA writes use it). Both
 * halves are here, since a simulation needs no memory of its own on either side, but each touches
 * only its own state, and may be played by another thread than the other (RoceMessageList says how
 * both read the messages).
 *
 * A run may have a million of them of which few do anything at a time. So a queue pair is a small
 * record, and has halves only while something is under way: from its first packet on until all is
 * acknowledged, no frame is left in the network and no timer runs. It keeps them if its congestion
 * control has learnt anything, or if somebody watches.
 */
class RoceQueuePair final : public FabricFlow, public FabricInSlabs<RoceQueuePair>
{
  public:
    /// \param context what all share
    explicit RoceQueuePair(RoceContext& context);

    /// Begin, as if newly made. \param address where it is \param path the way of its data
    void Open(const RoceAddress& address, const RocePathNumbers& path);
    /// Go on over other ports or another path. \param address with other ports, if any
    void Move(const RoceAddress& address, const RocePathNumbers& path);
    /// End; only while it is idle.
    void Close();
    /// \param message a message to carry from now on
    void Post(const CollectiveMessage& message);

    void ReceiveFrame(FabricFrame* frame) override;
    void FrameLost(FabricFrame* frame) override;
    void TurnsEnded() override;
    Ptr<Packet> MakePacket(const FabricFrame& frame) const override;
    bool HasData(const FabricFrame& frame) const override;

    /// \return where it is
    const RoceAddress& GetAddress() const
    {
        return m_address;
    }

    /// \return whether it has nothing under way and so no halves
    bool IsAtRest() const
    {
        return !m_halves;
    }

    /// \return its sender, unless it is at rest
    const RoceQueueSender& GetSender() const
    {
        return m_halves->GetSender();
    }

    /// \return its sender, unless it is at rest
    RoceQueueSender& GetSender()
    {
        return m_halves->GetSender();
    }

    /// \return the messages that are not both delivered and acknowledged
    const RoceMessageList& GetMessages() const
    {
        return m_messages;
    }

    /// \return its frames that are in the network
    uint64_t GetFrames() const
    {
        return m_halves ? m_halves->GetFrames() : 0;
    }

    // For its port:

    /// \return when it was opened
    int64_t GetOpenedPs() const
    {
        return m_openedPs;
    }

    /// \return its place among the queue pairs of its port
    RoceTurn& GetTurn()
    {
        return m_turn;
    }

    /// \return place among those that its port watches for timeouts, or RoceNicPort::NOT_WATCHED
    uint32_t& GetWatchPlace()
    {
        return m_watchPlace;
    }

    /// \return priority of its packets
    uint8_t GetPriority() const
    {
        const bool hasOwn = m_address.priority != CollectiveMessage::OF_TRANSPORT;
        return static_cast<uint8_t>(hasOwn ? m_address.priority : m_context.parameters.priority);
    }

    /// \return whether a packet is not acknowledged
    bool HasUnacknowledged() const
    {
        return m_halves && m_halves->GetSender().HasUnacknowledged();
    }

    /// \return when it last made progress, or began to have unacknowledged data
    int64_t GetProgressPs() const
    {
        return m_progressPs;
    }

    /// \param startPs when its first bit goes on the line \return the next packet
    FabricFrame* MakeNextFrame(int64_t startPs);

    // For its halves:

    /// \param timePs it makes progress
    void SetProgressPs(int64_t timePs)
    {
        m_progressPs = timePs;
    }

    /// \param purpose what for \param openedPs when it was opened \return random numbers of its
    /// own
    FabricDraws MakeDraws(FabricDrawsFor purpose, int64_t openedPs) const;
    /// \return a data packet. \param position of its first byte \param bytes of data \param startPs
    /// when it goes on the line
    FabricFrame* MakeDataFrame(uint64_t position, uint32_t bytes, int64_t startPs);
    /// \param frame a data packet with kind, sequence and echo of its answer
    void SendAnswer(FabricFrame* frame);
    /// Send a congestion notification.
    void SendCnp();
    /// \param frame a frame that needs no answer, at the sender, or that is lost
    void FreeFrame(FabricFrame* frame);
    /// \param frame a frame that needs no answer, at the receiver
    void FreeFrameHere(FabricFrame* frame);
    /// \param message a message that has arrived whole \param trail of the packet that completed
    /// it, if accounts are kept
    void Delivered(RoceMessage& message, const FabricTrail* trail);
    /// \param position everything below it is acknowledged
    void Acknowledged(uint64_t position);
    /// Have data take another of the equal ways, and its answers too.
    void DrawPath();
    /// \param timeouts in a row, too many
    void GiveUp(uint32_t timeouts);

  private:
    /// \return the way of its packets. \param address where it is \param path of its data
    RoceWay WayOf(const RoceAddress& address, const RocePathNumbers& path) const;
    /// Work out where the time of a message went that has arrived. \param trail of the packet that
    /// completed it \param account filled with that
    static void AccountFor(const RoceMessage& message,
                           const FabricTrail& trail,
                           MessageAccount& account);
    /// Tell the owner if there is nothing left to do.
    void CheckIdle();
    /// Get halves.
    void Wake();
    /// Give the halves back if they know nothing that they will need.
    void Rest();
    /// Have no halves from now on.
    void DropHalves();
    /// A message was posted while it is at rest. \param nowPs the time
    void WaitForTurn(int64_t nowPs);
    /// \param message one of its messages \return it as it was handed over
    CollectiveMessage MessageOf(const RoceMessage& message) const;
    /// Fill in what every frame has. \param bufferBytes its size without padding
    void Address(FabricFrame& frame, uint32_t bufferBytes, uint8_t priority);

    RoceContext& m_context;                          //!< what all share
    std::unique_ptr<RoceQueueHalves> m_halves;       //!< none: it is at rest
    RoceMessageList m_messages;                      //!< what it carries
    RoceAddress m_address;                           //!< where it is
    int64_t m_openedPs{0};                           //!< when it was opened
    int64_t m_progressPs{0};                         //!< time of the last progress
    int64_t m_lastStartPs{0};                        //!< at rest: when the last packet began
    uint32_t m_lastWireBytes{0};                     //!< at rest: its bytes on the line
    uint32_t m_way{0};                               //!< number of the way of its data
    RoceTurn m_turn;                                 //!< place among the queue pairs of its port
    uint32_t m_watchPlace{RoceNicPort::NOT_WATCHED}; //!< among those watched for timeouts
};

static_assert(sizeof(RoceQueuePair) <= 128, "there may be a million of them");

} // namespace ns3
