// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Our TCP socket: the count of duplicate acknowledgements, its least window, that it sends what
 * ns-3's own sends, and that hosts make no other sockets.
 */
#include "../../bridge/test/session-fixture.h"
#include "fabric-tcp-socket.h"

#include "ns3/config.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4.h"
#include "ns3/node-list.h"
#include "ns3/node.h"
#include "ns3/object-factory.h"
#include "ns3/packet.h"
#include "ns3/rtt-estimator.h"
#include "ns3/simulator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-socket-factory.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/test.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tcp_socket_test
{
using namespace ns3;
using namespace astra_ns3;
using namespace astra_ns3::test;
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

/// Connections into host 0, by our sockets or by ns3::TcpSocketBase, over the same star.
class Incast
{
  public:
    /// \param star the network \param parameters of TCP \param ours whether sockets are ours
    Incast(const Star& star, const TcpParameters& parameters, bool ours)
        : m_built(star, parameters),
          m_switch(star.hosts),
          m_ours(ours)
    {
        const Ptr<Node> receiver = NodeList::GetNode(0);
        Ptr<Socket> server = MakeSocketOf(receiver);
        server->Bind(InetSocketAddress(Ipv4Address::GetAny(), PORT));
        server->Listen();
        server->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                  MakeCallback(&Incast::Accepted, this));
        m_sockets.push_back(server);
        Config::ConnectWithoutContext("/NodeList/*/DeviceList/0/$ns3::FabricNetDevice/MacRx",
                                      MakeCallback(&Incast::Arrived, this));
    }

    /// A host connects, and sends pieces until all bytes are handed over; after a while, again.
    void Send(uint32_t host, uint32_t bytes, uint32_t pieceBytes)
    {
        const auto ipv4 = NodeList::GetNode(0)->GetObject<Ipv4>();
        const Ipv4Address address = ipv4->GetAddress(ipv4->GetNInterfaces() - 1, 0).GetLocal();
        Ptr<Socket> socket = MakeSocketOf(NodeList::GetNode(host));
        m_sockets.push_back(socket);
        m_left[socket] = {bytes, pieceBytes};
        Simulator::Schedule(TimeStep(AGAIN_PS), [this, socket, bytes] {
            m_left.at(socket).bytes += bytes;
            Fill(socket, 0);
        });
        socket->SetSendCallback(MakeCallback(&Incast::Fill, this));
        socket->Bind();
        socket->Connect(InetSocketAddress(address, PORT));
    }

    /// \return time and bytes of each packet that arrived at a host, from first to last
    const std::vector<std::pair<int64_t, std::string>>& Play()
    {
        m_built.Get().Run(LIMIT_PS);
        return m_arrived;
    }

    /// \return bytes that host 0 has read
    uint64_t GetReadBytes() const
    {
        return m_readBytes;
    }

    /// \return frames that the switch has dropped
    uint64_t GetDroppedFrames()
    {
        return m_built.GetPortStatistics(m_switch, 0).at("dropped_frames");
    }

  private:
    static constexpr uint16_t PORT = 5001;                 //!< no other of the session's
    static constexpr int64_t LIMIT_PS = 1'000'000'000'000; //!< a second: connections stay open
    static constexpr int64_t AGAIN_PS = 300'000'000'000;   //!< when all has been acknowledged

    /// What a host has still to hand over.
    struct Left
    {
        uint32_t bytes;      //!< so much
        uint32_t pieceBytes; //!< at once
    };

    Ptr<Socket> MakeSocketOf(const Ptr<Node>& node) const
    {
        if (m_ours)
        {
            return Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
        }
        const auto protocol = node->GetObject<TcpL4Protocol>();
        const auto make = [&protocol](const std::string& attribute) {
            TypeIdValue kind;
            protocol->GetAttribute(attribute, kind);
            ObjectFactory factory;
            factory.SetTypeId(kind.Get());
            return factory.Create();
        };
        auto socket = CreateObject<TcpSocketBase>();
        socket->SetNode(node);
        socket->SetTcp(protocol);
        socket->SetRtt(make("RttEstimatorType")->GetObject<RttEstimator>());
        socket->SetCongestionControlAlgorithm(make("SocketType")->GetObject<TcpCongestionOps>());
        socket->SetRecoveryAlgorithm(make("RecoveryType")->GetObject<TcpRecoveryOps>());
        protocol->AddSocket(socket);
        return socket;
    }

    void Accepted(Ptr<Socket> socket, const Address&)
    {
        m_sockets.push_back(socket);
        socket->SetRecvCallback(MakeCallback(&Incast::Read, this));
    }

    void Read(Ptr<Socket> socket)
    {
        while (Ptr<Packet> packet = socket->Recv())
        {
            m_readBytes += packet->GetSize();
        }
    }

    void Fill(Ptr<Socket> socket, uint32_t)
    {
        Left& left = m_left.at(socket);
        while (left.bytes > 0)
        {
            const uint32_t piece = std::min(left.bytes, left.pieceBytes);
            if (socket->GetTxAvailable() < piece)
            {
                return;
            }
            left.bytes -= piece; // before Send, which may call this
            socket->Send(Create<Packet>(piece), 0);
        }
    }

    void Arrived(Ptr<const Packet> packet)
    {
        std::string bytes(packet->GetSize(), '\0');
        packet->CopyData(reinterpret_cast<uint8_t*>(bytes.data()), packet->GetSize());
        m_arrived.emplace_back(Simulator::Now().GetTimeStep(), bytes.substr(0, HEADERS_BYTES));
    }

    static constexpr std::size_t HEADERS_BYTES = 80; //!< at most, of IP and TCP

    BuiltStar m_built;                                      //!< the network
    uint32_t m_switch;                                      //!< its number
    bool m_ours;                                            //!< whose sockets
    std::vector<Ptr<Socket>> m_sockets;                     //!< all
    std::map<Ptr<Socket>, Left> m_left;                     //!< of each sender
    std::vector<std::pair<int64_t, std::string>> m_arrived; //!< see Play
    uint64_t m_readBytes{0};                                //!< see GetReadBytes
};

