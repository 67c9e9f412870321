// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What a congestion control sees and does. No ns-3 header is included here, so that a user's own
 * class compiles at once. Times are picoseconds, rates bits per second, sizes bytes.
 */
#pragma once

#include "fabric-telemetry.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace ns3
{

/// What data packets carry for the congestion control.
enum class RoceTelemetry : uint32_t
{
    NONE = 0, //!< nothing
    HOPS = 1, //!< a FabricTelemetryHop of every switch (HPCC)
    PATH = 2  //!< one number, the highest utilisation on the path (HPCC-PINT)
};

/// What an acknowledgement tells.
struct RoceAck
{
    int64_t roundTripPs{0};        //!< since the acknowledged packet's first bit left the sender
    uint64_t acknowledgedBytes{0}; //!< stream position up to which everything has arrived
    uint64_t newBytes{0};          //!< how much of it this acknowledgement brought
    bool marked{false};            //!< the acknowledged packet carried a congestion mark
    uint32_t switches{0};          //!< switches the packet passed
    uint32_t hops{0};              //!< entries of `telemetry`
    const FabricTelemetryHop* telemetry{nullptr}; //!< one entry a switch, in order of the path
    double pathUtilisation{-1.0}; //!< decoded from RoceTelemetry::PATH, below 0 if not sampled
};

/// The sending half of a queue pair, as its congestion control sees it.
class RoceSender
{
  public:
    virtual ~RoceSender() = default;
    /// \return simulated time
    virtual int64_t GetNowPs() const = 0;
    /// \return rate of the NIC's line
    virtual uint64_t GetLineRateBps() const = 0;
    /// \return round-trip time of a full packet and its acknowledgement on an idle network
    virtual int64_t GetBaseRoundTripPs() const = 0;
    /// \return window that keeps the path's slowest line busy on an idle network
    virtual uint64_t GetBandwidthDelayBytes() const = 0;
    /// \return payload of a full packet
    virtual uint32_t GetPayloadBytes() const = 0;
    /// \return bytes a full packet takes on the line, headers, preamble and gap counted
    virtual uint32_t GetPacketBytes() const = 0;
    /// \return switches on the path
    virtual uint32_t GetSwitches() const = 0;
    /// \return stream position of the next new byte to send
    virtual uint64_t GetSentBytes() const = 0;
    /// \return stream position up to which everything is acknowledged
    virtual uint64_t GetAcknowledgedBytes() const = 0;
    /// \return rate at which packets are paced
    virtual double GetRateBps() const = 0;
    /// \param rateBps rate from now on; less than `minimum_rate`, such as 0, is `minimum_rate`,
    /// more than the line's is the line's
    virtual void SetRateBps(double rateBps) = 0;
    /// \return most bytes in flight, 0 without limit
    virtual uint64_t GetWindowBytes() const = 0;
    /// \param bytes most bytes in flight from now on, 0 without limit
    virtual void SetWindowBytes(uint64_t bytes) = 0;
    /**
     * Have TimerDue called once; a timer that runs is set anew.
     * \param timer its number, 0 to 3
     * \param delayPs from now
     */
    virtual void StartTimer(uint32_t timer, int64_t delayPs) = 0;
    /// \param timer number of a timer that is not wanted any more
    virtual void StopTimer(uint32_t timer) = 0;
    /// \return a random number, uniform in [0, 1)
    virtual double GetRandom() = 0;
};

/// Numbers by name for a congestion control, as in the network file: times in picoseconds, rates in
/// bits per second, sizes in bytes, switches 0 or 1.
class RoceControlParameters
{
  public:
    // In the library: the bridge compiles, in each process, what stands in a header.
    RoceControlParameters();
    ~RoceControlParameters();
    RoceControlParameters(const RoceControlParameters& other);
    RoceControlParameters& operator=(const RoceControlParameters& other);

    /// \param name its name \param value its value
    void Set(const std::string& name, double value);

    /**
     * \param name its name
     * \param fallback its value if it is not set
     * \return its value
     */
    double Get(std::string_view name, double fallback) const;

  private:
    std::map<std::string, double, std::less<>> m_values; //!< the numbers
};

/// A rate of a sender whose line gets slower and faster: what a slow line cuts comes back.
class RoceRateOnLine
{
  public:
    /// \param rateBps the rate \param beforeBps of the line before \param lineBps of the line now
    /// \return the rate now: the line's, if it was the line's and no line has cut it
    double Follow(double rateBps, double beforeBps, double lineBps)
    {
        const double wantedBps = rateBps >= beforeBps ? m_cutBps : rateBps;
        m_cutBps = wantedBps > lineBps ? wantedBps : ALL;
        return wantedBps > lineBps ? lineBps : wantedBps;
    }

  private:
    static constexpr double ALL = std::numeric_limits<double>::infinity(); //!< of any line
    double m_cutBps{ALL}; //!< what it was when the line became slower than that
};

/**
 * Sets the rate and the window of one queue pair. One object belongs to one queue pair and lives as
 * long as it. A class is made with `const RoceControlParameters&`.
 */
class RoceCongestionControl
{
  public:
    virtual ~RoceCongestionControl() = default;

    /// The queue pair opens, at line rate and with the configured window. \param sender its sender
    virtual void Start(RoceSender& sender)
    {
        (void)sender;
    }

    /// An acknowledgement has come. \param sender the sender \param ack what it tells
    virtual void AckReceived(RoceSender& sender, const RoceAck& ack)
    {
        (void)sender;
        (void)ack;
    }

    /// A congestion notification packet has come. \param sender the sender
    virtual void CnpReceived(RoceSender& sender)
    {
        (void)sender;
    }

    /// A packet goes on the line. \param sender the sender \param bytes its bytes on the line
    virtual void PacketSent(RoceSender& sender, uint32_t bytes)
    {
        (void)sender;
        (void)bytes;
    }

    /**
     * Follow the numbers of another control from now on; what this one has learnt stays. A class
     * that does not say how keeps its own numbers.
     * \param other a new one of the same class \param sender the sender
     */
    virtual void Follow(const RoceCongestionControl& other, RoceSender& sender)
    {
        (void)other;
        (void)sender;
    }

    /**
     * The line has another rate. The sender's rate, if it was the line's, is so still; else it is
     * at most the line's.
     * \param sender the sender
     */
    virtual void LineChanged(RoceSender& sender)
    {
        (void)sender;
    }

    /// Packets were lost. \param sender the sender \param timeout by timeout, else by a NACK
    virtual void LossDetected(RoceSender& sender, bool timeout)
    {
        (void)sender;
        (void)timeout;
    }

    /// A timer is due. \param sender the sender \param timer its number
    virtual void TimerDue(RoceSender& sender, uint32_t timer)
    {
        (void)sender;
        (void)timer;
    }

    /// \return what data packets must carry
    virtual RoceTelemetry GetTelemetry() const
    {
        return RoceTelemetry::NONE;
    }

    /**
     * \return whether one that is made and started now would from now on do the same. A queue pair
     * with nothing under way then drops it, and makes another for its next packet. Start may not
     * ask for the time, for a random number or for a timer in a class whose objects say so when
     * they are made
     */
    virtual bool IsLikeNew() const
    {
        return false;
    }

    /// \return its estimate of congestion (DCQCN's and DCTCP's alpha, HPCC's U), for the records
    virtual double GetAlpha() const
    {
        return 0.0;
    }
};

} // namespace ns3
