// SPDX-License-Identifier: GPL-2.0-only
#include "flow-message-transport.h"

#include "fabric-delay.h"
#include "fabric-units.h"
#include "roce-flow-hashes.h"
#include "roce-parameters.h"
#include "tcp-message-transport.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ns3
{

namespace
{
constexpr uint16_t FIRST_PORT = 49'152; // ns-3 gives a host's connections the ports behind it
constexpr uint64_t BLIND_WINDOWS = 2;   // sent before what is heard of the first has an effect
constexpr uint32_t NOWHERE = 0;         // the link of what has no way
constexpr uint32_t WHOLE = 1;           // parts of a message that is not cut

/// \return bytes per picosecond. \param rateBps bits per second
double
BytesPerPs(uint64_t rateBps)
{
    return static_cast<double>(rateBps) / FABRIC_PS_TIMES_BITS;
}

/// \return what decides the times of messages over a path
std::vector<uint64_t>
KeyOf(const RocePath& path, uint32_t kind)
{
    std::vector<uint64_t> key{kind, path.alike, static_cast<uint64_t>(path.delayPs)};
    const auto add = [&key](const RocePath& way) {
        key.push_back(way.lines.size());
        for (const FabricPort* line : way.lines)
        {
            key.insert(key.end(),
                       {line->GetRateBps(),
                        static_cast<uint64_t>(line->GetDelayPs()),
                        line->GetAnnouncedBytes()});
        }
    };
    add(path);
    std::for_each(path.singles.begin(), path.singles.end(), add);
    for (const double width : path.width)
    {
        key.push_back(std::bit_cast<uint64_t>(width));
    }
    key.insert(key.end(), path.heads.begin(), path.heads.end());
    return key;
}
} // namespace

FlowMessageTransport::FlowMessageTransport(FlowContext context)
    : m_context(std::move(context)),
      m_accountant(m_context.listener->GetAccountant()),
      m_meter(m_context.meterPs),
      m_rooms(m_context.hosts.size(), m_context.rooms),
      m_network(*this, m_meter, m_accountant != nullptr, m_rooms),
      m_paths(m_context.hosts, m_context.spreads, m_context.spreadsByRate),
      m_numbers(m_context.hostOfNpu.size()),
      m_pairsOf(m_context.hostOfNpu.size()),
      m_ports(m_context.hosts.size(), FIRST_PORT)
{
    if (m_context.queues)
    {
        m_queued = std::make_unique<FlowQueues>(*this,
                                                m_meter,
                                                m_accountant != nullptr,
                                                m_context.grain,
                                                m_rooms);
        m_queued->AddLink(0.0, 0, true);
    }
    m_rooms.AddLink(nullptr);
    m_network.AddLink(0.0);
    m_portOf.push_back(nullptr);
    m_meter.AddLink(nullptr);
    if (std::any_of(m_context.transports.begin(),
                    m_context.transports.end(),
                    [](const FlowTransportKind& kind) { return kind.splitMessages; }))
    {
        m_parts = std::make_unique<RoceMessageParts>(*m_context.listener);
        m_context.listener = m_parts.get();
        m_accountant = m_parts->GetAccountant();
    }
}

FlowMessageTransport::~FlowMessageTransport() = default;

uint32_t
FlowMessageTransport::FindKind(uint32_t sender, uint32_t receiver) const
{
    uint32_t found = m_context.kinds.front().second;
    for (const auto& [npus, kind] : m_context.kinds)
    {
        if (sender % npus != receiver % npus)
        {
            found = kind;
        }
        sender /= npus;
        receiver /= npus;
    }
    return found;
}

uint32_t
FlowMessageTransport::FindPair(uint32_t sender, uint32_t receiver)
{
    std::vector<uint32_t>& own = m_pairsOf[sender];
    const uint32_t index = m_numbers.NumberOf(sender, receiver);
    if (index == own.size())
    {
        own.push_back(AddPair(sender, receiver, 0));
    }
    return own[index];
}

uint32_t
FlowMessageTransport::FindPairOf(const CollectiveMessage& message)
{
    const uint32_t pair = FindPair(message.sender, message.receiver);
    if (message.channel == 0)
    {
        return pair;
    }
    const uint64_t key = (uint64_t{message.channel} << 32) | pair;
    const auto [found, isNew] = m_pairsOfChannels.try_emplace(key, 0);
    if (isNew)
    {
        found->second = AddPair(message.sender, message.receiver, message.channel);
    }
    return found->second;
}

uint32_t
FlowMessageTransport::AddPair(uint32_t sender, uint32_t receiver, uint32_t channel)
{
    Pair& pair = m_pairs.emplace_back();
    pair.sender = sender;
    pair.receiver = receiver;
    pair.channel = channel;
    pair.kind = FindKind(sender, receiver);
    if (m_context.transports[pair.kind].tcpPorts)
    {
        uint16_t& port = m_ports[m_context.hostOfNpu[sender]];
        port = std::max<uint16_t>(port + 1, FIRST_PORT);
        pair.port = port;
    }
    return static_cast<uint32_t>(m_pairs.size() - 1);
}

uint32_t
FlowMessageTransport::LinkOf(FabricPort* port, bool isFirst)
{
    const auto [found, isNew] = m_linkOf.try_emplace(port, m_portOf.size());
    if (isNew)
    {
        m_portOf.push_back(port);
        m_meter.AddLink(port->TellsLine() ? port : nullptr);
        const double rate =
            port->IsUp() && !port->IsSilent() ? BytesPerPs(port->GetRateBps()) : 0.0;
        m_rooms.AddLink(port);
        if (m_queued)
        {
            m_queued->AddLink(rate, port->GetDelayPs(), isFirst);
        }
        m_network.AddLink(rate);
    }
    return found->second;
}

const std::vector<FlowUse>*
FlowMessageTransport::LinksOf(const std::vector<FlowLine>& lines)
{
    std::vector<FlowUse> uses;
    uses.reserve(lines.size());
    for (const FlowLine& line : lines)
    {
        uses.push_back({LinkOf(line.port, uses.empty()), line.share});
    }
    return &*m_links.insert(std::move(uses)).first;
}

RocePath
FlowMessageTransport::PathOf(const std::vector<FlowLine>& lines)
{
    RocePath path;
    for (const FlowLine& line : lines)
    {
        path.Append(line.port);
    }
    path.switches = path.lines.size() - 1;
    return path;
}

uint32_t
FlowMessageTransport::WayOf(const Queue& queue,
                            const std::vector<FlowLine>& lines,
                            const std::vector<FlowLine>& back)
{
    const Pair& pair = m_pairs[queue.pair];
    const FlowTransportKind& kind = m_context.transports[pair.kind];
    RocePath path;
    if (m_context.spreads)
    {
        const FabricNetDevice& from = *m_context.hosts[m_context.hostOfNpu[pair.sender]];
        const uint32_t out = lines.front().port->GetPlace().port;
        path = RocePath::FindWidest(from, out, m_context.hostOfNpu[pair.receiver]).value_or(path);
    }
    std::optional<RocePath> own; // of answers; several ways lead back as they came
    if (path.lines.empty())
    {
        path = PathOf(lines);
        own = back.empty() ? own : PathOf(back);
    }
    const auto answer = [&path, &own](uint32_t wireBytes) {
        return own ? own->TravelPs(0, wireBytes, wireBytes) : path.ExactAnswerPs(wireBytes);
    };
    const int64_t answerPs = answer(kind.answerWireBytes);
    const int64_t opensPs = kind.openingWireBytes > 0 ? answer(kind.openingWireBytes) : 0;
    const uint64_t window = WindowOfPath(pair, lines.front().port);
    std::vector<uint64_t> key = KeyOf(path, pair.kind);
    key.insert(key.end(),
               {static_cast<uint64_t>(answerPs), static_cast<uint64_t>(opensPs), window});
    const auto [found, isNew] = m_wayOf.try_emplace(std::move(key), m_ways.size());
    if (isNew)
    {
        const int64_t alonePs = AlonePs(kind, path, kind.payloadBytes);
        Way& way = m_ways.emplace_back();
        way.roundTripPs = alonePs + answerPs;
        way.answerPs = kind.acknowledged ? answerPs : 0;
        way.openingPs = path.TravelPs(kind.openingWireBytes) + opensPs;
        SetWindows(way, kind, window);
        way.path = std::move(path);
    }
    return found->second;
}

uint64_t
FlowMessageTransport::WindowOfPath(const Pair& pair, const FabricPort* first) const
{
    const FlowTransportKind& kind = m_context.transports[pair.kind];
    if (!kind.windowOfPath)
    {
        return 0;
    }
    const FabricNetDevice& from = *m_context.hosts[m_context.hostOfNpu[pair.sender]];
    const uint32_t to = m_context.hostOfNpu[pair.receiver];
    std::optional<RocePath> path = RocePath::Find(from, first->GetPlace().port, to);
    if (!path)
    {
        path.emplace().Append(first); // all that is known before there is a way
    }
    const int64_t roundTripPs =
        AlonePs(kind, *path, kind.payloadBytes) + path->ExactAnswerPs(kind.answerWireBytes);
    const double bits = static_cast<double>(roundTripPs) * static_cast<double>(path->lowestRateBps);
    return std::max<uint64_t>(static_cast<uint64_t>(bits / FABRIC_PS_TIMES_BITS), 1);
}

void
FlowMessageTransport::SetWindows(Way& way, const FlowTransportKind& kind, uint64_t ofPath)
{
    way.windowBytes = kind.windowBytes;
    way.firstWindowBytes = kind.firstWindowBytes;
    way.inFlightBytes = kind.inFlightBytes;
    if (ofPath == 0)
    {
        return;
    }
    const uint64_t packets = (ofPath + kind.payloadBytes - 1) / kind.payloadBytes;
    way.windowBytes = kind.windowBytes > 0 ? packets * kind.payloadBytes : 0;
    way.firstWindowBytes = kind.firstWindowBytes > 0 ? ofPath : 0;
    way.inFlightBytes = kind.inFlightBytes > 0 ? static_cast<int64_t>(ofPath) : kind.inFlightBytes;
}

void
FlowMessageTransport::FindWays(Queue& queue)
{
    const Pair& pair = m_pairs[queue.pair];
    const FlowTransportKind& kind = m_context.transports[pair.kind];
    const uint32_t from = m_context.hostOfNpu[pair.sender];
    const uint32_t to = m_context.hostOfNpu[pair.receiver];
    uint32_t data = 0;
    uint32_t answer = 0;
    if (kind.tcpPorts)
    {
        const uint32_t listens = TcpMessageTransport::LISTEN_PORT;
        const uint32_t source = m_context.baseAddress + from;
        const uint32_t destination = m_context.baseAddress + to;
        data = FabricHashConnection(source, destination, uint32_t{pair.port} << 16 | listens);
        answer = FabricHashConnection(destination, source, listens << 16 | pair.port);
    }
    else
    {
        const RoceFlowHashes hashes(pair.sender, pair.receiver, queue.number, kind.portOfMessage);
        data = hashes.data;
        answer = hashes.answer;
    }
    const std::vector<FlowLine> forth = m_paths.Find(from, to, data);
    const std::vector<FlowLine> back = m_paths.Find(to, from, answer);
    queue.back = LinksOf(back);
    queue.forth = LinksOf(forth);
    if (forth.empty())
    {
        queue.forth = &*m_links.insert({{NOWHERE, 1.0}}).first;
        if (queue.way == NO_WAY)
        {
            FabricPort* nic = PeekPointer(m_context.hosts[from]->GetPort(0));
            queue.way = WayOf(queue, {{nic, 1.0}}, {}); // all that is known before there is a way
            queue.narrowestBps = nic->GetRateBps();
        }
        return;
    }
    queue.way = WayOf(queue, forth, back);
    double narrowestBps = FlowShares::NO_LIMIT;
    for (const FlowLine& line : forth)
    {
        narrowestBps =
            std::min(narrowestBps, static_cast<double>(line.port->GetRateBps()) / line.share);
    }
    queue.narrowestBps = static_cast<uint64_t>(narrowestBps);
}

uint32_t
FlowMessageTransport::OpenQueue(uint32_t pair, uint32_t number)
{
    if (m_free.empty())
    {
        m_free.push_back(m_queues.size());
        m_queues.emplace_back();
    }
    const uint32_t found = m_free.back();
    m_free.pop_back();
    Queue& queue = m_queues[found];
    queue.pair = pair;
    queue.number = number;
    queue.arrivalPs = 0;
    queue.isNew = true;
    queue.way = NO_WAY;
    FindWays(queue);
    return found;
}

uint32_t
FlowMessageTransport::TakeTurn(uint32_t number)
{
    Pair& pair = m_pairs[number];
    const FlowTransportKind& kind = m_context.transports[pair.kind];
    if (kind.perMessage)
    {
        return OpenQueue(number, pair.next++);
    }
    const uint32_t turn = pair.next;
    const bool one = AreInServer(pair.sender, pair.receiver, m_context.npus, kind.serverNpus);
    pair.next = turn + 1 < (one ? 1 : kind.queuePairs) ? turn + 1 : 0;
    if (turn == pair.queues.size())
    {
        const uint32_t queue = OpenQueue(number, pair.channel * kind.queuePairs + turn);
        pair.queues.push_back(queue);
    }
    return pair.queues[turn];
}

int64_t
FlowMessageTransport::AlonePs(const FlowTransportKind& kind, const RocePath& path, uint64_t bytes)
{
    const FlowPackets packets(kind, bytes);
    return path.TravelPs(packets.full,
                         kind.WireBytes(kind.payloadBytes),
                         kind.WireBytes(packets.lastBytes));
}

void
FlowMessageTransport::Send(const CollectiveMessage& message)
{
    const uint32_t number = FindPairOf(message);
    const FlowTransportKind& kind = m_context.transports[m_pairs[number].kind];
    const uint32_t first = TakeTurn(number);
    if (!m_parts)
    {
        Post(first, message);
        return;
    }
    const RoceCut cut(message.bytes, kind.splitMessages ? kind.queuePairs : WHOLE);
    CollectiveMessage part = m_parts->Begin(message, cut.parts);
    for (part.row = 0; part.row < cut.parts; ++part.row)
    {
        part.bytes = cut.BytesOf(part.row);
        Post(part.row == 0 ? first : TakeTurn(number), part);
    }
}

void
FlowMessageTransport::Post(uint32_t number, const CollectiveMessage& message)
{
    Queue& queue = m_queues[number];
    queue.messages.push_back(message);
    if (queue.messages.size() > 1)
    {
        return;
    }
    queue.sentBytes = 0;
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    if (!queue.isNew || kind.openingWireBytes == 0 || m_ways.empty())
    {
        Begin(number);
        return;
    }
    const int64_t opensPs = m_ways[queue.way].openingPs;
    queue.openPs = Simulator::Now().GetTimeStep() + opensPs;
    Simulator::Schedule(FabricDelay(opensPs, "a connection"), [this, number] { Begin(number); });
}

void
FlowMessageTransport::Begin(uint32_t number)
{
    Queue& queue = m_queues[number];
    const int64_t idlePs = Simulator::Now().GetTimeStep() - queue.idlePs;
    if (m_context.flowletGapPs > 0 && !queue.isNew && idlePs > m_context.flowletGapPs)
    {
        FindWays(queue);
    }
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    const Way& way = m_ways[queue.way];
    const uint64_t opening = way.windowBytes > 0 ? way.windowBytes : way.firstWindowBytes;
    const FlowPackets packets(kind, queue.messages.front().bytes);
    FlowDemand demand{*queue.forth, *queue.back};
    const auto wireBytes = static_cast<double>(packets.WireBytes(kind));
    const uint64_t bytes = queue.messages.front().bytes;
    const uint64_t after = queue.sentBytes + bytes;
    const uint64_t free = std::max(queue.sentBytes, BLIND_WINDOWS * way.windowBytes);
    const double bound = static_cast<double>(after - std::min(after, free)) / bytes;
    demand.bytes = wireBytes * (1.0 + kind.headroom * bound);
    demand.used = wireBytes / demand.bytes;
    demand.lastBytes = static_cast<double>(kind.WireBytes(packets.lastBytes));
    demand.backShare =
        static_cast<double>(CountAnswers(queue, packets) * kind.answerWireBytes) / demand.bytes;
    const bool one = packets.full == 0;
    const uint64_t firstBytes = kind.WireBytes(one ? packets.lastBytes : kind.payloadBytes);
    demand.answersAfterPs = way.path.TravelPs(0, firstBytes, firstBytes);
    if (m_queued)
    {
        demand.answersAfterPs -= way.path.delayPs;
    }
    demand.cap = CapOf(queue);
    demand.alone = std::min(demand.cap, BytesPerPs(queue.narrowestBps));
    const bool isIdle = queue.isNew ||
                        static_cast<double>(idlePs) >= WindowTripPs(queue, opening) ||
                        queue.course.IsOver(Simulator::Now().GetTimeStep());
    queue.cap = demand.cap = FindCap(queue, bytes, wireBytes, demand.cap, isIdle);
    demand.roundTripPs = way.roundTripPs;
    demand.inFlight = way.inFlightBytes > 0 ? static_cast<double>(way.inFlightBytes)
                      : way.inFlightBytes == 0
                          ? wireBytes
                          : demand.alone * static_cast<double>(demand.roundTripPs);
    if (queue.isNew && demand.alone > 0.0)
    {
        demand.firstWindow = wireBytes / bytes * opening;
        demand.recovery = kind.startCost;
        demand.packetBytes = static_cast<double>(kind.WireBytes(kind.payloadBytes));
    }
    else if (!queue.isNew)
    {
        demand.from = queue.lastRate;
    }
    const auto roundTripPs = static_cast<double>(demand.roundTripPs);
    // Between pieces that wait for a switch that reduces, the window of a queue pair stays open.
    const bool rises = kind.riseRoundTrips > 0.0 && !IsOfReducer(queue);
    demand.risePart = rises ? 1.0 / (kind.riseRoundTrips * roundTripPs) : 0.0;
    queue.sentBytes = after;
    queue.isNew = false;
    queue.beganPs = Simulator::Now().GetTimeStep();
    queue.counted = {};
    queue.flow = m_queued ? m_queued->Begin(demand) : m_network.Begin(demand);
    m_flows++;
    if (queue.flow >= m_queueOf.size())
    {
        m_queueOf.resize(queue.flow + 1);
    }
    m_queueOf[queue.flow] = number;
}

bool
FlowMessageTransport::IsOfReducer(const Queue& queue) const
{
    const Pair& pair = m_pairs[queue.pair];
    return std::max(pair.sender, pair.receiver) >= m_context.npus;
}

uint32_t
FlowMessageTransport::AnswerEvery(const Queue& queue) const
{
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    return IsOfReducer(queue) ? kind.reducerAnswerEvery : kind.answerEvery;
}

double
FlowMessageTransport::WindowTripPs(const Queue& queue, uint64_t windowBytes) const
{
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    const uint64_t packets = (windowBytes + kind.payloadBytes - 1) / kind.payloadBytes;
    // The first packet of those that are acknowledged together waits for the others.
    const uint64_t others =
        std::min<uint64_t>(AnswerEvery(queue), std::max<uint64_t>(packets, 1)) - 1;
    const auto wireBytes = static_cast<double>(others * kind.WireBytes(kind.payloadBytes));
    const auto roundTripPs = static_cast<double>(m_ways[queue.way].roundTripPs);
    return roundTripPs + wireBytes / BytesPerPs(queue.narrowestBps);
}

double
FlowMessageTransport::CapOf(const Queue& queue) const
{
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    const uint64_t window = m_ways[queue.way].windowBytes;
    if (window == 0)
    {
        return FlowShares::NO_LIMIT;
    }
    const double inFlight = static_cast<double>(window) / kind.payloadBytes *
                            static_cast<double>(kind.WireBytes(kind.payloadBytes));
    return inFlight / WindowTripPs(queue, window);
}

FlowWindow
FlowMessageTransport::WindowOf(const Queue& queue) const
{
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    const Way& way = m_ways[queue.way];
    // Of full packets, since a window spans messages of any size.
    const double bytesPerPs = BytesPerPs(queue.narrowestBps) * kind.payloadBytes /
                              static_cast<double>(kind.WireBytes(kind.payloadBytes));
    const uint64_t opening = way.windowBytes > 0 ? way.windowBytes : way.firstWindowBytes;
    return {way.windowBytes > 0 ? static_cast<double>(way.windowBytes) : FlowShares::NO_LIMIT,
            kind.windowGrowth,
            static_cast<double>(kind.windowStepBytes),
            bytesPerPs,
            WindowTripPs(queue, opening)};
}

double
FlowMessageTransport::FindCap(Queue& queue, uint64_t bytes, double wireBytes, double cap, bool anew)
    const
{
    const Way& way = m_ways[queue.way];
    const double line = BytesPerPs(queue.narrowestBps);
    if (cap >= line && way.firstWindowBytes == 0)
    {
        return cap;
    }
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const FlowWindow window = WindowOf(queue);
    if (anew)
    {
        const auto firstBytes = static_cast<double>(way.firstWindowBytes);
        queue.course.Open(window, queue.isNew ? firstBytes : -1.0, nowPs);
    }
    const double leastPs =
        window.Grows() ? wireBytes / line : window.SendPs(bytes, window.mostBytes);
    const double tookPs = std::max(queue.course.SendPs(window, bytes, nowPs), leastPs);
    return wireBytes / tookPs;
}

void
FlowMessageTransport::GoOn(Queue& queue, bool anew)
{
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    const double wireBytes = m_network.LeftOf(queue.flow);
    const auto bytes = static_cast<uint64_t>(
        wireBytes * kind.payloadBytes / static_cast<double>(kind.WireBytes(kind.payloadBytes)));
    if (anew && bytes > 0)
    {
        const int64_t nowPs = Simulator::Now().GetTimeStep();
        const uint64_t left = queue.course.Turn(WindowOf(queue), bytes, nowPs);
        queue.cap = FindCap(queue, left, wireBytes, CapOf(queue), false);
    }
    m_network.Move(queue.flow, *queue.forth, *queue.back, queue.cap);
}

CollectiveMessage
FlowMessageTransport::TakeFirst(uint32_t number)
{
    Queue& queue = m_queues[number];
    CollectiveMessage message = queue.messages.front();
    queue.messages.pop_front();
    queue.flow = FlowShares::NONE;
    queue.idlePs = Simulator::Now().GetTimeStep();
    return message;
}

void
FlowMessageTransport::Free(uint32_t number)
{
    if (m_context.transports[m_pairs[m_queues[number].pair].kind].perMessage)
    {
        m_free.push_back(number);
    }
}

void
FlowMessageTransport::FlowEnded(uint32_t flow)
{
    const uint32_t number = m_queueOf[flow];
    Queue& queue = m_queues[number];
    queue.lastRate = m_network.GetLastRate(flow);
    CountAll(queue, *queue.forth, *queue.back, queue.messages.front().bytes);
    Deliver(queue, TakeFirst(number), queue.beganPs, m_network.GetWaits(flow));
    if (!queue.messages.empty())
    {
        Begin(number);
    }
    else
    {
        Free(number);
    }
}

void
FlowMessageTransport::FlowSent(uint32_t flow)
{
    const uint32_t number = m_queueOf[flow];
    if (flow >= m_sent.size())
    {
        m_sent.resize(flow + 1);
    }
    m_sent[flow] = {number, m_queues[number].beganPs, TakeFirst(number), true};
    if (!m_queues[number].messages.empty())
    {
        Begin(number);
    }
}

void
FlowMessageTransport::FlowPassed(uint32_t flow)
{
    Sent& sent = m_sent[flow];
    sent.underWay = false;
    const FlowDemand& demand = m_queued->GetDemand(flow);
    CountAll(m_queues[sent.queue], demand.forth, demand.back, sent.message.bytes);
    Deliver(m_queues[sent.queue], sent.message, sent.beganPs, m_queued->GetWaits(flow));
    Free(sent.queue);
}

void
FlowMessageTransport::Deliver(Queue& queue,
                              const CollectiveMessage& message,
                              int64_t beganPs,
                              const std::vector<FlowWait>& waits)
{
    const FlowTransportKind& kind = m_context.transports[m_pairs[queue.pair].kind];
    const Way& way = m_ways[queue.way];
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const auto bytes = static_cast<double>(FlowPackets(kind, message.bytes).WireBytes(kind));
    const int64_t wirePs = std::llround(bytes / BytesPerPs(queue.narrowestBps));
    // What its shares make of some line may be less than what all equal lines have together.
    const int64_t ownPs = std::max(AlonePs(kind, way.path, message.bytes) + way.answerPs, wirePs);
    int64_t latencyPs = ownPs - wirePs;
    if (m_queued)
    {
        // A flow through queues has crossed all lines but the last one.
        latencyPs -= way.path.delayPs - m_portOf[queue.forth->back().link]->GetDelayPs();
    }
    queue.arrivalPs = std::max({queue.arrivalPs, nowPs, nowPs + latencyPs});
    const Time delay = FabricDelay(queue.arrivalPs - nowPs, "a flow");
    MessageListener& listener = *m_context.listener;
    if (!m_accountant)
    {
        Simulator::Schedule(delay, [&listener, message] {
            listener.BytesArrived(message.receiver, static_cast<int64_t>(message.bytes));
            listener.MessageArrived(message);
        });
        return;
    }
    const MessageAccount account = AccountOf(queue, message, beganPs, ownPs, waits);
    Simulator::Schedule(delay, [this, message, account] {
        m_context.listener->BytesArrived(message.receiver, static_cast<int64_t>(message.bytes));
        m_accountant->MessageAccounted(message, account);
        m_context.listener->MessageArrived(message);
    });
}

uint64_t
FlowMessageTransport::CountAnswers(const Queue& queue, const FlowPackets& packets) const
{
    return packets.CountAnswers(AnswerEvery(queue));
}

const FlowTransportKind&
FlowMessageTransport::KindOf(const Queue& queue) const
{
    return m_context.transports[m_pairs[queue.pair].kind];
}

FlowMessageTransport::Frames
FlowMessageTransport::FramesOf(const Queue& queue) const
{
    const FlowTransportKind& kind = KindOf(queue);
    const FlowPackets packets(kind, queue.messages.front().bytes);
    const auto framesAt = [&](int64_t beforePs) {
        return packets.CountWhole(kind, m_network.SentOf(queue.flow, beforePs));
    };
    const uint64_t arrived = framesAt(m_network.GetAnswersAfterPs(queue.flow));
    const uint64_t answers = packets.CountAnswers(AnswerEvery(queue), arrived);
    return {std::max(framesAt(0), queue.counted.data), std::max(answers, queue.counted.answers)};
}

void
FlowMessageTransport::Count(const Queue& queue,
                            std::span<const FlowUse> forth,
                            std::span<const FlowUse> back,
                            uint64_t bytes,
                            Frames from,
                            Frames until,
                            const Counter& counter) const
{
    const FlowTransportKind& kind = KindOf(queue);
    const FlowPackets packets(kind, bytes);
    const auto count = [&](std::span<const FlowUse> uses, double frames, double size) {
        for (const FlowUse& use : uses)
        {
            if (FabricPort* port = m_portOf[use.link])
            {
                counter(port, std::llround(frames * use.share), std::llround(size * use.share));
            }
        }
    };
    const auto frames = static_cast<double>(until.data - from.data);
    const auto answers = static_cast<double>(until.answers - from.answers);
    const auto wire = static_cast<double>(packets.WireBytes(kind, until.data) -
                                          packets.WireBytes(kind, from.data));
    count(forth, frames, wire - frames * kind.lineGapBytes);
    count(back, answers, answers * (kind.answerWireBytes - kind.lineGapBytes));
}

void
FlowMessageTransport::CountAll(const Queue& queue,
                               std::span<const FlowUse> forth,
                               std::span<const FlowUse> back,
                               uint64_t bytes)
{
    const FlowPackets packets(KindOf(queue), bytes);
    const Frames all{packets.full + 1, CountAnswers(queue, packets)};
    Count(queue,
          forth,
          back,
          bytes,
          queue.counted,
          all,
          [](FabricPort* port, uint64_t frames, uint64_t size) { port->CountSent(frames, size); });
}

void
FlowMessageTransport::CountSoFar(Queue& queue,
                                 std::span<const FlowUse> forth,
                                 std::span<const FlowUse> back)
{
    const Frames sent = FramesOf(queue);
    Count(queue,
          forth,
          back,
          queue.messages.front().bytes,
          queue.counted,
          sent,
          [](FabricPort* port, uint64_t frames, uint64_t size) { port->CountSent(frames, size); });
    queue.counted = sent;
}

void
FlowMessageTransport::CountThrough(const Queue& queue,
                                   uint32_t flow,
                                   uint64_t bytes,
                                   const Counter& data,
                                   const Counter& answers) const
{
    const FlowTransportKind& kind = KindOf(queue);
    const FlowPackets packets(kind, bytes);
    const FlowDemand& demand = m_queued->GetDemand(flow);
    const uint32_t last = demand.forth.size() - 1;
    const auto framesAt = [&](uint32_t place, int64_t beforePs) {
        return packets.CountWhole(kind, m_queued->SentOf(flow, place, beforePs));
    };
    for (uint32_t place = 0; place <= last; ++place)
    {
        const Frames sent{framesAt(place, 0), 0};
        Count(queue, demand.forth.subspan(place, 1), {}, bytes, {}, sent, data);
    }
    const uint64_t arrived = framesAt(last, m_queued->GetAnswersAfterPs(flow));
    const uint64_t answered = packets.CountAnswers(AnswerEvery(queue), arrived);
    Count(queue, {}, demand.back, bytes, {}, {0, answered}, answers);
}

void
FlowMessageTransport::CountUnderWay(FabricSentCounts& counts) const
{
    FabricSentCounts answers;
    const auto adding = [](FabricSentCounts& sums) -> Counter {
        return [&sums](const FabricPort* port, uint64_t frames, uint64_t bytes) {
            sums[port].frames += frames;
            sums[port].bytes += bytes;
        };
    };
    const Counter data = adding(counts);
    for (const Queue& queue : m_queues)
    {
        if (queue.flow == FlowShares::NONE)
        {
            continue;
        }
        const uint64_t bytes = queue.messages.front().bytes;
        if (m_queued)
        {
            CountThrough(queue, queue.flow, bytes, data, adding(answers));
        }
        else
        {
            Count(queue, *queue.forth, *queue.back, bytes, queue.counted, FramesOf(queue), data);
        }
    }
    for (uint32_t flow = 0; flow < m_sent.size(); ++flow)
    {
        const Sent& sent = m_sent[flow];
        if (sent.underWay)
        {
            CountThrough(m_queues[sent.queue], flow, sent.message.bytes, data, adding(answers));
        }
    }
    LeaveWaiting(answers);
    for (const auto& [port, count] : answers)
    {
        counts[port].frames += count.frames;
        counts[port].bytes += count.bytes;
    }
}

void
FlowMessageTransport::LeaveWaiting(FabricSentCounts& answers) const
{
    const uint32_t gapBytes = m_context.transports.front().lineGapBytes;
    for (auto& [port, count] : answers)
    {
        const double waiting = m_queued->AnswersInFrontOf(m_linkOf.at(port));
        if (count.frames == 0 || waiting <= 0.0)
        {
            continue;
        }
        const uint64_t frameBytes = count.bytes / count.frames;
        const auto frames = static_cast<uint64_t>(waiting / (frameBytes + gapBytes));
        const uint64_t wait = std::min(frames, count.frames);
        count.frames -= wait;
        count.bytes -= wait * frameBytes;
    }
}

std::vector<FlowWait>
FlowMessageTransport::Divide(const Queue& queue, std::vector<FlowWait> waits, int64_t timePs)
{
    const auto placeOf = [&queue](const FlowWait& wait) {
        return std::find_if(queue.forth->begin(), queue.forth->end(), [&wait](const FlowUse& use) {
            return use.link == wait.link;
        });
    };
    std::stable_sort(waits.begin(), waits.end(), [&placeOf](const auto& one, const auto& other) {
        return placeOf(one) < placeOf(other);
    });
    if (waits.empty() || waits.front().link != queue.forth->front().link)
    {
        waits.insert(waits.begin(), {queue.forth->front().link, 0.0});
    }
    // Rates may have changed: only now it is known what is a wait. What one link has slowed waits
    // less behind it.
    const double alone = BytesPerPs(queue.narrowestBps);
    double behindPs = 0.0;
    double sumPs = 0.0;
    for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait)
    {
        wait->ps += behindPs - wait->bytes / alone;
        behindPs = std::min(wait->ps, 0.0);
        wait->ps -= behindPs;
        sumPs += wait->ps;
    }
    const double share = std::min(static_cast<double>(timePs) / std::max(sumPs, 1.0), 1.0);
    double passedPs = 0.0;
    double givenPs = 0.0;
    for (FlowWait& wait : waits)
    {
        passedPs += wait.ps;
        wait.ps = std::round(share * passedPs) - givenPs;
        givenPs += wait.ps;
    }
    return waits;
}

