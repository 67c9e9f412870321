// SPDX-License-Identifier: GPL-2.0-only
#include "port-fixture.h"

#include "ns3/test.h"

namespace fabric_contents_test
{
using namespace ns3;
using namespace ns3::test;

constexpr uint8_t PRIORITY = 3;
constexpr uint32_t FRAME_BYTES = 1000;

/// Three frames in a port that is stopped when the first is on the line.
class WhatAPortHoldsIsCounted : public TestCase
{
  public:
    WhatAPortHoldsIsCounted()
        : TestCase("frames are in a queue, on the wire or given back, and a memory that has let "
                   "all go is at rest")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t before = FabricFramePool::CountFrames();
        Sink sink;
        Ptr<FabricSharedBuffer> buffer = CreateObject<FabricSharedBuffer>();
        Ptr<FabricPort> port = CreateObject<FabricPort>();
        port->SetBuffer(buffer);
        port->Connect(&sink, 0, 0);
        NS_TEST_EXPECT_MSG_EQ(buffer->UsePfc({1U << PRIORITY}, {{10'000, 1.0}}), true, "room");
        for (uint64_t number = 1; number <= 3; ++number)
        {
            FabricFrame* frame = MakeFrame(number, FRAME_BYTES);
            frame->priority = PRIORITY;
            port->Enqueue(frame);
        }
        port->SetPaused(1U << PRIORITY);
        FabricPortContents contents = port->CountContents();
        NS_TEST_EXPECT_MSG_EQ(contents.waitingFrames, 2U, "two wait");
        NS_TEST_EXPECT_MSG_EQ(contents.waitingBytes, 2U * FRAME_BYTES, "their bytes");
        NS_TEST_EXPECT_MSG_EQ(contents.wireFrames, 1U, "one travels");
        NS_TEST_EXPECT_MSG_EQ(buffer->GetUsedBytes(), contents.waitingBytes, "the memory agrees");
        NS_TEST_EXPECT_MSG_EQ(buffer->IsAtRest(), false, "something waits");
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountFrames(), before + 3, "three are out");

        port->SetPaused(0);
        Simulator::Run();
        contents = port->CountContents();
        NS_TEST_EXPECT_MSG_EQ(contents.waitingFrames + contents.wireFrames, 0U, "nothing is left");
        NS_TEST_EXPECT_MSG_EQ(port->GetArrivedFrames(), 3U, "all have arrived");
        NS_TEST_EXPECT_MSG_EQ(buffer->IsAtRest(), true, "nothing is counted");
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountFrames(), before, "all were given back");
        port->Dispose();
        Simulator::Destroy();
    }
};

class TelemetryIsCounted : public TestCase
{
  public:
    TelemetryIsCounted()
        : TestCase("telemetry is given back with its frame")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t before = FabricFramePool::CountTelemetry();
        FabricFrame* frame = FabricFramePool::Take();
        frame->SetTelemetry(FabricFramePool::TakeTelemetry());
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountTelemetry(), before + 1, "it is out");
        FabricFramePool::Give(frame);
        NS_TEST_EXPECT_MSG_EQ(FabricFramePool::CountTelemetry(), before, "it is back");
    }
};

class EntriesKeepTheirOrder : public TestCase
{
  public:
    EntriesKeepTheirOrder()
        : TestCase("telemetry of long paths keeps its entries in order, numbered or not")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool numbered : {true, false})
        {
            FabricTelemetryHops hops;
            for (uint32_t round = 0; round < 2; ++round)
            {
                for (uint32_t length = 1; length <= LONGEST; ++length)
                {
                    hops.Put(numbered ? length : 0, {length + round, 0, 0, 0});
                    NS_TEST_EXPECT_MSG_EQ(hops.size(), length, "as many as were put");
                    int64_t expected = round;
                    for (const FabricTelemetryHop& hop : hops)
                    {
                        NS_TEST_EXPECT_MSG_EQ(hop.timePs, ++expected, "in their order");
                    }
                    NS_TEST_EXPECT_MSG_EQ(hops.end() - hops.data(), length, "side by side");
                }
                hops.clear();
                NS_TEST_EXPECT_MSG_EQ(hops.size(), 0, "none is left");
            }
        }
    }

    static constexpr uint32_t LONGEST = 9; //!< more than have room beside what owns them
};

class FabricContentsTestSuite : public TestSuite
{
  public:
    FabricContentsTestSuite()
        : TestSuite("astra-fabric-contents", Type::UNIT)
    {
        AddTestCase(new WhatAPortHoldsIsCounted);
        AddTestCase(new TelemetryIsCounted);
        AddTestCase(new EntriesKeepTheirOrder);
    }
};

FabricContentsTestSuite g_fabricContentsTestSuite; //!< registers itself
} // namespace fabric_contents_test
