// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "flow-message-transport.h"
#include "session-transport.h"

#include <memory>

namespace astra_ns3
{

/// Messages as flows that share the network's links, whichever transports it has.
class FlowSessionTransport : public SessionTransport
{
  public:
    /// \param context what it is made from \param part its numbers
    FlowSessionTransport(const TransportContext& context, PartReader& part);
    ns3::MessageTransport& GetMessages() override;
    std::vector<TransportCounter> GetCounters() const override;

  private:
    std::unique_ptr<ns3::FlowMessageTransport> m_transport; //!< carries the messages
};

} // namespace astra_ns3
