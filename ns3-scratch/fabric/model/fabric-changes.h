// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-ecn-marker.h"
#include "fabric-net-device.h"
#include "fabric-port.h"
#include "fabric-shared-buffer.h"
#include "fabric-switch.h"

#include "ns3/event-id.h"

#include <cstdint>
#include <variant>
#include <vector>

namespace ns3
{

/// Hears that a network has changed: ports that were chosen, paths that were found and what was
/// worked out of their rates and delays may be wrong from now on.
class FabricRoutesListener
{
  public:
    virtual ~FabricRoutesListener() = default;
    /// Links or tables have changed; links that come up at this time are not up yet.
    virtual void RoutesChanged() = 0;
};

/// What a link is like from a time on, in both directions.
struct FabricLinkState
{
    uint32_t link{0};      //!< its number
    bool up{true};         //!< whether it carries anything
    uint64_t rateBps{0};   //!< rate of its lines
    int64_t delayPs{0};    //!< propagation delay
    double errorRate{0.0}; //!< probability that a frame is lost
    bool silent{false};    //!< it is up, and loses all that it is sent
    uint8_t storm{0};      //!< bit p is set: the host at its end has the switch stop priority p
};

/// When a port of a switch marks packets from a time on, if it marks any.
struct FabricMarkingState
{
    uint32_t node{0};      //!< number of the switch's node
    uint32_t port{0};      //!< number of its port
    uint64_t kminBytes{0}; //!< nothing is marked up to this queue
    uint64_t kmaxBytes{0}; //!< all is marked above this queue
    double pmax{1.0};      //!< probability of a mark just below
};

/// What the memory of a switch is like from a time on.
struct FabricBufferState
{
    uint32_t node{0};              //!< number of the switch's node
    uint64_t capacityBytes{0};     //!< its size
    uint64_t reserveBytes{0};      //!< of each ingress port and lossless priority
    uint64_t resumeOffsetBytes{0}; //!< an ingress queue goes on that far below its threshold
    std::vector<FabricSharedBuffer::PfcPort> ports; //!< of each port, by number, if PFC is used
};

/// What is different in a node's table from a time on: see FabricRoutes::ChangeGroups and SetLocal.
struct FabricRoutesDifference
{
    uint32_t node{0};                 //!< its number
    std::vector<uint32_t> groups;     //!< groups whose set changes
    std::vector<uint32_t> sets;       //!< the set of each, or FabricRoutes::LOCAL
    std::vector<uint32_t> setOffsets; //!< where the ports of each set begin, and their end
    std::vector<uint32_t> setPorts;   //!< their ports
    std::vector<uint32_t> localHosts; //!< all hosts joined to the node, one entry a link
    std::vector<uint32_t> localPorts; //!< port of each entry
};

/// All that changes in a network at one time.
struct FabricChange
{
    int64_t timePs{0};                          //!< when
    std::vector<FabricLinkState> links;         //!< links that change
    std::vector<FabricRoutesDifference> routes; //!< tables that change
    std::vector<FabricMarkingState> markings{}; //!< switches that mark otherwise
    std::vector<FabricBufferState> buffers{};   //!< switches with other memory
};

/**
 * Changes a network at given times: links go down and come up, their rate, delay and error rate
 * change, and so do the tables of the nodes. A switch or a host goes down with all its links.
 *
 * At one time this is the order: what is due to depart departs; links go down, all at once, and
 * what was in their ports and on them is lost, link by link; rates, delays and error rates change,
 * and links become silent or carry frames again, then the tables; listeners hear of it; links come
 * up; marking changes, then memories of switches, which stop and resume their neighbours at once.
 */
class FabricChanges
{
  public:
    FabricChanges() = default;
    ~FabricChanges();
    FabricChanges(const FabricChanges&) = delete;
    FabricChanges& operator=(const FabricChanges&) = delete;

    /// \param forth the sending half at one end of a new link \param back that at the other end
    void AddLink(Ptr<FabricPort> forth, Ptr<FabricPort> back);
    /// \param device a new node: the NIC of a host, or none
    void AddHost(Ptr<FabricNetDevice> device);
    /// \param fabricSwitch a new node
    void AddSwitch(Ptr<FabricSwitch> fabricSwitch);
    /// \param port a port of a switch \param marker marks there
    void AddMarker(Ptr<FabricPort> port, Ptr<FabricEcnMarker> marker);
    /// \param listener hears of all changes from now on, after those added before; it must outlive
    /// the simulation
    void AddListener(FabricRoutesListener* listener);
    /**
     * Change something later. Scheduled before anything else, it comes first in its picosecond but
     * for departures.
     * \param change what and when, not before the present
     * \throw std::invalid_argument if a link, node, group, set or port does not exist
     */
    void Schedule(const FabricChange& change);
    /// \param change what to change now
    void Apply(const FabricChange& change);

  private:
    /// The two directions of a link.
    struct Link
    {
        Ptr<FabricPort> forth; //!< one
        Ptr<FabricPort> back;  //!< the other
        uint8_t storm{0};      //!< priorities that its host stops for ever
    };

    /// A marker and where it is.
    struct Marker
    {
        Ptr<FabricPort> port;        //!< its port
        Ptr<FabricEcnMarker> marker; //!< marks there
    };

    using Node = std::variant<Ptr<FabricNetDevice>, Ptr<FabricSwitch>>;

    /// Raise an error if what changes does not exist.
    void Check(const FabricChange& change) const;
    /// Raise an error if a switch would have memory that it can't have.
    void CheckBuffer(const FabricBufferState& state) const;
    /// Raise an error if a table would name what does not exist.
    void CheckRoutes(const FabricRoutesDifference& routes) const;
    /// Take down all links that go down, and lose what is in them.
    void TakeDown(const std::vector<FabricLinkState>& links);
    /// Change rate, delay, error rate and silence of a direction.
    void ChangeLine(const FabricLinkState& state, FabricPort& port);
    /// Have the host at the end of a link stop priorities of the switch, or let them go on.
    void ChangeStorm(const FabricLinkState& state);
    /// Change when a port marks.
    void ChangeMarking(const FabricMarkingState& state);
    /// Change the memory of a switch.
    void ChangeBuffer(const FabricBufferState& state);
    /// \return the memory of a switch, or none \param node its number
    FabricSharedBuffer* FindBuffer(uint32_t node) const;
    /// \param state of a memory \param buffer the memory \return its flow control from then on
    static FabricPfc PfcOf(const FabricBufferState& state, const FabricSharedBuffer& buffer);
    /// Change a table.
    void ChangeRoutes(const FabricRoutesDifference& routes);

    std::vector<Link> m_links;                      //!< by number
    std::vector<Node> m_nodes;                      //!< by number
    std::vector<Marker> m_markers;                  //!< of all switches
    std::vector<FabricRoutesListener*> m_listeners; //!< in the order in which they hear
    std::vector<EventId> m_events;                  //!< what is scheduled
};

} // namespace ns3
