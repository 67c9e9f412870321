// SPDX-License-Identifier: GPL-2.0-only
#include "flow-rooms.h"

#include "fabric-switch.h"

namespace ns3
{

FlowRooms::FlowRooms(uint32_t hosts, const std::vector<FlowRoom>& rooms)
    : m_hosts(hosts),
      m_rooms(rooms.size())
{
    for (std::size_t number = 0; number < rooms.size(); ++number)
    {
        Room& room = m_rooms[number];
        room.room = rooms[number];
        for (const double alpha : room.room.alphas)
        {
            room.gates.push_back({&room, alpha, {}, false});
        }
        room.gates.push_back({&room, 0.0, {}, true});
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

FlowRooms::Gate*
FlowRooms::FindGate(uint32_t link, uint32_t from)
{
    const FabricPortPlace& out = m_links[link].out;
    if (out.node < m_hosts)
    {
        return nullptr;
    }
    Room& room = m_rooms[out.node - m_hosts];
    if (!room.room.lossless)
    {
        return &room.gates[out.port];
    }
    const bool enters = from != NOWHERE && m_links[from].into.node == out.node;
    return enters ? &room.gates[m_links[from].into.port] : &room.gates.back();
}

void
FlowRooms::Look(Gate& gate)
{
    const Room& room = *gate.room;
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
    Gate* own = FindGate(link, NOWHERE);
    if (!own)
    {
        return;
    }
    Room& room = *own->room;
    room.level.bytes += bytes;
    for (const FlowUse& use : forth)
    {
        if (room.room.lossless || use.link == link)
        {
            Gate* gate = FindGate(link, use.link);
            gate->level.bytes += bytes * use.share;
            m_put.push_back(gate);
        }
    }
}

void
FlowRooms::LookAtPut()
{
    for (Gate* gate : m_put)
    {
        Look(*gate);
    }
    m_put.clear();
}

void
FlowRooms::Grow(Gate* gate, double rate, int64_t nowPs)
{
    if (!gate)
    {
        return;
    }
    FlowLevel& all = gate->room->level;
    FlowLevel& own = gate->level;
    all.Settle(nowPs);
    own.Settle(nowPs);
    if (own.rate > LEAST_RATE)
    {
        Look(*gate);
    }
    all.rate += rate;
    own.rate += rate;
}

} // namespace ns3
