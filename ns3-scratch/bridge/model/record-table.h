// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace astra_ns3
{

/// Rows of 64-bit numbers, kept by column and handed over whenever enough have come together.
class RecordTable
{
  public:
    /// Most columns a table has.
    static constexpr std::size_t MAXIMUM_COLUMNS = 8;
    /// Rows kept before they are handed over.
    static constexpr std::size_t ROWS = 65'536;

    /// \param ready called when the rows should be fetched
    void SetReady(std::function<void()> ready)
    {
        m_ready = std::move(ready);
    }

    /// \param values one row; missing columns are simply not there
    template <std::size_t COLUMNS>
    void Append(const std::array<int64_t, COLUMNS>& values)
    {
        static_assert(COLUMNS <= MAXIMUM_COLUMNS);
        for (std::size_t column = 0; column < COLUMNS; ++column)
        {
            m_columns[column].push_back(values[column]);
        }
        if (m_columns[0].size() >= ROWS)
        {
            Flush();
        }
    }

    /// Have the rows fetched, and drop them.
    void Flush()
    {
        if (!m_columns[0].empty() && m_ready)
        {
            m_ready();
        }
        for (auto& column : m_columns)
        {
            column.clear();
        }
    }

    /// \return rows kept
    std::size_t GetRows() const
    {
        return m_columns[0].size();
    }

    /// \return a column
    const int64_t* GetColumn(std::size_t column) const
    {
        return m_columns.at(column).data();
    }

  private:
    std::array<std::vector<int64_t>, MAXIMUM_COLUMNS> m_columns; //!< the rows, by column
    std::function<void()> m_ready;                               //!< fetches them
};

} // namespace astra_ns3
