// SPDX-License-Identifier: GPL-2.0-only
#include "roce-message.h"

namespace ns3
{

RoceMessageList::~RoceMessageList()
{
    Clear();
}

RoceMessage*
RoceMessageList::Append(const CollectiveMessage& message)
{
    RoceMessage* node = new RoceMessage;
    node->instance = message.instance;
    node->bytes = message.bytes;
    node->startPs = message.startPs;
    node->row = message.row;
    node->end = m_end + message.bytes;
    node->next = m_last ? m_last->next : node;
    (m_last ? m_last->next : node->next) = node;
    m_last = node;
    m_end = node->end;
    return node;
}

RoceMessage*
RoceMessageList::GetBegin()
{
    if (!m_last)
    {
        m_last = new RoceMessage;
        m_last->isDone = true;
        m_last->end = m_end;
        m_last->next = m_last;
    }
    return m_last->next;
}

void
RoceMessageList::DropFirst()
{
    DropDone();
    m_last->next->isDone = true;
}

void
RoceMessageList::DropDone()
{
    if (m_last && m_last->next->isDone)
    {
        DropOldest();
    }
}

void
RoceMessageList::DropOldest()
{
    RoceMessage* node = m_last->next;
    m_last->next = node->next;
    m_last = node == m_last ? nullptr : m_last;
    delete node;
}

void
RoceMessageList::Clear()
{
    while (m_last)
    {
        DropOldest();
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
