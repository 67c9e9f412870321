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
    node->instance = message.instance;
    node->bytes = message.bytes;
    node->startPs = message.startPs;
    node->idealPs = message.idealPs;
    node->row = message.row;
    node->end = m_end + message.bytes;
    node->next = m_last ? m_last->next : node;
    (m_last ? m_last->next : node->next) = node;
    m_last = node;
    m_end = node->end;
    return node;
}

void
RoceMessageList::DropFirst()
{
    RoceMessage* node = m_last->next;
    m_last->next = node->next;
    m_last = node == m_last ? nullptr : m_last;
    MessagePool& pool = GetPool();
    node->next = pool.first;
    pool.first = node;
}

void
RoceMessageList::Clear()
{
    while (m_last)
    {
        DropFirst();
    }
    m_end = 0;
}

RoceMessage*
RoceMessageList::Find(uint64_t position) const
{
    RoceMessage* message = GetFirst();
    while (message && message->end <= position)
    {
        message = GetNext(*message);
    }
    return message;
}

} // namespace ns3
