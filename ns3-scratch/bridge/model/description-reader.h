// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "network-description.h"

#include <cstdint>

namespace astra_ns3
{

/**
 * Read what Python says of a network. It is one text, for the bridge compiles the way into each
 * native function and field in each process.
 *
 * A text is words with a zero byte behind each. A group of values is its name, its values and an
 * empty word; a value is its name, its kind (see PartDescription::Add) and a word, or for an array
 * the address and the number of its elements. A group is a struct of a NetworkDescription, a new
 * element of a list, or `transport` and a name, of which there may be several groups.
 * \param text the words
 * \param size bytes of all words
 * \return what they say, which views the arrays where they are
 * \throw std::invalid_argument that says in one line what is wrong
 */
NetworkDescription ReadDescription(const char* text, uint64_t size);

} // namespace astra_ns3
