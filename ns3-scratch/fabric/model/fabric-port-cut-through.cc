// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A FabricPort before or in a switch that cuts through: what it tells the far end when the head of
 * a frame is there, and how it sends a frame of which only the head has come.
 */
#include "fabric-lane.h"
#include "fabric-port.h"

#include <algorithm>

namespace ns3
{

int64_t
FabricPort::PlanHead(FabricFrame* frame, int64_t beforePs) const
{
    const int64_t tailPs = m_line.GetLastArrivalPs();
    frame->tailPs = tailPs;
    frame->egressPort = FABRIC_NO_PORT;
    if (frame->isPause || frame->wireBytes <= m_headWireBytes)
    {
        return tailPs;
    }
    const int64_t behindPs = TransmissionPs(frame->wireBytes) - TransmissionPs(m_headWireBytes);
    return std::max(tailPs - behindPs, beforePs);
}

void
FabricPort::ArriveInParts()
{
    FabricFrame* frame = m_wire.Front();
    const int64_t nowPs = m_wire.GetFrontPs();
    bool lost = m_wire.IsHeadLost();
    if (!m_wire.HasHeadArrived())
    {
        lost = m_losesFrames && IsLost(*frame);
        if (nowPs < frame->tailPs)
        {
            if (!lost && m_receiver->AdmitHead(frame, m_receiverPort))
            {
                TakeOffLink(nowPs);
                m_receiver->ReceiveHead(frame, m_receiverPort);
                return;
            }
            m_wire.SetHead(true, lost);
            m_wire.SetFrontPs(frame->tailPs);
            ScheduleArrival(nowPs);
            return;
        }
    }
    m_wire.SetHead(false, false);
    TakeOffLink(nowPs);
    if (lost)
    {
        CountLoss();
        Lose(frame, nowPs);
        return;
    }
    m_receiver->ReceiveFrame(frame, m_receiverPort);
}

bool
FabricPort::AdmitHead(FabricFrame* frame)
{
    const int64_t nowPs = FabricNowPs();
    if (!IsUp())
    {
        return false;
    }
    // A head comes after what departs in its picosecond, whatever is OldestFirst, else no frame of
    // a row could follow the one before it.
    Settle(nowPs);
    // A faster line would want bits that have not come.
    const bool underruns = nowPs + TransmissionPs(frame->wireBytes) < frame->tailPs;
    const uint32_t priority = frame->priority;
    if (underruns || !m_line.IsFree(nowPs) || m_queues.IsStopped(priority))
    {
        return false;
    }
    if (!m_admission.AdmitHead(*frame, m_queues.GetBytes(priority)))
    {
        return false; // there may be room when all of it is there
    }
    if (!m_line.IsFree(nowPs))
    {
        // The memory has stopped a neighbour that the frame would be sent back to.
        m_admission.Release(*frame);
        return false;
    }
    return true;
}

void
FabricPort::SendHead(FabricFrame* frame)
{
    const int64_t nowPs = FabricNowPs();
    if (GetsMark(*frame, m_queues.GetBytes(frame->priority), true))
    {
        Mark(frame, nowPs);
    }
    TransmitHeld(frame, nowPs);
    SetEvents(nowPs);
}

} // namespace ns3
