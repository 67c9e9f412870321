// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-none.h"

namespace ns3
{

RoceControlNone::RoceControlNone(const RoceControlParameters& parameters)
{
    (void)parameters;
}

bool
RoceControlNone::IsLikeNew() const
{
    return true;
}

} // namespace ns3
