// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"
#include "fabric-shared-buffer.h"

#include "ns3/object.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * An output-queued switch, aggregated to its Node: one shared buffer, any number of ports, a table
 * that gives for each destination host the set of ports to take, chosen by the frame's flow hash
 * and the switch's own seed.
 */
class FabricSwitch : public Object, public FabricReceiver
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /**
     * \param port a new port, which gets the next number
     * \return its number
     */
    uint32_t AddPort(Ptr<FabricPort> port);
    /// \return how many ports there are
    uint32_t GetNPorts() const;
    /**
     * \param port its number
     * \return the port
     */
    Ptr<FabricPort> GetPort(uint32_t port) const;
    /**
     * Fill the routing table.
     * \param offsets one more than hosts: where the ports of each destination begin in `ports`
     * \param ports port numbers, one after the other
     */
    void SetRoutes(std::vector<uint32_t> offsets, std::vector<uint32_t> ports);
    /// \return frames that had no route and were discarded; anything but 0 is an error of who built
    /// the table
    uint64_t GetUnroutedFrames() const;

    void ReceiveFrame(FabricFrame* frame, uint32_t port) override;

  protected:
    void DoDispose() override;

  private:
    std::vector<Ptr<FabricPort>> m_ports; //!< the ports
    std::vector<uint32_t> m_routeOffsets; //!< first entry of each destination
    std::vector<uint32_t> m_routePorts;   //!< ports of all destinations
    Ptr<FabricSharedBuffer> m_buffer;     //!< memory of all queues
    uint32_t m_hashSeed{0};               //!< makes the choices of switches independent
    uint64_t m_unroutedFrames{0};         //!< frames without a route
};

} // namespace ns3
