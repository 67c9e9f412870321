// SPDX-License-Identifier: GPL-2.0-only
#include "roce-message-parts.h"

#include <algorithm>

namespace ns3
{

RoceCut::RoceCut(uint64_t bytes, uint32_t most)
    : parts(static_cast<uint32_t>(std::clamp<uint64_t>(bytes, 1, most))),
      longer(static_cast<uint32_t>(bytes % parts)),
      partBytes(bytes / parts)
{
}

RoceMessageParts::RoceMessageParts(MessageListener& listener)
    : m_listener(listener),
      m_accountant(listener.GetAccountant())
{
}

CollectiveMessage
RoceMessageParts::Begin(const CollectiveMessage& message, uint32_t parts)
{
    if (m_free.empty())
    {
        m_free.push_back(m_wholes.size());
        m_wholes.emplace_back();
    }
    CollectiveMessage part = message;
    part.instance = m_free.back();
    m_free.pop_back();
    m_wholes[part.instance] = {message, parts};
    return part;
}

void
RoceMessageParts::MessageArrived(const CollectiveMessage& part)
{
    Whole& whole = m_wholes[part.instance];
    if (--whole.left == 0)
    {
        // Who hears of it may send the next one, which may take this place.
        const CollectiveMessage message = whole.message;
        m_free.push_back(part.instance);
        m_listener.MessageArrived(message);
    }
}

void
RoceMessageParts::BytesArrived(uint32_t npu, int64_t bytes)
{
    m_listener.BytesArrived(npu, bytes);
}

void
RoceMessageParts::TransportFailed(const CollectiveMessage& part, const char* reason)
{
    m_listener.TransportFailed(m_wholes[part.instance].message, reason);
}

MessageAccountant*
RoceMessageParts::GetAccountant()
{
    return m_accountant ? this : nullptr;
}

void
RoceMessageParts::MessageAccounted(const CollectiveMessage& part, const MessageAccount& account)
{
    const Whole& whole = m_wholes[part.instance];
    if (whole.left == 1)
    {
        m_accountant->MessageAccounted(whole.message, account);
    }
}

} // namespace ns3
