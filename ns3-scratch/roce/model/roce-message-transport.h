// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-changes.h"
#include "fabric-net-device.h"
#include "message-transport.h"
#include "roce-context.h"
#include "roce-message-parts.h"
#include "roce-nic-port.h"
#include "roce-pair-table.h"
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

    /// \param host a host \param beforePs a time \return whether one of its senders may give up
    /// before it
    bool MayGiveUp(uint32_t host, int64_t beforePs) const;

    /**
     * Have the congestion controls of NPUs that send follow other numbers from now on. What queue
     * pairs have learnt, rates and windows, stays.
     * \param firstNpu the first NPU
     * \param lastNpu the last
     * \param controls makes controls with these numbers
     */
    void ChangeControls(uint32_t firstNpu,
                        uint32_t lastNpu,
                        const std::shared_ptr<const RoceControls>& controls);
    /// \param observer watches all queue pairs from now on, or none
    void SetObserver(RoceObserver* observer);
    /// \return what all queue pairs have done
    RoceStatistics GetStatistics() const;
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

    /// \return bytes on the line of a data packet
    uint32_t WireBytes(uint64_t payloadBytes) const;
    /// \return most bytes of a message in a packet
    uint32_t GetPayloadBytes() const;

  private:
    /// What is known of an ordered pair of NPUs.
    struct Pair
    {
        uint32_t receiver; //!< NPU that receives
        uint32_t way;      //!< number of the way of its data
        uint32_t next;     //!< number of its next queue pair
    };

    /// The queue pairs of one channel between two NPUs.
    struct ChannelPair
    {
        uint32_t next{0};                       //!< number of its next queue pair
        std::vector<RoceQueuePair*> queuePairs; //!< by number
    };

    /// What an NPU knows of those that it sends to. The thread that plays it changes that.
    struct Sender
    {
        std::vector<Pair> pairs;             //!< by the number of the receiver (RocePairTable)
        std::vector<RoceQueuePair*> lasting; //!< of each as many as it may have, by number
        std::unordered_map<uint64_t, ChannelPair>
            channels; //!< by channel and number, those of channels other than the first
    };

    /// Names a pair of NPUs.
    struct PairName
    {
        uint32_t sender; //!< NPU that sends
        uint32_t number; //!< of the receiver
    };

    /// \return name of a pair of NPUs, about which what is needed is found out
    PairName FindPair(uint32_t sender, uint32_t receiver);
    /// \param sender NPU that sends \param receiver NPU that receives \param number among all
    /// queue pairs of that pair so far \return where that queue pair is
    RoceAddress AddressOf(uint32_t sender, uint32_t receiver, uint32_t number) const;
    /// Choose the ports of a queue pair by its hashes.
    void ChoosePorts(RoceAddress& address) const;
    /// \return the port by which a flow leaves a host, the first if there is no way
    uint32_t ChoosePort(uint32_t host, uint32_t destination, uint32_t flowHash) const;
    /// Find out the way of a pair's data as it is now. \param name of the pair \param isNew
    /// nothing is known of it yet
    void UpdatePath(const PairName& name, bool isNew);
    /// \param number among all queue pairs of the pair so far \param message the first that it
    /// carries, in whose priority it travels \return an open queue pair
    RoceQueuePair& OpenQueuePair(const PairName& name,
                                 uint32_t number,
                                 const CollectiveMessage& message);
    /// \param name of a pair of NPUs \return how many queue pairs its messages take in turn
    uint32_t CountTurns(const PairName& name) const;
    /// \param name of a pair of NPUs \param message of that pair \return its lasting queue
    /// pair whose turn it is; the next one is another
    RoceQueuePair& TakeTurn(const PairName& name, const CollectiveMessage& message);
    /// The same for a channel other than the first, which has queue pairs of its own.
    RoceQueuePair& TakeTurnOfChannel(const PairName& name, const CollectiveMessage& message);
    /// Send a message over all lasting queue pairs of its pair. \param name of the pair
    void SendInParts(const PairName& name, const CollectiveMessage& message);
    /// Do something with each queue pair, host by host, in the order in which they were made.
    template <class Action>
    void ForEachQueuePair(const Action& action) const;
    /// Work out the longest base round trip between any two hosts.
    void FindLongest();

    RoceContext m_context;                                          //!< what queue pairs share
    std::unique_ptr<RoceMessageParts> m_parts;                      //!< of messages, if split
    std::vector<Ptr<FabricNetDevice>> m_hosts;                      //!< NICs
    std::vector<uint32_t> m_hostOfNpu;                              //!< host of each NPU
    std::vector<std::vector<std::unique_ptr<RoceNicPort>>> m_ports; //!< by host and port
    RocePairTable m_numbers;                                        //!< of receivers
    std::vector<Sender> m_senders;                                  //!< by NPU
    std::vector<std::vector<std::unique_ptr<RoceQueuePair>>>
        m_queuePairs;                   //!< all that were made, by host
    std::vector<RoceQueuePair*> m_free; //!< those that can be opened again
    RocePathNumbers m_longest;          //!< longest base round trip
};

} // namespace ns3
