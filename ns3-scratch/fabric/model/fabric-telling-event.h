// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/event-impl.h"

namespace ns3
{

/// An event that may do nothing but tell a listener of something. Those of one moment that follow
/// each other can be told of at once, after the last of them: in between nothing is scheduled.
class FabricTellingEvent : public EventImpl
{
  public:
    /// \return whether that is all it would do now
    virtual bool OnlyTells() const = 0;
};

} // namespace ns3
