// SPDX-License-Identifier: GPL-2.0-only
#include "part-reader.h"

#include <stdexcept>
#include <utility>

namespace astra_ns3
{

PartReader::PartReader(const PartDescription& part, std::string what)
    : m_part(part),
      m_what(std::move(what))
{
}

void
PartReader::Refuse(const std::string& key, const std::string& why) const
{
    throw std::invalid_argument(m_what + m_part.name + ": '" + key + "' " + why);
}

const PartDescription::Value&
PartReader::Take(const std::string& key, Kind kind)
{
    for (const Value& value : m_part.values)
    {
        if (value.name == key)
        {
            if (value.kind != kind)
            {
                Refuse(key, "is of another kind");
            }
            m_read.insert(key);
            return value;
        }
    }
    Refuse(key, "is missing");
}

int64_t
PartReader::TakeWhole(const std::string& key, int64_t least, int64_t most)
{
    const int64_t found = Take(key, Kind::WHOLE).whole;
    if (found < least || found > most)
    {
        Refuse(key,
               "is " + std::to_string(found) + ", expected " + std::to_string(least) + " to " +
                   std::to_string(most));
    }
    return found;
}

uint32_t
PartReader::TakeChoice(const std::string& key, const std::vector<std::string>& words)
{
    const std::string& found = Take(key, Kind::WORD).word;
    std::string allowed;
    for (uint32_t place = 0; place < words.size(); ++place)
    {
        if (found == words[place])
        {
            return place;
        }
        allowed += (place == 0 ? "" : ", ") + words[place];
    }
    Refuse(key, "is '" + found + "', expected one of " + allowed);
}

void
PartReader::operator()(const std::string& key, double& value)
{
    for (const Value& each : m_part.values)
    {
        if (each.name == key && each.kind == Kind::WHOLE)
        {
            m_read.insert(key);
            value = static_cast<double>(each.whole);
            return;
        }
    }
    value = Take(key, Kind::REAL).real;
}

void
PartReader::operator()(const std::string& key, std::string& value)
{
    value = Take(key, Kind::WORD).word;
}

void
PartReader::operator()(const std::string& key, Numbers& value)
{
    value = Take(key, Kind::NUMBERS).numbers;
}

void
PartReader::operator()(const std::string& key, Quantities& value)
{
    value = Take(key, Kind::QUANTITIES).quantities;
}

void
PartReader::operator()(const std::string& key, Reals& value)
{
    value = Take(key, Kind::REALS).reals;
}

void
PartReader::ReadAll(const std::string& prefix,
                    const std::function<void(const std::string&, double)>& each)
{
    for (const Value& value : m_part.values)
    {
        if (value.name.starts_with(prefix))
        {
            double number = 0.0;
            (*this)(value.name, number);
            each(value.name.substr(prefix.size()), number);
        }
    }
}

bool
PartReader::Has(const std::string& key) const
{
    return std::any_of(m_part.values.begin(), m_part.values.end(), [&key](const Value& value) {
        return value.name == key;
    });
}

void
PartReader::Finish() const
{
    for (const Value& value : m_part.values)
    {
        if (!m_read.contains(value.name))
        {
            Refuse(value.name, "is unknown");
        }
    }
}

} // namespace astra_ns3