class SendsWhatTcpSocketBaseSends : public TestCase
{
  public:
    SendsWhatTcpSocketBaseSends()
        : TestCase("the same packets arrive at the same times as with ns3::TcpSocketBase, with and "
                   "without losses, in pieces of any size")
    {
    }

  private:
    static constexpr uint32_t SENDERS = 6;
    static constexpr uint32_t BYTES = 300'000;

    void DoRun() override
    {
        uint64_t dropped = 0;
        for (const std::string control : {"ns3::TcpNewReno", "ns3::TcpCubic", "ns3::TcpBbr"})
        {
            for (const uint32_t pieceBytes : {700U, 10'000U})
            {
                for (const uint64_t bufferBytes : {40'000U, 64'000'000U})
                {
                    for (const bool sack : {true, false})
                    {
                        for (const uint32_t windowBytes : {23'000U, 500'000U})
                        {
                            TcpParameters parameters;
                            parameters.congestionControl = control;
                            parameters.sack = sack;
                            parameters.windowBytes = windowBytes;
                            dropped += Compare(parameters, pieceBytes, bufferBytes);
                        }
                    }
                }
            }
        }
        NS_TEST_EXPECT_MSG_GT(dropped, 1'000U, "small buffers drop");
    }

    /// \return frames dropped
    uint64_t Compare(const TcpParameters& parameters, uint32_t pieceBytes, uint64_t bufferBytes)
    {
        const std::string& control = parameters.congestionControl;
        Star star;
        star.hosts = SENDERS + 1;
        star.bufferBytes = bufferBytes;
        std::vector<std::pair<int64_t, std::string>> arrived[2];
        uint64_t dropped[2];
        for (const bool ours : {false, true})
        {
            Incast incast(star, parameters, ours);
            for (uint32_t host = 1; host <= SENDERS; ++host)
            {
                incast.Send(host, BYTES + host, pieceBytes);
            }
            arrived[ours] = incast.Play();
            dropped[ours] = incast.GetDroppedFrames();
            NS_TEST_EXPECT_MSG_EQ(incast.GetReadBytes(),
                                  2 * SENDERS * BYTES + SENDERS * (SENDERS + 1),
                                  control << ": all arrives");
        }
        const auto [theirs, ours] = std::mismatch(arrived[0].begin(),
                                                  arrived[0].end(),
                                                  arrived[1].begin(),
                                                  arrived[1].end());
        const bool same = theirs == arrived[0].end() && ours == arrived[1].end();
        NS_TEST_EXPECT_MSG_EQ(
            same,
            true,
            control << ", pieces of " << pieceBytes << ", buffer of " << bufferBytes
                    << ", window of " << parameters.windowBytes << ", SACK " << parameters.sack
                    << ": packet " << theirs - arrived[0].begin() << " of " << arrived[0].size());
        NS_TEST_EXPECT_MSG_EQ(dropped[0], dropped[1], control << ": drops");
        return dropped[0];
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
        AddTestCase(new SendsWhatTcpSocketBaseSends);
        AddTestCase(new HostsMakeThisSocket);
    }
};

TcpSocketTestSuite g_tcpSocketTestSuite; //!< registers itself
} // namespace tcp_socket_test
