// SPDX-License-Identifier: GPL-2.0-only
#include "collective-schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ns3
{

CollectiveSchedule::CollectiveSchedule(const CollectiveScheduleColumns& columns)
    : m_ranks(columns.ranks),
      m_blocks(columns.blocks),
      m_leastBlocks(0),
      m_expansion(columns.expansion),
      m_lanes(columns.lanes),
      m_rotation(columns.rotation),
      m_players((columns.rotation.on ? 1 : columns.ranks) * columns.lanes),
      m_rows(static_cast<uint32_t>(columns.messages)),
      m_width(columns.blocks)
{
    m_rotation.inner = std::max(m_rotation.inner == 0 ? m_ranks : m_rotation.inner, 1U);
    for (uint32_t digit = 0; digit < m_rotation.digits && m_ranks > 0; ++digit)
    {
        m_width /= m_ranks;
    }
    Check(columns);
    if (m_rows > 0)
    {
        m_leastBlocks = static_cast<uint32_t>(
            *std::min_element(columns.blockCount, columns.blockCount + m_rows));
    }
    BuildReceptions(columns);
    BuildSends(columns);
}

void
CollectiveSchedule::Check(const CollectiveScheduleColumns& columns) const
{
    if (columns.blocks == 0 || columns.lanes == 0)
    {
        throw std::invalid_argument("schedule: the data must be cut in at least one block, and "
                                    "steps must be in at least one lane");
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
    if (columns.rotation.on)
    {
        CheckRotation(columns);
    }
}

void
CollectiveSchedule::CheckRotation(const CollectiveScheduleColumns& columns) const
{
    uint64_t blocks = m_width;
    for (uint32_t digit = 0; digit < m_rotation.digits; ++digit)
    {
        blocks *= m_ranks;
    }
    if (blocks != m_blocks || m_ranks % m_rotation.inner != 0)
    {
        throw std::invalid_argument("schedule: the blocks or the groups can't be turned");
    }
    if (columns.messages * m_ranks > std::numeric_limits<uint32_t>::max())
    {
        throw std::invalid_argument("schedule: more messages than 32 bits can count");
    }
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        const uint64_t within = static_cast<uint64_t>(columns.firstBlock[row]) % m_width;
        if (columns.sender[row] != 0 || within + columns.blockCount[row] > m_width)
        {
            throw std::invalid_argument("schedule row " + std::to_string(row) +
                                        ": can't be turned for other ranks");
        }
    }
}

uint32_t
CollectiveSchedule::Kept(uint32_t rank) const
{
    return m_rotation.on ? 0 : rank;
}

uint32_t
CollectiveSchedule::Player(uint32_t rank, uint32_t lane) const
{
    return Kept(rank) * m_lanes + lane;
}

uint32_t
CollectiveSchedule::PlayerAt(uint32_t rank, int32_t step) const
{
    return Player(rank, step < 0 ? 0 : static_cast<uint32_t>(step) % m_lanes);
}

uint32_t
CollectiveSchedule::TurnedRank(uint32_t rank, uint32_t turn) const
{
    const uint32_t inner = m_rotation.inner;
    if (inner == m_ranks) // without a division, for a ring asks for each message
    {
        return rank + turn < m_ranks ? rank + turn : rank + turn - m_ranks;
    }
    const uint32_t group = (rank / inner + turn / inner) % (m_ranks / inner);
    return group * inner + (rank % inner + turn % inner) % inner;
}

uint32_t
CollectiveSchedule::TurnTo(uint32_t rank, uint32_t turned) const
{
    const uint32_t inner = m_rotation.inner;
    const uint32_t groups = m_ranks / inner;
    const uint32_t group = (turned / inner + groups - rank / inner) % groups;
    return group * inner + (turned % inner + inner - rank % inner) % inner;
}

uint32_t
CollectiveSchedule::TurnedBlock(uint32_t block, uint32_t turn) const
{
    if (m_rotation.digits == 1 && m_rotation.inner == m_ranks) // without a division
    {
        const uint64_t turned = block + turn * m_width;
        return static_cast<uint32_t>(turned < m_blocks ? turned : turned - m_blocks);
    }
    uint64_t turned = block % m_width;
    uint64_t number = block / m_width;
    uint64_t width = m_width;
    for (uint32_t digit = 0; digit < m_rotation.digits; ++digit)
    {
        turned += TurnedRank(static_cast<uint32_t>(number % m_ranks), turn) * width;
        number /= m_ranks;
        width *= m_ranks;
    }
    return static_cast<uint32_t>(turned);
}

CollectiveSchedule::Send
CollectiveSchedule::Turned(const Send& send, uint32_t turn) const
{
    Send turned = send;
    if (turn > 0)
    {
        turned.row += turn * m_rows;
        turned.receiver = TurnedRank(send.receiver, turn);
        turned.firstBlock = TurnedBlock(send.firstBlock, turn);
    }
    return turned;
}

CollectiveSchedule::Send
CollectiveSchedule::TurnedFor(uint32_t rank, const Send& send) const
{
    return Turned(send, m_rotation.on ? rank : 0);
}

std::vector<uint32_t>
CollectiveSchedule::OrderReceptions(const CollectiveScheduleColumns& columns) const
{
    std::vector<uint64_t> offsets(m_players + 1, 0);
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        offsets[PlayerAt(columns.receiver[row], columns.step[row]) + 1]++;
    }
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    std::vector<uint64_t> next(offsets.begin(), offsets.end() - 1);
    std::vector<uint32_t> order(columns.messages);
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        order[next[PlayerAt(columns.receiver[row], columns.step[row])]++] =
            static_cast<uint32_t>(row);
    }
    const auto byStep = [&columns](uint32_t a, uint32_t b) {
        return columns.step[a] < columns.step[b];
    };
    for (uint32_t player = 0; player < m_players; ++player)
    {
        const auto begin = order.begin() + static_cast<int64_t>(offsets[player]);
        const auto end = order.begin() + static_cast<int64_t>(offsets[player + 1]);
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
    uint32_t player = 0;
    for (const uint32_t row : order)
    {
        const uint32_t receiver = PlayerAt(columns.receiver[row], columns.step[row]);
        while (player < receiver)
        {
            m_slotOffsets.push_back(m_slotSteps.size());
            player++;
        }
        if (m_slotSteps.size() == m_slotOffsets.back() || m_slotSteps.back() != columns.step[row])
        {
            m_slotSteps.push_back(columns.step[row]);
            m_slotExpected.push_back(0);
        }
        m_slotExpected.back()++;
        m_receptions[row] = {static_cast<uint32_t>(m_slotSteps.size() - 1 - m_slotOffsets.back()),
                             static_cast<uint32_t>(columns.sender[row]),
                             receiver % m_lanes,
                             columns.reduces[row] != 0,
                             columns.blockCount[row] == 0};
    }
    m_slotOffsets.resize(m_players + 1, m_slotSteps.size());
}

