// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
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

    /// \param name its name \param columns those of its columns, one at least
    RecordTable(std::string name, std::vector<std::string> columns)
        : m_name(std::move(name)),
          m_names(std::move(columns)),
          m_columns(m_names.size())
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
        if (GetRows() > 0 && m_ready)
        {
            m_ready();
        }
        for (auto& column : m_columns)
        {
            column.clear();
        }
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

    /// \return rows kept
    std::size_t GetRows() const
    {
        return m_columns.front().size();
    }

    /// \return a column
    const int64_t* GetColumn(std::size_t column) const
    {
        return m_columns.at(column).data();
    }

  protected:
    /// Add a value to a column; the others have to follow.
    void Append(std::size_t column, int64_t value)
    {
        m_columns[column].push_back(value);
    }

  private:
    std::string m_name;                          //!< its name
    std::vector<std::string> m_names;            //!< of the columns
    std::vector<std::vector<int64_t>> m_columns; //!< the rows, by column
    std::function<void()> m_ready;               //!< fetches them
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
        for (std::size_t column = 0; column < m_values.size(); ++column)
        {
            RecordTable::Append(column, m_values[column].value(row));
        }
        if (GetRows() >= ROWS)
        {
            Flush();
        }
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
