// SPDX-License-Identifier: GPL-2.0-only
#include "part-description.h"

#include <algorithm>
#include <map>

namespace astra_ns3
{

PartDescription::Value&
PartDescription::Add(const std::string& key, const std::string& field)
{
    static const std::map<std::string, Kind> KINDS{{"whole", Kind::WHOLE},
                                                   {"real", Kind::REAL},
                                                   {"word", Kind::WORD},
                                                   {"numbers", Kind::NUMBERS},
                                                   {"quantities", Kind::QUANTITIES},
                                                   {"reals", Kind::REALS}};
    auto found = std::find_if(values.begin(), values.end(), [&key](const Value& each) {
        return each.name == key;
    });
    Value& value = found == values.end() ? values.emplace_back() : *found;
    value.name = key;
    value.kind = KINDS.at(field);
    return value;
}

} // namespace astra_ns3
