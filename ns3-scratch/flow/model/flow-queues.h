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
    /// \param link a link \param rate that it has from now on
    void SetRate(uint32_t link, double rate);
    /// \param demand of a flow that begins now; it has one way, and no cap \return its number
    uint32_t Begin(const FlowDemand& demand);

    /// \param flow one that has passed, while its owner is told \return the waits of its last byte
    /// on its way, if tallied; below 0 if other links had slowed the flow
    const std::vector<FlowWait>& GetWaits(uint32_t flow) const
    {
        return m_flows[flow].waits;
    }

    /// \param flow one that has not passed, or that does now \return what it wants
    const FlowDemand& GetDemand(uint32_t flow) const
    {
        return m_flows[flow].demand;
    }

    /// \param flow one that has not passed \param place which of its links \param beforePs so long
    /// ago, if its rate was that of now \return bytes of it that had left the link
    double SentOf(uint32_t flow, uint32_t place, int64_t beforePs) const;
    /// \param flow one that has not passed \return so much later than its bytes leave the last
    /// link, acknowledgements are sent
    int64_t GetAnswersAfterPs(uint32_t flow) const;
    /// \param link a link \return bytes of acknowledgements that wait in front of it
    double AnswersInFrontOf(uint32_t link) const;

    /// \return how often the shares of a line were found anew
    uint64_t GetSolutions() const
    {
        return m_solutions;
    }

  private:
    static constexpr uint32_t LEFT = FlowShares::NONE - 1; //!< all of a flow has left the link

    /// A flow on a link.
    struct Member
    {
        uint32_t flow;                  //!< its number
        uint32_t place;                 //!< which of its links this is
        double coming{0.0};             //!< bytes per picosecond into the queue
        double leaving{0.0};            //!< and out of it
        double next{0.0};               //!< out of it from now on, while that is found
        double sent{0.0};               //!< bytes that have left it until
        int64_t sentPs{0};              //!< this time
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
        uint32_t place; //!< which of its links this is
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
        uint32_t place; //!< which of its links is told
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
        double answersCame{0.0};            //!< bytes of them that have come to the queue until
        int64_t answersCamePs{0};           //!< this time
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
    };

    /// A flow.
    struct Flow
    {
        FlowDemand demand;           //!< what it wants
        double answered{0.0};        //!< the rate that its acknowledgements have or get
        int64_t beganPs{0};          //!< when
        uint64_t turn{0};            //!< how many began before
        std::vector<FlowWait> waits; //!< of its last byte, if tallied
        std::vector<uint32_t> slots; //!< its place among the members of each link, NONE or LEFT
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
    /// \return the member of a link that a change is about
    Member& MemberOf(uint32_t link, const Change& change);
    /// What comes into a queue changes.
    void Come(const Change& change);
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
    /// The last byte of a flow has waited. \param place in front of which of its links
    /// \param waitedPs how long; what its own bytes take there alone is left out
    void Wait(Flow& flow, uint32_t place, int64_t waitedPs);
    /// Take a flow out of a link.
    void Leave(uint32_t link, uint32_t slot);
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
    std::deque<FlowUse> m_answers;   //!< links of those
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
