// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-draws.h"
#include "fabric-frame.h"
#include "fabric-slabs.h"
#include "roce-context.h"
#include "roce-message.h"
#include "roce-queue-receiver.h"
#include "roce-queue-sender.h"

#include <cstdint>

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
};

class RoceQueuePair;

/// Told when a queue pair has nothing left to do.
class RoceQueuePairOwner
{
  public:
    virtual ~RoceQueuePairOwner() = default;
    /// \param pair a queue pair of whose messages all are acknowledged and whose frames have all
    /// come back; it is not used again in this call
    virtual void QueuePairIdle(RoceQueuePair& pair) = 0;
};

/**
 * A one-way RoCE queue pair between two NPUs (reliable connection, as RDMA writes use it). Both
 * halves are here, since a simulation needs no memory of its own on either side, but each touches
 * only its own state and the list of messages.
 */
class RoceQueuePair final : public FabricFlow, public FabricInSlabs<RoceQueuePair>
{
  public:
    /// \param context what all share \param owner told when it is idle
    RoceQueuePair(RoceContext& context, RoceQueuePairOwner& owner);

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
    Ptr<Packet> MakePacket(const FabricFrame& frame) const override;

    /// \return where it is
    const RoceAddress& GetAddress() const
    {
        return m_address;
    }

    /// \return its sender
    const RoceQueueSender& GetSender() const
    {
        return m_sender;
    }

    /// \return the messages that are not both delivered and acknowledged
    const RoceMessageList& GetMessages() const
    {
        return m_messages;
    }

    /// \return its frames that are in the network
    uint64_t GetFrames() const
    {
        return m_frames;
    }

    // For its halves:

    /// \param purpose what for \return random numbers of its own
    FabricDraws MakeDraws(FabricDrawsFor purpose) const;
    /// \return a data packet. \param position of its first byte \param bytes of data \param startPs
    /// when it goes on the line
    FabricFrame* MakeDataFrame(uint64_t position, uint32_t bytes, int64_t startPs);
    /// \param frame a data packet with kind, sequence and echo of its answer
    void SendAnswer(FabricFrame* frame);
    /// Send a congestion notification.
    void SendCnp();
    /// \param frame a frame that needs no answer
    void FreeFrame(FabricFrame* frame);
    /// \param message a message that has arrived whole \param trail of the packet that completed
    /// it, if accounts are kept
    void Delivered(RoceMessage& message, const FabricTrail* trail);
    /// \param position everything below it is acknowledged
    void Acknowledged(uint64_t position);
    /// \param timeouts in a row, too many
    void GiveUp(uint32_t timeouts);

  private:
    /// Work out where the time of a message went that has arrived. \param trail of the packet that
    /// completed it \param account filled with that
    static void AccountFor(const RoceMessage& message,
                           const FabricTrail& trail,
                           MessageAccount& account);
    /// Tell the owner if there is nothing left to do.
    void CheckIdle();
    /// Fill in what every frame has. \param bufferBytes its size without padding
    void Address(FabricFrame& frame, uint32_t bufferBytes, uint8_t priority);

    RoceContext& m_context;       //!< what all share
    RoceQueuePairOwner& m_owner;  //!< told when it is idle
    RoceAddress m_address;        //!< where it is
    RoceMessageList m_messages;   //!< what it carries
    RoceQueueSender m_sender;     //!< sending half
    RoceQueueReceiver m_receiver; //!< receiving half
    uint64_t m_frames{0};         //!< frames in the network
    FabricDraws m_samples;        //!< draw which packets carry telemetry
};

} // namespace ns3
