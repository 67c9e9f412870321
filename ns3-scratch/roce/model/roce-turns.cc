// SPDX-License-Identifier: GPL-2.0-only
#include "roce-turns.h"

#include <algorithm>

namespace ns3
{

void
RoceTurns::Shift(std::size_t by)
{
    const std::size_t words = std::min(by / BITS, m_words.size());
    m_words.erase(m_words.begin(), m_words.begin() + static_cast<std::ptrdiff_t>(words));
    m_summary.assign((m_words.size() + BITS - 1) / BITS, 0);
    for (std::size_t word = 0; word < m_words.size(); ++word)
    {
        if (m_words[word] != 0)
        {
            m_summary[word / BITS] |= uint64_t{1} << word % BITS;
        }
    }
}

} // namespace ns3
