// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-admission.h"

#include <utility>

namespace ns3
{

bool
FabricAdmissionRule::Admit(FabricFrame& frame, uint64_t queueBytes, FabricSharedBuffer* memory)
{
    return !memory || memory->Admit(frame, queueBytes);
}

bool
FabricAdmissionRule::AdmitHead(const FabricFrame&, uint64_t, FabricSharedBuffer*)
{
    return false;
}

void
FabricAdmissionRule::Release(const FabricFrame& frame, FabricSharedBuffer* memory)
{
    if (memory)
    {
        memory->Release(frame);
    }
}

void
FabricAdmissionRule::Discard(const FabricFrame&)
{
}

bool
FabricAdmissionRule::NeedsExactDepartures(const FabricSharedBuffer* memory) const
{
    return memory && memory->NeedsExactDepartures();
}

void
FabricAdmission::SetMemory(Ptr<FabricSharedBuffer> memory)
{
    m_memory = memory;
}

void
FabricAdmission::SetRule(std::unique_ptr<FabricAdmissionRule> rule)
{
    m_rule = std::move(rule);
}

} // namespace ns3
