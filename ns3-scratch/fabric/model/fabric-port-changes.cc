// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A FabricPort whose link goes down or comes up, and whose error rate has changed while frames were
 * on their way.
 */
#include "fabric-lane.h"
#include "fabric-port.h"

namespace ns3
{

void
FabricPort::SettleMemory()
{
    if (m_buffer)
    {
        m_buffer->GetUsedBytes();
    }
    Settle(FabricNowPs());
}

void
FabricPort::GoDown()
{
    if (!IsUp())
    {
        return;
    }
    m_lineFreePs = DOWN;
    m_lastArrivalPs = 0;
    StopPriorities(0, FabricNowPs());
    if (m_buffer)
    {
        m_buffer->LinkWentDown(this);
    }
}

void
FabricPort::LoseContents()
{
    const int64_t nowPs = FabricNowPs();
    m_arrivalPending = false;
    m_headArrived = false;
    m_earlierErrors.clear();
    m_losesFrames = m_errorRate > 0.0;
    m_wire.Collect();
    m_idle = true;
    while (!m_wire.IsEmpty())
    {
        m_counters.cutFrames++;
        Lose(m_wire.PopFront(), nowPs);
    }
    for (uint32_t queue = QUEUES; queue-- > 0;)
    {
        LoseQueue(queue, nowPs);
    }
    if (m_scheduler)
    {
        m_scheduler->Reset();
    }
}

void
FabricPort::LoseQueue(uint32_t queue, int64_t nowPs)
{
    while (!m_queues[queue].IsEmpty())
    {
        FabricFrame* frame = m_queues[queue].PopFront();
        if (m_queues[queue].IsEmpty())
        {
            m_occupied &= ~(1U << queue);
            m_ready &= ~(1U << queue);
        }
        if (queue == CONTROL)
        {
            FabricFramePool::Give(frame); // it lay in no memory, and nobody waits for it
            continue;
        }
        m_bytes[queue] -= frame->bufferBytes;
        m_queueBytes -= frame->bufferBytes;
        m_queueTrace(TimeStep(nowPs), m_queueBytes);
        if (m_buffer)
        {
            m_buffer->Release(*frame);
        }
        DropDown(frame, nowPs);
    }
}

void
FabricPort::DropDown(FabricFrame* frame, int64_t nowPs)
{
    m_counters.downFrames++;
    m_counters.downBytes += frame->bufferBytes;
    Lose(frame, nowPs);
}

void
FabricPort::GoUp()
{
    if (IsUp())
    {
        return;
    }
    const int64_t nowPs = FabricNowPs();
    m_lineFreePs = m_lineStartPs = nowPs;
    if (m_buffer)
    {
        m_buffer->LinkCameUp(this);
    }
    PlayDepartures(nowPs);
    SetEvents(nowPs);
}

bool
FabricPort::IsLost(const FabricFrame& frame)
{
    double rate = m_errorRate;
    if (!m_earlierErrors.empty())
    {
        // The first is of all frames up to its last; others with the same last are of none.
        rate = m_earlierErrors.front().rate;
        while (!m_earlierErrors.empty() && m_earlierErrors.front().last == &frame)
        {
            m_earlierErrors.pop_front();
        }
        m_losesFrames = m_errorRate > 0.0 || !m_earlierErrors.empty();
    }
    return rate > 0.0 && !frame.isPause && m_draws.Next() < rate;
}

} // namespace ns3
