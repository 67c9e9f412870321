// SPDX-License-Identifier: GPL-2.0-only
#include "collective-application.h"

#include "fabric-telling-event.h"
#include "fabric-units.h"

#include "ns3/abort.h"
#include "ns3/make-event.h"
#include "ns3/node.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(CollectiveApplication);

namespace
{
constexpr std::size_t FEW_MEMBERS = 8;           // of a group that is searched through
constexpr int64_t REDUCTION_MEMORY_ACCESSES = 3; // two reads and a write
constexpr uint64_t PER_MILLE = 1'000;
constexpr uint64_t PS_PER_MS = 1'000'000'000;
} // namespace

uint64_t
ChannelCosts::WireBytes(uint64_t bytes, bool isNear) const
{
    const uint32_t perMille = isNear ? nearWirePerMille : farWirePerMille;
    const auto wire =
        (static_cast<unsigned __int128>(bytes) * perMille + PER_MILLE - 1) / PER_MILLE;
    return std::max<uint64_t>(static_cast<uint64_t>(wire), 1);
}

bool
CollectiveGroup::Add(uint32_t npu)
{
    if (FindRank(npu))
    {
        return false;
    }
    if (members.size() == FEW_MEMBERS)
    {
        m_rankOfMember = std::make_unique<std::unordered_map<uint32_t, uint32_t>>();
        for (uint32_t rank = 0; rank < members.size(); ++rank)
        {
            m_rankOfMember->emplace(members[rank], rank);
        }
    }
    if (m_rankOfMember)
    {
        m_rankOfMember->emplace(npu, static_cast<uint32_t>(members.size()));
    }
    members.push_back(npu);
    return true;
}

std::optional<uint32_t>
CollectiveGroup::FindRank(uint32_t npu) const
{
    if (m_rankOfMember)
    {
        const auto found = m_rankOfMember->find(npu);
        return found == m_rankOfMember->end() ? std::nullopt : std::optional(found->second);
    }
    const auto found = std::find(members.begin(), members.end(), npu);
    return found == members.end() ? std::nullopt
                                  : std::optional(static_cast<uint32_t>(found - members.begin()));
}

/// A reception that has been handled.
class CollectiveApplication::HandledEvent : public FabricTellingEvent
{
  public:
    /// \param npu whose reception \param instance of which phase \param lane of which lane
    HandledEvent(CollectiveApplication& npu, uint64_t instance, uint32_t lane)
        : m_npu(npu),
          m_instance(instance),
          m_lane(lane)
    {
    }

    bool OnlyTells() const override
    {
        return m_npu.EndsWithNext(m_instance, m_lane);
    }

  private:
    void Notify() override
    {
        m_npu.Handled(m_instance, m_lane);
    }

    CollectiveApplication& m_npu; //!< whose reception
    uint64_t m_instance;          //!< of which phase
    uint32_t m_lane;              //!< of which lane
};

TypeId
CollectiveApplication::GetTypeId()
{
    static TypeId tid = TypeId("ns3::CollectiveApplication")
                            .SetParent<Application>()
                            .SetGroupName("Collective")
                            .AddConstructor<CollectiveApplication>();
    return tid;
}

void
CollectiveApplication::Configure(uint32_t npu,
                                 const EndpointCosts& costs,
                                 MessageTransport* transport,
                                 PhaseListener* listener)
{
    m_npu = npu;
    m_costs = costs;
    m_transport = transport;
    m_listener = listener;
}

void
CollectiveApplication::StandStill(int64_t beginPs, int64_t endPs)
{
    m_stills.emplace_back(beginPs, endPs);
}

int64_t
CollectiveApplication::AwakeDelayPs(int64_t delayPs) const
{
    const int64_t nowPs = m_stills.empty() ? 0 : FabricNowPs();
    int64_t timePs = nowPs + delayPs;
    for (const auto& [beginPs, endPs] : m_stills)
    {
        timePs = beginPs <= timePs && timePs < endPs ? endPs : timePs;
    }
    return timePs - nowPs;
}

void
CollectiveApplication::DoDispose()
{
    m_phases.clear();
    m_abandoned.clear();
    m_transport = nullptr;
    m_listener = nullptr;
    Application::DoDispose();
}

