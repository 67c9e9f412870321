// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-changes.h"
#include "fabric-net-device.h"
#include "message-transport.h"
#include "roce-context.h"
#include "roce-message-parts.h"
#include "roce-nic-port.h"
#include "roce-path.h"
#include "roce-queue-pair.h"

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace ns3
{

/// Carries messages over RoCE queue pairs: one or some for each ordered pair of NPUs that last, or
/// one for each message.
class RoceMessageTransport : public MessageTransport,
                             public RoceQueuePairOwner,
                             public FabricRoutesListener
{
  public:
    /**
     * \param context parameters, listener and congestion control of the queue pairs
     * \param hosts NIC of each host
     * \param hostOfNpu host of each NPU
     */
    RoceMessageTransport(RoceContext context,
                         std::vector<Ptr<FabricNetDevice>> hosts,
                         std::vector<uint32_t> hostOfNpu);
    ~RoceMessageTransport() override;

    void Send(const CollectiveMessage& message) override;
    void QueuePairIdle(RoceQueuePair& pair) override;
    /// Queue pairs take the ports that the tables name now, and the numbers of their paths; where
    /// no way is left they keep what they had.
    void RoutesChanged() override;

    /// \param observer watches all queue pairs from now on, or none
    void SetObserver(RoceObserver* observer);
    /// \return what all queue pairs have done
    const RoceStatistics& GetStatistics() const;
    /// \return queue pairs with a message that is not both delivered and acknowledged
    uint64_t CountBusyQueuePairs() const;
    /// \return frames of all queue pairs that are in the network
    uint64_t CountFrames() const;
    /**
     * \param from a host
     * \param to another
     * \return path of data between them; of several shortest one
     * \throws std::invalid_argument if there is none
     */
    RocePath FindPath(uint32_t from, uint32_t to) const;
    /// \return longest base round-trip time between any two hosts
    int64_t GetLongestRoundTripPs();
    /// \param path a path \return its numbers for a sender
    RocePathNumbers NumbersOf(const RocePath& path) const;

  private:
    /// \return bytes on the line of a data packet
    uint32_t WireBytes(uint64_t payloadBytes) const;
    /// \return what the last acknowledgement adds to the time of a message
    int64_t LastAckPs(const RocePath& path) const;

    /// \param path a path of all parts \param cut of a message \return time to the last bit
    int64_t TravelPs(const RocePath& path, const RoceCut& cut) const;
    /// \param path a path \param bytes of a message \return time to the last bit
    int64_t TravelPs(const RocePath& path, uint64_t bytes) const;

    /// What is known of an ordered pair of NPUs.
    struct Pair
    {
        RoceAddress address;        //!< where the next queue pair is
        RocePath path;              //!< way of its data
        std::vector<RocePath> ways; //!< what its messages may take, if that isn't `path` alone
        RocePathNumbers numbers;    //!< the same for a sender
        std::vector<RoceQueuePair*> lasting; //!< its queue pairs by number, if they last; none yet
        uint32_t turn{0};                    //!< number of the one that comes next
        uint32_t messages{0};                //!< sent so far
    };

    /// \param pair of NPUs \param size of a message: bytes, or its cut
    /// \return time it would take alone over the fastest of the pair's ways
    template <class Size>
    int64_t IdealPs(const Pair& pair, const Size& size) const;
    /// \return what is known of a pair of NPUs, found out if need be
    Pair& GetPair(uint32_t sender, uint32_t receiver);
    /// Choose path and ports of a queue pair. \param number among all of its pair so far
    void ChoosePath(RoceAddress& address, uint32_t number) const;
    /// Choose the ports of a queue pair by its hashes.
    void ChoosePorts(RoceAddress& address) const;
    /// \return the port by which a flow leaves a host, the first if there is no way
    uint32_t ChoosePort(uint32_t host, uint32_t destination, uint32_t flowHash) const;
    /// Find out the way of a pair's data as it is now.
    void UpdatePath(Pair& pair);
    /// \return what is known of a pair of NPUs by this key
    static uint64_t KeyOf(uint32_t sender, uint32_t receiver);
    /// \return an open queue pair
    RoceQueuePair& OpenQueuePair(const RoceAddress& address, const RocePathNumbers& path);
    /// \return the lasting queue pair of a pair whose turn it is; the next one is another
    RoceQueuePair& TakeTurn(Pair& pair);
    /// Send a message over all lasting queue pairs of its pair.
    void SendInParts(Pair& pair, const CollectiveMessage& message, const RoceCut& cut);
    /// Work out the longest base round trip between any two hosts.
    void FindLongest();

    RoceContext m_context;                                          //!< what queue pairs share
    std::unique_ptr<RoceMessageParts> m_parts;                      //!< of messages, if split
    std::vector<Ptr<FabricNetDevice>> m_hosts;                      //!< NICs
    std::vector<uint32_t> m_hostOfNpu;                              //!< host of each NPU
    std::vector<std::vector<std::unique_ptr<RoceNicPort>>> m_ports; //!< by host and port
    std::unordered_map<uint64_t, Pair> m_pairs;                     //!< by sender and receiver
    std::vector<std::unique_ptr<RoceQueuePair>> m_queuePairs;       //!< all that were made
    std::vector<RoceQueuePair*> m_free; //!< those that can be opened again
    RocePathNumbers m_longest;          //!< longest base round trip
};

} // namespace ns3
