// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricSharedBuffer the plain way, for the oracle of whole networks: what is held is counted when
 * it comes and when it goes, and added up whenever it is asked for. It stands in the place of
 * fabric-shared-buffer.cc.
 */
#include "fabric-port.h"
#include "fabric-shared-buffer.h"
#include "plain-ties.h"

#include "ns3/double.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <bit>

namespace ns3
{

using test::Demand;

NS_OBJECT_ENSURE_REGISTERED(FabricSharedBuffer);

TypeId
FabricSharedBuffer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FabricSharedBuffer")
            .SetParent<Object>()
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
    m_capacityBytes = m_sharedCapacityBytes = bytes;
}

uint64_t
FabricSharedBuffer::GetCapacity() const
{
    return m_capacityBytes;
}

uint64_t
FabricSharedBuffer::CountKept(const FabricPfc& pfc, const std::vector<PfcPort>& ports)
{
    uint64_t bytes = 0;
    for (const PfcPort& port : ports)
    {
        for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
        {
            const bool lossless = pfc.losslessPriorities >> priority & 1;
            bytes += lossless ? port.headroomBytes + pfc.reserveBytes : 0;
        }
    }
    return bytes;
}

bool
FabricSharedBuffer::UsePfc(const FabricPfc& pfc, const std::vector<PfcPort>& ports)
{
    m_keptBytes = CountKept(pfc, ports);
    m_pfc = pfc;
    m_pfcPorts = ports;
    m_ingress.resize(m_ports.size() * FABRIC_PRIORITIES);
    m_stoppedPriorities.resize(m_ports.size());
    if (m_keptBytes >= m_capacityBytes)
    {
        return false;
    }
    m_sharedCapacityBytes = m_capacityBytes - m_keptBytes;
    return true;
}

namespace
{
/// \return bytes of ingress queues in shared memory. \param sharedPart of one
template <typename QUEUES, typename PART>
uint64_t
SumOfShared(const QUEUES& queues, PART sharedPart)
{
    uint64_t bytes = 0;
    for (const auto& queue : queues)
    {
        bytes += sharedPart(queue.bytes);
    }
    return bytes;
}

/// \return whether two priorities of one neighbour go on, which takes two pause frames in some
/// order
bool
SeveralGoOnAtOnce(const std::vector<uint8_t>& stoppedBefore, const std::vector<uint8_t>& stoppedNow)
{
    for (std::size_t port = 0; port < stoppedBefore.size(); ++port)
    {
        if (std::popcount(static_cast<uint8_t>(stoppedBefore[port] & ~stoppedNow[port])) > 1)
        {
            return true;
        }
    }
    return false;
}
} // namespace

uint64_t
FabricSharedBuffer::SharedPart(uint64_t bytes) const
{
    return bytes - std::min(bytes, m_pfc.reserveBytes);
}

uint64_t
FabricSharedBuffer::GetThreshold(uint32_t port, uint64_t usedBytes) const
{
    // One that has become smaller may hold more than it has room for.
    const uint64_t free = m_sharedCapacityBytes - std::min(usedBytes, m_sharedCapacityBytes);
    return static_cast<uint64_t>(m_pfcPorts.at(port).alpha * static_cast<double>(free));
}

