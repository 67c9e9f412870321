// SPDX-License-Identifier: GPL-2.0-only
#include "part-description.h"

#include <algorithm>

namespace astra_ns3
{

PartDescription::PartDescription() = default;
PartDescription::~PartDescription() = default;
PartDescription::PartDescription(const PartDescription& other) = default;
PartDescription& PartDescription::operator=(const PartDescription& other) = default;

PartDescription::Value&
PartDescription::Find(const std::string& key, Kind kind)
{
    auto found = std::find_if(values.begin(), values.end(), [&key](const Value& each) {
        return each.name == key;
    });
    Value& value = found == values.end() ? values.emplace_back() : *found;
    value.name = key;
    value.kind = kind;
    return value;
}

void
PartDescription::SetWhole(const std::string& key, int64_t value)
{
    Find(key, Kind::WHOLE).whole = value;
}

void
PartDescription::SetReal(const std::string& key, double value)
{
    Find(key, Kind::REAL).real = value;
}

void
PartDescription::SetWord(const std::string& key, const std::string& value)
{
    Find(key, Kind::WORD).word = value;
}

Numbers&
PartDescription::AddNumbers(const std::string& key)
{
    return Find(key, Kind::NUMBERS).numbers;
}

Reals&
PartDescription::AddReals(const std::string& key)
{
    return Find(key, Kind::REALS).reals;
}

} // namespace astra_ns3
