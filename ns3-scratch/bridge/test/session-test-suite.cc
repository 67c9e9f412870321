// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * The life of a session: one at a time, the same each time, how a run ends, timers, and what is
 * thrown in callbacks.
 */
#include "fabric-shared-buffer.h"
#include "known-leak.h"
#include "session-fixture.h"

#include "ns3/config.h"
#include "ns3/names.h"
#include "ns3/random-variable-stream.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace session_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;

/// \return messages of an incast with random marks and with drops: all that may depend on what ran
/// before
std::vector<Flow>
RunRandomIncast(uint32_t seed)
{
    Star star;
    star.hosts = 6;
    star.bufferBytes = 300'000;
    star.kminBytes = 10'000;
    star.kmaxBytes = 200'000;
    star.pmax = 0.5;
    TcpParameters tcp;
    tcp.congestionControl = "ns3::TcpDctcp";
    tcp.ecn = true;
    tcp.initialWindowSegments = 100;
    BuiltStar built(star, tcp, seed);
    for (uint32_t sender = 1; sender < star.hosts; ++sender)
    {
        built.Send(sender, 0, 300'000, sender);
        built.Send(sender, sender % 5 + 1, 200'000, 10 + sender);
    }
    built.Get().Run(-1);
    return built.GetFlows();
}

class SessionsRepeat : public TestCase
{
  public:
    SessionsRepeat()
        : TestCase(
              "later sessions of a process give exactly what the first gave, another seed does not")
    {
    }

  private:
    void DoRun() override
    {
        const auto first = RunRandomIncast(1);
        const auto otherSeed = RunRandomIncast(2);
        NS_TEST_ASSERT_MSG_EQ(first.size(), 10U, "every message");
        NS_TEST_EXPECT_MSG_EQ((RunRandomIncast(1) == first), true, "the same seed after another");
        NS_TEST_EXPECT_MSG_EQ((RunRandomIncast(1) == first), true, "once more");
        NS_TEST_EXPECT_MSG_EQ((otherSeed == first), false, "the seed is used");
    }
};

/// What a user's hook may leave in ns-3's global state: random streams used, defaults changed,
/// names given.
class LeavesNothingBehind : public TestCase
{
  public:
    LeavesNothingBehind()
        : TestCase(
              "the next session finds ns-3's random streams, defaults and names as the first did")
    {
    }

  private:
    static constexpr uint64_t DEFAULT_CAPACITY = 32'000'000;

    void DoRun() override
    {
        std::vector<double> draws;
        for (int time = 0; time < 3; ++time)
        {
            BuiltStar built;
            NS_TEST_EXPECT_MSG_EQ(GetDefaultCapacity(), DEFAULT_CAPACITY, "default, time " << time);
            Config::SetDefault("ns3::FabricSharedBuffer::Capacity", UintegerValue(1 + time));
            NS_TEST_EXPECT_MSG_EQ(GetDefaultCapacity(), 1U + time, "changed for this session");
            NS_TEST_EXPECT_MSG_EQ((Names::Find<Object>("mine") == nullptr), true, "no such name");
            Names::Add("mine", CreateObject<FabricSharedBuffer>());
            draws.push_back(CreateObject<UniformRandomVariable>()->GetValue());
            built.Send(0, 1, 1'000);
            built.Get().Run(-1);
            NS_TEST_EXPECT_MSG_EQ(built.Get().GetNs3NodeId(0), 0U, "nodes are numbered from 0");
        }
        NS_TEST_EXPECT_MSG_EQ(draws[1], draws[0], "random numbers of the second session");
        NS_TEST_EXPECT_MSG_EQ(draws[2], draws[0], "random numbers of the third session");
    }

    static uint64_t GetDefaultCapacity()
    {
        UintegerValue capacity;
        CreateObject<FabricSharedBuffer>()->GetAttribute("Capacity", capacity);
        return capacity.Get();
    }
};

class OneSessionAtATime : public TestCase
{
  public:
    OneSessionAtATime()
        : TestCase("a second live session is refused, and one after the other is not")
    {
    }

  private:
    void DoRun() override
    {
        for (int time = 0; time < 3; ++time)
        {
            BuiltStar first;
            NS_TEST_EXPECT_MSG_EQ(Throws([] { BuiltStar second; }), true, "while one lives");
        }
        NS_TEST_EXPECT_MSG_EQ(Throws([] { BuiltStar zero({}, {}, 0); }), true, "seed 0");
        BuiltStar afterwards({}, {}, 5); // neither refusal leaves anything behind
    }

    static bool Throws(const std::function<void()>& action)
    {
        try
        {
            action();
            return false;
        }
        catch (const std::invalid_argument&)
        {
            return true;
        }
    }
};

class BadDescriptionsAreRefused : public TestCase
{
  public:
    BadDescriptionsAreRefused()
        : TestCase("a description with numbers out of range throws std::invalid_argument, in words")
    {
    }

  private:
    using Change = std::function<void(DescribedNetwork&)>;

    void DoRun() override
    {
        Refused("joins nodes 0 and 3 of 3", [](auto& n) { n.AddLink(0, 3, {}); });
        Refused("joins nodes 2 and 2 of 3", [](auto& n) { n.AddLink(2, 2, {}); });
        Refused("between nodes 0 and 2", [](auto& n) { n.AddLink(0, 2, {.rateBps = 0}); });
        Refused("between nodes 0 and 2", [](auto& n) { n.AddLink(0, 2, {.errorRate = 1.5}); });
        Refused("has no port 2", [](auto& n) { n.AddTable(2, {{{0, 0}, {0, 1}, {2}, {}, {}}}); });
        Refused("a set that does not exist",
                [](auto& n) { n.AddTable(2, {{{0, 7}, {0, 1}, {0}, {}, {}}}); });
        Refused("names a node that does not exist: 3", [](auto& n) { n.AddTable(3, {}); });
        Refused("found groups for 1 hosts", [](auto& n) { n.SetGroups({0}); });
        Refused("a path is pinned", [](auto& n) { n.PinPath(0, 2, {0, 0}); });
        Refused("there is no routing", [](auto& n) { n.Get().routing.kind = ROUTE_BY_DETOUR + 1; });
        Refused("8 priorities", [](auto& n) {
            n.AddSwitch(SwitchParameters());
            n.Get().switchKinds.back().quantumBytes.assign(7, 1'500);
        });
        Refused("8 priorities", [](auto& n) {
            n.AddSwitch(SwitchParameters());
            n.Get().switchKinds.back().losslessPriorities = 0x100;
        });
        Refused("there is no host 2", [](auto& n) { n.SetNpus({0, 2}); });
        Refused("there is no transport 'no-such'", [](auto& n) { n.UseTransport("no-such"); });
        Refused("no transport between them", [](auto& n) { n.UseTransport(""); });
        Refused("no-such-control", [](auto& n) { n.UseRoce({}, "no-such-control"); });
        Refused("ns3::TcpNoSuchThing is no TCP congestion control", [](auto& n) {
            n.Get().GetPart("tcp").Add("type_id", "word").word = "ns3::TcpNoSuchThing";
        });
        Refused("RoCE with 0 queue pairs", [](auto& n) { n.UseRoce({.queuePairsPerPair = 0}); });
        Refused("transport roce: 'payload_bytes' is missing",
                [](auto& n) { n.UseTransport("roce"); });
        Refused("transport tcp: 'colour' is unknown",
                [](auto& n) { n.Get().GetPart("tcp").Add("colour", "whole").whole = 1; });
        Refused("transport tcp: 'mtu_bytes' is of another kind",
                [](auto& n) { n.Get().GetPart("tcp").Add("mtu_bytes", "word").word = "all"; });
        Refused("transport tcp: 'ecn' is 2, expected 0 to 1",
                [](auto& n) { n.Get().GetPart("tcp").Add("ecn", "whole").whole = 2; });
        Refused("'reliability' is 'luck', expected one of go-back-n, go-back-0, selective-repeat",
                [](auto& n) {
                    n.UseRoce({});
                    n.Get().GetPart("roce").Add("reliability", "word").word = "luck";
                });
        Refused("has no port 1", [](auto& n) { n.ObserveQueue(0, 1); });
        Refused("an interval above 0", [](auto& n) { n.ObserveUtilisation(0, 0); });
        Refused("can't write /no-such-folder/x.pcap", [](auto& n) {
            n.Get().observation.captures.emplace_back() = {0, 0, "/no-such-folder/x.pcap"};
        });
        Refused("a session needs a listener", [](auto&) {}, true);
        DescribedNetwork lonely(1);
        lonely.SetNpus({0});
        lonely.Describe("tcp", TcpParameters());
        lonely.UseTransport("tcp");
        NS_TEST_EXPECT_MSG_EQ(Thrown(lonely, false), "host 0 has no link", "a host alone");
    }

    void Refused(const std::string& expected, const Change& change, bool deaf = false)
    {
        DescribedNetwork network = DescribeStar(Star(), TcpParameters());
        change(network);
        const std::string thrown = Thrown(network, deaf);
        NS_TEST_EXPECT_MSG_EQ((thrown.find(expected) != std::string::npos), true, thrown);
        BuiltStar afterwards; // nothing is left behind
    }

    static std::string Thrown(DescribedNetwork& network, bool deaf)
    {
        RecordingListener listener;
        try
        {
            Session session(network.Describe(), 1, deaf ? nullptr : &listener);
        }
        catch (const std::invalid_argument& error)
        {
            return error.what();
        }
        return "nothing";
    }
};

class BadCallsAreRefused : public TestCase
{
  public:
    BadCallsAreRefused()
        : TestCase("calls with numbers out of range throw std::invalid_argument")
    {
    }

  private:
    void DoRun() override
    {
        BuiltStar built;
        const uint32_t unknown[] = {0, 2};
        const uint32_t twice[] = {1, 1};
        Refused("a group with an unknown NPU", [&] { built.Get().RegisterGroup(unknown, 2); });
        Refused("a group with an NPU twice", [&] { built.Get().RegisterGroup(twice, 2); });
        Refused("a launch on no NPU", [&] { built.Get().Launch(2, 1, 0, 0, 1); });
        Refused("a launch of no schedule", [&] { built.Get().Launch(0, 1, 9, 0, 1); });
        const uint64_t row[] = {2, 0, 0, 1, 1};
        Refused("launches on no NPU", [&] { built.Get().LaunchAll(row, 1); });
        Refused("a timer of no NPU", [&] { built.Get().SetTimer(2, 1, 1); });
        Refused("messages of no NPU", [&] { built.Get().CountPending(2, 1); });
    }

    void Refused(const char* what, const std::function<void()>& action)
    {
        std::string thrown = "nothing";
        try
        {
            action();
        }
        catch (const std::invalid_argument&)
        {
            return;
        }
        catch (const std::exception& error)
        {
            thrown = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ(thrown, "std::invalid_argument", what);
    }
};

class ThrownInACallback : public TestCase
{
  public:
    ThrownInACallback()
        : TestCase("what a callback throws comes out of Run, and a new session works as ever")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<Flow> expected = RunQuietly();
        NS_TEST_ASSERT_MSG_EQ(expected.size(), 1U, "a message");
        for (const std::string where : {"timer", "phase"})
        {
            std::string thrown;
            {
                BuiltStar built;
                const auto fail = [&where](const auto&) {
                    throw std::runtime_error("from " + where);
                };
                if (where == "timer")
                {
                    built.GetListener().OnTimer(fail);
                }
                else
                {
                    built.GetListener().OnPhase(fail);
                }
                {
                    const KnownLeak eventThatThrows;
                    built.Send(0, 1, 200'000);
                    built.Get().SetTimer(0, 1'000'000, 1); // in the middle of the handshake
                }
                try
                {
                    built.Get().Run(-1);
                }
                catch (const std::runtime_error& error)
                {
                    thrown = error.what();
                }
            }
            NS_TEST_EXPECT_MSG_EQ(thrown, "from " + where, "it is the one thrown");
            NS_TEST_EXPECT_MSG_EQ((RunQuietly() == expected), true, "a new session after it");
        }
    }

    static std::vector<Flow> RunQuietly()
    {
        BuiltStar built;
        built.Send(0, 1, 200'000);
        built.Get().Run(-1);
        return built.GetFlows();
    }
};

class SessionTestSuite : public TestSuite
{
  public:
    SessionTestSuite()
        : TestSuite("astra-session", Type::SYSTEM)
    {
        AddTestCase(new OneSessionAtATime);
        AddTestCase(new BadDescriptionsAreRefused);
        AddTestCase(new BadCallsAreRefused);
        AddTestCase(new ThrownInACallback);
        AddTestCase(new SessionsRepeat);
        AddTestCase(new LeavesNothingBehind);
    }
};

SessionTestSuite g_sessionTestSuite; //!< registers itself
} // namespace session_test
