// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace astra_ns3
{

/**
 * \param list the list
 * \param index place in it
 * \param what name of what it holds
 * \return the element
 * \throw std::invalid_argument if there is none
 */
template <typename LIST>
auto&
ElementOf(LIST& list, std::size_t index, const char* what)
{
    if (index >= list.size())
    {
        throw std::invalid_argument(std::string("there is no ") + what + " " +
                                    std::to_string(index));
    }
    return list[index];
}

} // namespace astra_ns3
