// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-clock.h"
#include "fabric-port.h"
#include "roce-pauses.h"
#include "roce-turns.h"

#include "ns3/event-id.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

class RoceQueuePair;

/// The place of a queue pair among those of a port.
struct RoceTurn
{
    /// Which list it is in.
    enum State : uint32_t
    {
        IDLE,    //!< none: it has nothing to send, or its window is full
        WAITING, //!< its turn comes
        PACED    //!< its pacing does not let it before a time
    };

    uint32_t number : 30 {0}; //!< among those of its port and priority, if it has one
    State state : 2 {IDLE};   //!< which list it is in
};

/**
 * One port of a RoCE NIC: takes packets from its queue pairs' senders whenever the line is free,
 * those of the highest priority first, in turns among those that may send: whoever has sent, or may
 * send anew, comes behind the others, as in the active list of deficit round robin (Shreedhar,
 * Varghese, SIGCOMM 1995); or all around by age, as in the codes known from HPCC. A sender
 * that paces itself waits in a heap by the time of its next packet, one whose window is full in no
 * list at all, so the cost of a packet does not grow with the number of queue pairs. What the port
 * itself has queued (acknowledgements) goes first.
 *
 * It also keeps the retransmission timers. All have the same length, so one event for all is
 * enough: it looks at the senders with unacknowledged data when the first of them can have timed
 * out.
 */
class RoceNicPort : public FabricFrameSource
{
  public:
    /// \param port the port; it must outlive this object
    /// \param timeoutPs time without progress after which a sender times out
    /// \param byAge turns go by age
    RoceNicPort(Ptr<FabricPort> port, int64_t timeoutPs, bool byAge = true);
    ~RoceNicPort() override;

    static constexpr uint32_t NOT_WATCHED = ~uint32_t{0}; //!< no place among the watched

    /// \return the port
    FabricPort& GetPort() const
    {
        return *m_port;
    }

    /// \return the time of its host
    const FabricClock& GetClock() const
    {
        return m_clock;
    }

    /// \param beforePs a time \return whether a sender may give up before it
    bool MayGiveUp(int64_t beforePs) const;

    /// \param pair a new queue pair, the youngest
    void Open(RoceQueuePair& pair);
    /// \param pair a queue pair that is in no list and does not come back
    void Close(RoceQueuePair& pair);
    /**
     * A queue pair may send from a time on; it must be in no list.
     * \param pair the queue pair
     * \param readyPs when its pacing lets it
     * \param nowPs all departures up to now are settled
     */
    void Add(RoceQueuePair& pair, int64_t readyPs, int64_t nowPs);
    /// \param pair a queue pair that may not send any more; it may be in no list
    void Remove(RoceQueuePair& pair);

    /// \param pair a queue pair that is not watched and has just sent what is not acknowledged
    void Watch(RoceQueuePair& pair);
    /// \param pair a queue pair to watch no longer; it may not be watched
    void Unwatch(RoceQueuePair& pair);

    /// \return what has stopped the port, kept since this was first called
    const RocePauses& KeepPauses();

    /// The link has changed, or senders have come from another port: look anew when the first of
    /// them can time out.
    void LineChanged();

    int64_t GetNextPs(uint32_t pausedPriorities) override;
    FabricFrame* Take(int64_t startPs, uint32_t pausedPriorities) override;

  private:
    /// The senders of one priority.
    struct Level
    {
        RoceTurns turns;                   //!< who may send now, by number
        std::vector<RoceQueuePair*> pairs; //!< by number; none: it has no longer one
        std::size_t firstUsed{0};          //!< all numbers below are given back
        std::size_t last{0};               //!< number of the one that sent last
        std::vector<RoceQueuePair*> paced; //!< heap, earliest first
    };

    /// \return the earliest time since which a sender may have waited for the port alone
    int64_t FindLongestHeldPs() const;
    /// One of the watched senders may have timed out.
    void CheckTimeouts();
    /// Look at them again when the first can have timed out.
    void ScheduleCheck();
    /// \return whether a timeout can be over before the port tells of the packet that left: the
    /// link is so long. Then those that wait for their turn are looked at as well.
    bool MayHearLate() const;
    /// Let a sender have its turn.
    void SetTurn(Level& level, RoceQueuePair& pair);
    /// Give a sender the next number: by age once for all, else with each turn.
    static void GiveNumber(Level& level, RoceQueuePair& pair);
    /// Take back the number of a sender.
    static void TakeNumber(Level& level, RoceQueuePair& pair);
    /// Let those have their turn whose time has come by startPs.
    void Promote(Level& level, int64_t startPs);
    /// Take a sender out of a heap.
    static void RemovePaced(Level& level, RoceQueuePair& pair);
    /// Move a sender in a heap to where it belongs.
    static void Sift(Level& level, std::size_t place);

    Ptr<FabricPort> m_port;                        //!< the port
    FabricClock m_clock;                           //!< of its host
    uint32_t m_waiting{0};                         //!< bit p: priority p has senders in turn
    uint32_t m_pacing{0};                          //!< bit p: priority p has paced senders
    std::array<Level, FABRIC_PRIORITIES> m_levels; //!< by priority
    bool m_byAge;                                  //!< numbers are ages
    RoceQueuePair* m_sent{nullptr};                //!< sent last and goes on: its turn is over
    int64_t m_timeoutPs;                           //!< without progress for so long
    std::vector<RoceQueuePair*> m_watched; //!< those with unacknowledged data, and some without
    EventId m_check;                       //!< looks at them
    int64_t m_checkPs{NEVER};              //!< when
    std::unique_ptr<RocePauses> m_pauses;  //!< kept for accounts
};

} // namespace ns3
