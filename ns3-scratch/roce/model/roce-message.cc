// SPDX-License-Identifier: GPL-2.0-only
#include "roce-message.h"

namespace ns3
{

namespace
{
/// Messages to use again; ns-3 runs a simulation in one thread.
struct MessagePool
{
    ~MessagePool()
    {
        while (first)
        {
            RoceMessage* message = first;
            first = message->next;
            delete message;
        }
    }

    RoceMessage* first{nullptr}; //!< the first of them
};

/// \return this thread's pool
MessagePool&
GetPool()
{
    thread_local MessagePool pool;
    return pool;
}
} // namespace

RoceMessageList::~RoceMessageList()
{
    Clear();
}

RoceMessage*
RoceMessageList::Append(const CollectiveMessage& message)
{
    MessagePool& pool = GetPool();
    RoceMessage* node = pool.first;
    if (node)
    {
        pool.first = node->next;
    }
    else
    {
        node = new RoceMessage;
    }
    node->message = message;
    node->begin = m_end;
    node->end = m_end + message.bytes;
    node->next = nullptr;
    (m_first ? m_last->next : m_first) = node;
    m_last = node;
    m_end = node->end;
    return node;
}

void
RoceMessageList::DropFirst()
{
    RoceMessage* node = m_first;
    m_first = node->next;
    MessagePool& pool = GetPool();
    node->next = pool.first;
    pool.first = node;
}

void
RoceMessageList::Clear()
{
    while (m_first)
    {
        DropFirst();
    }
    m_end = 0;
}

RoceMessage*
RoceMessageList::Find(uint64_t position) const
{
    RoceMessage* message = m_first;
    while (message && message->end <= position)
    {
        message = message->next;
    }
    return message;
}

} // namespace ns3
