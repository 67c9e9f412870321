// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What a FabricPort is made of and what can be asked of it; how it sends is in fabric-port.cc.
 */
#include "fabric-lane.h"
#include "fabric-port.h"

#include "ns3/boolean.h"

#include <cstddef>
#include <stdexcept>
#include <string>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricPort);

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
                            FabricPortObservers::MakeQueueAccessor(),
                            "ns3::FabricPort::QueueTracedCallback")
            .AddTraceSource("Transmit",
                            "Packet whose first bit goes on the line, with its time.",
                            FabricPortObservers::MakeTransmitAccessor(),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Line",
                            "Bytes that go on the line, preamble and gap counted, with the time.",
                            FabricPortObservers::MakeLineAccessor(),
                            "ns3::FabricPort::LineTracedCallback")
            .AddTraceSource("Drop",
                            "Packet dropped because the buffer is full or the link is down, or "
                            "lost on the link, with its time.",
                            FabricPortObservers::MakeDropAccessor(),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Mark",
                            "Packet given a congestion mark, with its time.",
                            FabricPortObservers::MakeMarkAccessor(),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Pause",
                            "Priorities (bits) that the far end has stopped from then on, with the "
                            "time.",
                            FabricPortObservers::MakePauseAccessor(),
                            "ns3::FabricPort::PauseTracedCallback");
    return tid;
}

// The compiler warns that a class need not have fixed places for its members; with the ABI of Linux
// it has.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

FabricPort::FabricPort()
{
    constexpr std::size_t sends = offsetof(FabricPort, m_line);
    constexpr std::size_t waits = sends - CACHE_LINE_BYTES;
    static_assert(offsetof(FabricPort, m_source) == waits + FabricQueues::HOT_BYTES);
    static_assert(offsetof(FabricPort, m_source) ==
                  offsetof(FabricPort, m_queues) + sizeof(FabricQueues));
    static_assert(offsetof(FabricPort, m_observed) < sends + CACHE_LINE_BYTES);
    static_assert(offsetof(FabricPort, m_wire) == sends + CACHE_LINE_BYTES);
    static_assert(offsetof(FabricPort, m_place) == sends + 2 * CACHE_LINE_BYTES);
}

#pragma GCC diagnostic pop

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
    m_wire.SetScheduled(false);
    m_wakePs = NO_WAKE;
    for (uint32_t queue = 0; queue < FabricQueues::QUEUES; ++queue)
    {
        while (!m_queues.GetList(queue).IsEmpty())
        {
            FabricFramePool::Give(m_queues.Pop(queue));
        }
    }
    m_wire.Collect();
    while (!m_wire.IsEmpty())
    {
        FabricFramePool::Give(m_wire.PopFront());
    }
    m_source = nullptr;
    m_receiver = nullptr;
    m_admission.SetMemory(nullptr);
    m_marker = nullptr;
    Object::DoDispose();
}

void
FabricPort::SetRate(DataRate rate)
{
    SettleIfUsed();
    m_rate.SetBps(rate.GetBitRate());
    m_line.SetBytePs(m_rate.GetBytePs());
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
    if (m_hasCredits && m_receiver)
    {
        CatchUp();
        SettleMemory(); // what has left by the switch's other ports gives credit over this delay
    }
    SettleIfUsed();
    m_line.SetDelayPs(delay.GetTimeStep());
}

Time
FabricPort::GetDelay() const
{
    return TimeStep(m_line.GetDelayPs());
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
    return DataRate(m_rate.GetBps());
}

uint64_t
FabricPort::GetRateBps() const
{
    return m_rate.GetBps();
}

int64_t
FabricPort::GetDelayPs() const
{
    return m_line.GetDelayPs();
}

void
FabricPort::SetRounding(Time rounding)
{
    m_rate.SetRoundingPs(rounding.GetTimeStep());
    if (m_rate.GetBps() > 0)
    {
        SetRate(GetRate());
    }
}

Time
FabricPort::GetRounding() const
{
    return TimeStep(m_rate.GetRoundingPs());
}

int64_t
FabricPort::RoundPs(int64_t timePs) const
{
    return m_rate.RoundPs(timePs);
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
    if (m_credits)
    {
        m_credits->SetShared(m_threads);
    }
}

void
FabricPort::SetPauseListener(FabricPauseListener* listener)
{
    m_pauseListener = listener;
}

void
FabricPort::KeepServed(uint32_t ownerBit)
{
    GetObservers().KeepServed(ownerBit);
}