void
CollectiveApplication::Launch(uint64_t instance,
                              std::shared_ptr<const CollectiveSchedule> schedule,
                              std::shared_ptr<const CollectiveGroup> group,
                              uint64_t bytes)
{
    Phase& phase = m_phases[instance];
    NS_ABORT_MSG_IF(phase.schedule, "NPU " << m_npu << ": phase " << instance << " launched twice");
    phase.rank = group->FindRank(m_npu).value();
    const uint32_t lanes = schedule->GetLanes();
    phase.others.resize(lanes - 1);
    for (uint32_t number = 0; number < lanes; ++number)
    {
        Lane& lane = phase.GetLane(number);
        lane.nextSend = schedule->SendsBegin(phase.rank, number);
        lane.lastSend = schedule->SendsEnd(phase.rank, number);
        lane.slots = schedule->GetSlots(phase.rank, number);
    }
    phase.leastBytes = schedule->LeastBytes(bytes);
    if (const auto* channel = group->channel.get()) // on the wire there may be fewer
    {
        phase.leastBytes = std::min({phase.leastBytes,
                                     channel->WireBytes(phase.leastBytes, true),
                                     channel->WireBytes(phase.leastBytes, false)});
    }
    phase.schedule = std::move(schedule);
    phase.group = std::move(group);
    phase.bytes = bytes;
    // Always an event, even without delay: the caller is told of the end only after Launch has
    // returned.
    const auto* channel = phase.group->channel.get();
    const bool isKernel = channel && !m_costs.ofReducer;
    GetClock().Schedule(AwakeDelayPs(isKernel ? channel->startPs : EndpointDelayPs(phase)),
                        "an NPU",
                        MakeEvent(&CollectiveApplication::Start, this, instance));
    HandleEarly(instance, phase);
}

void
CollectiveApplication::Abandon(uint64_t begin, uint64_t end)
{
    for (auto each = m_phases.begin(); each != m_phases.end();)
    {
        const auto next = std::next(each);
        if (begin <= each->first && each->first < end)
        {
            each->second.abandoned = true;
            m_abandoned.push_back(m_phases.extract(each));
        }
        each = next;
    }
}

CollectiveApplication::Phase*
CollectiveApplication::FindPhase(uint64_t instance)
{
    m_abandoned.clear();
    const auto found = m_phases.find(instance);
    return found == m_phases.end() ? nullptr : &found->second;
}

void
CollectiveApplication::Start(uint64_t instance)
{
    Phase* const found = FindPhase(instance);
    if (!found)
    {
        return;
    }
    Phase& phase = *found;
    phase.started = true;
    SendReady(instance, phase, phase.first);
    for (Lane& lane : phase.others)
    {
        SendReady(instance, phase, lane);
    }
    FinishIfDone(instance, phase);
}

void
CollectiveApplication::Receive(const CollectiveMessage& message)
{
    m_receivedBytes += message.bytes;
    m_receivedMessages++;
    if (m_listener->IsAbandoned(message.instance))
    {
        return;
    }
    Phase& phase = m_phases[message.instance];
    const Early arrived{message.row, message.startPs, FabricNowPs()};
    if (phase.schedule)
    {
        const auto reception = phase.schedule->GetReception(message.row);
        if (reception.slot == phase.GetLane(reception.lane).slot)
        {
            Handle(message.instance, phase, arrived, reception);
            return;
        }
    }
    phase.early.push_back(arrived);
}

void
CollectiveApplication::Handle(uint64_t instance,
                              Phase& phase,
                              const Early& arrived,
                              const CollectiveSchedule::Reception& reception)
{
    phase.GetLane(reception.lane).arrived.push_back(arrived.row);
    if (phase.group->channel && !m_costs.ofReducer)
    {
        HandledLater(ChannelDelayPs(phase, arrived, reception), instance, reception.lane);
        return;
    }
    const int64_t delayPs = EndpointDelayPs(phase);
    if (!reception.reduces)
    {
        HandledLater(delayPs, instance, reception.lane);
        return;
    }
    const uint64_t bytes = phase.schedule->RowBytes(arrived.row, phase.bytes);
    const auto accessNs = static_cast<int64_t>(bytes / m_costs.reductionBytesPerNs);
    const int64_t costPs = REDUCTION_MEMORY_ACCESSES * accessNs * FABRIC_PS_PER_NS;
    // A reduction is an event of its own even if it takes no time, as in ASTRA-sim 1.0: that
    // decides ties.
    GetClock().Schedule(delayPs,
                        "an NPU",
                        MakeEvent([this, instance, costPs, lane = reception.lane]() {
                            HandledLater(costPs, instance, lane);
                        }));
}

