// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace ns3
{

/// What a FabricSimulator has to know of hosts that it plays by themselves.
class FabricHostGroup
{
  public:
    virtual ~FabricHostGroup() = default;
    /**
     * Called when a window begins in which the hosts have something to do.
     * \param endPs when it ends
     * \return whether the hosts may act on more than themselves and what they send into the
     * network, or tell somebody who does, before that
     */
    virtual bool MayTell(int64_t endPs) = 0;
};

} // namespace ns3
