// SPDX-License-Identifier: GPL-2.0-only
#include "heartbeat.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <chrono>

namespace astra_ns3
{

namespace
{
constexpr std::chrono::milliseconds FIRST_PERIOD{5};
constexpr std::chrono::milliseconds PERIOD{100};
} // namespace

Heartbeat::Heartbeat(std::function<void()> beat)
    : m_beat(std::move(beat)),
      m_thread([this] { Post(); })
{
}

Heartbeat::~Heartbeat()
{
    {
        const std::lock_guard<std::mutex> lock(m_mutex);
        m_ending = true;
    }
    m_wake.notify_one();
    m_thread.join();
}

bool
Heartbeat::IsPosted() const
{
    return m_posted;
}

uint64_t
Heartbeat::GetPlayed() const
{
    return m_played;
}

void
Heartbeat::Post()
{
    std::unique_lock<std::mutex> lock(m_mutex);
    // Sooner at first, so that what is known of a run that dies young is not its beginning only.
    std::chrono::milliseconds period = FIRST_PERIOD;
    while (!m_wake.wait_for(lock, period, [this] { return m_ending; }))
    {
        period = std::min(2 * period, PERIOD);
        if (!m_posted.exchange(true))
        {
            // The one call of ns-3 that other threads may make.
            ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                                ns3::Time(0),
                                                &Heartbeat::Play,
                                                this);
        }
    }
}

void
Heartbeat::Play()
{
    m_posted = false;
    m_played++;
    m_beat();
}

} // namespace astra_ns3
