// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-queues.h"

#include <utility>

namespace ns3
{

void
FabricQueues::SetScheduler(std::unique_ptr<FabricPortScheduler> scheduler)
{
    m_scheduler = std::move(scheduler);
}

void
FabricQueues::BeginAnew()
{
    if (m_scheduler)
    {
        m_scheduler->Reset();
    }
}

} // namespace ns3
