// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"
#include "flow-shares.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace ns3
{

/// What a switch has room for.
struct FlowRoom
{
    bool lossless{false};       //!< it stops a neighbour, else it loses packets
    double shared{0.0};         //!< bytes that all ports share
    double own{0.0};            //!< bytes that each port has besides
    std::vector<double> alphas; //!< of each port, how many times the free shared bytes it may have
};

/// Bytes that are there, and become more or less.
struct FlowLevel
{
    double bytes{0.0};  //!< at this time
    double rate{0.0};   //!< bytes per picosecond, more from then on
    int64_t sincePs{0}; //!< the time

    /// \param nowPs the time now
    void Settle(int64_t nowPs)
    {
        bytes = std::max(bytes + rate * static_cast<double>(nowPs - sincePs), 0.0);
        sincePs = nowPs;
    }
};

/**
 * Bytes that would wait in switches, and whether there is room for them: where there isn't, packets
 * would be lost, or neighbours would be stopped, of which flows know nothing. A switch that loses
 * packets has a limit for each port that they leave by; one that stops neighbours has a limit for
 * each port that they come in by.
 */
class FlowRooms
{
  public:
    static constexpr uint32_t NOWHERE = FlowShares::NONE; //!< no link

    struct Room;

    /// What counts at a port.
    struct Gate
    {
        Room* room{nullptr}; //!< its switch
        double alpha{0.0};   //!< of the port
        FlowLevel level;     //!< bytes that count
        bool full{false};    //!< there was no room
    };

    /// A switch.
    struct Room
    {
        FlowRoom room;           //!< what there is
        FlowLevel level;         //!< bytes that wait in it
        std::vector<Gate> gates; //!< by port, and one of what counts at no port
    };

    /// \param hosts how many nodes before the switches \param rooms of the switches
    FlowRooms(uint32_t hosts, const std::vector<FlowRoom>& rooms);

    /// \param port of the next link, or none
    void AddLink(const FabricPort* port);
    /// \param link a link \param forth links of a flow \param bytes of it, more in front of the
    /// link
    void Put(uint32_t link, std::span<const FlowUse> forth, double bytes);
    /// See whether there is room for all that was put.
    void LookAtPut();
    /// \param link a link \param from the link by which bytes come, or NOWHERE \return where
    /// they count in front of the link, or none
    Gate* FindGate(uint32_t link, uint32_t from);
    /// \param gate where bytes count, or none \param rate more bytes per picosecond from now on
    /// \param nowPs the time
    void Grow(Gate* gate, double rate, int64_t nowPs);

    /// \param lossless of which switches \return at how many ports there was no room
    uint64_t GetFull(bool lossless) const
    {
        return m_full[lossless];
    }

  private:
    static constexpr double LEAST_RATE = 1e-12; //!< bytes per picosecond; less is rounding

    /// A link.
    struct Link
    {
        FabricPortPlace out;  //!< the port that sends on it
        FabricPortPlace into; //!< the port at its end
    };

    /// See whether there is room at a port.
    void Look(Gate& gate);

    uint32_t m_hosts;                 //!< nodes before the switches
    std::vector<Room> m_rooms;        //!< of the switches
    std::vector<Link> m_links;        //!< by number
    std::vector<Gate*> m_put;         //!< ports to look at
    std::array<uint64_t, 2> m_full{}; //!< ports without room, by whether switches are lossless
};

} // namespace ns3
