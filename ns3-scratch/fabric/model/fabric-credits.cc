// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-credits.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace ns3
{

namespace
{
/// \throw std::logic_error that names the lane
[[noreturn]] void
Refuse(uint32_t lane, const std::string& words)
{
    throw std::logic_error("credits of lane " + std::to_string(lane) + ": " + words);
}
} // namespace

FabricCredits::FabricCredits(const FabricCreditLink& link)
    : m_largestBytes(link.largestBytes),
      m_link(link)
{
    m_bytes.fill(link.laneBytes);
}

void
FabricCredits::SpendLast(const FabricFrame& frame, int64_t startPs)
{
    TakeUntil(startPs); // while a lane was stopped all has been taken at its time
    const uint32_t lane = frame.priority;
    if (m_bytes[lane] < frame.bufferBytes)
    {
        Refuse(lane,
               "a frame of " + std::to_string(frame.bufferBytes) + " bytes is sent with " +
                   std::to_string(m_bytes[lane]));
    }
    m_bytes[lane] -= frame.bufferBytes;
    if (m_bytes[lane] < m_largestBytes)
    {
        m_stopped |= 1U << lane;
    }
}

void
FabricCredits::Grow()
{
    const uint32_t room = std::max(FIRST_ROOM, 2 * m_room);
    auto ring = std::make_unique<Return[]>(room);
    for (uint32_t number = m_head; number != m_tail; ++number)
    {
        ring[number & (room - 1)] = At(number);
    }
    m_ring = std::move(ring);
    m_room = room;
}

bool
FabricCredits::Put(int64_t timePs, uint32_t lane, uint32_t bytes)
{
    m_put.push_back({timePs, lane, bytes});
    return m_put.size() == 1;
}

void
FabricCredits::HandOver()
{
    for (const Return& each : m_put)
    {
        Give(each.timePs, each.lane, each.bytes);
    }
    m_put.clear();
}

void
FabricCredits::Restore(const FabricFrame& frame)
{
    Add(frame.priority, frame.bufferBytes);
}

int64_t
FabricCredits::FindLetGoPs() const
{
    if (m_stopped == 0)
    {
        return NEVER;
    }
    std::array<uint32_t, FABRIC_PRIORITIES> bytes = m_bytes;
    for (uint32_t number = m_head; number != m_tail; ++number)
    {
        const Return& each = At(number);
        bytes[each.lane] += each.bytes;
        if ((m_stopped >> each.lane & 1) && bytes[each.lane] >= m_largestBytes)
        {
            return each.timePs;
        }
    }
    return NEVER;
}

void
FabricCredits::Add(uint32_t lane, uint32_t bytes)
{
    m_bytes[lane] += bytes;
    if (m_bytes[lane] > m_link.laneBytes) [[unlikely]]
    {
        Refuse(lane, "more comes back than was sent");
    }
    if (m_bytes[lane] >= m_largestBytes)
    {
        m_stopped &= ~(1U << lane);
    }
}

} // namespace ns3
