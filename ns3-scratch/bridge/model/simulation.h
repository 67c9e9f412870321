// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-simulator.h"
#include "heartbeat.h"
#include "session-parameters.h"

#include "ns3/event-id.h"
#include "ns3/ptr.h"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace astra_ns3
{

/// ns-3's one simulator of this process, from a clean start to its complete reset.
class Simulation
{
  public:
    /// Called about every 100 ms of wall time: time in picoseconds, events played so far.
    using Beat = std::function<void(int64_t timePs, uint64_t events)>;

    /**
     * \param seed seed of all random numbers, above 0
     * \param beat called while it runs
     */
    Simulation(uint32_t seed, Beat beat);
    ~Simulation();
    Simulation(const Simulation&) = delete;
    Simulation& operator=(const Simulation&) = delete;

    /// \param limitPs simulated time at which to give up, or below 0. \return a RunStatus
    uint32_t Run(int64_t limitPs);
    /// Leave Run after the present event.
    void Stop();
    /// Leave Run: something can't go on. \param reason why, in one line; the first one counts
    void Fail(const std::string& reason);
    /// No more heartbeats.
    void Quieten();
    /// \return why Run returned RUN_FAILED
    const std::string& GetFailure() const;
    /// \return see FabricSimulator
    bool NextOnlyTells() const;
    /// \return events played, without heartbeats
    uint64_t GetEvents() const;
    /// \return ns-3's simulator of this run
    ns3::FabricSimulator& GetSimulator();
    /// \param time where the time of each event is written as it begins
    void ShowTime(int64_t* time);

  private:
    /// The limit on simulated time is reached, unless nothing else was left to happen.
    void ReachLimit();

    Beat m_beat;                                    //!< called while it runs
    ns3::Ptr<ns3::FabricSimulator> m_simulator;     //!< ns-3's simulator of this run
    std::terminate_handler m_oldTerminate{nullptr}; //!< in force before
    std::unique_ptr<Heartbeat> m_heartbeat;         //!< from the first Run on
    std::string m_failure;                          //!< why it can't go on
    ns3::EventId m_limit;                           //!< event of the limit
    bool m_limitReached{false};                     //!< it was
    bool m_stopped{false};                          //!< Stop was called
};

} // namespace astra_ns3
