// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricNetDevice and FabricEcnMarker: what a frame takes on the line, and congestion marks on
 * their way into IP.
 */
#include "fabric-ecn-marker.h"
#include "fabric-net-device.h"

#include "ns3/double.h"
#include "ns3/ipv4-header.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/uinteger.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace fabric_net_device_test
{
using namespace ns3;
constexpr uint32_t BASE_ADDRESS = 0x0a000001;
constexpr uint16_t IPV4 = 0x0800;
constexpr uint32_t IPV4_HEADER_BYTES = 20;

/// Keeps a copy of the last frame, without its packet.
class FrameReader : public FabricReceiver
{
  public:
    void ReceiveFrame(FabricFrame* frame, uint32_t) override
    {
        m_last = *frame;
        m_last.packet = nullptr;
        m_frames++;
        FabricFramePool::Give(frame);
    }

    /// \return the last frame
    const FabricFrame& GetLast() const
    {
        return m_last;
    }

    /// \return frames so far
    uint32_t GetFrames() const
    {
        return m_frames;
    }

  private:
    FabricFrame m_last;   //!< the last frame
    uint32_t m_frames{0}; //!< frames so far
};

/// \return IP packet between two hosts. \param ipBytes its size \param ecn its codepoint
Ptr<Packet>
MakeIpPacket(uint32_t ipBytes, uint32_t from, uint32_t to, Ipv4Header::EcnType ecn)
{
    Ptr<Packet> packet = Create<Packet>(ipBytes - IPV4_HEADER_BYTES);
    Ipv4Header header;
    header.SetSource(Ipv4Address(BASE_ADDRESS + from));
    header.SetDestination(Ipv4Address(BASE_ADDRESS + to));
    header.SetPayloadSize(packet->GetSize());
    header.SetDscp(Ipv4Header::DSCP_AF21);
    header.SetEcn(ecn);
    header.SetTtl(61);
    packet->AddHeader(header);
    return packet;
}

/// \return a NIC with a port
Ptr<FabricNetDevice>
MakeDevice()
{
    Ptr<FabricNetDevice> device = CreateObject<FabricNetDevice>();
    device->AddPort(CreateObject<FabricPort>());
    device->SetBaseAddress(BASE_ADDRESS);
    return device;
}

/// \return a marker
Ptr<FabricEcnMarker>
MakeMarker(uint64_t kminBytes, uint64_t kmaxBytes, double pmax)
{
    Ptr<FabricEcnMarker> marker =
        CreateObjectWithAttributes<FabricEcnMarker>("Kmin",
                                                    UintegerValue(kminBytes),
                                                    "Kmax",
                                                    UintegerValue(kmaxBytes),
                                                    "Pmax",
                                                    DoubleValue(pmax));
    marker->SetDraws(FabricDraws(FabricDrawsFor::MARKS, 17));
    return marker;
}

class FrameSizes : public TestCase
{
  public:
    FrameSizes()
        : TestCase("18 bytes of Ethernet around an IP packet, at least 64, and 20 more on the line")
    {
    }

  private:
    void DoRun() override
    {
        FrameReader reader;
        Ptr<FabricNetDevice> device = MakeDevice();
        device->GetPort(0)->Connect(&reader, 0, 0);
        // Size of the IP packet, of the frame in a buffer, on the line.
        const std::vector<std::array<uint32_t, 3>> cases{{20, 64, 84},
                                                         {40, 64, 84},
                                                         {45, 64, 84},
                                                         {46, 64, 84},
                                                         {47, 65, 85},
                                                         {48, 66, 86},
                                                         {1'500, 1'518, 1'538},
                                                         {9'000, 9'018, 9'038}};
        for (const auto& [ipBytes, bufferBytes, wireBytes] : cases)
        {
            device->Send(MakeIpPacket(ipBytes, 3, 260, Ipv4Header::ECN_ECT0), Address(), IPV4);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(reader.GetLast().bufferBytes, bufferBytes, ipBytes << " bytes");
            NS_TEST_EXPECT_MSG_EQ(reader.GetLast().wireBytes, wireBytes, ipBytes << " bytes");
            NS_TEST_EXPECT_MSG_EQ(reader.GetLast().destination, 260U, "host, by its address");
            NS_TEST_EXPECT_MSG_EQ(reader.GetLast().marked, false, "no mark yet");
        }
        NS_TEST_EXPECT_MSG_EQ(reader.GetFrames(), cases.size(), "one frame a packet");
        for (const auto& [ecn, codepoint] : std::vector<std::pair<Ipv4Header::EcnType, FabricEcn>>{
                 {Ipv4Header::ECN_NotECT, FabricEcn::NOT_CAPABLE},
                 {Ipv4Header::ECN_ECT0, FabricEcn::CAPABLE_0},
                 {Ipv4Header::ECN_ECT1, FabricEcn::CAPABLE_1},
                 {Ipv4Header::ECN_CE, FabricEcn::CONGESTION_EXPERIENCED}})
        {
            device->Send(MakeIpPacket(100, 0, 1, ecn), Address(), IPV4);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ((reader.GetLast().ecn == codepoint), true, "codepoint " << ecn);
        }
        device->Dispose();
        Simulator::Destroy();
    }
};

/// Two NICs, the first of which marks whatever may be marked and had to wait.
class MarksReachTheIpHeader : public TestCase
{
  public:
    MarksReachTheIpHeader()
        : TestCase("a mark is written into the IP header, and only where the packet allows it")
    {
    }

  private:
    static constexpr uint32_t IP_BYTES = 500;

    void DoRun() override
    {
        Ptr<FabricNetDevice> from = MakeDevice();
        Ptr<FabricNetDevice> to = MakeDevice();
        from->GetPort(0)->Connect(PeekPointer(to), 0, 0);
        from->GetPort(0)->SetMarker(MakeMarker(0, 0, 1.0));
        to->SetReceiveCallback(MakeCallback(&MarksReachTheIpHeader::Receive, this));
        // Two that find no queue, then one of each kind behind a queue.
        for (Ipv4Header::EcnType ecn : {Ipv4Header::ECN_ECT0,
                                        Ipv4Header::ECN_ECT0,
                                        Ipv4Header::ECN_NotECT,
                                        Ipv4Header::ECN_ECT0,
                                        Ipv4Header::ECN_ECT1,
                                        Ipv4Header::ECN_CE})
        {
            from->Send(MakeIpPacket(IP_BYTES, 8, 9, ecn), Address(), IPV4);
        }
        Simulator::Run();
        const std::vector<Ipv4Header::EcnType> expected{Ipv4Header::ECN_ECT0,
                                                        Ipv4Header::ECN_ECT0,
                                                        Ipv4Header::ECN_NotECT,
                                                        Ipv4Header::ECN_CE,
                                                        Ipv4Header::ECN_CE,
                                                        Ipv4Header::ECN_CE};
        NS_TEST_ASSERT_MSG_EQ(m_received.size(), expected.size(), "packets");
        for (std::size_t place = 0; place < expected.size(); ++place)
        {
            const Ipv4Header& header = m_received[place];
            NS_TEST_EXPECT_MSG_EQ(header.GetEcn(), expected[place], "packet " << place);
            NS_TEST_EXPECT_MSG_EQ(header.GetDscp(), Ipv4Header::DSCP_AF21, "the rest of that byte");
            NS_TEST_EXPECT_MSG_EQ(header.GetSource(), Ipv4Address(BASE_ADDRESS + 8), "source");
            NS_TEST_EXPECT_MSG_EQ(header.GetDestination(),
                                  Ipv4Address(BASE_ADDRESS + 9),
                                  "destination");
            NS_TEST_EXPECT_MSG_EQ(header.GetPayloadSize(), IP_BYTES - IPV4_HEADER_BYTES, "size");
            NS_TEST_EXPECT_MSG_EQ(uint32_t{header.GetTtl()}, 61U, "time to live");
        }
        NS_TEST_EXPECT_MSG_EQ(to->GetReceivedPackets(), expected.size(), "counted");
        from->Dispose();
        to->Dispose();
        Simulator::Destroy();
    }

    bool Receive(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address&)
    {
        Ipv4Header header;
        packet->PeekHeader(header);
        m_received.push_back(header);
        NS_TEST_EXPECT_MSG_EQ(protocol, IPV4, "protocol");
        NS_TEST_EXPECT_MSG_EQ(packet->GetSize(), IP_BYTES, "whole packet");
        return true;
    }

    std::vector<Ipv4Header> m_received; //!< headers that came up to the stack
};

class MarkingProbability : public TestCase
{
  public:
    MarkingProbability()
        : TestCase("nothing is marked up to Kmin, everything above Kmax, between them ever more up "
                   "to Pmax")
    {
    }

  private:
    static constexpr int FRAMES = 20'000;
    static constexpr double SIGMAS =
        5.0; // chance of a false alarm in all cases together: below one in 50000

    void DoRun() override
    {
        constexpr uint64_t KMIN = 400'000;
        constexpr uint64_t KMAX = 1'600'000;
        for (double pmax : {0.2, 0.01, 1.0})
        {
            Ptr<FabricEcnMarker> marker = MakeMarker(KMIN, KMAX, pmax);
            for (uint64_t queueBytes : {uint64_t{0}, KMIN - 1, KMIN})
            {
                NS_TEST_EXPECT_MSG_EQ(CountMarks(marker, queueBytes), 0, queueBytes << " bytes");
            }
            for (int eighths = 1; eighths <= 8; ++eighths)
            {
                const double share = eighths / 8.0;
                const auto queueBytes = KMIN + static_cast<uint64_t>((KMAX - KMIN) * share);
                const double probability = share * pmax;
                const double expected = FRAMES * probability;
                const double sigma = std::sqrt(FRAMES * probability * (1 - probability));
                NS_TEST_EXPECT_MSG_EQ_TOL(CountMarks(marker, queueBytes),
                                          expected,
                                          SIGMAS * sigma,
                                          queueBytes << " bytes, Pmax " << pmax);
            }
            for (uint64_t queueBytes : {KMAX + 1, 10 * KMAX})
            {
                NS_TEST_EXPECT_MSG_EQ(CountMarks(marker, queueBytes),
                                      FRAMES,
                                      queueBytes << " bytes");
            }
        }
        // With Kmin = Kmax = K (DCTCP) there is no chance in it.
        Ptr<FabricEcnMarker> step = MakeMarker(100'000, 100'000, 0.2);
        NS_TEST_EXPECT_MSG_EQ(CountMarks(step, 100'000), 0, "at K");
        NS_TEST_EXPECT_MSG_EQ(CountMarks(step, 100'001), FRAMES, "above K");
    }

    int CountMarks(const Ptr<FabricEcnMarker>& marker, uint64_t queueBytes)
    {
        int marks = 0;
        FabricFrame frame;
        for (int draw = 0; draw < FRAMES; ++draw)
        {
            frame.ecn = FabricEcn::NOT_CAPABLE;
            NS_TEST_EXPECT_MSG_EQ(marker->Marks(frame, queueBytes), false, "not ECN capable");
            frame.ecn = draw % 2 == 0 ? FabricEcn::CAPABLE_0 : FabricEcn::CAPABLE_1;
            marks += marker->Marks(frame, queueBytes) ? 1 : 0;
        }
        return marks;
    }
};

class FabricNetDeviceTestSuite : public TestSuite
{
  public:
    FabricNetDeviceTestSuite()
        : TestSuite("astra-fabric-net-device", Type::UNIT)
    {
        AddTestCase(new FrameSizes);
        AddTestCase(new MarksReachTheIpHeader);
        AddTestCase(new MarkingProbability);
    }
};

FabricNetDeviceTestSuite g_fabricNetDeviceTestSuite; //!< registers itself
} // namespace fabric_net_device_test
