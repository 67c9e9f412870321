// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Ports with a rule of admission: one that cuts the data off frames that don't fit, and one that
 * waits for credit. Neither needs a line of a port's own.
 */
#include "port-fixture.h"

#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <memory>

namespace fabric_admission_test
{
using namespace ns3;
using namespace ns3::test;

constexpr uint64_t RATE_BPS = 100'000'000'000;
constexpr int64_t BYTE_PS = 80;
constexpr int64_t DELAY_PS = 1'000;
constexpr uint32_t FRAME_BYTES = 1'000;
constexpr uint32_t GAP_BYTES = 20;
constexpr uint32_t HEADER_BYTES = 64;
constexpr int64_t FRAME_PS = (FRAME_BYTES + GAP_BYTES) * BYTE_PS;
constexpr int64_t HEADER_PS = (HEADER_BYTES + GAP_BYTES) * BYTE_PS;

/// Cuts the data off what doesn't fit, and sends the rest before all that has data.
class Trimming : public FabricAdmissionRule
{
  public:
    bool Admit(FabricFrame& frame, uint64_t queueBytes, FabricSharedBuffer* memory) override
    {
        if (memory->Admit(frame, queueBytes))
        {
            return true;
        }
        frame.bufferBytes = HEADER_BYTES;
        frame.wireBytes = HEADER_BYTES + GAP_BYTES;
        frame.priority = FABRIC_PRIORITIES - 1;
        return memory->Admit(frame, 0);
    }
};

class WhatDoesNotFitIsTrimmed : public TestCase
{
  public:
    WhatDoesNotFitIsTrimmed()
        : TestCase("with a rule that trims, what doesn't fit arrives without its data, and first")
    {
    }

  private:
    void DoRun() override
    {
        Sink sink;
        Ptr<FabricSharedBuffer> memory = CreateObject<FabricSharedBuffer>();
        memory->SetAttribute("Capacity", UintegerValue(FRAME_BYTES + 2 * HEADER_BYTES));
        Ptr<FabricPort> port = MakePort(RATE_BPS, DELAY_PS);
        port->SetBuffer(memory);
        port->SetAdmission(std::make_unique<Trimming>());
        port->Connect(&sink, 0, 0);
        for (uint64_t number = 1; number <= 5; ++number)
        {
            port->Enqueue(MakeFrame(number, FRAME_BYTES));
        }
        // The first is on the line, the second waits; of the others two fit once they are trimmed.
        NS_TEST_EXPECT_MSG_EQ(port->GetCounters().droppedFrames, 1U, "no room for a header");
        NS_TEST_EXPECT_MSG_EQ(memory->GetUsedBytes(), FRAME_BYTES + 2U * HEADER_BYTES, "full");
        Simulator::Run();
        const Stamps expected{{FRAME_PS + DELAY_PS, 1},
                              {FRAME_PS + HEADER_PS + DELAY_PS, 3},
                              {FRAME_PS + 2 * HEADER_PS + DELAY_PS, 4},
                              {2 * FRAME_PS + 2 * HEADER_PS + DELAY_PS, 2}};
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(sink.GetArrivals(), expected), "", "arrivals");
        NS_TEST_EXPECT_MSG_EQ(memory->IsAtRest(), true, "all was released");
        port->Dispose();
        Simulator::Destroy();
    }
};

/// Stops its port when the credit of the far end is used up, frame by frame.
class Credit : public FabricAdmissionRule
{
  public:
    Credit(FabricPort& port, uint32_t frames)
        : m_port(port),
          m_frames(frames)
    {
    }

    void Release(const FabricFrame& frame, FabricSharedBuffer*) override
    {
        if (--m_frames == 0)
        {
            m_port.SetPaused(1U << frame.priority);
        }
    }

    bool NeedsExactDepartures(const FabricSharedBuffer*) const override
    {
        return true;
    }

    /// The far end has room for more. \param frames so many
    void Give(uint32_t frames)
    {
        m_frames += frames;
        m_port.SetPaused(0);
    }

  private:
    FabricPort& m_port; //!< whose rule it is
    uint32_t m_frames;  //!< that may still be sent
};

class WhatHasNoCreditWaits : public TestCase
{
  public:
    WhatHasNoCreditWaits()
        : TestCase("with a rule that waits for credit, frames leave when there is some, in turn")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t SECOND_PS = 10 * FRAME_PS;
        constexpr int64_t THIRD_PS = 20 * FRAME_PS + 7;
        Sink sink;
        Ptr<FabricPort> port = MakePort(RATE_BPS, DELAY_PS);
        auto credit = std::make_unique<Credit>(*port, 2);
        Credit& rule = *credit;
        port->SetAdmission(std::move(credit));
        port->Connect(&sink, 0, 0);
        for (uint64_t number = 1; number <= 6; ++number)
        {
            port->Enqueue(MakeFrame(number, FRAME_BYTES));
        }
        Simulator::Schedule(TimeStep(SECOND_PS), [&rule] { rule.Give(1); });
        Simulator::Schedule(TimeStep(THIRD_PS), [&rule] { rule.Give(9); });
        Simulator::Run();
        const Stamps expected{{FRAME_PS + DELAY_PS, 1},
                              {2 * FRAME_PS + DELAY_PS, 2},
                              {SECOND_PS + FRAME_PS + DELAY_PS, 3},
                              {THIRD_PS + FRAME_PS + DELAY_PS, 4},
                              {THIRD_PS + 2 * FRAME_PS + DELAY_PS, 5},
                              {THIRD_PS + 3 * FRAME_PS + DELAY_PS, 6}};
        NS_TEST_EXPECT_MSG_EQ(FirstDifference(sink.GetArrivals(), expected), "", "arrivals");
        NS_TEST_EXPECT_MSG_EQ(port->GetCounters().droppedFrames, 0U, "nothing was dropped");
        NS_TEST_EXPECT_MSG_EQ(port->GetQueueBytes(), 0U, "nothing waits");
        port->Dispose();
        Simulator::Destroy();
    }
};

class FabricAdmissionTestSuite : public TestSuite
{
  public:
    FabricAdmissionTestSuite()
        : TestSuite("astra-fabric-admission", Type::UNIT)
    {
        AddTestCase(new WhatDoesNotFitIsTrimmed);
        AddTestCase(new WhatHasNoCreditWaits);
    }
};

FabricAdmissionTestSuite g_fabricAdmissionTestSuite; //!< registers itself
} // namespace fabric_admission_test
