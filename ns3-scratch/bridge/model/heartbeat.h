// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace astra_ns3
{

/**
 * Has a function called inside the simulation about every 100 ms of wall time, so that Python can
 * look for signals and draw its progress. A thread posts the event; at most one is waiting at any
 * time. The events change nothing in the simulation and are counted, so that they can be left out.
 */
class Heartbeat
{
  public:
    /// \param beat called in the simulation's own thread
    explicit Heartbeat(std::function<void()> beat);
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;

    /// \return whether a heartbeat waits in ns-3's event list
    bool IsPosted() const;
    /// \return heartbeats played so far
    uint64_t GetPlayed() const;

  private:
    /// Body of the thread.
    void Post();
    /// Body of the event.
    void Play();

    std::function<void()> m_beat;      //!< called
    std::atomic<bool> m_posted{false}; //!< an event waits
    uint64_t m_played{0};              //!< events played
    bool m_ending{false};              //!< the thread shall end
    std::mutex m_mutex;                //!< guards m_ending
    std::condition_variable m_wake;    //!< wakes the thread
    std::thread m_thread;              //!< posts the events
};

} // namespace astra_ns3
