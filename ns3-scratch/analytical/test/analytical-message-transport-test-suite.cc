// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FormulaMessageTransport and QueuedMessageTransport: when messages arrive, worked out by hand.
 */
#include "formula-message-transport.h"
#include "queued-message-transport.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cstdint>
#include <map>

namespace analytical_message_transport_test
{
using namespace ns3;

/// Keeps when messages arrive, by row.
class Arrivals : public MessageListener
{
  public:
    void MessageArrived(const CollectiveMessage& message) override
    {
        timesPs[message.row] = Simulator::Now().GetTimeStep();
    }

    void BytesArrived(uint32_t, int64_t) override
    {
    }

    void TransportFailed(const CollectiveMessage&, const char*) override
    {
    }

    std::map<uint32_t, int64_t> timesPs; //!< by row
};

/// \return a message \param row its number \param sender from \param receiver to \param bytes size
CollectiveMessage
Message(uint32_t row, uint32_t sender, uint32_t receiver, uint64_t bytes)
{
    CollectiveMessage message;
    message.row = row;
    message.sender = sender;
    message.receiver = receiver;
    message.bytes = bytes;
    return message;
}

/// \return a dimension \param topology how its NPUs are joined \param npus how many
AnalyticalDimension
Dimension(AnalyticalTopology topology, uint32_t npus)
{
    AnalyticalDimension dimension;
    dimension.topology = topology;
    dimension.npus = npus;
    dimension.bytesPerNs = 10.0;
    dimension.linkLatencyNs = 100.0;
    return dimension;
}

class AMessagePaysForEachDimension : public TestCase
{
  public:
    AMessagePaysForEachDimension()
        : TestCase("by formula a message pays links, size, NICs and switch of each dimension in "
                   "which its ends differ")
    {
    }

