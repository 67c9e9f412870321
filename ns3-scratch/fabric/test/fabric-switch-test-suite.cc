// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricSwitch: its table, and how it spreads flows over equal paths.
 */
#include "fabric-net-device.h"
#include "fabric-switch.h"

#include "ns3/ipv4-header.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <vector>

using namespace ns3;

namespace
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
        frame->packet = packet;
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
std::vector<uint32_t>
FlowHashes(uint32_t hosts, uint32_t connections)
{
    HashReader reader;
    Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
    device->SetPort(CreateObject<FabricPort>());
    device->SetBaseAddress(BASE_ADDRESS);
    device->GetPort()->Connect(&reader, 0, 0);
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

/// Let every destination be reached by each port.
void
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
    fabricSwitch->SetRoutes(offsets, choices);
}

/// \return chi-square of counts that should all be equal
double
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
const std::map<std::size_t, double> CHI_SQUARE_LIMIT{{1, 15.14},
                                                     {2, 18.42},
                                                     {3, 21.11},
                                                     {6, 27.86}};

class RoutesByTable : public TestCase
{
  public:
    RoutesByTable()
        : TestCase(
              "a frame takes a port of its destination; one without a route is counted and freed")
    {
    }

  private:
    void DoRun() override
    {
        WatchedSwitch watched(4, 0);
        // Destination 0 by port 2, 1 by none, 2 by 0 or 3, 3 by 1.
        watched.Get()->SetRoutes({0, 1, 1, 3, 4}, {2, 0, 3, 1});
        bool tookZero = false;
        bool tookThree = false;
        for (uint32_t hash = 0; hash < 64; ++hash)
        {
            NS_TEST_EXPECT_MSG_EQ(watched.Choose(0, hash), 2U, "destination 0");
            NS_TEST_EXPECT_MSG_EQ(watched.Choose(3, hash), 1U, "destination 3");
            const uint32_t port = watched.Choose(2, hash);
            tookZero = tookZero || port == 0;
            tookThree = tookThree || port == 3;
            NS_TEST_EXPECT_MSG_EQ((port == 0 || port == 3),
                                  true,
                                  "destination 2 took port " << port);
        }
        NS_TEST_EXPECT_MSG_EQ((tookZero && tookThree),
                              true,
                              "both ports of destination 2 are used");
        NS_TEST_EXPECT_MSG_EQ(watched.Get()->GetUnroutedFrames(), 0U, "all had a route");
        for (uint32_t destination : {1U, 4U, 5U, 0xffffffffU})
        {
            Ptr<Packet> packet = Create<Packet>(100);
            NS_TEST_EXPECT_MSG_EQ(watched.Choose(destination, 1, packet), 4U, "no port");
            NS_TEST_EXPECT_MSG_EQ(packet->GetReferenceCount(), 1U, "the packet is let go");
        }
        NS_TEST_EXPECT_MSG_EQ(watched.Get()->GetUnroutedFrames(), 4U, "four had none");
        Simulator::Destroy();
    }
};

class SpreadsFlowsEvenly : public TestCase
{
  public:
    SpreadsFlowsEvenly()
        : TestCase("flows spread evenly over 2, 3, 4 and 7 equal ports, each flow always on the "
                   "same one")
    {
    }

  private:
    void DoRun() override
    {
        const auto hashes = FlowHashes(24, 8);
        NS_TEST_ASSERT_MSG_EQ(hashes.size(), 24U * 23 * 8, "flows");
        for (uint32_t ports : {2, 3, 4, 7})
        {
            for (uint32_t hashSeed : {0U, 1U, 2U, 0x9e3779b9U})
            {
                WatchedSwitch watched(ports, hashSeed);
                RouteOverAll(watched.Get(), 1, ports);
                std::vector<uint64_t> counts(ports, 0);
                for (uint32_t hash : hashes)
                {
                    const uint32_t port = watched.Choose(0, hash);
                    NS_TEST_ASSERT_MSG_LT(port, ports, "a port");
                    counts[port]++;
                }
                for (std::size_t flow = 0; flow < 50; ++flow)
                {
                    const uint32_t port = watched.Choose(0, hashes[flow]);
                    NS_TEST_EXPECT_MSG_EQ(watched.Choose(0, hashes[flow]),
                                          port,
                                          "the same port again");
                }
                NS_TEST_EXPECT_MSG_LT(ChiSquare(counts),
                                      CHI_SQUARE_LIMIT.at(ports - 1),
                                      ports << " ports, seed " << hashSeed);
                Simulator::Destroy();
            }
        }
    }
};

