// SPDX-License-Identifier: GPL-2.0-only
#include "roce-queue-receiver.h"

#include "fabric-lane.h"
#include "roce-queue-pair.h"

namespace ns3
{

RoceQueueReceiver::RoceQueueReceiver(RoceQueuePair& pair, RoceContext& context)
    : m_pair(pair),
      m_context(context)
{
}

void
RoceQueueReceiver::Open(uint64_t position, RoceMessage* message)
{
    m_expected = position;
    m_message = message;
}

void
RoceQueueReceiver::GoOn()
{
    if (m_message->end <= m_expected)
    {
        m_message = m_message->next;
    }
}

void
RoceQueueReceiver::CountOrder(const FabricFrame& frame)
{
    // RFC 4737, 3.3, with the order of sending as the sequence numbers: a packet that is sent again
    // has a new place, so that what makes good a loss is not out of order.
    if (frame.sentPs < m_latestSentPs) [[unlikely]]
    {
        m_context.Count().outOfOrderPackets++;
    }
    else
    {
        m_latestSentPs = frame.sentPs;
    }
}

void
RoceQueueReceiver::ReceiveData(FabricFrame* frame)
{
    CountOrder(*frame);
    if (frame->marked && !m_context.parameters.cnpOnAck)
    {
        Notify(*frame);
    }
    const FabricTrailPointer trail = frame->TakeTrail(); // its answer is not accounted for
    if (frame->sequence == m_expected)
    {
        TakeInOrder(frame, trail.get());
    }
    else if (frame->sequence > m_expected)
    {
        TakeOutOfOrder(frame);
    }
    else
    {
        Answer(frame, ROCE_ACK); // it has come before; the acknowledgement may be lost
    }
}

void
RoceQueueReceiver::TakeInOrder(FabricFrame* frame, const FabricTrail* trail)
{
    GoOn();
    const uint64_t before = m_expected;
    m_expected += frame->payloadBytes;
    if (m_gap && !m_gap->early.IsEmpty())
    {
        m_expected = m_gap->early.EndOf(m_expected);
        m_gap->early.DropBelow(m_expected);
    }
    m_context.listener->BytesArrived(m_pair.GetAddress().receiverNpu,
                                     static_cast<int64_t>(m_expected - before));
    m_marked = m_marked || frame->marked;
    m_unanswered++;
    const bool ends = m_message->end <= m_expected;
    // The answer leaves before anybody hears of the message: what follows may add to the list.
    const RoceAddress& address = m_pair.GetAddress();
    const uint32_t every = m_context.AckEvery(address.senderNpu, address.receiverNpu);
    if (ends || frame->wantsAnswer || m_unanswered >= every)
    {
        frame->marked = m_marked;
        m_unanswered = 0;
        m_marked = false;
        Answer(frame, ROCE_ACK);
    }
    else
    {
        m_pair.FreeFrameHere(frame);
    }
    const uint64_t expected = m_expected;
    for (RoceMessage* message = m_message; message && message->end <= expected;)
    {
        RoceMessage* next = message->end < expected ? message->next : nullptr;
        m_message = next ? next : message;
        m_pair.Delivered(*message, trail);
        message = next;
    }
}

void
RoceQueueReceiver::StartOver()
{
    const uint64_t before = m_expected;
    m_expected = m_context.parameters.StartOver(m_message->GetBegin(), m_expected);
    m_context.listener->BytesArrived(m_pair.GetAddress().receiverNpu,
                                     -static_cast<int64_t>(before - m_expected));
}

void
RoceQueueReceiver::TakeOutOfOrder(FabricFrame* frame)
{
    GoOn();
    if (!m_gap)
    {
        m_gap = std::make_unique<Gap>();
    }
    if (m_context.parameters.reliability == RoceReliability::SELECTIVE_REPEAT)
    {
        m_gap->early.Insert(frame->sequence, frame->sequence + frame->payloadBytes);
        Answer(frame, ROCE_NACK);
        return;
    }
    const int64_t nowPs = FabricNowPs();
    const int64_t intervalPs = m_context.parameters.nackIntervalPs;
    const bool again = intervalPs > 0 && nowPs >= m_gap->reportedPs + intervalPs;
    if (m_gap->reported == m_expected && !again)
    {
        m_pair.FreeFrameHere(frame);
        return;
    }
    if (m_context.parameters.reliability == RoceReliability::GO_BACK_0)
    {
        StartOver();
    }
    m_gap->reported = m_expected;
    m_gap->reportedPs = nowPs;
    Answer(frame, ROCE_NACK);
}

void
RoceQueueReceiver::Notify(const FabricFrame&)
{
    const int64_t nowPs = FabricNowPs();
    if (nowPs >= m_nextCnpPs)
    {
        m_nextCnpPs = nowPs + m_context.parameters.cnpIntervalPs;
        m_pair.SendCnp();
    }
}

void
RoceQueueReceiver::Answer(FabricFrame* frame, uint8_t kind)
{
    if (kind == ROCE_NACK)
    {
        m_context.Count().nacks++;
        frame->echo = frame->sequence;
    }
    frame->kind = kind;
    frame->sequence = m_expected;
    m_pair.SendAnswer(frame);
}

} // namespace ns3
