// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Queue pairs that give their halves back while nothing is under way, against those that keep them.
 */
#include "roce-control-none.h"
#include "roce-fixture.h"
#include "roce-pair-table.h"

#include "ns3/test.h"

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace roce_rest_test
{
using namespace ns3;
using namespace ns3::test;
constexpr int64_t DELAY_PS = 500'000;

/// The same as its parent, but a queue pair has to keep it.
class KeptControl : public RoceControlNone
{
  public:
    using RoceControlNone::RoceControlNone;

    bool IsLikeNew() const override
    {
        return false;
    }
};

/// What a run came to.
struct Outcome
{
    std::vector<std::pair<int64_t, uint32_t>> arrivals; //!< time and row of each message
    std::vector<uint64_t> counters;                     //!< of all queue pairs

    bool operator==(const Outcome&) const = default;
};

class RestChangesNothing : public TestCase
{
  public:
    RestChangesNothing()
        : TestCase("a queue pair that rests between messages does what one does that never rests")
    {
    }

  private:
    /// \return what messages at random come to
    template <class CONTROL>
    static Outcome Play(uint32_t seed)
    {
        std::mt19937 random(seed);
        RoceParameters parameters;
        parameters.reliability = static_cast<RoceReliability>(random() % 3);
        parameters.reorderingPackets = random() % 3;
        parameters.windowBytes = random() % 2 * 4'000;
        parameters.ackEvery = 1 + random() % 3;
        parameters.queuePairsPerPair = 1 + random() % 2;
        parameters.perMessage = parameters.queuePairsPerPair == 1 && random() % 3 == 0;
        parameters.turnsByAge = random() % 2 == 0;
        parameters.acknowledged = random() % 2 == 0;
        parameters.timeoutPs = 50'000'000;
        parameters.retries = 0;
        parameters.cnpIntervalPs = 4'000'000;
        LinkParameters link = MakeLink(100 * GBPS, DELAY_PS);
        link.errorRate = random() % 2 * 0.02;
        auto bench = MakeStar(4, link);
        bench->SetControl([] { return std::make_unique<CONTROL>(RoceControlParameters()); });
        bench->LetPairsRest();
        bench->Build(parameters);
        for (uint32_t message = 0; message < 200; ++message)
        {
            const uint32_t from = random() % 4;
            const uint32_t to = (from + 1 + random() % 3) % 4;
            bench->Send(from, to, 1 + random() % 6'000, random() % 100 * 1'000'000);
        }
        Simulator::Run();
        Outcome outcome;
        for (const Arrival& arrival : bench->GetArrivals())
        {
            outcome.arrivals.emplace_back(arrival.timePs, arrival.message.row);
        }
        const RoceStatistics& did = bench->GetTransport().GetStatistics();
        outcome.counters = {did.dataPackets,
                            did.retransmittedPackets,
                            did.nacks,
                            did.cnps,
                            did.timeouts,
                            did.queuePairs,
                            did.outOfOrderPackets,
                            Simulator::GetEventCount()};
        return outcome;
    }

    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 60; ++seed)
        {
            const Outcome rested = Play<RoceControlNone>(seed);
            NS_TEST_ASSERT_MSG_EQ(rested.arrivals.size(), 200U, "seed " << seed << ": each once");
            NS_TEST_ASSERT_MSG_EQ((rested == Play<KeptControl>(seed)), true, "seed " << seed);
        }
    }
};

class PairsAreAMap : public TestCase
{
  public:
    PairsAreAMap()
        : TestCase(
              "receivers of a sender get numbers in the order in which they are asked for, and "
              "keep them")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t seed = 1; seed <= 20; ++seed)
        {
            std::mt19937 random(seed);
            const uint32_t npus = 1 + random() % 200;
            RocePairTable table(npus);
            std::map<uint32_t, std::map<uint32_t, uint32_t>> expected;
            for (int step = 0; step < 5'000; ++step)
            {
                const uint32_t sender = random() % npus;
                const uint32_t receiver = random() % npus;
                auto& receivers = expected[sender];
                const auto number = static_cast<uint32_t>(receivers.size());
                const uint32_t known = receivers.try_emplace(receiver, number).first->second;
                NS_TEST_ASSERT_MSG_EQ(table.NumberOf(sender, receiver), known, "seed " << seed);
            }
        }
    }
};

class RoceRestTestSuite : public TestSuite
{
  public:
    RoceRestTestSuite()
        : TestSuite("astra-roce-rest", Type::UNIT)
    {
        AddTestCase(new RestChangesNothing);
        AddTestCase(new PairsAreAMap);
    }
};

RoceRestTestSuite g_roceRestTestSuite; //!< registers itself
} // namespace roce_rest_test
