// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/tcp-socket-base.h"

#include <cstdint>

namespace ns3
{

/**
 * ns-3's TCP socket where segments and acknowledgements may overtake each other.
 *
 * TcpSocketBase (ns-3.44) ends the reaction to a mark (CA_CWR) by going back to CA_OPEN, but keeps
 * the duplicate acknowledgements that it has counted meanwhile. If the acknowledgement that ends it
 * reports a gap too, the next one counted is not the first, which TcpSocketBase asserts. RFC 6675,
 * section 5, has them reset by every cumulative acknowledgement, and so does this class.
 */
class FabricTcpSocket : public TcpSocketBase
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;

  protected:
    Ptr<TcpSocketBase> Fork() override;
    void ProcessAck(const SequenceNumber32& ackNumber,
                    bool scoreboardUpdated,
                    uint32_t currentDelivered,
                    const SequenceNumber32& oldHeadSequence,
                    bool receivedData) override;
};

} // namespace ns3
