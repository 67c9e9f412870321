// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "message-transport.h"
#include "tcp-account.h"

#include "ns3/address.h"
#include "ns3/ptr.h"
#include "ns3/socket.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace ns3
{

/**
 * One lasting TCP connection from one NPU to another, over ns-3's own sockets.
 *
 * Messages are consecutive byte ranges of the stream. Both ends live in this process, so the
 * boundaries are not written into the stream: the sending end notes where a message ends, and it
 * has arrived once the receiving end has read up to there, in order.
 */
class TcpConnection
{
  public:
    /**
     * \param sender NPU that sends
     * \param receiver NPU that receives
     * \param acknowledged a message counts as arrived when its sender has the last acknowledgement,
     * not when the receiver has read its last byte
     * \param listener who is told of arrivals and failures
     */
    TcpConnection(uint32_t sender, uint32_t receiver, bool acknowledged, MessageListener& listener);
    TcpConnection(const TcpConnection&) = delete;
    TcpConnection& operator=(const TcpConnection&) = delete;

    /**
     * Open the connection.
     * \param socket an unbound socket on the sender's host
     * \param remote address and port the receiver listens on
     */
    void Open(Ptr<Socket> socket, const Address& remote);
    /// Keep accounts of its messages; before it is opened. \param from NIC of the sender
    /// \param to NIC of the receiver
    void KeepAccounts(FabricNetDevice& from, const FabricNetDevice& to);
    /// \param message what it was to carry \param why reason for which it can't be opened, which
    /// is reported
    void FailToOpen(const CollectiveMessage& message, const std::string& why);
    /// \param socket the receiving end, just accepted
    void Accept(Ptr<Socket> socket);
    /// \param message a message to send after all earlier ones
    void Send(const CollectiveMessage& message);
    /// Let go of both sockets and their callbacks.
    void Close();

    /// \return whether the handshake is done
    bool IsConnected() const;
    /// \return NPU that sends
    uint32_t GetSender() const;
    /// \return NPU that receives
    uint32_t GetReceiver() const;
    /// \return the sending socket
    Ptr<Socket> GetSocket() const;

  private:
    /// The handshake is done.
    void Connected(Ptr<Socket> socket);
    /// Fill the send buffer.
    void Write(Ptr<Socket> socket, uint32_t available);
    /// Read all there is and report the messages it completes.
    void Read(Ptr<Socket> socket);
    /// Report the messages that end at or before a byte of the stream.
    void Complete(uint64_t byte);
    /// Report that the connection could not be opened.
    void RefuseConnect(Ptr<Socket> socket);
    /// Report that the connection was given up.
    void GiveUp(Ptr<Socket> socket);
    /// Report a failure.
    void Fail(const std::string& what);

    /// A message on its way, and the byte of the stream behind its last one.
    struct InFlight
    {
        uint64_t endByte;          //!< behind its last byte
        CollectiveMessage message; //!< the message
    };

    uint32_t m_sender;                     //!< NPU that sends
    uint32_t m_receiver;                   //!< NPU that receives
    bool m_acknowledged;                   //!< messages complete when acknowledged
    uint32_t m_bufferBytes{0};             //!< size of the send buffer
    MessageListener& m_listener;           //!< who is told
    Ptr<Socket> m_sendSocket;              //!< sending end
    Ptr<Socket> m_receiveSocket;           //!< receiving end
    bool m_connected{false};               //!< the handshake is done
    uint64_t m_queuedBytes{0};             //!< end of the stream so far
    uint64_t m_writtenBytes{0};            //!< handed to the socket
    uint64_t m_readBytes{0};               //!< read at the receiver
    std::deque<InFlight> m_messages;       //!< not yet arrived, in order
    CollectiveMessage m_newest;            //!< posted last
    std::unique_ptr<TcpAccount> m_account; //!< where their time goes, if somebody wants that
};

} // namespace ns3
