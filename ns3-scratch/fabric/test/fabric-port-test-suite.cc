// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricPort: the time of a single frame, exact counters, and its end in the middle of things.
 */
#include "port-fixture.h"

#include "ns3/boolean.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cstdint>
#include <vector>

namespace fabric_port_test
{
using namespace ns3;
using namespace ns3::test;

class SingleFrameTakesSerialisationAndDelay : public TestCase
{
  public:
    SingleFrameTakesSerialisationAndDelay()
        : TestCase(
              "a frame arrives after the time of its bytes and its gap on the line, and the delay")
    {
    }

  private:
    /// A case worked out by hand.
    struct Expected
    {
        uint64_t rateBps;     //!< rate of the line
        uint32_t bufferBytes; //!< size of the frame
        int64_t delayPs;      //!< delay
        int64_t arrivalPs;    //!< sent at 0, it arrives then
    };

    void DoRun() override
    {
        const std::vector<Expected> cases{
            {25'000'000'000, 64, 500'000, 84 * 320 + 500'000}, // 320 ps a byte
            {25'000'000'000, 1'518, 0, 1'538 * 320},           //
            {100'000'000'000, 64, 500'000, 84 * 80 + 500'000}, // 80 ps a byte
            {100'000'000'000, 1'518, 1, 1'538 * 80 + 1},       //
            {100'000'000'000, 9'018, 500'000, 9'038 * 80 + 500'000},
            {400'000'000'000, 64, 10'000, 84 * 20 + 10'000}, // 20 ps a byte
            {400'000'000'000, 1'056, 0, 1'076 * 20},         //
            {800'000'000'000, 65, 0, 85 * 10},               // 10 ps a byte
            {800'000'000'000, 9'018, 1'000'000, 90'380 + 1'000'000},
            {2'400'000'000'000, 64, 0, 280},       // 84 * 10 / 3 ps, whole
            {2'400'000'000'000, 65, 7, 283 + 7},   // 283.33, to the nearest
            {2'400'000'000'000, 66, 7, 287 + 7},   // 286.67, to the nearest
            {2'400'000'000'000, 1'518, 0, 5'127},  // 5126.67, to the nearest
            {1'000'000, 9'018, 0, 72'304'000'000}, // 8 us a byte: no overflow
        };
        for (const Expected& expected : cases)
        {
            Sink sink;
            Ptr<FabricPort> port = MakePort(expected.rateBps, expected.delayPs);
            port->Connect(&sink, 5, 0);
            port->Enqueue(MakeFrame(1, expected.bufferBytes));
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(sink.GetArrivals().size(), 1U, "one frame in, one out");
            NS_TEST_EXPECT_MSG_EQ(sink.GetArrivals()[0].first,
                                  expected.arrivalPs,
                                  expected.bufferBytes << " bytes at " << expected.rateBps
                                                       << " bit/s");
            NS_TEST_EXPECT_MSG_EQ(sink.GetPorts()[0], 5U, "the receiver's own number of the port");
            NS_TEST_EXPECT_MSG_EQ(port->GetRateBps(), expected.rateBps, "rate");
            port->Dispose();
            Simulator::Destroy();
        }
    }
};

class SettleIsIdempotent : public TestCase
{
  public:
    SettleIsIdempotent()
        : TestCase("counters are exact at any time, and settling again changes nothing")
    {
    }

  private:
    void DoRun() override
    {
        Sink sink;
        Ptr<FabricPort> port = MakePort(100'000'000'000, 500'000); // 80 ps a byte
        port->Connect(&sink, 0, 0);
        for (uint64_t number = 1; number <= 3; ++number)
        {
            port->Enqueue(MakeFrame(number, 980)); // 80000 ps each on the line
        }
        Check(port, 1, 1'960);
        // One picosecond before, at and after the second frame's first bit, long before anything
        // arrives.
        Simulator::Schedule(TimeStep(79'999), [this, port] { Check(port, 1, 1'960); });
        Simulator::Schedule(TimeStep(80'000), [this, port] { Check(port, 2, 980); });
        Simulator::Schedule(TimeStep(80'001), [this, port] { Check(port, 2, 980); });
        Simulator::Schedule(TimeStep(400'000), [this, port] { Check(port, 3, 0); });
        Simulator::Run();
        const Stamps expected{{580'000, 1}, {660'000, 2}, {740'000, 3}};
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(sink.GetArrivals(), expected), "", "arrivals");
        NS_TEST_EXPECT_MSG_EQ(Simulator::GetEventCount(), 4U + 3U, "our checks and three arrivals");
        port->Dispose();
        Simulator::Destroy();
    }

    void Check(const Ptr<FabricPort>& port, uint64_t sentFrames, uint64_t queueBytes)
    {
        for (int time = 0; time < 3; ++time)
        {
            NS_TEST_EXPECT_MSG_EQ(port->GetQueueBytes(), queueBytes, "at " << Simulator::Now());
            NS_TEST_EXPECT_MSG_EQ(port->GetCounters().sentFrames,
                                  sentFrames,
                                  "at " << Simulator::Now());
            NS_TEST_EXPECT_MSG_EQ(port->GetCounters().sentBytes, sentFrames * 980, "sent bytes");
            NS_TEST_EXPECT_MSG_EQ(port->GetCounters().highestQueueBytes, 1'960U, "highest queue");
            port->Settle(Simulator::Now().GetTimeStep());
        }
    }
};

class AnIdleLineTakesAFrameAtOnce : public TestCase
{
  public:
    AnIdleLineTakesAFrameAtOnce()
        : TestCase(
              "an idle line takes a frame at once, also at time 0, just after a pause and with "
              "OldestFirst")
    {
    }

  private:
    void DoRun() override
    {
        for (bool oldestFirst : {false, true})
        {
            Sink sink;
            Ptr<FabricPort> port = MakePort(100'000'000'000, 500'000); // 80 ps a byte
            port->SetAttribute("OldestFirst", BooleanValue(oldestFirst));
            port->Connect(&sink, 0, 0);
            port->Enqueue(MakeFrame(1, 980));
            Simulator::Schedule(TimeStep(1'000'000), [port] {
                port->SetPaused(1U << 7);
                port->Enqueue(MakeFrame(2, 980));
            });
            Simulator::Run();
            const Stamps expected{{580'000, 1}, {1'580'000, 2}};
            NS_TEST_EXPECT_MSG_EQ(FirstDifference(sink.GetArrivals(), expected), "", "arrivals");
            port->Dispose();
            Simulator::Destroy();
        }
    }
};

class DisposeReleasesFramesInFlight : public TestCase
{
  public:
    DisposeReleasesFramesInFlight()
        : TestCase("a port disposed of in the middle releases every packet and sends nothing more")
    {
    }

  private:
    void DoRun() override
    {
        Sink sink;
        Ptr<FabricPort> port = MakePort(100'000'000'000, 500'000);
        port->Connect(&sink, 0, 0);
        std::vector<Ptr<Packet>> packets;
        for (uint64_t number = 1; number <= 20; ++number)
        {
            FabricFrame* frame = MakeFrame(number, 980); // 80000 ps each on the line
            packets.push_back(frame->packet);
            port->Enqueue(frame);
        }
        // By then 3 have arrived, 7 are on the way and 10 wait.
        Simulator::Schedule(TimeStep(790'000), [port] { port->Dispose(); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink.GetArrivals().size(), 3U, "arrivals before the end");
        for (const auto& packet : packets)
        {
            NS_TEST_EXPECT_MSG_EQ(packet->GetReferenceCount(), 1U, "packet " << packet->GetSize());
        }
        NS_TEST_EXPECT_MSG_EQ(port->GetReferenceCount(), 1U, "nothing else holds the port");
        Simulator::Destroy();
    }
};

class FabricPortTestSuite : public TestSuite
{
  public:
    FabricPortTestSuite()
        : TestSuite("astra-fabric-port", Type::UNIT)
    {
        AddTestCase(new SingleFrameTakesSerialisationAndDelay);
        AddTestCase(new SettleIsIdempotent);
        AddTestCase(new AnIdleLineTakesAFrameAtOnce);
        AddTestCase(new DisposeReleasesFramesInFlight);
    }
};

FabricPortTestSuite g_fabricPortTestSuite; //!< registers itself
} // namespace fabric_port_test