bool
FabricPort::IsTraced() const
{
    return m_observers && !m_observers->IsEmpty();
}

bool
FabricPort::IsDropTraced() const
{
    return m_observers && m_observers->SeeDrops();
}

FabricPortObservers&
FabricPort::GetObservers()
{
    if (!m_observers)
    {
        m_observers = std::make_unique<FabricPortObservers>();
        m_observed = true;
    }
    return *m_observers;
}

void
FabricPort::AnnounceHeads(uint32_t headerBytes)
{
    m_headWireBytes = headerBytes + FABRIC_LINE_GAP_BYTES;
    m_announcesHeads = true;
}

uint32_t
FabricPort::GetAnnouncedBytes() const
{
    return m_announcesHeads ? m_headWireBytes - FABRIC_LINE_GAP_BYTES : 0;
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
    m_losses.SetDraws(FabricDraws(FabricDrawsFor::LOSSES, place.node, place.port));
}

const std::string&
FabricPort::GetName() const
{
    return m_name;
}

void
FabricPort::SetBuffer(Ptr<FabricSharedBuffer> buffer)
{
    m_admission.SetMemory(buffer);
    buffer->AddPort(this);
}

void
FabricPort::SetAdmission(std::unique_ptr<FabricAdmissionRule> rule)
{
    m_admission.SetRule(std::move(rule));
}

void
FabricPort::UseCredits(const FabricCreditLink& link)
{
    m_credits = std::make_unique<FabricCredits>(link);
    m_hasCredits = true;
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
    m_queues.SetScheduler(std::move(scheduler));
}

void
FabricPort::SetErrorRate(double probability)
{
    SettleIfUsed();
    m_wire.Collect();
    // A frame whose head has arrived has been drawn for.
    const bool drawn = m_wire.HasHeadArrived() && m_wire.GetSize() == 1;
    m_losses.SetRate(probability, m_wire.IsEmpty() || drawn ? nullptr : m_wire.Back());
    m_losesFrames = m_losses.MayLose();
}

double
FabricPort::GetErrorRate() const
{
    return m_losses.GetRate();
}

void
FabricPort::MeasureUtilisation(int64_t averagingPs)
{
    m_meter = std::make_unique<FabricUtilisationMeter>(averagingPs);
}

uint8_t
FabricPort::GetPaused() const
{
    return m_pauses.GetStopped();
}

int64_t
FabricPort::GetPausedSincePs(uint32_t priority) const
{
    return m_pauses.GetSincePs(priority);
}

const FabricFrameList&
FabricPort::GetQueue(uint32_t priority) const
{
    return m_queues.GetList(priority);
}

uint64_t
FabricPort::GetQueueBytes()
{
    if (m_group != 0)
    {
        CatchUp();
    }
    Settle(FabricNowPs());
    return m_queues.GetBytes();
}

int64_t
FabricPort::GetPausedPs(int64_t nowPs) const
{
    return m_pauses.GetAnyStoppedPs(nowPs);
}

uint64_t
FabricPort::GetArrivedFrames() const
{
    return m_sent.frames - m_wire.GetSize() - m_counters.lostFrames - m_counters.cutFrames -
           m_counters.silentFrames;
}

FabricPortCounters
FabricPort::GetSettledCounters() const
{
    FabricPortCounters counters = m_counters;
    counters.sentFrames = m_sent.frames;
    counters.sentBytes = m_sent.bytes;
    counters.highestQueueBytes = m_queues.GetHighestBytes();
    counters.pauses = m_pauses.GetPauses();
    counters.pausedPs = m_pauses.GetAnyStoppedPs();
    return counters;
}

FabricPortCounters
FabricPort::GetCounters()
{
    CatchUp();
    const int64_t nowPs = FabricNowPs();
    Settle(nowPs);
    if (m_hasCredits && IsUp())
    {
        TakeCredits(nowPs); // what has come while the line is busy
    }
    FabricPortCounters counters = GetSettledCounters();
    counters.pausedPs = m_pauses.GetAnyStoppedPs(nowPs);
    return counters;
}

FabricPortContents
FabricPort::CountContents()
{
    CatchUp();
    Settle(FabricNowPs());
    m_wire.Collect();
    FabricPortContents contents;
    for (uint32_t queue = 0; queue < FabricQueues::QUEUES; ++queue)
    {
        const FabricFrameList& list = m_queues.GetList(queue);
        for (const FabricFrame* frame = list.GetFirst(); frame; frame = frame->next)
        {
            if (queue == FabricQueues::PAUSES)
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
