// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Everything behind the facade: what Session's methods work on. Only the sources of Session include
 * it, so its members are theirs to use.
 */
#pragma once

#include "analytical-network.h"
#include "astra-ns3-session.h"
#include "collective-application.h"
#include "fabric-network.h"
#include "fabric-pause-watchdog.h"
#include "fabric-scheduler.h"
#include "formula-message-transport.h"
#include "heartbeat.h"
#include "local-message-transport.h"
#include "probes.h"
#include "record-table.h"
#include "roce-message-transport.h"
#include "roce-probe.h"
#include "tcp-message-transport.h"

#include "ns3/pcap-file-wrapper.h"

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace astra_ns3
{

/// What Session keeps.
class Session::Implementation : public ns3::MessageListener, public ns3::PhaseListener
{
  public:
    explicit Implementation(uint32_t seed);
    ~Implementation() override;

    /// Make all there is to make.
    void Build(SessionListener* newListener);
    /// The limit on simulated time is reached, unless nothing else was left to happen.
    void ReachLimit();
    /// \return events of the run
    uint64_t GetEvents() const;
    /// \return the transport that carries messages between two NPUs on different hosts
    ns3::MessageTransport& ChooseRemote(uint32_t sender, uint32_t receiver);

    void MessageArrived(const ns3::CollectiveMessage& message) override;
    void BytesArrived(int64_t bytes) override;
    void TransportFailed(const char* reason) override;
    void PhaseDone(uint32_t npu, uint64_t instance) override;

    /// Sends what stays in a host to the local transport, the rest over the network.
    class Router : public ns3::MessageTransport
    {
      public:
        explicit Router(Implementation& session)
            : m_session(session)
        {
        }

        void Send(const ns3::CollectiveMessage& message) override;

      private:
        Implementation& m_session; //!< owner
    };

    ns3::Ptr<ns3::FabricSchedulerMonitor> eventList{
        ns3::CreateObject<ns3::FabricSchedulerMonitor>()};
    std::terminate_handler oldTerminate{nullptr};
    SessionListener* listener{nullptr};
    FabricNetwork network;
    std::vector<uint32_t> hostOfNpu;
    std::optional<TcpParameters> tcp;
    std::optional<RoceParameters> roce;
    std::string roceControl{"none"};
    uint64_t roceControlFactory{0};
    ns3::RoceControlParameters roceControlParameters;
    int64_t pauseWatchdogPs{0};
    std::vector<uint32_t> dimensionSizes;
    std::vector<uint32_t> dimensionTransports;
    std::vector<ns3::AnalyticalDimension> analyticalDimensions;
    bool analyticalQueues{false};
    ns3::FormulaMessageTransport::Options formula;
    std::unique_ptr<ns3::AnalyticalGrid> grid;
    uint64_t localRateBps{2'400'000'000'000};
    int64_t localDelayPs{100'000};
    ns3::EndpointCosts endpoint;
    Router router{*this};
    std::unique_ptr<ns3::MessageTransport> analytical;
    std::unique_ptr<ns3::TcpMessageTransport> tcpTransport;
    std::unique_ptr<ns3::RoceMessageTransport> roceTransport;
    std::unique_ptr<ns3::LocalMessageTransport> local;
    std::unique_ptr<ns3::FabricPauseWatchdog> pauseWatchdog;
    std::vector<ns3::Ptr<ns3::CollectiveApplication>> applications;
    std::vector<std::shared_ptr<const ns3::CollectiveSchedule>> schedules;
    std::vector<std::shared_ptr<const ns3::CollectiveGroup>> groups;
    std::array<RecordTable, RECORD_TABLES> tables;
    bool recordFlows{false};
    int64_t deliveredBytes{0};
    uint32_t connectionQuantities{0};
    std::vector<std::unique_ptr<ConnectionProbe>> connectionProbes;
    std::vector<std::unique_ptr<QueueProbe>> queueProbes;
    std::vector<std::unique_ptr<UtilisationProbe>> utilisationProbes;
    std::unique_ptr<QueuePairProbe> queuePairProbe;
    std::vector<std::pair<std::string, ns3::Ptr<ns3::PcapFileWrapper>>> captures;
    std::vector<std::string> failedCaptures;
    std::unique_ptr<Heartbeat> heartbeat;
    std::string failure;
    std::string longestPause;
    ns3::EventId limit;
    bool limitReached{false};
    bool stopped{false};
    std::vector<ns3::CollectiveApplication::Pending> pending;
    std::vector<int64_t> portNumbers;

  private:
    /// Check that every host that a packet transport needs has a link.
    void CheckLinks() const;
    /// Make TCP.
    void BuildTcp();
    /// Make RoCE.
    void BuildRoce();
    /// Make the analytical network in place of packets.
    void BuildAnalytical();
    /// Watch for ports stopped for too long.
    void BuildWatchdog();
};

/**
 * \param list the list
 * \param index place in it
 * \param what name of what it holds
 * \return the element
 * \throw std::invalid_argument if there is none
 */
template <typename LIST>
auto&
ElementOf(LIST& list, std::size_t index, const char* what)
{
    if (index >= list.size())
    {
        throw std::invalid_argument(std::string("there is no ") + what + " " +
                                    std::to_string(index));
    }
    return list[index];
}

} // namespace astra_ns3
