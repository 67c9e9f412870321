// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Where the time of a message went. docs/accounts.md has the rule.
 */
#pragma once

#include "fabric-trail.h"
#include "message-transport.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3
{

/// Parts of a message's time; each picosecond from start to end is in one of them.
enum class AccountPart : uint32_t
{
    TURN,            //!< behind earlier messages of its queue pair or connection
    WINDOW,          //!< the window was closed
    PACING,          //!< held by the rate
    NIC_PAUSED,      //!< the NIC's priority was stopped by PFC
    NIC_QUEUE,       //!< waiting for the NIC's line behind others
    TRANSPORT,       //!< TCP: until the NIC had the deciding segment
    LOST,            //!< lost and sent again
    SWITCH_QUEUE,    //!< waiting in switches behind others
    SWITCH_PAUSED,   //!< waiting in switches that were stopped by PFC
    SERIALISATION,   //!< on a line
    PROPAGATION,     //!< on the way along a cable
    ACKNOWLEDGEMENT, //!< until the sender knew
    PARTS            //!< how many there are
};

/// A line on the way of a message's deciding packet.
struct AccountHop
{
    const FabricPort* port{nullptr}; //!< who sends on it
    int64_t arrivalPs{0};            //!< when the packet had come to the port
    int64_t queuePs{0};              //!< waiting there behind others
    int64_t pausedPs{0};             //!< waiting there while its priority was stopped
    int64_t serialisationPs{0};      //!< on the line
    int64_t propagationPs{0};        //!< along the cable
};

/// What a message's deciding packet waited behind on a line.
struct AccountServed
{
    uint32_t hop{0};     //!< which line
    FabricServed served; //!< whose
    int64_t timePs{0};   //!< for how long
};

/// Where the time of one message went.
class MessageAccount
{
  public:
    /// Begin anew.
    void Clear()
    {
        m_parts.fill(0);
        m_path.clear();
        m_served.clear();
    }

    /// \param part a part \param timePs what is added to it
    void Add(AccountPart part, int64_t timePs)
    {
        m_parts[static_cast<uint32_t>(part)] += timePs;
    }

    /// \param part a part \return its time
    int64_t Get(AccountPart part) const
    {
        return m_parts[static_cast<uint32_t>(part)];
    }

    /// \param hop a line of the way, whose times have been added as parts
    void AddHop(const AccountHop& hop)
    {
        m_path.push_back(hop);
    }

    /**
     * Add the lines that the deciding packet took. What lies before a time is left out: the packet
     * may have been on its way before the message was there.
     * \param trail of the packet
     * \param fromPs when the message was handed over
     */
    void AddWay(const FabricTrail& trail, int64_t fromPs);

    /**
     * \param message whose account it is
     * \param endPs when it was complete
     * \throw std::logic_error unless no part is below 0 and all add up to its time
     */
    void Check(const CollectiveMessage& message, int64_t endPs) const;

    /// \return the deciding packet's lines, in turn
    const std::vector<AccountHop>& GetPath() const
    {
        return m_path;
    }

    /// \return what the deciding packet waited behind: of each line once for each message of
    /// others, and once for all of its owner's
    const std::vector<AccountServed>& GetServed() const
    {
        return m_served;
    }

  private:
    /// Add up what the deciding packet waited behind. \param trail of it \param fromPs as above
    void AddServed(const FabricTrail& trail, int64_t fromPs);

    std::array<int64_t, static_cast<uint32_t>(AccountPart::PARTS)> m_parts{}; //!< by part
    std::vector<AccountHop> m_path;                                           //!< its lines
    std::vector<AccountServed> m_served;                                      //!< others there
};

/// Who keeps accounts of messages.
class MessageAccountant
{
  public:
    virtual ~MessageAccountant() = default;
    /// \param message one of which the listener is told next \param account where its time went
    virtual void MessageAccounted(const CollectiveMessage& message,
                                  const MessageAccount& account) = 0;
};

} // namespace ns3
