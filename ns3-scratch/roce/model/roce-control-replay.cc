// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-replay.h"

#include "roce-control-registry.h"

#include <algorithm>
#include <utility>

namespace ns3
{

RoceReplaySender::RoceReplaySender(const RoceReplayPath& path)
    : m_path(path),
      m_rateBps(static_cast<double>(path.lineRateBps)),
      m_windowBytes(path.windowBytes)
{
}

int64_t
RoceReplaySender::GetNowPs() const
{
    return m_nowPs;
}

uint64_t
RoceReplaySender::GetLineRateBps() const
{
    return m_path.lineRateBps;
}

int64_t
RoceReplaySender::GetBaseRoundTripPs() const
{
    return m_path.baseRoundTripPs;
}

uint64_t
RoceReplaySender::GetBandwidthDelayBytes() const
{
    return m_path.bandwidthDelayBytes;
}

uint32_t
RoceReplaySender::GetPayloadBytes() const
{
    return m_path.payloadBytes;
}

uint32_t
RoceReplaySender::GetPacketBytes() const
{
    return m_path.packetBytes;
}

uint32_t
RoceReplaySender::GetSwitches() const
{
    return m_path.switches;
}

uint64_t
RoceReplaySender::GetSentBytes() const
{
    return m_sentBytes;
}

uint64_t
RoceReplaySender::GetAcknowledgedBytes() const
{
    return m_acknowledgedBytes;
}

double
RoceReplaySender::GetRateBps() const
{
    return m_rateBps;
}

void
RoceReplaySender::SetRateBps(double rateBps)
{
    m_rateBps = std::min(rateBps, static_cast<double>(m_path.lineRateBps));
}

uint64_t
RoceReplaySender::GetWindowBytes() const
{
    return m_windowBytes;
}

void
RoceReplaySender::SetWindowBytes(uint64_t bytes)
{
    m_windowBytes = bytes;
}

void
RoceReplaySender::StartTimer(uint32_t timer, int64_t delayPs)
{
    m_timers.at(timer) = {m_nowPs + delayPs, m_timerStarts++};
}

void
RoceReplaySender::StopTimer(uint32_t timer)
{
    m_timers.at(timer).timePs = NOT_RUNNING;
}

double
RoceReplaySender::GetRandom()
{
    // Knuth's MMIX generator; its upper 53 bits fill a double.
    m_random = m_random * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(m_random >> 11) * 0x1p-53;
}

void
RoceReplaySender::Open(RoceCongestionControl& control)
{
    m_control = &control;
    control.Start(*this);
}

void
RoceReplaySender::Advance(int64_t timePs)
{
    for (uint32_t due = FindDue(timePs); due < TIMERS; due = FindDue(timePs))
    {
        m_nowPs = m_timers[due].timePs;
        m_timers[due].timePs = NOT_RUNNING;
        ++m_timerEvents;
        m_control->TimerDue(*this, due);
    }
    m_nowPs = std::max(m_nowPs, timePs);
}

void
RoceReplaySender::Send(uint64_t bytes)
{
    const uint32_t headerBytes = m_path.packetBytes - m_path.payloadBytes;
    while (bytes > 0)
    {
        const auto payload = static_cast<uint32_t>(std::min<uint64_t>(bytes, m_path.payloadBytes));
        m_sentBytes += payload;
        bytes -= payload;
        m_control->PacketSent(*this, payload + headerBytes);
    }
}

void
RoceReplaySender::Acknowledge(const RoceAck& ack)
{
    m_acknowledgedBytes = ack.acknowledgedBytes;
    m_control->AckReceived(*this, ack);
}

uint32_t
RoceReplaySender::CountTimers() const
{
    return static_cast<uint32_t>(
        std::count_if(m_timers.begin(), m_timers.end(), [](const Timer& timer) {
            return timer.timePs != NOT_RUNNING;
        }));
}

uint64_t
RoceReplaySender::CountTimerEvents() const
{
    return m_timerEvents;
}

uint32_t
RoceReplaySender::FindDue(int64_t timePs) const
{
    uint32_t first = TIMERS;
    for (uint32_t number = 0; number < TIMERS; ++number)
    {
        const Timer& timer = m_timers[number];
        if (timer.timePs == NOT_RUNNING || timer.timePs > timePs)
        {
            continue;
        }
        if (first == TIMERS || timer.timePs < m_timers[first].timePs ||
            (timer.timePs == m_timers[first].timePs && timer.order < m_timers[first].order))
        {
            first = number;
        }
    }
    return first;
}

RoceControlReplay::RoceControlReplay(const std::string& name,
                                     const RoceControlParameters& parameters,
                                     const RoceReplayPath& path)
    : RoceControlReplay(MakeRoceControl(name, parameters), path)
{
}

RoceControlReplay::RoceControlReplay(std::unique_ptr<RoceCongestionControl> control,
                                     const RoceReplayPath& path)
    : m_control(std::move(control)),
      m_sender(path),
      m_path(path)
{
    m_sender.Open(*m_control);
}

void
RoceControlReplay::Advance(int64_t timePs)
{
    m_sender.Advance(timePs);
}

void
RoceControlReplay::Cnp()
{
    m_control->CnpReceived(m_sender);
}

void
RoceControlReplay::Sent(uint32_t bytes)
{
    m_sender.Send(bytes);
}

void
RoceControlReplay::Lost(bool timeout)
{
    m_control->LossDetected(m_sender, timeout);
}

void
RoceControlReplay::AddHop(int64_t timePs, uint64_t sentBytes, uint64_t queueBytes, uint64_t rateBps)
{
    m_hops.push_back({timePs, sentBytes, queueBytes, rateBps});
}

void
RoceControlReplay::SetPathUtilisation(double utilisation)
{
    m_pathUtilisation = utilisation;
}

void
RoceControlReplay::Ack(int64_t roundTripPs, uint64_t newBytes, bool marked)
{
    RoceAck ack;
    ack.roundTripPs = roundTripPs;
    ack.acknowledgedBytes = m_sender.GetAcknowledgedBytes() + newBytes;
    ack.newBytes = newBytes;
    ack.marked = marked;
    ack.switches = m_path.switches;
    ack.hops = static_cast<uint32_t>(m_hops.size());
    ack.telemetry = m_hops.data();
    ack.pathUtilisation = m_pathUtilisation;
    m_sender.Acknowledge(ack);
    m_hops.clear();
    m_pathUtilisation = -1.0;
}

double
RoceControlReplay::GetRateBps() const
{
    return m_sender.GetRateBps();
}

uint64_t
RoceControlReplay::GetWindowBytes() const
{
    return m_sender.GetWindowBytes();
}

double
RoceControlReplay::GetAlpha() const
{
    return m_control->GetAlpha();
}

uint32_t
RoceControlReplay::CountTimers() const
{
    return m_sender.CountTimers();
}

uint64_t
RoceControlReplay::CountTimerEvents() const
{
    return m_sender.CountTimerEvents();
}

} // namespace ns3
