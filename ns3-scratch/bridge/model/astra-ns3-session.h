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
#include <string>

namespace astra_ns3
{

struct NetworkDescription;

/// \return version of this library, to be compared with that of the Python package, and of the ns-3
/// it was compiled against, with a blank between them
const char* GetVersions();

/// What a listener is told of: the end of an NPU's part of a phase, or a timer.
struct Due
{
    uint64_t number;    //!< the phase's instance, or the timer's token
    uint32_t npu;       //!< whose phase it is
    uint32_t isTimer{}; //!< 1 for a timer
};

/// In the token of a timer: the failure of this number, of which Session::GetTransportFailure
/// tells.
constexpr uint64_t TRANSPORT_FAILED = uint64_t{1} << 63;
/// In the token of a timer: it is of this player of flows, and no listener hears of it.
constexpr uint64_t OF_FLOWS = uint64_t{1} << 62;

/// What a simulation calls back; implemented in Python. What it throws comes out of Session::Run.
class SessionListener
{
  public:
    virtual ~SessionListener();
    /// NPU `npu` has finished its part of phase `instance`.
    virtual void PhaseDone(uint32_t npu, uint64_t instance, int64_t timePs) = 0;
    /// A timer set with Session::SetTimer is due.
    virtual void TimerDue(uint64_t token, int64_t timePs) = 0;
    /// Several of the two at one moment, in their order, with no other event in between; calls
    /// PhaseDone and TimerDue if it isn't overridden. \param dues what they are \param count how
    /// many, at least two
    virtual void SeveralDue(const Due* dues, uint32_t count, int64_t timePs);
    /// About every 100 ms of wall time; `events` are those of the simulation so far.
    virtual void Heartbeat(int64_t timePs, uint64_t events) = 0;
    /// The rows recorded in the table number `table` should be fetched; they are dropped when this
    /// returns.
    virtual void RecordsReady(uint32_t table) = 0;
};

/**
 * One simulation, from its network to its end. One at a time per process; its destructor resets
 * ns-3 completely. What is out of range throws std::invalid_argument.
 */
class Session
{
  public:
    /**
     * Make all there is to make.
     * \param description the network; nothing of it is kept
     * \param seed seed of all random numbers, above 0
     * \param listener told of what happens; it must outlive the session
     */
    Session(const NetworkDescription& description, uint32_t seed, SessionListener* listener);
    /**
     * The same for Python, by a name of its own: what a constructor among several throws is told in
     * many lines there.
     * \param description text that says what the network is: see ReadDescription
     * \param size bytes of it
     * \param seed seed of all random numbers, above 0
     * \param listener told of what happens; it must outlive the session
     * \return a session that the caller owns
     */
    static Session* Open(const char* description,
                         uint64_t size,
                         uint32_t seed,
                         SessionListener* listener);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /**
     * Hand over a schedule; the meaning of its columns is in astra_ns3/collectives/schedule.py.
     * \param ranks number of ranks
     * \param blocks parts the data is cut in
     * \param expansion size of the whole over that of one rank
     * \param lanes how many lanes steps are in
     * \param messages number of rows
     * \param columns eight columns, one after the other, each `messages` long: sender, receiver,
     * step, first block, blocks, whether the receiver reduces, step waited for (or -1), receptions
     * of it waited for
     * \return its number for Launch
     */
    uint32_t RegisterSchedule(uint32_t ranks,
                              uint32_t blocks,
                              uint32_t expansion,
                              uint32_t lanes,
                              uint64_t messages,
                              const int32_t* columns);
    /**
     * Hand over a schedule of which all ranks do the same, each turned round.
     * \param ranks number of ranks
     * \param blocks parts the data is cut in
     * \param expansion size of the whole over that of one rank
     * \param lanes how many lanes steps are in
     * \param digits digits of a block's number, see astra_ns3/collectives/rotation.py
     * \param inner ranks of a group that are turned among themselves, a divisor of the ranks
     * \param rows number of rows of rank 0
     * \param columns its columns, as RegisterSchedule takes them
     * \return its number for Launch
     */
    uint32_t RegisterRotation(uint32_t ranks,
                              uint32_t blocks,
                              uint32_t expansion,
                              uint32_t lanes,
                              uint32_t digits,
                              uint32_t inner,
                              uint64_t rows,
                              const int32_t* columns);
    /**
     * \param npus the NPUs of ranks 0, 1, ...
     * \param count how many
     * \param delayPs what its phases' endpoint delay is; -1: that of the NPUs
     * \param connections which connections of a pair of NPUs its messages take
     * \return number of a group for Launch
     */
    uint32_t RegisterGroup(const uint32_t* npus,
                           uint32_t count,
                           int64_t delayPs = -1,
                           uint32_t connections = 0);
    /**
     * Hand over NPUs that play a channel of a collective library.
     * \param npus the NPUs of ranks 0, 1, ...
     * \param count how many
     * \param servers server of each
     * \param costs nine numbers, in the order of ChannelCosts
     * \return number of a group for Launch
     */
    uint32_t RegisterChannel(const uint32_t* npus,
                             uint32_t count,
                             const uint32_t* servers,
                             const uint64_t* costs);
    /// \param group a group \param priority in which its messages travel from now on
    void SetGroupPriority(uint32_t group, uint32_t priority);
    /// Send nothing more in phases, and don't tell of their ends; messages under way still arrive.
    /// Ranges of several calls are the same or apart.
    /// \param begin number of the first instance \param end behind the last
    void Abandon(uint64_t begin, uint64_t end);
    /// Begin an NPU's part of a phase now; see CollectiveApplication::Launch.
    void Launch(uint32_t npu, uint64_t instance, uint32_t schedule, uint32_t group, uint64_t bytes);
    /// Begin parts of phases now, in their order. \param rows five numbers of each: NPU, schedule,
    /// group, instance, bytes
    void LaunchAll(const uint64_t* rows, uint32_t count);
    /// Have TimerDue called with `token` after `delayPs`.
    void SetTimer(uint32_t npu, int64_t delayPs, uint64_t token);
    /**
     * Open a player of flows, each a phase of the two NPUs at its ends.
     * \param schedule of one message, from rank 0 to rank 1
     * \param firstInstance instance of flow 0; flow i has i more in the bits of the collective
     * \param tenantBit from this bit on an instance says whose it is
     * \param connections which connections of a pair of NPUs they take
     * \param priority in which they travel, or CollectiveMessage::OF_TRANSPORT
     * \param token of TimerDue, called when the last flow known has begun and more may come, and
     * when all are delivered
     * \param measured NPUs whose delivered bytes make the curve
     * \param count how many
     * \return its number
     */
    uint32_t OpenFlows(uint32_t schedule,
                       uint64_t firstInstance,
                       uint32_t tenantBit,
                       uint32_t connections,
                       uint32_t priority,
                       uint64_t token,
                       const uint32_t* measured,
                       uint32_t count);
    /**
     * Hand flows to a player.
     * \param player its number
     * \param count how many flows
     * \param places of each flow its NPUs: all sources, all destinations; then the numbers of these
     * flows by start
     * \param numbers sizes of all, then starts of all since BeginFlows
     * \param last no more come
     */
    void AddFlows(uint32_t player,
                  uint32_t count,
                  const uint32_t* places,
                  const int64_t* numbers,
                  bool last);
    /// Time begins for a player's flows. \param player its number
    void BeginFlows(uint32_t player);
    /// A player starts no more flows, and hears of none. \param player its number
    void StopFlows(uint32_t player);
    /// \return how many flows a player has delivered. \param player its number
    uint64_t CountDeliveredFlows(uint32_t player) const;
    /// \return when each flow of a player began, below 0 for not yet. \param player its number
    const int64_t* GetFlowStarts(uint32_t player) const;
    /// \return when each was delivered, below 0 for not yet. \param player its number
    const int64_t* GetFlowEnds(uint32_t player) const;
    /// \return numbers of those delivered, in their order. \param player its number
    const int64_t* GetDeliveredFlows(uint32_t player) const;
    /// \return how many points a player's curve has. \param player its number
    uint64_t CountFlowCurve(uint32_t player) const;
    /// \return time and bytes delivered of each point by turns. \param player its number
    const int64_t* GetFlowCurve(uint32_t player) const;
    /// \param cores threads to play switches with, before the first Run
    void UseCores(uint32_t cores);
    /// Somebody may look at any host at any time: before Run.
    void KeepHostsTogether();
    /// \return how many threads play, once Run was called: one where the network allows no more
    uint32_t GetCores() const;
    /// \return why one thread plays where more were asked for
    std::string DescribeOneCore() const;
    /// \param limitPs simulated time at which to give up, or below 0. \return a RunStatus
    uint32_t Run(int64_t limitPs);
    /// Leave Run after the present event, and all that is told together with it.
    void Stop();
    /// \param address of an int64_t to which the time of each event is written as it begins; it
    /// must outlive the session
    void ShowTimeAt(uint64_t address);

