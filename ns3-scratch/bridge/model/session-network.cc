// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-registry.h"
#include "session-implementation.h"

namespace astra_ns3
{

using namespace ns3;

SessionListener::~SessionListener() = default;

const char*
GetLibraryVersion()
{
    return ASTRA_NS3_VERSION;
}

const char*
GetNs3Version()
{
    return ASTRA_NS3_NS3_VERSION;
}

Session::Session(uint32_t seed)
    : m_implementation(std::make_unique<Implementation>(seed))
{
}

Session::~Session() = default;

void
Session::AddHosts(uint32_t count)
{
    m_implementation->network.AddHosts(count);
}

void
Session::AddSwitch(uint64_t bufferBytes, uint32_t hashSeed)
{
    SwitchParameters parameters;
    parameters.bufferBytes = bufferBytes;
    parameters.hashSeed = hashSeed;
    AddSwitch(parameters);
}

void
Session::AddSwitch(const SwitchParameters& parameters)
{
    m_implementation->network.AddSwitch(parameters);
}

void
Session::UseMarking(uint64_t kminBytes, uint64_t kmaxBytes, double pmax)
{
    MarkingParameters marking;
    marking.kminBytes = kminBytes;
    marking.kmaxBytes = kmaxBytes;
    marking.pmax = pmax;
    m_implementation->network.UseMarking(marking);
}

void
Session::SetNicBuffer(uint64_t bytes)
{
    m_implementation->network.SetNicBuffer(bytes);
}

void
Session::AddLink(uint32_t nodeA, uint32_t nodeB, uint64_t rateBps, int64_t delayPs)
{
    LinkParameters parameters;
    parameters.rateBps = rateBps;
    parameters.delayPs = delayPs;
    AddLink(nodeA, nodeB, parameters);
}

void
Session::AddLink(uint32_t nodeA, uint32_t nodeB, const LinkParameters& parameters)
{
    m_implementation->network.AddLink(nodeA, nodeB, parameters);
}

void
Session::SetTimeRounding(int64_t roundingPs)
{
    m_implementation->network.SetTimeRounding(roundingPs);
}

void
Session::SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports)
{
    m_implementation->network.SetRoutes(node, offsets, ports);
}

void
Session::SetHostGroups(const uint32_t* groups, uint32_t hosts)
{
    m_implementation->network.SetHostGroups({groups, groups + hosts});
}

void
Session::SetGroupRoutes(uint32_t node,
                        const uint32_t* setOfGroup,
                        uint32_t groups,
                        const uint32_t* setOffsets,
                        uint32_t sets,
                        const uint32_t* setPorts,
                        const uint32_t* localHosts,
                        const uint32_t* localPorts,
                        uint32_t locals)
{
    m_implementation->network.SetGroupRoutes(node,
                                             {setOfGroup, setOfGroup + groups},
                                             {setOffsets, setOffsets + sets + 1},
                                             {setPorts, setPorts + setOffsets[sets]},
                                             {localHosts, localHosts + locals},
                                             {localPorts, localPorts + locals});
}

void
Session::UseRouting(const RoutingParameters& parameters)
{
    m_implementation->network.UseRouting(parameters);
}

void
Session::PinPath(uint32_t fromHost, uint32_t toHost, const uint32_t* choices, uint32_t count)
{
    m_implementation->network.PinPath(fromHost, toHost, {choices, choices + count});
}

void
Session::SetNodeNames(const uint32_t* names, uint32_t count)
{
    m_implementation->network.SetNodeNames({names, names + count});
}

void
Session::SetNpus(const uint32_t* hostOfNpu, uint32_t count)
{
    m_implementation->hostOfNpu.assign(hostOfNpu, hostOfNpu + count);
    for (uint32_t host : m_implementation->hostOfNpu)
    {
        if (host >= m_implementation->network.GetNHosts())
        {
            throw std::invalid_argument("there is no host " + std::to_string(host));
        }
    }
}

void
Session::UseTcp(const TcpParameters& parameters)
{
    m_implementation->tcp = parameters;
}

void
Session::UseRoce(const RoceParameters& parameters)
{
    m_implementation->roce = parameters;
}

void
Session::SetRoceControl(const char* name)
{
    MakeRoceControl(name, {}); // throws if there is none
    m_implementation->roceControl = name;
}

void
Session::SetRoceControlFactory(uint64_t factory)
{
    m_implementation->roceControlFactory = factory;
}

void
Session::SetRoceControlParameter(const char* name, double value)
{
    m_implementation->roceControlParameters.Set(name, value);
}

void
Session::SetPauseWatchdog(int64_t limitPs)
{
    m_implementation->pauseWatchdogPs = limitPs;
}

void
Session::SetTransports(const uint32_t* sizes, const uint32_t* transports, uint32_t count)
{
    m_implementation->dimensionSizes.assign(sizes, sizes + count);
    m_implementation->dimensionTransports.assign(transports, transports + count);
}

void
Session::AddAnalyticalDimension(const AnalyticalDimensionParameters& parameters)
{
    if (parameters.topology > static_cast<uint32_t>(AnalyticalTopology::SWITCH))
    {
        throw std::invalid_argument("there is no analytical topology " +
                                    std::to_string(parameters.topology));
    }
    m_implementation->analyticalDimensions.push_back(
        {static_cast<AnalyticalTopology>(parameters.topology),
         parameters.npus,
         parameters.bytesPerNs,
         parameters.linkLatencyNs,
         parameters.nicLatencyNs,
         parameters.routerLatencyNs,
         parameters.memoryLatencyNs,
         parameters.memoryBytesPerNs,
         parameters.memoryScale,
         {},
         {},
         0});
}

void
Session::SetAnalyticalLatencies(uint32_t dimension,
                                const uint32_t* classOfPlace,
                                uint32_t count,
                                const double* latenciesNs,
                                uint32_t classes)
{
    AnalyticalDimension& changed = m_implementation->analyticalDimensions.at(dimension);
    changed.classOfPlace.assign(classOfPlace, classOfPlace + count);
    changed.latenciesNs.assign(latenciesNs, latenciesNs + uint64_t{classes} * classes);
    changed.classes = classes;
}

void
Session::UseAnalyticalQueues()
{
    m_implementation->analyticalQueues = true;
}

void
Session::SetFormula(bool highestDimensionOnly, bool truncate, uint64_t rendezvousBytes)
{
    m_implementation->formula = {highestDimensionOnly, truncate, rendezvousBytes};
}

void
Session::SetLocal(uint64_t rateBps, int64_t delayPs)
{
    m_implementation->localRateBps = rateBps;
    m_implementation->localDelayPs = delayPs;
}

void
Session::SetEndpoint(int64_t delayPs, uint64_t reductionBytesPerNs)
{
    m_implementation->endpoint = {delayPs, reductionBytesPerNs};
}

void
Session::Build(SessionListener* listener)
{
    m_implementation->Build(listener);
}

} // namespace astra_ns3
