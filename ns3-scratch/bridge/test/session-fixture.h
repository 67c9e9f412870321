// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What the suites that drive whole sessions share: a listener that keeps all it is told, and a star
 * of hosts.
 */
#pragma once

#include "astra-ns3-session.h"

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

/// A row of FLOW_RECORDS.
struct Flow
{
    int64_t sender;     //!< NPU that sent
    int64_t receiver;   //!< NPU that received
    int64_t bytes;      //!< size
    int64_t startPs;    //!< handed to the transport
    int64_t endPs;      //!< read whole at the receiver
    int64_t instance;   //!< phase
    int64_t row;        //!< row of the schedule
    int64_t alonePs{0}; //!< time it would take alone; 0: not known

    bool operator==(const Flow&) const = default;
};

/// Keeps everything a session tells, and does what a test asks for when it is told.
class RecordingListener : public astra_ns3::SessionListener
{
  public:
    /// NPU, instance, time in ps
    using Phase = std::array<int64_t, 3>;
    /// token, time in ps
    using Timer = std::pair<uint64_t, int64_t>;

    /// \param session whose records are fetched
    explicit RecordingListener(const Session& session)
        : m_session(session)
    {
    }

    /// \param action called at each PhaseDone, after it was noted
    void OnPhase(std::function<void(const Phase&)> action)
    {
        m_onPhase = std::move(action);
    }

    /// \param action called at each TimerDue, after it was noted
    void OnTimer(std::function<void(const Timer&)> action)
    {
        m_onTimer = std::move(action);
    }

    void PhaseDone(uint32_t npu, uint64_t instance, int64_t timePs) override
    {
        m_phases.push_back({npu, static_cast<int64_t>(instance), timePs});
        if (m_onPhase)
        {
            m_onPhase(m_phases.back());
        }
    }

    void TimerDue(uint64_t token, int64_t timePs) override
    {
        m_timers.emplace_back(token, timePs);
        if (m_onTimer)
        {
            m_onTimer(m_timers.back());
        }
    }

    void Heartbeat(int64_t, uint64_t) override
    {
    }

    void RecordsReady(uint32_t table) override
    {
        constexpr std::array<uint32_t, RECORD_TABLES> COLUMNS{8, 5, 4, 5, 4, 4};
        for (uint64_t row = 0; row < m_session.GetRecordRows(table); ++row)
        {
            auto& values = m_rows.at(table).emplace_back();
            for (uint32_t column = 0; column < COLUMNS.at(table); ++column)
            {
                values.push_back(m_session.GetRecordColumn(table, column)[row]);
            }
        }
    }

    /// \return phases done, in order
    const std::vector<Phase>& GetPhases() const
    {
        return m_phases;
    }

    /// \return timers due, in order
    const std::vector<Timer>& GetTimers() const
    {
        return m_timers;
    }

    /// \return all rows of a table fetched so far
    const std::vector<std::vector<int64_t>>& GetRows(uint32_t table) const
    {
        return m_rows.at(table);
    }

    /// \return messages arrived, in order; Session::FlushRecords must have been called
    std::vector<Flow> GetFlows() const
    {
        std::vector<Flow> flows;
        for (const auto& row : GetRows(FLOW_RECORDS))
        {
            flows.push_back({row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]});
        }
        return flows;
    }

  private:
    const Session& m_session;                                            //!< source of the rows
    std::function<void(const Phase&)> m_onPhase;                         //!< asked for
    std::function<void(const Timer&)> m_onTimer;                         //!< asked for
    std::vector<Phase> m_phases;                                         //!< phases done
    std::vector<Timer> m_timers;                                         //!< timers due
    std::array<std::vector<std::vector<int64_t>>, RECORD_TABLES> m_rows; //!< rows fetched
};

