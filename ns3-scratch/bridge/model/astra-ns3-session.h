// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * All that Python sees: plain numbers, arrays and one callback interface. No ns-3 header is
 * included here, so that it loads in a few hundredths of a second. Times are picoseconds, rates
 * bits per second, sizes bytes.
 */
#pragma once

#include "session-parameters.h"

#include <cstdint>
#include <memory>
#include <string>

namespace astra_ns3
{

/// \return version of this library, to be compared with that of the Python package
const char* GetLibraryVersion();
/// \return version of ns-3 this library was compiled against
const char* GetNs3Version();

/// What a simulation calls back; implemented in Python. What it throws comes out of Session::Run.
class SessionListener
{
  public:
    virtual ~SessionListener();
    /// NPU `npu` has finished its part of phase `instance`.
    virtual void PhaseDone(uint32_t npu, uint64_t instance, int64_t timePs) = 0;
    /// A timer set with Session::SetTimer is due.
    virtual void TimerDue(uint64_t token, int64_t timePs) = 0;
    /// About every 100 ms of wall time; `events` are those of the simulation so far.
    virtual void Heartbeat(int64_t timePs, uint64_t events) = 0;
    /// The rows recorded in `table` (RecordTableId) should be fetched; they are dropped when this
    /// returns.
    virtual void RecordsReady(uint32_t table) = 0;
};

/**
 * One simulation, from its network to its end. One at a time per process; its destructor resets
 * ns-3 completely.
 *
 * Order of calls: hosts, switches, links, routes, NPUs; then UseTcp or UseRoce and the other
 * settings; then Build; then everything else. Nodes are numbered hosts first, then switches, each
 * in the order added. What is out of range, or out of order, throws std::invalid_argument.
 */
class Session
{
  public:
    class Implementation;

