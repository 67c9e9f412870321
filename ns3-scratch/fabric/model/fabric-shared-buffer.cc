// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-shared-buffer.h"

#include "fabric-lane.h"
#include "fabric-port.h"

#include "ns3/abort.h"
#include "ns3/double.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricSharedBuffer);

TypeId
FabricSharedBuffer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FabricSharedBuffer")
            .SetParent<Object>()
            .SetGroupName("Fabric")
            .AddConstructor<FabricSharedBuffer>()
            .AddAttribute("Capacity",
                          "Size of the buffer in bytes.",
                          UintegerValue(32'000'000),
                          MakeUintegerAccessor(&FabricSharedBuffer::SetCapacity,
                                               &FabricSharedBuffer::GetCapacity),
                          MakeUintegerChecker<uint64_t>(1))
            .AddAttribute("Alpha",
                          "Most that a lossy egress queue may hold, over the free memory; 0: all.",
                          DoubleValue(0.0),
                          MakeDoubleAccessor(&FabricSharedBuffer::m_alpha),
                          MakeDoubleChecker<double>(0.0));
    return tid;
}

void
FabricSharedBuffer::DoDispose()
{
    m_ports.clear();
    m_busy.clear();
    Object::DoDispose();
}

void
FabricSharedBuffer::AddPort(FabricPort* port)
{
    m_ports.push_back(port);
}

void
FabricSharedBuffer::SetCapacity(uint64_t bytes)
{
    NS_ABORT_MSG_IF(bytes <= m_keptBytes, "FabricSharedBuffer: headrooms and reserves need more");
    m_capacityBytes = bytes;
    m_sharedCapacityBytes = bytes - m_keptBytes;
}

uint64_t
FabricSharedBuffer::GetCapacity() const
{
    return m_capacityBytes;
}

uint64_t
FabricSharedBuffer::CountKept(const FabricPfc& pfc, const std::vector<PfcPort>& ports)
{
    const uint64_t priorities = std::popcount(pfc.losslessPriorities);
    uint64_t kept = 0;
    for (const PfcPort& port : ports)
    {
        kept += priorities * (port.headroomBytes + pfc.reserveBytes);
    }
    return kept;
}

uint64_t
FabricSharedBuffer::CountLosslessShared() const
{
    uint64_t bytes = 0;
    for (const IngressQueue& queue : m_ingress)
    {
        bytes += SharedPart(queue.bytes);
    }
    return bytes;
}

void
FabricSharedBuffer::Change(uint64_t capacityBytes,
                           const FabricPfc& pfc,
                           const std::vector<PfcPort>& ports)
{
    SettlePorts();
    const uint64_t lossyBytes = m_sharedBytes - CountLosslessShared();
    m_pfc = pfc;
    m_pfcPorts = ports;
    m_sharedBytes = lossyBytes + CountLosslessShared();
    m_keptBytes = CountKept(pfc, ports);
    SetCapacity(capacityBytes);
    for (uint32_t port = 0; port < m_stoppedPriorities.size(); ++port)
    {
        TellNeighbour(port);
    }
}

void
FabricSharedBuffer::TellNeighbour(uint32_t port)
{
    const uint8_t before = m_stoppedPriorities[port];
    uint8_t stopped = before;
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        const IngressQueue& queue = m_ingress[port * FABRIC_PRIORITIES + priority];
        const uint8_t bit = 1U << priority;
        if ((before & bit) == 0 && IsFull(queue, port))
        {
            stopped |= bit;
        }
        else if ((before & bit) != 0 && MayResume(queue, port))
        {
            stopped &= ~bit;
        }
    }
    if (stopped == before || !m_ports[port]->IsUp())
    {
        return;
    }
    m_stopped -= std::popcount(static_cast<uint8_t>(before & ~stopped));
    m_stoppedPriorities[port] = before & stopped;
    if ((stopped & ~before) != 0)
    {
        StopNeighbour(port, stopped);
    }
    else
    {
        m_ports[port]->SendPause(stopped);
    }
}

