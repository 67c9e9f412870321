// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-message-transport.h"
#include "session-transport.h"

#include <memory>

namespace astra_ns3
{

/// Messages over RoCE queue pairs.
class RoceSessionTransport : public SessionTransport
{
  public:
    /// \param context what it is made from
    explicit RoceSessionTransport(const TransportContext& context);
    ns3::MessageTransport& GetMessages() override;
    void AddTo(SessionStatistics& statistics) const override;

  private:
    std::unique_ptr<ns3::RoceMessageTransport> m_transport; //!< carries the messages
};

} // namespace astra_ns3
