// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What a FabricPort is made of and what can be asked of it; how it sends is in fabric-port.cc.
 */
#include "fabric-lane.h"
#include "fabric-port.h"

#include "ns3/boolean.h"
#include "ns3/trace-source-accessor.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricPort);

namespace
{
constexpr int64_t PS_TIMES_BITS_PER_SECOND =
    8'000'000'000'000; // picoseconds a byte takes at 1 bit/s
} // namespace

bool
FabricReceiver::AdmitHead(FabricFrame*, uint32_t)
{
    return false;
}

void
FabricReceiver::ReceiveHead(FabricFrame* frame, uint32_t port)
{
    ReceiveFrame(frame, port); // who lets no head in is handed none
}

TypeId
FabricPort::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FabricPort")
            .SetParent<Object>()
            .SetGroupName("Fabric")
            .AddConstructor<FabricPort>()
            .AddAttribute("DataRate",
                          "Rate of the line (bit/s).",
                          DataRateValue(DataRate("100Gb/s")),
                          MakeDataRateAccessor(&FabricPort::SetRate, &FabricPort::GetRate),
                          MakeDataRateChecker())
            .AddAttribute("Delay",
                          "Propagation delay to the far end (time).",
                          TimeValue(NanoSeconds(500)),
                          MakeTimeAccessor(&FabricPort::SetDelay, &FabricPort::GetDelay),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("Rounding",
                          "Transmission times are rounded to multiples of this time; 0 does not "
                          "round (older simulators: 1 ns).",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&FabricPort::SetRounding, &FabricPort::GetRounding),
                          MakeTimeChecker(Time(0)))
            .AddAttribute("OldestFirst",
                          "A departure and an arrival at the same time happen in the order in "
                          "which a simulator that plays departures as events would have scheduled "
                          "them; else the departure comes first. The delay must be above 0.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&FabricPort::m_oldestFirst),
                          MakeBooleanChecker())
            .AddTraceSource("Queue",
                            "Bytes waiting after a change, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_queueTrace),
                            "ns3::FabricPort::QueueTracedCallback")
            .AddTraceSource("Transmit",
                            "Packet whose first bit goes on the line, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_transmitTrace),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Line",
                            "Bytes that go on the line, preamble and gap counted, with the time.",
                            MakeTraceSourceAccessor(&FabricPort::m_lineTrace),
                            "ns3::FabricPort::LineTracedCallback")
            .AddTraceSource("Drop",
                            "Packet dropped because the buffer is full or the link is down, or "
                            "lost on the link, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_dropTrace),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Mark",
                            "Packet given a congestion mark, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_markTrace),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Pause",
                            "Priorities (bits) that the far end has stopped from then on, with the "
                            "time.",
                            MakeTraceSourceAccessor(&FabricPort::m_pauseTrace),
                            "ns3::FabricPort::PauseTracedCallback");
    return tid;
}

FabricPort::FabricPort() = default;

FabricPort::~FabricPort()
{
    if (FabricSimulator* simulator = FabricSimulator::Find())
    {
        simulator->Forget(this);
    }
}

void
FabricPort::DoDispose()
{
    m_arrivalPending = false;
    m_wakePs = NO_WAKE;
    const auto free = [](FabricFrameList& list) {
        while (!list.IsEmpty())
        {
            FabricFramePool::Give(list.PopFront());
        }
    };
    std::for_each(m_queues.begin(), m_queues.end(), free);
    m_wire.Collect();
    while (!m_wire.IsEmpty())
    {
        FabricFramePool::Give(m_wire.PopFront());
    }
    m_occupied = m_ready = 0;
    m_source = nullptr;
    m_receiver = nullptr;
    m_buffer = nullptr;
    m_marker = nullptr;
    Object::DoDispose();
}

void
FabricPort::SetRate(DataRate rate)
{
    SettleIfUsed();
    m_rateBps = rate.GetBitRate();
    NS_ABORT_MSG_IF(m_rateBps == 0, "FabricPort: the rate must be above 0");
    const bool whole = PS_TIMES_BITS_PER_SECOND % static_cast<int64_t>(m_rateBps) == 0;
    m_psPerByte = whole && m_rounding.IsZero()
                      ? PS_TIMES_BITS_PER_SECOND / static_cast<int64_t>(m_rateBps)
                      : 0;
}

void
FabricPort::SetDelay(Time delay)
{
    const int64_t leastPs = m_group == m_farGroup ? 0 : FabricSimulator::Get().GetLeastDelayPs();
    if (delay.GetTimeStep() < leastPs)
    {
        throw std::invalid_argument(
            m_name + " gets a delay of " + std::to_string(delay.GetTimeStep()) + " ps, below the " +
            std::to_string(leastPs) + " ps with which the run began; set it before the run begins");
    }
    SettleIfUsed();
    m_delay = delay;
}

Time
FabricPort::GetDelay() const
{
    return m_delay;
}

void
FabricPort::SettleIfUsed()
{
    if (m_receiver) // else it is being made, maybe before there is a simulator
    {
        CatchUp();
        Settle(FabricNowPs());
    }
}

DataRate
FabricPort::GetRate() const
{
    return DataRate(m_rateBps);
}

uint64_t
FabricPort::GetRateBps() const
{
    return m_rateBps;
}

int64_t
FabricPort::GetDelayPs() const
{
    return m_delay.GetTimeStep();
}

void
FabricPort::SetRounding(Time rounding)
{
    m_rounding = rounding;
    if (m_rateBps > 0)
    {
        SetRate(GetRate());
    }
}

Time
FabricPort::GetRounding() const
{
    return m_rounding;
}