bool
FabricSharedBuffer::UsePfc(const FabricPfc& pfc, const std::vector<PfcPort>& ports)
{
    const uint64_t kept = CountKept(pfc, ports);
    if (kept >= m_capacityBytes)
    {
        return false;
    }
    m_pfc = pfc;
    m_pfcPorts = ports;
    m_keptBytes = kept;
    m_sharedCapacityBytes = m_capacityBytes - kept;
    m_ingress.resize(m_ports.size() * FABRIC_PRIORITIES);
    m_stoppedPriorities.resize(m_ports.size());
    return true;
}

void
FabricSharedBuffer::NoteBusy(FabricPort* port)
{
    const auto isBefore = [](const FabricPort* one, const FabricPort* other) {
        return one->GetPlace().port < other->GetPlace().port;
    };
    m_busy.insert(std::upper_bound(m_busy.begin(), m_busy.end(), port, isBefore), port);
}

void
FabricSharedBuffer::SettlePorts()
{
    // In the order in which their departures of one moment are events: which neighbour may go on
    // can hang on it.
    const int64_t nowPs = FabricNowPs();
    for (std::size_t place = 0; place < m_busy.size(); ++place)
    {
        FabricPort* port = m_busy[place];
        port->Settle(port->GetDuePs(nowPs, 0));
    }
    std::erase_if(m_busy, [](FabricPort* port) {
        port->SetListed(!port->IsEmpty());
        return port->IsEmpty();
    });
}

bool
FabricSharedBuffer::FitsLossy(uint64_t bytes, uint64_t queueBytes) const
{
    if (m_sharedBytes + bytes > m_sharedCapacityBytes)
    {
        return false;
    }
    const auto freeBytes = static_cast<double>(m_sharedCapacityBytes - m_sharedBytes);
    return m_alpha == 0.0 || static_cast<double>(queueBytes + bytes) <= m_alpha * freeBytes;
}

bool
FabricSharedBuffer::FitsLossyExactly(uint64_t bytes, uint64_t queueBytes)
{
    SettlePorts();
    return FitsLossy(bytes, queueBytes);
}

uint64_t
FabricSharedBuffer::GetThreshold(uint32_t port, uint64_t usedBytes) const
{
    const uint64_t freeBytes =
        m_sharedCapacityBytes > usedBytes ? m_sharedCapacityBytes - usedBytes : 0;
    return static_cast<uint64_t>(m_pfcPorts[port].alpha * static_cast<double>(freeBytes));
}

uint64_t
FabricSharedBuffer::SharedPart(uint64_t bytes) const
{
    return bytes > m_pfc.reserveBytes ? bytes - m_pfc.reserveBytes : 0;
}

FabricSharedBuffer::IngressQueue&
FabricSharedBuffer::QueueOf(const FabricFrame& frame)
{
    return m_ingress[frame.ingressPort * FABRIC_PRIORITIES + frame.priority];
}

bool
FabricSharedBuffer::IsHarmless(const IngressQueue& queue, uint64_t bytes, uint32_t port) const
{
    const uint64_t part = SharedPart(queue.bytes + bytes);
    const uint64_t more = part - SharedPart(queue.bytes);
    return queue.headroomBytes == 0 &&
           (part == 0 || part < GetThreshold(port, m_sharedBytes + more));
}

bool
FabricSharedBuffer::Charge(IngressQueue& queue, uint64_t bytes, uint32_t port)
{
    const uint64_t part = SharedPart(queue.bytes + bytes);
    const uint64_t more = part - SharedPart(queue.bytes);
    const bool shares =
        part <= GetThreshold(port, m_sharedBytes) && m_sharedBytes + more <= m_sharedCapacityBytes;
    if (part == 0 || shares)
    {
        queue.bytes += bytes;
        m_sharedBytes += more;
        return true;
    }
    if (queue.headroomBytes + bytes > m_pfcPorts[port].headroomBytes)
    {
        return false;
    }
    queue.headroomBytes += bytes;
    return true;
}

bool
FabricSharedBuffer::AdmitLossless(const FabricFrame& frame)
{
    IngressQueue& queue = QueueOf(frame);
    const uint64_t bytes = frame.bufferBytes;
    const uint32_t port = frame.ingressPort;
    if (IsHarmless(queue, bytes, port))
    {
        m_sharedBytes += SharedPart(queue.bytes + bytes) - SharedPart(queue.bytes);
        queue.bytes += bytes;
        return true;
    }
    SettlePorts();
    const bool fits = Charge(queue, bytes, port);
    const uint8_t bit = 1U << frame.priority;
    if ((m_stoppedPriorities[port] & bit) == 0 && IsFull(queue, port))
    {
        StopNeighbour(port, bit);
    }
    return fits;
}

