// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-dctcp.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

RoceControlDctcp::Numbers::Numbers(const RoceControlParameters& parameters)
    : byWindow(parameters.Get("window", 1.0) != 0.0),
      g(parameters.Get("g", 1.0 / 16.0)),
      rateAiBps(parameters.Get("rate_ai", 1000e6)),
      minimumRateBps(parameters.Get("minimum_rate", 100e6)),
      minimumBytes(parameters.Get("minimum_window", 0.0))
{
}

void
RoceControlDctcp::Numbers::Fit(const RoceSender& sender)
{
    minimumRateBps = std::min(minimumRateBps, static_cast<double>(sender.GetLineRateBps()));
    minimumBytes = minimumBytes > 0.0 ? minimumBytes : 2.0 * sender.GetPayloadBytes();
}

RoceControlDctcp::RoceControlDctcp(const RoceControlParameters& parameters)
    : m_numbers(parameters)
{
}

void
RoceControlDctcp::Follow(const RoceCongestionControl& other, RoceSender& sender)
{
    m_numbers = static_cast<const RoceControlDctcp&>(other).m_numbers;
    m_numbers.Fit(sender);
}

void
RoceControlDctcp::LineChanged(RoceSender& sender)
{
    const double beforeBps = m_lineRateBps;
    m_lineRateBps = static_cast<double>(sender.GetLineRateBps());
    m_numbers.Fit(sender);
    m_rateBps = m_onLine.Follow(m_rateBps, beforeBps, m_lineRateBps);
}

void
RoceControlDctcp::Start(RoceSender& sender)
{
    m_lineRateBps = static_cast<double>(sender.GetLineRateBps());
    m_numbers.Fit(sender);
    m_rateBps = m_lineRateBps;
    if (!m_numbers.byWindow)
    {
        return;
    }
    const uint64_t configured = sender.GetWindowBytes();
    m_windowBytes = std::max(
        m_numbers.minimumBytes,
        static_cast<double>(configured > 0 ? configured : sender.GetBandwidthDelayBytes()));
    sender.SetWindowBytes(static_cast<uint64_t>(std::llround(m_windowBytes)));
}

void
RoceControlDctcp::AckReceived(RoceSender& sender, const RoceAck& ack)
{
    m_isNew = false;
    m_acknowledgedBytes += ack.newBytes;
    m_markedBytes += ack.marked ? ack.newBytes : 0;
    const bool windowEnded = EndWindow(sender, ack);
    if (m_recovering && ack.acknowledgedBytes > m_recoveryEnd)
    {
        m_recovering = false;
    }
    if (ack.marked && !m_recovering)
    {
        Cut(sender, 1.0 - m_alpha / 2.0);
    }
    if (m_recovering)
    {
        return;
    }
    if (m_numbers.byWindow)
    {
        Grow(sender, ack);
    }
    else if (windowEnded)
    {
        m_rateBps = std::min(m_lineRateBps, m_rateBps + m_numbers.rateAiBps);
        sender.SetRateBps(m_rateBps);
    }
}

void
RoceControlDctcp::LossDetected(RoceSender& sender, bool timeout)
{
    m_isNew = false;
    if (!m_numbers.byWindow)
    {
        return;
    }
    if (timeout)
    {
        m_slowStartBytes = std::max(m_numbers.minimumBytes, m_windowBytes / 2.0);
        Cut(sender, 0.0);
    }
    else if (!m_recovering)
    {
        Cut(sender, 0.5);
    }
}

double
RoceControlDctcp::GetAlpha() const
{
    return m_alpha;
}

bool
RoceControlDctcp::EndWindow(const RoceSender& sender, const RoceAck& ack)
{
    if (ack.acknowledgedBytes <= m_windowEnd)
    {
        return false;
    }
    m_windowEnd = sender.GetSentBytes();
    if (!m_windowOpen)
    {
        m_windowOpen = true; // the first window is what is in flight when the first ACK comes
        return true;
    }
    if (m_acknowledgedBytes > 0)
    {
        const double share =
            static_cast<double>(m_markedBytes) / static_cast<double>(m_acknowledgedBytes);
        m_alpha = (1.0 - m_numbers.g) * m_alpha + m_numbers.g * share;
    }
    m_acknowledgedBytes = 0;
    m_markedBytes = 0;
    return true;
}

void
RoceControlDctcp::Cut(RoceSender& sender, double factor)
{
    m_recovering = true;
    m_recoveryEnd = sender.GetSentBytes();
    if (m_numbers.byWindow)
    {
        m_windowBytes = std::max(m_numbers.minimumBytes, m_windowBytes * factor);
        sender.SetWindowBytes(static_cast<uint64_t>(std::llround(m_windowBytes)));
        return;
    }
    m_rateBps = std::max(m_numbers.minimumRateBps, m_rateBps * factor);
    sender.SetRateBps(m_rateBps);
}

void
RoceControlDctcp::Grow(RoceSender& sender, const RoceAck& ack)
{
    const auto payload = static_cast<double>(sender.GetPayloadBytes());
    // Going back to send again can leave the sent position behind the acknowledged one.
    const uint64_t sent = std::max(sender.GetSentBytes(), ack.acknowledgedBytes);
    const auto before = static_cast<double>(sent - ack.acknowledgedBytes + ack.newBytes);
    if (before + payload <= m_windowBytes)
    {
        return; // the window didn't hold anything back, so nothing says that it could be larger
    }
    const auto acknowledged = static_cast<double>(ack.newBytes);
    m_windowBytes +=
        m_windowBytes < m_slowStartBytes ? acknowledged : payload * acknowledged / m_windowBytes;
    sender.SetWindowBytes(static_cast<uint64_t>(std::llround(m_windowBytes)));
}

bool
RoceControlDctcp::IsLikeNew() const
{
    return m_isNew;
}

} // namespace ns3