class SeedsMakeChoicesIndependent : public TestCase
{
  public:
    SeedsMakeChoicesIndependent()
        : TestCase("switches of two levels with different seeds choose independently of each other")
    {
    }

  private:
    void DoRun() override
    {
        const auto hashes = FlowHashes(24, 8);
        constexpr uint32_t PORTS = 4;
        const std::vector<std::pair<uint32_t, uint32_t>> seeds{{0, 1}, {1, 2}, {7, 8}, {100, 228}};
        for (const auto& [seedBelow, seedAbove] : seeds)
        {
            WatchedSwitch below(PORTS, seedBelow);
            WatchedSwitch above(PORTS, seedAbove);
            WatchedSwitch same(PORTS, seedBelow);
            RouteOverAll(below.Get(), 1, PORTS);
            RouteOverAll(above.Get(), 1, PORTS);
            RouteOverAll(same.Get(), 1, PORTS);
            std::vector<std::vector<uint64_t>> counts(PORTS, std::vector<uint64_t>(PORTS, 0));
            for (uint32_t hash : hashes)
            {
                const uint32_t first = below.Choose(0, hash);
                counts[first][above.Choose(0, hash)]++;
                NS_TEST_ASSERT_MSG_EQ(same.Choose(0, hash), first, "the same seed would polarise");
            }
            for (uint32_t port = 0; port < PORTS; ++port)
            {
                // The flows that one port below sends up meet all ports above alike.
                NS_TEST_EXPECT_MSG_LT(ChiSquare(counts[port]),
                                      CHI_SQUARE_LIMIT.at(PORTS - 1),
                                      "seeds " << seedBelow << ", " << seedAbove << ", port "
                                               << port);
            }
        }
        Simulator::Destroy();
    }
};

class FlowHashTellsFlowsApart : public TestCase
{
  public:
    FlowHashTellsFlowsApart()
        : TestCase(
              "a NIC's flow hash depends on both addresses and both ports, and on nothing else")
    {
    }

  private:
    void DoRun() override
    {
        HashReader reader;
        Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
        device->SetPort(CreateObject<FabricPort>());
        device->GetPort()->Connect(&reader, 0, 0);
        const uint32_t hash = reader.Read(device, 1, 2, 49'153, 5'000);
        NS_TEST_EXPECT_MSG_EQ(reader.Read(device, 1, 2, 49'153, 5'000), hash, "the same flow");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 3, 2, 49'153, 5'000), hash, "another source");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 1, 3, 49'153, 5'000),
                              hash,
                              "another destination");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 1, 2, 49'154, 5'000),
                              hash,
                              "another source port");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 1, 2, 49'153, 5'001),
                              hash,
                              "another destination port");
        NS_TEST_EXPECT_MSG_NE(reader.Read(device, 2, 1, 5'000, 49'153), hash, "the way back");
        constexpr uint32_t HOSTS = 64;
        std::set<uint32_t> hashes;
        for (uint32_t from = 0; from < HOSTS; ++from)
        {
            for (uint32_t to = 0; to < HOSTS; ++to)
            {
                if (from != to)
                {
                    hashes.insert(reader.Read(device, from, to, 49'153, 5'000));
                }
            }
        }
        // Two of 4032 random numbers of 32 bits are equal once in 500 tries.
        NS_TEST_EXPECT_MSG_EQ(hashes.size(), HOSTS * (HOSTS - 1), "pairs with the same ports");
        device->Dispose();
        Simulator::Destroy();
    }
};

class FabricSwitchTestSuite : public TestSuite
{
  public:
    FabricSwitchTestSuite()
        : TestSuite("astra-fabric-switch", Type::UNIT)
    {
        AddTestCase(new RoutesByTable);
        AddTestCase(new FlowHashTellsFlowsApart);
        AddTestCase(new SpreadsFlowsEvenly);
        AddTestCase(new SeedsMakeChoicesIndependent);
    }
};

FabricSwitchTestSuite g_fabricSwitchTestSuite; //!< registers itself
} // namespace
