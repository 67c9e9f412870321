// SPDX-License-Identifier: GPL-2.0-only
#include "collective-schedule.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ns3
{

CollectiveSchedule::CollectiveSchedule(const CollectiveScheduleColumns& columns)
    : m_ranks(columns.ranks),
      m_blocks(columns.blocks),
      m_expansion(columns.expansion)
{
    Check(columns);
    BuildReceptions(columns);
    BuildSends(columns);
}

void
CollectiveSchedule::Check(const CollectiveScheduleColumns& columns)
{
    if (columns.blocks == 0)
    {
        throw std::invalid_argument("schedule: the data must be cut in at least one block");
    }
    const auto ranks = static_cast<int64_t>(columns.ranks);
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        const int64_t sender = columns.sender[row];
        const int64_t receiver = columns.receiver[row];
        const int64_t first = columns.firstBlock[row];
        const int64_t count = columns.blockCount[row];
        const bool ranksFit = sender >= 0 && sender < ranks && receiver >= 0 && receiver < ranks &&
                              sender != receiver;
        const bool blocksFit = first >= 0 && count >= 0 && first + count <= columns.blocks;
        const bool waitFits = columns.waitStep[row] < 0 || columns.waitCount[row] > 0;
        if (!ranksFit || !blocksFit || !waitFits || columns.step[row] < 0)
        {
            throw std::invalid_argument("schedule row " + std::to_string(row) +
                                        ": a rank, a block, a step or a wait is out of range");
        }
    }
}

std::vector<uint32_t>
CollectiveSchedule::OrderReceptions(const CollectiveScheduleColumns& columns) const
{
    std::vector<uint64_t> offsets(m_ranks + 1, 0);
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        offsets[columns.receiver[row] + 1]++;
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<uint64_t> next(offsets.begin(), offsets.end() - 1);
    std::vector<uint32_t> order(columns.messages);
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        order[next[columns.receiver[row]]++] = static_cast<uint32_t>(row);
    }
    const auto byStep = [&columns](uint32_t a, uint32_t b) {
        return columns.step[a] < columns.step[b];
    };
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        const auto begin = order.begin() + static_cast<int64_t>(offsets[rank]);
        const auto end = order.begin() + static_cast<int64_t>(offsets[rank + 1]);
        if (!std::is_sorted(begin, end, byStep)) // most come step by step
        {
            std::stable_sort(begin, end, byStep);
        }
    }
    return order;
}

void
CollectiveSchedule::BuildReceptions(const CollectiveScheduleColumns& columns)
{
    const uint64_t messages = columns.messages;
    m_receiver.assign(columns.receiver, columns.receiver + messages);
    const std::vector<uint32_t> order = OrderReceptions(columns);
    m_receptions.resize(messages);
    m_slotOffsets.assign(1, 0);
    uint32_t rank = 0;
    for (const uint32_t row : order)
    {
        const auto receiver = static_cast<uint32_t>(columns.receiver[row]);
        while (rank < receiver)
        {
            m_slotOffsets.push_back(m_slotSteps.size());
            rank++;
        }
        if (m_slotSteps.size() == m_slotOffsets.back() || m_slotSteps.back() != columns.step[row])
        {
            m_slotSteps.push_back(columns.step[row]);
            m_slotExpected.push_back(0);
        }
        m_slotExpected.back()++;
        m_receptions[row] = {static_cast<uint32_t>(m_slotSteps.size() - 1 - m_slotOffsets.back()),
                             static_cast<uint32_t>(columns.sender[row]),
                             columns.reduces[row] != 0};
    }
    m_slotOffsets.resize(m_ranks + 1, m_slotSteps.size());
}

uint32_t
CollectiveSchedule::FindSlot(uint32_t rank, int32_t step, uint32_t near) const
{
    for (uint32_t slot = near; slot < std::min(near + 2, GetSlots(rank)); ++slot)
    {
        if (m_slotSteps[m_slotOffsets[rank] + slot] == step)
        {
            return slot;
        }
    }
    const auto begin = m_slotSteps.begin() + static_cast<int64_t>(m_slotOffsets[rank]);
    const auto end = m_slotSteps.begin() + static_cast<int64_t>(m_slotOffsets[rank + 1]);
    const auto found = std::lower_bound(begin, end, step);
    if (found == end || *found != step)
    {
        throw std::invalid_argument("schedule: rank " + std::to_string(rank) + " waits for step " +
                                    std::to_string(step) + ", in which it receives nothing");
    }
    return static_cast<uint32_t>(found - begin);
}

