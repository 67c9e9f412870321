// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * Who may send, for a round robin by number: a bitmap, and above it one bit for each of its words
 * that has any, so that the next in turn is found in a few steps among thousands.
 */
class RoceTurns
{
  public:
    /// What Next returns if nobody may send.
    static constexpr std::size_t NOBODY = ~std::size_t{0};

    /// \param number who may send
    void Set(std::size_t number)
    {
        const std::size_t word = number / BITS;
        if (word >= m_words.size())
        {
            m_words.resize(word + 1);
            m_summary.resize(word / BITS + 1);
        }
        m_words[word] |= uint64_t{1} << number % BITS;
        m_summary[word / BITS] |= uint64_t{1} << word % BITS;
    }

    /// \param number who may not send any more
    void Clear(std::size_t number)
    {
        const std::size_t word = number / BITS;
        m_words[word] &= ~(uint64_t{1} << number % BITS);
        if (m_words[word] == 0)
        {
            m_summary[word / BITS] &= ~(uint64_t{1} << word % BITS);
        }
    }

    /// \return whether nobody may send
    bool IsEmpty() const
    {
        for (uint64_t words : m_summary)
        {
            if (words != 0)
            {
                return false;
            }
        }
        return true;
    }

    /// \param after a number \return the first above it that may send, else the first of all
    std::size_t Next(std::size_t after) const
    {
        const std::size_t found = FirstFrom(after + 1);
        return found == NOBODY ? FirstFrom(0) : found;
    }

    /// Numbers fall by a multiple of 64; those that would fall below 0 may not send.
    void Shift(std::size_t by);

    static constexpr std::size_t BITS = 64; //!< numbers in a word

  private:
    /// \return the first number from this one on that may send
    std::size_t FirstFrom(std::size_t number) const
    {
        const std::size_t word = number / BITS;
        if (word >= m_words.size())
        {
            return NOBODY;
        }
        const uint64_t rest = m_words[word] >> number % BITS << number % BITS;
        if (rest != 0)
        {
            return word * BITS + std::countr_zero(rest);
        }
        return FirstFromWord(word + 1);
    }

    /// \return the first number in this word or behind it that may send
    std::size_t FirstFromWord(std::size_t word) const
    {
        for (std::size_t above = word / BITS; above < m_summary.size(); ++above)
        {
            uint64_t words = m_summary[above];
            if (above == word / BITS)
            {
                words = words >> word % BITS << word % BITS;
            }
            if (words != 0)
            {
                const std::size_t first = above * BITS + std::countr_zero(words);
                return first * BITS + std::countr_zero(m_words[first]);
            }
        }
        return NOBODY;
    }

    std::vector<uint64_t> m_words;   //!< bit n % 64 of word n / 64: number n may send
    std::vector<uint64_t> m_summary; //!< the same for words that are not 0
};

} // namespace ns3
