// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/tcp-dctcp.h"

#include <cstdint>

namespace ns3
{

/**
 * ns-3's DCTCP, that answers a loss as other TCP does.
 *
 * TcpDctcp (ns-3.44) takes the share of marked bytes off the window after losses, too; without
 * marks, that is nothing, so no loss slows a connection. RFC 8257, section 3.5, has a loss answered
 * as in conventional TCP; so does this class, as ns-3's LinuxReno.
 */
class FabricTcpDctcp : public TcpDctcp
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    uint32_t GetSsThresh(Ptr<const TcpSocketState> tcb, uint32_t bytesInFlight) override;
    Ptr<TcpCongestionOps> Fork() override;
};

} // namespace ns3
