// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-frame.h"

namespace ns3
{

FabricFramePool::~FabricFramePool()
{
    for (FabricFrame* frame : m_free)
    {
        delete frame;
    }
}

FabricFramePool&
FabricFramePool::Get()
{
    thread_local FabricFramePool pool;
    return pool;
}

FabricFrame*
FabricFramePool::Take()
{
    auto& free = Get().m_free;
    if (free.empty())
    {
        return new FabricFrame;
    }
    FabricFrame* frame = free.back();
    free.pop_back();
    return frame;
}

void
FabricFramePool::Give(FabricFrame* frame)
{
    frame->packet = nullptr;
    frame->ecn = FabricEcn::NOT_CAPABLE;
    frame->marked = false;
    Get().m_free.push_back(frame);
}

} // namespace ns3
