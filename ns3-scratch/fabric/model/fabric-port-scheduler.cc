// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-port-scheduler.h"

#include <bit>

namespace ns3
{

FabricDeficitRoundRobin::FabricDeficitRoundRobin(
    const std::array<uint32_t, FABRIC_PRIORITIES>& quantumBytes)
    : m_quantumBytes(quantumBytes)
{
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        m_weighted |= quantumBytes[priority] > 0 ? 1U << priority : 0;
    }
}

void
FabricDeficitRoundRobin::Reset()
{
    m_deficit.fill(0);
    m_current = 0;
    m_fresh = true;
}

uint32_t
FabricDeficitRoundRobin::Choose(uint32_t ready, const FabricFrameList* queues)
{
    const uint32_t turns = ready & m_weighted;
    if (turns == 0)
    {
        return std::bit_width(ready) - 1;
    }
    while (true)
    {
        const uint32_t bit = 1U << m_current;
        if (turns & bit)
        {
            if (m_fresh)
            {
                m_deficit[m_current] += m_quantumBytes[m_current];
                m_fresh = false;
            }
            const FabricFrame* frame = queues[m_current].Front();
            if (m_deficit[m_current] >= frame->bufferBytes)
            {
                m_deficit[m_current] -= frame->bufferBytes;
                if (frame->next == nullptr)
                {
                    m_deficit[m_current] = 0; // an empty queue saves nothing up
                }
                return m_current;
            }
        }
        m_current = (m_current + 1) % FABRIC_PRIORITIES;
        m_fresh = true;
    }
}

} // namespace ns3
