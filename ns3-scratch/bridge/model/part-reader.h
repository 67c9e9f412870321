// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "part-description.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace astra_ns3
{

/**
 * Reads what a transport, or another part, is made from. A value that is missing, of another kind
 * or out of range throws std::invalid_argument, which names it, and so does one that nobody has
 * read.
 */
class PartReader
{
  public:
    /// \param part what is read; it must outlive this \param what it is, in errors
    explicit PartReader(const PartDescription& part, std::string what = "transport ");

    /// \param key a name \param value becomes the whole number of that name; of a bool 0 or 1
    template <std::integral NUMBER>
    void operator()(const std::string& key, NUMBER& value)
    {
        using Limits = std::numeric_limits<NUMBER>;
        constexpr auto MOST = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
        value = static_cast<NUMBER>(
            TakeWhole(key,
                      static_cast<int64_t>(Limits::min()),
                      static_cast<int64_t>(std::min<uint64_t>(Limits::max(), MOST))));
    }

    /// \param key a name \param value becomes the number of that name, whole or not
    void operator()(const std::string& key, double& value);
    /// \param key a name \param value becomes the word of that name
    void operator()(const std::string& key, std::string& value);
    /// \param key a name \param value becomes the whole numbers of that name
    void operator()(const std::string& key, Numbers& value);
    /// \param key a name \param value becomes the rates or times of that name
    void operator()(const std::string& key, Quantities& value);
    /// \param key a name \param value becomes the numbers of that name
    void operator()(const std::string& key, Reals& value);

    /// \param key a name \param value becomes what the word of that name stands for
    /// \param words the words for 0, 1, ...
    template <typename CHOICE, std::size_t COUNT>
    void operator()(const std::string& key,
                    CHOICE& value,
                    const std::array<const char*, COUNT>& words)
    {
        value = static_cast<CHOICE>(TakeChoice(key, {words.begin(), words.end()}));
    }

    /// \param prefix how names begin \param each called with the rest of each, and its number
    void ReadAll(const std::string& prefix,
                 const std::function<void(const std::string&, double)>& each);
    /// \param key a name \return whether there is a value of that name
    bool Has(const std::string& key) const;
    /// Throw if there is something that was not read.
    void Finish() const;

  private:
    using Kind = PartDescription::Kind;
    using Value = PartDescription::Value;

    /// \return the value of that name and kind
    const Value& Take(const std::string& key, Kind kind);
    /// \return the whole number of that name
    int64_t TakeWhole(const std::string& key, int64_t least, int64_t most);
    /// \return which of some words stands under that name
    uint32_t TakeChoice(const std::string& key, const std::vector<std::string>& words);
    /// Throw std::invalid_argument about a name.
    [[noreturn]] void Refuse(const std::string& key, const std::string& why) const;

    const PartDescription& m_part; //!< what is read
    std::string m_what;            //!< what it is, in errors
    std::set<std::string> m_read;  //!< names of what was read
};

} // namespace astra_ns3
