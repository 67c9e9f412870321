// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/scheduler.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class FabricScheduler;

/// Looks into the FabricScheduler of the running simulator, which ns-3 hides: give it as attribute
/// "Monitor".
class FabricSchedulerMonitor : public Object
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    /// \return whether an event is left that is not cancelled
    bool HasLiveEvents() const;
    /// \return whether the next event is due at the moment of the last one, and does nothing but
    /// tell a listener of something
    bool NextOnlyTells() const;
    /// \return placeholders given to the simulator for events that were swept out
    uint64_t GetPlaceholders() const;
    /**
     * Have the time of each event written somewhere as it begins, such as into memory that another
     * process can still read when this one has crashed.
     * \param place where; it must outlive the simulator
     */
    void ShowTime(int64_t* place);

  private:
    friend class FabricScheduler;
    int64_t m_ownPlace{0};                       //!< where nobody looks
    int64_t* m_timePs{&m_ownPlace};              //!< time of the last event taken
    const FabricScheduler* m_scheduler{nullptr}; //!< the scheduler, while it lives
    uint64_t m_placeholders{0};                  //!< placeholders given
};

/**
 * An event list for runs with many cancelled timers: a four-way heap that sweeps out cancelled
 * events now and then.
 *
 * ns-3's TCP cancels and sets its retransmission timer with each acknowledgement, and a cancelled
 * event stays in the list until its time comes: at 100 Gb/s and a timer of 10 ms millions of them.
 * Here the list is swept when it has doubled since the last sweep, which costs a constant time an
 * event, and a cancelled event never reaches the simulator. That counts what it has scheduled and
 * checks, when nothing is left, that it got it all back, so it is given a placeholder for each
 * event swept out at the very end. The order of events is ns-3's: by time, then by order of
 * scheduling.
 */
class FabricScheduler : public Scheduler
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    ~FabricScheduler() override;

    /// \param event to keep \throw std::overflow_error if its time is beyond what an int64 holds
    void Insert(const Event& event) override;
    bool IsEmpty() const override;
    Event PeekNext() const override;
    Event RemoveNext() override;
    void Remove(const Event& event) override;
    /// \return whether an event is left that is not cancelled
    bool HasLiveEvents() const;
    /// \return see FabricSchedulerMonitor
    bool NextOnlyTells() const;

  private:
    /// Move the event at a place up to where it belongs.
    void SiftUp(std::size_t place);
    /// Move the event at a place down to where it belongs.
    void SiftDown(std::size_t place);
    /// Take out the event at a place.
    void Erase(std::size_t place);
    /// Take out every cancelled event.
    void Sweep();
    /// \param monitor looks into this scheduler from now on
    void SetMonitor(Ptr<FabricSchedulerMonitor> monitor);
    /// Take out the first event for good.
    void DropFirst();

    std::vector<Event> m_heap;             //!< four-way heap, the next event first
    std::size_t m_sweepAt{4096};           //!< number of events at which to sweep
    std::size_t m_swept{0};                //!< swept out and not given back
    EventKey m_last{};                     //!< key of the last event taken
    Ptr<FabricSchedulerMonitor> m_monitor; //!< looks into this scheduler
};

} // namespace ns3