int64_t
CollectiveApplication::ChannelDelayPs(Phase& phase,
                                      const Early& arrived,
                                      const CollectiveSchedule::Reception& reception)
{
    if (reception.isSignal)
    {
        return 0;
    }
    const ChannelCosts& channel = *phase.group->channel;
    const bool isNear = channel.IsNear(reception.sender, phase.rank);
    const uint64_t copied = isNear ? channel.nearCopyBytesPerMs : channel.farCopyBytesPerMs;
    int64_t copyPs = 0;
    if (copied > 0)
    {
        const uint64_t bytes = phase.schedule->RowBytes(arrived.row, phase.bytes);
        copyPs = static_cast<int64_t>(static_cast<unsigned __int128>(bytes) * PS_PER_MS / copied);
    }
    Lane& lane = phase.GetLane(reception.lane);
    const bool isWhole = !isNear && !channel.copiesAsItComes;
    const int64_t beginPs = std::max(isWhole ? arrived.arrivalPs : arrived.startPs, lane.freePs);
    const int64_t copiedPs = std::max(arrived.arrivalPs, beginPs + copyPs);
    lane.copiedPs = std::max(lane.copiedPs, copiedPs); // what comes in one step: side by side
    const int64_t handledPs = copiedPs + (isNear ? channel.nearPs : channel.farPs);
    return std::max<int64_t>(handledPs - FabricNowPs(), 0);
}

void
CollectiveApplication::HandledLater(int64_t delayPs, uint64_t instance, uint32_t lane)
{
    GetClock().Schedule(AwakeDelayPs(delayPs),
                        "a reduction",
                        new HandledEvent(*this, instance, lane));
}

FabricClock
CollectiveApplication::GetClock() const
{
    const Ptr<Node> node = GetNode();
    return FabricClock(node ? node->GetId() : 0);
}

uint32_t
CollectiveApplication::CountAwaited(const Phase& phase)
{
    uint64_t all = 0;
    uint64_t here = phase.early.size();
    for (uint32_t number = 0; number < phase.schedule->GetLanes(); ++number)
    {
        const Lane& lane = phase.GetLane(number);
        if (lane.slot < lane.slots)
        {
            all += phase.schedule->GetExpected(phase.rank, number, lane.slot) + lane.slots -
                   lane.slot - 1;
            here += lane.arrived.size();
        }
    }
    return static_cast<uint32_t>(all > here ? all - here : 0);
}

CollectiveApplication::Awaited
CollectiveApplication::CountAwaited(uint64_t delivered) const
{
    constexpr uint64_t MOST = std::numeric_limits<uint64_t>::max();
    Awaited least{MOST, MOST};
    for (const auto& [instance, phase] : m_phases)
    {
        if (phase.schedule)
        {
            const uint64_t messages = CountAwaited(phase);
            least.messages = std::min(least.messages, messages);
            least.bytes = std::min(least.bytes, messages * phase.leastBytes);
        }
    }
    // Of what is delivered all may belong to that phase, but for messages that are whole.
    const uint64_t parts = delivered - std::min(delivered, m_receivedBytes);
    least.bytes -= least.bytes == MOST ? 0 : std::min(least.bytes, parts);
    return least;
}

bool
CollectiveApplication::IsDone(const Phase& phase)
{
    return phase.started && phase.first.IsDone() &&
           std::all_of(phase.others.begin(), phase.others.end(), [](const Lane& lane) {
               return lane.IsDone();
           });
}

bool
CollectiveApplication::EndsWithNext(uint64_t instance, uint32_t lane) const
{
    const auto found = m_phases.find(instance);
    if (found == m_phases.end() || !found->second.started)
    {
        return false;
    }
    const Phase& phase = found->second;
    for (uint32_t number = 0; number < phase.schedule->GetLanes(); ++number)
    {
        if (number != lane && !phase.GetLane(number).IsDone())
        {
            return false;
        }
    }
    const Lane& last = phase.GetLane(lane);
    return last.nextSend == last.lastSend && last.slot + 1 == last.slots &&
           last.handled + 1 == phase.schedule->GetExpected(phase.rank, lane, last.slot);
}

void
CollectiveApplication::Handled(uint64_t instance, uint32_t number)
{
    Phase* const found = FindPhase(instance);
    if (!found)
    {
        return;
    }
    Phase& phase = *found;
    Lane& lane = phase.GetLane(number);
    lane.handled++;
    if (lane.handled == phase.schedule->GetExpected(phase.rank, number, lane.slot))
    {
        lane.slot++;
        lane.handled = 0;
        lane.freePs = lane.copiedPs;
        lane.arrived.clear();
        HandleEarly(instance, phase);
    }
    SendReady(instance, phase, lane);
    FinishIfDone(instance, phase);
}

void
CollectiveApplication::HandleEarly(uint64_t instance, Phase& phase)
{
    if (phase.early.empty())
    {
        return;
    }
    std::vector<Early> early;
    early.swap(phase.early);
    for (const Early& one : early)
    {
        const auto reception = phase.schedule->GetReception(one.row);
        if (reception.slot == phase.GetLane(reception.lane).slot)
        {
            Handle(instance, phase, one, reception);
        }
        else
        {
            phase.early.push_back(one);
        }
    }
}