uint32_t
CollectiveSchedule::CountSlots(uint32_t player) const
{
    return static_cast<uint32_t>(m_slotOffsets[player + 1] - m_slotOffsets[player]);
}

uint32_t
CollectiveSchedule::FindSlot(uint32_t player, int32_t step, uint32_t near) const
{
    for (uint32_t slot = near; slot < std::min(near + 2, CountSlots(player)); ++slot)
    {
        if (m_slotSteps[m_slotOffsets[player] + slot] == step)
        {
            return slot;
        }
    }
    const auto begin = m_slotSteps.begin() + static_cast<int64_t>(m_slotOffsets[player]);
    const auto end = m_slotSteps.begin() + static_cast<int64_t>(m_slotOffsets[player + 1]);
    const auto found = std::lower_bound(begin, end, step);
    if (found == end || *found != step)
    {
        throw std::invalid_argument("schedule: rank " + std::to_string(player / m_lanes) +
                                    " waits for step " + std::to_string(step) +
                                    ", in which it receives nothing");
    }
    return static_cast<uint32_t>(found - begin);
}

void
CollectiveSchedule::BuildSends(const CollectiveScheduleColumns& columns)
{
    m_sends.resize(columns.messages);
    m_sendOffsets.assign(m_players + 1, 0);
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        m_sendOffsets[PlayerAt(columns.sender[row], columns.waitStep[row]) + 1]++;
    }
    std::partial_sum(m_sendOffsets.begin(), m_sendOffsets.end(), m_sendOffsets.begin());
    std::vector<uint64_t> next(m_sendOffsets.begin(), m_sendOffsets.end() - 1);
    std::vector<uint32_t> lastSlot(m_players,
                                   0); // most rows wait for the rank's last step or its next
    for (uint64_t row = 0; row < columns.messages; ++row)
    {
        const uint32_t sender = PlayerAt(columns.sender[row], columns.waitStep[row]);
        const bool waits = columns.waitStep[row] >= 0;
        const uint32_t waitSlot =
            waits ? FindSlot(sender, columns.waitStep[row], lastSlot[sender]) : 0;
        lastSlot[sender] = waitSlot;
        const uint32_t waitCount = waits ? static_cast<uint32_t>(columns.waitCount[row]) : 0;
        if (waits && waitCount > m_slotExpected[m_slotOffsets[sender] + waitSlot])
        {
            throw std::invalid_argument(
                "schedule row " + std::to_string(row) + " waits for " + std::to_string(waitCount) +
                " messages of a step with " +
                std::to_string(m_slotExpected[m_slotOffsets[sender] + waitSlot]));
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
    for (uint32_t player = 0; player < m_players; ++player)
    {
        const auto begin = m_sends.begin() + static_cast<int64_t>(m_sendOffsets[player]);
        const auto end = m_sends.begin() + static_cast<int64_t>(m_sendOffsets[player + 1]);
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

uint32_t
CollectiveSchedule::GetLanes() const
{
    return m_lanes;
}

const CollectiveSchedule::Send*
CollectiveSchedule::SendsBegin(uint32_t rank, uint32_t lane) const
{
    return m_sends.data() + m_sendOffsets[Player(rank, lane)];
}

const CollectiveSchedule::Send*
CollectiveSchedule::SendsEnd(uint32_t rank, uint32_t lane) const
{
    return m_sends.data() + m_sendOffsets[Player(rank, lane) + 1];
}

uint32_t
CollectiveSchedule::GetSlots(uint32_t rank, uint32_t lane) const
{
    return CountSlots(Player(rank, lane));
}

uint32_t
CollectiveSchedule::GetExpected(uint32_t rank, uint32_t lane, uint32_t slot) const
{
    return m_slotExpected[m_slotOffsets[Player(rank, lane)] + slot];
}

std::vector<uint32_t>
CollectiveSchedule::GetReceivedRows(uint32_t rank) const
{
    std::vector<uint32_t> rows;
    for (uint32_t row = 0; row < m_rows; ++row)
    {
        if (m_rotation.on)
        {
            rows.push_back(TurnTo(m_receiver[row], rank) * m_rows + row);
        }
        else if (m_receiver[row] == rank)
        {
            rows.push_back(row);
        }
    }
    std::sort(rows.begin(), rows.end());
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
    const Send send = Turned(m_sends[m_rowSend[row % m_rows]], row / m_rows);
    return MessageBytes(send.firstBlock, send.blockCount, bytes);
}

uint64_t
CollectiveSchedule::LeastBytes(uint64_t bytes) const
{
    return MessageBytes(0, m_leastBlocks, bytes);
}

uint32_t
CollectiveSchedule::GetStep(uint32_t row) const
{
    const uint32_t kept = row % m_rows;
    const uint64_t first = m_slotOffsets[Player(m_receiver[kept], m_receptions[kept].lane)];
    return static_cast<uint32_t>(m_slotSteps[first + m_receptions[kept].slot]);
}

} // namespace ns3
