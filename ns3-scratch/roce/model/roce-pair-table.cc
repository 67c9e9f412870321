// SPDX-License-Identifier: GPL-2.0-only
#include "roce-pair-table.h"

#include "fabric-flow-hash.h"

#include <algorithm>

namespace ns3
{

namespace
{
constexpr std::size_t FEWEST_PLACES = 2;
} // namespace

RocePairTable::RocePairTable(std::size_t senders)
    : m_receivers(senders)
{
}

RocePairTable::Place&
RocePairTable::Find(std::vector<Place>& places, uint32_t receiver)
{
    const std::size_t mask = places.size() - 1;
    std::size_t place = FabricMixHash(receiver) & mask;
    while (places[place].number != NONE && places[place].receiver != receiver)
    {
        place = (place + 1) & mask;
    }
    return places[place];
}

void
RocePairTable::Grow(Receivers& receivers)
{
    std::vector<Place> larger(std::max(FEWEST_PLACES, 2 * receivers.places.size()));
    for (const Place& place : receivers.places)
    {
        if (place.number != NONE)
        {
            Find(larger, place.receiver) = place;
        }
    }
    receivers.places.swap(larger);
}

uint32_t
RocePairTable::NumberOf(uint32_t sender, uint32_t receiver)
{
    Receivers& receivers = m_receivers[sender];
    if (!receivers.places.empty())
    {
        const Place& place = Find(receivers.places, receiver);
        if (place.number != NONE)
        {
            return place.number;
        }
    }
    // A quarter is free, so that few places are looked at.
    if (4 * (receivers.used + 1) > 3 * receivers.places.size())
    {
        Grow(receivers);
    }
    Find(receivers.places, receiver) = {receiver, receivers.used};
    return receivers.used++;
}

} // namespace ns3
