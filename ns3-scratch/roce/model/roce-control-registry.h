// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Congestion controls by name.
 */
#pragma once

#include "roce-congestion-control.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/// Makes congestion controls that are all alike.
using RoceControlFactory = std::function<std::unique_ptr<RoceCongestionControl>()>;

/**
 * \param name name of a congestion control
 * \param parameters its parameters; what is absent has the default of the class
 * \return makes one for each queue pair
 * \throws std::invalid_argument that names them all if there is none of that name
 */
RoceControlFactory MakeRoceControlFactory(const std::string& name,
                                          const RoceControlParameters& parameters);

/**
 * \param name name of a congestion control
 * \param parameters its parameters; what is absent has the default of the class
 * \return a congestion control for one queue pair
 * \throws std::invalid_argument that names them all if there is none of that name
 */
std::unique_ptr<RoceCongestionControl> MakeRoceControl(const std::string& name,
                                                       const RoceControlParameters& parameters);

/// \return the names, in the order of the documentation
std::vector<std::string> ListRoceControls();

} // namespace ns3
