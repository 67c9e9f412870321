// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace astra_ns3
{

/// Numbers that somebody else keeps, at least until the session is made.
template <typename NUMBER>
struct NumbersView
{
    const NUMBER* values{nullptr}; //!< the first
    uint64_t count{0};             //!< how many

    /// \param first the first of the numbers \param numbers how many there are
    void Show(const NUMBER* first, uint64_t numbers)
    {
        values = first;
        count = numbers;
    }

    /// \return the first
    const NUMBER* begin() const
    {
        return values;
    }

    /// \return behind the last
    const NUMBER* end() const
    {
        return values + count;
    }

    /// \return one of them
    NUMBER operator[](uint64_t index) const
    {
        return values[index];
    }
};

/// Whole numbers: of nodes, ports, kinds.
using Numbers = NumbersView<uint32_t>;
/// Rates and times.
using Quantities = NumbersView<int64_t>;
/// Numbers with a fraction.
using Reals = NumbersView<double>;

} // namespace astra_ns3
