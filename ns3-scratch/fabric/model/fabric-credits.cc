// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-credits.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ns3
{

namespace
{
constexpr std::size_t MANY_TAKEN = 32; // so many old entries are worth moving the others

/// \throw std::logic_error that names the lane
[[noreturn]] void
Refuse(uint32_t lane, const std::string& words)
{
    throw std::logic_error("credits of lane " + std::to_string(lane) + ": " + words);
}
} // namespace

FabricCredits::FabricCredits(const FabricCreditLink& link)
    : m_link(link)
{
    m_bytes.fill(link.laneBytes);
}

void
FabricCredits::Spend(const FabricFrame& frame)
{
    const uint32_t lane = frame.priority;
    if (m_bytes[lane] < frame.bufferBytes) [[unlikely]]
    {
        Refuse(lane,
               "a frame of " + std::to_string(frame.bufferBytes) + " bytes is sent with " +
                   std::to_string(m_bytes[lane]));
    }
    m_bytes[lane] -= frame.bufferBytes;
    if (m_bytes[lane] < m_link.largestBytes)
    {
        m_stopped |= 1U << lane;
    }
}

void
FabricCredits::Give(int64_t timePs, uint32_t lane, uint32_t bytes)
{
    if (m_first == m_returns.size())
    {
        m_returns.clear();
        m_first = 0;
    }
    else if (m_first >= MANY_TAKEN && 2 * m_first >= m_returns.size())
    {
        m_returns.erase(m_returns.begin(),
                        m_returns.begin() + static_cast<std::ptrdiff_t>(m_first));
        m_first = 0;
    }
    // Frames leave a switch by several ports, so what is given last may arrive before others.
    m_returns.push_back({timePs, lane, bytes});
    for (std::size_t place = m_returns.size() - 1;
         place > m_first && m_returns[place - 1].timePs > timePs;
         --place)
    {
        std::swap(m_returns[place - 1], m_returns[place]);
    }
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
    std::array<uint64_t, FABRIC_PRIORITIES> bytes = m_bytes;
    for (std::size_t place = m_first; m_stopped != 0 && place < m_returns.size(); ++place)
    {
        const Return& each = m_returns[place];
        bytes[each.lane] += each.bytes;
        if ((m_stopped >> each.lane & 1) && bytes[each.lane] >= m_link.largestBytes)
        {
            return each.timePs;
        }
    }
    return NEVER;
}

void
FabricCredits::TakeUntil(int64_t timePs)
{
    for (; m_first < m_returns.size() && m_returns[m_first].timePs <= timePs; ++m_first)
    {
        Add(m_returns[m_first].lane, m_returns[m_first].bytes);
    }
}

uint64_t
FabricCredits::CountReturning(uint32_t lane) const
{
    uint64_t bytes = 0;
    for (std::size_t place = m_first; place < m_returns.size(); ++place)
    {
        bytes += m_returns[place].lane == lane ? m_returns[place].bytes : 0;
    }
    return bytes;
}

void
FabricCredits::Add(uint32_t lane, uint32_t bytes)
{
    m_bytes[lane] += bytes;
    if (m_bytes[lane] > m_link.laneBytes) [[unlikely]]
    {
        Refuse(lane, "more comes back than was sent");
    }
    if (m_bytes[lane] >= m_link.largestBytes)
    {
        m_stopped &= ~(1U << lane);
    }
}

} // namespace ns3
