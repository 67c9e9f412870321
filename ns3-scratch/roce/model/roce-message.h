// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-slabs.h"
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

/// A message in the stream of bytes of a queue pair, which knows its sender and its receiver.
struct RoceMessage final : public FabricInSlabs<RoceMessage>
{
    RoceMessage* next{nullptr};              //!< its successor, the first one's of the last
    uint64_t end{0};                         //!< position behind its last byte
    uint64_t bytes{0};                       //!< size
    uint64_t instance{0};                    //!< which run of a schedule it belongs to
    int64_t startPs{0};                      //!< when it was handed to the transport
    std::unique_ptr<RoceMessageTimes> times; //!< for its account, if one is kept
    uint32_t row{0};                         //!< which row of the schedule it is
    bool isDone{false}; //!< acknowledged, and kept for the receiver to go on from

    /// \return position of its first byte
    uint64_t GetBegin() const
    {
        return end - bytes;
    }
};

/**
 * The messages of a queue pair, in order, from the first that is not both delivered and
 * acknowledged.
 *
 * The list is the sender's; its receiver may be played by another thread. So the receiver holds on
 * to a message and goes on to the next one when data of that has come: the sender had appended it
 * before that data left. Therefore the last message that was acknowledged stays in the list as
 * well, until the next one is, or the queue pair rests.
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
        RoceMessage* const oldest = m_last ? m_last->next : nullptr;
        return !oldest || !oldest->isDone ? oldest : GetNext(*oldest);
    }

    /// \return where a receiver begins to which the same has come as to the sender
    RoceMessage* GetBegin();

    /// \param message one that is in the list \return its successor, or none
    RoceMessage* GetNext(const RoceMessage& message) const
    {
        return &message == m_last ? nullptr : message.next;
    }

    /// Drop the oldest message: it is acknowledged.
    void DropFirst();
    /// No receiver is where GetBegin said, or behind it, any more.
    void DropDone();
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
    /// Take the oldest node out.
    void DropOldest();

    RoceMessage* m_last{nullptr}; //!< newest; behind it comes the oldest node
    uint64_t m_end{0};            //!< position behind it
};

} // namespace ns3
