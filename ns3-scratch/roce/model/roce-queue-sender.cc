// SPDX-License-Identifier: GPL-2.0-only
#include "roce-queue-sender.h"

#include "roce-queue-pair.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{
constexpr double PS_TIMES_BITS = 8e12; // picoseconds a byte takes at 1 bit/s
} // namespace

RoceQueueSender::RoceQueueSender(RoceQueuePair& pair, RoceContext& context)
    : m_pair(pair),
      m_context(context)
{
}

RoceQueueSender::~RoceQueueSender()
{
    for (EventId& timer : m_timers)
    {
        timer.Cancel();
    }
}

void
RoceQueueSender::Open(RoceNicPort& port, const RocePathNumbers& path)
{
    const RoceParameters& parameters = m_context.parameters;
    m_port = &port;
    m_path = path;
    m_turn = Turn();
    m_turn.priority = parameters.priority;
    m_port->Open(*this);
    m_current = nullptr;
    m_next = m_highest = m_acknowledged = 0;
    m_lineRateBps = m_rateBps = static_cast<double>(port.GetPort().GetRateBps());
    m_windowBytes = parameters.windowOfPath ? path.bandwidthDelayBytes : parameters.windowBytes;
    m_lastStartPs = m_readyPs = 0;
    m_lastWireBytes = 0;
    m_timeouts = 0;
    if (parameters.reliability == RoceReliability::SELECTIVE_REPEAT)
    {
        m_recovery = std::make_unique<Recovery>();
    }
    UpdateLimit();
    m_control = m_context.makeControl();
    m_control->Start(*this);
    Report();
}

void
RoceQueueSender::Close()
{
    m_port->Remove(*this);
    m_port->Unwatch(*this);
    m_port->Close(*this);
    for (uint32_t timer = 0; timer < TIMERS; ++timer)
    {
        StopTimer(timer);
    }
}

void
RoceQueueSender::MessagePosted()
{
    const int64_t nowPs = GetNowPs();
    FabricPort& port = m_port->GetPort();
    port.Settle(port.GetDuePs(nowPs, nowPs - m_context.parameters.postingPs));
    if (!m_current)
    {
        m_current = m_pair.GetMessages().Find(m_next);
    }
    if (m_turn.state == Turn::IDLE)
    {
        Reschedule(nowPs);
    }
}

uint64_t
RoceQueueSender::FindLost() const
{
    const Recovery& recovery = *m_recovery;
    const uint64_t position = recovery.arrived.EndOf(std::max(recovery.next, m_acknowledged));
    return position < recovery.lostBelow ? position : NOTHING;
}

bool
RoceQueueSender::MaySend() const
{
    if (m_recovery && m_recovery->active && FindLost() != NOTHING)
    {
        return true;
    }
    return m_current && (m_limitBytes == 0 || m_next - m_acknowledged < m_limitBytes);
}

FabricFrame*
RoceQueueSender::MakeDataFrame(int64_t startPs)
{
    const RoceParameters& parameters = m_context.parameters;
    RoceMessage* message = m_current;
    uint64_t position = m_next;
    const uint64_t lost = m_recovery && m_recovery->active ? FindLost() : NOTHING;
    if (lost != NOTHING)
    {
        position = lost;
        message = m_pair.GetMessages().Find(position);
    }
    const auto bytes =
        static_cast<uint32_t>(std::min<uint64_t>(parameters.payloadBytes, message->end - position));
    FabricFrame* frame = m_pair.MakeDataFrame(position, bytes, startPs);
    m_context.statistics.dataPackets++;
    if (position < m_highest)
    {
        m_context.statistics.retransmittedPackets++;
        m_context.statistics.retransmittedBytes += bytes;
        if (m_context.observer)
        {
            m_context.observer->Retransmitted(m_pair, bytes, startPs);
        }
    }
    if (lost != NOTHING)
    {
        m_recovery->next = position + bytes;
    }
    else
    {
        m_next += bytes;
        m_highest = std::max(m_highest, m_next);
        if (m_next == message->end)
        {
            m_current = message->next;
        }
    }
    m_lastStartPs = startPs;
    m_lastWireBytes = frame->wireBytes;
    m_control->PacketSent(*this, frame->wireBytes);
    UpdateReady();
    if (!m_watch.watched)
    {
        m_port->Watch(*this, startPs);
    }
    return frame;
}

