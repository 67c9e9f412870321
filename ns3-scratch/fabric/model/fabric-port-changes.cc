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
    if (FabricSharedBuffer* memory = m_admission.GetMemory())
    {
        memory->GetUsedBytes();
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
    m_line.GoDown();
    StopPriorities(0, FabricNowPs());
    if (FabricSharedBuffer* memory = m_admission.GetMemory())
    {
        memory->LinkWentDown(this);
    }
}

void
FabricPort::LoseContents()
{
    const int64_t nowPs = FabricNowPs();
    m_wire.SetScheduled(false);
    m_wire.SetHead(false, false);
    m_losses.Forget();
    m_losesFrames = m_losses.MayLose();
    m_wire.Collect();
    m_idle = true;
    while (!m_wire.IsEmpty())
    {
        (IsSilent() ? m_counters.silentFrames : m_counters.cutFrames)++;
        if (m_hasCredits)
        {
            RestoreCredit(*m_wire.Front());
        }
        Lose(m_wire.PopFront(), nowPs);
    }
    for (uint32_t queue = FabricQueues::QUEUES; queue-- > 0;)
    {
        LoseQueue(queue, nowPs);
    }
    m_queues.BeginAnew();
    if (FabricServedLog* served = GetServed())
    {
        served->Forget();
    }
}

void
FabricPort::LoseQueue(uint32_t queue, int64_t nowPs)
{
    while (!m_queues.GetList(queue).IsEmpty())
    {
        FabricFrame* frame = m_queues.Pop(queue);
        if (queue == FabricQueues::PAUSES)
        {
            FabricFramePool::Give(frame); // it lay in no memory, and nobody waits for it
            continue;
        }
        TellQueue(nowPs);
        m_admission.Release(*frame);
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
    FreeLine(nowPs);
    if (FabricSharedBuffer* memory = m_admission.GetMemory())
    {
        memory->LinkCameUp(this);
    }
    if (m_hasCredits)
    {
        RenewCredits(nowPs);
    }
    PlayDepartures(nowPs);
    SetEvents(nowPs);
}

void
FabricPort::BeginSilence()
{
    SettleIfUsed();
    m_wire.Collect();
    if (m_wire.HasHeadArrived())
    {
        m_wire.SetHead(true, true);
    }
    m_losses.BeginSilence();
    m_losesFrames = true;
}

void
FabricPort::RenewPauses()
{
    if (!m_hasCredits)
    {
        SetPaused(0); // nobody pauses a port that sends by credit, and its credit is what it was
    }
    if (FabricSharedBuffer* memory = m_admission.GetMemory())
    {
        memory->LinkWentDown(this);
        memory->LinkCameUp(this);
    }
}

void
FabricPort::CountLoss()
{
    (m_losses.WasSilence() ? m_counters.silentFrames : m_counters.lostFrames)++;
}

bool
FabricPort::IsLost(const FabricFrame& frame)
{
    const bool lost = m_losses.IsLost(frame);
    m_losesFrames = m_losses.MayLose();
    return lost;
}

} // namespace ns3
