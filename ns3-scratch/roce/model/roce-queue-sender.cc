// SPDX-License-Identifier: GPL-2.0-only
#include "roce-queue-sender.h"

#include "roce-queue-pair.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

RoceQueueSender::RoceQueueSender(RoceQueuePair& pair, RoceContext& context)
    : m_pair(pair),
      m_context(context)
{
}

RoceQueueSender::~RoceQueueSender()
{
    Close();
}

void
RoceQueueSender::Open(RoceNicPort& port, const RoceWay& way, const Begin& begin)
{
    const RoceParameters& parameters = m_context.parameters;
    m_port = &port;
    m_way = &way;
    m_current = begin.message;
    m_next = m_highest = m_acknowledged = m_asked = begin.position;
    m_lastStartPs = begin.lastStartPs;
    m_lastWireBytes = begin.lastWireBytes;
    m_draws = m_pair.MakeDraws(FabricDrawsFor::CONTROL, begin.openedPs);
    if (parameters.reliability == RoceReliability::SELECTIVE_REPEAT)
    {
        m_recovery = std::make_unique<RoceRecovery>(uint64_t{parameters.reorderingPackets} *
                                                    parameters.payloadBytes);
    }
    OpenAccount();
    StartControl();
}

void
RoceQueueSender::StartControl()
{
    const RoceParameters& parameters = m_context.parameters;
    m_rateBps = GetLineBps();
    m_onLine = {};
    m_windowBytes =
        parameters.windowOfPath ? GetWay().path.bandwidthDelayBytes : parameters.windowBytes;
    UpdateLimit();
    UpdateReady();
    m_control = GetControlOf(GetWay())();
    m_starting = true;
    m_control->Start(*this);
    m_starting = false;
    Report();
}

void
RoceQueueSender::ChangeControl()
{
    const int64_t nowPs = GetNowPs();
    m_port->GetPort().Settle(nowPs); // what has left was sent by the numbers before
    if (m_control->IsLikeNew())
    {
        StartControl(); // as one that is at rest will be
    }
    else
    {
        m_control->Follow(*GetControlOf(GetWay())(), *this);
    }
    Reschedule(nowPs);
}

const RoceControls::Factory&
RoceQueueSender::GetControlOf(const RoceWay& way) const
{
    return m_context.ControlOf(m_pair.GetAddress().senderNpu, way.path.lowestRateBps);
}

bool
RoceQueueSender::MayRest(int64_t nowPs) const
{
    // Its recovery, if it has one, knows of nothing that is not acknowledged.
    return m_control->IsLikeNew() && !m_moved && !m_drawn && m_readyPs <= nowPs &&
           m_next == m_acknowledged && m_highest == m_acknowledged &&
           (!m_timers || std::none_of(m_timers->begin(), m_timers->end(), [](const EventId& timer) {
               return timer.IsPending();
           }));
}

void
RoceQueueSender::Move(RoceNicPort& port, const RoceWay& way)
{
    if (&port == m_port && &way == m_way)
    {
        return;
    }
    const int64_t nowPs = GetNowPs();
    // Frames of others were due to leave by the new port too: its line hasn't been idle.
    for (RoceNicPort* each : {m_port, &port})
    {
        each->GetPort().Settle(nowPs);
    }
    if (m_context.parameters.windowOfPath && m_windowBytes == GetWay().path.bandwidthDelayBytes)
    {
        m_windowBytes = way.path.bandwidthDelayBytes; // no congestion control has set another
    }
    m_moved = true;
    const double beforeBps = GetLineBps();
    const RoceControls::Factory& control = GetControlOf(GetWay());
    m_way = &way;
    m_rateBps = m_onLine.Follow(m_rateBps, beforeBps, GetLineBps());
    if (GetLineBps() != beforeBps)
    {
        m_control->LineChanged(*this);
    }
    if (&GetControlOf(way) != &control)
    {
        m_control->Follow(*GetControlOf(way)(), *this);
    }
    if (&port != m_port)
    {
        m_port->Remove(m_pair);
        m_port->Unwatch(m_pair);
        m_port->Close(m_pair);
        m_port = &port;
        m_port->Open(m_pair);
        if (m_account)
        {
            m_port->KeepPauses();
        }
        if (HasUnacknowledged())
        {
            m_port->Watch(m_pair);
        }
    }
    UpdateLimit();
    UpdateReady();
    Report();
    Reschedule(nowPs);
}

void
RoceQueueSender::Close()
{
    for (uint32_t timer = 0; m_timers && timer < TIMERS; ++timer)
    {
        StopTimer(timer);
    }
}

