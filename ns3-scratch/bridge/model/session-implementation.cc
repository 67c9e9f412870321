// SPDX-License-Identifier: GPL-2.0-only
#include "session-implementation.h"

#include "queued-message-transport.h"
#include "roce-control-registry.h"
#include "tcp-stack.h"

#include "ns3/config.h"
#include "ns3/names.h"
#include "ns3/object-factory.h"
#include "ns3/pointer.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/simulator.h"

#include <cstdio>
#include <cstdlib>

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr int NS3_FAILED_STATUS = 5;       // exit status of the command line for it
constexpr int64_t MARKING_STREAMS = 1;     // first random stream of the network
constexpr int64_t ROCE_STREAM = 1LL << 40; // of the congestion controls, far behind

/// ns-3 has printed what is wrong and ends the process: do so at once, without taking half a
/// simulation apart.
[[noreturn]] void
EndProcess()
{
    std::fputs("astra-ns3: error: ns-3 ended the process; its message stands above\n", stderr);
    std::fflush(stderr);
    std::_Exit(NS3_FAILED_STATUS);
}

bool g_live = false; //!< a session exists: ns-3 has one simulator per process

/// Makes a congestion control of a user's.
using ControlMaker = RoceCongestionControl* (*)(const RoceControlParameters&);
} // namespace

Session::Implementation::Implementation(uint32_t seed)
{
    if (g_live)
    {
        throw std::invalid_argument("there is a live session already: close it first");
    }
    if (seed == 0)
    {
        throw std::invalid_argument("the seed must be above 0");
    }
    g_live = true;
    oldTerminate = std::set_terminate(&EndProcess);
    if (Time::GetResolution() != Time::PS)
    {
        Time::SetResolution(
            Time::PS); // ns-3 allows it once per process, before its first simulation
    }
    ObjectFactory scheduler;
    scheduler.SetTypeId(FabricScheduler::GetTypeId());
    scheduler.Set("Monitor", PointerValue(eventList));
    Simulator::SetScheduler(scheduler);
    RngSeedManager::SetSeed(seed);
    RngSeedManager::SetRun(1);
    for (uint32_t table = 0; table < RECORD_TABLES; ++table)
    {
        tables[table].SetReady([this, table] { listener->RecordsReady(table); });
    }
}

Session::Implementation::~Implementation()
{
    heartbeat.reset();
    pauseWatchdog.reset();
    connectionProbes.clear();
    tcpTransport.reset();
    roceTransport.reset();
    analytical.reset();
    Simulator::Destroy();
    Config::Reset();
    RngSeedManager::ResetNextStreamIndex();
    Names::Clear();
    std::set_terminate(oldTerminate);
    g_live = false;
}

// The nodes of ns-3 outlive this object's other members only until Simulator::Destroy above has
// run.
void
Session::Implementation::Build(SessionListener* newListener)
{
    if (listener || !newListener)
    {
        throw std::invalid_argument("Build is called once, with a listener");
    }
    if (!tcp && !roce && analyticalDimensions.empty() && network.GetNHosts() > 1)
    {
        throw std::invalid_argument("there are several hosts and no transport between them");
    }
    CheckLinks();
    listener = newListener;
    network.Finish(MARKING_STREAMS);
    if (tcp)
    {
        BuildTcp();
    }
    if (roce)
    {
        BuildRoce();
    }
    if (!analyticalDimensions.empty())
    {
        BuildAnalytical();
    }
    BuildWatchdog();
    local = std::make_unique<LocalMessageTransport>(hostOfNpu.size(),
                                                    localRateBps,
                                                    localDelayPs,
                                                    *this);
    for (uint32_t npu = 0; npu < hostOfNpu.size(); ++npu)
    {
        Ptr<CollectiveApplication> application = CreateObject<CollectiveApplication>();
        application->Configure(npu, endpoint, &router, this);
        network.GetNode(hostOfNpu[npu])->AddApplication(application);
        applications.push_back(application);
    }
}

void
Session::Implementation::CheckLinks() const
{
    for (uint32_t host = 0; (tcp || roce) && host < network.GetNHosts(); ++host)
    {
        if (network.GetNPorts(host) == 0)
        {
            throw std::invalid_argument("host " + std::to_string(host) + " has no link");
        }
    }
}

void
Session::Implementation::BuildTcp()
{
    SetTcpDefaults(*tcp);
    network.SetMtu(tcp->mtuBytes);
    InstallTcpStack(network.GetHosts(), FabricNetwork::BASE_ADDRESS);
    tcpTransport = std::make_unique<TcpMessageTransport>(*this,
                                                         network.GetHosts(),
                                                         hostOfNpu,
                                                         tcp->acknowledged);
    tcpTransport->SetOpenedCallback([this](const TcpConnection& connection) {
        connectionProbes.push_back(
            std::make_unique<ConnectionProbe>(tables[CONNECTION_RECORDS],
                                              connectionQuantities,
                                              TimeStep(tcp->connectTimeoutPs),
                                              connection));
    });
}

