// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "local-message-transport.h"
#include "session-transport.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace astra_ns3
{

/**
 * Hands each message to the transport that carries it: inside a host the local one, else that of
 * the highest dimension in which sender and receiver differ.
 */
class MessageRouter : public ns3::MessageTransport
{
  public:
    /// \param context names the transports, which are made from it
    explicit MessageRouter(const TransportContext& context);
    void Send(const ns3::CollectiveMessage& message) override;
    /// \return whether what happens at hosts may come by host, see SessionTransport
    bool MayOrderByHost() const;
    /// \return whether hosts may be played by themselves, see SessionTransport
    bool MayPlayHostsApart() const;
    /// \return whether several threads may play hosts, see SessionTransport
    bool MayPlayHostsOnThreads() const;
    /// \return whether a transport may fail at a host before a time
    bool MayFail(uint32_t host, int64_t beforePs) const;
    /// \return least bytes on the line of a frame that may end a message
    uint32_t GetLeastWireBytes() const;
    /// \return most bytes of a message in a frame
    uint32_t GetMostBytes() const;
    /// \param statistics to which the transports add what they have done
    void AddTo(SessionStatistics& statistics) const;
    /// \return what else the transports count
    std::vector<TransportCounter> GetCounters() const;

  private:
    /// NPUs along a dimension, and what carries messages between those that differ in it.
    struct Dimension
    {
        uint32_t npus;                    //!< how many
        ns3::MessageTransport* transport; //!< carries messages
    };

    /// \return the transport between two NPUs on different hosts
    ns3::MessageTransport& ChooseRemote(uint32_t sender, uint32_t receiver) const;

    std::vector<uint32_t> m_hostOfNpu;                           //!< host of each NPU
    std::vector<std::unique_ptr<SessionTransport>> m_transports; //!< each once
    std::vector<Dimension> m_dimensions;                         //!< the innermost first
    ns3::LocalMessageTransport m_local;                          //!< inside a host
};

} // namespace astra_ns3
