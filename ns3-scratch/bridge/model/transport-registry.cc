// SPDX-License-Identifier: GPL-2.0-only
#include "transport-registry.h"

#include "analytical-session-transport.h"
#include "roce-session-transport.h"
#include "tcp-session-transport.h"

#include <array>

namespace astra_ns3
{

namespace
{
template <typename TRANSPORT>
std::unique_ptr<SessionTransport>
Make(const TransportContext& context)
{
    return std::make_unique<TRANSPORT>(context);
}

constexpr std::array<TransportEntry, 4> TRANSPORTS{{
    {"tcp", &Make<TcpSessionTransport>},
    {"roce", &Make<RoceSessionTransport>},
    {"formula", &Make<FormulaSessionTransport>},
    {"queues", &Make<QueuedSessionTransport>},
}};
} // namespace

std::span<const TransportEntry>
ListTransports()
{
    return TRANSPORTS;
}

} // namespace astra_ns3
