// SPDX-License-Identifier: GPL-2.0-only
#include "roce-message-transport.h"

#include "fabric-units.h"
#include "roce-flow-hashes.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>

namespace ns3
{

namespace
{
constexpr uint32_t MOST_SOURCES = 256; // with more hosts not all pairs are looked at
constexpr uint32_t FEW_SOURCES = 16;   // but these as sources
} // namespace

RoceMessageTransport::RoceMessageTransport(RoceContext context,
                                           std::vector<Ptr<FabricNetDevice>> hosts,
                                           std::vector<uint32_t> hostOfNpu)
    : m_context(std::move(context)),
      m_hosts(std::move(hosts)),
      m_hostOfNpu(std::move(hostOfNpu)),
      m_ports(m_hosts.size()),
      m_numbers(m_hostOfNpu.size()),
      m_senders(m_hostOfNpu.size()),
      m_queuePairs(m_hosts.size())
{
    m_context.owner = this;
    if (m_context.parameters.splitMessages && m_context.parameters.queuePairsPerPair > 1)
    {
        m_parts = std::make_unique<RoceMessageParts>(*m_context.listener);
        m_context.listener = m_parts.get();
    }
    const auto control = m_context.controls.make();
    m_context.telemetry = control->GetTelemetry();
    m_context.accountant = m_context.listener->GetAccountant();
    const bool samples = m_context.telemetry == RoceTelemetry::PATH &&
                         m_context.parameters.utilisationProbability < 1.0;
    m_context.pairsRest = control->IsLikeNew() && !m_context.accountant && !samples;
    for (std::size_t host = 0; host < m_hosts.size(); ++host)
    {
        for (uint32_t port = 0; m_hosts[host] && port < m_hosts[host]->GetNPorts(); ++port)
        {
            m_ports[host].push_back(std::make_unique<RoceNicPort>(m_hosts[host]->GetPort(port),
                                                                  m_context.parameters.timeoutPs,
                                                                  m_context.parameters.turnsByAge));
        }
    }
    if (m_context.parameters.longestRoundTrip)
    {
        FindLongest();
    }
}

RoceMessageTransport::~RoceMessageTransport() = default;

bool
RoceMessageTransport::MayGiveUp(uint32_t host, int64_t beforePs) const
{
    const auto& ports = m_ports[host];
    return std::any_of(ports.begin(), ports.end(), [beforePs](const auto& port) {
        return port->MayGiveUp(beforePs);
    });
}

void
RoceMessageTransport::SetObserver(RoceObserver* observer)
{
    m_context.observer = observer;
}

RoceStatistics
RoceMessageTransport::GetStatistics() const
{
    return m_context.GetStatistics();
}

void
RoceMessageTransport::ChangeControls(uint32_t firstNpu,
                                     uint32_t lastNpu,
                                     const std::shared_ptr<const RoceControls>& controls)
{
    for (uint32_t npu = firstNpu; npu <= lastNpu; ++npu)
    {
        m_context.changedControls[npu] = controls;
    }
    ForEachQueuePair([firstNpu, lastNpu](RoceQueuePair& pair) {
        const uint32_t npu = pair.GetAddress().senderNpu;
        if (npu >= firstNpu && npu <= lastNpu && !pair.IsAtRest())
        {
            pair.GetSender().ChangeControl();
        }
    });
}

template <class Action>
void
RoceMessageTransport::ForEachQueuePair(const Action& action) const
{
    for (const auto& ofHost : m_queuePairs)
    {
        for (const auto& pair : ofHost)
        {
            action(*pair);
        }
    }
}

uint64_t
RoceMessageTransport::CountBusyQueuePairs() const
{
    uint64_t busy = 0;
    ForEachQueuePair([&busy](const RoceQueuePair& pair) {
        busy += pair.GetMessages().GetFirst() != nullptr ? 1 : 0;
    });
    return busy;
}

uint64_t
RoceMessageTransport::CountFrames() const
{
    uint64_t frames = 0;
    ForEachQueuePair([&frames](const RoceQueuePair& pair) { frames += pair.GetFrames(); });
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
                              static_cast<double>(path.lowestRateBps) / FABRIC_PS_TIMES_BITS);
    numbers.switches = path.switches;
    numbers.lowestRateBps = path.lowestRateBps;
    return numbers;
}

