// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"
#include "record-rows.h"
#include "tcp-connection.h"

#include "ns3/nstime.h"
#include "ns3/tcp-socket-state.h"

#include <cstdint>

namespace astra_ns3
{

/**
 * Records the queue of one port. Without an interval every change is a row. With one, the rows are
 * what a sampler at the multiples of the interval would have seen, but only where it differs from
 * the row before; no event is used, so a simulation that stands still still ends.
 */
class QueueProbe
{
  public:
    /**
     * \param table where the rows go
     * \param node the port's node
     * \param port its number
     * \param intervalPs interval of the samples, or 0
     */
    QueueProbe(PortTable& table, uint32_t node, uint32_t port, int64_t intervalPs);
    /// \param time time of a change \param queueBytes bytes waiting from then on
    void Changed(ns3::Time time, uint64_t queueBytes);
    /// Report the samples up to `nowPs`.
    void Flush(int64_t nowPs);

  private:
    /// Report a sample unless it repeats the last.
    void Sample(int64_t timePs);

    PortTable& m_table;      //!< where the rows go
    int64_t m_node;          //!< the port's node
    int64_t m_port;          //!< its number
    int64_t m_intervalPs;    //!< interval, or 0
    int64_t m_changedPs{0};  //!< time of the last change
    int64_t m_queueBytes{0}; //!< bytes waiting since then
    int64_t m_reported{0};   //!< bytes in the last row
};

/// Records what one port puts on the line in each interval in which it sends; uses no events.
class UtilisationProbe
{
  public:
    /**
     * \param table where the rows go
     * \param node the port's node
     * \param port its number
     * \param intervalPs the interval
     */
    UtilisationProbe(PortTable& table, uint32_t node, uint32_t port, int64_t intervalPs);
    /// \param time when bytes go on the line \param wireBytes how many
    void Sent(ns3::Time time, uint32_t wireBytes);
    /// Report the interval that has begun.
    void Flush();

  private:
    PortTable& m_table;    //!< where the rows go
    int64_t m_node;        //!< the port's node
    int64_t m_port;        //!< its number
    int64_t m_intervalPs;  //!< the interval
    int64_t m_interval{0}; //!< number of the interval
    int64_t m_bytes{0};    //!< bytes in it
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
