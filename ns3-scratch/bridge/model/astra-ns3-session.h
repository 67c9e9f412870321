// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * All that Python sees: plain numbers, arrays and one callback interface. No ns-3 header is
 * included here, so that it loads in a few hundredths of a second. Times are picoseconds, rates
 * bits per second, sizes bytes.
 */
#pragma once

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

/// What is recorded as tables of 64-bit numbers.
enum RecordTableId : uint32_t
{
    FLOW_RECORDS = 0,       //!< sender, receiver, bytes, start, end, instance, row
    CONNECTION_RECORDS = 1, //!< time, sender, receiver, quantity (ConnectionQuantity), value
    QUEUE_RECORDS = 2,      //!< time, node, port, bytes
    RECORD_TABLES = 3       //!< how many there are
};

/// What is recorded of a connection; bits of Session::ObserveConnections.
enum ConnectionQuantity : uint32_t
{
    CONGESTION_WINDOW = 1, //!< bytes
    ROUND_TRIP_TIME = 2,   //!< last sample, picoseconds
    RETRANSMISSION = 4,    //!< bytes sent again
    TIMEOUT = 8            //!< 1 for each retransmission timeout
};

/// Parameters of ns-3's TCP and of the IP interface below it.
struct TcpParameters
{
    std::string congestionControl{"ns3::TcpCubic"}; //!< TypeId of the congestion control
    uint32_t windowBytes{500'000};                  //!< send and receive buffer
    uint32_t segmentBytes{1460};                    //!< payload of a segment
    uint32_t mtuBytes{1500};                        //!< largest IP packet
    uint32_t initialWindowSegments{10};             //!< initial congestion window
    int64_t minRtoPs{10'000'000'000};               //!< least retransmission timeout
    int64_t clockGranularityPs{10'000'000};         //!< granularity of the timeout's clock
    uint32_t delayedAckCount{2};                    //!< segments per acknowledgement
    int64_t delayedAckTimeoutPs{40'000'000};        //!< longest an acknowledgement waits
    int64_t connectTimeoutPs{5'000'000'000};        //!< first timeout of the handshake
    uint32_t connectRetries{6};                     //!< times the handshake is tried again
    uint32_t dataRetries{15}; //!< times a segment is sent again before giving up
    bool ecn{false};          //!< explicit congestion notification
    bool acknowledged{false}; //!< messages complete when acknowledged
    bool sack{true};          //!< selective acknowledgements
    bool timestamps{false};   //!< RFC 7323 timestamps, which tick in milliseconds in ns-3
};

/// One dimension of an analytical network: see ns3::AnalyticalDimension.
struct AnalyticalDimensionParameters
{
    uint32_t topology{2};         //!< 0 ring, 1 fully connected, 2 switch
    uint32_t npus{1};             //!< NPUs along it
    double bytesPerNs{1.0};       //!< bandwidth that one message gets on a link
    double linkLatencyNs{0.0};    //!< latency of a link
    double nicLatencyNs{0.0};     //!< latency of a NIC, passed twice
    double routerLatencyNs{0.0};  //!< latency of a switch
    double memoryLatencyNs{0.0};  //!< latency of the NPU's memory
    double memoryBytesPerNs{1.0}; //!< bandwidth of the NPU's memory
    double memoryScale{0.0};      //!< multiplies the memory's time; 0 leaves it out
};

/// What one port has done.
struct PortStatistics
{
    uint64_t sentFrames{0};        //!< frames put on the line
    uint64_t sentBytes{0};         //!< their bytes, without preamble and gap
    uint64_t droppedFrames{0};     //!< frames that found no buffer
    uint64_t droppedBytes{0};      //!< their bytes
    uint64_t markedFrames{0};      //!< frames given a congestion mark
    uint64_t highestQueueBytes{0}; //!< most bytes that ever waited
};

/// A message that an NPU still has to send or to receive.
struct PendingMessage
{
    uint32_t sender{0};   //!< NPU that sends
    uint32_t receiver{0}; //!< NPU that receives
    uint32_t step{0};     //!< step of the schedule
    uint64_t bytes{0};    //!< size
    bool sent{false};     //!< false: its sender has not sent it yet
};

/// Why Session::Run came back.
enum RunStatus : uint32_t
{
    RUN_STOPPED = 0, //!< Stop was called
    RUN_DRAINED = 1, //!< no event is left
    RUN_LIMIT = 2,   //!< the limit on simulated time was reached
    RUN_FAILED = 3,  //!< a transport gave up: see GetFailure
    RUN_HALTED = 4   //!< something else called Simulator::Stop
};

/**
 * One simulation, from its network to its end. One at a time per process; its destructor resets
 * ns-3 completely.
 *
 * Order of calls: hosts, switches, links, routes, NPUs; then UseTcp and the other settings; then
 * Build; then everything else. Nodes are numbered hosts first, then switches, each in the order
 * added. What is out of range, or out of order, throws std::invalid_argument.
 */
class Session
{
  public:
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
    /// Ports of all switches mark from now on: see FabricEcnMarker. Call before links are added.
    void UseMarking(uint64_t kminBytes, uint64_t kmaxBytes, double pmax);
    /// \param bytes buffer of a host's port; 0 is no limit. Call before links are added.
    void SetNicBuffer(uint64_t bytes);
    /// Join two nodes by a full-duplex link; each gets a port, numbered in the order of these
    /// calls.
    void AddLink(uint32_t nodeA, uint32_t nodeB, uint64_t rateBps, int64_t delayPs);
    /**
     * Fill a switch's table.
     * \param node the switch
     * \param offsets hosts + 1 numbers: where the ports of each destination host begin
     * \param ports the port numbers
     */
    void SetRoutes(uint32_t node, const uint32_t* offsets, const uint32_t* ports);
    /// \param hostOfNpu host of each NPU
    void SetNpus(const uint32_t* hostOfNpu, uint32_t count);
    /// Messages between hosts travel over ns-3's TCP.
    void UseTcp(const TcpParameters& parameters);
    /// Messages travel by formula over a grid of NPUs, one to a host; call once per dimension, the
    /// innermost first.
    void AddAnalyticalDimension(const AnalyticalDimensionParameters& parameters);
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
    /// Record the queue of a port in QUEUE_RECORDS, on change or, with an interval above 0, at its
    /// multiples.
    void ObserveQueue(uint32_t node, uint32_t port, int64_t intervalPs);
    /// Write what a port sends as pcap (raw IP, nanosecond stamps).
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

    /// \return simulated time
    int64_t GetNowPs() const;
    /// \return events played, without heartbeats
    uint64_t GetEvents() const;
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
    /// \return messages sent by all NPUs
    uint64_t GetMessages() const;
    /// \return bytes of the messages sent by one NPU
    uint64_t GetSentBytes(uint32_t npu) const;
    /// \return IP packets received by all hosts
    uint64_t GetPackets() const;
    /// \return segments sent again on all connections
    uint64_t GetRetransmissions() const;
    /// \return retransmission timeouts on all connections
    uint64_t GetTimeouts() const;
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

  private:
    class Implementation;
    std::unique_ptr<Implementation> m_implementation; //!< everything that knows ns-3
};

} // namespace astra_ns3
