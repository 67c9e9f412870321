// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "formula-message-transport.h"
#include "queued-message-transport.h"
#include "session-transport.h"

namespace astra_ns3
{

/// Messages that never meet.
class FormulaSessionTransport : public SessionTransport
{
  public:
    /// \param context what it is made from \param part its numbers
    FormulaSessionTransport(const TransportContext& context, PartReader& part);
    ns3::MessageTransport& GetMessages() override;

  private:
    ns3::AnalyticalGrid m_grid;               //!< the NPUs
    ns3::FormulaMessageTransport m_transport; //!< carries the messages
};

/// Messages that queue at links.
class QueuedSessionTransport : public SessionTransport
{
  public:
    /// \param context what it is made from \param part its numbers
    QueuedSessionTransport(const TransportContext& context, PartReader& part);
    ns3::MessageTransport& GetMessages() override;

  private:
    ns3::AnalyticalGrid m_grid;              //!< the NPUs
    ns3::QueuedMessageTransport m_transport; //!< carries the messages
};

} // namespace astra_ns3
