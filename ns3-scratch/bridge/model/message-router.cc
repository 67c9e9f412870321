// SPDX-License-Identifier: GPL-2.0-only
#include "message-router.h"

#include "transport-registry.h"

#include <algorithm>
#include <limits>
#include <map>
#include <stdexcept>

namespace astra_ns3
{

using namespace ns3;

namespace
{
/// \return a transport, which has read all that it is made from
std::unique_ptr<SessionTransport>
Make(const TransportEntry& entry, const TransportContext& context)
{
    PartDescription nothing;
    nothing.name = entry.name;
    const PartDescription* part = &nothing;
    for (const PartDescription& each : context.description.parts)
    {
        part = each.name == entry.name ? &each : part;
    }
    PartReader reader(*part);
    std::unique_ptr<SessionTransport> made = entry.make(context, reader);
    reader.Finish();
    return made;
}
} // namespace

MessageRouter::MessageRouter(const TransportContext& context)
    : m_hostOfNpu(context.description.hostOfNpu.begin(), context.description.hostOfNpu.end()),
      m_local(m_hostOfNpu.size(),
              context.description.local.rateBps,
              context.description.local.delayPs,
              context.listener)
{
    const auto& wanted = context.description.transports;
    std::map<std::string, MessageTransport*> made;
    for (const TransportEntry& entry : ListTransports())
    {
        if (std::any_of(wanted.begin(), wanted.end(), [&entry](const TransportDimension& each) {
                return each.transport == entry.name;
            }))
        {
            m_transports.push_back(Make(entry, context));
            made[entry.name] = &m_transports.back()->GetMessages();
        }
    }
    for (const TransportDimension& dimension : wanted)
    {
        const auto found = made.find(dimension.transport);
        if (found == made.end())
        {
            throw std::invalid_argument("there is no transport '" + dimension.transport + "'");
        }
        m_dimensions.push_back({dimension.npus, found->second});
    }
}

MessageTransport&
MessageRouter::ChooseRemote(uint32_t sender, uint32_t receiver) const
{
    MessageTransport* found = m_dimensions.front().transport;
    if (m_transports.size() > 1)
    {
        for (const Dimension& dimension : m_dimensions)
        {
            if (sender % dimension.npus != receiver % dimension.npus)
            {
                found = dimension.transport;
            }
            sender /= dimension.npus;
            receiver /= dimension.npus;
        }
    }
    return *found;
}

void
MessageRouter::Send(const CollectiveMessage& message)
{
    if (m_hostOfNpu[message.sender] == m_hostOfNpu[message.receiver])
    {
        m_local.Send(message);
        return;
    }
    ChooseRemote(message.sender, message.receiver).Send(message);
}

bool
MessageRouter::MayOrderByHost() const
{
    return std::all_of(m_transports.begin(), m_transports.end(), [](const auto& transport) {
        return transport->MayOrderByHost();
    });
}

bool
MessageRouter::MayPlayHostsApart() const
{
    return std::all_of(m_transports.begin(), m_transports.end(), [](const auto& transport) {
        return transport->MayPlayHostsApart();
    });
}

bool
MessageRouter::MayPlayHostsOnThreads() const
{
    return std::all_of(m_transports.begin(), m_transports.end(), [](const auto& transport) {
        return transport->MayPlayHostsOnThreads();
    });
}

bool
MessageRouter::MayFail(uint32_t host, int64_t beforePs) const
{
    return std::any_of(m_transports.begin(), m_transports.end(), [=](const auto& transport) {
        return transport->MayFail(host, beforePs);
    });
}

uint32_t
MessageRouter::GetLeastWireBytes() const
{
    uint32_t least = std::numeric_limits<uint32_t>::max();
    for (const auto& transport : m_transports)
    {
        least = std::min(least, transport->GetLeastWireBytes());
    }
    return least;
}

uint32_t
MessageRouter::GetMostBytes() const
{
    uint32_t most = 0;
    for (const auto& transport : m_transports)
    {
        most = std::max(most, transport->GetMostBytes());
    }
    return most;
}

void
MessageRouter::AddTo(SessionStatistics& statistics) const
{
    for (const auto& transport : m_transports)
    {
        transport->AddTo(statistics);
    }
}

std::vector<TransportCounter>
MessageRouter::GetCounters() const
{
    std::vector<TransportCounter> counters;
    for (const auto& transport : m_transports)
    {
        const auto more = transport->GetCounters();
        counters.insert(counters.end(), more.begin(), more.end());
    }
    return counters;
}

} // namespace astra_ns3
