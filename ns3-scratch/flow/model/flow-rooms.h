// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// What would stand in front of links, and whether switches have room for it: where they don't,
/// packets would be lost, of which flows know nothing.
class FlowRooms
{
  public:
    /// \param hosts how many nodes before the switches \param bytes that each switch has room for,
    /// or 0 if it loses nothing
    FlowRooms(uint32_t hosts, std::vector<uint64_t> bytes);

    /// \param port of the next link, or none
    void AddLink(const FabricPort* port);
    /// \param link a link \param more bytes that stand in front of it from now on
    void Change(uint32_t link, double more);

    /// \return in front of how many links something would have been lost
    uint64_t GetFull() const
    {
        return m_full;
    }

  private:
    static constexpr uint32_t NOWHERE = 0; //!< stands for all that loses nothing

    /// A switch's memory.
    struct Room
    {
        double bytes{0.0};    //!< there are
        double standing{0.0}; //!< are taken
    };

    /// A link.
    struct Link
    {
        uint32_t room; //!< of its switch
        bool full;     //!< something would have been lost
    };

    uint32_t m_hosts;          //!< nodes before the switches
    std::vector<Room> m_rooms; //!< of the switches, behind one for all else
    std::vector<Link> m_links; //!< by number
    uint64_t m_full{0};        //!< links at which something would have been lost
};

} // namespace ns3
