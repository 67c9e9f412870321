// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-congestion-control.h"

namespace ns3
{

/**
 * Line rate within a window that never changes: the configured one, or the bandwidth-delay product
 * of the path where none is configured.
 */
class RoceControlStaticWindow : public RoceCongestionControl
{
  public:
    /// \param parameters none is read; the window is the queue pair's
    explicit RoceControlStaticWindow(const RoceControlParameters& parameters);

    // Inherited
    void Start(RoceSender& sender) override;
    bool IsLikeNew() const override;
};

} // namespace ns3
