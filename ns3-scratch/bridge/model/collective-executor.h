// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "astra-ns3-session.h"
#include "collective-application.h"
#include "fabric-network.h"
#include "flow-list-player.h"
#include "recorder.h"
#include "simulation.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace astra_ns3
{

/**
 * Plays schedules: an application for each NPU, the schedules and groups they know, and what their
 * messages and timers bring about.
 *
 * Reducers are players behind the last NPU: parts of switches that combine what comes and send the
 * sum on. They spend no time on a message. Nobody launches them: they begin a phase with the first
 * member of their group, and nobody is told of their ends.
 */
class CollectiveExecutor : public ns3::MessageListener, public ns3::PhaseListener
{
  public:
    /**
     * \param listener told of phases and timers
     * \param simulation stopped when a transport fails
     * \param recorder told of messages
     */
    CollectiveExecutor(SessionListener& listener, Simulation& simulation, Recorder& recorder);

    /**
     * Put an application on the host of each NPU.
     * \param description has the NPUs and what they spend
     * \param fabric has the hosts
     * \param transport carries their messages; it must outlive the simulation's events
     */
    void Install(const NetworkDescription& description,
                 FabricNetwork& fabric,
                 ns3::MessageTransport& transport);

    void MessageArrived(const ns3::CollectiveMessage& message) override;
    void BytesArrived(uint32_t npu, int64_t bytes) override;
    void TransportFailed(const ns3::CollectiveMessage& message, const char* reason) override;
    ns3::MessageAccountant* GetAccountant() override;
    void PhaseDone(uint32_t npu, uint64_t instance) override;
    bool IsAbandoned(uint64_t instance) const override;

    /// \return a transport that gave up. \param number of the failure, from 0
    TransportFailure GetTransportFailure(uint32_t number) const;
    /// \return an NPU's application
    const ns3::CollectiveApplication& GetApplication(uint32_t npu) const;

    /// \return how often a part of a phase has begun so far
    uint64_t GetLaunches() const
    {
        return m_launches;
    }

    /// \return number of a schedule. \param columns see Session::RegisterSchedule
    uint32_t RegisterSchedule(const ns3::CollectiveScheduleColumns& columns);
    /// \return number of a group. \param npus, count, delayPs, connections see
    /// Session::RegisterGroup
    uint32_t RegisterGroup(const uint32_t* npus,
                           uint32_t count,
                           int64_t delayPs,
                           uint32_t connections);
    /// \return number of a group. \param npus, costs see Session::RegisterChannel
    uint32_t RegisterChannel(const uint32_t* npus,
                             uint32_t count,
                             const uint32_t* servers,
                             const uint64_t* costs);
    /// \param group a group \param priority of its messages from now on
    void SetPriority(uint32_t group, uint32_t priority);
    /// Send nothing more in phases. \param begin, end of their instances, see Session::Abandon
    void Abandon(uint64_t begin, uint64_t end);
    /// Begin an NPU's part of a phase now.
    void Launch(uint32_t npu, uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes);
    /// Have the listener called with `token` after `delayPs`.
    void SetTimer(uint32_t npu, int64_t delayPs, uint64_t token);
    /// \return number of a player of flows. \param setup how they are played
    uint32_t OpenFlows(FlowListSetup setup);
    /// \return a player of flows
    FlowListPlayer& GetFlows(uint32_t number);
    /// Have a player of flows called after `delayPs`.
    void SetFlowTimer(uint32_t npu, int64_t delayPs, uint32_t number);
    /// \return how many messages an NPU still has to send or to receive in a phase
    uint32_t CountPending(uint32_t npu, uint64_t instance);
    /// \return one of the messages counted last
    PendingMessage GetPending(uint32_t index) const;
    /// \return messages sent by all NPUs
    uint64_t GetMessages() const;
    /// \return bytes of the messages sent by one NPU
    uint64_t GetSentBytes(uint32_t npu) const;
    /// \return bytes of messages, whole or not, that all NPUs have got so far, in order
    uint64_t GetDeliveredBytes() const;
    /// \return the bytes that one NPU has got
    uint64_t GetDeliveredBytes(uint32_t npu) const;

  private:
    /// \return a group of these NPUs \throw std::invalid_argument if there is none of them
    std::shared_ptr<ns3::CollectiveGroup> MakeGroup(const uint32_t* npus, uint32_t count) const;
    class TimerEvent;

    /// Let the reducers of a group begin a phase with the first of its members.
    void LaunchReducers(uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes);

    /// A transport that gave up.
    struct Failure
    {
        uint64_t instance;  //!< of the first message that can never arrive
        uint32_t npu;       //!< its sender
        std::string reason; //!< why
    };

    /// Tell the listener of something, at once or together with what follows in the same moment.
    void Tell(const Due& due);
    /// Take what concerns players of flows out of what is told now.
    void PlayFlows(int64_t nowPs);
    /// \return the player of flows that something is for, or none
    FlowListPlayer* FindFlows(const Due& due) const;

    SessionListener& m_listener;     //!< told of phases and timers
    Simulation& m_simulation;        //!< stopped when a transport fails
    bool m_tellsFailures{false};     //!< unless that is told of
    std::vector<Failure> m_failures; //!< by number
    Recorder& m_recorder;            //!< told of messages
    std::vector<ns3::Ptr<ns3::CollectiveApplication>> m_applications;        //!< by NPU
    std::vector<std::shared_ptr<const ns3::CollectiveSchedule>> m_schedules; //!< by number
    std::vector<std::shared_ptr<ns3::CollectiveGroup>> m_groups;             //!< by number
    std::vector<ns3::CollectiveApplication::Pending> m_pending;              //!< counted last
    std::vector<std::unique_ptr<FlowListPlayer>> m_flows;                    //!< by number
    uint64_t m_launches{0};                                                  //!< so far
    uint32_t m_npus{0};                                                      //!< no reducers
    /// Members that have begun, by phase and group; of groups with reducers.
    std::map<std::pair<uint64_t, uint32_t>, std::size_t> m_begun;
    std::map<uint64_t, uint64_t> m_abandoned; //!< ends of ranges of instances, by begin
    std::vector<Due> m_dues;                  //!< not told yet
    std::vector<Due> m_told;                  //!< told last
    std::vector<int64_t> m_deliveredBytes;    //!< by NPU
};

} // namespace astra_ns3