void
RoceQueueSender::MessagePosted(RoceMessage* posted)
{
    if (!m_current)
    {
        m_current = posted; // everything before it has been sent
    }
    if (m_account) [[unlikely]]
    {
        m_account->Posted(*posted, m_highest == posted->GetBegin(), GetNowPs());
    }
    if (m_pair.GetTurn().state == RoceTurn::IDLE)
    {
        Reschedule(GetNowPs());
    }
}

bool
RoceQueueSender::MaySend() const
{
    return (m_current && (WindowLets() || NobodyAnswers())) || FindLost() != RoceRecovery::NOTHING;
}

bool
RoceQueueSender::NobodyAnswers() const
{
    if (m_asked > m_acknowledged)
    {
        return false;
    }
    const RoceAddress& address = m_pair.GetAddress();
    const uint64_t every = m_context.AckEvery(address.senderNpu, address.receiverNpu);
    return m_next - m_acknowledged < every * m_context.parameters.payloadBytes;
}

FabricFrame*
RoceQueueSender::MakeDataFrame(int64_t startPs)
{
    const RoceParameters& parameters = m_context.parameters;
    RoceMessage* message = m_current;
    uint64_t position = m_next;
    const uint64_t lost = FindLost();
    if (lost != RoceRecovery::NOTHING)
    {
        position = lost;
        message = m_pair.GetMessages().Find(position);
    }
    const auto bytes =
        static_cast<uint32_t>(std::min<uint64_t>(parameters.payloadBytes, message->end - position));
    FabricFrame* frame = m_pair.MakeDataFrame(position, bytes, startPs);
    m_context.Count().dataPackets++;
    if (m_account) [[unlikely]]
    {
        AccountPacket(frame, message, startPs);
    }
    if (position < m_highest)
    {
        m_context.Count().retransmittedPackets++;
        m_context.Count().retransmittedBytes += bytes;
        if (m_context.observer)
        {
            m_context.observer->Retransmitted(m_pair, bytes, startPs);
        }
    }
    if (lost != RoceRecovery::NOTHING)
    {
        m_recovery->SentAgain(position + bytes);
    }
    else
    {
        if (!HasUnacknowledged())
        {
            m_pair.SetProgressPs(startPs);
        }
        m_next += bytes;
        m_highest = std::max(m_highest, m_next);
        if (m_next == message->end)
        {
            m_current = m_pair.GetMessages().GetNext(*message);
        }
    }
    m_lastStartPs = startPs;
    m_lastWireBytes = frame->wireBytes;
    m_control->PacketSent(*this, frame->wireBytes);
    UpdateReady();
    // As the AckReq bit: only an answer brings it on.
    frame->wantsAnswer = !(m_current && WindowLets()) && FindLost() == RoceRecovery::NOTHING;
    if (frame->wantsAnswer || position + bytes == message->end)
    {
        m_asked = std::max(m_asked, position + bytes);
    }
    if (m_pair.GetWatchPlace() == RoceNicPort::NOT_WATCHED)
    {
        m_port->Watch(m_pair);
    }
    return frame;
}

void
RoceQueueSender::Reschedule(int64_t nowPs)
{
    const RoceTurn& turn = m_pair.GetTurn();
    if (!MaySend())
    {
        if (turn.state != RoceTurn::IDLE)
        {
            m_port->Remove(m_pair);
        }
        return;
    }
    // One in turn that has just sent may send again when the line is free.
    const int64_t turnPs =
        std::max(nowPs, m_lastStartPs + m_port->GetPort().TransmissionPs(m_lastWireBytes));
    const bool inPlace = turn.state == RoceTurn::PACED     ? m_pace.readyPs == m_readyPs
                         : turn.state == RoceTurn::WAITING ? m_readyPs <= turnPs
                                                           : false;
    if (inPlace)
    {
        return;
    }
    if (turn.state != RoceTurn::IDLE)
    {
        m_port->Remove(m_pair);
    }
    else if (m_account) [[unlikely]]
    {
        m_account->Opened(nowPs);
    }
    m_port->Add(m_pair, m_readyPs, nowPs);
    m_port->GetPort().SourceChanged(nowPs);
}

uint64_t
RoceQueueSender::Advance(uint64_t position, int64_t nowPs)
{
    if (position <= m_acknowledged)
    {
        return 0;
    }
    const uint64_t news = position - m_acknowledged;
    m_acknowledged = position;
    m_timeouts = 0;
    if (m_next < position)
    {
        m_next = position; // it was going back, and what it feared lost had arrived after all
        m_current = m_pair.GetMessages().Find(m_next);
    }
    if (m_recovery)
    {
        m_recovery->Acknowledged(position);
    }
    if (m_account) [[unlikely]]
    {
        m_account->Acknowledged(position, nowPs);
    }
    m_pair.SetProgressPs(nowPs);
    m_pair.Acknowledged(position);
    return news;
}