int64_t
FabricPort::UnevenTransmissionPs(uint32_t wireBytes) const
{
    const auto rate = static_cast<int64_t>(m_rateBps);
    return RoundPs((PS_TIMES_BITS_PER_SECOND * wireBytes + rate / 2) / rate);
}

int64_t
FabricPort::RoundPs(int64_t timePs) const
{
    const int64_t roundingPs = m_rounding.GetTimeStep();
    return roundingPs > 0 ? (timePs + roundingPs / 2) / roundingPs * roundingPs : timePs;
}

FabricReceiver*
FabricPort::GetReceiver() const
{
    return m_receiver;
}

uint32_t
FabricPort::GetReceiverPort() const
{
    return m_receiverPort;
}

void
FabricPort::Connect(FabricReceiver* receiver, uint32_t receiverPort, uint32_t context)
{
    m_receiver = receiver;
    m_receiverPort = receiverPort;
    m_context = context;
}

void
FabricPort::CatchUp() const
{
    if (m_group != 0 || m_farGroup != 0)
    {
        FabricSimulator::Get().CatchUp();
    }
}

void
FabricPort::SetGroups(uint32_t group, uint32_t farGroup, bool threads)
{
    m_group = group;
    m_farGroup = farGroup;
    m_threads = threads && group != farGroup;
}

void
FabricPort::SetPauseListener(FabricPauseListener* listener)
{
    m_pauseListener = listener;
}

bool
FabricPort::IsTraced() const
{
    return !m_queueTrace.IsEmpty() || !m_transmitTrace.IsEmpty() || !m_lineTrace.IsEmpty() ||
           !m_dropTrace.IsEmpty() || !m_markTrace.IsEmpty() || !m_pauseTrace.IsEmpty();
}

void
FabricPort::AnnounceHeads(uint32_t headerBytes)
{
    m_headWireBytes = headerBytes + FABRIC_LINE_GAP_BYTES;
}

uint32_t
FabricPort::GetAnnouncedBytes() const
{
    return m_headWireBytes == 0 ? 0 : m_headWireBytes - FABRIC_LINE_GAP_BYTES;
}

void
FabricPort::SetName(const std::string& name)
{
    m_name = name;
}

void
FabricPort::SetPlace(const FabricPortPlace& place)
{
    m_place = place;
    m_draws = FabricDraws(FabricDrawsFor::LOSSES, place.node, place.port);
}

const std::string&
FabricPort::GetName() const
{
    return m_name;
}

void
FabricPort::SetBuffer(Ptr<FabricSharedBuffer> buffer)
{
    m_buffer = buffer;
    m_buffer->AddPort(this);
}

void
FabricPort::SetMarker(Ptr<FabricEcnMarker> marker)
{
    m_marker = marker;
}

void
FabricPort::SetSource(FabricFrameSource* source)
{
    m_source = source;
}

void
FabricPort::SetScheduler(std::unique_ptr<FabricPortScheduler> scheduler)
{
    m_scheduler = std::move(scheduler);
}

void
FabricPort::SetErrorRate(double probability)
{
    SettleIfUsed();
    m_wire.Collect();
    // A frame whose head has arrived has been drawn for.
    const bool drawn = m_headArrived && m_wire.GetSize() == 1;
    if (!m_wire.IsEmpty() && !drawn && probability != m_errorRate)
    {
        m_earlierErrors.push_back({m_wire.Back(), m_errorRate});
    }
    m_errorRate = probability;
    m_losesFrames = m_errorRate > 0.0 || !m_earlierErrors.empty();
}

double
FabricPort::GetErrorRate() const
{
    return m_errorRate;
}

void
FabricPort::MeasureUtilisation(int64_t averagingPs)
{
    m_meter = std::make_unique<FabricUtilisationMeter>(averagingPs);
}

uint8_t
FabricPort::GetPaused() const
{
    return m_paused;
}

int64_t
FabricPort::GetPausedSincePs(uint32_t priority) const
{
    return m_pausedSincePs.at(priority);
}

const FabricFrameList&
FabricPort::GetQueue(uint32_t priority) const
{
    return m_queues.at(priority);
}

uint64_t
FabricPort::GetQueueBytes()
{
    if (m_group != 0)
    {
        CatchUp();
    }
    Settle(FabricNowPs());
    return m_queueBytes;
}

int64_t
FabricPort::GetPausedPs(int64_t nowPs) const
{
    return m_counters.pausedPs + (m_paused != 0 ? nowPs - m_anyPausedSincePs : 0);
}

const FabricPortCounters&
FabricPort::GetSettledCounters() const
{
    return m_counters;
}

const FabricPortCounters&
FabricPort::GetCounters()
{
    CatchUp();
    const int64_t nowPs = FabricNowPs();
    Settle(nowPs);
    if (m_paused != 0)
    {
        m_counters.pausedPs += nowPs - m_anyPausedSincePs;
        m_anyPausedSincePs = nowPs;
    }
    return m_counters;
}

FabricPortContents
FabricPort::CountContents()
{
    CatchUp();
    Settle(FabricNowPs());
    m_wire.Collect();
    FabricPortContents contents;
    for (uint32_t queue = 0; queue < QUEUES; ++queue)
    {
        for (const FabricFrame* frame = m_queues[queue].GetFirst(); frame; frame = frame->next)
        {
            if (queue == CONTROL)
            {
                contents.waitingPauses++;
                continue;
            }
            contents.waitingFrames++;
            contents.waitingBytes += frame->bufferBytes;
        }
    }
    for (uint32_t number = 0; number < m_wire.GetSize(); ++number)
    {
        contents.wireFrames++;
        contents.wirePauses += m_wire.Get(number).isPause ? 1 : 0;
    }
    return contents;
}

} // namespace ns3