MessageAccount
FlowMessageTransport::AccountOf(const Queue& queue,
                                const CollectiveMessage& message,
                                int64_t beganPs,
                                int64_t ownPs,
                                const std::vector<FlowWait>& waits) const
{
    const Way& way = m_ways[queue.way];
    const int64_t turnPs = beganPs - message.startPs;
    const int64_t timePs = queue.arrivalPs - message.startPs - turnPs - way.answerPs;
    const std::vector<FlowWait> divided =
        Divide(queue, waits, std::max<int64_t>(timePs + way.answerPs - ownPs, 0));
    int64_t waitPs = 0;
    for (const FlowWait& wait : divided)
    {
        waitPs += static_cast<int64_t>(wait.ps);
    }
    const int64_t delayPs = std::min(way.path.delayPs, timePs - waitPs);
    const int64_t serialisationPs = timePs - waitPs - delayPs;
    MessageAccount account;
    // Those behind the first wait for their turn meanwhile.
    const int64_t opensPs =
        beganPs > queue.openPs ? 0 : std::clamp<int64_t>(queue.openPs - message.startPs, 0, turnPs);
    account.Add(AccountPart::TRANSPORT, opensPs);
    account.Add(AccountPart::TURN, turnPs - opensPs);
    account.Add(AccountPart::PROPAGATION, delayPs);
    account.Add(AccountPart::SERIALISATION, serialisationPs);
    account.Add(AccountPart::ACKNOWLEDGEMENT, way.answerPs);
    const uint32_t nic = m_portOf[queue.forth->front().link]->GetPlace().node;
    std::vector<AccountHop> hops;
    int64_t arrivalPs = beganPs + waitPs;
    for (const FlowWait& wait : divided)
    {
        const auto ps = static_cast<int64_t>(wait.ps);
        const FabricPort* port = wait.link < m_portOf.size() ? m_portOf[wait.link] : nullptr;
        account.Add(wait.link == FlowShares::NONE      ? AccountPart::WINDOW
                    : wait.link == FlowNetwork::SLOWED ? AccountPart::PACING
                    : !port                            ? AccountPart::LOST
                    : port->GetPlace().node == nic     ? AccountPart::NIC_QUEUE
                                                       : AccountPart::SWITCH_QUEUE,
                    ps);
        if (port && (hops.empty() || ps > 0))
        {
            hops.push_back({port, 0, ps, 0, 0, 0});
            arrivalPs -= ps;
        }
    }
    hops.front().serialisationPs = serialisationPs;
    hops.front().propagationPs = delayPs;
    for (AccountHop& hop : hops)
    {
        hop.arrivalPs = arrivalPs;
        account.AddHop(hop);
        arrivalPs += hop.queuePs + hop.serialisationPs + hop.propagationPs;
    }
    return account;
}

