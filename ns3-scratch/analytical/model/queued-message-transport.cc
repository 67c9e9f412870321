// SPDX-License-Identifier: GPL-2.0-only
#include "queued-message-transport.h"

#include "fabric-delay.h"
#include "fabric-units.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

namespace
{
constexpr const char* LINK_MESSAGE = "a message at a link of the analytical network";

/// Ways a link can go; the numbers of a fully connected dimension's links are added to DIRECT.
enum Way : uint32_t
{
    CLOCKWISE = 0,
    ANTICLOCKWISE = 1,
    UP = 2,
    DOWN = 3,
    DIRECT = 4
};
} // namespace

QueuedMessageTransport::QueuedMessageTransport(const AnalyticalGrid& grid,
                                               bool truncate,
                                               MessageListener& listener)
    : m_grid(grid),
      m_truncate(truncate),
      m_listener(listener)
{
}

QueuedMessageTransport::LinkKey
QueuedMessageTransport::MakeKey(uint32_t npu, uint32_t dimension, uint32_t way)
{
    return (uint64_t{npu} << 32) | (uint64_t{dimension} << 28) | way;
}

QueuedMessageTransport::LinkKey
QueuedMessageTransport::FreeFirst(uint32_t npu, uint32_t d, uint32_t way)
{
    const AnalyticalDimension& dimension = m_grid.GetDimensions()[d];
    const uint32_t port = npu - npu % dimension.portNpus;
    LinkKey found = MakeKey(port, d, way); // its lines have the keys of its first NPUs' own
    for (uint32_t line = 1; line < dimension.portLines; ++line)
    {
        const LinkKey other = MakeKey(port + line, d, way);
        found = m_links[other].freePs < m_links[found].freePs ? other : found;
    }
    return found;
}

void
QueuedMessageTransport::Send(const CollectiveMessage& message)
{
    uint32_t journey;
    if (m_free.empty())
    {
        journey = m_journeys.size();
        m_journeys.emplace_back();
    }
    else
    {
        journey = m_free.back();
        m_free.pop_back();
    }
    m_journeys[journey] = {message, message.sender, 0, false};
    if (m_grid.IsSwitch(message.sender) || m_grid.IsSwitch(message.receiver))
    {
        CrossHalf(journey);
        return;
    }
    Continue(journey);
}

void
QueuedMessageTransport::CrossHalf(uint32_t number)
{
    Journey& journey = m_journeys[number];
    const bool up = m_grid.IsSwitch(journey.message.receiver);
    const uint32_t npu = up ? journey.message.sender : journey.message.receiver;
    const AnalyticalDimension& dimension = m_grid.GetDimensions().front();
    journey.npu = journey.message.receiver;
    Cross(number,
          MakeKey(npu, 0, up ? UP : DOWN),
          dimension,
          dimension.linkLatencyNs + dimension.nicLatencyNs + (up ? dimension.routerLatencyNs : 0));
}

void
QueuedMessageTransport::Continue(uint32_t number)
{
    Journey& journey = m_journeys[number];
    const uint32_t receiver = journey.message.receiver;
    while (journey.npu != receiver && m_grid.Coordinate(journey.npu, journey.dimension) ==
                                          m_grid.Coordinate(receiver, journey.dimension))
    {
        journey.dimension++;
    }
    if (journey.npu != receiver)
    {
        TakeLink(number);
        return;
    }
    const CollectiveMessage message = journey.message;
    m_free.push_back(number);
    m_listener.BytesArrived(message.receiver, static_cast<int64_t>(message.bytes));
    m_listener.MessageArrived(message);
}

void
QueuedMessageTransport::TakeLink(uint32_t number)
{
    Journey& journey = m_journeys[number];
    const uint32_t d = journey.dimension;
    const AnalyticalDimension& dimension = m_grid.GetDimensions()[d];
    const uint32_t from = m_grid.Coordinate(journey.npu, d);
    const uint32_t to = m_grid.Coordinate(journey.message.receiver, d);
    const uint32_t npu = journey.npu;
    const double latencyNs = dimension.linkLatencyNs + 2 * dimension.nicLatencyNs;
    switch (dimension.topology)
    {
    case AnalyticalTopology::RING: {
        const uint32_t clockwise = (to + dimension.npus - from) % dimension.npus;
        const bool forwards = clockwise <= dimension.npus - clockwise;
        const uint32_t step = forwards ? 1 : dimension.npus - 1;
        journey.npu = m_grid.Move(npu, d, (from + step) % dimension.npus);
        Cross(number, MakeKey(npu, d, forwards ? CLOCKWISE : ANTICLOCKWISE), dimension, latencyNs);
        return;
    }
    case AnalyticalTopology::SWITCH: {
        const double linkNs = m_grid.LatencyNs(d, from, to) / 2;
        const bool down = journey.atSwitch;
        const uint32_t end = m_grid.Move(npu, d, to);
        journey.atSwitch = !down;
        journey.npu = down ? end : npu;
        Cross(number,
              FreeFirst(down ? end : npu, d, down ? DOWN : UP),
              dimension,
              linkNs + dimension.nicLatencyNs + (down ? 0.0 : dimension.routerLatencyNs));
        return;
    }
    default:
        journey.npu = m_grid.Move(npu, d, to);
        Cross(number, MakeKey(npu, d, DIRECT + to), dimension, latencyNs);
        return;
    }
}

double
QueuedMessageTransport::WholeNs(double ns) const
{
    return m_truncate ? std::trunc(ns) : ns;
}

void
QueuedMessageTransport::Cross(uint32_t number,
                              LinkKey key,
                              const AnalyticalDimension& dimension,
                              double latencyNs)
{
    const double bytes = static_cast<double>(m_journeys[number].message.bytes);
    const double busyNs = bytes / dimension.bytesPerNs;
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    Link& link = m_links[key];
    const int64_t beginPs = std::max(link.freePs, nowPs);
    link.freePs = FabricLater(beginPs, WholeNs(busyNs) * FABRIC_PS_PER_NS, LINK_MESSAGE);
    const int64_t arrivalPs =
        m_truncate
            ? FabricLater(beginPs, WholeNs(busyNs + latencyNs) * FABRIC_PS_PER_NS, LINK_MESSAGE)
            : FabricLater(link.freePs, latencyNs * FABRIC_PS_PER_NS, LINK_MESSAGE);
    Simulator::Schedule(FabricDelay(arrivalPs - nowPs, LINK_MESSAGE),
                        [this, number]() { Continue(number); });
}

} // namespace ns3
