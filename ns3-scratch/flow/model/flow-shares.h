// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace ns3
{

/// A link that a flow crosses.
struct FlowUse
{
    uint32_t link{0};  //!< its number
    double share{1.0}; //!< of the flow's bytes, how many cross it: below 1 if it is sprayed

    auto operator<=>(const FlowUse&) const = default;
};

/**
 * Max-min fair rates of flows on links (D. Bertsekas, R. Gallager, Data Networks, 2nd edition,
 * 1992, section 6.5.2), kept up to date as flows come and go.
 *
 * A link has a *level*: the rate of each flow that it holds back, or no limit if it isn't full. A
 * flow's rate is the least level on its way, or its own cap. The level of a link follows from the
 * limits that its flows have elsewhere, by filling. Only links whose flows have other limits than
 * before are filled again, the lowest levels first. What is consistent at every link is the max-min
 * fair allocation, of which there is one.
 *
 * Levels are rounded to 40 bits, so that flows that are alike have equal rates; a level that would
 * move by less stays.
 */
class FlowShares
{
  public:
    static constexpr uint32_t NONE = std::numeric_limits<uint32_t>::max(); //!< no link, no flow
    static constexpr double NO_LIMIT = std::numeric_limits<double>::infinity(); //!< rate or level

    /// \param within a link that has no more than this share of its capacity left is full; if above
    /// 0, Solve finds what slows flows
    explicit FlowShares(double within = 0.0);
    /// \param capacity of a new link, in the unit of rates \return its number: 0, 1, ...
    uint32_t AddLink(double capacity);
    /// \param uses links of a new flow, at least one, none twice \param cap its rate is never above
    /// \return its number, which may be that of a flow that has gone
    uint32_t Add(std::span<const FlowUse> uses, double cap);
    /// \param flow one that goes
    void Remove(uint32_t flow);
    /// \param link a link \param capacity that it has from now on
    void SetCapacity(uint32_t link, double capacity);
    /// Find the rates of all flows. \return those whose rate differs from the one before, or that
    /// another link slows, in the order in which they first changed; valid until the next call
    const std::vector<uint32_t>& Solve();

    /// \param flow a flow \return its rate since the last Solve
    double GetRate(uint32_t flow) const
    {
        return m_flows[flow].rate;
    }

    /// \param flow a flow \return the first full link on its way of which it has no less than
    /// others, one of them if it is sprayed over equal ones, or NONE if its cap holds it back;
    /// found by the last Solve
    uint32_t GetSlowing(uint32_t flow) const
    {
        return m_flows[flow].slowing;
    }

    /// \param flow a flow \return the link that holds it back, or NONE if its cap does
    uint32_t GetBottleneck(uint32_t flow) const;

    /// \param link a link \return how many flows cross it
    uint32_t GetFlows(uint32_t link) const
    {
        return m_links[link].members.size();
    }

    /// \param link a link \return its capacity
    double GetCapacity(uint32_t link) const
    {
        return m_links[link].capacity;
    }

    /// \return how often a link was filled so far
    uint64_t GetFillings() const
    {
        return m_fillings;
    }

  private:
    /// A flow on a link.
    struct Member
    {
        uint32_t flow; //!< its number
        uint32_t use;  //!< which of its links this is
        double share;  //!< of its bytes
    };

    /// A link.
    struct Link
    {
        double capacity{0.0};        //!< most that it carries
        double level{NO_LIMIT};      //!< rate of flows that it holds back
        double load{0.0};            //!< what it carries
        double shares{0.0};          //!< sum of its flows' shares
        bool dirty{false};           //!< it must be filled again
        bool moved{false};           //!< its load has changed since the last Solve
        double equal{NO_LIMIT};      //!< rate from which it slowed flows, if full
        std::vector<Member> members; //!< its flows
    };

    /// A link on the way of a flow.
    struct Crossing
    {
        uint32_t link; //!< its number
        uint32_t slot; //!< the flow's place among its members
        double share;  //!< of the flow's bytes
    };

    /// What holds a flow back.
    struct Limits
    {
        double first{NO_LIMIT};  //!< the least limit: its rate
        double second{NO_LIMIT}; //!< the least of the others
        uint32_t firstUse{NONE}; //!< which of its links has the least, or NONE for its cap

        bool operator==(const Limits&) const = default;

        /// \param use one of its links \return its limit elsewhere
        double Beside(uint32_t use) const
        {
            return firstUse == use ? second : first;
        }

        /// \return its rate, or 0 if it is not known yet
        double GetRate() const
        {
            return first < NO_LIMIT ? first : 0.0;
        }
    };

    /// A flow.
    struct Flow
    {
        double rate{0.0};                //!< told last
        uint32_t slowing{NONE};          //!< link that was found to slow it
        double cap{NO_LIMIT};            //!< its own
        Limits limits;                   //!< what holds it back
        bool changed{false};             //!< it may be among those that changed
        std::vector<Crossing> crossings; //!< its links
    };

    /// What is left to share, while a link is filled.
    struct Wanting
    {
        double limit; //!< of a flow elsewhere
        double share; //!< of its bytes
    };

    /// \return the limits of a flow, found anew
    Limits FindLimits(const Flow& flow) const;
    /// \return the rate of flows that a link slows, or no limit if it isn't full
    double FindEqual(const Link& link) const;
    /// Flows may be slowed by other links than before.
    void NoteMoved();
    /// \return the link that slows a flow
    uint32_t FindSlowing(uint32_t flow) const;
    /// A link has to be filled.
    void Mark(uint32_t link);
    /// The load of a link changes.
    void Touch(uint32_t link);
    /// \param link one to fill \return its level
    double Fill(Link& link);
    /// \param link gets \param level, and tells its flows
    void SetLevel(uint32_t link, double level);
    /// Links of a flow whose limits changed. \param before what it was like \param use the link
    /// by which they did
    void Spread(const Flow& flow, const Limits& before, uint32_t use);
    /// Take a flow out of a link. \param use which of its links
    void Leave(const Flow& flow, uint32_t use);
    /// The rate of a flow is no longer what was told last.
    void Note(uint32_t flow);

    using Entry = std::pair<double, uint32_t>; //!< a level and a link

    double m_within;              //!< of its capacity, what a full link has left at most
    std::vector<Link> m_links;    //!< by number
    std::vector<Flow> m_flows;    //!< by number
    std::vector<uint32_t> m_free; //!< numbers to use again
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> m_dirty; //!< links to fill
    std::vector<uint32_t> m_touched; //!< flows that may have changed
    std::vector<uint32_t> m_moved;   //!< links whose load has changed
    std::vector<uint32_t> m_changed; //!< flows that have
    std::vector<Wanting> m_wanting;  //!< of the link that is filled
    uint64_t m_fillings{0};          //!< so far
};

} // namespace ns3
