// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "collective-executor.h"
#include "fabric-host-group.h"
#include "fabric-network.h"
#include "message-router.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace astra_ns3
{

/// Hosts that are played by themselves: foresees in which windows a phase may end at one of them,
/// or its transport may fail.
class HostGroups
{
  public:
    /**
     * \param windows how nodes are played
     * \param hostOfNpu host of each NPU; no host has two
     * \param fabric has the hosts
     * \param executor plays the phases
     * \param router has the transports
     */
    HostGroups(const FabricNetwork::Windows& windows,
               const std::vector<uint32_t>& hostOfNpu,
               const FabricNetwork& fabric,
               const CollectiveExecutor& executor,
               const MessageRouter& router);
    ~HostGroups();
    /// \return the groups, by number from 1 on
    std::vector<ns3::FabricHostGroup*> GetAll() const;

  private:
    class Group;

    std::vector<std::unique_ptr<Group>> m_groups; //!< by number from 1 on
};

} // namespace astra_ns3