    /// \param seed seed of all random numbers, above 0
    explicit Session(uint32_t seed);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// \param count hosts to add
    void AddHosts(uint32_t count);
    /**
     * \param bufferBytes its shared buffer
     * \param hashSeed makes its choices between equal paths its own
     */
    void AddSwitch(uint64_t bufferBytes, uint32_t hashSeed);
    /// \param parameters what the switch is like
    void AddSwitch(const SwitchParameters& parameters);
    /// Ports of all switches that have no marking of their own mark from now on: see
    /// FabricEcnMarker. Call before links are added.
    void UseMarking(uint64_t kminBytes, uint64_t kmaxBytes, double pmax);
    /// \param bytes buffer of a host's port; 0 is no limit. Call before links are added.
    void SetNicBuffer(uint64_t bytes);
    /// Join two nodes by a full-duplex link; each gets a port, numbered in the order of these
    /// calls.
    void AddLink(uint32_t nodeA, uint32_t nodeB, uint64_t rateBps, int64_t delayPs);
    /// The same with all that a link can have.
    void AddLink(uint32_t nodeA, uint32_t nodeB, const LinkParameters& parameters);
    /// \param roundingPs all transmission times are multiples of it; call before links are added
    void SetTimeRounding(int64_t roundingPs);
    /**
     * Fill a switch's table.
     * \param node the switch
     * \param offsets hosts + 1 numbers: where the ports of each destination host begin
     * \param ports the port numbers
     */
    void SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports);
    /// \param groups group of each host, for SetGroupRoutes
    void SetHostGroups(const uint32_t* groups, uint32_t hosts);
    /**
     * Fill a table by groups of hosts: see ns3::FabricRoutes.
     * \param node a switch, or a host with several ports
     * \param setOfGroup `groups` numbers: the set of ports towards each group, or 0xffffffff
     * \param groups how many
     * \param setOffsets `sets` + 1 numbers: where the ports of each set begin
     * \param sets how many
     * \param setPorts the port numbers
     * \param localHosts `locals` numbers: hosts of groups without a set
     * \param localPorts the port of each
     * \param locals how many
     */
    void SetGroupRoutes(uint32_t node,
                        const uint32_t* setOfGroup,
                        uint32_t groups,
                        const uint32_t* setOffsets,
                        uint32_t sets,
                        const uint32_t* setPorts,
                        const uint32_t* localHosts,
                        const uint32_t* localPorts,
                        uint32_t locals);
    /// \param parameters how all nodes choose between equal paths
    void UseRouting(const RoutingParameters& parameters);
    /**
     * Pin the path between two hosts, for ROUTE_BY_PIN.
     * \param fromHost where it begins
     * \param toHost where it ends
     * \param choices which of the ports that lead on: of the host, then of each switch of the path
     * \param count how many
     */
    void PinPath(uint32_t fromHost, uint32_t toHost, const uint32_t* choices, uint32_t count);
    /// \param names number of each node in the file it comes from, which older simulators hash
    void SetNodeNames(const uint32_t* names, uint32_t count);
    /// \param hostOfNpu host of each NPU
    void SetNpus(const uint32_t* hostOfNpu, uint32_t count);
    /// Messages between hosts travel over ns-3's TCP.
    void UseTcp(const TcpParameters& parameters);
    /// Messages between hosts travel over RoCE.
    void UseRoce(const RoceParameters& parameters);
    /// \param name which congestion control RoCE has: see ns3::MakeRoceControl
    void SetRoceControl(const char* name);
    /// \param factory address of a function `ns3::RoceCongestionControl* (const
    /// ns3::RoceControlParameters&)` that makes the user's own; it must outlive the session
    void SetRoceControlFactory(uint64_t factory);
    /// \param name a number for the congestion control \param value its value
    void SetRoceControlParameter(const char* name, double value);
    /// \param limitPs a port stopped by PFC for so long is looked at for deadlocks; 0: never
    void SetPauseWatchdog(int64_t limitPs);
    /**
     * Use several transports: that of the highest dimension in which sender and receiver differ.
     * \param sizes NPUs along each dimension, the innermost first
     * \param transports 0 TCP, 1 RoCE
     * \param count how many
     */
    void SetTransports(const uint32_t* sizes, const uint32_t* transports, uint32_t count);
    /// Messages travel by formula over a grid of NPUs, one to a host; call once per dimension, the
    /// innermost first.
    void AddAnalyticalDimension(const AnalyticalDimensionParameters& parameters);
    /**
     * Give each pair of places of a dimension a latency of its own, instead of that of its links.
     * \param dimension one that was added
     * \param classOfPlace class of each place
     * \param count places
     * \param latenciesNs of the links from one class to another together, by rows
     * \param classes how many classes
     */
    void SetAnalyticalLatencies(uint32_t dimension,
                                const uint32_t* classOfPlace,
                                uint32_t count,
                                const double* latenciesNs,
                                uint32_t classes);
    /// Messages queue at the links of the analytical network instead of never meeting.
    void UseAnalyticalQueues();
    /**
     * How the formula departs from the default: see ns3::FormulaMessageTransport::Options.
     * \param highestDimensionOnly charge only the highest dimension in which the ends differ
     * \param truncate whole nanoseconds after each addend
     * \param rendezvousBytes the receiver's request that each message waits for; 0 is none
     */
    void SetFormula(bool highestDimensionOnly, bool truncate, uint64_t rendezvousBytes);
    /// Messages inside a host: rate of an NPU's sending side, and delay.
    void SetLocal(uint64_t rateBps, int64_t delayPs);
    /// What an NPU spends on a message: see CollectiveApplication.
    void SetEndpoint(int64_t delayPs, uint64_t reductionBytesPerNs);
    /// Record every message in FLOW_RECORDS.
    void RecordFlows();
    /// \param quantities sum of ConnectionQuantity, recorded in CONNECTION_RECORDS
    void ObserveConnections(uint32_t quantities);
    /// \param quantities sum of QueuePairQuantity, recorded in QUEUE_PAIR_RECORDS on change or,
    /// with an interval above 0, at its multiples
    void ObserveQueuePairs(uint32_t quantities, int64_t intervalPs);
    /// Record in PAUSE_RECORDS what stops a port and lets it go on.
    void ObservePauses(uint32_t node, uint32_t port);
    /// Record in UTILISATION_RECORDS what a port sends in each interval.
    void ObserveUtilisation(uint32_t node, uint32_t port, int64_t intervalPs);
    /// Record the queue of a port in QUEUE_RECORDS, on change or, with an interval above 0, at its
    /// multiples.
    void ObserveQueue(uint32_t node, uint32_t port, int64_t intervalPs);
    /// Write what a port sends as pcap (nanosecond stamps): Ethernet with RoCE, else raw IP.
    void WritePcap(uint32_t node, uint32_t port, const char* path);
    /// Make all there is to make. \param listener told of what happens; it must outlive the session
    void Build(SessionListener* listener);