  private:
    void DoRun() override
    {
        AnalyticalDimension inner = Dimension(AnalyticalTopology::RING, 4);
        AnalyticalDimension outer = Dimension(AnalyticalTopology::SWITCH, 2);
        outer.nicLatencyNs = 7.0;
        outer.routerLatencyNs = 30.0;
        const AnalyticalGrid grid({inner, outer});
        Arrivals arrivals;
        const FormulaMessageTransport transport(grid, {}, arrivals);
        // Ring: one link of 100 ns, or two; switch: two links, NIC twice, switch; 1000 bytes: 100
        // ns.
        NS_TEST_EXPECT_MSG_EQ(transport.DelayPs(0, 1, 1'000), 200'000, "next on the ring");
        NS_TEST_EXPECT_MSG_EQ(transport.DelayPs(0, 2, 1'000), 300'000, "opposite on the ring");
        NS_TEST_EXPECT_MSG_EQ(transport.DelayPs(0, 3, 1'000), 200'000, "the shorter way round");
        NS_TEST_EXPECT_MSG_EQ(transport.DelayPs(0, 4, 1'000), 344'000, "over the switch");
        NS_TEST_EXPECT_MSG_EQ(transport.DelayPs(0, 5, 1'000), 544'000, "both, one after the other");
    }
};

class TheSlowerOfNetworkAndMemoryCounts : public TestCase
{
  public:
    TheSlowerOfNetworkAndMemoryCounts()
        : TestCase("the NPU's memory counts where it is slower than the network, times its scale")
    {
    }

  private:
    void DoRun() override
    {
        // Network: 200 + 0.1 m ns. Memory: (5 + 0.5 m) x scale ns; at scale 1 equal at m = 487.5.
        const struct
        {
            double scale;
            uint64_t bytes;
            int64_t expectedPs;
        } cases[] = {{0.0, 100'000, 10'200'000}, // left out
                     {1.0, 487, 248'700},        // the network, by 0.2 ns
                     {1.0, 488, 249'000},        // the memory
                     {1.0, 100'000, 50'005'000},
                     {0.1, 100'000, 10'200'000}, // 5,000.5 ns of the memory
                     {3.0, 100, 210'000},        // 165 ns of the memory
                     {3.0, 1'000, 1'515'000}};

        for (const auto& each : cases)
        {
            AnalyticalDimension dimension = Dimension(AnalyticalTopology::SWITCH, 2);
            dimension.memoryLatencyNs = 5.0;
            dimension.memoryBytesPerNs = 2.0;
            dimension.memoryScale = each.scale;
            const AnalyticalGrid grid({dimension});
            Arrivals arrivals;
            const FormulaMessageTransport transport(grid, {}, arrivals);
            NS_TEST_EXPECT_MSG_EQ_TOL(transport.DelayPs(0, 1, each.bytes),
                                      static_cast<double>(each.expectedPs),
                                      0.5,
                                      each.bytes << " bytes at scale " << each.scale);
        }
    }
};

class OnARingATieGoesClockwise : public TestCase
{
  public:
    OnARingATieGoesClockwise()
        : TestCase(
              "with queues a message to the opposite place of a ring goes clockwise, and holds "
              "up what uses these links")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t npus : {4U, 6U})
        {
            const AnalyticalGrid grid({Dimension(AnalyticalTopology::RING, npus)});
            Arrivals arrivals;
            QueuedMessageTransport transport(grid, false, arrivals);
            transport.Send(Message(0, 0, npus / 2, 10'000)); // 1 us a link, and 0.1 us
            transport.Send(Message(1, 0, 1, 1'000));         // waits for it
            transport.Send(Message(2, 0, npus - 1, 1'000));  // the other way: nobody is there
            transport.Send(Message(3, 1, 2, 1'000));         // on the next link, before it
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[0], npus / 2 * 1'100'000, "opposite");
            NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[1], 1'200'000, "clockwise, behind it");
            NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[2], 200'000, "anticlockwise, free");
            NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[3], 200'000, "clockwise, before it");
            Simulator::Destroy();
        }
    }
};

class LinksServeOneMessageAtATime : public TestCase
{
  public:
    LinksServeOneMessageAtATime()
        : TestCase(
              "with queues a switch's links up and down each serve one whole message at a time")
    {
    }

  private:
    void DoRun() override
    {
        const AnalyticalGrid grid({Dimension(AnalyticalTopology::SWITCH, 3)});
        Arrivals arrivals;
        QueuedMessageTransport transport(grid, false, arrivals);
        // Links of 100 ns and 10 bytes/ns; 1,000 bytes are stored at the switch after 200 ns.
        transport.Send(Message(0, 0, 2, 1'000));
        transport.Send(Message(1, 1, 2, 1'000)); // meets it at the link down
        transport.Send(Message(2, 0, 1, 1'000)); // waits at the link up
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[0], 400'000, "first");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[1], 500'000, "second at the link down");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[2], 500'000, "second at the link up");
        Simulator::Destroy();
    }
};

class NpusShareAPort : public TestCase
{
  public:
    NpusShareAPort()
        : TestCase("with queues NPUs that share a port to a switch take whichever of its lines is "
                   "free first")
    {
    }

  private:
    void DoRun() override
    {
        AnalyticalDimension outer = Dimension(AnalyticalTopology::SWITCH, 2);
        outer.portNpus = 4;
        outer.portLines = 2;
        const AnalyticalGrid grid({Dimension(AnalyticalTopology::SWITCH, 8), outer});
        Arrivals arrivals;
        QueuedMessageTransport transport(grid, false, arrivals);
        // From NPUs 0 to 3, which share two lines, to those over against them, which do so, too.
        transport.Send(Message(0, 0, 8, 2'000));
        transport.Send(Message(1, 1, 9, 1'000));  // the other line
        transport.Send(Message(2, 2, 10, 1'000)); // behind that, then behind nobody
        transport.Send(Message(3, 3, 11, 1'000)); // both lines are free at once
        transport.Send(Message(4, 4, 12, 1'000)); // another port
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[0], 600'000, "200 + 100 ns on each line");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[1], 400'000, "beside it");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[2], 500'000, "behind the second");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[3], 600'000, "behind the first or the third");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[4], 400'000, "alone");
        Simulator::Destroy();
    }
};

class SwitchesThatReduceAreHalfWay : public TestCase
{
  public:
    SwitchesThatReduceAreHalfWay()
        : TestCase("a message between an NPU and the switch of its dimension pays one link and one "
                   "NIC, and the switch on the way up")
    {
    }

  private:
    void DoRun() override
    {
        AnalyticalDimension inner = Dimension(AnalyticalTopology::SWITCH, 4);
        inner.nicLatencyNs = 7.0;
        inner.routerLatencyNs = 30.0;
        const AnalyticalGrid grid({inner, Dimension(AnalyticalTopology::SWITCH, 2)});
        Arrivals arrivals;
        const FormulaMessageTransport formula(grid, {}, arrivals);
        // NPUs 0 to 7, then switches: 100 ns, 1,000 bytes at 10 a ns, 7 ns, and 30 ns up.
        NS_TEST_EXPECT_MSG_EQ(formula.DelayPs(5, 9, 1'000), 237'000.0, "up");
        NS_TEST_EXPECT_MSG_EQ(formula.DelayPs(9, 5, 1'000), 207'000.0, "down");
        NS_TEST_EXPECT_MSG_EQ(formula.DelayPs(5, 6, 1'000), 344'000.0, "the whole way");
        QueuedMessageTransport queued(grid, false, arrivals);
        queued.Send(Message(0, 5, 9, 1'000));
        queued.Send(Message(1, 5, 9, 1'000)); // waits for the link up
        queued.Send(Message(2, 9, 5, 1'000)); // the link down is another one
        queued.Send(Message(3, 9, 6, 1'000)); // and so is that of another NPU
        queued.Send(Message(4, 7, 5, 1'000)); // shares the link down, 237 ns from now
        Simulator::Run();
        Simulator::Destroy();
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[0], 237'000, "alone");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[1], 337'000, "behind the first");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[2], 207'000, "down");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[3], 207'000, "down to another");
        NS_TEST_EXPECT_MSG_EQ(arrivals.timesPs[4], 444'000, "both links, each stored");
    }
};

class AnalyticalMessageTransportTestSuite : public TestSuite
{
  public:
    AnalyticalMessageTransportTestSuite()
        : TestSuite("astra-analytical", Type::UNIT)
    {
        AddTestCase(new AMessagePaysForEachDimension);
        AddTestCase(new TheSlowerOfNetworkAndMemoryCounts);
        AddTestCase(new OnARingATieGoesClockwise);
        AddTestCase(new LinksServeOneMessageAtATime);
        AddTestCase(new NpusShareAPort);
        AddTestCase(new SwitchesThatReduceAreHalfWay);
    }
};

AnalyticalMessageTransportTestSuite g_analyticalMessageTransportTestSuite; //!< registers itself
} // namespace analytical_message_transport_test
