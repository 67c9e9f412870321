// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What the congestion control sees and sets of a RoceQueueSender.
 */
#include "fabric-units.h"
#include "roce-queue-pair.h"
#include "roce-queue-sender.h"

#include "ns3/make-event.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace ns3
{

void
RoceQueueSender::UpdateLimit()
{
    m_limitBytes = m_windowBytes;
    if (m_windowBytes > 0 && m_context.parameters.windowScales)
    {
        const double share = m_rateBps / GetLineBps();
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
    else if (m_rateBps >= GetLineBps() && !IsSlowerThanPort())
    {
        m_readyPs = m_lastStartPs + m_port->GetPort().TransmissionPs(m_lastWireBytes);
    }
    else
    {
        const int64_t gapPs = std::llround(FABRIC_PS_TIMES_BITS * m_lastWireBytes / m_rateBps);
        m_readyPs = m_lastStartPs + m_port->GetPort().RoundPs(gapPs);
    }
}

int64_t
RoceQueueSender::GetNowPs() const
{
    // A control begins when the queue pair is opened, though it is made when there is something to
    // send, which is settled at any time later.
    return m_starting ? m_pair.GetOpenedPs() : FabricNowPs();
}

uint64_t
RoceQueueSender::GetLineRateBps() const
{
    return GetWay().lineRateBps;
}

int64_t
RoceQueueSender::GetBaseRoundTripPs() const
{
    return GetWay().path.baseRoundTripPs;
}

uint64_t
RoceQueueSender::GetBandwidthDelayBytes() const
{
    return GetWay().path.bandwidthDelayBytes;
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
    return GetWay().path.switches;
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
    if (std::isnan(rateBps))
    {
        throw std::invalid_argument("congestion control: the rate it sets is not a number");
    }
    const double least = std::max(m_context.parameters.minimumRateBps, 1.0);
    const double rate = std::min(std::max(rateBps, least), GetLineBps());
    if (rate != m_rateBps)
    {
        m_rateBps = rate;
        UpdateLimit();
        const int64_t pacedPs = std::min(m_readyPs, GetNowPs());
        UpdateReady();
        if (m_account && m_readyPs < pacedPs) [[unlikely]]
        {
            m_account->Paced(pacedPs);
        }
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
    if (timer >= TIMERS || delayPs < 0)
    {
        throw std::invalid_argument("congestion control: there is no timer " +
                                    std::to_string(timer) + " with a delay of " +
                                    std::to_string(delayPs) + " ps; timers are 0 to 3");
    }
    if (!m_timers)
    {
        m_timers = std::make_unique<std::array<EventId, TIMERS>>();
    }
    (*m_timers)[timer].Cancel();
    (*m_timers)[timer] =
        m_port->GetClock().Schedule(delayPs,
                                    "a timer of a queue pair",
                                    MakeEvent(&RoceQueueSender::TimerDue, this, timer));
}

void
RoceQueueSender::StopTimer(uint32_t timer)
{
    if (timer >= TIMERS)
    {
        throw std::out_of_range("congestion control: timers are 0 to 3");
    }
    if (m_timers)
    {
        (*m_timers)[timer].Cancel();
    }
}

double
RoceQueueSender::GetRandom()
{
    m_drawn = true;
    return m_draws.Next();
}

} // namespace ns3
