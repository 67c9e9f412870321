// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-frame.h"

#include "fabric-lane.h"
#include "fabric-slabs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace ns3
{

static_assert(offsetof(FabricFrame, echo) == 64, "the first line has what a flow's frame needs");

namespace
{
/// \return a pause frame as on the line: destination, source, MAC control, opcode, vector, times
Ptr<Packet>
MakePausePacket(uint8_t pausedPriorities)
{
    std::array<uint8_t, FABRIC_MINIMUM_FRAME_BYTES - FABRIC_CHECK_BYTES> bytes{};
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

namespace
{

/// \param spares of a thread \return one of them, or none
template <class OBJECT>
OBJECT*
TakeSpare(FabricSpares<OBJECT>& spares)
{
    spares.out++;
    OBJECT* object = spares.first;
    if (!object)
    {
        spares.lacked++;
        return nullptr;
    }
    spares.first = object->next;
    spares.count--;
    object->next = nullptr;
    return object;
}

/// \param spares of a thread \param object as if newly made
template <class OBJECT>
void
PutSpare(FabricSpares<OBJECT>& spares, OBJECT* object)
{
    object->next = spares.first;
    spares.first = object;
    spares.count++;
}

/// Level what a thread has with the pool. A thread that had to make some gets so many more from now
/// on: else it would make them anew in each window while another thread gathers them.
template <class OBJECT>
void
Level(FabricSpares<OBJECT>& spares, OBJECT*& free, uint32_t least)
{
    const uint32_t lacked = std::exchange(spares.lacked, 0);
    spares.wanted = least == 0 ? 0 : std::max(spares.wanted, least) + lacked;
    while (spares.count > 2 * spares.wanted)
    {
        OBJECT* object = spares.first;
        spares.first = object->next;
        spares.count--;
        object->next = free;
        free = object;
    }
    while (spares.count < spares.wanted && free)
    {
        OBJECT* object = free;
        free = object->next;
        PutSpare(spares, object);
    }
}

} // namespace

FabricFramePool&
FabricFramePool::Get()
{
    static auto* pool = new FabricFramePool; // who ends the process may still use it
    return *pool;
}

FabricFrame*
FabricFramePool::Take()
{
    FabricLane& lane = FabricLane::Here();
    if (!lane.IsFirst())
    {
        return TakeHere(lane);
    }
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
    frame->hasTurned = 0;
    FabricLane& lane = FabricLane::Here();
    if (!lane.IsFirst())
    {
        lane.frames.out--;
        PutSpare(lane.frames, frame);
        return;
    }
    FabricFramePool& pool = Get();
    pool.m_frames--;
    frame->next = pool.m_free;
    pool.m_free = frame;
}

FabricFrame*
FabricFramePool::TakeHere(FabricLane& lane)
{
    if (FabricFrame* frame = TakeSpare(lane.frames))
    {
        return frame;
    }
    const bool hasSlabs = lane.number < FabricLane::MOST_OF_HOSTS;
    return hasSlabs ? new (FabricSlabsOf<FabricFrame>().Take()) FabricFrame : new FabricFrame;
}

void
FabricFramePool::Balance(FabricLane& lane, uint32_t least)
{
    FabricFramePool& pool = Get();
    pool.m_frames += std::exchange(lane.frames.out, 0);
    pool.m_telemetry += std::exchange(lane.telemetry.out, 0);
    Level(lane.frames, pool.m_free, least);
    Level(lane.telemetry, pool.m_freeTelemetry, least);
}

FabricTelemetry*
FabricFramePool::TakeTelemetry()
{
    FabricLane& lane = FabricLane::Here();
    if (!lane.IsFirst())
    {
        FabricTelemetry* telemetry = TakeSpare(lane.telemetry);
        return telemetry ? telemetry : new FabricTelemetry;
    }
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
    FabricLane& lane = FabricLane::Here();
    if (!lane.IsFirst())
    {
        lane.telemetry.out--;
        PutSpare(lane.telemetry, telemetry);
        return;
    }
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
    trail->m_served.clear();
    trail->m_waits = false;
    trail->m_sums = false;
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
    return static_cast<uint64_t>(Get().m_telemetry);
}

} // namespace ns3
