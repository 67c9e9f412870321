// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/channel.h"
#include "ns3/net-device.h"

#include <vector>

namespace ns3
{

/// The cable a host's NIC hangs on, for ns-3 code that asks a device for its channel. The ports
/// carry the frames.
class FabricChannel : public Channel
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();
    /// \param device a NIC on this cable
    void AddDevice(Ptr<NetDevice> device);
    std::size_t GetNDevices() const override;
    Ptr<NetDevice> GetDevice(std::size_t index) const override;

  protected:
    void DoDispose() override;

  private:
    std::vector<Ptr<NetDevice>> m_devices; //!< NICs on the cable
};

} // namespace ns3
