// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricRoutes against a plain table of every host, at random, and the ports of a NIC.
 */
#include "switch-fixture.h"

#include "ns3/test.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace fabric_routes_test
{
using namespace ns3;
using namespace ns3::test;

/// \return the ports that lead to a destination
std::vector<uint32_t>
PortsOf(const FabricRoutes& routes, uint32_t destination)
{
    const FabricRoutes::Ports ports = routes.Find(destination);
    return {ports.first, ports.first + ports.count};
}

/// A table by groups and the same one by hosts.
struct BothTables
{
    FabricRoutes routes;                                //!< by groups
    std::map<uint32_t, std::vector<uint32_t>> expected; //!< by hosts
    uint32_t hosts{0};                                  //!< how many
};

/// \return a random table
BothTables
RandomTable(uint32_t seed)
{
    std::mt19937 random(seed);
    BothTables tables;
    tables.hosts = 1 + random() % 40;
    const uint32_t groups = 1 + random() % 8;
    FabricHostGroups groupOfHost(tables.hosts);
    std::generate(groupOfHost.begin(), groupOfHost.end(), [&] { return random() % groups; });
    std::vector<std::vector<uint32_t>> sets(1 + random() % 5);
    for (auto& set : sets)
    {
        set.resize(random() % 5); // some sets have no port, some have one twice
        std::generate(set.begin(), set.end(), [&] { return random() % 64; });
    }
    std::vector<uint32_t> setOfGroup(groups);
    for (uint32_t& set : setOfGroup)
    {
        set = random() % 3 == 0 ? FabricRoutes::LOCAL : random() % sets.size();
    }
    std::vector<uint32_t> setOffsets{0};
    std::vector<uint32_t> setPorts;
    for (const auto& set : sets)
    {
        setPorts.insert(setPorts.end(), set.begin(), set.end());
        setOffsets.push_back(setPorts.size());
    }
    std::vector<uint32_t> localHosts;
    std::vector<uint32_t> localPorts;
    for (uint32_t host = tables.hosts; host-- > 0;) // not in order
    {
        const uint32_t set = setOfGroup[groupOfHost[host]];
        tables.expected[host] = set == FabricRoutes::LOCAL ? std::vector<uint32_t>() : sets.at(set);
        for (uint32_t link = random() % 3; set == FabricRoutes::LOCAL && link > 0; --link)
        {
            localHosts.push_back(host);
            localPorts.push_back(random() % 64);
            tables.expected[host].push_back(localPorts.back());
        }
    }
    tables.routes.SetGroups(std::make_shared<const FabricHostGroups>(groupOfHost),
                            setOfGroup,
                            setOffsets,
                            setPorts);
    tables.routes.SetLocal(localHosts, localPorts);
    return tables;
}

class SameAsPlainTable : public TestCase
{
  public:
    SameAsPlainTable()
        : TestCase("a table by groups leads every host the same way as a table by hosts")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 300; ++seed)
        {
            const BothTables tables = RandomTable(seed);
            for (const auto& [host, ports] : tables.expected)
            {
                NS_TEST_EXPECT_MSG_EQ((PortsOf(tables.routes, host) == ports),
                                      true,
                                      "seed " << seed << ", host " << host);
            }
            for (uint32_t host : {tables.hosts, tables.hosts + 1, 0xfffffffeU, 0xffffffffU})
            {
                NS_TEST_EXPECT_MSG_EQ(PortsOf(tables.routes, host).size(), 0U, "no such host");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(PortsOf(FabricRoutes(), 0).size(), 0U, "a table without anything");
    }
};

class NicTakesAPortOfItsTable : public TestCase
{
  public:
    NicTakesAPortOfItsTable()
        : TestCase("a NIC with several ports spreads flows over those of its table, or keeps a pin")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t PORTS = 4;
        Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
        for (uint32_t number = 0; number < PORTS; ++number)
        {
            NS_TEST_EXPECT_MSG_EQ(device->AddPort(CreateObject<FabricPort>()), number, "number");
        }
        NS_TEST_EXPECT_MSG_EQ(device->GetNPorts(), PORTS, "ports");
        // Host 0 by all ports, host 1 by ports 3 and 1, host 2 by port 2, host 3 by 0 and 2.
        device->GetRoutes().SetGroups(
            std::make_shared<const FabricHostGroups>(FabricHostGroups{0, 1, 2, 3}),
            {0, 1, 2, 3},
            {0, 4, 6, 7, 9},
            {0, 1, 2, 3, 3, 1, 2, 0, 2});
        device->PinPort(3, 5); // the sixth of two, in turns: the second
        const auto hashes = FlowHashes(24, 8);
        std::vector<uint64_t> all(PORTS, 0);
        std::vector<uint64_t> two(2, 0);
        for (uint32_t hash : hashes)
        {
            all.at(device->ChoosePort(0, hash))++;
            const uint32_t port = device->ChoosePort(1, hash);
            NS_TEST_ASSERT_MSG_EQ((port == 3 || port == 1), true, "host 1 by port " << port);
            two[port == 3 ? 0 : 1]++;
            NS_TEST_ASSERT_MSG_EQ(device->ChoosePort(2, hash), 2U, "the only one");
            NS_TEST_ASSERT_MSG_EQ(device->ChoosePort(3, hash), 2U, "pinned");
        }
        NS_TEST_EXPECT_MSG_LT(ChiSquare(all), CHI_SQUARE_LIMIT.at(3), "all ports alike");
        NS_TEST_EXPECT_MSG_LT(ChiSquare(two), CHI_SQUARE_LIMIT.at(1), "both ports alike");
        device->Dispose();
        Simulator::Destroy();
    }
};

class FabricRoutesTestSuite : public TestSuite
{
  public:
    FabricRoutesTestSuite()
        : TestSuite("astra-fabric-routes", Type::UNIT)
    {
        AddTestCase(new SameAsPlainTable);
        AddTestCase(new NicTakesAPortOfItsTable);
    }
};

FabricRoutesTestSuite g_fabricRoutesTestSuite; //!< registers itself
} // namespace fabric_routes_test
