// SPDX-License-Identifier: GPL-2.0-only
#include "simulation.h"

#include "fabric-delay.h"

#include "ns3/config.h"
#include "ns3/names.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr int NS3_FAILED_STATUS = 5; // exit status of the command line for it

/// ns-3 has printed what is wrong and ends the process: do so at once, without taking half a
/// simulation apart.
[[noreturn]] void
EndProcess()
{
    std::fputs("astra-ns3: error: ns-3 ended the process; its message stands above\n", stderr);
    std::fflush(stderr);
    std::_Exit(NS3_FAILED_STATUS);
}

bool g_live = false; //!< a simulation exists: ns-3 has one simulator per process
} // namespace

Simulation::Simulation(uint32_t seed, Beat beat)
    : m_beat(std::move(beat))
{
    if (g_live)
    {
        throw std::invalid_argument("another run is open in this process, and ns-3 has room for "
                                    "one; isolated=True plays runs side by side");
    }
    if (seed == 0)
    {
        throw std::invalid_argument("the seed must be above 0");
    }
    g_live = true;
    m_oldTerminate = std::set_terminate(&EndProcess);
    if (Time::GetResolution() != Time::PS)
    {
        // ns-3 allows it once per process, before its first simulation
        Time::SetResolution(Time::PS);
    }
    Simulator::Destroy(); // whoever asked ns-3 for the time before has had it make another one
    m_simulator = CreateObject<FabricSimulator>();
    Simulator::SetImplementation(m_simulator);
    RngSeedManager::SetSeed(seed);
    RngSeedManager::SetRun(1);
}

Simulation::~Simulation()
{
    Quieten();
    Simulator::Destroy();
    Config::Reset();
    RngSeedManager::ResetNextStreamIndex();
    Names::Clear();
    std::set_terminate(m_oldTerminate);
    g_live = false;
}

uint32_t
Simulation::Run(int64_t limitPs)
{
    if (!m_heartbeat)
    {
        m_heartbeat = std::make_unique<Heartbeat>(
            [this] { m_beat(Simulator::Now().GetTimeStep(), GetEvents()); });
    }
    m_stopped = false;
    m_limitReached = false;
    m_limit = EventId();
    if (limitPs >= 0)
    {
        m_limit =
            Simulator::Schedule(FabricDelay(limitPs - Simulator::Now().GetTimeStep(), "the limit"),
                                &Simulation::ReachLimit,
                                this);
    }
    Simulator::Run();
    m_limit.Cancel();
    if (!m_failure.empty())
    {
        return RUN_FAILED;
    }
    if (m_limitReached)
    {
        return RUN_LIMIT;
    }
    if (m_stopped)
    {
        return RUN_STOPPED;
    }
    return m_simulator->HasLiveEvents() ? RUN_HALTED : RUN_DRAINED;
}

void
Simulation::Stop()
{
    m_stopped = true;
    Simulator::Stop();
}

void
Simulation::Fail(const std::string& reason)
{
    if (m_failure.empty())
    {
        m_failure = reason;
    }
    Simulator::Stop();
}

void
Simulation::Quieten()
{
    m_heartbeat.reset();
}

const std::string&
Simulation::GetFailure() const
{
    return m_failure;
}

bool
Simulation::NextOnlyTells() const
{
    return m_simulator->NextOnlyTells();
}

uint64_t
Simulation::GetEvents() const
{
    return m_simulator->GetEventCount() - (m_heartbeat ? m_heartbeat->GetPlayed() : 0);
}

FabricSimulator&
Simulation::GetSimulator()
{
    return *m_simulator;
}

void
Simulation::ShowTime(int64_t* time)
{
    m_simulator->ShowTime(time);
}

void
Simulation::ReachLimit()
{
    if (m_heartbeat->IsPosted())
    {
        m_limit = Simulator::ScheduleNow(&Simulation::ReachLimit, this);
        return;
    }
    m_simulator->CatchUp();
    if (m_simulator->HasLiveEvents())
    {
        m_limitReached = true;
        Simulator::Stop();
    }
}

} // namespace astra_ns3
