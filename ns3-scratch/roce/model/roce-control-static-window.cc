// SPDX-License-Identifier: GPL-2.0-only
#include "roce-control-static-window.h"

namespace ns3
{

RoceControlStaticWindow::RoceControlStaticWindow(const RoceControlParameters& parameters)
{
    (void)parameters;
}

void
RoceControlStaticWindow::Start(RoceSender& sender)
{
    if (sender.GetWindowBytes() == 0)
    {
        sender.SetWindowBytes(sender.GetBandwidthDelayBytes());
    }
}

bool
RoceControlStaticWindow::IsLikeNew() const
{
    return true;
}

} // namespace ns3
