// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "flow-meter.h"
#include "flow-network.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace ns3
{

/// Who is told of flows through queues.
class FlowQueuesOwner
{
  public:
    virtual ~FlowQueuesOwner() = default;
    /// \param flow one whose last byte has left its sender
    virtual void FlowSent(uint32_t flow) = 0;
    /// \param flow one whose last byte has left its last queue; its number may be used again
    virtual void FlowPassed(uint32_t flow) = 0;
    /// \param flow one that moves \param passed links that bytes of it have crossed \return those
    /// that these bytes cross from now on, none if nothing leads on
    virtual std::vector<FlowUse> FindOnward(uint32_t flow, std::span<const uint32_t> passed) = 0;
};

/// The least that a mixture holds before another one begins.
struct FlowGrain
{
    double bytes{0.0}; //!< at least
    double share{0.0}; //!< of the queue, at least
};

/**
 * Flows through queues, for senders that nothing slows down: a sender's flows share its line
 * equally, and every other line has a queue without an end, first in, first out. Bytes leave a
 * queue in the mixture in which they came, so a flow's share of a full line is its share of what
 * arrived, a queue's delay earlier.
 *
 * A queue is a row of mixtures: the first is served, the last grows. A new mixture begins when what
 * comes in changes, if the last is as large as FlowGrain says; else the change is mixed in, and the
 * new mixture begins when the last is as large as that. No byte is lost by that, only its place
 * within a mixture.
 *
 * If flows' last bytes are in one mixture, their last packets leave behind it, one after the other
 * as from a queue of packets, at most MOST_TAILS times; so flows in step don't stay so.
 *
 * Where ways change, bytes that come to a switch go on by the new way from there, and the sender
 * sends by its own; so a flow may have several branches, and has passed when all have ended. A line
 * that goes down loses its queue, and a switch without a way what comes to it: senders send that
 * again at once. Bytes don't overtake each other on a line whose delay changes.
 *
 * Acknowledgements begin when bytes arrive, follow rates in steps as those of FlowNetwork do, and
 * wait in a queue as one more flow. They come to the next queue as if they hadn't waited. A
 * sender's line has for data what they leave.
 */
class FlowQueues
{
  public:
    static constexpr double RATE_STEP = 0.05;  //!< of a flow's rate
    static constexpr double LINE_STEP = 0.004; //!< of a line's rate
    static constexpr uint32_t MOST_TAILS = 16; //!< mixtures of last packets behind another one

    /// \param owner is told of ends \param meter of what some links carry \param tallies whether it
    /// is kept what flows waited for \param grain of mixtures \param rooms of switches
    FlowQueues(FlowQueuesOwner& owner,
               FlowMeter& meter,
               bool tallies,
               FlowGrain grain,
               FlowRooms& rooms);

    /// \param rate bytes per picosecond of a new link \param delayPs from its end to the next queue
    /// \param sends whether it is a sender's own \return its number: 0, 1, ...
    uint32_t AddLink(double rate, int64_t delayPs, bool sends);
    /// \param link a link \param rate that it has from now on, 0 if it carries nothing \param
    /// delayPs that it has from now on
    void SetLine(uint32_t link, double rate, int64_t delayPs);
    /// \param link a link in front of which all is lost: senders send it again once Move is called
    void Lose(uint32_t link);
    /// \param flow one whose way may be another one from now on \param forth links from its sender
    /// \param back those of its acknowledgements
    void Move(uint32_t flow, std::span<const FlowUse> forth, std::span<const FlowUse> back);
    /// \param demand of a flow that begins now; it has one way, and no cap \return its number
    uint32_t Begin(const FlowDemand& demand);

    /// \param flow one that has passed, while its owner is told \return the waits of its last byte
    /// on its way, if tallied; below 0 if other links had slowed the flow
    const std::vector<FlowWait>& GetWaits(uint32_t flow) const
    {
        return m_flows[flow].waits;
    }

    /// \param flow a number \return whether it is that of a flow that has begun and not passed
    bool IsUnderWay(uint32_t flow) const
    {
        return flow < m_flows.size() && m_flows[flow].branches > 0;
    }

    /// \return how often the shares of a line were found anew
    uint64_t GetSolutions() const
    {
        return m_solutions;
    }

  private:
    static constexpr uint32_t ARRIVED = FlowShares::NONE; //!< behind the last hop
    static constexpr uint32_t LOST = ARRIVED - 1; //!< behind one from which nothing leads on

    /// A flow on a link.
    struct Member
    {
        uint32_t flow;                  //!< its number
        uint32_t place;                 //!< which of its hops this is
        double coming{0.0};             //!< bytes per picosecond into the queue
        double leaving{0.0};            //!< and out of it
        double next{0.0};               //!< out of it from now on, while that is found
        double bytes{0.0};              //!< in the mixture that grows, until
        int64_t sincePs{0};             //!< this time
        int64_t lastPs{0};              //!< when its last byte came
        uint32_t mixtures{0};           //!< complete ones that it has bytes in
        bool ended{false};              //!< its last byte has come
        FlowRooms::Gate* gate{nullptr}; //!< where its bytes count
    };

    /// Bytes of a flow in a mixture.
    struct Part
    {
        uint32_t flow;  //!< its number
        uint32_t place; //!< which of its hops this is
        double bytes;   //!< of it
    };

    /// Bytes that came in together.
    struct Mixture
    {
        std::vector<Part> parts; //!< by flow
        double bytes{0.0};       //!< of all
    };

    /// The rate of a flow is another one behind a link.
    struct Change
    {
        uint32_t flow;  //!< its number
        uint32_t place; //!< which of its hops is in front
        double rate;    //!< from then on
        bool last;      //!< it has ended
    };

    /// A link with the queue in front of it.
    struct Link
    {
        double rate{0.0};                   //!< of the line
        double kept{0.0};                   //!< of it, taken by acknowledgements as far as told
        double load{0.0};                   //!< what they take
        uint32_t answers{FlowShares::NONE}; //!< the flow that stands for them in a queue
        int64_t delayPs{0};                 //!< to the next queue
        int64_t sincePs{0};                 //!< all is known until then
        uint32_t version{0};                //!< of what is served
        bool sends{false};                  //!< it is the first link of its flows
        bool dirty{false};                  //!< its shares must be found
        bool stale{false};            //!< what leaves it is another mixture, or has another rate
        bool backlog{false};          //!< there is a queue
        bool open{false};             //!< its only mixture is served while it grows
        bool mixed{false};            //!< the one that grows has seen a change
        bool whole{false};            //!< the last complete one has its last packets in it
        double coming{0.0};           //!< rate of all together
        double left{0.0};             //!< bytes of the first mixture
        double growing{0.0};          //!< bytes of the last
        double queued{0.0};           //!< bytes of those between
        double share{0.0};            //!< rate of each of a sender's flows
        double served{0.0};           //!< bytes that a sender gave each of its flows
        std::vector<Member> members;  //!< its flows
        std::deque<Mixture> mixtures; //!< complete ones
        std::priority_queue<std::pair<double, uint32_t>,
                            std::vector<std::pair<double, uint32_t>>,
                            std::greater<>>
            ends;                             //!< of a sender's flows, by bytes that each got
        std::deque<std::vector<Change>> pipe; //!< changes on their way to the next queues
        int64_t arrivalPs{0};                 //!< of the last of these
    };

    /// A link on the way of a flow.
    struct Hop
    {
        uint32_t link;                   //!< its number
        uint32_t before;                 //!< the hop from which bytes come, or NONE
        uint32_t next{ARRIVED};          //!< where they go on
        uint32_t slot{FlowShares::NONE}; //!< its place among the members of the link
    };

    /// A flow.
    struct Flow
    {
        FlowDemand demand;           //!< what it wants
        double answered{0.0};        //!< the rate that its acknowledgements have or get
        int64_t beganPs{0};          //!< when
        uint64_t turn{0};            //!< how many began before
        std::vector<FlowWait> waits; //!< of its last byte, if tallied
        std::vector<Hop> hops;       //!< of its ways
        uint32_t source{0};          //!< the hop by which its sender sends, or NONE
        uint32_t branches{0};        //!< that have not ended; 0: it isn't under way
        bool sent{false};            //!< its last byte has left its sender once
        double lost{0.0};            //!< bytes to send again
    };

    /// What an event is about; of one time, those of an earlier kind are first.
    enum class Kind : uint8_t
    {
        ANSWERS, //!< acknowledgements take something else
        ARRIVAL, //!< changes have crossed a link
        SERVE    //!< the shares of a link are found
    };

    /// An event.
    struct Event
    {
        int64_t timePs;   //!< when
        Kind kind;        //!< what
        uint64_t order;   //!< which of all this is
        uint32_t link;    //!< where
        uint32_t version; //!< of what is served

        /// \return whether it comes after another
        bool operator>(const Event& other) const
        {
            return std::tie(timePs, kind, order) > std::tie(other.timePs, other.kind, other.order);
        }
    };

    /// Acknowledgements that take more, or less.
    struct Answers
    {
        int64_t timePs;                //!< when they come to the first of their links
        uint64_t order;                //!< which of all this is
        std::span<const FlowUse> back; //!< their links from there on
        double rate;                   //!< how much more

        /// \return whether it comes after another
        bool operator>(const Answers& other) const
        {
            return std::tie(timePs, order) > std::tie(other.timePs, other.order);
        }
    };

    /// \return what a line has for data
    static double FreeOf(const Link& link);
    /// Play what is due.
    void Pass();
    /// \return number of a new flow
    uint32_t AddFlow();
    /// Acknowledgements take another share of a link.
    void ChangeAnswers(uint32_t link);
    /// See that what is due next is an event.
    void ScheduleNext();
    /// Add an event. \param afterPs from now
    void Push(Kind kind, uint32_t link, int64_t afterPs);
    /// The shares of a link are to be found in this moment.
    void Mark(uint32_t link);
    /// Bring what is in a queue up to date.
    void Settle(uint32_t link);
    /// \return the first of new hops of a flow \param before the hop in front of them, or NONE
    static uint32_t AddHops(Flow& flow, uint32_t before, std::span<const FlowUse> way);
    /// The sender of a flow sends bytes by its source.
    void Send(uint32_t flow, double bytes);
    /// \return the member that a flow has at a hop, maybe a new one
    Member& MemberOf(uint32_t flow, uint32_t place);
    /// Changes come to the next queues, not before those on the line.
    void Pipe(uint32_t link, std::vector<Change> changes);
    /// Changes have crossed a link.
    void Arrive(uint32_t link);
    /// What comes into the queue of a hop changes. \param rate of the flow \param last it has ended
    void Come(uint32_t flow, uint32_t place, double rate, bool last);
    /// \return bytes of a flow in a queue that is up to date
    double WaitingOf(const Link& link, const Member& member) const;
    /// A line has another delay from now on.
    void ChangeDelay(uint32_t link, int64_t delayPs);
    /// Bytes of a flow that have crossed a hop may go on by another way.
    void Turn(uint32_t flow, uint32_t place);
    /// \return bytes that the sender of a flow has not sent, and doesn't send by its source
    double TakeBack(uint32_t flow);
    /// A branch of a flow has ended. \return whether the flow has passed
    bool EndBranch(uint32_t flow);
    /// A flow has passed.
    void Finish(uint32_t flow);
    /// The mixture that grows is complete.
    void Complete(Link& link);
    /// The mixture that grows is complete if it has seen a change and is as large as a grain.
    void CompleteGrain(Link& link);
    /// Part the last packets of flows from the last complete mixture.
    void PartTails(Link& link);
    /// \return picoseconds until it is that large \param free rate of the line
    double GrainAfterPs(const Link& link, double free) const;
    /// Find what is served next, and what leaves.
    void Serve(uint32_t link);
    /// Share a sender's line.
    void Share(uint32_t link);
    /// The first mixture has left.
    void TakeNext(Link& link);
    /// Find which mixture is served. \param free rate of the line
    void Advance(Link& link, double free);
    /// Tell the next links what leaves. Members know it.
    void Tell(uint32_t link);
    /// \return whether nothing of a flow is left in front of a link
    static bool IsOut(const Link& link, const Member& member);
    /// The last byte of a flow has waited. \param place in front of which of its hops
    /// \param waitedPs how long; what its own bytes take there alone is left out
    void Wait(Flow& flow, uint32_t place, int64_t waitedPs);
    /// Take a flow out of a link.
    void Leave(uint32_t link, uint32_t slot);
    /// \return the rate at which a flow arrives
    double ArrivingOf(const Flow& flow) const;
    /// A flow's acknowledgements follow the rate at which it arrives.
    void Follow(Flow& flow, double rate, int64_t delayPs);
    /// Acknowledgements will take something else.
    void Answer(const Answers& answers);
    /// Acknowledgements take what is due.
    void TakeAnswers();

    FlowQueuesOwner& m_owner;        //!< is told of ends
    FlowMeter& m_meter;              //!< of some links
    bool m_tallies;                  //!< waits are kept
    FlowGrain m_grain;               //!< of mixtures
    FlowRooms& m_rooms;              //!< of switches
    std::vector<Link> m_links;       //!< by number
    std::vector<Flow> m_flows;       //!< by number
    std::vector<uint32_t> m_free;    //!< numbers to use again
    std::vector<uint32_t> m_touched; //!< by acknowledgements
    std::vector<uint32_t> m_done;    //!< that have just passed
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;  //!< to come
    std::priority_queue<Answers, std::vector<Answers>, std::greater<>> m_due; //!< in time
    int64_t m_nowPs{0};                                                       //!< the time
    int64_t m_eventPs{FlowAgenda::NEVER};                                     //!< of the next event
    uint64_t m_order{0};                                                      //!< events so far
    uint64_t m_begun{0};     //!< flows that have begun
    uint64_t m_solutions{0}; //!< so far
    bool m_passes{false};    //!< events are played
};

} // namespace ns3
