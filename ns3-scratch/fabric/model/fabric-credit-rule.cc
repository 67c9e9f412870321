// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-credit-rule.h"

#include "fabric-credits.h"
#include "fabric-port.h"

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
    if (entrance.upstream->GetCredits()->GetLink().order >= m_order)
    {
        frame.priority = m_next[frame.priority] & (FABRIC_PRIORITIES - 1);
    }
    if (!FabricAdmissionRule::Admit(frame, queueBytes, memory))
    {
        Discard(frame); // only in a memory too small for its lanes
        return false;
    }
    return true;
}

void
FabricCreditRule::Release(const FabricFrame& frame, FabricSharedBuffer* memory)
{
    FabricAdmissionRule::Release(frame, memory);
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
    entrance.upstream->GiveCredit(leftPs + entrance.here->GetDelayPs(),
                                  frame.ingressLane,
                                  frame.bufferBytes);
}

bool
FabricCreditRule::NeedsExactDepartures(const FabricSharedBuffer*) const
{
    return true; // whom the credit is for may wait for it
}

} // namespace ns3
