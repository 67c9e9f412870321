// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "ns3/object.h"

#include <cstdint>
#include <vector>

namespace ns3
{

class FabricPort;

/**
 * One memory that all ports of a switch share; a frame that does not fit is dropped at the tail.
 *
 * Ports settle their departures lazily, so the count may be too high, never too low. It is made
 * exact only when it would refuse a frame.
 */
class FabricSharedBuffer : public Object
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /// \param port a port whose queue lies in this buffer
    void AddPort(FabricPort* port);
    /**
     * Reserve room for a frame that arrives now.
     * \param bytes its size in the buffer
     * \return whether it fits
     */
    bool Admit(uint32_t bytes);

    /// \param bytes size of a frame that has left
    void Release(uint32_t bytes)
    {
        m_usedBytes -= bytes;
    }

    /// \return bytes held now, exactly
    uint64_t GetUsedBytes();

  protected:
    void DoDispose() override;

  private:
    /// Let every port play the departures that are due.
    void SettlePorts();

    uint64_t m_capacityBytes{0};      //!< size
    uint64_t m_usedBytes{0};          //!< bytes held, but for departures not settled yet
    std::vector<FabricPort*> m_ports; //!< ports that share it
};

} // namespace ns3
