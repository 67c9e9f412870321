// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"

#include "ns3/event-id.h"

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * Looks for ports that are stopped for too long: a storm of pauses, or a deadlock, in which ports
 * wait for each other in a circle (cyclic buffer dependency: S. Hu et al., "Deadlocks in Datacenter
 * Networks: Why Do They Form, and How to Avoid Them", HotNets 2016).
 *
 * A stopped port waits for the ingress queue that stopped it. That waits for the ports that hold
 * its frames. If these are stopped too, and so on back to the first, nothing moves any more. Where
 * ports send by credit, a lane goes on as soon as any of its frames has left; so there a circle
 * counts only among lanes all of whose frames wait in such lanes.
 */
class FabricPauseWatchdog : public FabricPauseListener
{
  public:
    /// Called with one line on a deadlock.
    using DeadlockCallback = std::function<void(const std::string& report)>;

    /// \param limitPs stopped for so long is too long \param deadlock told of a deadlock
    FabricPauseWatchdog(int64_t limitPs, DeadlockCallback deadlock);
    ~FabricPauseWatchdog() override;
    /// \param port a port to watch \param name its name in reports
    void AddPort(Ptr<FabricPort> port, std::string name);
    /// \return pauses that lasted too long, each of a port and a priority counted once, as of now
    uint64_t GetStorms();
    /// \return the longest of them in words, or nothing if there was none
    std::string DescribeLongest();

    /// A port was stopped or let go on. Ports tell in no order of time.
    void PauseChanged(const FabricPort& port, int64_t nowPs, uint8_t pausedPriorities) override;

  private:
    /// A port in one priority.
    struct Stop
    {
        std::size_t port;  //!< place in m_ports
        uint32_t priority; //!< the priority
    };

    /// A watched port.
    struct Watched
    {
        Ptr<FabricPort> port; //!< the port
        std::string name;     //!< its name
        uint8_t stopped{0};   //!< priorities that are stopped
    };

    /// A pause that goes on.
    struct Pause
    {
        Stop stop;       //!< where
        int64_t sincePs; //!< since when
        bool counted;    //!< it has lasted too long, and is counted
    };

    /// Have all that is due by now played, ports that credit has let go on too.
    void CatchUp();
    /// A port's place in m_ports, and a priority or lane of it.
    using Key = std::pair<std::size_t, uint32_t>;

    /// \return bytes of frames in a queue that came in by a port and a lane
    static uint64_t BytesFrom(const FabricFrameList& queue, uint32_t ingressPort, uint32_t lane);
    /// \return whether a port is stopped in a priority for too long
    bool IsStoppedForLong(const FabricPort& port, uint32_t priority, int64_t nowPs) const;
    /// \return bytes that a lane has sent and that wait in lanes that are stuck
    uint64_t CountStuckBytes(const Key& lane) const;
    /// Find the lanes that never get credit any more.
    void FindStuck();
    /// Have Check called at a time, or before.
    void CheckAt(int64_t timePs);
    /// Count a pause if it has lasted too long by now.
    void CountOne(Pause& pause, int64_t nowPs);
    /// Some pause has lasted too long.
    void Check();
    /// Look again when the next can have lasted too long.
    void ScheduleCheck(int64_t nowPs);
    /// Count what has lasted too long by now.
    void Count(int64_t nowPs);
    /// \param pause a pause \param endPs its end, or the present
    void NoteLength(const Pause& pause, int64_t endPs);
    /// \return the ports stopped for too long that hold frames that keep this one stopped
    std::vector<Stop> WaitsFor(const Stop& stop) const;
    /// \return a circle that begins at this port, or nothing
    std::vector<Stop> FindCircle(const Stop& start) const;
    /// \return what is wrong, in one line
    std::string Describe(const std::vector<Stop>& circle) const;

    int64_t m_limitPs;            //!< stopped for so long is too long
    DeadlockCallback m_deadlock;  //!< told of a deadlock
    std::vector<Watched> m_ports; //!< the ports
    std::unordered_map<const FabricPort*, std::size_t> m_places; //!< their places
    EventId m_check;                                             //!< next look
    std::vector<Pause> m_pauses;                                 //!< those that go on
    uint64_t m_storms{0};                                        //!< those that lasted too long
    int64_t m_longestPs{0};                                      //!< the longest of them
    Stop m_longest{0, 0};                                        //!< where it was
    std::set<Key> m_stuck; //!< lanes that never get credit any more
};

} // namespace ns3
