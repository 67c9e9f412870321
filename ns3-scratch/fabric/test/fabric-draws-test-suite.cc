// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricDraws, and the order in which frames come that arrive at one node at one time.
 */
#include "fabric-draws.h"
#include "fabric-port.h"

#include "ns3/boolean.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/test.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace fabric_draws_test
{
using namespace ns3;

/// \return the first numbers of a port
std::vector<double>
FirstDraws(uint32_t port, std::size_t count, FabricDrawsFor purpose = FabricDrawsFor::MARKS)
{
    FabricDraws draws(purpose, 7, port);
    std::vector<double> numbers(count);
    std::generate(numbers.begin(), numbers.end(), [&draws] { return draws.Next(); });
    return numbers;
}

/// \return correlation of two rows of numbers that are uniform in [0, 1)
double
Correlation(const std::vector<double>& one, const std::vector<double>& other)
{
    double sum = 0.0;
    for (std::size_t place = 0; place < one.size(); ++place)
    {
        sum += (one[place] - 0.5) * (other[place] - 0.5);
    }
    return 12.0 * sum / static_cast<double>(one.size());
}

class DrawsAreUniform : public TestCase
{
  public:
    DrawsAreUniform()
        : TestCase("draws are spread evenly, and those of two ports, purposes and seeds have "
                   "nothing to do with each other")
    {
    }

  private:
    static constexpr std::size_t COUNT = 40'000;
    static constexpr std::size_t BINS = 64;

    void DoRun() override
    {
        const std::vector<double> numbers = FirstDraws(1, COUNT);
        std::array<double, BINS> bins{};
        for (const double number : numbers)
        {
            NS_TEST_ASSERT_MSG_EQ((number >= 0.0 && number < 1.0), true, "in [0, 1)");
            bins.at(static_cast<std::size_t>(number * BINS))++;
        }
        const double mean = static_cast<double>(COUNT) / BINS;
        double chiSquare = 0.0;
        for (const double bin : bins)
        {
            chiSquare += std::pow(bin - mean, 2) / mean;
        }
        // 63 degrees of freedom: 99.99% of all rows lie below 110.
        NS_TEST_EXPECT_MSG_LT(chiSquare, 110.0, "evenly");
        const std::vector<double> shifted(numbers.begin() + 1, numbers.end());
        NS_TEST_EXPECT_MSG_LT(std::abs(Correlation(shifted, numbers)), 0.02, "one after another");
        NS_TEST_EXPECT_MSG_LT(std::abs(Correlation(numbers, FirstDraws(2, COUNT))), 0.02, "ports");
        const auto losses = FirstDraws(1, COUNT, FabricDrawsFor::LOSSES);
        NS_TEST_EXPECT_MSG_LT(std::abs(Correlation(numbers, losses)), 0.02, "purposes");
        NS_TEST_EXPECT_MSG_EQ((numbers == FirstDraws(1, COUNT)), true, "the same seed, the same");
        const uint32_t seed = RngSeedManager::GetSeed();
        RngSeedManager::SetSeed(seed + 1);
        const std::vector<double> others = FirstDraws(1, COUNT);
        RngSeedManager::SetSeed(seed);
        NS_TEST_EXPECT_MSG_LT(std::abs(Correlation(numbers, others)), 0.02, "seeds");
    }
};

class NoPortIsAlwaysFirst : public TestCase
{
  public:
    NoPortIsAlwaysFirst()
        : TestCase("of frames that arrive together at a node by several ports each is first "
                   "equally often, and by number with OldestFirst")
    {
    }

  private:
    static constexpr uint32_t TIMES = 20'000;
    static constexpr uint32_t NODE = 3;

    /// \return ports that lead to that node, one to each port of it
    static std::vector<Ptr<FabricPort>> MakePorts(uint32_t count, bool oldestFirst)
    {
        std::vector<Ptr<FabricPort>> ports;
        for (uint32_t number = 0; number < count; ++number)
        {
            Ptr<FabricPort> port =
                CreateObjectWithAttributes<FabricPort>("OldestFirst", BooleanValue(oldestFirst));
            port->Connect(nullptr, number, NODE);
            ports.push_back(port);
        }
        return ports;
    }

    void DoRun() override
    {
        for (const uint32_t count : {2, 3, 15, 64})
        {
            const auto ports = MakePorts(count, false);
            std::vector<double> first(count);
            for (uint32_t time = 1; time <= TIMES; ++time)
            {
                std::set<uint32_t> ranks;
                uint32_t least = 0;
                for (uint32_t number = 0; number < count; ++number)
                {
                    // as frames of 1000 bytes at 100 Gb/s come, time after time
                    const uint32_t rank = ports[number]->GetArrivalRank(int64_t{83'840} * time);
                    least = ranks.empty() || rank < *ranks.begin() ? number : least;
                    ranks.insert(rank);
                }
                NS_TEST_ASSERT_MSG_EQ(ranks.size(), count, "no two are alike");
                first[least]++;
            }
            const double fair = static_cast<double>(TIMES) / count;
            const auto [fewest, most] = std::minmax_element(first.begin(), first.end());
            NS_TEST_EXPECT_MSG_GT(*fewest, 0.7 * fair, "each of " << count << " is first at times");
            NS_TEST_EXPECT_MSG_LT(*most, 1.4 * fair, "none of " << count << " too often");
        }
        const auto ports = MakePorts(15, true);
        for (uint32_t number = 1; number < 15; ++number)
        {
            NS_TEST_EXPECT_MSG_LT(ports[number - 1]->GetArrivalRank(83'840),
                                  ports[number]->GetArrivalRank(83'840),
                                  "by number");
        }
    }
};

class FabricDrawsTestSuite : public TestSuite
{
  public:
    FabricDrawsTestSuite()
        : TestSuite("astra-fabric-draws", Type::UNIT)
    {
        AddTestCase(new DrawsAreUniform);
        AddTestCase(new NoPortIsAlwaysFirst);
    }
};

FabricDrawsTestSuite g_fabricDrawsTestSuite; //!< registers itself
} // namespace fabric_draws_test
