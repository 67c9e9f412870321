// SPDX-License-Identifier: GPL-2.0-only
#include "collective-application.h"

#include "fabric-telling-event.h"

#include "ns3/abort.h"
#include "ns3/make-event.h"
#include "ns3/node.h"

#include <algorithm>
#include <limits>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(CollectiveApplication);

namespace
{
constexpr int64_t PS_PER_NS = 1'000;
constexpr std::size_t FEW_MEMBERS = 8;           // of a group that is searched through
constexpr int64_t REDUCTION_MEMORY_ACCESSES = 3; // two reads and a write
} // namespace

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
    /// \param npu whose reception \param instance of which phase
    HandledEvent(CollectiveApplication& npu, uint64_t instance)
        : m_npu(npu),
          m_instance(instance)
    {
    }

    bool OnlyTells() const override
    {
        return m_npu.EndsWithNext(m_instance);
    }

  private:
    void Notify() override
    {
        m_npu.Handled(m_instance);
    }

    CollectiveApplication& m_npu; //!< whose reception
    uint64_t m_instance;          //!< of which phase
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
CollectiveApplication::DoDispose()
{
    m_phases.clear();
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
    phase.nextSend = schedule->SendsBegin(phase.rank);
    phase.lastSend = schedule->SendsEnd(phase.rank);
    phase.leastBytes = schedule->LeastBytes(bytes);
    phase.schedule = std::move(schedule);
    phase.group = std::move(group);
    phase.bytes = bytes;
    // Always an event, even without delay: the caller is told of the end only after Launch has
    // returned.
    GetClock().Schedule(EndpointDelayPs(phase),
                        "an NPU",
                        MakeEvent(&CollectiveApplication::Start, this, instance));
    HandleEarly(instance, phase);
}

void
CollectiveApplication::Start(uint64_t instance)
{
    Phase& phase = m_phases.at(instance);
    phase.started = true;
    SendReady(instance, phase);
    FinishIfDone(instance, phase);
}

void
CollectiveApplication::Receive(const CollectiveMessage& message)
{
    m_receivedBytes += message.bytes;
    m_receivedMessages++;
    Phase& phase = m_phases[message.instance];
    if (phase.schedule)
    {
        const auto reception = phase.schedule->GetReception(message.row);
        if (reception.slot == phase.slot)
        {
            Handle(message.instance, phase, message.row, reception.reduces);
            return;
        }
    }
    phase.early.push_back(message.row);
}

void
CollectiveApplication::Handle(uint64_t instance, Phase& phase, uint32_t row, bool reduces)
{
    phase.arrived.push_back(row);
    const int64_t delayPs = EndpointDelayPs(phase);
    if (!reduces)
    {
        HandledLater(delayPs, instance);
        return;
    }
    const uint64_t bytes = phase.schedule->RowBytes(row, phase.bytes);
    const auto accessNs = static_cast<int64_t>(bytes / m_costs.reductionBytesPerNs);
    const int64_t costPs = REDUCTION_MEMORY_ACCESSES * accessNs * PS_PER_NS;
    // A reduction is an event of its own even if it takes no time, as in ASTRA-sim 1.0: that
    // decides ties.
    GetClock().Schedule(delayPs, "an NPU", MakeEvent([this, instance, costPs]() {
                            HandledLater(costPs, instance);
                        }));
}

void
CollectiveApplication::HandledLater(int64_t delayPs, uint64_t instance)
{
    GetClock().Schedule(delayPs, "a reduction", new HandledEvent(*this, instance));
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
    const uint32_t slots = phase.schedule->GetSlots(phase.rank);
    if (phase.slot == slots)
    {
        return 0;
    }
    const uint64_t all =
        phase.schedule->GetExpected(phase.rank, phase.slot) + slots - phase.slot - 1;
    const uint64_t here = phase.arrived.size() + phase.early.size();
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
CollectiveApplication::EndsWithNext(uint64_t instance) const
{
    const auto found = m_phases.find(instance);
    if (found == m_phases.end())
    {
        return false;
    }
    const Phase& phase = found->second;
    return phase.started && phase.nextSend == phase.lastSend &&
           phase.slot + 1 == phase.schedule->GetSlots(phase.rank) &&
           phase.handled + 1 == phase.schedule->GetExpected(phase.rank, phase.slot);
}

void
CollectiveApplication::Handled(uint64_t instance)
{
    Phase& phase = m_phases.at(instance);
    phase.handled++;
    if (phase.handled == phase.schedule->GetExpected(phase.rank, phase.slot))
    {
        phase.slot++;
        phase.handled = 0;
        phase.arrived.clear();
        HandleEarly(instance, phase);
    }
    SendReady(instance, phase);
    FinishIfDone(instance, phase);
}

void
CollectiveApplication::HandleEarly(uint64_t instance, Phase& phase)
{
    if (phase.early.empty())
    {
        return;
    }
    std::vector<uint32_t> early;
    early.swap(phase.early);
    for (uint32_t row : early)
    {
        const auto reception = phase.schedule->GetReception(row);
        if (reception.slot == phase.slot)
        {
            Handle(instance, phase, row, reception.reduces);
        }
        else
        {
            phase.early.push_back(row);
        }
    }
}

void
CollectiveApplication::SendReady(uint64_t instance, Phase& phase)
{
    if (!phase.started)
    {
        return;
    }
    while (phase.nextSend != phase.lastSend)
    {
        const CollectiveSchedule::Send& next = *phase.nextSend;
        const bool ready = next.waitSlot < phase.slot ||
                           (next.waitSlot == phase.slot && next.waitCount <= phase.handled);
        if (!ready)
        {
            return;
        }
        const CollectiveSchedule::Send send = phase.schedule->TurnedFor(phase.rank, next);
        phase.nextSend++;
        CollectiveMessage message;
        message.instance = instance;
        message.bytes = phase.schedule->MessageBytes(send.firstBlock, send.blockCount, phase.bytes);
        message.startPs = FabricNowPs();
        message.row = send.row;
        message.sender = m_npu;
        message.receiver = phase.group->members[send.receiver];
        m_sentBytes += message.bytes;
        m_sentMessages++;
        m_transport->Send(message);
    }
}

void
CollectiveApplication::FinishIfDone(uint64_t instance, Phase& phase)
{
    const bool allSent = phase.started && phase.nextSend == phase.lastSend;
    if (allSent && phase.slot == phase.schedule->GetSlots(phase.rank))
    {
        m_phases.erase(instance);
        m_listener->PhaseDone(m_npu, instance);
    }
}

int64_t
CollectiveApplication::EndpointDelayPs(const Phase& phase) const
{
    const int64_t ofGroup = phase.group->delayPs;
    return ofGroup < 0 ? m_costs.delayPs : ofGroup;
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
        const auto has = [row](const std::vector<uint32_t>& rows) {
            return std::find(rows.begin(), rows.end(), row) != rows.end();
        };
        if (reception.slot >= phase.slot && !has(phase.arrived) && !has(phase.early))
        {
            pending.push_back({phase.group->members[reception.sender],
                               m_npu,
                               schedule.GetStep(row),
                               schedule.RowBytes(row, phase.bytes),
                               true});
        }
    }
    for (const auto* next = phase.nextSend; next != phase.lastSend; ++next)
    {
        const auto send = schedule.TurnedFor(phase.rank, *next);
        pending.push_back({m_npu,
                           phase.group->members[send.receiver],
                           schedule.GetStep(send.row),
                           schedule.RowBytes(send.row, phase.bytes),
                           false});
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
