// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "message-transport.h"

#include <cstdint>

namespace ns3
{

/// A message in the stream of bytes of a queue pair.
struct RoceMessage
{
    CollectiveMessage message;  //!< the message
    uint64_t begin{0};          //!< position of its first byte
    uint64_t end{0};            //!< position behind its last byte
    RoceMessage* next{nullptr}; //!< its successor
};

/**
 * The messages of a queue pair, in order, from the first that is not both delivered and
 * acknowledged. Its nodes are recycled among all lists.
 */
class RoceMessageList
{
  public:
    RoceMessageList() = default;
    ~RoceMessageList();
    RoceMessageList(const RoceMessageList&) = delete;
    RoceMessageList& operator=(const RoceMessageList&) = delete;

    /// \param message a message to append \return its place
    RoceMessage* Append(const CollectiveMessage& message);

    /// \return the oldest message, or none
    RoceMessage* GetFirst() const
    {
        return m_first;
    }

    /// Drop the oldest message.
    void DropFirst();
    /// Drop all messages and begin at position 0 again.
    void Clear();

    /// \return position behind the last message
    uint64_t GetEnd() const
    {
        return m_end;
    }

    /// \param position one that is in the list \return the message that has it
    RoceMessage* Find(uint64_t position) const;

  private:
    RoceMessage* m_first{nullptr}; //!< oldest
    RoceMessage* m_last{nullptr};  //!< newest
    uint64_t m_end{0};             //!< position behind it
};

} // namespace ns3
