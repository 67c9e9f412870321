// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-switch.h"

#include "fabric-flow-hash.h"

#include "ns3/object-vector.h"
#include "ns3/pointer.h"
#include "ns3/uinteger.h"

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

void
FabricSwitch::SetRoutes(std::vector<uint32_t> offsets, std::vector<uint32_t> ports)
{
    m_routeOffsets = std::move(offsets);
    m_routePorts = std::move(ports);
}

uint64_t
FabricSwitch::GetUnroutedFrames() const
{
    return m_unroutedFrames;
}

void
FabricSwitch::ReceiveFrame(FabricFrame* frame, uint32_t)
{
    const uint32_t destination = frame->destination;
    // In 64 bits: an address just below the base gives the highest destination there is.
    if (std::size_t{destination} + 1 >= m_routeOffsets.size() ||
        m_routeOffsets[destination] == m_routeOffsets[destination + 1])
    {
        m_unroutedFrames++;
        FabricFramePool::Give(frame);
        return;
    }
    const uint32_t first = m_routeOffsets[destination];
    const uint32_t choices = m_routeOffsets[destination + 1] - first;
    uint32_t choice = 0;
    if (choices > 1)
    {
        // The high bits of a product spread the hash evenly over any number of ports, without a
        // division.
        choice =
            (static_cast<uint64_t>(FabricMixHash(frame->flowHash ^ m_hashSeed)) * choices) >> 32;
    }
    m_ports[m_routePorts[first + choice]]->Enqueue(frame);
}

} // namespace ns3
