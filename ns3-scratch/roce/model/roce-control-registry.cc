// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-registry.h"

#include "roce-control-dcqcn.h"
#include "roce-control-dctcp.h"
#include "roce-control-hpcc-pint.h"
#include "roce-control-hpcc.h"
#include "roce-control-none.h"
#include "roce-control-static-window.h"
#include "roce-control-swift.h"
#include "roce-control-timely.h"

#include <array>
#include <stdexcept>

namespace ns3
{

namespace
{
/// \return what makes controls of that class; the parameters are read once
template <typename T>
RoceControlFactory
Make(const RoceControlParameters& parameters)
{
    return [first = T(parameters)] { return std::make_unique<T>(first); };
}

/// A name and what it stands for.
struct Entry
{
    const char* name;                                         //!< its name
    RoceControlFactory (*make)(const RoceControlParameters&); //!< makes what makes them
};

constexpr std::array CONTROLS{
    Entry{"none", Make<RoceControlNone>},
    Entry{"static-window", Make<RoceControlStaticWindow>},
    Entry{"dcqcn", Make<RoceControlDcqcn>},
    Entry{"timely", Make<RoceControlTimely>},
    Entry{"dctcp", Make<RoceControlDctcp>},
    Entry{"hpcc", Make<RoceControlHpcc>},
    Entry{"hpcc-pint", Make<RoceControlHpccPint>},
    Entry{"swift", Make<RoceControlSwift>},
};
} // namespace

RoceControlFactory
MakeRoceControlFactory(const std::string& name, const RoceControlParameters& parameters)
{
    std::string known;
    for (const Entry& entry : CONTROLS)
    {
        if (name == entry.name)
        {
            return entry.make(parameters);
        }
        known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    throw std::invalid_argument("congestion control '" + name + "' is not one of " + known);
}

std::unique_ptr<RoceCongestionControl>
MakeRoceControl(const std::string& name, const RoceControlParameters& parameters)
{
    return MakeRoceControlFactory(name, parameters)();
}

std::vector<std::string>
ListRoceControls()
{
    std::vector<std::string> names;
    for (const Entry& entry : CONTROLS)
    {
        names.emplace_back(entry.name);
    }
    return names;
}

} // namespace ns3
