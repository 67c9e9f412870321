// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3
{

class EventImpl;
class FabricPort;

/// Something that is due.
struct FabricDue
{
    int64_t timePs;       //!< when
    uint64_t order;       //!< smaller comes first at that time
    uintptr_t target;     //!< an EventImpl, or a FabricPort with a mark in the lowest bits
    uint32_t rank;        //!< of a port: smaller comes first at that time; of an event: its node
    uint32_t sequence{0}; //!< of several events of a host the lowest comes first

    static constexpr uintptr_t ARRIVAL_MARK = 1; //!< in the address of a port at which it arrives
    static constexpr uintptr_t WAKE_MARK = 2;    //!< of a port that wakes
    static constexpr uintptr_t MARKS = 3;        //!< both

    /// \return the port that is due, or none: it is an event of ns-3
    FabricPort* GetPort() const
    {
        return (target & MARKS) == 0 ? nullptr : reinterpret_cast<FabricPort*>(target & ~MARKS);
    }

    /// \return whether a port is due because something arrives
    bool IsArrival() const
    {
        return (target & MARKS) == ARRIVAL_MARK;
    }

    /// \return the event that is due; it must be one
    EventImpl* GetEvent() const
    {
        return reinterpret_cast<EventImpl*>(target);
    }

    /// \return whether this is due before another
    bool IsBefore(const FabricDue& other) const
    {
        return timePs != other.timePs ? timePs < other.timePs
               : order != other.order ? order < other.order
               : rank != other.rank   ? rank < other.rank
                                      : sequence < other.sequence;
    }
};

/// A four-way heap of what is due, the next first.
class FabricDueList
{
  public:
    /// \return whether there is nothing
    bool IsEmpty() const
    {
        return m_heap.empty();
    }

    /// \return the next; there must be one
    const FabricDue& Front() const
    {
        return m_heap.front();
    }

    /// \return how many there are
    std::size_t GetSize() const
    {
        return m_heap.size();
    }

    /// \return all, in no order that matters
    const std::vector<FabricDue>& GetAll() const
    {
        return m_heap;
    }

    /// Add one.
    void Push(const FabricDue& due)
    {
        m_heap.push_back(due);
        SiftUp(m_heap.size() - 1);
    }

    /// Put one in the place of the next.
    void ReplaceFront(const FabricDue& due)
    {
        m_heap.front() = due;
        SiftDown(0);
    }

    /// \return the next, taken out
    FabricDue Pop()
    {
        const FabricDue due = m_heap.front();
        Erase(0);
        return due;
    }

    /// Take out the one at a place.
    void Erase(std::size_t place);

    /// Take out all for which a condition holds. \return how many
    template <class CONDITION>
    std::size_t EraseIf(const CONDITION& condition)
    {
        const std::size_t erased = std::erase_if(m_heap, condition);
        for (std::size_t place = m_heap.size() / WAYS + 1; place-- > 0;)
        {
            if (place < m_heap.size())
            {
                SiftDown(place);
            }
        }
        return erased;
    }

  private:
    static constexpr std::size_t WAYS = 4;

    void SiftUp(std::size_t place);
    void SiftDown(std::size_t place);

    std::vector<FabricDue> m_heap; //!< the heap
};

} // namespace ns3