// All departures due in this picosecond, by the numbers of the ports. Whether a neighbour may go on
// can depend on which of them is first: of that no rule is given.
void
FabricSharedBuffer::SettlePorts()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const auto part = [this](uint64_t bytes) { return SharedPart(bytes); };
    const std::vector<IngressQueue> before = m_ingress;
    const std::vector<uint8_t> stopped = m_stoppedPriorities;
    const uint64_t lossyBefore = m_sharedBytes;
    const uint64_t usedBefore = lossyBefore + SumOfShared(before, part);
    for (FabricPort* port : m_ports)
    {
        port->Settle(nowPs);
    }
    const uint64_t used = m_sharedBytes + SumOfShared(m_ingress, part);
    bool departed = m_sharedBytes != lossyBefore;
    bool tied = SeveralGoOnAtOnce(stopped, m_stoppedPriorities);
    for (std::size_t place = 0; place < before.size(); ++place)
    {
        const auto port = static_cast<uint32_t>(place / FABRIC_PRIORITIES);
        const IngressQueue& now = m_ingress[place];
        const uint64_t heldBefore = before[place].bytes + before[place].headroomBytes;
        const bool waits = stopped[port] >> place % FABRIC_PRIORITIES & 1;
        const bool left = now.bytes + now.headroomBytes < heldBefore;
        departed = departed || left;
        if (waits && left && now.headroomBytes == 0 && part(now.bytes) > 0)
        {
            // Low enough by what others have let go of, not by what has left this queue alone?
            const uint64_t needed = part(now.bytes) + m_pfc.resumeOffsetBytes;
            const uint64_t usedAlone = usedBefore - part(before[place].bytes) + part(now.bytes);
            tied = tied ||
                   (needed <= GetThreshold(port, used) && needed > GetThreshold(port, usedAlone));
        }
    }
    if (tied)
    {
        test::NoteTie(nowPs);
    }
    if (departed && std::any_of(stopped.begin(), stopped.end(), [](uint8_t each) { return each; }))
    {
        test::NoteDueDeparture(nowPs);
    }
}

// By the new numbers each neighbour is told what it would have been told had they held before.
void
FabricSharedBuffer::Change(uint64_t capacityBytes,
                           const FabricPfc& pfc,
                           const std::vector<PfcPort>& ports)
{
    SettlePorts();
    const auto part = [this](uint64_t bytes) { return SharedPart(bytes); };
    m_pfc = pfc;
    m_pfcPorts = ports;
    m_capacityBytes = capacityBytes;
    m_sharedCapacityBytes = capacityBytes - CountKept(pfc, ports);
    const uint64_t used = m_sharedBytes + SumOfShared(m_ingress, part);
    for (uint32_t number = 0; number < m_stoppedPriorities.size(); ++number)
    {
        uint32_t stopped = 0;
        for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
        {
            const IngressQueue& queue = m_ingress[number * FABRIC_PRIORITIES + priority];
            const uint64_t held = part(queue.bytes);
            const uint64_t threshold = GetThreshold(number, used);
            const bool wasStopped = m_stoppedPriorities[number] >> priority & 1;
            const uint64_t limit = wasStopped ? held + m_pfc.resumeOffsetBytes : held + 1;
            const bool over = held > 0 && limit > threshold;
            stopped |= uint32_t{queue.headroomBytes > 0 || over} << priority;
        }
        if (stopped != m_stoppedPriorities[number] && m_ports[number]->IsUp())
        {
            m_stoppedPriorities[number] = static_cast<uint8_t>(stopped);
            m_ports[number]->SendPause(m_stoppedPriorities[number]);
        }
    }
}

bool
FabricSharedBuffer::FitsLossy(uint64_t bytes, uint64_t queueBytes) const
{
    const auto part = [this](uint64_t held) { return SharedPart(held); };
    const uint64_t used = m_sharedBytes + SumOfShared(m_ingress, part);
    if (used + bytes > m_sharedCapacityBytes)
    {
        return false;
    }
    const auto free = static_cast<double>(m_sharedCapacityBytes - used);
    return m_alpha == 0.0 || static_cast<double>(queueBytes + bytes) <= m_alpha * free;
}

bool
FabricSharedBuffer::FitsLossyExactly(uint64_t, uint64_t)
{
    return false; // it was exact already
}

FabricSharedBuffer::IngressQueue&
FabricSharedBuffer::QueueOf(const FabricFrame& frame)
{
    return m_ingress.at(frame.ingressPort * FABRIC_PRIORITIES + frame.priority);
}

