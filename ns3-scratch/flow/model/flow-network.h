// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "flow-agenda.h"
#include "flow-meter.h"
#include "flow-rise.h"
#include "flow-rooms.h"
#include "flow-shares.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <vector>

namespace ns3
{

/// What a flow wants. Its links must stay where they are, also when it has ended.
struct FlowDemand
{
    std::span<const FlowUse> forth;   //!< links of its bytes
    std::span<const FlowUse> back;    //!< links of its acknowledgements
    double bytes{0.0};                //!< bytes on the line
    double backShare{0.0};            //!< acknowledgements' bytes on the line for each of these
    int64_t answersAfterPs{0};        //!< so much later than the bytes, acknowledgements are sent
    double cap{FlowShares::NO_LIMIT}; //!< most bytes per picosecond, of those that are sent
    double used{1.0};                 //!< of bytes, how many are sent: the rest is headroom
    double firstWindow{0.0};          //!< bytes that a new queue pair sends at once
    double packetBytes{0.0};          //!< of a full packet
    double lastBytes{0.0};            //!< of its last packet, on the line
    double recovery{0.0};             //!< round trips lost for each factor e that its rate falls by
    double from{FlowShares::NO_LIMIT}; //!< rate at first; it comes to a higher one step by step
    double risePart{0.0};   //!< of the difference, the step in each picosecond; 0: at once
    double inFlight{0.0};   //!< most bytes that may be under way
    int64_t roundTripPs{0}; //!< with nothing else on the network
    double alone{0.0};      //!< its rate with nothing else on the network
};

/// How long a flow waited.
struct FlowWait
{
    uint32_t link{0};  //!< for this link, for NONE of its cap, or what FlowNetwork says
    double ps{0.0};    //!< picoseconds, of which bytes take some even alone
    double bytes{0.0}; //!< its bytes meanwhile, if not left out; below 0: lost by its control
};

/// Who is told when flows end.
class FlowOwner
{
  public:
    virtual ~FlowOwner() = default;
    /// \param flow one whose last byte has left its sender; its number may be used again
    virtual void FlowEnded(uint32_t flow) = 0;
};

/**
 * Flows over time: each has its max-min fair rate until another one begins or ends, or a link
 * changes. Nothing else is an event.
 *
 * Acknowledgements are traffic of their own on their own links, later than the bytes by a given
 * time: a link has what they leave. They follow a flow's rate once it differs by more than
 * RATE_STEP from the one that they have, and a link keeps for them what they take once that differs
 * by more than LINE_STEP of the line from what it keeps.
 */
class FlowNetwork
{
  public:
    static constexpr double RATE_STEP = 0.0937;    //!< of a flow's rate
    static constexpr double LINE_STEP = 0.0083;    //!< of a line's rate
    static constexpr double LEAST_SHARE = 1e-9;    //!< of a line's rate; what has less waits
    static constexpr double UNHEARD_WINDOWS = 0.5; //!< sent before a control acts, beside its share
    static constexpr double UNHEARD_PACKETS =
        2.0;                                  //!< that a control hears late, beside a round trip
    static constexpr double MOST_LOST = 0.25; //!< of what is sent while a control finds its rate
    static constexpr uint32_t SLOWED = FlowShares::NONE - 1; //!< no link: a wait for its control
    static constexpr std::size_t MOST_WAITS = 100; //!< of a flow; the last counts those beyond

    /// \param owner is told of ends \param meter of what some links carry \param tallies whether it
    /// is kept what flows waited for \param rooms of switches
    FlowNetwork(FlowOwner& owner, FlowMeter& meter, bool tallies, FlowRooms& rooms);

    /// \param rate bytes per picosecond of a new link \return its number: 0, 1, ...
    uint32_t AddLink(double rate);
    /// \param link a link \param rate that it has from now on
    void SetRate(uint32_t link, double rate);
    /// \param demand of a flow that begins now \return its number
    uint32_t Begin(const FlowDemand& demand);
    /// \param flow one that goes on elsewhere \param forth links of its bytes \param back those of
    /// its acknowledgements; those that it had must stay where they are, too \param cap most bytes
    /// per picosecond that it sends from now on
    void Move(uint32_t flow,
              std::span<const FlowUse> forth,
              std::span<const FlowUse> back,
              double cap);
    /// \param flow one that goes on \return bytes that lines have to carry yet
    double LeftOf(uint32_t flow);
    /// \param flow one that goes on \param beforePs so long ago, if its rate was that of now
    /// \return bytes that lines had carried of it
    double SentOf(uint32_t flow, int64_t beforePs) const;

    /// \param flow one that goes on \return so much later than its bytes, acknowledgements are sent
    int64_t GetAnswersAfterPs(uint32_t flow) const
    {
        return m_flows[flow].demand.answersAfterPs;
    }

