// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * A switch that tells which port a frame takes, flow hashes as a training run has them, and a test
 * of evenness, for the suites of FabricSwitch and FabricPathChoice.
 */
#pragma once

#include "fabric-net-device.h"
#include "fabric-switch.h"

#include "ns3/ipv4-header.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace ns3::test
{

constexpr uint32_t BASE_ADDRESS = 0x0a000001;

/// The far end of all ports of a switch: notes by which of them the last frame came.
class FarEnd : public FabricReceiver
{
  public:
    void ReceiveFrame(FabricFrame* frame, uint32_t port) override
    {
        m_port = port;
        FabricFramePool::Give(frame);
    }

    /// \return port of the last frame since this was called last, or `none`
    uint32_t TakePort(uint32_t none)
    {
        return std::exchange(m_port, std::nullopt).value_or(none);
    }

  private:
    std::optional<uint32_t> m_port; //!< port of the last frame
};

/// A switch that tells which port each frame takes.
class WatchedSwitch
{
  public:
    WatchedSwitch(uint32_t ports, uint32_t hashSeed)
        : m_switch(CreateObjectWithAttributes<FabricSwitch>("HashSeed", UintegerValue(hashSeed)))
    {
        for (uint32_t number = 0; number < ports; ++number)
        {
            Ptr<FabricPort> port = CreateObject<FabricPort>();
            port->Connect(&m_farEnd, number, 0);
            m_switch->AddPort(port);
        }
    }

    ~WatchedSwitch()
    {
        m_switch->Dispose();
    }

    WatchedSwitch(const WatchedSwitch&) = delete;
    WatchedSwitch& operator=(const WatchedSwitch&) = delete;

    /// \return the switch
    const Ptr<FabricSwitch>& Get() const
    {
        return m_switch;
    }

    /// \return the port a frame takes, or the number of ports if it takes none
    uint32_t Choose(uint32_t destination, uint32_t flowHash, Ptr<Packet> packet = nullptr)
    {
        FabricFrame* frame = FabricFramePool::Take();
        frame->SetPacket(packet);
        frame->destination = destination;
        frame->flowHash = flowHash;
        frame->bufferBytes = 64;
        frame->wireBytes = 84;
        m_switch->ReceiveFrame(frame, 0);
        Simulator::Run();
        return m_farEnd.TakePort(m_switch->GetNPorts());
    }

  private:
    Ptr<FabricSwitch> m_switch; //!< the switch
    FarEnd m_farEnd;            //!< where its ports lead
};

/// Keeps the flow hash of what arrives.
class HashReader : public FabricReceiver
{
  public:
    void ReceiveFrame(FabricFrame* frame, uint32_t) override
    {
        m_hash = frame->flowHash;
        FabricFramePool::Give(frame);
    }

    /// \return hash that a NIC gives to a packet between two hosts and two TCP ports
    uint32_t Read(const Ptr<FabricNetDevice>& device,
                  uint32_t from,
                  uint32_t to,
                  uint16_t sourcePort,
                  uint16_t destinationPort)
    {
        const std::array<uint8_t, 4> ports{static_cast<uint8_t>(sourcePort >> 8),
                                           static_cast<uint8_t>(sourcePort),
                                           static_cast<uint8_t>(destinationPort >> 8),
                                           static_cast<uint8_t>(destinationPort)};
        Ptr<Packet> packet = Create<Packet>(ports.data(), ports.size());
        Ipv4Header header;
        header.SetSource(Ipv4Address(BASE_ADDRESS + from));
        header.SetDestination(Ipv4Address(BASE_ADDRESS + to));
        packet->AddHeader(header);
        device->Send(packet, Address(), 0x0800);
        Simulator::Run();
        return m_hash;
    }

  private:
    uint32_t m_hash{0}; //!< of the last frame
};

/// \return hashes of flows as a training run has them: all pairs of hosts, consecutive source
/// ports, one listening port
inline std::vector<uint32_t>
FlowHashes(uint32_t hosts, uint32_t connections)
{
    HashReader reader;
    Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
    device->AddPort(CreateObject<FabricPort>());
    device->SetBaseAddress(BASE_ADDRESS);
    device->GetPort(0)->Connect(&reader, 0, 0);
    std::vector<uint32_t> hashes;
    for (uint32_t from = 0; from < hosts; ++from)
    {
        for (uint32_t to = 0; to < hosts; ++to)
        {
            for (uint32_t connection = 0; from != to && connection < connections; ++connection)
            {
                hashes.push_back(
                    reader.Read(device, from, to, 49'153 + to * connections + connection, 5'000));
            }
        }
    }
    device->Dispose();
    return hashes;
}

/// Fill a switch's table, each destination a group of its own.
inline void
SetRoutes(const Ptr<FabricSwitch>& fabricSwitch,
          const std::vector<uint32_t>& offsets,
          const std::vector<uint32_t>& ports)
{
    FabricHostGroups groups(offsets.size() - 1);
    std::iota(groups.begin(), groups.end(), 0);
    fabricSwitch->GetRoutes().SetGroups(std::make_shared<const FabricHostGroups>(groups),
                                        groups,
                                        offsets,
                                        ports);
}

/// Let every destination be reached by each port.
inline void
RouteOverAll(const Ptr<FabricSwitch>& fabricSwitch, uint32_t destinations, uint32_t ports)
{
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> choices;
    for (uint32_t destination = 0; destination <= destinations; ++destination)
    {
        offsets.push_back(destination * ports);
        for (uint32_t port = 0; destination < destinations && port < ports; ++port)
        {
            choices.push_back(port);
        }
    }
    SetRoutes(fabricSwitch, offsets, choices);
}

/// \return chi-square of counts that should all be equal
inline double
ChiSquare(const std::vector<uint64_t>& counts)
{
    const auto total =
        static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0}));
    const double expected = total / static_cast<double>(counts.size());
    double sum = 0;
    for (uint64_t count : counts)
    {
        const double off = static_cast<double>(count) - expected;
        sum += off * off / expected;
    }
    return sum;
}

// Chi-square exceeded by chance once in ten thousand, by degrees of freedom (tables of the
// distribution).
inline const std::map<std::size_t, double> CHI_SQUARE_LIMIT{{1, 15.14},
                                                            {2, 18.42},
                                                            {3, 21.11},
                                                            {4, 23.51},
                                                            {6, 27.86},
                                                            {63, 113.5}};

} // namespace ns3::test
