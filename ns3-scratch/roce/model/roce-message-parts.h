// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "message-account.h"
#include "message-transport.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/// A message cut into contiguous parts that are equal to one byte, the longer ones first.
struct RoceCut
{
    uint32_t parts;     //!< how many
    uint32_t longer;    //!< how many of them have a byte more
    uint64_t partBytes; //!< of the others

    /// \param bytes of the message \param most parts wanted; no part is empty
    RoceCut(uint64_t bytes, uint32_t most);

    /// \param part number of a part \return its bytes
    uint64_t BytesOf(uint32_t part) const
    {
        return partBytes + (part < longer ? 1 : 0);
    }
};

/**
 * Stands between queue pairs and the listener where messages are cut into parts, one for each of a
 * pair's queue pairs: the listener hears of a message when its last part is there. A part carries
 * the number of its message as its `instance`. The account of a message is that of the part that
 * came last, since all begin together.
 */
class RoceMessageParts : public MessageListener, public MessageAccountant
{
  public:
    /// \param listener told of whole messages
    explicit RoceMessageParts(MessageListener& listener);

    /// \param message one that is about to be sent in parts \param parts how many
    /// \return what its parts have in common; bytes and row are each part's own
    CollectiveMessage Begin(const CollectiveMessage& message, uint32_t parts);

    void MessageArrived(const CollectiveMessage& part) override;
    void BytesArrived(uint32_t npu, int64_t bytes) override;
    void TransportFailed(const CollectiveMessage& part, const char* reason) override;
    MessageAccountant* GetAccountant() override;
    void MessageAccounted(const CollectiveMessage& part, const MessageAccount& account) override;

  private:
    /// A message under way.
    struct Whole
    {
        CollectiveMessage message; //!< it
        uint32_t left{0};          //!< its parts that are not there
    };

    MessageListener& m_listener;     //!< told of whole messages
    MessageAccountant* m_accountant; //!< told of their accounts, or none
    std::vector<Whole> m_wholes;     //!< by number
    std::vector<uint64_t> m_free;    //!< numbers of no message
};

} // namespace ns3
