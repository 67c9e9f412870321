// SPDX-License-Identifier: GPL-2.0-only
#include "roce-congestion-control.h"

namespace ns3
{

RoceControlParameters::RoceControlParameters() = default;
RoceControlParameters::~RoceControlParameters() = default;
RoceControlParameters::RoceControlParameters(const RoceControlParameters& other) = default;
RoceControlParameters& RoceControlParameters::operator=(const RoceControlParameters& other) =
    default;

void
RoceControlParameters::Set(const std::string& name, double value)
{
    m_values[name] = value;
}

double
RoceControlParameters::Get(std::string_view name, double fallback) const
{
    const auto found = m_values.find(name);
    return found == m_values.end() ? fallback : found->second;
}

} // namespace ns3
