// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/event-id.h"
#include "ns3/simulator-impl.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace ns3
{

class FabricPort;

/**
 * Plays the events of ns-3 and those of FabricPort, in windows of time.
 *
 * Nodes belong to groups. Group 0 holds the hosts and all that ns-3 schedules; a switch may be a
 * group of its own. A frame that leaves a group arrives in another one no earlier than the shortest
 * delay between groups later. So within a window of that length no group hears of what another one
 * does in it, and each can be played alone, while what it works on is in cache. Group 0 goes first,
 * then each switch that something arrives at. Time without events is jumped over.
 *
 * The order within a group does not depend on windows: by time; what was scheduled before the first
 * Run; then arrivals of frames, by node and port (where ports are OldestFirst, those first that
 * were sent first); then ports that wake; then all other events, in the order of their scheduling.
 * Without groups (none is set up) there is one event list for all, in the same order.
 *
 * Whatever in group 0 looks at a switch or changes it calls CatchUp before: switches are then
 * played up to that event.
 *
 * The event lists are four-way heaps. ns-3's TCP cancels and sets its retransmission timer with
 * each acknowledgement, and a cancelled event would stay until its time comes; so the list of group
 * 0 sweeps cancelled events out when it has doubled since the last sweep, at a constant cost each.
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
    /// \param port a port that goes, and must not be called any more
    void Forget(const FabricPort* port);

    /**
     * Play in windows from now on; nothing may be under way yet.
     * \param groups groups of nodes, group 0 counted
     * \param windowPs length of a window: no link between groups is shorter; above 0
     */
    void UseWindows(uint32_t groups, int64_t windowPs);
    /// Play all groups up to the present event of group 0; in another group, nothing.
    void CatchUp();

    /// \return whether an event is left that is not cancelled
    bool HasLiveEvents() const;
    /// \return whether the next event is due at the moment of the last one, and does nothing but
    /// tell a listener of something
    bool NextOnlyTells() const;
    /**
     * Have the time of each event written somewhere as it begins, such as into memory that another
     * process can still read when this one has crashed.
     * \param place where; it must outlive the simulator
     */
    void ShowTime(int64_t* place);

    /// \return the present time
    int64_t GetNowPs() const
    {
        return m_nowPs;
    }

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

  private:
    /// Something that is due.
    struct Due
    {
        int64_t timePs;   //!< when
        uint64_t order;   //!< smaller comes first at that time
        uintptr_t target; //!< an EventImpl, or a FabricPort with a mark in the lowest bits
        uint32_t rank;    //!< of a port: smaller comes first at that time; of an event: its node
        uint32_t group;   //!< who plays it
    };

    /// A four-way heap of what is due, the next first.
    class List
    {
      public:
        /// \return whether there is nothing
        bool IsEmpty() const
        {
            return m_heap.empty();
        }

        /// \return the next; there must be one
        const Due& Front() const
        {
            return m_heap.front();
        }

        /// \return how many there are
        std::size_t GetSize() const
        {
            return m_heap.size();
        }

        /// \return all, in no order that matters
        const std::vector<Due>& GetAll() const
        {
            return m_heap;
        }

        /// Add one.
        void Push(const Due& due);
        /// Put one in the place of the next.
        void ReplaceFront(const Due& due);
        /// \return the next, taken out
        Due Pop();
        /// Take out the one at a place.
        void Erase(std::size_t place);
        /// Take out all for which a condition holds. \return how many
        template <class CONDITION>
        std::size_t EraseIf(const CONDITION& condition);

      private:
        void SiftUp(std::size_t place);
        void SiftDown(std::size_t place);

        std::vector<Due> m_heap; //!< the heap
    };

    /// Nodes that are played together, group 0 excepted.
    struct Group
    {
        List dues;                  //!< of the present window, once its turn has begun
        std::vector<Due> handedOut; //!< of the present window, until then
        bool listed{false};         //!< it is among m_active
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
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();
    static constexpr std::size_t WAYS = 4;
    static constexpr std::size_t SMALLEST_SWEEP = 4096;
    static constexpr std::size_t BUCKETS = 256; //!< windows ahead that have a bucket

    /// \return whether a is due before b
    static bool IsBefore(const Due& a, const Due& b)
    {
        return a.timePs != b.timePs ? a.timePs < b.timePs
               : a.order != b.order ? a.order < b.order
                                    : a.rank < b.rank;
    }

    /// \return whether something is due no more: cancelled, or a port that has changed its mind
    static bool IsStale(const Due& due);
    /// \return time after a delay \throw std::overflow_error if there is no such time
    int64_t After(const Time& delay) const;
    /// Add an event of ns-3 to group 0.
    EventId Insert(int64_t timePs, uint32_t context, EventImpl* event);
    /// Take in what other threads have scheduled.
    void TakeInForeign();
    /// Play something.
    void Play(const Due& due);
    /// Play group 0 until a time. \return whether it got there: nobody said Stop
    bool PlayFirstGroup(int64_t endPs);
    /// Play all other groups up to a moment, which they do not play any more.
    void PlayOtherGroups(const Due& end);
    /// What was handed out to a group goes into its list.
    void BeginTurn(Group& group);
    /// Begin the next window. \return whether there is one
    bool BeginWindow();
    /// Hand out what is due in the window that begins.
    void HandOut(const Due& due);
    /// All has been played: what left a group in the window goes on its way.
    void EndWindow();
    /// Put something due beyond the present window where it waits.
    void PutAside(const Due& due);
    /// \return time of the earliest that waits aside
    int64_t FindFirstAsidePs() const;
    /// Forget all that is due.
    void ReleaseDues();
    /// Sweep out what is cancelled in group 0.
    void Sweep();

    List m_first;                            //!< of group 0
    std::vector<Group> m_groups;             //!< by number; none: no windows
    std::vector<uint32_t> m_active;          //!< groups with something due in this window
    std::vector<std::vector<Due>> m_buckets; //!< due in windows to come, by number of the window
    std::vector<std::vector<Due>> m_spare;   //!< memory of buckets that are played
    List m_far;                              //!< due beyond all buckets
    std::vector<FabricPort*> m_emptied;      //!< see NoteEmptied
    int64_t m_windowPs{NEVER};               //!< length of a window
    int64_t m_window{-1};                    //!< number of the present window, or of the last
    int64_t m_windowEndPs{NEVER};            //!< its end; NEVER without windows
    bool m_inWindow{false};                  //!< a window is under way
    std::size_t m_aside{0};                  //!< in all buckets
    uint32_t m_group{0};                     //!< which is being played
    bool m_frontPlayed{false};               //!< the first in its list is being played
    int64_t m_nowPs{0};                      //!< present time
    uint64_t m_order{0};                     //!< order of the present event of group 0
    uint32_t m_rank{0};                      //!< its rank
    uint32_t m_context;                      //!< of the present event
    uint64_t m_uid;                          //!< number of the next event of ns-3
    uint32_t m_firstLaterUid;                //!< of the first that was scheduled while it ran
    bool m_hasRun{false};                    //!< Run was called
    bool m_stop{false};                      //!< Stop was called
    uint64_t m_events{0};                    //!< played; how often ports wake depends on who looks
    std::size_t m_sweepAt{SMALLEST_SWEEP};   //!< size of m_first at which to sweep
    int64_t m_ownPlace{0};                   //!< where nobody looks
    int64_t* m_shownPs{&m_ownPlace};         //!< where the time of each event is written
    std::vector<EventId> m_destroyEvents;    //!< played by Destroy
    std::thread::id m_thread;                //!< whose simulator this is
    std::mutex m_mutex;                      //!< guards m_foreign
    std::vector<Foreign> m_foreign;          //!< scheduled by other threads
    std::atomic<bool> m_hasForeign{false};   //!< there are some
};

} // namespace ns3
