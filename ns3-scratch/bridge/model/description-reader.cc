// SPDX-License-Identifier: GPL-2.0-only
#include "description-reader.h"

#include "part-reader.h"

#include <charconv>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace astra_ns3
{

namespace
{
/// How the name of a transport's group begins.
constexpr std::string_view TRANSPORT{"transport "};

/// Takes one word after the other.
class Words
{
  public:
    explicit Words(std::string_view left)
        : m_left(left)
    {
    }

    /// \return whether there is another word
    explicit operator bool() const
    {
        return !m_left.empty();
    }

    /// \return the next word
    std::string_view Next()
    {
        const auto end = m_left.find('\0');
        if (end == std::string_view::npos)
        {
            throw std::invalid_argument("network description: its text ends within a word");
        }
        const std::string_view word = m_left.substr(0, end);
        m_left.remove_prefix(end + 1);
        return word;
    }

    /// \return the next word, which is a number
    template <typename NUMBER>
    NUMBER NextNumber()
    {
        const std::string_view word = Next();
        NUMBER number{};
        const auto read = std::from_chars(word.begin(), word.end(), number);
        if (read.ec != std::errc() || read.ptr != word.end())
        {
            throw std::invalid_argument("network description: '" + std::string(word) +
                                        "' is no number");
        }
        return number;
    }

    /// \param view becomes the array whose address and size the next words are
    template <typename NUMBER>
    void NextArray(NumbersView<NUMBER>& view)
    {
        const auto address = NextNumber<uint64_t>();
        view.Show(reinterpret_cast<const NUMBER*>(address), NextNumber<uint64_t>());
    }

  private:
    std::string_view m_left; //!< what is still to be taken
};

/// Reads those fields of a struct that something is said of, and refuses other names.
class FieldReader
{
  public:
    explicit FieldReader(const PartDescription& values)
        : m_reader(values, "network description: ")
    {
    }

    /// \param key a name \param field becomes the value of that name, if there is one
    template <typename... FIELD>
    void operator()(const std::string& key, FIELD&... field)
    {
        if (m_reader.Has(key))
        {
            m_reader(key, field...);
        }
    }

    /// \param key a name \param field becomes the numbers of that name, if there are any
    void operator()(const std::string& key, std::vector<uint32_t>& field)
    {
        Numbers numbers;
        (*this)(key, numbers);
        field.assign(numbers.begin(), numbers.end());
    }

    /// Throw if there is a value that no field has.
    void Finish() const
    {
        m_reader.Finish();
    }

  private:
    PartReader m_reader; //!< has the values
};

/// Reads a group into where it belongs.
using GroupReader = std::function<void(FieldReader&, NetworkDescription&)>;

/// \return what reads the group of a name
const GroupReader&
GetGroup(const std::string& name)
{
    static const std::map<std::string, GroupReader> GROUPS{
        {"network", [](auto& field, auto& network) { ForEachField(field, network); }},
        {"routes", [](auto& field, auto& network) { ForEachField(field, network.routes); }},
        {"routing", [](auto& field, auto& network) { ForEachField(field, network.routing); }},
        {"local", [](auto& field, auto& network) { ForEachField(field, network.local); }},
        {"endpoint", [](auto& field, auto& network) { ForEachField(field, network.endpoint); }},
        {"observation",
         [](auto& field, auto& network) { ForEachField(field, network.observation); }},
        {"switchKind",
         [](auto& field, auto& network) {
             ForEachField(field, network.switchKinds.emplace_back());
         }},
        {"marking", // of the last kind of switch
         [](auto& field, auto& network) {
             ForEachField(field, network.switchKinds.back().marking.emplace_back());
         }},
        {"linkKind",
         [](auto& field, auto& network) { ForEachField(field, network.linkKinds.emplace_back()); }},
        {"change",
         [](auto& field, auto& network) { ForEachField(field, network.changes.emplace_back()); }},
        {"pin",
         [](auto& field, auto& network) { ForEachField(field, network.pins.emplace_back()); }},
        {"dimension",
         [](auto& field, auto& network) {
             ForEachField(field, network.transports.emplace_back());
         }},
        {"table",
         [](auto& field, auto& network) {
             ForEachField(field, network.observation.tables.emplace_back());
         }},
        {"capture", [](auto& field, auto& network) {
             ForEachField(field, network.observation.captures.emplace_back());
         }}};
    const auto found = GROUPS.find(name);
    if (found == GROUPS.end())
    {
        throw std::invalid_argument("network description: there is no group '" + name + "'");
    }
    return found->second;
}

/// Take the values of a group. \param part has them then
void
TakeValues(Words& words, PartDescription& part)
{
    for (std::string_view name = words.Next(); !name.empty(); name = words.Next())
    {
        using Kind = PartDescription::Kind;
        PartDescription::Value& value = part.Add(std::string(name), std::string(words.Next()));
        switch (value.kind)
        {
        case Kind::WHOLE:
            value.whole = words.NextNumber<int64_t>();
            break;
        case Kind::REAL:
            value.real = words.NextNumber<double>();
            break;
        case Kind::WORD:
            value.word = words.Next();
            break;
        case Kind::NUMBERS:
            words.NextArray(value.numbers);
            break;
        case Kind::QUANTITIES:
            words.NextArray(value.quantities);
            break;
        case Kind::REALS:
            words.NextArray(value.reals);
            break;
        }
    }
}
} // namespace

NetworkDescription
ReadDescription(const char* text, uint64_t size)
{
    NetworkDescription network;
    Words words(std::string_view(text, size));
    while (words)
    {
        const std::string_view group = words.Next();
        if (group.starts_with(TRANSPORT))
        {
            TakeValues(words, network.GetPart(std::string(group.substr(TRANSPORT.size()))));
            continue;
        }
        PartDescription values;
        values.name = group;
        TakeValues(words, values);
        FieldReader field(values);
        GetGroup(values.name)(field, network);
        field.Finish();
    }
    return network;
}

} // namespace astra_ns3