void
RoceQueueSender::UpdateLimit()
{
    m_limitBytes = m_windowBytes;
    if (m_windowBytes > 0 && m_context.parameters.windowScales)
    {
        const double share = m_rateBps / m_lineRateBps;
        m_limitBytes =
            std::max<uint64_t>(1,
                               static_cast<uint64_t>(static_cast<double>(m_windowBytes) * share));
    }
}

void
RoceQueueSender::UpdateReady()
{
    if (m_lastWireBytes == 0 || !m_context.parameters.paced)
    {
        m_readyPs = m_lastStartPs;
    }
    else if (m_rateBps >= m_lineRateBps)
    {
        m_readyPs = m_lastStartPs + m_port->GetPort().TransmissionPs(m_lastWireBytes);
    }
    else
    {
        const int64_t gapPs = std::llround(PS_TIMES_BITS * m_lastWireBytes / m_rateBps);
        m_readyPs = m_lastStartPs + m_port->GetPort().RoundPs(gapPs);
    }
}

void
RoceQueueSender::Reschedule(int64_t nowPs)
{
    if (!MaySend())
    {
        if (m_turn.state != Turn::IDLE)
        {
            m_port->Remove(*this);
        }
        return;
    }
    // One in turn that has just sent may send again when the line is free.
    const int64_t turnPs =
        std::max(nowPs, m_lastStartPs + m_port->GetPort().TransmissionPs(m_lastWireBytes));
    const bool inPlace = m_turn.state == Turn::PACED     ? m_turn.readyPs == m_readyPs
                         : m_turn.state == Turn::WAITING ? m_readyPs <= turnPs
                                                         : false;
    if (inPlace)
    {
        return;
    }
    if (m_turn.state != Turn::IDLE)
    {
        m_port->Remove(*this);
    }
    m_port->Add(*this, m_readyPs, nowPs);
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
        m_recovery->arrived.DropBelow(position);
        m_recovery->active = m_recovery->active && position < m_recovery->end;
    }
    if (m_acknowledged < m_highest)
    {
        m_port->Watch(*this, nowPs);
    }
    else
    {
        m_port->Unwatch(*this);
    }
    m_pair.Acknowledged(position);
    return news;
}

