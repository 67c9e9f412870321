// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "astra-ns3-session.h"

#include <cstdint>

namespace astra_ns3
{

/// Passes what a session tells on to plain functions, which is what Python makes of its own at no
/// cost: a Python class that derives from a C++ one is compiled in each process.
class CallbackListener : public SessionListener
{
  public:
    /**
     * Take addresses of functions with the arguments of SessionListener's. They throw nothing and
     * outlive the session.
     * \param phaseDone called for PhaseDone
     * \param timerDue called for TimerDue
     * \param severalDue called for SeveralDue
     * \param heartbeat called for Heartbeat
     * \param recordsReady called for RecordsReady
     */
    CallbackListener(uint64_t phaseDone,
                     uint64_t timerDue,
                     uint64_t severalDue,
                     uint64_t heartbeat,
                     uint64_t recordsReady);
    ~CallbackListener() override;
    void PhaseDone(uint32_t npu, uint64_t instance, int64_t timePs) override;
    void TimerDue(uint64_t token, int64_t timePs) override;
    void SeveralDue(const Due* dues, uint32_t count, int64_t timePs) override;
    void Heartbeat(int64_t timePs, uint64_t events) override;
    void RecordsReady(uint32_t table) override;

  private:
    void (*m_phaseDone)(uint32_t, uint64_t, int64_t);    //!< called for PhaseDone
    void (*m_timerDue)(uint64_t, int64_t);               //!< called for TimerDue
    void (*m_severalDue)(const Due*, uint32_t, int64_t); //!< called for SeveralDue
    void (*m_heartbeat)(int64_t, uint64_t);              //!< called for Heartbeat
    void (*m_recordsReady)(uint32_t);                    //!< called for RecordsReady
};

} // namespace astra_ns3