void
Session::Implementation::BuildRoce()
{
    RoceContext context;
    context.parameters = *roce;
    context.listener = this;
    context.random = CreateObject<UniformRandomVariable>();
    context.random->SetStream(ROCE_STREAM);
    if (roceControlFactory != 0)
    {
        const auto make = reinterpret_cast<ControlMaker>(roceControlFactory);
        context.makeControl = [this, make] {
            return std::unique_ptr<RoceCongestionControl>(make(roceControlParameters));
        };
    }
    else
    {
        context.makeControl = [this] {
            return MakeRoceControl(roceControl, roceControlParameters);
        };
    }
    roceTransport =
        std::make_unique<RoceMessageTransport>(context, network.GetDevices(), hostOfNpu);
    if (queuePairProbe)
    {
        roceTransport->SetObserver(queuePairProbe.get());
    }
    if (context.makeControl()->GetTelemetry() == RoceTelemetry::PATH)
    {
        network.MeasureUtilisation(roceTransport->GetLongestRoundTripPs());
    }
}

void
Session::Implementation::BuildAnalytical()
{
    grid = std::make_unique<AnalyticalGrid>(analyticalDimensions);
    if (grid->GetNpus() != hostOfNpu.size())
    {
        throw std::invalid_argument("the analytical network has " +
                                    std::to_string(grid->GetNpus()) + " NPUs, not " +
                                    std::to_string(hostOfNpu.size()));
    }
    if (analyticalQueues)
    {
        analytical = std::make_unique<QueuedMessageTransport>(*grid, *this);
    }
    else
    {
        analytical = std::make_unique<FormulaMessageTransport>(*grid, formula, *this);
    }
}

void
Session::Implementation::BuildWatchdog()
{
    if (pauseWatchdogPs <= 0 || !network.HasPfc())
    {
        return;
    }
    pauseWatchdog =
        std::make_unique<FabricPauseWatchdog>(pauseWatchdogPs, [this](const std::string& report) {
            TransportFailed(report.c_str());
        });
    for (uint32_t node = 0; node < network.GetNNodes(); ++node)
    {
        const uint32_t hosts = network.GetNHosts();
        const std::string name =
            node < hosts ? "host" + std::to_string(node) : "switch" + std::to_string(node - hosts);
        for (uint32_t port = 0; port < network.GetNPorts(node); ++port)
        {
            pauseWatchdog->AddPort(network.GetPort(node, port), name + ":" + std::to_string(port));
        }
    }
}

void
Session::Implementation::MessageArrived(const CollectiveMessage& message)
{
    if (recordFlows)
    {
        tables[FLOW_RECORDS].Append<8>({message.sender,
                                        message.receiver,
                                        static_cast<int64_t>(message.bytes),
                                        message.startPs,
                                        Simulator::Now().GetTimeStep(),
                                        static_cast<int64_t>(message.instance),
                                        message.row,
                                        message.idealPs});
    }
    applications[message.receiver]->Receive(message);
}

void
Session::Implementation::BytesArrived(int64_t bytes)
{
    deliveredBytes += bytes;
}

void
Session::Implementation::TransportFailed(const char* reason)
{
    if (failure.empty())
    {
        failure = reason;
    }
    Simulator::Stop();
}

void
Session::Implementation::PhaseDone(uint32_t npu, uint64_t instance)
{
    listener->PhaseDone(npu, instance, Simulator::Now().GetTimeStep());
}

void
Session::Implementation::ReachLimit()
{
    if (heartbeat->IsPosted())
    {
        limit = Simulator::ScheduleNow(&Implementation::ReachLimit, this);
        return;
    }
    if (eventList->HasLiveEvents())
    {
        limitReached = true;
        Simulator::Stop();
    }
}

uint64_t
Session::Implementation::GetEvents() const
{
    return Simulator::GetEventCount() - eventList->GetPlaceholders() -
           (heartbeat ? heartbeat->GetPlayed() : 0);
}

MessageTransport&
Session::Implementation::ChooseRemote(uint32_t sender, uint32_t receiver)
{
    if (analytical)
    {
        return *analytical;
    }
    bool overRoce = roceTransport != nullptr;
    if (tcpTransport && roceTransport)
    {
        for (std::size_t dimension = 0; dimension < dimensionSizes.size(); ++dimension)
        {
            const uint32_t size = dimensionSizes[dimension];
            if (sender % size != receiver % size)
            {
                overRoce = dimensionTransports[dimension] == 1;
            }
            sender /= size;
            receiver /= size;
        }
    }
    if (overRoce)
    {
        return *roceTransport;
    }
    return *tcpTransport;
}

void
Session::Implementation::Router::Send(const CollectiveMessage& message)
{
    const auto& hosts = m_session.hostOfNpu;
    const bool sameHost = hosts[message.sender] == hosts[message.receiver];
    (sameHost ? static_cast<MessageTransport&>(*m_session.local)
              : m_session.ChooseRemote(message.sender, message.receiver))
        .Send(message);
}

} // namespace astra_ns3
