// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Drives a congestion control without a network, by a clock moved by hand: for tests in C++ and,
 * through plain types, in Python.
 */
#pragma once

#include "roce-congestion-control.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/// What never changes for a queue pair.
struct RoceReplayPath
{
    uint64_t lineRateBps{100'000'000'000}; //!< rate of the NIC's line
    int64_t baseRoundTripPs{4'000'000};    //!< round-trip time on an idle network
    uint64_t bandwidthDelayBytes{50'000};  //!< window that keeps the path busy
    uint32_t payloadBytes{1'000};          //!< payload of a full packet
    uint32_t packetBytes{1'082};           //!< its bytes on the line
    uint32_t switches{1};                  //!< switches on the path
    uint64_t windowBytes{0};               //!< window configured, 0 without limit
};

/// A sender whose clock is moved by hand and that sends nothing.
class RoceReplaySender : public RoceSender
{
  public:
    /// \param path what never changes
    explicit RoceReplaySender(const RoceReplayPath& path);

    // Inherited
    int64_t GetNowPs() const override;
    uint64_t GetLineRateBps() const override;
    int64_t GetBaseRoundTripPs() const override;
    uint64_t GetBandwidthDelayBytes() const override;
    uint32_t GetPayloadBytes() const override;
    uint32_t GetPacketBytes() const override;
    uint32_t GetSwitches() const override;
    uint64_t GetSentBytes() const override;
    uint64_t GetAcknowledgedBytes() const override;
    double GetRateBps() const override;
    void SetRateBps(double rateBps) override;
    uint64_t GetWindowBytes() const override;
    void SetWindowBytes(uint64_t bytes) override;
    void StartTimer(uint32_t timer, int64_t delayPs) override;
    void StopTimer(uint32_t timer) override;
    double GetRandom() override;

    /// \param control it hears of what follows; it must live as long
    void Open(RoceCongestionControl& control);
    /// Move the clock on and fire what is due by then, in order. \param timePs new time
    void Advance(int64_t timePs);
    /// Packets of so much payload go on the line. \param bytes payload
    void Send(uint64_t bytes);
    /// \param ack its stream position becomes the acknowledged one
    void Acknowledge(const RoceAck& ack);
    /// \return timers that run
    uint32_t CountTimers() const;
    /// \return timers that have fired so far
    uint64_t CountTimerEvents() const;

  private:
    static constexpr uint32_t TIMERS = 4;      //!< timers of a queue pair
    static constexpr int64_t NOT_RUNNING = -1; //!< time of a timer that does not run

    /// A timer.
    struct Timer
    {
        int64_t timePs{NOT_RUNNING}; //!< when it is due
        uint64_t order{0};           //!< which of those due at once goes first
    };

    /// \return the timer that is due first, by that time, or TIMERS \param timePs the time
    uint32_t FindDue(int64_t timePs) const;

    RoceReplayPath m_path;                     //!< what never changes
    RoceCongestionControl* m_control{nullptr}; //!< who hears of it all
    int64_t m_nowPs{0};                        //!< the clock
    double m_rateBps;                          //!< the rate set
    uint64_t m_windowBytes;                    //!< the window set
    uint64_t m_sentBytes{0};                   //!< stream position sent
    uint64_t m_acknowledgedBytes{0};           //!< stream position acknowledged
    std::array<Timer, TIMERS> m_timers;        //!< the timers
    uint64_t m_timerStarts{0};                 //!< timers started so far
    uint64_t m_timerEvents{0};                 //!< timers fired so far
    uint64_t m_random{1};                      //!< state of the random numbers
};

/// A congestion control by name over a RoceReplaySender, by calls of plain numbers.
class RoceControlReplay
{
  public:
    /// \param name name of the control \param parameters its parameters \param path of the sender
    RoceControlReplay(const std::string& name,
                      const RoceControlParameters& parameters,
                      const RoceReplayPath& path);

    /// \param control any control \param path of the sender
    RoceControlReplay(std::unique_ptr<RoceCongestionControl> control, const RoceReplayPath& path);

    /// \param timePs time from now on; timers due by then have fired
    void Advance(int64_t timePs);
    /// A congestion notification packet comes.
    void Cnp();
    /// A packet goes on the line. \param bytes its payload
    void Sent(uint32_t bytes);
    /// Packets were lost. \param timeout by timeout, else by a NACK
    void Lost(bool timeout);
    /**
     * The next acknowledgement carries this, after what earlier calls gave.
     * \param timePs when the packet left the queue
     * \param sentBytes bytes on the line before it
     * \param queueBytes bytes left behind it
     * \param rateBps rate of the line
     */
    void AddHop(int64_t timePs, uint64_t sentBytes, uint64_t queueBytes, uint64_t rateBps);
    /// The next acknowledgement carries this. \param utilisation the path's
    void SetPathUtilisation(double utilisation);
    /**
     * An acknowledgement comes.
     * \param roundTripPs round-trip time of its packet
     * \param newBytes bytes it acknowledges
     * \param marked its packet had a congestion mark
     */
    void Ack(int64_t roundTripPs, uint64_t newBytes, bool marked);

    /// \return the rate
    double GetRateBps() const;
    /// \return the window, 0 without limit
    uint64_t GetWindowBytes() const;
    /// \return the estimate of congestion
    double GetAlpha() const;
    /// \return timers that run
    uint32_t CountTimers() const;
    /// \return timers that have fired so far
    uint64_t CountTimerEvents() const;

  private:
    std::unique_ptr<RoceCongestionControl> m_control; //!< the control
    RoceReplaySender m_sender;                        //!< its sender
    RoceReplayPath m_path;                            //!< what never changes
    std::vector<FabricTelemetryHop> m_hops;           //!< telemetry of the next acknowledgement
    double m_pathUtilisation{-1.0};                   //!< the same, for the path
};

} // namespace ns3
