// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "tcp-parameters.h"

#include "ns3/node.h"

#include <vector>

namespace astra_ns3
{

/**
 * Set the defaults of ns-3's TCP attributes. Config::Reset undoes it.
 * \param parameters what to set
 * \throw std::invalid_argument if the congestion control is no TypeId of ns-3
 */
void SetTcpDefaults(const TcpParameters& parameters);

/**
 * Give each host ns-3's IPv4 stack with TCP, host i the i-th address after `baseAddress`.
 * \param hosts hosts with one NIC each
 * \param baseAddress address of host 0, in host byte order
 */
void InstallTcpStack(const std::vector<ns3::Ptr<ns3::Node>>& hosts, uint32_t baseAddress);

} // namespace astra_ns3