    /// \return simulated time
    int64_t GetNowPs() const;
    /// \return why Run returned RUN_FAILED
    const char* GetFailure() const;
    /// \return a transport that gave up, where that is told of. \param number of the failure
    TransportFailure GetTransportFailure(uint32_t number) const;
    /// \return how many messages an NPU still has to send or to receive in a phase; read them with
    /// GetPending
    uint32_t CountPending(uint32_t npu, uint64_t instance);
    /// \return one of the messages counted last
    PendingMessage GetPending(uint32_t index) const;
    /**
     * Take down what the run has done so far.
     * \param exact ports as of now; else as settled last, which changes nothing in the simulation
     * \return all of it, until this is called again
     */
    const SessionStatistics& GetStatistics(bool exact = false);
    /// \return bytes of the messages sent by one NPU
    uint64_t GetSentBytes(uint32_t npu) const;
    /// \return bytes of messages, whole or not, that all NPUs have got so far, in order
    uint64_t GetDeliveredBytes() const;
    /// \return those that some NPUs have got \param npus them \param count how many
    uint64_t GetDeliveredBytesOf(const uint32_t* npus, uint32_t count) const;
    /// \return the longest pause above the watchdog's limit in words, or nothing
    std::string DescribeLongestPause() const;
    /// \return ns-3 id of a node, for ns3::NodeList::GetNode
    uint32_t GetNs3NodeId(uint32_t node) const;
    /// \return a line for each table that can be recorded, by number: its name, then those of its
    /// columns, which are in record-rows.h
    const char* DescribeTables() const;
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
    std::string GetFailedCapture(uint32_t index) const;

  private:
    /// Make the parts, but for the simulation.
    void Build(const NetworkDescription& description, SessionListener& listener);
    /// Watch for ports stopped by PFC for too long.
    void Watch(int64_t limitPs);
    /// End the simulation.
    void End();

    /// The parts, which Python need not see: to read templates of them takes it tenths of a second.
    struct Parts;
    Parts* m_parts; //!< made by the constructor, freed by the destructor
};

} // namespace astra_ns3
