// SPDX-License-Identifier: GPL-2.0-only
#include "transport-registry.h"

#include "analytical-session-transport.h"
#include "flow-session-transport.h"
#include "roce-session-transport.h"
#include "tcp-session-transport.h"

#include <array>

namespace astra_ns3
{

namespace
{
template <typename TRANSPORT>
std::unique_ptr<SessionTransport>
Make(const TransportContext& context, PartReader& part)
{
    return std::make_unique<TRANSPORT>(context, part);
}

constexpr std::array<TransportEntry, 5> TRANSPORTS{{
    {"tcp", false, &Make<TcpSessionTransport>},
    {"roce", true, &Make<RoceSessionTransport>},
    {"formula", false, &Make<FormulaSessionTransport>},
    {"queues", false, &Make<QueuedSessionTransport>},
    {"flow", false, &Make<FlowSessionTransport>},
}};
} // namespace

std::span<const TransportEntry>
ListTransports()
{
    return TRANSPORTS;
}

} // namespace astra_ns3
