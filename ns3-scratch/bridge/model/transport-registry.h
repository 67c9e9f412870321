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

/// A transport.
struct TransportEntry
{
    const char* name; //!< in descriptions
    bool ethernet;    //!< its captured packets begin with the Ethernet header, not IP's
    std::unique_ptr<SessionTransport> (*make)(const TransportContext&, PartReader&); //!< makes one
};

/// \return all transports, in the order in which a session makes them
std::span<const TransportEntry> ListTransports();

} // namespace astra_ns3
