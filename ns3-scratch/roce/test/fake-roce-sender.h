// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A sender for the tests of congestion controls: a clock moved by hand, a link of 100 Gb/s, a base
 * round trip of 4 us, a window of 50 packets of 1000 bytes.
 */
#pragma once

#include "roce-control-registry.h"
#include "roce-control-replay.h"

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

constexpr int64_t MICROSECOND = 1'000'000;     //!< in picoseconds
constexpr double LINE_BPS = 100'000'000'000.0; //!< rate of the line
constexpr double GBPS = 1e9;                   //!< in bits per second
constexpr double MBPS = 1e6;                   //!< in bits per second
constexpr double TOLERANCE_BPS = 1.0;          //!< rounding of doubles near 1e11, many times over

/// Parameters in one expression.
using Numbers = std::initializer_list<std::pair<const char*, double>>;

/// \return the control of that name with these parameters
inline std::unique_ptr<ns3::RoceCongestionControl>
MakeControl(const std::string& name, Numbers numbers)
{
    ns3::RoceControlParameters parameters;
    for (const auto& [key, value] : numbers)
    {
        parameters.Set(key, value);
    }
    return ns3::MakeRoceControl(name, parameters);
}

/// A congestion control and its sender.
class FakeRoceSender
{
  public:
    /// \param name name of the control \param numbers its parameters \param windowBytes configured
    FakeRoceSender(const std::string& name, Numbers numbers, uint64_t windowBytes = 0)
        : m_control(MakeControl(name, numbers)),
          m_sender(MakePath(windowBytes))
    {
        m_sender.Open(*m_control);
    }

    /// \param timePs time from now on
    void Advance(int64_t timePs)
    {
        m_sender.Advance(timePs);
    }

    /// \param bytes sent from now on
    void Send(uint64_t bytes)
    {
        m_sender.Send(bytes);
    }

    /// A congestion notification packet. \param timePs when
    void Cnp(int64_t timePs)
    {
        m_sender.Advance(timePs);
        m_control->CnpReceived(m_sender);
    }

    /// \param timeout by timeout, else by a NACK
    void Lose(bool timeout)
    {
        m_control->LossDetected(m_sender, timeout);
    }

    /**
     * An acknowledgement.
     * \param bytes new bytes
     * \param roundTripPs round-trip time
     * \param marked with a mark
     */
    void Ack(uint64_t bytes, int64_t roundTripPs, bool marked = false)
    {
        ns3::RoceAck ack = MakeAck(bytes, roundTripPs);
        ack.marked = marked;
        m_sender.Acknowledge(ack);
    }

    /// An acknowledgement with telemetry. \param bytes new bytes \param hops entries
    void AckHops(uint64_t bytes, const std::vector<ns3::FabricTelemetryHop>& hops)
    {
        ns3::RoceAck ack = MakeAck(bytes, 4 * MICROSECOND);
        ack.hops = static_cast<uint32_t>(hops.size());
        ack.telemetry = hops.data();
        m_sender.Acknowledge(ack);
    }

    /// An acknowledgement with the path's number. \param bytes new bytes \param utilisation it
    void AckPath(uint64_t bytes, double utilisation)
    {
        ns3::RoceAck ack = MakeAck(bytes, 4 * MICROSECOND);
        ack.pathUtilisation = utilisation;
        m_sender.Acknowledge(ack);
    }

    /// \return the rate
    double GetRateBps() const
    {
        return m_sender.GetRateBps();
    }

    /// \return the window
    uint64_t GetWindowBytes() const
    {
        return m_sender.GetWindowBytes();
    }

    /// \return the estimate of congestion
    double GetAlpha() const
    {
        return m_control->GetAlpha();
    }

    /// \return what packets must carry
    ns3::RoceTelemetry GetTelemetry() const
    {
        return m_control->GetTelemetry();
    }

    /// \return timers that run
    uint32_t CountTimers() const
    {
        return m_sender.CountTimers();
    }

    /// \return timers that have fired
    uint64_t CountTimerEvents() const
    {
        return m_sender.CountTimerEvents();
    }

  private:
    /// \return the path with that window
    static ns3::RoceReplayPath MakePath(uint64_t windowBytes)
    {
        ns3::RoceReplayPath path;
        path.windowBytes = windowBytes;
        return path;
    }

    /// \return an acknowledgement
    ns3::RoceAck MakeAck(uint64_t bytes, int64_t roundTripPs) const
    {
        ns3::RoceAck ack;
        ack.roundTripPs = roundTripPs;
        ack.newBytes = bytes;
        ack.acknowledgedBytes = m_sender.GetAcknowledgedBytes() + bytes;
        ack.switches = m_sender.GetSwitches();
        return ack;
    }

    std::unique_ptr<ns3::RoceCongestionControl> m_control; //!< the control
    ns3::RoceReplaySender m_sender;                        //!< its sender
};

} // namespace astra_ns3::test