    /// \param flow one that ends now, while its owner is told \return its waits, if tallied: at
    /// links that held it back, for NONE of its cap, for SLOWED of what its control lost
    const std::vector<FlowWait>& GetWaits(uint32_t flow) const
    {
        return m_flows[flow].waits;
    }

    /// \param flow one that ends now \return bytes per picosecond that it sent at last
    double GetLastRate(uint32_t flow) const
    {
        return m_flows[flow].demand.from;
    }

    /// \return how often rates were shared anew
    uint64_t GetSolutions() const
    {
        return m_solutions;
    }

  private:
    /// A flow that goes on.
    struct Flow
    {
        FlowDemand demand;                  //!< what it wants
        double rate{0.0};                   //!< bytes per picosecond
        double carried{0.0};                //!< bytes per picosecond that lines carry, evenly
        double unsent{0.0};                 //!< of what is left, what lines will carry
        FlowRise rise;                      //!< how it comes to this rate
        double answered{0.0};               //!< the rate that its acknowledgements have or get
        double left{0.0};                   //!< bytes to come when it had got its rate
        int64_t sincePs{0};                 //!< when that was
        uint32_t slowing{FlowShares::NONE}; //!< what slows it, if tallied
        int64_t talliedPs{0};               //!< until when its waits are known
        uint32_t stands{FlowShares::NONE};  //!< in front of this link
        double standing{0.0};               //!< so many of its bytes
        std::vector<FlowWait> waits;        //!< by link, each once, if tallied
    };

    /// What a link has for acknowledgements.
    struct Answers
    {
        double line{0.0};    //!< rate of the line
        double load{0.0};    //!< what they take
        double kept{0.0};    //!< what is kept for them
        bool touched{false}; //!< the load has changed
    };

    /// Acknowledgements that will take more, or less.
    struct Answer
    {
        int64_t timePs;                //!< when
        uint64_t order;                //!< which of all this is
        std::span<const FlowUse> back; //!< their links
        double rate;                   //!< how much more

        /// \return whether it comes after another
        bool operator>(const Answer& other) const
        {
            return timePs != other.timePs ? timePs > other.timePs : order > other.order;
        }
    };

    /// An event: play what is due.
    void Pass();
    /// Share rates anew, once all of this moment has begun.
    void SolveLater();
    /// Share rates anew.
    void Solve();
    /// Flows end that are due. \return whether any did
    bool End(int64_t nowPs);
    /// Tell the meter that lines carry a flow at another rate.
    void Meter(Flow& flow, double rate, int64_t nowPs);
    /// A flow gets another rate. \param nowPs the time
    void ChangeRate(uint32_t number, double rate, int64_t nowPs);
    /// A flow gets its first rate, but sends its first window at once. \param rate of the flow
    void Start(Flow& flow, double rate);
    /// A flow sends more than before. \param rate it will have \param nowPs the time
    static void Rise(Flow& flow, double rate, double nowPs);
    /// Bring what is left of a flow up to date.
    void Settle(Flow& flow, int64_t nowPs);
    /// A flow has waited. \param link for what \param ps how long \param bytes of it meanwhile
    static void Wait(Flow& flow, uint32_t link, double ps, double bytes);
    /// Bring the waits of a flow up to date. \param link what holds it back from now on
    void Tally(Flow& flow, uint32_t link, int64_t nowPs);
    /// What is under way beyond what its rate needs stands in front of what holds a flow back.
    /// \param link that link \param rate of the flow
    void Stand(Flow& flow, uint32_t link, double rate);
    /// Acknowledgements of a flow follow its rate. \param rate of the flow \param nowPs the time
    void Follow(Flow& flow, double rate, int64_t nowPs);
    /// Acknowledgements take what is due. \return whether a link keeps something else for them
    bool TakeAnswers(int64_t nowPs);
    /// \return when something is due next
    int64_t GetNextPs() const;
    /// See that what is due next is an event.
    void ScheduleNext();

    FlowOwner& m_owner;              //!< is told of ends
    FlowMeter& m_meter;              //!< of what some links carry
    bool m_tallies;                  //!< waits are kept
    FlowRooms& m_rooms;              //!< of switches
    FlowShares m_shares;             //!< rates
    FlowAgenda m_agenda;             //!< ends
    std::vector<Flow> m_flows;       //!< by number among the shares
    std::vector<Answers> m_answers;  //!< by link
    std::vector<uint32_t> m_touched; //!< links whose acknowledgements have changed
    std::priority_queue<Answer, std::vector<Answer>, std::greater<>> m_due; //!< in time
    std::vector<uint32_t> m_ended;                                          //!< flows that end now
    int64_t m_eventPs{FlowAgenda::NEVER};                                   //!< of the next event
    uint64_t m_order{0};     //!< flows and changes so far
    uint64_t m_solutions{0}; //!< so far
    bool m_waits{false};     //!< rates will be shared anew
};

} // namespace ns3