double
RoceQueueSender::Encoded(double utilisation) const
{
    const double base = std::log(m_context.parameters.utilisationLogBase);
    return utilisation > 0.0 ? std::exp(std::round(std::log(utilisation) / base) * base) : 0.0;
}

void
RoceQueueSender::ReceiveAck(const FabricFrame& frame)
{
    const int64_t nowPs = GetNowPs();
    frame.PrefetchTelemetry();
    m_port->GetPort().Settle(m_port->GetPort().GetDuePs(nowPs, 0));
    RoceAck ack;
    ack.roundTripPs = nowPs - frame.sentPs;
    ack.newBytes = Advance(frame.sequence, nowPs);
    ack.acknowledgedBytes = m_acknowledged;
    ack.marked = frame.marked;
    ack.switches = frame.echoSwitches;
    if (const FabricTelemetry* telemetry = frame.GetTelemetry())
    {
        ack.hops = telemetry->hops.size();
        ack.telemetry = telemetry->hops.data();
        ack.pathUtilisation = telemetry->pathOnly ? Encoded(telemetry->pathUtilisation) : -1.0;
    }
    if (frame.kind == ROCE_NACK)
    {
        HandleNack(frame);
    }
    if (frame.marked && m_context.parameters.cnpOnAck)
    {
        m_context.Count().cnps++;
        if (m_context.observer)
        {
            m_context.observer->Notified(m_pair);
        }
        m_control->CnpReceived(*this);
    }
    m_control->AckReceived(*this, ack);
    Report();
    Reschedule(nowPs);
}

void
RoceQueueSender::HandleNack(const FabricFrame& frame)
{
    if (m_recovery)
    {
        if (m_recovery->ArrivedEarly(frame.echo, frame.payloadBytes, m_acknowledged, m_next))
        {
            AccountLoss(GetNowPs());
            m_control->LossDetected(*this, false);
        }
        return;
    }
    if (frame.sequence < m_acknowledged)
    {
        // An acknowledgement has overtaken it: that gap is closed. With go back 0 it may be open
        // yet, but never in a message that is acknowledged whole.
        const RoceMessage* const first = m_pair.GetMessages().GetFirst();
        if (m_context.parameters.reliability != RoceReliability::GO_BACK_0 || !first ||
            frame.sequence < first->GetBegin())
        {
            return;
        }
        m_acknowledged = frame.sequence; // the receiver has thrown away what it had
    }
    GoBack();
    m_control->LossDetected(*this, false);
}

void
RoceQueueSender::GoBack()
{
    AccountLoss(GetNowPs());
    m_next = m_asked = m_acknowledged;
    m_current = m_pair.GetMessages().Find(m_next);
}

void
RoceQueueSender::ReceiveCnp()
{
    const int64_t nowPs = GetNowPs();
    m_port->GetPort().Settle(nowPs);
    m_context.Count().cnps++;
    if (m_context.observer)
    {
        m_context.observer->Notified(m_pair);
    }
    m_control->CnpReceived(*this);
    Report();
    Reschedule(nowPs);
}

void
RoceQueueSender::TimedOut(int64_t nowPs)
{
    m_context.Count().timeouts++;
    m_pair.SetProgressPs(nowPs);
    const bool givesUp = GivesUpNext();
    m_timeouts++;
    if (givesUp)
    {
        m_pair.GiveUp(m_timeouts);
        return;
    }
    const uint32_t newPathAfter = m_context.parameters.newPathAfter;
    if (newPathAfter > 0 && m_timeouts % newPathAfter == 0)
    {
        m_pair.DrawPath();
        m_context.Count().newPaths++;
    }
    if (m_recovery)
    {
        AccountLoss(nowPs);
        m_asked = m_acknowledged;
        m_recovery->TimedOut(m_acknowledged, m_next);
    }
    else
    {
        if (m_context.parameters.reliability == RoceReliability::GO_BACK_0)
        {
            // The receiver may have started over, and its report may be lost.
            const RoceMessage* message = m_pair.GetMessages().Find(m_acknowledged);
            m_acknowledged = m_context.parameters.StartOver(message->GetBegin(), m_acknowledged);
        }
        GoBack();
    }
    m_control->LossDetected(*this, true);
    Report();
    Reschedule(nowPs);
}

void
RoceQueueSender::TimerDue(uint32_t timer)
{
    const int64_t nowPs = GetNowPs();
    m_port->GetPort().Settle(nowPs);
    m_control->TimerDue(*this, timer);
    Report();
    Reschedule(nowPs);
}

void
RoceQueueSender::Report()
{
    if (m_context.observer)
    {
        m_context.observer->ControlChanged(m_pair);
    }
}

} // namespace ns3
