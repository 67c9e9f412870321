// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-congestion-control.h"

namespace ns3
{

/// No congestion control: line rate and the configured window, whatever comes. Only PFC slows it.
class RoceControlNone : public RoceCongestionControl
{
  public:
    /// \param parameters none is read
    explicit RoceControlNone(const RoceControlParameters& parameters);
    bool IsLikeNew() const override;
};

} // namespace ns3
