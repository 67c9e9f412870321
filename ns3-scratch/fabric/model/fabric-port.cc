// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-port.h"

#include "ns3/log.h"
#include "ns3/simulator-impl.h"
#include "ns3/simulator.h"
#include "ns3/trace-source-accessor.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FabricPort");
NS_OBJECT_ENSURE_REGISTERED(FabricPort);

namespace
{
constexpr int64_t PS_TIMES_BITS_PER_SECOND =
    8'000'000'000'000; // picoseconds a byte takes at 1 bit/s
} // namespace

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
                          MakeTimeAccessor(&FabricPort::m_delay),
                          MakeTimeChecker(Time(0)))
            .AddTraceSource("Queue",
                            "Bytes waiting after a change, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_queueTrace),
                            "ns3::FabricPort::QueueTracedCallback")
            .AddTraceSource("Transmit",
                            "Packet whose first bit goes on the line, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_transmitTrace),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Drop",
                            "Packet dropped because the buffer is full, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_dropTrace),
                            "ns3::FabricPort::PacketTracedCallback")
            .AddTraceSource("Mark",
                            "Packet given a congestion mark, with its time.",
                            MakeTraceSourceAccessor(&FabricPort::m_markTrace),
                            "ns3::FabricPort::PacketTracedCallback");
    return tid;
}

FabricPort::FabricPort()
    : m_arrival(new ArrivalEvent(this))
{
}

FabricPort::~FabricPort()
{
    m_arrival->Unref();
}

void
FabricPort::DoDispose()
{
    m_arrival->Cancel();
    for (FabricFrameList* list : {&m_queue, &m_wire})
    {
        while (!list->IsEmpty())
        {
            FabricFramePool::Give(list->PopFront());
        }
    }
    m_receiver = nullptr;
    m_buffer = nullptr;
    m_marker = nullptr;
    Object::DoDispose();
}

void
FabricPort::SetRate(DataRate rate)
{
    m_rateBps = rate.GetBitRate();
    NS_ABORT_MSG_IF(m_rateBps == 0, "FabricPort: the rate must be above 0");
    const bool whole = PS_TIMES_BITS_PER_SECOND % static_cast<int64_t>(m_rateBps) == 0;
    m_psPerByte = whole ? PS_TIMES_BITS_PER_SECOND / static_cast<int64_t>(m_rateBps) : 0;
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
FabricPort::TransmissionPs(uint32_t wireBytes) const
{
    if (m_psPerByte > 0)
    {
        return m_psPerByte * wireBytes;
    }
    const auto rate = static_cast<int64_t>(m_rateBps);
    return (PS_TIMES_BITS_PER_SECOND * wireBytes + rate / 2) / rate;
}

void
FabricPort::Connect(FabricReceiver* receiver, uint32_t receiverPort, uint32_t context)
{
    m_receiver = receiver;
    m_receiverPort = receiverPort;
    m_context = context;
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
FabricPort::Enqueue(FabricFrame* frame)
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    Settle(nowPs);
    if (m_buffer && !m_buffer->Admit(frame->bufferBytes))
    {
        Drop(frame);
        return;
    }
    if (m_marker && m_marker->Marks(*frame, m_queueBytes))
    {
        frame->ecn = FabricEcn::CONGESTION_EXPERIENCED;
        frame->marked = true;
        m_counters.markedFrames++;
        m_markTrace(TimeStep(nowPs), frame->packet);
    }
    if (m_queue.IsEmpty() && m_lineFreePs <= nowPs)
    {
        const bool linkWasEmpty = m_wire.IsEmpty();
        Transmit(frame, nowPs);
        if (linkWasEmpty)
        {
            ScheduleArrival(nowPs);
        }
        return;
    }
    m_queue.PushBack(frame);
    m_queueBytes += frame->bufferBytes;
    m_counters.highestQueueBytes = std::max(m_counters.highestQueueBytes, m_queueBytes);
    m_queueTrace(TimeStep(nowPs), m_queueBytes);
}

void
FabricPort::Settle(int64_t nowPs)
{
    while (!m_queue.IsEmpty() && m_lineFreePs <= nowPs)
    {
        Depart(m_lineFreePs);
    }
}

void
FabricPort::Depart(int64_t startPs)
{
    FabricFrame* frame = m_queue.PopFront();
    m_queueBytes -= frame->bufferBytes;
    m_queueTrace(TimeStep(startPs), m_queueBytes);
    Transmit(frame, startPs);
}

void
FabricPort::Transmit(FabricFrame* frame, int64_t startPs)
{
    if (m_buffer)
    {
        m_buffer->Release(frame->bufferBytes);
    }
    m_counters.sentFrames++;
    m_counters.sentBytes += frame->bufferBytes;
    m_transmitTrace(TimeStep(startPs), frame->packet);
    m_lineFreePs = startPs + TransmissionPs(frame->wireBytes);
    // A cable keeps its order, also where a hook has just shortened it.
    m_lastArrivalPs = std::max(m_lineFreePs + m_delay.GetTimeStep(), m_lastArrivalPs);
    frame->arrivalPs = m_lastArrivalPs;
    m_wire.PushBack(frame);
}

void
FabricPort::ScheduleArrival(int64_t nowPs)
{
    m_arrival->Ref(); // the simulator gives back one reference when the event has run
    Simulator::GetImplementation()->ScheduleWithContext(m_context,
                                                        TimeStep(m_wire.Front()->arrivalPs - nowPs),
                                                        m_arrival);
}

void
FabricPort::Arrive()
{
    FabricFrame* frame = m_wire.PopFront();
    const int64_t nowPs = frame->arrivalPs;
    if (m_wire.IsEmpty())
    {
        Settle(
            nowPs); // the line was free before this frame arrived, so its successor has left by now
    }
    if (!m_wire.IsEmpty())
    {
        ScheduleArrival(nowPs);
    }
    m_receiver->ReceiveFrame(frame, m_receiverPort);
}

void
FabricPort::Drop(FabricFrame* frame)
{
    m_counters.droppedFrames++;
    m_counters.droppedBytes += frame->bufferBytes;
    m_dropTrace(Simulator::Now(), frame->packet);
    FabricFramePool::Give(frame);
}

uint64_t
FabricPort::GetQueueBytes()
{
    Settle(Simulator::Now().GetTimeStep());
    return m_queueBytes;
}

const FabricPortCounters&
FabricPort::GetCounters()
{
    Settle(Simulator::Now().GetTimeStep());
    return m_counters;
}

} // namespace ns3