void
CollectiveSchedule::BuildSends(const CollectiveScheduleColumns& columns)
{
    m_sends.resize(columns.messages);
    m_sendOffsets.assign(m_ranks + 1, 0);
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        m_sendOffsets[columns.sender[row] + 1]++;
    }
    std::partial_sum(m_sendOffsets.begin(), m_sendOffsets.end(), m_sendOffsets.begin());
    std::vector<uint64_t> next(m_sendOffsets.begin(), m_sendOffsets.end() - 1);
    std::vector<uint32_t> lastSlot(m_ranks,
                                   0); // most rows wait for the rank's last step or its next
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        const auto sender = static_cast<uint32_t>(columns.sender[row]);
        const bool waits = columns.waitStep[row] >= 0;
        const uint32_t waitSlot =
            waits ? FindSlot(sender, columns.waitStep[row], lastSlot[sender]) : 0;
        lastSlot[sender] = waitSlot;
        const uint32_t waitCount = waits ? static_cast<uint32_t>(columns.waitCount[row]) : 0;
        if (waits && waitCount > GetExpected(sender, waitSlot))
        {
            throw std::invalid_argument("schedule row " + std::to_string(row) + " waits for " +
                                        std::to_string(waitCount) + " messages of a step with " +
                                        std::to_string(GetExpected(sender, waitSlot)));
        }
        m_sends[next[sender]++] = {static_cast<uint32_t>(row),
                                   static_cast<uint32_t>(columns.receiver[row]),
                                   static_cast<uint32_t>(columns.firstBlock[row]),
                                   static_cast<uint32_t>(columns.blockCount[row]),
                                   waitSlot,
                                   waitCount};
    }
    const auto byWait = [](const Send& a, const Send& b) {
        return a.waitSlot != b.waitSlot ? a.waitSlot < b.waitSlot : a.waitCount < b.waitCount;
    };
    for (uint32_t rank = 0; rank < m_ranks; ++rank)
    {
        const auto begin = m_sends.begin() + static_cast<int64_t>(m_sendOffsets[rank]);
        const auto end = m_sends.begin() + static_cast<int64_t>(m_sendOffsets[rank + 1]);
        if (!std::is_sorted(begin, end, byWait))
        {
            std::stable_sort(begin, end, byWait);
        }
    }
    m_rowSend.resize(columns.messages);
    for (uint32_t place = 0; place < m_sends.size(); ++place)
    {
        m_rowSend[m_sends[place].row] = place;
    }
}

uint32_t
CollectiveSchedule::GetRanks() const
{
    return m_ranks;
}

const CollectiveSchedule::Send*
CollectiveSchedule::SendsBegin(uint32_t rank) const
{
    return m_sends.data() + m_sendOffsets[rank];
}

const CollectiveSchedule::Send*
CollectiveSchedule::SendsEnd(uint32_t rank) const
{
    return m_sends.data() + m_sendOffsets[rank + 1];
}

const CollectiveSchedule::Reception&
CollectiveSchedule::GetReception(uint32_t row) const
{
    return m_receptions[row];
}

uint32_t
CollectiveSchedule::GetSlots(uint32_t rank) const
{
    return static_cast<uint32_t>(m_slotOffsets[rank + 1] - m_slotOffsets[rank]);
}

uint32_t
CollectiveSchedule::GetExpected(uint32_t rank, uint32_t slot) const
{
    return m_slotExpected[m_slotOffsets[rank] + slot];
}

std::vector<uint32_t>
CollectiveSchedule::GetReceivedRows(uint32_t rank) const
{
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < m_receiver.size(); ++row)
    {
        if (m_receiver[row] == rank)
        {
            rows.push_back(row);
        }
    }
    return rows;
}

uint64_t
CollectiveSchedule::MessageBytes(uint32_t firstBlock, uint32_t blockCount, uint64_t bytes) const
{
    const auto whole = static_cast<unsigned __int128>(bytes) * m_expansion;
    const auto begin = static_cast<uint64_t>(whole * firstBlock / m_blocks);
    const auto end = static_cast<uint64_t>(whole * (firstBlock + blockCount) / m_blocks);
    return std::max<uint64_t>(end - begin, 1);
}

uint64_t
CollectiveSchedule::RowBytes(uint32_t row, uint64_t bytes) const
{
    const Send& send = m_sends[m_rowSend[row]];
    return MessageBytes(send.firstBlock, send.blockCount, bytes);
}

uint32_t
CollectiveSchedule::GetStep(uint32_t row) const
{
    const uint64_t first = m_slotOffsets[m_receiver[row]];
    return static_cast<uint32_t>(m_slotSteps[first + m_receptions[row].slot]);
}

} // namespace ns3
