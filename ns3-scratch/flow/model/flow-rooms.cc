// SPDX-License-Identifier: GPL-2.0-only
#include "flow-rooms.h"

namespace ns3
{

FlowRooms::FlowRooms(uint32_t hosts, std::vector<uint64_t> bytes)
    : m_hosts(hosts)
{
    m_rooms.emplace_back();
    for (const uint64_t each : bytes)
    {
        m_rooms.push_back({static_cast<double>(each), 0.0});
    }
}

void
FlowRooms::AddLink(const FabricPort* port)
{
    const uint32_t node = port ? port->GetPlace().node : 0;
    const uint32_t room = port && node >= m_hosts ? node - m_hosts + 1 : NOWHERE;
    m_links.push_back({m_rooms[room].bytes > 0.0 ? room : NOWHERE, false});
}

void
FlowRooms::Change(uint32_t number, double more)
{
    Link& link = m_links[number];
    if (link.room == NOWHERE)
    {
        return;
    }
    Room& room = m_rooms[link.room];
    room.standing += more;
    if (more > 0.0 && room.standing > room.bytes && !link.full)
    {
        link.full = true;
        m_full++;
    }
}

} // namespace ns3
