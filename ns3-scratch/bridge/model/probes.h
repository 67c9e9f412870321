// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"
#include "record-rows.h"
#include "tcp-connection.h"
#include "telling-delay.h"

#include "ns3/nstime.h"
#include "ns3/tcp-socket-state.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace astra_ns3
{

/**
 * Records the queues of ports. Without an interval every change is a row. With one, the rows are
 * what a sampler at the multiples of the interval would have seen, but only where it differs from
 * the row before; no event is used, so a simulation that stands still still ends. Rows are in order
 * of time, node and port: a port tells of a departure when something looks at it.
 */
class QueueRecord
{
  public:
    /**
     * \param table where the rows go
     * \param intervalPs interval of the samples, or 0
     */
    QueueRecord(PortTable& table, int64_t intervalPs);
    /// \param port one that is to be recorded
    void Observe(ns3::FabricPort& port);
    /// Write the rows before `nowPs`, which is the time now.
    void Write(int64_t nowPs);
    /// Write all rows up to `nowPs`, when all ports have been settled.
    void Flush(int64_t nowPs);

  private:
    /// The queue of one port.
    class Probe
    {
      public:
        /// \param record it belongs to \param port whose queue it is
        Probe(QueueRecord& record, ns3::FabricPort& port);
        /// \param time time of a change \param queueBytes bytes waiting from then on
        void Changed(ns3::Time time, uint64_t queueBytes);
        /// Keep the samples up to `nowPs`.
        void Flush(int64_t nowPs);
        /// Settle the port up to `nowPs`.
        void Settle(int64_t nowPs);

      private:
        /// Keep a sample unless it repeats the last.
        void Sample(int64_t timePs);

        QueueRecord& m_record;            //!< it belongs to
        ns3::Ptr<ns3::FabricPort> m_port; //!< whose queue it is
        int64_t m_changedPs{0};           //!< time of the last change
        int64_t m_queueBytes{0};          //!< bytes waiting since then
        int64_t m_reported{0};            //!< bytes in the last row
    };

    PortTable& m_table;                           //!< where the rows go
    int64_t m_intervalPs;                         //!< interval, or 0
    std::vector<std::unique_ptr<Probe>> m_probes; //!< of ports
    std::vector<PortRow> m_kept;                  //!< rows that others may precede
};

/**
 * Records what ports put on the line in each interval in which they send; uses no events. Rows are
 * in order of time, node and port.
 */
class UtilisationRecord
{
  public:
    /**
     * \param table where the rows go
     * \param delay with which frames are told
     * \param intervalPs the interval
     */
    UtilisationRecord(PortTable& table, const TellingDelay& delay, int64_t intervalPs);
    /// \param port one that is to be recorded
    void Observe(ns3::FabricPort& port);
    /// Report the intervals that have begun, when all ports have told what they sent.
    void Flush();

  private:
    /// What one port sends.
    class Probe
    {
      public:
        /// \param record it belongs to \param node the port's node \param port its number
        Probe(UtilisationRecord& record, int64_t node, int64_t port);
        /// \param time when bytes go on the line \param wireBytes how many
        void Sent(ns3::Time time, uint32_t wireBytes);
        /// Keep a row of the interval that has begun, if it ends by `untilPs`.
        void Report(int64_t untilPs);

      private:
        UtilisationRecord& m_record; //!< it belongs to
        int64_t m_node;              //!< the port's node
        int64_t m_port;              //!< its number
        int64_t m_interval{0};       //!< number of the interval
        int64_t m_bytes{0};          //!< bytes in it
    };

    /// Write the rows of intervals that end by `untilPs`, all of which have been told.
    void Write(int64_t untilPs);

    PortTable& m_table;                           //!< where the rows go
    const TellingDelay& m_delay;                  //!< with which frames are told
    int64_t m_intervalPs;                         //!< the interval
    int64_t m_written{0};                         //!< intervals of which all is written
    std::vector<std::unique_ptr<Probe>> m_probes; //!< of ports
    std::vector<PortRow> m_kept;                  //!< rows that others may precede
};

/**
 * Records what stops ports. Rows are in order of time, node and port: a port without credit learns
 * when it looks that some has come back, and others may have told of later changes by then.
 */
class PauseRecord
{
  public:
    /// \param table where the rows go
    explicit PauseRecord(PortTable& table);
    /// \param port one that is to be recorded
    void Observe(ns3::FabricPort& port);
    /// Write the rows before `nowPs`, which is the time now.
    void Write(int64_t nowPs);
    /// Write all rows, when all ports have been settled.
    void Flush();

  private:
    PortTable& m_table;                             //!< where the rows go
    std::vector<ns3::Ptr<ns3::FabricPort>> m_ports; //!< that are recorded
    std::vector<PortRow> m_kept;                    //!< rows that others may precede
};

/// Counts retransmissions and timeouts of one connection, and records what is asked for.
class ConnectionProbe
{
  public:
    /**
     * \param table where the rows go
     * \param quantities sum of ConnectionQuantity to record
     * \param connectTimeout first timeout of the handshake
     * \param connection what to watch
     */
    ConnectionProbe(PairTable& table,
                    uint32_t quantities,
                    ns3::Time connectTimeout,
                    const ns3::TcpConnection& connection);

    /// \return segments sent again, connection requests included
    uint64_t GetRetransmissions() const;
    /// \return retransmission timeouts
    uint64_t GetTimeouts() const;

  private:
    /// The retransmission timer changed: count it if that was a timeout.
    void RtoChanged(ns3::Time before, ns3::Time now);
    /// Record one value if it is asked for.
    void Record(uint32_t quantity, int64_t value);

    const ns3::TcpConnection& m_connection; //!< what it watches
    ns3::Time m_synTimeout;                 //!< timer of the last connection request
    ns3::Time m_synSent;                    //!< when it left
    PairTable& m_table;                     //!< where the rows go
    uint32_t m_quantities;                  //!< what to record
    int64_t m_sender;                       //!< NPU that sends
    int64_t m_receiver;                     //!< NPU that receives
    uint64_t m_retransmissions{0};          //!< segments sent again
    uint64_t m_timeouts{0};                 //!< timeouts
};

} // namespace astra_ns3