bool
FabricSharedBuffer::AdmitLossless(const FabricFrame& frame)
{
    const auto part = [this](uint64_t bytes) { return SharedPart(bytes); };
    const uint32_t port = frame.ingressPort;
    IngressQueue& queue = QueueOf(frame);
    const uint64_t used = m_sharedBytes + SumOfShared(m_ingress, part);
    const uint64_t after = part(queue.bytes + frame.bufferBytes);
    const uint64_t more = after - part(queue.bytes);
    bool fits = true;
    if (after == 0 || (after <= GetThreshold(port, used) && used + more <= m_sharedCapacityBytes))
    {
        queue.bytes += frame.bufferBytes;
    }
    else if (queue.headroomBytes + frame.bufferBytes <= m_pfcPorts.at(port).headroomBytes)
    {
        queue.headroomBytes += frame.bufferBytes;
    }
    else
    {
        fits = false;
    }
    const uint64_t held = part(queue.bytes);
    const uint64_t threshold = GetThreshold(port, m_sharedBytes + SumOfShared(m_ingress, part));
    const auto bit = static_cast<uint8_t>(1U << frame.priority);
    const bool full = queue.headroomBytes > 0 || (held > 0 && held >= threshold);
    if (full && (m_stoppedPriorities[port] & bit) == 0)
    {
        m_stoppedPriorities[port] |= bit;
        m_ports[port]->SendPause(m_stoppedPriorities[port]);
    }
    return fits;
}

void
FabricSharedBuffer::ReleaseLossless(const FabricFrame& frame)
{
    const auto part = [this](uint64_t bytes) { return SharedPart(bytes); };
    const uint32_t port = frame.ingressPort;
    IngressQueue& queue = QueueOf(frame);
    uint64_t leaves = frame.bufferBytes;
    Demand(leaves <= queue.bytes + queue.headroomBytes, "more leaves a memory than is in it");
    const uint64_t ofHeadroom = std::min(leaves, queue.headroomBytes);
    queue.headroomBytes -= ofHeadroom;
    queue.bytes -= leaves - ofHeadroom;
    const uint64_t held = part(queue.bytes);
    const uint64_t threshold = GetThreshold(port, m_sharedBytes + SumOfShared(m_ingress, part));
    const bool low = held == 0 || held + m_pfc.resumeOffsetBytes <= threshold;
    const auto bit = static_cast<uint8_t>(1U << frame.priority);
    if ((m_stoppedPriorities[port] & bit) != 0 && queue.headroomBytes == 0 && low)
    {
        m_stoppedPriorities[port] &= static_cast<uint8_t>(~bit);
        m_ports[port]->SendPause(m_stoppedPriorities[port]);
    }
}

void
FabricSharedBuffer::LinkWentDown(const FabricPort* port)
{
    for (std::size_t number = 0; number < m_stoppedPriorities.size(); ++number)
    {
        m_stoppedPriorities[number] = m_ports[number] == port ? 0 : m_stoppedPriorities[number];
    }
}

void
FabricSharedBuffer::LinkCameUp(const FabricPort* port)
{
    SettlePorts();
    const auto part = [this](uint64_t bytes) { return SharedPart(bytes); };
    const uint64_t used = m_sharedBytes + SumOfShared(m_ingress, part);
    for (uint32_t number = 0; number < m_stoppedPriorities.size(); ++number)
    {
        uint32_t stopped = 0;
        for (uint32_t priority = 0; priority < FABRIC_PRIORITIES && m_ports[number] == port;
             ++priority)
        {
            const IngressQueue& queue = m_ingress[number * FABRIC_PRIORITIES + priority];
            const uint64_t held = part(queue.bytes);
            const bool full = held > 0 && held >= GetThreshold(number, used);
            stopped |= uint32_t{queue.headroomBytes > 0 || full} << priority;
        }
        if (stopped != 0)
        {
            m_stoppedPriorities[number] = static_cast<uint8_t>(stopped);
            m_ports[number]->SendPause(m_stoppedPriorities[number]);
        }
    }
}

uint64_t
FabricSharedBuffer::GetUsedBytes()
{
    SettlePorts();
    uint64_t bytes = m_sharedBytes;
    for (const IngressQueue& queue : m_ingress)
    {
        bytes += queue.headroomBytes + queue.bytes;
    }
    return bytes;
}

} // namespace ns3
