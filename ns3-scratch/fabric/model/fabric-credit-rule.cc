// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-credit-rule.h"

#include "fabric-port.h"

#include <algorithm>
#include <utility>

namespace ns3
{

FabricCreditRule::FabricCreditRule(FabricPort& port,
                                   Entrances entrances,
                                   uint32_t order,
                                   const FabricNextLanes& next)
    : m_port(port),
      m_entrances(std::move(entrances)),
      m_order(order),
      m_next(next)
{
}

bool
FabricCreditRule::Admit(FabricFrame& frame, uint64_t queueBytes, FabricSharedBuffer* memory)
{
    const FabricCreditEntrance& entrance = (*m_entrances)[frame.ingressPort];
    __builtin_prefetch(entrance.credits);
    if (entrance.order >= m_order)
    {
        frame.priority = m_next[frame.priority] & (FABRIC_PRIORITIES - 1);
    }
    if (memory && !memory->Admit(frame, queueBytes)) [[unlikely]]
    {
        Discard(frame); // only in a memory too small for its lanes
        return false;
    }
    return true;
}

void
FabricCreditRule::Release(const FabricFrame& frame, FabricSharedBuffer* memory)
{
    if (memory)
    {
        memory->Release(frame);
    }
    GiveBack(frame, m_port.GetSentUntilPs());
}

void
FabricCreditRule::Discard(const FabricFrame& frame)
{
    GiveBack(frame, FabricNowPs());
}

void
FabricCreditRule::GiveBack(const FabricFrame& frame, int64_t leftPs) const
{
    const FabricCreditEntrance& entrance = (*m_entrances)[frame.ingressPort];
    FabricCredits& credits = *entrance.credits;
    const int64_t backPs = leftPs + entrance.here->GetDelayPs();
    if (credits.GetStopped() == 0 && !credits.IsShared()) [[likely]]
    {
        credits.Give(backPs + credits.GetLink().updatePs, frame.ingressLane, frame.bufferBytes);
        return;
    }
    entrance.upstream->GiveCredit(backPs, frame.ingressLane, frame.bufferBytes);
}

bool
FabricCreditRule::NeedsExactDepartures(const FabricSharedBuffer*) const
{
    // Whom the credit is for may wait for it. Who is played apart hears of it in a later window,
    // and what departs in this one is settled by its end.
    return HasNearEntrance();
}

bool
FabricCreditRule::HasNearEntrance() const
{
    if (m_looked)
    {
        return m_near;
    }
    m_near = std::any_of(m_entrances->begin(), m_entrances->end(), [](const auto& entrance) {
        return entrance.here->GetGroup() == entrance.here->GetFarGroup();
    });
    m_looked = !m_near || m_port.GetGroup() != 0; // groups are set up before the first is not 0
    return m_near;
}

} // namespace ns3