void
FlowMessageTransport::RoutesChanged()
{
    // Links that come up now are not up yet.
    Simulator::ScheduleNow([this] {
        for (uint32_t link = 1; link < m_portOf.size(); ++link)
        {
            const FabricPort& port = *m_portOf[link];
            const double rate =
                port.IsUp() && !port.IsSilent() ? BytesPerPs(port.GetRateBps()) : 0.0;
            if (m_queued)
            {
                m_queued->SetRate(link, rate);
            }
            else
            {
                m_network.SetRate(link, rate);
            }
        }
        // Ways are found by what their lines were like, and have the ports of one pair.
        m_wayOf.clear();
        for (Queue& queue : m_queues)
        {
            const uint32_t before = queue.way;
            const uint64_t narrowestBps = queue.narrowestBps;
            const auto* const forth = queue.forth;
            const auto* const back = queue.back;
            FindWays(queue);
            if (queue.flow != FlowShares::NONE && !m_queued)
            {
                if (queue.forth != forth || queue.back != back)
                {
                    CountSoFar(queue, *forth, *back);
                }
                GoOn(queue,
                     narrowestBps != queue.narrowestBps ||
                         !m_ways[before].HasWindowsOf(m_ways[queue.way]));
            }
        }
    });
}

} // namespace ns3