/// Hosts around one switch, one NPU on each.
struct Star
{
    uint32_t hosts{2};                 //!< number of hosts, and so the node number of the switch
    uint64_t rateBps{100'000'000'000}; //!< rate of each link
    int64_t delayPs{500'000};          //!< delay of each link
    uint64_t bufferBytes{64'000'000};  //!< buffer of the switch
    uint64_t kminBytes{0};             //!< marking, if kmaxBytes is above 0
    uint64_t kmaxBytes{0};             //!< marking, if above 0
    double pmax{1.0};                  //!< marking
    std::vector<uint32_t> unreachableHosts; //!< hosts the switch has no route to
};

/// Fill the switch's table.
inline void
SetStarRoutes(Session& session, const Star& star)
{
    std::vector<uint32_t> offsets{0};
    std::vector<uint32_t> ports;
    for (uint32_t host = 0; host < star.hosts; ++host)
    {
        bool reachable = true;
        for (uint32_t unreachable : star.unreachableHosts)
        {
            reachable = reachable && unreachable != host;
        }
        if (reachable)
        {
            ports.push_back(host);
        }
        offsets.push_back(static_cast<uint32_t>(ports.size()));
    }
    session.SetRoutes(star.hosts, offsets.data(), ports.data());
}

/// Make the star in a new session; Build is left to the caller.
inline void
AddStar(Session& session, const Star& star)
{
    session.AddHosts(star.hosts);
    session.AddSwitch(star.bufferBytes, 1);
    if (star.kmaxBytes > 0)
    {
        session.UseMarking(star.kminBytes, star.kmaxBytes, star.pmax);
    }
    for (uint32_t host = 0; host < star.hosts; ++host)
    {
        session.AddLink(host, star.hosts, star.rateBps, star.delayPs);
    }
    SetStarRoutes(session, star);
    std::vector<uint32_t> npus(star.hosts);
    std::iota(npus.begin(), npus.end(), 0);
    session.SetNpus(npus.data(), star.hosts);
    session.RecordFlows();
}

/// \return number of a schedule of one message, from rank 0 to rank 1
inline uint32_t
RegisterOneMessage(Session& session)
{
    constexpr std::array<int32_t, 8> COLUMNS{0, 1, 0, 0, 1, 0, -1, 0};
    return session.RegisterSchedule(2, 1, 1, 1, COLUMNS.data());
}

/// Send a message now, as phase `instance`. \param schedule from RegisterOneMessage
inline void
SendMessage(Session& session,
            uint32_t schedule,
            uint32_t sender,
            uint32_t receiver,
            uint64_t bytes,
            uint64_t instance)
{
    const std::array<uint32_t, 2> members{sender, receiver};
    const uint32_t group = session.RegisterGroup(members.data(), 2);
    session.Launch(sender, instance, schedule, group, bytes);
    session.Launch(receiver, instance, schedule, group, bytes);
}

/// A star with TCP, built.
class BuiltStar
{
  public:
    explicit BuiltStar(const Star& star = {}, const TcpParameters& tcp = {}, uint32_t seed = 1)
        : m_session(seed),
          m_listener(m_session)
    {
        AddStar(m_session, star);
        m_session.UseTcp(tcp);
        m_session.Build(&m_listener);
        m_schedule = RegisterOneMessage(m_session);
    }

    /// Send a message now.
    void Send(uint32_t sender, uint32_t receiver, uint64_t bytes, uint64_t instance = 0)
    {
        SendMessage(m_session, m_schedule, sender, receiver, bytes, instance);
    }

    /// \return the session
    Session& Get()
    {
        return m_session;
    }

    /// \return its listener
    RecordingListener& GetListener()
    {
        return m_listener;
    }

    /// \return messages that have arrived
    std::vector<Flow> GetFlows()
    {
        m_session.FlushRecords();
        return m_listener.GetFlows();
    }

  private:
    Session m_session;            //!< the session
    RecordingListener m_listener; //!< what it told
    uint32_t m_schedule{0};       //!< a schedule of one message
};

} // namespace astra_ns3::test
