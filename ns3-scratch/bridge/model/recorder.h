// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-lane.h"
#include "fabric-network.h"
#include "fabric-sent-counts.h"
#include "message-account.h"
#include "message-transport.h"
#include "network-description.h"
#include "probes.h"
#include "record-rows.h"
#include "telling-delay.h"

#include "ns3/pcap-file-wrapper.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace astra_ns3
{

/// Records what a run does: tables of messages, their accounts, queues, pauses and lines, those
/// that transports add, captures, and the counters of all ports.
class Recorder : public ns3::MessageAccountant
{
  public:
    /// Called with the number of a table whose rows should be fetched.
    using Ready = std::function<void(uint32_t table)>;

    /**
     * \param observation what to record
     * \param ethernet whether captured packets begin with the Ethernet header, not IP's
     * \param fabric what to look at
     * \param changes what changes its lines, or none; both outlive this
     * \param ready called when rows should be fetched
     */
    Recorder(const Observation& observation,
             bool ethernet,
             FabricNetwork& fabric,
             ns3::FabricChanges* changes,
             Ready ready);

    /// \param message one that has just arrived
    void MessageArrived(const ns3::CollectiveMessage& message);
    /// Take in what threads have put down that played hosts. \param playedPs up to this time
    void TakeIn(int64_t playedPs);
    void MessageAccounted(const ns3::CollectiveMessage& message,
                          const ns3::MessageAccount& account) override;
    /// \return who keeps accounts of messages, if they are recorded
    ns3::MessageAccountant* GetAccountant();

    /// \param name of a table that a transport fills \param columns its columns \return the table
    template <typename ROW>
    RecordTableOf<ROW>& AddTable(const std::string& name,
                                 const std::vector<RecordColumn<ROW>>& columns)
    {
        auto table = std::make_unique<RecordTableOf<ROW>>(name, columns);
        RecordTableOf<ROW>& made = *table;
        m_added.push_back(std::move(table));
        Number(made);
        return made;
    }

    /// \param flush reports what is due in a probe of a transport's, at a time in picoseconds
    void AddFlush(std::function<void(int64_t)> flush);

    /// \param count adds what has crossed lines up to now and their ports don't count yet
    void AddSentCount(std::function<void(ns3::FabricSentCounts&)> count);

    /// \return how late ports tell what they have sent
    const TellingDelay& GetTellingDelay();

    /// \param exact as of now; else as last settled. \return how many ports were taken down
    uint32_t CountPorts(bool exact);
    /// \return what it takes down of each
    const std::vector<RecordColumn<PortState>>& GetPortCounters() const;
    /// \return what CountPorts took down, port by port
    const std::vector<int64_t>& GetPortNumbers() const;
    /// \return how many tables there are
    uint32_t GetNTables() const;
    /// \return a table
    const RecordTable& GetTable(uint32_t table) const;
    /// Report what is due in every probe, and have all tables fetched.
    void Flush();
    /// Write rows of ports that no others can precede any more, lest too many are kept.
    void PutInOrder();
    /// Have all tables fetched as they are.
    void HandOver();
    /// Finish all captures. \return how many could not be written whole
    uint32_t CloseCaptures();
    /// \return path of a capture that could not be written whole
    const std::string& GetFailedCapture(uint32_t index) const;

  private:
    /// Give a table the next number.
    void Number(RecordTable& table);
    /// Have every port remember what it puts on its line.
    /// \param jobBit from this bit on an instance says whose it is
    void KeepServed(int64_t jobBit);
    /// Record what stops a port.
    void ObservePauses(uint32_t node, uint32_t port);
    /// Write the packets of a port.
    void Capture(const CaptureDescription& capture, bool ethernet);

    FabricNetwork& m_fabric; //!< what is looked at
    bool m_recordsFlows;     //!< messages are recorded
    bool m_recordsAccounts;  //!< so are their accounts
    Ready m_ready;           //!< has rows fetched

    /// A message that is not in the table yet.
    struct Arrived
    {
        ns3::CollectiveMessage message; //!< the message
        int64_t endPs;                  //!< when it arrived
    };

    /// Put messages into the table, in order of time and receiver. \param beforePs those that
    /// arrived before
    void PutArrived(int64_t beforePs);

    std::array<std::vector<Arrived>, ns3::FabricLane::MOST_OF_HOSTS>
        m_arrivedByThread;                                 //!< of a window that several play
    std::vector<Arrived> m_arrived;                        //!< of this moment or window
    FlowTable m_flows{"flows", FlowColumns()};             //!< messages
    int64_t m_accountRows{0};                              //!< accounts so far
    AccountTable m_accounts{"accounts", AccountColumns()}; //!< of messages
    AccountHopTable m_accountHops{"account_hops", AccountHopColumns()};           //!< of messages
    AccountServedTable m_accountServed{"account_served", AccountServedColumns()}; //!< of messages
    PortTable m_queues{"queues", PortColumns("queue_bytes")};                     //!< of ports
    PortTable m_pauses{"pauses", PortColumns("paused_priorities")};               //!< of ports
    PortTable m_utilisation{"utilisation", PortColumns("wire_bytes")};            //!< of ports
    QueueRecord m_queueRecord;                                                    //!< of ports
    PauseRecord m_pauseRecord{m_pauses};                                          //!< of ports
    std::vector<std::unique_ptr<RecordTable>> m_added;                            //!< by transports
    std::vector<RecordTable*> m_tables;                     //!< all, by number
    ns3::FabricChanges* m_changes;                          //!< of lines, or none
    std::unique_ptr<TellingDelay> m_tellingDelay;           //!< if anybody asks
    std::unique_ptr<UtilisationRecord> m_utilisationRecord; //!< of ports
    std::vector<std::function<void(int64_t)>> m_flushes;    //!< of transports' probes
    std::vector<std::pair<std::string, ns3::Ptr<ns3::PcapFileWrapper>>> m_captures; //!< open
    std::vector<std::string> m_failedCaptures;                             //!< not written whole
    std::vector<std::function<void(ns3::FabricSentCounts&)>> m_sentCounts; //!< of transports
    std::vector<RecordColumn<PortState>> m_portCounters{PortCounters()};   //!< of each port
    std::vector<int64_t> m_portNumbers;                                    //!< taken down last
};

} // namespace astra_ns3
