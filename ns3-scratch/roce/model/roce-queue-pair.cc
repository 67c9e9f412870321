// SPDX-License-Identifier: GPL-2.0-only
#include "roce-queue-pair.h"

#include "fabric-lane.h"
#include "roce-flow-hashes.h"
#include "roce-packet.h"

#include <algorithm>
#include <sstream>

namespace ns3
{

const uint32_t RoceContext::FEW_AWAKE = 16'384;

RoceQueuePair::RoceQueuePair(RoceContext& context)
    : m_context(context)
{
}

void
RoceQueuePair::Open(const RoceAddress& address, const RocePathNumbers& path)
{
    m_address = address;
    m_way = m_context.ways.NumberOf(WayOf(address, path));
    m_messages.Clear();
    m_context.Count().queuePairs++;
    m_openedPs = FabricNowPs();
    m_lastStartPs = 0;
    m_lastWireBytes = 0;
    m_turn = RoceTurn();
    address.senderPort->Open(*this);
    if (!m_context.pairsRest || m_context.observer)
    {
        Wake();
    }
}

RoceWay
RoceQueuePair::WayOf(const RoceAddress& address, const RocePathNumbers& path) const
{
    const uint64_t lineBps = address.senderPort->GetPort().GetRateBps();
    const bool isReducer = address.senderNpu >= m_context.npus;
    return {path, isReducer ? std::min(lineBps, path.lowestRateBps) : lineBps};
}

void
RoceQueuePair::Move(const RoceAddress& address, const RocePathNumbers& path)
{
    const RoceWay way = WayOf(address, path);
    const bool stays =
        address.senderPort == m_address.senderPort && way == m_context.ways.Get(m_way);
    if (!m_halves && !stays)
    {
        Wake();
    }
    m_address = address;
    m_way = m_context.ways.NumberOf(way);
    if (m_halves)
    {
        m_halves->GetSender().Move(*address.senderPort, m_context.ways.Get(m_way));
    }
}

void
RoceQueuePair::Close()
{
    m_address.senderPort->Remove(*this);
    m_address.senderPort->Unwatch(*this);
    m_address.senderPort->Close(*this);
    if (m_halves)
    {
        DropHalves();
    }
}

void
RoceQueuePair::Wake()
{
    RoceMessage* const message = m_messages.GetFirst();
    const uint64_t position = message ? message->GetBegin() : m_messages.GetEnd();
    m_halves = std::make_unique<RoceQueueHalves>(*this, m_context);
    m_context.awake.Add(1);
    if (m_context.telemetry == RoceTelemetry::PATH)
    {
        m_halves->GetSamples() = MakeDraws(FabricDrawsFor::SAMPLES, m_openedPs);
    }
    m_halves->GetReceiver().Open(position, m_messages.GetBegin());
    m_halves->GetSender().Open(*m_address.senderPort,
                               m_context.ways.Get(m_way),
                               {position, message, m_openedPs, m_lastStartPs, m_lastWireBytes});
}

void
RoceQueuePair::Rest()
{
    const int64_t nowPs = FabricNowPs();
    const RoceQueueSender& sender = m_halves->GetSender();
    if (!sender.MayRest(nowPs) || !m_halves->GetReceiver().MayRest(nowPs))
    {
        return;
    }
    m_lastStartPs = sender.GetLastStartPs();
    m_lastWireBytes = sender.GetLastWireBytes();
    DropHalves();
}

void
RoceQueuePair::DropHalves()
{
    m_halves.reset();
    m_messages.DropDone();
    m_context.awake.Add(-1);
}

void
RoceQueuePair::WaitForTurn(int64_t nowPs)
{
    if (m_turn.state == RoceTurn::IDLE)
    {
        // Its pace lets it, or it would not be at rest.
        m_address.senderPort->Add(*this, nowPs, nowPs);
        m_address.senderPort->GetPort().SourceChanged(nowPs);
    }
}

void
RoceQueuePair::Post(const CollectiveMessage& message)
{
    FabricPort& port = m_address.senderPort->GetPort();
    const int64_t nowPs = FabricNowPs();
    // What has left before leaves first.
    port.Settle(port.GetDuePs(nowPs, nowPs - m_context.parameters.postingPs));
    RoceMessage* posted = m_messages.Append(message);
    if (!m_halves)
    {
        WaitForTurn(nowPs);
        return;
    }
    m_halves->GetSender().MessagePosted(posted);
}

FabricDraws
RoceQueuePair::MakeDraws(FabricDrawsFor purpose, int64_t openedPs) const
{
    // Of the queue pairs between two NPUs those that last differ by number, those of single
    // messages by when they are opened and by path.
    return FabricDraws(purpose,
                       uint64_t{m_address.senderNpu} << 32 | m_address.receiverNpu,
                       uint64_t{m_address.number} << 32 | m_address.dataHash,
                       static_cast<uint64_t>(openedPs));
}

FabricFrame*
RoceQueuePair::MakeNextFrame(int64_t startPs)
{
    if (!m_halves)
    {
        Wake();
    }
    return m_halves->GetSender().MakeDataFrame(startPs);
}

CollectiveMessage
RoceQueuePair::MessageOf(const RoceMessage& message) const
{
    CollectiveMessage whole;
    whole.instance = message.instance;
    whole.bytes = message.bytes;
    whole.startPs = message.startPs;
    whole.row = message.row;
    whole.sender = m_address.senderNpu;
    whole.receiver = m_address.receiverNpu;
    return whole;
}

void
RoceQueuePair::Address(FabricFrame& frame, uint32_t bufferBytes, uint8_t priority)
{
    frame.flow = this;
    frame.bufferBytes = std::max(bufferBytes, m_context.parameters.minimumFrameBytes);
    frame.wireBytes = frame.bufferBytes + m_context.parameters.lineGapBytes;
    frame.priority = priority;
    frame.switches = 0;
    frame.hasTurned = 0;
}

FabricFrame*
RoceQueuePair::MakeDataFrame(uint64_t position, uint32_t bytes, int64_t startPs)
{
    const RoceParameters& parameters = m_context.parameters;
    FabricFrame* frame = FabricFramePool::Take();
    m_halves->CountAtSender(1);
    Address(*frame, bytes + parameters.headerBytes + parameters.telemetryBytes, GetPriority());
    frame->kind = ROCE_DATA;
    frame->source = m_address.senderHost;
    frame->destination = m_address.receiverHost;
    frame->flowHash = m_address.dataHash;
    frame->ecn = FabricEcn::CAPABLE_0;
    frame->sequence = position;
    frame->payloadBytes = bytes;
    frame->sentPs = startPs;
    if (m_context.telemetry != RoceTelemetry::NONE)
    {
        const bool pathOnly = m_context.telemetry == RoceTelemetry::PATH;
        const double probability = parameters.utilisationProbability;
        if (!pathOnly || probability >= 1.0 || m_halves->GetSamples().Next() < probability)
        {
            frame->SetTelemetry(FabricFramePool::TakeTelemetry(), pathOnly);
        }
    }
    return frame;
}

void
RoceQueuePair::SendAnswer(FabricFrame* frame)
{
    const RoceParameters& parameters = m_context.parameters;
    frame->echoSwitches = frame->switches;
    Address(*frame,
            parameters.ackBytes + parameters.ackTelemetryBytes,
            parameters.AckPriorityOf(GetPriority()));
    frame->source = m_address.receiverHost;
    frame->destination = m_address.senderHost;
    // Only the sender's thread knows what it has drawn, but the packet tells.
    frame->flowHash = parameters.newPathAfter > 0 ? RoceFlowHashes::AnswerTo(frame->flowHash)
                                                  : m_address.answerHash;
    frame->ecn = FabricEcn::NOT_CAPABLE;
    frame->collects = false;
    m_address.receiverPort->Enqueue(frame);
}

void
RoceQueuePair::SendCnp()
{
    FabricFrame* frame = FabricFramePool::Take();
    m_halves->CountAtReceiver(1);
    Address(*frame, m_context.parameters.cnpBytes, m_context.parameters.cnpPriority);
    frame->kind = ROCE_CNP;
    frame->sequence = 0; // what an earlier user of the frame left would show in a capture
    frame->source = m_address.receiverHost;
    frame->destination = m_address.senderHost;
    frame->flowHash = m_address.answerHash;
    m_address.receiverPort->Enqueue(frame);
}

void
RoceQueuePair::FreeFrame(FabricFrame* frame)
{
    m_halves->CountAtSender(-1);
    FabricFramePool::Give(frame);
}

void
RoceQueuePair::FreeFrameHere(FabricFrame* frame)
{
    m_halves->CountAtReceiver(-1);
    FabricFramePool::Give(frame);
}

void
RoceQueuePair::ReceiveFrame(FabricFrame* frame)
{
    if (frame->kind == ROCE_DATA)
    {
        m_halves->GetReceiver().ReceiveData(frame);
        return;
    }
    if (frame->kind == ROCE_CNP)
    {
        m_halves->GetSender().ReceiveCnp();
    }
    else
    {
        m_halves->GetSender().ReceiveAck(*frame);
    }
    FreeFrame(frame);
    CheckIdle();
}

void
RoceQueuePair::FrameLost(FabricFrame* frame)
{
    FreeFrame(frame);
    CheckIdle();
}

void
RoceQueuePair::CheckIdle()
{
    if (m_halves->GetFrames() > 0 || m_messages.GetFirst())
    {
        return;
    }
    if (m_context.pairsRest && m_context.awake.Get() > m_context.fewAwake && !m_context.observer)
    {
        FabricLane& lane = FabricLane::Here();
        if (lane.besideOthers)
        {
            // The receiver may be played now, and not be done with its half.
            lane.notes.push_back({FabricNowPs(), 0, nullptr, nullptr, this, 0});
        }
        else
        {
            Rest();
        }
    }
    m_context.owner->QueuePairIdle(*this);
}

void
RoceQueuePair::TurnsEnded()
{
    if (m_halves && m_halves->GetFrames() == 0 && !m_messages.GetFirst())
    {
        Rest();
    }
}

bool
RoceQueuePair::HasData(const FabricFrame& frame) const
{
    return frame.kind == ROCE_DATA;
}

Ptr<Packet>
RoceQueuePair::MakePacket(const FabricFrame& frame) const
{
    // 24 bits: the NPU, and above it which of its queue pairs.
    const uint32_t number = (m_address.number & 0xff) << 16;
    return MakeRocePacket(frame,
                          (m_address.receiverNpu & 0xffff) | number,
                          (m_address.senderNpu & 0xffff) | number);
}

void
RoceQueuePair::AccountFor(const RoceMessage& message,
                          const FabricTrail& trail,
                          MessageAccount& account)
{
    const int64_t postedPs = message.startPs;
    const RoceMessageTimes& times = *message.times;
    const int64_t firstPs = trail.GetFirstPs();
    const int64_t sentPs = trail.GetHops().front().startPs;
    account.Clear();
    const FabricSenderTimes& since = times.atNext;
    const FabricSenderTimes& until = trail.GetTimes();
    const int64_t turnPs = std::max(std::min(times.nextPs, firstPs), postedPs) - postedPs;
    const int64_t lostPs =
        std::max<int64_t>(0, std::min(since.lostPs, until.lostPs) - times.lostAtPostedPs);
    account.Add(AccountPart::TURN, turnPs - lostPs);
    account.Add(AccountPart::LOST, lostPs);
    if (times.nextPs <= firstPs) // else the deciding packet is of an earlier message
    {
        account.Add(AccountPart::WINDOW, until.windowPs - since.windowPs);
        account.Add(AccountPart::PACING, until.pacingPs - since.pacingPs);
        account.Add(AccountPart::NIC_PAUSED, until.pausedPs - since.pausedPs);
        account.Add(AccountPart::NIC_QUEUE, until.queuePs - since.queuePs);
        account.Add(AccountPart::LOST, until.lostPs - since.lostPs);
        account.Add(AccountPart::SERIALISATION, until.serialisationPs - since.serialisationPs);
    }
    account.Add(AccountPart::LOST, std::max(sentPs, postedPs) - std::max(firstPs, postedPs));
    account.AddWay(trail, postedPs);
}

void
RoceQueuePair::Delivered(RoceMessage& message, const FabricTrail* trail)
{
    const bool arrived = !m_context.parameters.acknowledged;
    if (m_context.accountant) [[unlikely]]
    {
        MessageAccount& account = arrived ? m_context.account : message.times->account;
        AccountFor(message, *trail, account);
        if (arrived)
        {
            m_context.accountant->MessageAccounted(MessageOf(message), account);
        }
        else
        {
            message.times->deliveredPs = FabricNowPs();
        }
    }
    if (arrived)
    {
        m_context.listener->MessageArrived(MessageOf(message));
    }
}

void
RoceQueuePair::Acknowledged(uint64_t position)
{
    while (m_messages.GetFirst() && m_messages.GetFirst()->end <= position)
    {
        const CollectiveMessage message = MessageOf(*m_messages.GetFirst());
        if (m_context.accountant && m_context.parameters.acknowledged) [[unlikely]]
        {
            RoceMessageTimes& times = *m_messages.GetFirst()->times;
            times.account.Add(AccountPart::ACKNOWLEDGEMENT, FabricNowPs() - times.deliveredPs);
            m_context.accountant->MessageAccounted(message, times.account);
        }
        m_messages.DropFirst();
        if (m_context.parameters.acknowledged)
        {
            m_context.listener->MessageArrived(message);
        }
    }
}

void
RoceQueuePair::DrawPath()
{
    m_address.dataHash = RoceFlowHashes::Redrawn(m_address.dataHash);
}

void
RoceQueuePair::GiveUp(uint32_t timeouts)
{
    std::ostringstream text;
    text << "RoCE queue pair ";
    if (m_context.parameters.queuePairsPerPair > 1)
    {
        text << m_address.number << ' ';
    }
    text << "from NPU " << m_address.senderNpu << " to NPU " << m_address.receiverNpu
         << " gave up after " << timeouts
         << " timeouts in a row; raise transport.reliability.retries or timeout, or lower the loss";
    CollectiveMessage message;
    message.sender = m_address.senderNpu;
    message.receiver = m_address.receiverNpu;
    if (const RoceMessage* oldest = m_messages.GetFirst())
    {
        message.instance = oldest->instance;
    }
    m_context.listener->TransportFailed(message, text.str().c_str());
}

} // namespace ns3
