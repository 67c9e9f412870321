// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Our TCP socket: the count of duplicate acknowledgements, its least window, and that hosts make no
 * other sockets.
 */
#include "../../bridge/test/session-fixture.h"
#include "fabric-tcp-socket.h"

#include "ns3/node-list.h"
#include "ns3/packet.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/test.h"

#include <cstdint>

using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;

namespace
{
constexpr uint32_t SEGMENT_BYTES = 1000;

/// A socket whose state a test sets and reads.
class OpenSocket : public FabricTcpSocket
{
  public:
    /// Take a state, and an acknowledgement of nothing new that reports a gap.
    void ReportGap(TcpSocketState::TcpCongState_t state, uint32_t duplicates)
    {
        m_tcb->m_congState = state;
        m_dupAckCount = duplicates;
        ProcessAck(SequenceNumber32(0), true, 0, SequenceNumber32(0), false);
    }

    /// Take an acknowledgement during the reaction to a mark. \param sentBytes sent since the mark
    /// \param ackedBytes what it delivers \param leftBytes what is still in flight
    void Acknowledge(uint32_t sentBytes, uint32_t ackedBytes, uint32_t leftBytes)
    {
        if (leftBytes > 0)
        {
            m_txBuffer->Add(Create<Packet>(leftBytes));
            m_txBuffer->CopyFromSequence(leftBytes, m_txBuffer->HeadSequence());
        }
        m_tcb->m_bytesInFlight = leftBytes;
        m_tcb->m_congState = TcpSocketState::CA_CWR;
        m_tcb->m_segmentSize = SEGMENT_BYTES;
        m_tcb->m_ssThresh = 20 * SEGMENT_BYTES;
        m_recoveryOps->EnterRecovery(m_tcb, 0, 0, 0);
        m_recoveryOps->UpdateBytesSent(sentBytes);
        ProcessAck(SequenceNumber32(ackedBytes), false, ackedBytes, SequenceNumber32(0), false);
    }

    /// \return its congestion window (bytes)
    uint32_t GetWindow() const
    {
        return m_tcb->m_cWnd;
    }

    /// \return duplicate acknowledgements counted
    uint32_t GetDuplicates() const
    {
        return m_dupAckCount;
    }

    /// \return state of its congestion control
    TcpSocketState::TcpCongState_t GetState() const
    {
        return m_tcb->m_congState;
    }

    /// \return what it makes of itself when a connection is asked for
    Ptr<TcpSocketBase> MakeFork()
    {
        return Fork();
    }
};

Ptr<OpenSocket>
MakeSocket(const Ptr<TcpRecoveryOps>& recovery = CreateObject<TcpClassicRecovery>())
{
    auto socket = CreateObject<OpenSocket>();
    socket->SetRtt(CreateObject<RttMeanDeviation>());
    socket->SetCongestionControlAlgorithm(CreateObject<TcpNewReno>());
    socket->SetRecoveryAlgorithm(recovery);
    return socket;
}

class CountsDuplicatesAnew : public TestCase
{
  public:
    CountsDuplicatesAnew()
        : TestCase("what was counted while it reacted to a mark is forgotten once that is over, "
                   "and nothing else is")
    {
    }

  private:
    void DoRun() override
    {
        const auto expect = [this](TcpSocketState::TcpCongState_t before,
                                   uint32_t counted,
                                   TcpSocketState::TcpCongState_t after,
                                   uint32_t expected) {
            Ptr<OpenSocket> socket = MakeSocket();
            socket->ReportGap(before, counted);
            const char* const name = TcpSocketState::TcpCongStateName[before];
            NS_TEST_EXPECT_MSG_EQ(socket->GetDuplicates(), expected, name << " " << counted);
            NS_TEST_EXPECT_MSG_EQ(socket->GetState(), after, name << " " << counted);
        };
        // ns-3's own socket asserts in the second case that the count is 1.
        expect(TcpSocketState::CA_OPEN, 0, TcpSocketState::CA_DISORDER, 1);
        expect(TcpSocketState::CA_OPEN, 3, TcpSocketState::CA_DISORDER, 1);
        expect(TcpSocketState::CA_DISORDER, 1, TcpSocketState::CA_DISORDER, 2);
        expect(TcpSocketState::CA_CWR, 3, TcpSocketState::CA_CWR, 4);
    }
};

class KeepsRoomForOneSegment : public TestCase
{
  public:
    KeepsRoomForOneSegment()
        : TestCase("with nothing in flight the window has room for a segment, however much was "
                   "sent during the reaction to a mark")
    {
    }

  private:
    void DoRun() override
    {
        const auto expect = [this](uint32_t sent, uint32_t left, uint32_t expected) {
            Ptr<OpenSocket> socket = MakeSocket(CreateObject<TcpPrrRecovery>());
            socket->Acknowledge(sent, 4 * SEGMENT_BYTES, left);
            NS_TEST_EXPECT_MSG_EQ(socket->GetWindow(), expected, sent << " " << left);
        };
        expect(1, 0, 4 * SEGMENT_BYTES);
        expect(4 * SEGMENT_BYTES, 0, 4 * SEGMENT_BYTES);
        // More than was delivered: ns-3's own socket has a window of 0 here, and never sends again.
        expect(4 * SEGMENT_BYTES + 1, 0, SEGMENT_BYTES);
        // An acknowledgement, or a timeout, is still to come.
        expect(9 * SEGMENT_BYTES, SEGMENT_BYTES / 2, SEGMENT_BYTES / 2);
        Simulator::Destroy();
    }
};

class HostsMakeThisSocket : public TestCase
{
  public:
    HostsMakeThisSocket()
        : TestCase("a host's socket factory makes this socket, and a connection that it accepts "
                   "has one")
    {
    }

  private:
    void DoRun() override
    {
        BuiltStar built;
        Ptr<Socket> made =
            Socket::CreateSocket(NodeList::GetNode(0), TcpSocketFactory::GetTypeId());
        NS_TEST_EXPECT_MSG_EQ((DynamicCast<FabricTcpSocket>(made) != nullptr), true, "made");
        Ptr<TcpSocketBase> accepted = MakeSocket()->MakeFork();
        NS_TEST_EXPECT_MSG_EQ((DynamicCast<FabricTcpSocket>(accepted) != nullptr), true, "forked");
    }
};

class TcpSocketTestSuite : public TestSuite
{
  public:
    TcpSocketTestSuite()
        : TestSuite("astra-tcp-socket", Type::UNIT)
    {
        AddTestCase(new CountsDuplicatesAnew);
        AddTestCase(new KeepsRoomForOneSegment);
        AddTestCase(new HostsMakeThisSocket);
    }
};

TcpSocketTestSuite g_tcpSocketTestSuite; //!< registers itself
} // namespace