    /**
     * Hand over a schedule; the meaning of its columns is in astra_ns3/collectives/schedule.py.
     * \param ranks number of ranks
     * \param blocks parts the data is cut in
     * \param expansion size of the whole over that of one rank
     * \param messages number of rows
     * \param columns eight columns, one after the other, each `messages` long: sender, receiver,
     * step, first block, blocks, whether the receiver reduces, step waited for (or -1), receptions
     * of it waited for
     * \return its number for Launch
     */
    uint32_t RegisterSchedule(uint32_t ranks,
                              uint32_t blocks,
                              uint32_t expansion,
                              uint64_t messages,
                              const int32_t* columns);
    /// \return number of a group for Launch. \param npus the NPUs of ranks 0, 1, ...
    uint32_t RegisterGroup(const uint32_t* npus, uint32_t count);
    /// Begin an NPU's part of a phase now; see CollectiveApplication::Launch.
    void Launch(uint32_t npu, uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes);
    /// Have TimerDue called with `token` after `delayPs`.
    void SetTimer(uint32_t npu, int64_t delayPs, uint64_t token);
    /// \param limitPs simulated time at which to give up, or below 0. \return a RunStatus
    uint32_t Run(int64_t limitPs);
    /// Leave Run after the present event.
    void Stop();
    /// \param address of an int64_t to which the time of each event is written as it begins; it
    /// must outlive the session
    void ShowTimeAt(uint64_t address);

    /// \return simulated time
    int64_t GetNowPs() const;
    /// \return events played, without heartbeats
    uint64_t GetEvents() const;
    /// \return RoCE queue pairs with a message that is not both delivered and acknowledged
    uint64_t CountBusyQueuePairs() const;
    /// \return RoCE's frames that are in the network
    uint64_t CountRoceFrames() const;
    /// \return why Run returned RUN_FAILED
    const char* GetFailure() const;
    /// \return how many messages an NPU still has to send or to receive in a phase; read them with
    /// GetPending
    uint32_t CountPending(uint32_t npu, uint64_t instance);
    /// \return one of the messages counted last
    PendingMessage GetPending(uint32_t index) const;
    /// \return number of ports of a node
    uint32_t GetPorts(uint32_t node) const;
    /// \return what a port has done so far
    PortStatistics GetPortStatistics(uint32_t node, uint32_t port) const;
    /**
     * Take down what all ports have done, node by node, ten numbers a port, in the order of
     * PortStatistics.
     * \param exact as of now; else what was settled last, which changes nothing in the simulation
     * \return how many ports there are; read the numbers with GetPortNumbers
     */
    uint32_t CountPorts(bool exact);
    /// \return what CountPorts took down
    const int64_t* GetPortNumbers() const;
    /// \return messages sent by all NPUs
    uint64_t GetMessages() const;
    /// \return bytes of the messages sent by one NPU
    uint64_t GetSentBytes(uint32_t npu) const;
    /// \return bytes of messages, whole or not, that all NPUs have got so far, in order
    uint64_t GetDeliveredBytes() const;
    /// \return IP packets received by all hosts
    uint64_t GetPackets() const;
    /// \return segments sent again on all connections
    uint64_t GetRetransmissions() const;
    /// \return retransmission timeouts on all connections
    uint64_t GetTimeouts() const;
    /// \return what all RoCE queue pairs have done
    RoceStatistics GetRoceStatistics() const;
    /// \return the longest pause above the watchdog's limit in words, or nothing
    const char* DescribeLongestPause();
    /// \return base round-trip time that RoCE works with between two NPUs on different hosts
    int64_t GetBaseRoundTripPs(uint32_t sender, uint32_t receiver) const;
    /// \return connections opened
    uint64_t GetConnections() const;
    /// \return ns-3 id of a node, for ns3::NodeList::GetNode
    uint32_t GetNs3NodeId(uint32_t node) const;
    /// \return rows that wait in a table
    uint64_t GetRecordRows(uint32_t table) const;
    /// \return a column of a table, GetRecordRows long
    const int64_t* GetRecordColumn(uint32_t table, uint32_t column) const;
    /// Report what is due at the present time in every observed queue, and have all tables fetched.
    void FlushRecords();
    /// Have all tables fetched as they are; changes nothing in the simulation.
    void HandOverRecords();
    /// Finish all captures; no event may be played after this. \return how many could not be
    /// written whole; GetFailedCapture names them
    uint32_t CloseCaptures();
    /// \return path of a capture that could not be written whole
    const char* GetFailedCapture(uint32_t index) const;

  private:
    std::unique_ptr<Implementation> m_implementation; //!< everything that knows ns-3
};

} // namespace astra_ns3
