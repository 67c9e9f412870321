// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Random traffic on a lossless network whose links and switches come and go: every frame is known
 * of, and once mended the network is as new.
 */
#include "changes-fixture.h"

#include "ns3/test.h"

#include <map>
#include <random>

namespace fabric_changes_books_test
{
using namespace ns3;
using namespace ns3::test;

/// Plays random traffic on a network with circles while links and switches come and go.
class BooksAddUp : public TestCase
{
  public:
    explicit BooksAddUp(uint32_t seed)
        : TestCase("frames are conserved, and a mended network is as new, seed " +
                   std::to_string(seed)),
          m_seed(seed)
    {
    }

    /// Frames that were cut and dropped because a link was down, in all of them.
    static std::pair<uint64_t, uint64_t>& GetTotal()
    {
        static std::pair<uint64_t, uint64_t> total;
        return total;
    }

  private:
    static constexpr uint32_t HOSTS = 6;
    static constexpr uint32_t SWITCHES = 4;
    static constexpr int64_t TRAFFIC_PS = 60'000'000;
    static constexpr int64_t MENDED_PS = 70'000'000;
    static constexpr int64_t AFTER_PS = 1'000'000'000; // all has come to rest long before
    static constexpr uint32_t LINKS = 14;

    static std::unique_ptr<ChangingNetwork> MakeNetwork()
    {
        // Hosts hang on two leaves, each of which is joined to both spines twice.
        return std::make_unique<ChangingNetwork>(HOSTS,
                                                 SWITCHES,
                                                 std::vector<ChangingNetwork::Ends>{{0, 6},
                                                                                    {1, 7},
                                                                                    {2, 6},
                                                                                    {3, 7},
                                                                                    {4, 6},
                                                                                    {5, 7},
                                                                                    {6, 8},
                                                                                    {6, 9},
                                                                                    {7, 8},
                                                                                    {7, 9},
                                                                                    {6, 8},
                                                                                    {6, 9},
                                                                                    {7, 8},
                                                                                    {7, 9}},
                                                 290'000,
                                                 16'000);
    }

    /// \return a number below a limit
    uint32_t Below(uint64_t limit)
    {
        return static_cast<uint32_t>(m_random() % limit);
    }

    /// Send a frame at a time between random hosts, more often to the first two.
    void SendAt(ChangingNetwork& network, int64_t timePs)
    {
        const uint32_t from = Below(HOSTS);
        const uint32_t among = Below(3) > 0 ? 2 : HOSTS;
        const uint32_t drawn = Below(among);
        const uint32_t to = drawn == from ? (drawn + 1) % HOSTS : drawn;
        const uint32_t bytes = 64 + Below(1'500);
        const std::array<uint8_t, 3> priorities{0,
                                                ChangingNetwork::LOSSLESS,
                                                ChangingNetwork::LOSSLESS_TOO};
        const uint8_t priority = priorities[Below(3)];
        At(timePs,
           [&network, from, to, bytes, priority] { network.Send(from, to, bytes, priority); });
    }

    void ScheduleChanges(ChangingNetwork& network)
    {
        std::map<int64_t, std::map<uint32_t, bool>> changes;
        for (uint32_t left = 1 + Below(5); left > 0; --left)
        {
            const int64_t downPs = Below(TRAFFIC_PS / 2);
            const int64_t upPs = downPs + 1 + Below(TRAFFIC_PS / 2);
            const std::vector<uint32_t> links =
                Below(3) == 0 ? network.LinksOf(Below(SWITCHES)) : std::vector{Below(LINKS)};
            for (uint32_t link : links)
            {
                changes[downPs][link] = false;
                changes[upPs][link] = true;
            }
        }
        for (uint32_t link = 0; link < LINKS; ++link)
        {
            changes[MENDED_PS][link] = true;
        }
        for (const auto& [timePs, links] : changes)
        {
            std::vector<FabricLinkState> states;
            for (const auto& [link, up] : links)
            {
                states.push_back(ChangingNetwork::Usual(link, up));
            }
            network.Change(timePs, states);
        }
    }

    /// \return arrivals of a burst in which much is stopped, by time since it began
    Stamps PlayBurst(ChangingNetwork& network, int64_t startPs)
    {
        const uint64_t before = network.owner.GetMade();
        const std::size_t arrived = network.owner.GetArrivals().size();
        m_random.seed(m_seed + 1'000);
        for (uint32_t frames = 0; frames < 1'500; ++frames)
        {
            SendAt(network, startPs - Simulator::Now().GetTimeStep() + Below(8'000'000));
        }
        Simulator::Run();
        Stamps arrivals(network.owner.GetArrivals().begin() + static_cast<std::ptrdiff_t>(arrived),
                        network.owner.GetArrivals().end());
        for (auto& [timePs, number] : arrivals)
        {
            timePs -= startPs;
            number -= before;
        }
        return arrivals;
    }

    void DoRun() override
    {
        const uint64_t pooled = FabricFramePool::CountFrames();
        m_random.seed(m_seed);
        auto network = MakeNetwork();
        ScheduleChanges(*network);
        for (uint32_t frames = 0; frames < 6'000; ++frames)
        {
            SendAt(*network, Below(TRAFFIC_PS));
        }
        for (uint32_t looks = 0; looks < 40; ++looks)
        {
            At(Below(MENDED_PS), [this, &network] {
                NS_TEST_EXPECT_MSG_EQ(network->Audit(), "", "books, on the way");
            });
        }
        Simulator::Stop(TimeStep(AFTER_PS));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(network->AuditAtRest(), "", "books, at rest");
        NS_TEST_EXPECT_MSG_EQ(network->owner.GetArrivals().size() +
                                  network->owner.GetLosses().size(),
                              6'000U,
                              "each frame has arrived, or its owner knows that it is lost");
        GetTotal().first += network->Sum(&FabricPortCounters::cutFrames);
        GetTotal().second += network->Sum(&FabricPortCounters::downFrames);
        const Stamps mended = PlayBurst(*network, AFTER_PS + 1'000'000);
        network.reset();
        auto fresh = MakeNetwork();
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(mended, PlayBurst(*fresh, AFTER_PS + 1'000'000)),
                              "",
                              "the same burst in a network that never changed");
        NS_TEST_EXPECT_MSG_GT(fresh->Sum(&FabricPortCounters::pauseFrames), 0U, "it is crowded");
        fresh.reset();
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountFrames(), pooled, "all were given back");
    }

    uint32_t m_seed;          //!< of what is drawn
    std::mt19937_64 m_random; //!< draws
};

class MuchWasLost : public TestCase
{
  public:
    MuchWasLost()
        : TestCase("links went down while much was in them")
    {
    }

  private:
    void DoRun() override
    {
        const auto [cut, down] = BooksAddUp::GetTotal();
        NS_TEST_EXPECT_MSG_GT(cut, 500U, "frames on the wire");
        NS_TEST_EXPECT_MSG_GT(down, 2'000U, "frames that waited or came");
    }
};

class FabricChangesBooksTestSuite : public TestSuite
{
  public:
    FabricChangesBooksTestSuite()
        : TestSuite("astra-fabric-changes-books", Type::UNIT)
    {
        for (uint32_t seed = 1; seed <= 30; ++seed)
        {
            AddTestCase(new BooksAddUp(seed));
        }
        AddTestCase(new MuchWasLost);
    }
};

FabricChangesBooksTestSuite g_fabricChangesBooksTestSuite; //!< registers itself
} // namespace fabric_changes_books_test
