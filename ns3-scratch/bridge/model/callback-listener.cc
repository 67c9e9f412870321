// SPDX-License-Identifier: GPL-2.0-only
#include "callback-listener.h"

namespace astra_ns3
{

CallbackListener::CallbackListener(uint64_t phaseDone,
                                   uint64_t timerDue,
                                   uint64_t severalDue,
                                   uint64_t heartbeat,
                                   uint64_t recordsReady)
    : m_phaseDone(reinterpret_cast<decltype(m_phaseDone)>(phaseDone)),
      m_timerDue(reinterpret_cast<decltype(m_timerDue)>(timerDue)),
      m_severalDue(reinterpret_cast<decltype(m_severalDue)>(severalDue)),
      m_heartbeat(reinterpret_cast<decltype(m_heartbeat)>(heartbeat)),
      m_recordsReady(reinterpret_cast<decltype(m_recordsReady)>(recordsReady))
{
}

CallbackListener::~CallbackListener() = default;

void
CallbackListener::PhaseDone(uint32_t npu, uint64_t instance, int64_t timePs)
{
    m_phaseDone(npu, instance, timePs);
}

void
CallbackListener::TimerDue(uint64_t token, int64_t timePs)
{
    m_timerDue(token, timePs);
}

void
CallbackListener::SeveralDue(const Due* dues, uint32_t count, int64_t timePs)
{
    m_severalDue(dues, count, timePs);
}

void
CallbackListener::Heartbeat(int64_t timePs, uint64_t events)
{
    m_heartbeat(timePs, events);
}

void
CallbackListener::RecordsReady(uint32_t table)
{
    m_recordsReady(table);
}

} // namespace astra_ns3
