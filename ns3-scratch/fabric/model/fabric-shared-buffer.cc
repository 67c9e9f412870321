// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-shared-buffer.h"

#include "fabric-port.h"

#include "ns3/simulator.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(FabricSharedBuffer);

TypeId
FabricSharedBuffer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::FabricSharedBuffer")
            .SetParent<Object>()
            .SetGroupName("Fabric")
            .AddConstructor<FabricSharedBuffer>()
            .AddAttribute("Capacity",
                          "Size of the buffer in bytes.",
                          UintegerValue(32'000'000),
                          MakeUintegerAccessor(&FabricSharedBuffer::m_capacityBytes),
                          MakeUintegerChecker<uint64_t>(1));
    return tid;
}

void
FabricSharedBuffer::DoDispose()
{
    m_ports.clear();
    Object::DoDispose();
}

void
FabricSharedBuffer::AddPort(FabricPort* port)
{
    m_ports.push_back(port);
}

void
FabricSharedBuffer::SettlePorts()
{
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    for (FabricPort* port : m_ports)
    {
        port->Settle(nowPs);
    }
}

bool
FabricSharedBuffer::Admit(uint32_t bytes)
{
    if (m_usedBytes + bytes > m_capacityBytes)
    {
        SettlePorts();
        if (m_usedBytes + bytes > m_capacityBytes)
        {
            return false;
        }
    }
    m_usedBytes += bytes;
    return true;
}

uint64_t
FabricSharedBuffer::GetUsedBytes()
{
    SettlePorts();
    return m_usedBytes;
}

} // namespace ns3
