// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"
#include "fabric-port-scheduler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace ns3
{

/**
 * What waits in a port: a queue for each priority, and one for pause frames, which goes before all
 * others and counts to nothing. A queue whose priority is stopped has nothing to send.
 *
 * What is looked at although nothing waits lies at the end, for the port to put beside what else
 * it looks at then.
 */
class FabricQueues
{
  public:
    static constexpr uint32_t PAUSES = FABRIC_PRIORITIES; //!< number of the queue of pause frames
    static constexpr uint32_t QUEUES = FABRIC_PRIORITIES + 1;
    static constexpr uint16_t NO_PORT = 0xffff;  //!< see SetOwnPort
    static constexpr uint16_t ANY_PORT = 0xfffe; //!< see SetOwnPort
    static constexpr std::size_t HOT_BYTES = 24; //!< looked at although nothing waits, at the end

    /// \return whether nothing waits, no pause frame either
    bool IsEmpty() const
    {
        return m_occupied == 0;
    }

    /// \return whether anything that waits may be sent
    bool IsReady() const
    {
        return m_ready != 0;
    }

    /// \param priorities bit p is set if priority p must not send
    void Stop(uint8_t priorities)
    {
        m_stopped = priorities;
        m_ready = m_occupied & ~uint32_t{m_stopped};
    }

    /// \param priority a priority \return whether it must not send
    bool IsStopped(uint32_t priority) const
    {
        return m_stopped >> priority & 1;
    }

    /// \return the priorities that must not send
    uint8_t GetStopped() const
    {
        return m_stopped;
    }

    /// \param priority a priority \return bytes waiting in it
    uint64_t GetBytes(uint32_t priority) const
    {
        return m_occupied >> priority & 1 ? m_lists[priority].GetBytes() : 0;
    }

    /// \return bytes waiting, pause frames excepted
    uint64_t GetBytes() const
    {
        return m_bytes;
    }

    /// \return most bytes that ever waited
    uint64_t GetHighestBytes() const
    {
        return m_highestBytes;
    }

    /// \param queue a priority, or PAUSES \return what waits in it
    const FabricFrameList& GetList(uint32_t queue) const
    {
        return m_lists.at(queue);
    }

    /// \param frame a frame that waits from now on, in its priority
    void Push(FabricFrame* frame)
    {
        m_bytes += frame->bufferBytes;
        m_highestBytes = std::max(m_highestBytes, m_bytes);
        Append(frame, frame->priority);
    }

    /// \param frame a pause frame that waits from now on
    void PushPause(FabricFrame* frame)
    {
        Append(frame, PAUSES);
    }

    /// \return whether always the highest priority sends that may
    bool IsStrict() const
    {
        return !m_scheduler;
    }

    /// \return the queue that sends next; one must be ready
    uint32_t Choose()
    {
        const bool strict = IsStrict() || (m_ready >> PAUSES & 1);
        return strict ? std::bit_width(m_ready) - 1 : m_scheduler->Choose(m_ready, m_lists.data());
    }

    /// \param queue a queue with a frame \return its oldest frame, taken out
    FabricFrame* Pop(uint32_t queue)
    {
        FabricFrame* frame = m_lists[queue].PopFront();
        if (m_lists[queue].IsEmpty())
        {
            m_occupied &= ~(1U << queue);
            m_ready &= ~(1U << queue);
        }
        m_bytes -= queue == PAUSES ? 0 : frame->bufferBytes;
        return frame;
    }

    /// \param scheduler who chooses between the priorities; none: strictly the highest
    void SetScheduler(std::unique_ptr<FabricPortScheduler> scheduler);

    /**
     * The queues are where a NIC would be: it sends what has no data, such as acknowledgements,
     * before all else of the same priority.
     * \param port what came into the node by this port is the NIC's own; ANY_PORT: all, NO_PORT:
     * there is no NIC
     */
    void SetOwnPort(uint16_t port)
    {
        m_ownPort = port;
    }

    /// All was taken out at once: choose as if nothing had been sent before.
    void BeginAnew();

    /// \return whether the memory of the queues knows that something waits here
    bool IsListed() const
    {
        return m_listed;
    }

    /// \param listed whether it knows
    void SetListed(bool listed)
    {
        m_listed = listed;
    }

  private:
    /// \return whether a NIC would send a frame before data: it has none, and is of the port's host
    bool IsOwnControl(const FabricFrame& frame) const
    {
        const bool own = m_ownPort == ANY_PORT || frame.ingressPort == m_ownPort;
        return own && frame.flow && !frame.flow->HasData(frame);
    }

    /// Put a frame into a queue.
    void Append(FabricFrame* frame, uint32_t queue)
    {
        if (m_ownPort != NO_PORT && IsOwnControl(*frame)) [[unlikely]]
        {
            const auto isAlike = [this](const FabricFrame& other) { return IsOwnControl(other); };
            m_lists[queue].PushBehindAlike(frame, isAlike);
        }
        else
        {
            m_lists[queue].PushBack(frame);
        }
        m_occupied |= 1U << queue;
        m_ready = m_occupied & ~uint32_t{m_stopped};
    }

    std::unique_ptr<FabricPortScheduler> m_scheduler; //!< chooses the priority, or none
    std::array<FabricFrameList, QUEUES> m_lists;      //!< waiting
    uint64_t m_highestBytes{0};                       //!< most that ever waited
    uint64_t m_bytes{0};                              //!< waiting
    uint16_t m_occupied{0};                           //!< bit q is set if queue q has a frame
    uint16_t m_ready{0};         //!< bit q is set if queue q has a frame and may send
    uint8_t m_stopped{0};        //!< bit p is set if priority p must not send
    bool m_listed{false};        //!< the memory knows that something waits here
    uint16_t m_ownPort{NO_PORT}; //!< see SetOwnPort
};

} // namespace ns3
