// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-net-device.h"
#include "fabric-port.h"
#include "fabric-switch.h"

#include "ns3/node.h"

#include <cstdint>
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
    /// \param bufferBytes shared buffer \param hashSeed seed of its choices
    void AddSwitch(uint64_t bufferBytes, uint32_t hashSeed);
    /// Ports of switches mark from now on.
    void UseMarking(uint64_t kminBytes, uint64_t kmaxBytes, double pmax);
    /// \param bytes buffer of a host's port; 0 is no limit
    void SetNicBuffer(uint64_t bytes);
    /// \param bytes largest IP packet of a host
    void SetMtu(uint32_t bytes);
    /// Join two nodes.
    void AddLink(uint32_t nodeA, uint32_t nodeB, uint64_t rateBps, int64_t delayPs);
    /// Fill a switch's table.
    void SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports);
    /// Give every random stream its number. \param stream the first
    void AssignStreams(int64_t stream);

    /// \return number of hosts
    uint32_t GetNHosts() const;
    /// \return number of nodes
    uint32_t GetNNodes() const;
    /// \return a node
    ns3::Ptr<ns3::Node> GetNode(uint32_t node) const;
    /// \return the nodes of all hosts
    std::vector<ns3::Ptr<ns3::Node>> GetHosts() const;
    /// \return number of ports of a node
    uint32_t GetNPorts(uint32_t node) const;
    /// \return a port
    ns3::Ptr<ns3::FabricPort> GetPort(uint32_t node, uint32_t port) const;
    /// \return IP packets received by all hosts
    uint64_t GetReceivedPackets() const;
    /// \return frames that switches had no route for
    uint64_t GetUnroutedFrames() const;

  private:
    /// One end of a link that is being made.
    struct End
    {
        ns3::Ptr<ns3::FabricPort> port; //!< its sending half
        ns3::FabricReceiver* receiver;  //!< its receiving half
        uint32_t number;                //!< its number on the node
    };

    /// Make a port on a node.
    End MakeEnd(uint32_t node, uint64_t rateBps, int64_t delayPs);

    std::vector<ns3::Ptr<ns3::Node>> m_nodes;                    //!< all nodes
    std::vector<std::vector<ns3::Ptr<ns3::FabricPort>>> m_ports; //!< ports of each node
    std::vector<ns3::Ptr<ns3::FabricNetDevice>> m_devices;       //!< NICs
    std::vector<ns3::Ptr<ns3::FabricSwitch>> m_switches;         //!< switches
    std::vector<ns3::Ptr<ns3::FabricEcnMarker>> m_markers;       //!< markers of all ports
    uint32_t m_hosts{0};                                         //!< number of hosts
    uint64_t m_nicBufferBytes{0};                                //!< buffer of a NIC
    bool m_marking{false};                                       //!< switch ports mark
    uint64_t m_kminBytes{0};                                     //!< marking: Kmin
    uint64_t m_kmaxBytes{0};                                     //!< marking: Kmax
    double m_pmax{0.0};                                          //!< marking: Pmax
};

} // namespace astra_ns3