bool
FabricSharedBuffer::IsFull(const IngressQueue& queue, uint32_t port) const
{
    const uint64_t part = SharedPart(queue.bytes);
    return queue.headroomBytes > 0 || (part > 0 && part >= GetThreshold(port, m_sharedBytes));
}

void
FabricSharedBuffer::StopNeighbour(uint32_t port, uint8_t priorities)
{
    const bool first = m_stopped == 0;
    m_stopped += std::popcount(static_cast<uint8_t>(priorities & ~m_stoppedPriorities[port]));
    m_stoppedPriorities[port] |= priorities;
    if (first)
    {
        for (FabricPort* each : m_busy)
        {
            each->WakeAtDeparture();
        }
    }
    m_ports[port]->SendPause(m_stoppedPriorities[port]);
}

uint32_t
FabricSharedBuffer::NumberOf(const FabricPort* port) const
{
    return std::find(m_ports.begin(), m_ports.end(), port) - m_ports.begin();
}

void
FabricSharedBuffer::LinkWentDown(const FabricPort* port)
{
    if (m_pfc.losslessPriorities == 0)
    {
        return;
    }
    uint8_t& stopped = m_stoppedPriorities[NumberOf(port)];
    m_stopped -= std::popcount(stopped);
    stopped = 0;
}

void
FabricSharedBuffer::LinkCameUp(const FabricPort* port)
{
    if (m_pfc.losslessPriorities == 0)
    {
        return;
    }
    SettlePorts();
    const uint32_t number = NumberOf(port);
    uint8_t full = 0;
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        const IngressQueue& queue = m_ingress[number * FABRIC_PRIORITIES + priority];
        full |= IsFull(queue, number) ? 1U << priority : 0;
    }
    if (full != 0)
    {
        StopNeighbour(number, full);
    }
}

void
FabricSharedBuffer::ReleaseLossless(const FabricFrame& frame)
{
    IngressQueue& queue = QueueOf(frame);
    const uint64_t fromHeadroom = std::min<uint64_t>(queue.headroomBytes, frame.bufferBytes);
    const uint64_t left = queue.bytes - (frame.bufferBytes - fromHeadroom);
    queue.headroomBytes -= fromHeadroom;
    m_sharedBytes -= SharedPart(queue.bytes) - SharedPart(left);
    queue.bytes = left;
    const uint32_t port = frame.ingressPort;
    const uint8_t bit = 1U << frame.priority;
    if ((m_stoppedPriorities[port] & bit) != 0 && MayResume(queue, port))
    {
        m_stoppedPriorities[port] &= ~bit;
        m_stopped--;
        m_ports[port]->SendPause(m_stoppedPriorities[port]);
    }
}

bool
FabricSharedBuffer::MayResume(const IngressQueue& queue, uint32_t port) const
{
    const uint64_t part = SharedPart(queue.bytes);
    return queue.headroomBytes == 0 &&
           (part == 0 || part + m_pfc.resumeOffsetBytes <= GetThreshold(port, m_sharedBytes));
}

uint64_t
FabricSharedBuffer::GetUsedBytes()
{
    SettlePorts();
    uint64_t bytes = m_sharedBytes;
    for (const IngressQueue& queue : m_ingress)
    {
        bytes += queue.headroomBytes + queue.bytes - SharedPart(queue.bytes);
    }
    return bytes;
}

bool
FabricSharedBuffer::IsAtRest()
{
    SettlePorts();
    const auto isEmpty = [](const IngressQueue& queue) {
        return queue.bytes == 0 && queue.headroomBytes == 0;
    };
    return m_sharedBytes == 0 && m_stopped == 0 &&
           std::all_of(m_ingress.begin(), m_ingress.end(), isEmpty) &&
           std::all_of(m_stoppedPriorities.begin(), m_stoppedPriorities.end(), [](uint8_t stopped) {
               return stopped == 0;
           });
}

} // namespace ns3
