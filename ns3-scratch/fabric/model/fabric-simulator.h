// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-due-list.h"

#include "ns3/event-id.h"
#include "ns3/simulator-impl.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ns3
{

class FabricCrew;
class FabricHostGroup;
class FabricPort;
struct FabricLane;
struct FabricNote;

/**
 * Plays the events of ns-3 and those of FabricPort, in windows of time.
 *
 * Nodes belong to groups. Group 0 holds the hosts and all that ns-3 schedules; a switch may be a
 * group of its own. A frame that leaves a group arrives in another one no earlier than the shortest
 * delay between groups later. So within a window of that length no group hears of what another one
 * does in it, and each can be played alone, while what it works on is in cache. Group 0 goes first,
 * then each switch that has something to do. Time without events is jumped over.
 *
 * On several cores a window is half of that delay at most, and group 0 is one window ahead of the
 * switches: what it does in a window arrives at a switch two windows later, and the other way
 * round. So the thread of the simulation plays group 0 while others play switches, and helps them
 * when it is done. Between windows it plays alone: frames are handed over that went on a link on
 * which nothing was, and what switches had to tell is told in order of time (FabricLane).
 *
 * The order within a group does not depend on windows: by time; what was scheduled before the first
 * Run; then arrivals of frames, by node and port (where ports are OldestFirst, those first that
 * were sent first); then ports that wake; then all other events, in the order of their scheduling.
 * Without groups (none is set up) there is one event list for all, in the same order.
 *
 * Whatever in group 0 looks at a switch or changes it calls CatchUp before: switches are then
 * played up to that event.
 *
 * Hosts may be groups of their own, too (PlayHostsApart): what a host does is then asked for with
 * ScheduleOn. A host may have something to tell at once, such as the end of a collective, and then
 * anybody may act on any host in the same moment. So a window in which group 0 has an event, or in
 * which a host may have something to tell, is played *in order*: all hosts from the list of group
 * 0. In all other windows each host is played by itself, as a switch is; on several cores by any
 * thread, one window ahead of the switches. Events of hosts come after
 * those of ns-3 that are due at the same time, in the order of the moments at which they were
 * scheduled, then by node.
 *
 * ns-3's TCP cancels and sets its retransmission timer with each acknowledgement, and a cancelled
 * event would stay until its time comes; so the list of group 0 sweeps cancelled events out when it
 * has doubled since the last sweep, at a constant cost each.
 */
class FabricSimulator : public SimulatorImpl
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    FabricSimulator();
    ~FabricSimulator() override;

    /// \return the simulator in use; there must be one of this class
    static FabricSimulator& Get();
    /// \return the simulator in use if it is of this class, or none
    static FabricSimulator* Find();

    /// What a port wants to be called for.
    enum class Call : uint8_t
    {
        ARRIVAL, //!< Arrive, in the group of who receives
        WAKE     //!< Wake, in the group of the port's node
    };

    /**
     * Have a port called.
     * \param port the port
     * \param call what for
     * \param timePs when, not in the past
     */
    void Post(FabricPort* port, Call call, int64_t timePs);
    /// \param port a port whose link leads into another group, and on which nothing travels any
    /// more: it is settled when the window ends
    void NoteEmptied(FabricPort* port);
    /// \param port a port that is to be settled when the turn of its group ends, until then
    void NoteBusy(FabricPort* port);
    /// \param port a port that goes, and must not be called any more
    void Forget(const FabricPort* port);

    /**
     * Play in windows from now on; nothing may be under way yet.
     * \param groups groups of nodes, group 0 counted
     * \param windowPs length of a window, above 0: no link between groups is shorter, and on
     * several cores none is shorter than two windows
     * \param cores threads that play
     */
    void UseWindows(uint32_t groups, int64_t windowPs, uint32_t cores = 1);
    /**
     * Have hosts played apart from group 0; after UseWindows.
     * \param groupOfNode group of each node; those of hosts are 1, 2, ...
     * \param hosts what is known of each of these
     * \param played called when hosts have been played up to a time, and no thread plays
     */
    void PlayHostsApart(std::vector<uint32_t> groupOfNode,
                        std::vector<FabricHostGroup*> hosts,
                        std::function<void(int64_t)> played = {});
    /**
     * Schedule what a host does by itself: it acts on nothing but the host and its ports, unless
     * the host's FabricHostGroup foresees it.
     * \param node the host's node
     * \param delayPs from now, not below 0
     * \param event what to do, a counted reference
     * \return its id
     */
    EventId ScheduleOn(uint32_t node, int64_t delayPs, EventImpl* event);
    /// Have what ScheduleOn schedules come after other events that are due at the same time, by the
    /// moment of scheduling and then by node: an order that does not depend on windows. Else all
    /// come in the order of their scheduling, and hosts can't be played apart. Before Run.
    void OrderByHost();
    /// \return whether the present event is one of a group that is played by itself
    bool IsApart() const;

    /// \return when the present window began, or 0: all before has been played
    int64_t GetWindowBeginPs() const
    {
        return m_groups.empty() ? 0 : m_window * m_windowPs;
    }

    /// Play all groups up to the present event of group 0; in another group, nothing.
    void CatchUp();

    /// \return whether an event is left that is not cancelled; after CatchUp
    bool HasLiveEvents() const;

    /// \return with windows: all groups have been played up to this time
    int64_t GetSettledPs() const
    {
        return m_switchWindow * m_windowPs - 1;
    }

    /// \return the least delay that a link between groups may have, 0 without windows
    int64_t GetLeastDelayPs() const
    {
        return m_groups.empty() ? 0 : (HasCrew() ? 2 * m_windowPs : m_windowPs);
    }

    /// \return whether the next event is due at the moment of the last one, and does nothing but
    /// tell a listener of something
    bool NextOnlyTells() const;
    /**
     * Have the time of each event written somewhere as it begins, such as into memory that another
     * process can still read when this one has crashed.
     * \param place where; it must outlive the simulator
     */
    void ShowTime(int64_t* place);

    void Destroy() override;
    bool IsFinished() const override;
    void Stop() override;
    EventId Stop(const Time& delay) override;
    /// \throw std::overflow_error if the time is beyond what an int64 holds, as all that schedule
    EventId Schedule(const Time& delay, EventImpl* event) override;
    void ScheduleWithContext(uint32_t context, const Time& delay, EventImpl* event) override;
    EventId ScheduleNow(EventImpl* event) override;
    EventId ScheduleDestroy(EventImpl* event) override;
    void Remove(const EventId& id) override;
    void Cancel(const EventId& id) override;
    bool IsExpired(const EventId& id) const override;
    void Run() override;
    Time Now() const override;
    Time GetDelayLeft(const EventId& id) const override;
    Time GetMaximumSimulationTime() const override;
    /// Does nothing: the event lists are this simulator's own.
    void SetScheduler(ObjectFactory schedulerFactory) override;
    uint32_t GetSystemId() const override;
    uint32_t GetContext() const override;
    uint64_t GetEventCount() const override;

    /// \return windows so far in which each host played by itself
    uint64_t CountApart() const
    {
        return m_apart;
    }

  private:
    static constexpr std::size_t FEW_DUES = 64; //!< too few to be swept

    /// Nodes that are played together. Of group 0 only `busy` is used.
    struct alignas(64) Group
    {
        FabricDueList dues;            //!< what is due
        std::vector<FabricPort*> busy; //!< see NoteBusy
        int64_t playedPs{0};           //!< it has been played up to this time
        int64_t listedFor{NEVER};      //!< the earliest window for which it is in a lane's list
        int64_t listedFar{NEVER};      //!< the last one of these that was not the next one
        std::size_t sweepAt{FEW_DUES}; //!< size of dues at which to sweep
        bool active{false};            //!< it is in m_active
    };

    /// An event that another thread has scheduled.
    struct Foreign
    {
        uint32_t context; //!< its node
        int64_t delayPs;  //!< from when it is taken in
        EventImpl* event; //!< counted reference
    };

    static constexpr uint64_t ARRIVALS = uint64_t{1} << 60; //!< order of arrivals, from here on
    static constexpr uint64_t WAKES = uint64_t{2} << 60;    //!< of ports that wake
    static constexpr uint64_t LATER = uint64_t{3} << 60;    //!< of events scheduled while it runs
    static constexpr uint64_t HOSTS = uint64_t{4} << 60;    //!< of those that ScheduleOn schedules
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();
    static constexpr std::size_t SMALLEST_SWEEP = 4096;

    /// \return what a port is due for
    static Call CallOf(const FabricDue& due);
    /// \return whether something is due no more: cancelled, or a port that has changed its mind
    static bool IsStale(const FabricDue& due);
    /// \return time after a delay \throw std::overflow_error if there is no such time
    int64_t After(const Time& delay) const;
    /// Add an event of ns-3 to group 0.
    EventId Insert(int64_t timePs, uint32_t context, EventImpl* event);
    /// Take in what other threads have scheduled.
    void TakeInForeign();
    /// Play something.
    void Play(FabricLane& lane, const FabricDue& due);
    /// Play an event of ns-3, or of a host.
    void PlayEvent(FabricLane& lane, const FabricDue& due);
    /// Play group 0 until a time. \return whether it got there: nobody said Stop
    bool PlayFirstGroup(int64_t endPs);
    /// Play all other groups up to a moment within the window, which they do not play any more.
    void PlayOtherGroups(const FabricDue& end);
    /// Play a group up to a moment, which it does not play any more.
    void PlayGroup(FabricLane& lane, Group& group, const FabricDue& end);
    /// Play what is left of a group's window.
    void PlayTurn(FabricLane& lane, uint32_t number);
    /// Settle the ports that are to be settled at the end of a group's window.
    void SettleBusy(FabricLane& lane, Group& group, int64_t endPs);
    /// Put down when a group has its next turn.
    void ListNext(FabricLane& lane, uint32_t number);
    /// Something is due in a group that has no turn now. \param timePs when
    void ListFor(uint32_t number, int64_t timePs);
    /// Begin the next window. \return whether there is one
    bool BeginWindow();
    /// Find the groups that have something to do in their windows. \param hosts hosts, too
    void FindActive(bool hosts);
    /// Take over the groups that are listed for a window, or for one before it.
    void TakeListed(std::map<int64_t, std::vector<uint32_t>>& listed, int64_t window);
    /// \return the time at which a window ends
    int64_t EndOf(int64_t window) const;
    /// \return the next window in which group 0 has something to do
    int64_t FindFirstWindow() const;
    /// \return the next window in which another group has, for the hosts
    int64_t FindOtherWindow() const;
    /// All groups have a turn in this window, and what they leave is handed over.
    void EndWindow();
    /// All groups but 0 have their turn.
    void FinishTurns();
    /// Nothing is left: it is as late as the last event was. Ports may wake later than that, for
    /// nothing, and how often they do depends on who has looked at them.
    void TurnBackTime();
    /// Somebody has thrown something: no thread plays any more.
    void LeaveCrew();
    /// What lanes have put down is taken up.
    void HandOver();
    /// Tell what lanes have noted.
    void TellNotes();
    /// \return whether threads play
    bool HasCrew() const;

    /// \return whether all threads play hosts in this window
    bool ThreadsPlayHosts() const
    {
        return m_crew && !m_hosts.empty() && !m_inOrder;
    }

    /// \return the window that a group plays now
    int64_t WindowOf(uint32_t number) const
    {
        return IsOfHosts(number) ? m_window : m_switchWindow;
    }

    /// Forget all that is due.
    void ReleaseDues();
    /// Sweep out what is cancelled. \return size at which to do so again, at least the smallest
    static std::size_t Sweep(FabricDueList& dues, std::size_t smallest);

    /// \param number of a group \return whether it is one of hosts that are played apart
    bool IsOfHosts(uint32_t number) const
    {
        return number != 0 && number <= m_hosts.size();
    }

    /// \return whether group 0's list holds what a group has to do then
    bool IsInFirst(uint32_t number, int64_t timePs) const
    {
        return number == 0 || m_groups.empty() ||
               (m_inOrder && timePs < m_windowEndPs && IsOfHosts(number));
    }

    /// Put something into the list of a group, whose turn it may be.
    void Put(FabricLane& lane, uint32_t number, const FabricDue& due);
    /// \return whether the hosts have to play the window that begins in order
    bool MustBeInOrder() const;
    /// What hosts have to do in the window that begins is put into the list of group 0.
    void PutInOrder();

    FabricDueList m_first;                 //!< of group 0
    std::vector<Group> m_groups;           //!< by number; none: no windows
    std::vector<FabricHostGroup*> m_hosts; //!< of groups 1, 2, ...; none: hosts are in group 0
    std::vector<uint32_t> m_groupOfNode;   //!< with m_hosts: of each node
    bool m_byHost{false};                  //!< see OrderByHost
    bool m_inOrder{false};                 //!< hosts play the present window from m_first
    uint64_t m_apart{0};                   //!< windows in which each host played by itself
    std::vector<uint32_t> m_active;        //!< groups that have a turn, which any thread plays
    std::vector<uint32_t> m_hostTurns;     //!< hosts whose turn the first thread ends, in order
    std::function<void(int64_t)> m_played; //!< see PlayHostsApart
    std::vector<FabricPort*> m_emptied;    //!< see NoteEmptied
    std::vector<std::unique_ptr<FabricLane>> m_lanes; //!< of each thread; first this simulation's
    std::unique_ptr<FabricCrew> m_crew;               //!< the other threads, or none
    int64_t m_windowPs{NEVER};                        //!< length of a window
    int64_t m_window{-1};         //!< number of the present window, or of the last
    int64_t m_switchWindow{-1};   //!< that of the switches: with threads one behind
    int64_t m_windowEndPs{NEVER}; //!< end of the present window; NEVER without windows
    bool m_inWindow{false};       //!< a window is under way
    bool m_crewPlays{false};      //!< other threads are playing m_active
    uint64_t m_order{0};          //!< order of the present event of group 0
    uint32_t m_rank{0};           //!< its rank
    uint64_t m_uid;               //!< number of the next event of ns-3

    bool m_hasRun{false};                  //!< Run was called
    bool m_stop{false};                    //!< Stop was called
    std::size_t m_sweepAt{SMALLEST_SWEEP}; //!< size of m_first at which to sweep
    int64_t m_ownPlace{0};                 //!< where nobody looks
    int64_t* m_shownPs{&m_ownPlace};       //!< where the time of each event is written
    std::vector<EventId> m_destroyEvents;  //!< played by Destroy
    std::thread::id m_thread;              //!< whose simulator this is
    std::mutex m_mutex;                    //!< guards m_foreign
    std::vector<Foreign> m_foreign;        //!< scheduled by other threads
    std::atomic<bool> m_hasForeign{false}; //!< there are some
};

} // namespace ns3
