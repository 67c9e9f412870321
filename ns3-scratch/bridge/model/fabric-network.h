// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-changes.h"
#include "fabric-credit-rule.h"
#include "fabric-murmur-choice.h"
#include "fabric-net-device.h"
#include "fabric-pinned-choice.h"
#include "fabric-port.h"
#include "fabric-simulator.h"
#include "fabric-switch.h"
#include "network-description.h"

#include "ns3/node.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace astra_ns3
{

/// Makes hosts, switches and links, and keeps them by number: hosts first, then switches, each in
/// the order added.
class FabricNetwork
{
  public:
    /// IPv4 address of host 0; host i has the i-th after it.
    static constexpr uint32_t BASE_ADDRESS = 0x0a000001; // 10.0.0.1

    /// \param count hosts to add; only before the first switch
    void AddHosts(uint32_t count);
    /// \param parameters what the switch is like
    void AddSwitch(const SwitchParameters& parameters);
    /// \param marking ports of switches without marking of their own mark from now on
    void UseMarking(const MarkingParameters& marking);
    /// \param bytes buffer of a host's port; 0 is no limit
    void SetNicBuffer(uint64_t bytes);
    /// \param bytes largest IP packet of a host
    void SetMtu(uint32_t bytes);
    /// \param roundingPs transmission times of ports made from now on are multiples of it
    void SetTimeRounding(int64_t roundingPs);
    /// Join two nodes.
    void AddLink(uint32_t nodeA, uint32_t nodeB, const LinkParameters& parameters);
    /// Fill a node's table, host by host.
    void SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports);
    /// \param groups group of each host, for SetGroupRoutes
    void SetHostGroups(std::vector<uint32_t> groups);
    /// Fill a node's table by groups. \param routes of it, but for the groups of hosts
    void SetGroupRoutes(uint32_t node,
                        std::vector<uint32_t> setOfGroup,
                        std::vector<uint32_t> setOffsets,
                        std::vector<uint32_t> setPorts,
                        const std::vector<uint32_t>& localHosts,
                        const std::vector<uint32_t>& localPorts);
    /// \param parameters how all nodes choose between equal paths
    void UseRouting(const RoutingParameters& parameters);
    /// Pin the path between two hosts.
    void PinPath(uint32_t fromHost, uint32_t toHost, std::vector<uint32_t> choices);
    /// \param names number of each node where it comes from
    void SetNodeNames(std::vector<uint32_t> names);
    /// \param averagingPs ports measure their utilisation for RoceTelemetry::PATH
    void MeasureUtilisation(int64_t averagingPs);
    /// All nodes and links are there: set up what needs them.
    void Finish();

    /// \param changes to which all links, hosts and switches are added, by their numbers
    void AddTo(ns3::FabricChanges& changes) const;

    /// Raise an error if a host has no link.
    void RequireLinks() const;
    /// \return number of hosts
    uint32_t GetNHosts() const;

    /// Which nodes are played together, and in how long windows.
    struct Windows
    {
        std::vector<uint32_t> groups; //!< of each node, see FabricSimulator; none: one list
        int64_t lengthPs{0};          //!< of a window
        uint32_t cores{1};            //!< threads that play
        bool hostsApart{false};       //!< no host is in group 0
    };

    /**
     * Have nodes played in windows, each by itself, where that pays and nobody traces one.
     * \param simulator plays them; nothing has been played yet
     * \param shortestPs no link is ever shorter than it is now, or than this
     * \param cores threads to play them, if that is possible
     * \param hostsApart hosts may be played by themselves, too
     * \return what is played how
     */
    Windows PlayInWindows(ns3::FabricSimulator& simulator,
                          int64_t shortestPs,
                          uint32_t cores,
                          bool hostsApart) const;

    /// \return both ends of each link
    const std::vector<std::array<ns3::Ptr<ns3::FabricPort>, 2>>& GetLinks() const
    {
        return m_links;
    }

    /// \return number of nodes
    uint32_t GetNNodes() const;
    /// \return a node
    ns3::Ptr<ns3::Node> GetNode(uint32_t node) const;
    /// \return the nodes of all hosts
    std::vector<ns3::Ptr<ns3::Node>> GetHosts() const;
    /// \return the NICs of all hosts
    const std::vector<ns3::Ptr<ns3::FabricNetDevice>>& GetDevices() const;
    /// \return frames that a switch, or a host with several ports, dropped as no way led on
    uint64_t CountUnroutedFrames() const;
    /// \return whether any switch stops neighbours, by PFC or by giving no credit
    bool StopsPorts() const;
    /// \return number of ports of a node
    uint32_t GetNPorts(uint32_t node) const;
    /// \return a port
    ns3::Ptr<ns3::FabricPort> GetPort(uint32_t node, uint32_t port) const;
    /// \return IP packets received by all hosts
    uint64_t GetReceivedPackets() const;
    /// \return frames that switches had no route for
    uint64_t GetUnroutedFrames() const;

    /// \return why one thread plays where more were asked for
    std::string DescribeOneCore() const;

  private:
    /// \param groups of each node \return whether a port outside group 0 is traced
    bool IsTraced(const std::vector<uint32_t>& groups) const;
    /// \return whether hosts may be played by themselves, as far as the network is concerned
    bool MayPlayHostsApart() const;

    /// One end of a link that is being made.
    struct End
    {
        ns3::Ptr<ns3::FabricPort> port; //!< its sending half
        ns3::FabricReceiver* receiver;  //!< its receiving half
        uint32_t number;                //!< its number on the node
    };

    /// \return group of each node if windows are so long: 0 for the hosts and what is nearer to
    /// them, numbers for all others; \param shortestPs, hostsApart see PlayInWindows
    std::vector<uint32_t> GroupNodes(int64_t windowPs, int64_t shortestPs, bool hostsApart) const;
    /// \return the longest windows that leave most nodes apart, and these
    Windows PlanWindows(int64_t shortestPs, bool hostsApart) const;
    /// Let a port tell a switch at its far end of heads, if that cuts through.
    void AnnounceHeads(ns3::FabricPort& port, uint32_t farNode) const;
    /// Let a port send by credit, if the switch at either end gives it.
    void UseCredits(const End& from, const End& to, uint32_t order);
    /// Let a port give credit back to where its frames came from, if its switch does.
    void GiveCredit(const End& end, uint32_t order);
    /// Make a port on a node.
    End MakeEnd(uint32_t node, const LinkParameters& parameters);
    /// Give a switch's port its marker and scheduler.
    void SetUpSwitchPort(const SwitchParameters& parameters, ns3::FabricPort& port);
    /// \return NIC of a host, made if need be
    ns3::FabricNetDevice& GetOrMakeDevice(uint32_t host);
    /// \return the table of a node
    ns3::FabricRoutes& GetRoutes(uint32_t node);
    /// \return where frames go first; none if they go straight to their destination
    std::shared_ptr<const ns3::FabricDetours> MakeDetours() const;
    /// Give a switch its way of choosing paths.
    void SetUpRouting(uint32_t node);
    /// Raise an error if a port number of a table is too high.
    void CheckPorts(uint32_t node, const std::vector<uint32_t>& ports) const;

    std::vector<ns3::Ptr<ns3::Node>> m_nodes;                              //!< all nodes
    std::vector<std::vector<ns3::Ptr<ns3::FabricPort>>> m_ports;           //!< ports of each node
    std::vector<std::vector<ns3::FabricSharedBuffer::PfcPort>> m_pfcPorts; //!< of each switch
    std::vector<ns3::FabricCreditRule::Entrances> m_entrances;             //!< of each switch
    std::vector<std::array<ns3::Ptr<ns3::FabricPort>, 2>> m_links;         //!< ends of each link
    std::vector<ns3::Ptr<ns3::FabricNetDevice>> m_devices;                 //!< NICs
    std::vector<ns3::Ptr<ns3::FabricSwitch>> m_switches;                   //!< switches
    std::vector<SwitchParameters> m_switchParameters;                      //!< what they are like
    std::shared_ptr<const ns3::FabricHostGroups> m_groups;                 //!< group of each host
    std::shared_ptr<const ns3::FabricHostGroups> m_singles; //!< each host its own group
    std::shared_ptr<ns3::FabricPins> m_pins{std::make_shared<ns3::FabricPins>()}; //!< pinned paths
    std::vector<uint32_t> m_names; //!< number of each node elsewhere
    RoutingParameters m_routing;   //!< choice between equal paths
    uint32_t m_hosts{0};           //!< number of hosts
    uint64_t m_nicBufferBytes{0};  //!< buffer of a NIC
    std::vector<std::pair<ns3::Ptr<ns3::FabricPort>, ns3::Ptr<ns3::FabricEcnMarker>>>
        m_markers;                            //!< of all ports that mark
    int64_t m_roundingPs{0};                  //!< of transmission times
    std::vector<MarkingParameters> m_marking; //!< of switches without marking of their own
};

} // namespace astra_ns3
