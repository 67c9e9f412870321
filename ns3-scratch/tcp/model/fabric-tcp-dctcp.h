// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/tcp-dctcp.h"

#include <cstdint>

namespace ns3
{

/**
 * ns-3's DCTCP, which also reacts to losses.
 *
 * TcpDctcp (ns-3.44) reduces its window by the share of marks whatever happened, so without marks a
 * loss costs nothing. RFC 8257, section 3.5, has a sender react to losses as conventional TCP does,
 * and so does this class.
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
