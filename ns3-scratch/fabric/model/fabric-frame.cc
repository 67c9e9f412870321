// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-frame.h"

#include "fabric-lane.h"
#include "fabric-slabs.h"

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace ns3
{

static_assert(offsetof(FabricFrame, echo) == 64, "the first line has what a flow's frame needs");

namespace
{
constexpr std::size_t CHECK_BYTES = 4; // FCS, not in a capture

/// \return a pause frame as on the line: destination, source, MAC control, opcode, vector, times
Ptr<Packet>
MakePausePacket(uint8_t pausedPriorities)
{
    std::array<uint8_t, FABRIC_MINIMUM_FRAME_BYTES - CHECK_BYTES> bytes{};
    const std::array<uint8_t, 18> header{0x01,
                                         0x80,
                                         0xc2,
                                         0x00,
                                         0x00,
                                         0x01,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0,
                                         0x88,
                                         0x08,
                                         0x01,
                                         0x01,
                                         0x00,
                                         0xff};
    std::copy(header.begin(), header.end(), bytes.begin());
    for (uint32_t priority = 0; priority < FABRIC_PRIORITIES; ++priority)
    {
        if (pausedPriorities >> priority & 1)
        {
            bytes[header.size() + 2 * priority] = 0xff;
            bytes[header.size() + 2 * priority + 1] = 0xff;
        }
    }
    return Create<Packet>(bytes.data(), bytes.size());
}
} // namespace

void
FabricFlow::FrameLost(FabricFrame* frame)
{
    FabricFramePool::Give(frame);
}

void
FabricTrailGiver::operator()(FabricTrail* trail) const
{
    FabricFramePool::GiveTrail(trail);
}

Ptr<Packet>
FabricFrame::GetPacket() const
{
    if (packet)
    {
        return packet;
    }
    return flow ? flow->MakePacket(*this) : MakePausePacket(pausedPriorities);
}

FabricFramePool&
FabricFramePool::Get()
{
    static auto* pool = new FabricFramePool; // who ends the process may still use it
    return *pool;
}

FabricFrame*
FabricFramePool::Take()
{
    FabricFramePool& pool = Get();
    pool.m_frames++;
    FabricFrame* frame = pool.m_free;
    if (!frame)
    {
        return new (FabricSlabsOf<FabricFrame>().Take()) FabricFrame;
    }
    pool.m_free = frame->next;
    frame->next = nullptr;
    return frame;
}

void
FabricFramePool::Give(FabricFrame* frame)
{
    if (frame->carries)
    {
        frame->carries = false;
        frame->packet = nullptr;
        if (frame->telemetry)
        {
            GiveTelemetry(std::exchange(frame->telemetry, nullptr));
        }
    }
    if (frame->accounted) [[unlikely]]
    {
        frame->TakeTrail();
    }
    frame->flow = nullptr;
    frame->collects = false;
    frame->priority = 0;
    frame->ecn = FabricEcn::NOT_CAPABLE;
    frame->marked = false;
    frame->isPause = false;
    frame->switches = 0;
    FabricFramePool& pool = Get();
    pool.m_frames--;
    frame->next = pool.m_free;
    pool.m_free = frame;
}

FabricFrame*
FabricFramePool::TakePause()
{
    FabricLane& lane = FabricLane::Here();
    if (lane.IsFirst())
    {
        return Take();
    }
    lane.framesOut++;
    FabricFrame* frame = lane.spare;
    if (!frame)
    {
        return new FabricFrame; // the slabs are another thread's
    }
    lane.spare = frame->next;
    lane.spares--;
    frame->next = nullptr;
    return frame;
}

void
FabricFramePool::GivePause(FabricFrame* frame)
{
    FabricLane& lane = FabricLane::Here();
    if (lane.IsFirst())
    {
        Give(frame);
        return;
    }
    frame->isPause = false;
    lane.framesOut--;
    frame->next = lane.spare;
    lane.spare = frame;
    lane.spares++;
}

void
FabricFramePool::Balance(FabricLane& lane, uint32_t frames)
{
    FabricFramePool& pool = Get();
    pool.m_frames += std::exchange(lane.framesOut, 0);
    while (lane.spares > 2 * frames)
    {
        FabricFrame* frame = lane.spare;
        lane.spare = frame->next;
        lane.spares--;
        frame->next = pool.m_free;
        pool.m_free = frame;
    }
    while (lane.spares < frames && pool.m_free)
    {
        FabricFrame* frame = pool.m_free;
        pool.m_free = frame->next;
        frame->next = lane.spare;
        lane.spare = frame;
        lane.spares++;
    }
}

FabricTelemetry*
FabricFramePool::TakeTelemetry()
{
    FabricFramePool& pool = Get();
    pool.m_telemetry++;
    FabricTelemetry* telemetry = pool.m_freeTelemetry;
    if (!telemetry)
    {
        return new FabricTelemetry;
    }
    pool.m_freeTelemetry = telemetry->next;
    return telemetry;
}

void
FabricFramePool::GiveTelemetry(FabricTelemetry* telemetry)
{
    telemetry->hops.clear();
    telemetry->pathOnly = false;
    telemetry->pathUtilisation = 0.0;
    FabricFramePool& pool = Get();
    pool.m_telemetry--;
    telemetry->next = pool.m_freeTelemetry;
    pool.m_freeTelemetry = telemetry;
}

FabricTrail*
FabricFramePool::TakeTrail()
{
    FabricFramePool& pool = Get();
    pool.m_trails++;
    FabricTrail* trail = pool.m_freeTrail;
    if (!trail)
    {
        return new FabricTrail;
    }
    pool.m_freeTrail = trail->m_next;
    return trail;
}

void
FabricFramePool::GiveTrail(FabricTrail* trail)
{
    trail->m_hops.clear();
    trail->m_waits = false;
    FabricFramePool& pool = Get();
    pool.m_trails--;
    trail->m_next = pool.m_freeTrail;
    pool.m_freeTrail = trail;
}

uint64_t
FabricFramePool::CountTrails()
{
    return Get().m_trails;
}

uint64_t
FabricFramePool::CountFrames()
{
    return Get().m_frames;
}

uint64_t
FabricFramePool::CountTelemetry()
{
    return Get().m_telemetry;
}

} // namespace ns3
