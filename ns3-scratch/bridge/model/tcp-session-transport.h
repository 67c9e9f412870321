// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "probes.h"
#include "session-transport.h"
#include "tcp-message-transport.h"

#include <memory>
#include <vector>

namespace astra_ns3
{

/// Messages over ns-3's TCP, and a probe on each connection.
class TcpSessionTransport : public SessionTransport
{
  public:
    /// \param context what it is made from \param part its numbers
    TcpSessionTransport(const TransportContext& context, PartReader& part);
    ns3::MessageTransport& GetMessages() override;
    void AddTo(SessionStatistics& statistics) const override;
    std::vector<TransportCounter> GetCounters() const override;

  private:
    std::unique_ptr<ns3::TcpMessageTransport> m_transport;  //!< carries the messages
    std::vector<std::unique_ptr<ConnectionProbe>> m_probes; //!< one for each connection
};

} // namespace astra_ns3
