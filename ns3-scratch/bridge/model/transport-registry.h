// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Transports by name.
 */
#pragma once

#include "session-transport.h"

#include <memory>
#include <span>

namespace astra_ns3
{

/// A transport: its name, and the function that makes it.
struct TransportEntry
{
    const char* name;                                                   //!< in descriptions
    std::unique_ptr<SessionTransport> (*make)(const TransportContext&); //!< makes one
};

/// \return all transports, in the order in which a session makes them
std::span<const TransportEntry> ListTransports();

} // namespace astra_ns3
