// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "message-account.h"
#include "message-transport.h"

#include <cstdint>
#include <limits>
#include <memory>

namespace ns3
{

/// What is kept of a message for its account. Times are picoseconds.
struct RoceMessageTimes
{
    /// Not yet.
    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

    int64_t nextPs{NEVER};     //!< when all before it had been sent
    FabricSenderTimes atNext;  //!< of its sender by then
    int64_t lostAtPostedPs{0}; //!< of `atNext.lostPs` what lay before it was posted
    int64_t lastPs{0};         //!< when its last packet was first sent, if that one decides
    FabricSenderTimes atLast;  //!< of its sender by then
    int64_t deliveredPs{0};    //!< when it had arrived
    MessageAccount account;    //!< of its time until then
};

/// A message in the stream of bytes of a queue pair.
struct RoceMessage
{
    CollectiveMessage message;               //!< the message
    uint64_t begin{0};                       //!< position of its first byte
    uint64_t end{0};                         //!< position behind its last byte
    RoceMessage* next{nullptr};              //!< its successor
    std::unique_ptr<RoceMessageTimes> times; //!< for its account, if one is kept
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
