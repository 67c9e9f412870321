// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace ns3
{

class EventImpl;
class FabricPort;
class FabricFlow;
struct FabricFrame;
struct FabricTelemetry;

/// Something that a group has to tell to whom another thread plays.
struct FabricNote
{
    int64_t timePs;     //!< when it happened
    uint32_t rank;      //!< of several at one time the lowest is told first
    FabricFrame* frame; //!< a frame that is lost, or none
    FabricPort* port;   //!< a port that was stopped or let go on, or none
    FabricFlow* flow;   //!< one that may have nothing left to do, or none
    uint8_t priorities; //!< those that are stopped from then on
};

/// Objects that a thread has to hand out. One may be given back to another thread than the one that
/// handed it out, so between windows all are levelled (FabricFramePool::Balance).
template <class OBJECT>
struct FabricSpares
{
    OBJECT* first{nullptr}; //!< the next to hand out
    uint32_t count{0};      //!< how many there are
    /// How many to have when a window begins. It never falls: a thread can't take from the pool
    /// within a window, so a burst after a quiet time would make them anew, and each such burst
    /// would add to what the process holds.
    uint32_t wanted{0};
    uint32_t lacked{0}; //!< made anew since they were levelled
    int64_t out{0};     //!< handed out and not given back since then
};

/// What a thread that plays has of its own. What it puts down here is taken up between windows.
struct alignas(64) FabricLane
{
    /// Threads that may play hosts, at most: what each has of its own is found by its number.
    static constexpr uint32_t MOST_OF_HOSTS = 64;

    int64_t nowPs{0};                                //!< present time
    int64_t lastPs{0};                               //!< of the last event, or frame that arrived
    uint32_t context{0xffffffff};                    //!< node of the present event, if one is known
    uint32_t group{0};                               //!< which it plays
    uint32_t number{0};                              //!< of the thread; 0: the simulation's
    EventImpl* event{nullptr};                       //!< the present event, if it is one of ns-3
    bool frontPlayed{false};                         //!< the first in the group's list is played
    bool besideOthers{false};                        //!< other threads may play at the same time
    uint64_t events{0};                              //!< played
    uint64_t uid{0};                                 //!< number of its next event of a host
    std::map<int64_t, std::vector<uint32_t>> listed; //!< switches by the window of their next event
    std::map<int64_t, std::vector<uint32_t>> listedHosts; //!< the same of hosts played apart
    std::vector<FabricPort*> onTheWay;                    //!< see FabricPort::HandOver
    std::vector<FabricPort*> grown;          //!< ports whose links hold more than before
    std::vector<FabricNote> notes;           //!< in the order in which they came
    FabricSpares<FabricFrame> frames;        //!< frames to hand out
    FabricSpares<FabricTelemetry> telemetry; //!< telemetry to hand out

    /// \return that of this thread; on a thread that plays nothing, that of the simulation's
    static FabricLane& Here()
    {
        return t_here ? *t_here : *s_first;
    }

    /// \return whether it is that of the simulation's thread
    bool IsFirst() const
    {
        return this == s_first;
    }

    /// \param lane what this thread has from now on
    static void Enter(FabricLane* lane)
    {
        t_here = lane;
    }

    /// \param lane that of the thread on which the simulation runs; none: one where time is 0
    static void SetFirst(FabricLane* lane);

  private:
    // Known to be there when the library is loaded: else each use would be a call.
    [[gnu::tls_model("initial-exec")]] static thread_local constinit FabricLane* t_here;
    static FabricLane* s_first; //!< of the simulation's thread
};

/// \return the present time on this thread
inline int64_t
FabricNowPs()
{
    return FabricLane::Here().nowPs;
}

} // namespace ns3
