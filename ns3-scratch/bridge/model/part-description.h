// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "numbers-view.h"

#include <cstdint>
#include <list>
#include <string>

namespace astra_ns3
{

/**
 * What a part of a network is made from: numbers, words and arrays by name. Which there are is the
 * part's affair, such as a transport's; it reads them by a PartReader.
 */
struct PartDescription
{
    /// What kind of value stands under a name.
    enum class Kind : uint32_t
    {
        WHOLE,      //!< a whole number; 0 or 1 where something is off or on
        REAL,       //!< a number with a fraction
        WORD,       //!< a word
        NUMBERS,    //!< whole numbers
        QUANTITIES, //!< rates or times
        REALS       //!< numbers with a fraction
    };

    /// A value; only what its kind says has a meaning.
    struct Value
    {
        std::string name;       //!< its name
        Kind kind{Kind::WHOLE}; //!< what it is
        int64_t whole{0};       //!< a whole number
        double real{0.0};       //!< a number
        std::string word;       //!< a word
        Numbers numbers;        //!< whole numbers
        Quantities quantities;  //!< rates or times
        Reals reals;            //!< numbers
    };

    std::string name;        //!< of the part
    std::list<Value> values; //!< all that it is made from

    /**
     * \param key a name
     * \param field name of the field of the value that has a meaning
     * \return the value of that name, a new one if there is none
     */
    Value& Add(const std::string& key, const std::string& field);
};

} // namespace astra_ns3