void
RoceQueueSender::ReceiveAck(const FabricFrame& frame)
{
    const int64_t nowPs = GetNowPs();
    m_port->GetPort().Settle(m_port->GetPort().GetDuePs(nowPs, 0));
    RoceAck ack;
    ack.roundTripPs = nowPs - frame.sentPs;
    ack.newBytes = Advance(frame.sequence, nowPs);
    ack.acknowledgedBytes = m_acknowledged;
    ack.marked = frame.marked;
    ack.switches = frame.echoSwitches;
    if (frame.telemetry)
    {
        const FabricTelemetry& telemetry = *frame.telemetry;
        ack.hops = telemetry.hops.size();
        ack.telemetry = telemetry.hops.data();
        ack.pathUtilisation = telemetry.pathOnly ? telemetry.pathUtilisation : -1.0;
    }
    if (frame.kind == ROCE_NACK)
    {
        HandleNack(frame);
    }
    if (frame.marked && m_context.parameters.cnpOnAck)
    {
        m_context.statistics.cnps++;
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
    const RoceParameters& parameters = m_context.parameters;
    if (!m_recovery)
    {
        if (parameters.reliability == RoceReliability::GO_BACK_0 && frame.sequence < m_acknowledged)
        {
            m_acknowledged = frame.sequence; // the receiver has thrown away what it had
        }
        m_next = m_acknowledged;
        m_current = m_pair.GetMessages().Find(m_next);
        m_control->LossDetected(*this, false);
        return;
    }
    Recovery& recovery = *m_recovery;
    if (frame.echo < m_acknowledged)
    {
        return; // it tells of something long repaired
    }
    recovery.arrived.Insert(frame.echo, frame.echo + frame.payloadBytes);
    const uint64_t tolerated = uint64_t{parameters.reorderingPackets} * parameters.payloadBytes;
    const uint64_t highest = recovery.arrived.GetHighest() - frame.payloadBytes;
    if (highest < m_acknowledged + tolerated)
    {
        return;
    }
    recovery.lostBelow = std::max(recovery.lostBelow, highest - tolerated);
    if (!recovery.active)
    {
        recovery.active = true;
        recovery.end = m_next;
        recovery.next = m_acknowledged;
        if (FindLost() != NOTHING)
        {
            m_control->LossDetected(*this, false);
        }
    }
}

void
RoceQueueSender::ReceiveCnp()
{
    const int64_t nowPs = GetNowPs();
    m_port->GetPort().Settle(nowPs);
    m_context.statistics.cnps++;
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
    m_context.statistics.timeouts++;
    const uint32_t retries = m_context.parameters.retries;
    if (++m_timeouts > retries && retries > 0)
    {
        m_pair.GiveUp(m_timeouts);
        return;
    }
    if (m_recovery)
    {
        m_recovery->active = true;
        m_recovery->next = m_acknowledged;
        m_recovery->lostBelow = m_recovery->end = m_next;
    }
    else
    {
        m_next = m_acknowledged;
        m_current = m_pair.GetMessages().Find(m_next);
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

int64_t
RoceQueueSender::GetNowPs() const
{
    return Simulator::Now().GetTimeStep();
}

uint64_t
RoceQueueSender::GetLineRateBps() const
{
    return m_port->GetPort().GetRateBps();
}

int64_t
RoceQueueSender::GetBaseRoundTripPs() const
{
    return m_path.baseRoundTripPs;
}

uint64_t
RoceQueueSender::GetBandwidthDelayBytes() const
{
    return m_path.bandwidthDelayBytes;
}

uint32_t
RoceQueueSender::GetPayloadBytes() const
{
    return m_context.parameters.payloadBytes;
}

uint32_t
RoceQueueSender::GetPacketBytes() const
{
    const RoceParameters& parameters = m_context.parameters;
    return parameters.payloadBytes + parameters.headerBytes + parameters.telemetryBytes +
           parameters.lineGapBytes;
}

uint32_t
RoceQueueSender::GetSwitches() const
{
    return m_path.switches;
}

uint64_t
RoceQueueSender::GetSentBytes() const
{
    return m_next;
}

uint64_t
RoceQueueSender::GetAcknowledgedBytes() const
{
    return m_acknowledged;
}

double
RoceQueueSender::GetRateBps() const
{
    return m_rateBps;
}

void
RoceQueueSender::SetRateBps(double rateBps)
{
    const double least = std::max(m_context.parameters.minimumRateBps, 1.0);
    const double rate = std::min(std::max(rateBps, least), m_lineRateBps);
    if (rate != m_rateBps)
    {
        m_rateBps = rate;
        UpdateLimit();
        UpdateReady();
    }
}

uint64_t
RoceQueueSender::GetWindowBytes() const
{
    return m_limitBytes;
}

void
RoceQueueSender::SetWindowBytes(uint64_t bytes)
{
    m_windowBytes = bytes;
    UpdateLimit();
}

void
RoceQueueSender::StartTimer(uint32_t timer, int64_t delayPs)
{
    m_timers.at(timer).Cancel();
    m_timers[timer] =
        Simulator::Schedule(TimeStep(delayPs), &RoceQueueSender::TimerDue, this, timer);
}

void
RoceQueueSender::StopTimer(uint32_t timer)
{
    m_timers.at(timer).Cancel();
}

double
RoceQueueSender::GetRandom()
{
    return m_context.random->GetValue();
}

} // namespace ns3
