// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Schedules written down row by row, for the suites of this part.
 */
#pragma once

#include "collective-schedule.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3::test
{

/// A row: sender, receiver, step, first block, blocks, reduces, step waited for, receptions waited
/// for.
using Row = std::array<int32_t, 8>;

/// \return the rows as a schedule; with a rotation, those of rank 0. \param lanes that steps are in
inline std::shared_ptr<const CollectiveSchedule>
MakeSchedule(uint32_t ranks,
             uint32_t blocks,
             uint32_t expansion,
             const std::vector<Row>& rows,
             const CollectiveRotation& rotation = {},
             uint32_t lanes = 1)
{
    std::vector<std::vector<int32_t>> columns(8);
    for (const Row& row : rows)
    {
        for (std::size_t column = 0; column < row.size(); ++column)
        {
            columns[column].push_back(row[column]);
        }
    }
    CollectiveScheduleColumns named;
    named.ranks = ranks;
    named.blocks = blocks;
    named.expansion = expansion;
    named.lanes = lanes;
    named.rotation = rotation;
    named.messages = rows.size();
    named.sender = columns[0].data();
    named.receiver = columns[1].data();
    named.step = columns[2].data();
    named.firstBlock = columns[3].data();
    named.blockCount = columns[4].data();
    named.reduces = columns[5].data();
    named.waitStep = columns[6].data();
    named.waitCount = columns[7].data();
    return std::make_shared<CollectiveSchedule>(named);
}

} // namespace ns3::test