void
CollectiveApplication::SendReady(uint64_t instance, Phase& phase, Lane& lane)
{
    if (!phase.started)
    {
        return;
    }
    while (lane.nextSend != lane.lastSend && !phase.abandoned)
    {
        const CollectiveSchedule::Send& next = *lane.nextSend;
        const bool ready = next.waitSlot < lane.slot ||
                           (next.waitSlot == lane.slot && next.waitCount <= lane.handled);
        if (!ready)
        {
            return;
        }
        lane.nextSend++;
        SendRow(instance, phase, phase.schedule->TurnedFor(phase.rank, next));
    }
}

void
CollectiveApplication::SendRow(uint64_t instance,
                               const Phase& phase,
                               const CollectiveSchedule::Send& send)
{
    CollectiveMessage message;
    message.instance = instance;
    message.bytes = phase.schedule->MessageBytes(send.firstBlock, send.blockCount, phase.bytes);
    const CollectiveGroup& group = *phase.group;
    const ChannelCosts* channel = group.channel.get();
    message.channel = channel ? channel->channel : group.connections;
    const std::size_t npus = group.members.size() - group.reducers;
    if (group.reducers > 0 && (!channel || std::max(phase.rank, send.receiver) >= npus))
    {
        // What goes up, what comes down and signals don't wait behind each other: each has
        // connections of its own.
        const auto reception = phase.schedule->GetReception(send.row);
        message.channel = 3 * message.channel + (reception.isSignal ? 2 : reception.lane % 2);
    }
    message.priority = group.priority;
    if (channel)
    {
        if (send.blockCount > 0)
        {
            const bool isNear = channel->IsNear(phase.rank, send.receiver);
            message.bytes = channel->WireBytes(message.bytes, isNear);
        }
    }
    message.startPs = FabricNowPs();
    message.row = send.row;
    message.sender = m_npu;
    message.receiver = phase.group->members[send.receiver];
    m_sentBytes += message.bytes;
    m_sentMessages++;
    m_transport->Send(message);
}

void
CollectiveApplication::FinishIfDone(uint64_t instance, Phase& phase)
{
    if (!phase.abandoned && IsDone(phase))
    {
        m_phases.erase(instance);
        m_listener->PhaseDone(m_npu, instance);
    }
}

int64_t
CollectiveApplication::EndpointDelayPs(const Phase& phase) const
{
    const int64_t ofGroup = phase.group->delayPs;
    return ofGroup < 0 || m_costs.ofReducer ? m_costs.delayPs : ofGroup;
}

std::vector<CollectiveApplication::Pending>
CollectiveApplication::GetPending(uint64_t instance) const
{
    std::vector<Pending> pending;
    const auto found = m_phases.find(instance);
    if (found == m_phases.end() || !found->second.schedule)
    {
        return pending;
    }
    const Phase& phase = found->second;
    const CollectiveSchedule& schedule = *phase.schedule;
    for (uint32_t row : schedule.GetReceivedRows(phase.rank))
    {
        const auto reception = schedule.GetReception(row);
        const Lane& lane = phase.GetLane(reception.lane);
        const bool isEarly = std::any_of(phase.early.begin(),
                                         phase.early.end(),
                                         [row](const Early& early) { return early.row == row; });
        const bool isHere =
            std::find(lane.arrived.begin(), lane.arrived.end(), row) != lane.arrived.end();
        if (reception.slot >= lane.slot && !isHere && !isEarly)
        {
            pending.push_back({phase.group->members[reception.sender],
                               m_npu,
                               schedule.GetStep(row),
                               schedule.RowBytes(row, phase.bytes),
                               true});
        }
    }
    for (uint32_t number = 0; number < schedule.GetLanes(); ++number)
    {
        const Lane& lane = phase.GetLane(number);
        for (const auto* next = lane.nextSend; next != lane.lastSend; ++next)
        {
            const auto send = schedule.TurnedFor(phase.rank, *next);
            pending.push_back({m_npu,
                               phase.group->members[send.receiver],
                               schedule.GetStep(send.row),
                               schedule.RowBytes(send.row, phase.bytes),
                               false});
        }
    }
    return pending;
}

uint64_t
CollectiveApplication::GetSentBytes() const
{
    return m_sentBytes;
}

uint64_t
CollectiveApplication::GetSentMessages() const
{
    return m_sentMessages;
}

uint64_t
CollectiveApplication::GetReceivedBytes() const
{
    return m_receivedBytes;
}

uint64_t
CollectiveApplication::GetReceivedMessages() const
{
    return m_receivedMessages;
}

} // namespace ns3
