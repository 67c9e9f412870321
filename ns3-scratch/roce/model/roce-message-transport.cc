// SPDX-License-Identifier: GPL-2.0-only
#include "roce-message-transport.h"

#include "fabric-flow-hash.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>

namespace ns3
{

namespace
{
constexpr double PS_TIMES_BITS = 8e12;     // picoseconds a byte takes at 1 bit/s
constexpr uint32_t FIRST_PORT = 10'000;    // source port of a pair's first message
constexpr uint32_t DESTINATION_PORT = 100; // of every message
constexpr uint32_t MOST_SOURCES = 256;     // with more hosts not all pairs are looked at
constexpr uint32_t FEW_SOURCES = 16;       // but these as sources
constexpr uint32_t ANSWER = 0x9e3779b9;    // answers take paths of their own
} // namespace

RoceMessageTransport::RoceMessageTransport(RoceContext context,
                                           std::vector<Ptr<FabricNetDevice>> hosts,
                                           std::vector<uint32_t> hostOfNpu)
    : m_context(std::move(context)),
      m_hosts(std::move(hosts)),
      m_hostOfNpu(std::move(hostOfNpu)),
      m_ports(m_hosts.size())
{
    if (m_context.parameters.splitMessages && m_context.parameters.queuePairsPerPair > 1)
    {
        m_parts = std::make_unique<RoceMessageParts>(*m_context.listener);
        m_context.listener = m_parts.get();
    }
    m_context.telemetry = m_context.makeControl()->GetTelemetry();
    m_context.accountant = m_context.listener->GetAccountant();
    for (std::size_t host = 0; host < m_hosts.size(); ++host)
    {
        for (uint32_t port = 0; m_hosts[host] && port < m_hosts[host]->GetNPorts(); ++port)
        {
            m_ports[host].push_back(std::make_unique<RoceNicPort>(m_hosts[host]->GetPort(port),
                                                                  m_context.parameters.timeoutPs));
        }
    }
    if (m_context.parameters.longestRoundTrip)
    {
        FindLongest();
    }
}

RoceMessageTransport::~RoceMessageTransport() = default;

void
RoceMessageTransport::SetObserver(RoceObserver* observer)
{
    m_context.observer = observer;
}

const RoceStatistics&
RoceMessageTransport::GetStatistics() const
{
    return m_context.statistics;
}

uint64_t
RoceMessageTransport::CountBusyQueuePairs() const
{
    return std::count_if(m_queuePairs.begin(), m_queuePairs.end(), [](const auto& pair) {
        return pair->GetMessages().GetFirst() != nullptr;
    });
}

uint64_t
RoceMessageTransport::CountFrames() const
{
    uint64_t frames = 0;
    for (const auto& pair : m_queuePairs)
    {
        frames += pair->GetFrames();
    }
    return frames;
}

RocePath
RoceMessageTransport::FindPath(uint32_t from, uint32_t to) const
{
    const uint32_t port = m_hosts[from]->ChoosePort(to, 0);
    const auto path =
        port == FabricNetDevice::NO_PORT ? std::nullopt : RocePath::Find(*m_hosts[from], port, to);
    if (!path)
    {
        throw std::invalid_argument("RoCE: no way leads from host " + std::to_string(from) +
                                    " to host " + std::to_string(to));
    }
    return *path;
}

RocePathNumbers
RoceMessageTransport::NumbersOf(const RocePath& path) const
{
    const RoceParameters& parameters = m_context.parameters;
    const uint32_t around = parameters.headerBytes + parameters.telemetryBytes;
    const uint32_t packet = parameters.payloadBytes + around + parameters.lineGapBytes;
    const uint32_t ack =
        std::max(parameters.ackBytes + parameters.ackTelemetryBytes, parameters.minimumFrameBytes) +
        parameters.lineGapBytes;
    RocePathNumbers numbers;
    numbers.baseRoundTripPs = parameters.payloadRoundTrip
                                  ? path.TravelPs(parameters.payloadBytes) + path.delayPs
                                  : path.TravelPs(packet) + path.AnswerPs(ack);
    numbers.bandwidthDelayBytes =
        static_cast<uint64_t>(static_cast<double>(numbers.baseRoundTripPs) *
                              static_cast<double>(path.lowestRateBps) / PS_TIMES_BITS);
    numbers.switches = path.switches;
    return numbers;
}

int64_t
RoceMessageTransport::TravelPs(const RocePath& path, uint64_t bytes) const
{
    const uint64_t payload = m_context.parameters.payloadBytes;
    const uint64_t packets = (bytes + payload - 1) / payload;
    const uint64_t last = bytes - (packets - 1) * payload;
    return path.TravelPs(packets - 1, WireBytes(std::min(bytes, payload)), WireBytes(last));
}

template <class Size>
int64_t
RoceMessageTransport::IdealPs(const Pair& pair, const Size& size) const
{
    if (pair.ways.empty())
    {
        return TravelPs(pair.path, size) + LastAckPs(pair.path);
    }
    int64_t therePs = INT64_MAX;
    int64_t backPs = INT64_MAX;
    for (const RocePath& way : pair.ways)
    {
        therePs = std::min(therePs, TravelPs(way, size));
        backPs = std::min(backPs, LastAckPs(way));
    }
    return therePs + backPs;
}

int64_t
RoceMessageTransport::TravelPs(const RocePath& path, const RoceCut& cut) const
{
    // The parts take turns, so that all their full packets come before what is left of each.
    const uint64_t payload = m_context.parameters.payloadBytes;
    const uint64_t others = cut.parts - cut.longer;
    const uint64_t longBytes = cut.partBytes + 1;
    const uint64_t full = cut.longer * (longBytes / payload) + others * (cut.partBytes / payload);
    std::vector<RoceFrames> frames{{full, WireBytes(payload)}};
    if (longBytes % payload > 0)
    {
        frames.push_back({cut.longer, WireBytes(longBytes % payload)});
    }
    if (cut.partBytes % payload > 0)
    {
        frames.push_back({others, WireBytes(cut.partBytes % payload)});
    }
    return path.TravelPs(frames);
}

uint32_t
RoceMessageTransport::WireBytes(uint64_t payloadBytes) const
{
    const RoceParameters& parameters = m_context.parameters;
    const uint64_t frame = payloadBytes + parameters.headerBytes + parameters.telemetryBytes;
    return std::max<uint64_t>(frame, parameters.minimumFrameBytes) + parameters.lineGapBytes;
}

int64_t
RoceMessageTransport::LastAckPs(const RocePath& path) const
{
    const RoceParameters& parameters = m_context.parameters;
    if (!parameters.acknowledged)
    {
        return 0;
    }
    return path.ExactAnswerPs(
        std::max(parameters.ackBytes + parameters.ackTelemetryBytes, parameters.minimumFrameBytes) +
        parameters.lineGapBytes);
}

int64_t
RoceMessageTransport::GetLongestRoundTripPs()
{
    if (m_longest.baseRoundTripPs == 0)
    {
        FindLongest();
    }
    return m_longest.baseRoundTripPs;
}

void
RoceMessageTransport::FindLongest()
{
    // Of many hosts some as sources: in a network that is at all regular they see every distance.
    const uint32_t hosts = m_hosts.size();
    const uint32_t step = hosts > MOST_SOURCES ? hosts / FEW_SOURCES : 1;
    for (uint32_t from = 0; from < hosts; from += step)
    {
        for (uint32_t to = 0; to < m_hosts.size(); ++to)
        {
            if (from == to || m_ports[from].empty() || m_ports[to].empty())
            {
                continue;
            }
            const auto path = RocePath::Find(*m_hosts[from], ChoosePort(from, to, 0), to);
            if (!path)
            {
                continue; // no longer, or not yet
            }
            const RocePathNumbers numbers = NumbersOf(*path);
            if (numbers.baseRoundTripPs > m_longest.baseRoundTripPs)
            {
                m_longest.baseRoundTripPs = numbers.baseRoundTripPs;
            }
            m_longest.bandwidthDelayBytes =
                std::max(m_longest.bandwidthDelayBytes, numbers.bandwidthDelayBytes);
        }
    }
}

void
RoceMessageTransport::ChoosePath(RoceAddress& address, uint32_t number) const
{
    if (m_context.parameters.portOfMessage)
    {
        const uint32_t port = (FIRST_PORT + number) & 0xffff;
        address.dataHash = port | DESTINATION_PORT << 16;
        address.answerHash = DESTINATION_PORT | port << 16;
    }
    else
    {
        const uint32_t ends = FabricMixHash(FabricMixHash(address.senderNpu) ^ address.receiverNpu);
        address.dataHash = FabricMixHash(ends ^ number);
        address.answerHash = FabricMixHash(address.dataHash ^ ANSWER);
    }
    ChoosePorts(address);
}

uint32_t
RoceMessageTransport::ChoosePort(uint32_t host, uint32_t destination, uint32_t flowHash) const
{
    const uint32_t port = m_hosts[host]->ChoosePort(destination, flowHash);
    return port == FabricNetDevice::NO_PORT ? 0 : port;
}

void
RoceMessageTransport::ChoosePorts(RoceAddress& address) const
{
    const uint32_t out = ChoosePort(address.senderHost, address.receiverHost, address.dataHash);
    const uint32_t back = ChoosePort(address.receiverHost, address.senderHost, address.answerHash);
    address.senderPort = m_ports[address.senderHost][out].get();
    address.receiverPort = PeekPointer(m_hosts[address.receiverHost]->GetPort(back));
}

void
RoceMessageTransport::UpdatePath(Pair& pair)
{
    const RoceAddress& address = pair.address;
    const FabricNetDevice& from = *m_hosts[address.senderHost];
    const uint32_t out = ChoosePort(address.senderHost, address.receiverHost, address.dataHash);
    if (auto path = RocePath::Find(from, out, address.receiverHost))
    {
        pair.path = std::move(*path);
    }
    else if (pair.path.lines.empty())
    {
        pair.path.Append(PeekPointer(from.GetPort(out))); // all that is known before there is a way
    }
    if (m_context.parameters.packetsPart)
    {
        const auto widest = RocePath::FindWidest(from, out, address.receiverHost);
        pair.ways.assign(widest ? 1 : 0, widest.value_or(RocePath()));
    }
    else if (m_context.parameters.waysDiffer)
    {
        pair.ways = RocePath::FindEach(from, address.receiverHost);
    }
    pair.numbers = NumbersOf(pair.path);
    if (m_context.parameters.longestRoundTrip)
    {
        pair.numbers.baseRoundTripPs = m_longest.baseRoundTripPs;
        pair.numbers.bandwidthDelayBytes = m_longest.bandwidthDelayBytes;
    }
}

uint64_t
RoceMessageTransport::KeyOf(uint32_t sender, uint32_t receiver)
{
    return uint64_t{sender} << 32 | receiver;
}

void
RoceMessageTransport::RoutesChanged()
{
    const RocePathNumbers longest = std::exchange(m_longest, {});
    if (m_context.parameters.longestRoundTrip)
    {
        FindLongest();
        m_longest = m_longest.baseRoundTripPs > 0 ? m_longest : longest; // none is left
    }
    for (auto& [ends, pair] : m_pairs)
    {
        ChoosePorts(pair.address);
        UpdatePath(pair);
    }
    const std::unordered_set<RoceQueuePair*> closed(m_free.begin(), m_free.end());
    for (const auto& queuePair : m_queuePairs)
    {
        if (!closed.contains(queuePair.get()))
        {
            RoceAddress address = queuePair->GetAddress();
            ChoosePorts(address);
            queuePair->Move(address,
                            m_pairs.at(KeyOf(address.senderNpu, address.receiverNpu)).numbers);
        }
    }
    for (const auto& ports : m_ports)
    {
        for (const auto& port : ports)
        {
            port->LineChanged();
        }
    }
}

RoceMessageTransport::Pair&
RoceMessageTransport::GetPair(uint32_t sender, uint32_t receiver)
{
    const auto [found, isNew] = m_pairs.try_emplace(KeyOf(sender, receiver));
    Pair& pair = found->second;
    if (isNew)
    {
        pair.address.senderNpu = sender;
        pair.address.receiverNpu = receiver;
        pair.address.senderHost = m_hostOfNpu[sender];
        pair.address.receiverHost = m_hostOfNpu[receiver];
        ChoosePath(pair.address, 0);
        UpdatePath(pair);
    }
    return pair;
}

RoceQueuePair&
RoceMessageTransport::OpenQueuePair(const RoceAddress& address, const RocePathNumbers& path)
{
    if (m_free.empty())
    {
        m_queuePairs.push_back(std::make_unique<RoceQueuePair>(m_context, *this));
        m_free.push_back(m_queuePairs.back().get());
    }
    RoceQueuePair& queuePair = *m_free.back();
    m_free.pop_back();
    queuePair.Open(address, path);
    return queuePair;
}

RoceQueuePair&
RoceMessageTransport::TakeTurn(Pair& pair)
{
    const uint32_t number = pair.turn;
    const uint32_t queuePairs = m_context.parameters.queuePairsPerPair;
    pair.turn = number + 1 < queuePairs ? number + 1 : 0;
    if (number == pair.lasting.size()) // they are opened in turn
    {
        RoceAddress address = pair.address;
        address.number = number;
        ChoosePath(address, number);
        pair.lasting.push_back(&OpenQueuePair(address, pair.numbers));
    }
    return *pair.lasting[number];
}

void
RoceMessageTransport::SendInParts(Pair& pair, const CollectiveMessage& message, const RoceCut& cut)
{
    CollectiveMessage part = m_parts->Begin(message, cut.parts);
    for (part.row = 0; part.row < cut.parts; ++part.row)
    {
        part.bytes = cut.BytesOf(part.row);
        TakeTurn(pair).Post(part);
    }
}

void
RoceMessageTransport::Send(const CollectiveMessage& message)
{
    Pair& pair = GetPair(message.sender, message.receiver);
    CollectiveMessage timed = message;
    if (m_parts)
    {
        const RoceCut cut(message.bytes, m_context.parameters.queuePairsPerPair);
        timed.idealPs = m_context.idealTimes ? IdealPs(pair, cut) : 0;
        SendInParts(pair, timed, cut);
        return;
    }
    timed.idealPs = m_context.idealTimes ? IdealPs(pair, message.bytes) : 0;
    if (m_context.parameters.perMessage)
    {
        ChoosePath(pair.address, pair.messages++);
        OpenQueuePair(pair.address, pair.numbers).Post(timed);
        return;
    }
    TakeTurn(pair).Post(timed);
}

void
RoceMessageTransport::QueuePairIdle(RoceQueuePair& pair)
{
    if (m_context.parameters.perMessage)
    {
        pair.Close();
        m_free.push_back(&pair);
    }
}

} // namespace ns3