uint32_t
RoceMessageTransport::WireBytes(uint64_t payloadBytes) const
{
    const RoceParameters& parameters = m_context.parameters;
    const uint64_t frame = payloadBytes + parameters.headerBytes + parameters.telemetryBytes;
    return std::max<uint64_t>(frame, parameters.minimumFrameBytes) + parameters.lineGapBytes;
}

uint32_t
RoceMessageTransport::GetPayloadBytes() const
{
    return m_context.parameters.payloadBytes;
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

RoceAddress
RoceMessageTransport::AddressOf(uint32_t sender, uint32_t receiver, uint32_t number) const
{
    RoceAddress address;
    address.senderNpu = sender;
    address.receiverNpu = receiver;
    address.senderHost = m_hostOfNpu[sender];
    address.receiverHost = m_hostOfNpu[receiver];
    address.number = m_context.parameters.perMessage ? 0 : number;
    const RoceFlowHashes hashes(sender, receiver, number, m_context.parameters.portOfMessage);
    address.dataHash = hashes.data;
    address.answerHash = hashes.answer;
    ChoosePorts(address);
    return address;
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
RoceMessageTransport::UpdatePath(const PairName& name, bool isNew)
{
    Pair& pair = m_senders[name.sender].pairs[name.number];
    // That of its newest queue pair if each message has its own, else of the first.
    const bool newest = m_context.parameters.perMessage && pair.next > 0;
    const RoceAddress address = AddressOf(name.sender, pair.receiver, newest ? pair.next - 1 : 0);
    const FabricNetDevice& from = *m_hosts[address.senderHost];
    const uint32_t out = ChoosePort(address.senderHost, address.receiverHost, address.dataHash);
    auto path = RocePath::Find(from, out, address.receiverHost);
    if (!path && isNew)
    {
        path.emplace().Append(PeekPointer(from.GetPort(out))); // all that is known before a way is
    }
    RoceWay way;
    way.path = path ? NumbersOf(*path) : m_context.ways.Get(pair.way).path;
    if (m_context.parameters.longestRoundTrip)
    {
        way.path.baseRoundTripPs = m_longest.baseRoundTripPs;
        way.path.bandwidthDelayBytes = m_longest.bandwidthDelayBytes;
    }
    pair.way = m_context.ways.NumberOf(way);
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
    for (uint32_t sender = 0; sender < m_senders.size(); ++sender)
    {
        for (uint32_t number = 0; number < m_senders[sender].pairs.size(); ++number)
        {
            UpdatePath({sender, number}, false);
        }
    }
    const std::unordered_set<RoceQueuePair*> closed(m_free.begin(), m_free.end());
    ForEachQueuePair([&](RoceQueuePair& queuePair) {
        if (!closed.contains(&queuePair))
        {
            RoceAddress address = queuePair.GetAddress();
            ChoosePorts(address);
            const PairName name = FindPair(address.senderNpu, address.receiverNpu);
            const Pair& pair = m_senders[name.sender].pairs[name.number];
            queuePair.Move(address, m_context.ways.Get(pair.way).path);
        }
    });
    for (const auto& ports : m_ports)
    {
        for (const auto& port : ports)
        {
            port->LineChanged();
        }
    }
}

RoceMessageTransport::PairName
RoceMessageTransport::FindPair(uint32_t sender, uint32_t receiver)
{
    const PairName name{sender, m_numbers.NumberOf(sender, receiver)};
    Sender& known = m_senders[sender];
    if (name.number == known.pairs.size())
    {
        known.pairs.push_back({receiver, 0, 0});
        if (!m_context.parameters.perMessage)
        {
            known.lasting.resize(known.lasting.size() + m_context.parameters.queuePairsPerPair);
        }
        UpdatePath(name, true);
    }
    return name;
}

RoceQueuePair&
RoceMessageTransport::OpenQueuePair(const PairName& name,
                                    uint32_t number,
                                    const CollectiveMessage& message)
{
    const Pair& pair = m_senders[name.sender].pairs[name.number];
    RoceAddress address = AddressOf(name.sender, pair.receiver, number);
    address.priority = message.priority;
    RoceQueuePair* queuePair = nullptr;
    if (m_free.empty()) // as ever where queue pairs last, so where several threads come here
    {
        auto& made = m_queuePairs[m_context.parameters.perMessage ? 0 : address.senderHost];
        made.push_back(std::make_unique<RoceQueuePair>(m_context));
        queuePair = made.back().get();
    }
    else
    {
        queuePair = m_free.back();
        m_free.pop_back();
    }
    queuePair->Open(address, m_context.ways.Get(pair.way).path);
    return *queuePair;
}

uint32_t
RoceMessageTransport::CountTurns(const PairName& name) const
{
    const uint32_t receiver = m_senders[name.sender].pairs[name.number].receiver;
    const RoceParameters& parameters = m_context.parameters;
    const bool one = AreInServer(name.sender, receiver, m_context.npus, parameters.serverNpus);
    return one ? 1 : parameters.queuePairsPerPair;
}

RoceQueuePair&
RoceMessageTransport::TakeTurn(const PairName& name, const CollectiveMessage& message)
{
    if (message.channel > 0)
    {
        return TakeTurnOfChannel(name, message);
    }
    Sender& sender = m_senders[name.sender];
    Pair& pair = sender.pairs[name.number];
    const uint32_t queuePairs = m_context.parameters.queuePairsPerPair;
    const uint32_t turn = pair.next;
    pair.next = turn + 1 < CountTurns(name) ? turn + 1 : 0;
    RoceQueuePair*& queuePair = sender.lasting[uint64_t{name.number} * queuePairs + turn];
    if (!queuePair)
    {
        queuePair = &OpenQueuePair(name, turn, message);
    }
    return *queuePair;
}

RoceQueuePair&
RoceMessageTransport::TakeTurnOfChannel(const PairName& name, const CollectiveMessage& message)
{
    Sender& sender = m_senders[name.sender];
    const uint32_t queuePairs = m_context.parameters.queuePairsPerPair;
    ChannelPair& own = sender.channels[(uint64_t{message.channel} << 32) | name.number];
    own.queuePairs.resize(queuePairs);
    const uint32_t turn = own.next;
    own.next = turn + 1 < CountTurns(name) ? turn + 1 : 0;
    RoceQueuePair*& queuePair = own.queuePairs[turn];
    if (!queuePair)
    {
        queuePair = &OpenQueuePair(name, message.channel * queuePairs + turn, message);
    }
    return *queuePair;
}

void
RoceMessageTransport::SendInParts(const PairName& name, const CollectiveMessage& message)
{
    const RoceCut cut(message.bytes, m_context.parameters.queuePairsPerPair);
    CollectiveMessage part = m_parts->Begin(message, cut.parts);
    for (part.row = 0; part.row < cut.parts; ++part.row)
    {
        part.bytes = cut.BytesOf(part.row);
        TakeTurn(name, message).Post(part);
    }
}

void
RoceMessageTransport::Send(const CollectiveMessage& message)
{
    const PairName name = FindPair(message.sender, message.receiver);
    if (m_parts)
    {
        SendInParts(name, message);
        return;
    }
    if (m_context.parameters.perMessage)
    {
        Pair& pair = m_senders[name.sender].pairs[name.number];
        OpenQueuePair(name, pair.next++, message).Post(message);
        return;
    }
    TakeTurn(name, message).Post(message);
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
