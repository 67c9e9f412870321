// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-switch.h"

#include "fabric-lane.h"

#include "ns3/object-vector.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <utility>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricSwitch);

TypeId
FabricSwitch::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FabricSwitch")
                            .SetParent<Object>()
                            .SetGroupName("Fabric")
                            .AddConstructor<FabricSwitch>()
                            .AddAttribute("Buffer",
                                          "The memory that all ports share.",
                                          PointerValue(),
                                          MakePointerAccessor(&FabricSwitch::m_buffer),
                                          MakePointerChecker<FabricSharedBuffer>())
                            .AddAttribute("HashSeed",
                                          "Mixed into the flow hash when several ports lead on.",
                                          UintegerValue(0),
                                          MakeUintegerAccessor(&FabricSwitch::m_hashSeed),
                                          MakeUintegerChecker<uint32_t>())
                            .AddAttribute("Ports",
                                          "The ports.",
                                          ObjectVectorValue(),
                                          MakeObjectVectorAccessor(&FabricSwitch::m_ports),
                                          MakeObjectVectorChecker<FabricPort>());
    return tid;
}

void
FabricSwitch::DoDispose()
{
    for (auto& port : m_ports)
    {
        port->Dispose();
    }
    m_ports.clear();
    m_buffer = nullptr;
    m_choice.reset();
    Object::DoDispose();
}

uint32_t
FabricSwitch::AddPort(Ptr<FabricPort> port)
{
    if (m_buffer)
    {
        port->SetBuffer(m_buffer);
    }
    m_ports.push_back(port);
    return m_ports.size() - 1;
}

uint32_t
FabricSwitch::GetNPorts() const
{
    return m_ports.size();
}

Ptr<FabricPort>
FabricSwitch::GetPort(uint32_t port) const
{
    return m_ports.at(port);
}

FabricRoutes&
FabricSwitch::GetRoutes()
{
    return m_routes;
}

Ptr<FabricSharedBuffer>
FabricSwitch::GetBuffer() const
{
    return m_buffer;
}

void
FabricSwitch::SetPathChoice(std::unique_ptr<FabricPathChoice> choice)
{
    m_choice = std::move(choice);
}

void
FabricSwitch::RoutesChanged()
{
    if (m_choice)
    {
        m_choice->RoutesChanged();
    }
}

uint64_t
FabricSwitch::GetUnroutedFrames() const
{
    return m_unroutedFrames;
}

void
FabricSwitch::UseDetours(std::shared_ptr<const FabricDetours> detours)
{
    m_detours = std::move(detours);
}

FabricRoutes::Ports
FabricSwitch::FindWays(FabricFrame& frame) const
{
    if (m_detours && !frame.hasTurned) [[unlikely]]
    {
        // What stays at its first switch goes nowhere else, and a place that can't be reached is
        // left out.
        const uint32_t place = m_detours->PlaceOf(frame.flowHash);
        const bool stays = frame.switches == 0 && m_routes.IsLocal(frame.destination);
        if (!stays && !m_routes.IsLocal(place))
        {
            const FabricRoutes::Ports ways = m_routes.Find(place);
            if (ways.count > 0)
            {
                return ways;
            }
        }
        frame.hasTurned = 1;
    }
    return m_routes.Find(frame.destination);
}

uint32_t
FabricSwitch::ChoosePort(const FabricFrame& frame, const FabricRoutes::Ports& choices)
{
    if (choices.count == 1)
    {
        return choices.first[0];
    }
    if (m_choice)
    {
        return m_choice->Choose(frame, choices, m_ports);
    }
    return choices.first[FabricPickByHash(frame.flowHash, m_hashSeed, choices.count)];
}

void
FabricSwitch::ReceiveFrame(FabricFrame* frame, uint32_t port)
{
    if (frame->isPause)
    {
        const uint8_t paused = frame->pausedPriorities;
        FabricFramePool::Give(frame);
        m_ports[port]->SetPaused(paused);
        return;
    }
    if (m_seesHeads && frame->egressPort != FABRIC_NO_PORT) [[unlikely]]
    {
        frame->ingressPort = port; // where it goes was decided when its head came
        m_ports[std::exchange(frame->egressPort, FABRIC_NO_PORT)]->Enqueue(frame);
        return;
    }
    const FabricRoutes::Ports choices = FindWays(*frame);
    if (choices.count == 0)
    {
        m_unroutedFrames++;
        m_ports[port]->Discard(frame);
        return;
    }
    frame->ingressPort = port;
    frame->switches++;
    m_ports[ChoosePort(*frame, choices)]->Enqueue(frame);
}

bool
FabricSwitch::AdmitHead(FabricFrame* frame, uint32_t port)
{
    const FabricRoutes::Ports choices = FindWays(*frame);
    if (choices.count == 0)
    {
        return false; // counted when all of it is there
    }
    m_seesHeads = true;
    frame->ingressPort = port;
    frame->switches++;
    frame->egressPort = ChoosePort(*frame, choices);
    return m_ports[frame->egressPort]->AdmitHead(frame);
}

void
FabricSwitch::ReceiveHead(FabricFrame* frame, uint32_t)
{
    if (frame->accounted) [[unlikely]]
    {
        frame->trail->CutThrough(FabricNowPs());
    }
    m_ports[std::exchange(frame->egressPort, FABRIC_NO_PORT)]->SendHead(frame);
}

} // namespace ns3
