// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-lane.h"

namespace ns3
{

namespace
{
FabricLane g_none; //!< before there is a simulator
} // namespace

thread_local constinit FabricLane* FabricLane::t_here = nullptr;
FabricLane* FabricLane::s_first = &g_none;

void
FabricLane::SetFirst(FabricLane* lane)
{
    s_first = lane ? lane : &g_none;
}

} // namespace ns3
