// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-detours.h"
#include "fabric-flow-hash.h"
#include "fabric-path-choice.h"
#include "fabric-port.h"
#include "fabric-routes.h"
#include "fabric-shared-buffer.h"

#include "ns3/object.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/**
 * An output-queued switch, aggregated to its Node: one shared buffer, any number of ports, a table
 * that gives for each destination host the set of ports to take, chosen by the frame's flow hash
 * and the switch's own seed, or by a FabricPathChoice.
 *
 * It stores a frame before it sends it on, or cuts through: ports whose far end it is, and which
 * announce heads (FabricPort::AnnounceHeads), hand it frames that can leave at once.
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

    /// \return all ports, by number
    const std::vector<Ptr<FabricPort>>& GetPorts() const
    {
        return m_ports;
    }

    /// \return the routing table, to fill and to read
    FabricRoutes& GetRoutes();
    /// \return the memory that all ports share
    Ptr<FabricSharedBuffer> GetBuffer() const;
    /// \param choice chooses between equal ways from now on
    void SetPathChoice(std::unique_ptr<FabricPathChoice> choice);
    /// The routing table has changed.
    void RoutesChanged();
    /// \return frames that had no route and were discarded; where no link goes down, anything but 0
    /// is an error of who built the table
    uint64_t GetUnroutedFrames() const;
    /// \param detours where frames go first; none: straight to their destination
    void UseDetours(std::shared_ptr<const FabricDetours> detours);
    /// \param frame a frame that is here, which is told if it goes straight on from now on
    /// \return the ports that lead on
    FabricRoutes::Ports FindWays(FabricFrame& frame) const;
    /**
     * \param frame a frame to send on
     * \param choices ports that lead on, at least one
     * \return the port it takes
     */
    uint32_t ChoosePort(const FabricFrame& frame, const FabricRoutes::Ports& choices);

    void ReceiveFrame(FabricFrame* frame, uint32_t port) override;
    bool AdmitHead(FabricFrame* frame, uint32_t port) override;
    void ReceiveHead(FabricFrame* frame, uint32_t port) override;

  protected:
    void DoDispose() override;

  private:
    std::vector<Ptr<FabricPort>> m_ports;           //!< the ports
    FabricRoutes m_routes;                          //!< routing table
    std::unique_ptr<FabricPathChoice> m_choice;     //!< chooses between equal ways; none: by hash
    std::shared_ptr<const FabricDetours> m_detours; //!< where frames go first, if not straight on
    Ptr<FabricSharedBuffer> m_buffer;               //!< memory of all queues
    uint32_t m_hashSeed{0};                         //!< makes the choices of switches independent
    uint64_t m_unroutedFrames{0};                   //!< frames without a route
    bool m_seesHeads{false};                        //!< heads of frames have been offered
};

} // namespace ns3
