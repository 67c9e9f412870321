// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace astra_ns3
{

/// Rows of 64-bit numbers, kept by column and handed over whenever enough have come together.
class RecordTable
{
  public:
    /// Rows kept before they are handed over.
    static constexpr std::size_t ROWS = 65'536;

    virtual ~RecordTable() = default;

    /// \param name its name \param columns those of its columns, one at least
    RecordTable(std::string name, std::vector<std::string> columns)
        : m_name(std::move(name)),
          m_names(std::move(columns))
    {
    }

    /// \param ready called when the rows should be fetched
    void SetReady(std::function<void()> ready)
    {
        m_ready = std::move(ready);
    }

    /// Have the rows fetched, and drop them.
    void Flush()
    {
        PutInColumns();
        if (m_rows > 0 && m_ready)
        {
            m_ready();
        }
        m_rows = 0;
    }

    /// \return its name
    const std::string& GetName() const
    {
        return m_name;
    }

    /// \return names of its columns
    const std::vector<std::string>& GetColumnNames() const
    {
        return m_names;
    }

    /// \return rows kept, as of when they are handed over
    std::size_t GetRows() const
    {
        return m_rows;
    }

    /// \return a column, as of when the rows are handed over
    const int64_t* GetColumn(std::size_t column) const
    {
        if (column >= m_names.size())
        {
            throw std::out_of_range("table " + m_name + " has no column " + std::to_string(column));
        }
        return m_numbers.get() + column * STRIDE;
    }

  protected:
    /// \param value gives the value of a column of the new row
    template <typename VALUE>
    void AppendRow(const VALUE& value)
    {
        if (!m_numbers)
        {
            m_numbers = std::make_unique_for_overwrite<int64_t[]>(m_names.size() * STRIDE);
            m_fresh.resize(m_names.size() * FRESH_ROWS);
        }
        int64_t* place = m_fresh.data() + m_freshRows * m_names.size();
        for (std::size_t column = 0; column < m_names.size(); ++column)
        {
            place[column] = value(column);
        }
        if (++m_freshRows == FRESH_ROWS)
        {
            PutInColumns();
        }
        if (m_rows >= ROWS)
        {
            Flush();
        }
    }

  private:
    /// From a column to the next; a line of the cache more, lest all columns fall on the same ones.
    static constexpr std::size_t STRIDE = ROWS + 8;
    /// Rows that lie together before they go into the columns, which are far apart.
    static constexpr std::size_t FRESH_ROWS = 32;

    /// Put the newest rows into the columns.
    void PutInColumns()
    {
        for (std::size_t column = 0; m_freshRows > 0 && column < m_names.size(); ++column)
        {
            int64_t* place = m_numbers.get() + column * STRIDE + m_rows;
            for (std::size_t row = 0; row < m_freshRows; ++row)
            {
                place[row] = m_fresh[row * m_names.size() + column];
            }
        }
        m_rows += m_freshRows;
        m_freshRows = 0;
    }

    std::string m_name;                   //!< its name
    std::vector<std::string> m_names;     //!< of the columns
    std::unique_ptr<int64_t[]> m_numbers; //!< the rows, by column; made with the first one
    std::size_t m_rows{0};                //!< rows in them
    std::vector<int64_t> m_fresh;         //!< the newest rows, one after the other
    std::size_t m_freshRows{0};           //!< how many
    std::function<void()> m_ready;        //!< fetches them
};

/// A column: its name, and its value in what becomes a row.
template <typename ROW>
struct RecordColumn
{
    const char* name;             //!< as Python knows it
    int64_t (*value)(const ROW&); //!< of a row
};

/// A table whose rows are made of ROWs, as its columns say.
template <typename ROW>
class RecordTableOf : public RecordTable
{
  public:
    /// \param name its name \param columns its columns, one at least
    RecordTableOf(std::string name, const std::vector<RecordColumn<ROW>>& columns)
        : RecordTable(std::move(name), NamesOf(columns)),
          m_values(columns)
    {
    }

    /// \param row one row
    void Append(const ROW& row)
    {
        AppendRow([&](std::size_t column) { return m_values[column].value(row); });
    }

  private:
    /// \return the columns' names
    static std::vector<std::string> NamesOf(const std::vector<RecordColumn<ROW>>& columns)
    {
        std::vector<std::string> names;
        for (const RecordColumn<ROW>& column : columns)
        {
            names.emplace_back(column.name);
        }
        return names;
    }

    std::vector<RecordColumn<ROW>> m_values; //!< of its columns
};

} // namespace astra_ns3
