// SPDX-License-Identifier: GPL-2.0-only
#include "flow-rooms.h"

#include "fabric-switch.h"

#include <algorithm>

namespace ns3
{

void
FlowLevel::Settle(int64_t nowPs)
{
    bytes = std::max(bytes + rate * static_cast<double>(nowPs - sincePs), 0.0);
    sincePs = nowPs;
}

FlowRooms::FlowRooms(uint32_t hosts, const std::vector<FlowRoom>& rooms)
    : m_hosts(hosts)
{
    for (const FlowRoom& each : rooms)
    {
        Room& room = m_rooms.emplace_back();
        room.room = each;
        for (const double alpha : each.alphas)
        {
            room.gates.emplace_back().alpha = alpha;
        }
    }
}

void
FlowRooms::AddLink(const FabricPort* port)
{
    Link& link = m_links.emplace_back();
    if (!port)
    {
        return;
    }
    link.out = port->GetPlace();
    if (const auto* node = dynamic_cast<const FabricSwitch*>(port->GetReceiver()))
    {
        link.into = node->GetPort(port->GetReceiverPort())->GetPlace();
    }
}

FlowRooms::Room*
FlowRooms::RoomOf(uint32_t link)
{
    const uint32_t node = m_links[link].out.node;
    return node < m_hosts ? nullptr : &m_rooms[node - m_hosts];
}

FlowRooms::Gate*
FlowRooms::GateOf(Room& room, uint32_t link, uint32_t from)
{
    const FabricPortPlace& out = m_links[link].out;
    if (!room.room.lossless)
    {
        return &room.gates[out.port];
    }
    const bool enters = from != NOWHERE && m_links[from].into.node == out.node;
    return enters ? &room.gates[m_links[from].into.port] : nullptr;
}

void
FlowRooms::Look(const Room& room, Gate& gate)
{
    const double free = room.room.shared - room.level.bytes;
    const double most = room.room.own + (free > 0.0 ? gate.alpha * free : 0.0);
    if (gate.level.bytes > most && !gate.full)
    {
        gate.full = true;
        m_full[room.room.lossless]++;
    }
}

void
FlowRooms::Put(uint32_t link, std::span<const FlowUse> forth, double bytes)
{
    Room* room = RoomOf(link);
    if (!room)
    {
        return;
    }
    room->level.bytes += bytes;
    for (const FlowUse& use : forth)
    {
        const bool counts = room->room.lossless || use.link == link;
        if (Gate* gate = counts ? GateOf(*room, link, use.link) : nullptr)
        {
            gate->level.bytes += bytes * use.share;
            m_put.emplace_back(room, gate);
        }
    }
}

void
FlowRooms::LookAtPut()
{
    for (const auto& [room, gate] : m_put)
    {
        Look(*room, *gate);
    }
    m_put.clear();
}

void
FlowRooms::Grow(uint32_t link, uint32_t from, double rate, int64_t nowPs)
{
    Room* room = RoomOf(link);
    if (!room)
    {
        return;
    }
    room->level.Settle(nowPs);
    room->level.rate += rate;
    if (Gate* gate = GateOf(*room, link, from))
    {
        gate->level.Settle(nowPs);
        if (gate->level.rate > LEAST_RATE)
        {
            Look(*room, *gate);
        }
        gate->level.rate += rate;
    }
}

} // namespace ns3
