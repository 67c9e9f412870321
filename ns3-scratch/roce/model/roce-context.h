// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-lane.h"
#include "message-account.h"
#include "message-transport.h"
#include "roce-congestion-control.h"
#include "roce-parameters.h"
#include "roce-path-numbers.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <unordered_map>

namespace ns3
{

class RoceQueuePair;

/// What all queue pairs have done so far, or those that a thread plays.
struct alignas(64) RoceStatistics
{
    uint64_t dataPackets{0};          //!< data packets sent
    uint64_t retransmittedPackets{0}; //!< those of them sent before
    uint64_t retransmittedBytes{0};   //!< their payload
    uint64_t newPaths{0};             //!< times that data took a new path after timeouts
    uint64_t nacks{0};                //!< negative acknowledgements sent
    uint64_t cnps{0};                 //!< congestion notifications that reached their sender
    uint64_t timeouts{0};             //!< times a sender saw no progress for too long
    uint64_t queuePairs{0};           //!< queue pairs opened
    uint64_t outOfOrderPackets{0};    //!< data packets that came behind one sent after them
};

/// A number that any thread may change; it is moved while none does.
class RoceCount
{
  public:
    RoceCount() = default;

    /// \param other has the number
    RoceCount(RoceCount&& other) noexcept
        : m_count(other.Get())
    {
    }

    /// \return the number
    uint32_t Get() const
    {
        return m_count.load(std::memory_order_relaxed);
    }

    /// \param more is added
    void Add(uint32_t more)
    {
        m_count.fetch_add(more, std::memory_order_relaxed);
    }

  private:
    std::atomic<uint32_t> m_count{0}; //!< the number
};

/// Told when a queue pair has nothing left to do.
class RoceQueuePairOwner
{
  public:
    virtual ~RoceQueuePairOwner() = default;
    /// \param pair a queue pair of whose messages all are acknowledged and whose frames have all
    /// come back; it is not used again in this call
    virtual void QueuePairIdle(RoceQueuePair& pair) = 0;
};

/// Watches queue pairs.
class RoceObserver
{
  public:
    virtual ~RoceObserver() = default;
    /// \param pair a queue pair whose rate, window or alpha may have changed
    virtual void ControlChanged(const RoceQueuePair& pair) = 0;
    /// \param pair its queue pair \param bytes payload sent again \param timePs when
    virtual void Retransmitted(const RoceQueuePair& pair, uint32_t bytes, int64_t timePs) = 0;
    /// \param pair whose sender got a congestion notification
    virtual void Notified(const RoceQueuePair& pair) = 0;
};

/// What makes congestion controls.
struct RoceControls
{
    /// Makes a congestion control.
    using Factory = std::function<std::unique_ptr<RoceCongestionControl>()>;

    Factory make; //!< makes them
    std::map<uint64_t, Factory>
        faster; //!< makes them where no line of the path is slower than the key, in bit/s

    /// \param lowestRateBps rate of the slowest line of a queue pair's path
    /// \return what makes its congestion control
    const Factory& Choose(uint64_t lowestRateBps) const
    {
        const auto above = faster.upper_bound(lowestRateBps);
        return above == faster.begin() ? make : std::prev(above)->second;
    }
};

/// What all queue pairs of a simulation share.
struct RoceContext
{
    static const uint32_t FEW_AWAKE; //!< usual number of queue pairs that keep their halves

    RoceParameters parameters; //!< their parameters
    /// Players from this number on are reducers, whose switch sends no queue pair's packets faster
    /// than the slowest line of its path: no NIC is between.
    uint32_t npus{std::numeric_limits<uint32_t>::max()};
    MessageListener* listener{nullptr}; //!< who is told of arrivals
    RoceQueuePairOwner* owner{nullptr}; //!< who is told of idle queue pairs
    RoceControls controls;              //!< makes their congestion controls
    std::unordered_map<uint32_t, std::shared_ptr<const RoceControls>>
        changedControls; //!< makes those of NPUs whose controls have other numbers now
    RoceTelemetry telemetry{RoceTelemetry::NONE}; //!< what their data packets carry
    RoceObserver* observer{nullptr};              //!< who watches, if anyone
    MessageAccountant* accountant{nullptr};       //!< who keeps accounts of messages, if anyone
    MessageAccount account;                       //!< the one that is worked out
    std::array<RoceStatistics, FabricLane::MOST_OF_HOSTS>
        counts;            //!< what they have done, by thread
    RoceWays ways;         //!< that they take
    bool pairsRest{false}; //!< those with nothing under way may give back their halves
    RoceCount awake;       //!< those that have halves
    uint32_t fewAwake{
        FEW_AWAKE}; //!< up to so many keep them, which costs little memory and no time

    /// \return what is counted on this thread
    RoceStatistics& Count()
    {
        return counts[FabricLane::Here().number];
    }

    /// \return what all have done, while one thread plays
    RoceStatistics GetStatistics() const
    {
        RoceStatistics sum;
        for (const RoceStatistics& each : counts)
        {
            sum.dataPackets += each.dataPackets;
            sum.retransmittedPackets += each.retransmittedPackets;
            sum.retransmittedBytes += each.retransmittedBytes;
            sum.newPaths += each.newPaths;
            sum.nacks += each.nacks;
            sum.cnps += each.cnps;
            sum.timeouts += each.timeouts;
            sum.queuePairs += each.queuePairs;
            sum.outOfOrderPackets += each.outOfOrderPackets;
        }
        return sum;
    }

    /// \param one who sends or receives \param other the other \return packets in order for which
    /// there is an acknowledgement
    uint32_t AckEvery(uint32_t one, uint32_t other) const
    {
        return std::max(one, other) >= npus ? parameters.reducerAckEvery : parameters.ackEvery;
    }

    /// \param npu which sends \param lowestRateBps rate of the slowest line of a queue pair's path
    /// \return what makes its congestion control
    const RoceControls::Factory& ControlOf(uint32_t npu, uint64_t lowestRateBps) const
    {
        const auto found = changedControls.find(npu);
        return (found == changedControls.end() ? controls : *found->second).Choose(lowestRateBps);
    }
};

} // namespace ns3
