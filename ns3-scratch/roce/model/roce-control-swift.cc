// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-swift.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{
constexpr double PS_PER_S = 1e12;
constexpr double BITS_PER_BYTE = 8.0;
} // namespace

RoceControlSwift::Numbers::Numbers(const RoceControlParameters& parameters)
    : baseTargetPs(parameters.Get("base_target", 25e6)),
      perHopPs(parameters.Get("per_hop", 1e6)),
      ai(parameters.Get("ai", 1.0)),
      beta(parameters.Get("beta", 0.8)),
      maximumDecrease(parameters.Get("max_mdf", 0.5)),
      scalingRangePs(parameters.Get("fs_range", 100e6)),
      minimumPackets(parameters.Get("min_cwnd", 0.01)),
      maximumPackets(parameters.Get("max_cwnd", 0.0)),
      maximumOfLine(maximumPackets <= 0.0),
      retransmitReset(static_cast<uint32_t>(parameters.Get("retransmit_reset", 5.0)))
{
    const double small = 1.0 / std::sqrt(parameters.Get("fs_min_cwnd", 0.1));
    const double large = 1.0 / std::sqrt(parameters.Get("fs_max_cwnd", 100.0));
    scalingFactorPs = scalingRangePs / (small - large);
    scalingOffsetPs = -scalingFactorPs * large;
}

void
RoceControlSwift::Numbers::Fit(const RoceSender& sender, double openingPackets)
{
    if (maximumOfLine)
    {
        const double longestPs = baseTargetPs + perHopPs * sender.GetSwitches();
        const double bits = static_cast<double>(sender.GetLineRateBps()) * longestPs / PS_PER_S;
        maximumPackets = std::max(openingPackets, bits / BITS_PER_BYTE / sender.GetPacketBytes());
    }
}

RoceControlSwift::RoceControlSwift(const RoceControlParameters& parameters)
    : m_numbers(parameters)
{
}

void
RoceControlSwift::Follow(const RoceCongestionControl& other, RoceSender& sender)
{
    m_numbers = static_cast<const RoceControlSwift&>(other).m_numbers;
    m_numbers.Fit(sender, m_openingPackets);
}

void
RoceControlSwift::LineChanged(RoceSender& sender)
{
    m_numbers.Fit(sender, m_openingPackets);
}

void
RoceControlSwift::Start(RoceSender& sender)
{
    const uint64_t configured = sender.GetWindowBytes();
    m_openingPackets =
        static_cast<double>(configured > 0 ? configured : sender.GetBandwidthDelayBytes()) /
        sender.GetPayloadBytes();
    m_numbers.Fit(sender, m_openingPackets);
    m_roundTripPs = sender.GetBaseRoundTripPs();
    m_packets = m_openingPackets;
    SetWindow(sender, m_openingPackets);
}

void
RoceControlSwift::AckReceived(RoceSender& sender, const RoceAck& ack)
{
    m_isNew = false;
    m_timeouts = 0;
    m_roundTripPs = ack.roundTripPs;
    const auto delayPs = static_cast<double>(ack.roundTripPs);
    const double targetPs = TargetDelay(ack.switches > 0 ? ack.switches : sender.GetSwitches());
    m_delayRatio = delayPs / targetPs;
    if (delayPs < targetPs)
    {
        const double packets = static_cast<double>(ack.newBytes) / sender.GetPayloadBytes();
        SetWindow(sender, m_packets + m_numbers.ai * packets / std::max(1.0, m_packets));
    }
    else if (CanDecrease(sender))
    {
        const double factor = 1.0 - m_numbers.beta * (delayPs - targetPs) / delayPs;
        SetWindow(sender, m_packets * std::max(factor, 1.0 - m_numbers.maximumDecrease));
    }
}

void
RoceControlSwift::LossDetected(RoceSender& sender, bool timeout)
{
    m_isNew = false;
    m_timeouts = timeout ? m_timeouts + 1 : 0;
    if (timeout && m_timeouts >= m_numbers.retransmitReset)
    {
        SetWindow(sender, m_numbers.minimumPackets);
    }
    else if (CanDecrease(sender))
    {
        SetWindow(sender, m_packets * (1.0 - m_numbers.maximumDecrease));
    }
}

double
RoceControlSwift::GetAlpha() const
{
    return m_delayRatio;
}

double
RoceControlSwift::TargetDelay(uint32_t switches) const
{
    const double scaling =
        m_numbers.scalingFactorPs / std::sqrt(m_packets) + m_numbers.scalingOffsetPs;
    return m_numbers.baseTargetPs + m_numbers.perHopPs * switches +
           std::clamp(scaling, 0.0, m_numbers.scalingRangePs);
}

bool
RoceControlSwift::CanDecrease(const RoceSender& sender) const
{
    return m_lastDecreasePs < 0 || sender.GetNowPs() - m_lastDecreasePs >= m_roundTripPs;
}

void
RoceControlSwift::SetWindow(RoceSender& sender, double packets)
{
    const double before = m_packets;
    m_packets = std::clamp(packets,
                           m_numbers.minimumPackets,
                           std::max(m_numbers.minimumPackets, m_numbers.maximumPackets));
    if (m_packets < before)
    {
        m_lastDecreasePs = sender.GetNowPs();
    }
    const auto lineBps = static_cast<double>(sender.GetLineRateBps());
    double rateBps = lineBps;
    if (m_packets < 1.0)
    {
        // One packet in each round trip over the window.
        const double bits = BITS_PER_BYTE * sender.GetPacketBytes() * m_packets;
        rateBps = std::min(lineBps, bits * PS_PER_S / static_cast<double>(m_roundTripPs));
    }
    sender.SetRateBps(rateBps);
    const double bytes = std::max(1.0, m_packets) * sender.GetPayloadBytes();
    sender.SetWindowBytes(static_cast<uint64_t>(std::llround(bytes)));
}

bool
RoceControlSwift::IsLikeNew() const
{
    return m_isNew;
}

} // namespace ns3
