// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-changes.h"

#include <cstdint>

namespace astra_ns3
{

class FabricNetwork;

/**
 * How late ports tell what they have sent. A port tells of a frame when something looks at it, at
 * the latest before the frame arrives or when the window ends. So what several ports have sent is
 * not told in order of time, and the order hangs on where windows end. Who writes it down waits
 * until nothing earlier can be told, and sorts.
 */
class TellingDelay : public ns3::FabricRoutesListener
{
  public:
    /// \param fabric the network \param changes what changes its lines, or none; both outlive this
    TellingDelay(const FabricNetwork& fabric, ns3::FabricChanges* changes);

    void RoutesChanged() override;
    /// \return all that was sent before this has been told
    int64_t GetToldPs() const;

  private:
    const FabricNetwork& m_fabric; //!< the network
    int64_t m_longestPs{0};        //!< delay of a line so far
};

} // namespace astra_ns3
