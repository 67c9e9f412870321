// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * LocalMessageTransport: the time of messages within a host.
 */
#include "local-message-transport.h"

#include "ns3/simulator.h"
#include "ns3/test.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace local_message_transport_test
{
using namespace ns3;

/// Keeps when messages arrive.
class ArrivalLog : public MessageListener
{
  public:
    void MessageArrived(const CollectiveMessage& message) override
    {
        m_arrivals.push_back({message.row, Simulator::Now().GetTimeStep()});
    }

    void BytesArrived(uint32_t, int64_t) override
    {
    }

    void TransportFailed(const CollectiveMessage&, const char*) override
    {
        m_failures++;
    }

    /// \return row and time of each
    const std::vector<std::pair<uint32_t, int64_t>>& GetArrivals() const
    {
        return m_arrivals;
    }

    /// \return failures reported
    int GetFailures() const
    {
        return m_failures;
    }

  private:
    std::vector<std::pair<uint32_t, int64_t>> m_arrivals; //!< row and time
    int m_failures{0};                                    //!< failures
};

class LocalMessagesTakeTheirTime : public TestCase
{
  public:
    LocalMessagesTakeTheirTime()
        : TestCase("within a host each NPU sends one message at a time at the rate, and the delay "
                   "follows")
    {
    }

  private:
    void DoRun() override
    {
        ArrivalLog log;
        LocalMessageTransport transport(2, 2'400'000'000'000, 100'000, log); // 10/3 ps a byte
        Send(transport, 0, 0, 3'000);                                        // busy up to 10000
        Send(transport, 1, 0, 1);                                            // 3 ps: 10003
        Send(transport, 2, 1, 2);                                            // the other NPU: 7 ps
        Simulator::Schedule(TimeStep(20'000), [&] { Send(transport, 3, 0, 5'000'000'000); });
        Simulator::Run();
        const std::vector<std::pair<uint32_t, int64_t>> expected{{2, 100'007},
                                                                 {0, 110'000},
                                                                 {1, 110'003},
                                                                 {3, 16'666'666'667 + 120'000}};
        NS_TEST_EXPECT_MSG_EQ((log.GetArrivals() == expected), true, "arrivals");
        NS_TEST_EXPECT_MSG_EQ(log.GetFailures(), 0, "failures");
        Simulator::Destroy();
    }

    static void Send(LocalMessageTransport& transport,
                     uint32_t row,
                     uint32_t sender,
                     uint64_t bytes)
    {
        CollectiveMessage message;
        message.row = row;
        message.sender = sender;
        message.receiver = 1 - sender;
        message.bytes = bytes;
        transport.Send(message);
    }
};

class EndlessLocalMessagesAreRefused : public TestCase
{
  public:
    EndlessLocalMessagesAreRefused()
        : TestCase("a message that would take longer than simulated time can count is an error, "
                   "also where several add up to that")
    {
    }

  private:
    void DoRun() override
    {
        ArrivalLog log;
        LocalMessageTransport transport(2, 8, 0, log); // 1 s a byte
        CollectiveMessage message;
        message.receiver = 1;
        message.bytes = 5'000'000; // 5e18 of 9.2e18 ps
        transport.Send(message);
        std::string said;
        try
        {
            transport.Send(message);
        }
        catch (const std::overflow_error& error)
        {
            said = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ(said.rfind("a message inside a host would end beyond 106 days", 0),
                              0,
                              "the error says what takes so long: " << said);
        Simulator::Destroy();
    }
};

class LocalMessageTransportTestSuite : public TestSuite
{
  public:
    LocalMessageTransportTestSuite()
        : TestSuite("astra-collective-local", Type::UNIT)
    {
        AddTestCase(new LocalMessagesTakeTheirTime);
        AddTestCase(new EndlessLocalMessagesAreRefused);
    }
};

LocalMessageTransportTestSuite g_localMessageTransportTestSuite; //!< registers itself
} // namespace local_message_transport_test
