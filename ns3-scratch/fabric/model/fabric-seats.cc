// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-seats.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace ns3
{

namespace
{
constexpr double NOWHERE = -1.0; // of a group that isn't reached yet

using Linked = std::vector<std::set<uint32_t>>;

/// Seat leaves by their numbers, and hosts with the first of theirs. \return the leaves
std::vector<uint32_t>
SeatHosts(const std::vector<uint32_t>& hosts, const Linked& linked, std::vector<double>& places)
{
    std::set<uint32_t> leaves;
    const std::set<uint32_t> all(hosts.begin(), hosts.end());
    for (const uint32_t host : all)
    {
        for (const uint32_t other : linked[host])
        {
            if (all.count(other) == 0)
            {
                places[other] = other;
                leaves.insert(other);
            }
        }
    }
    for (const uint32_t host : all)
    {
        const auto leaf =
            std::find_if(linked[host].begin(), linked[host].end(), [&leaves](uint32_t other) {
                return leaves.count(other) > 0;
            });
        places[host] = leaf == linked[host].end() ? host : places[*leaf];
    }
    return {leaves.begin(), leaves.end()};
}
} // namespace

std::vector<uint32_t>
SeatsOf(uint32_t groups,
        const std::vector<uint32_t>& hosts,
        const std::vector<std::pair<uint32_t, uint32_t>>& links)
{
    Linked linked(groups);
    for (const auto& [a, b] : links)
    {
        linked[a].insert(b);
        linked[b].insert(a);
    }
    std::vector<double> places(groups, NOWHERE);
    std::vector<uint32_t> tier = SeatHosts(hosts, linked, places);
    while (!tier.empty())
    {
        std::map<uint32_t, std::vector<double>> above;
        for (const uint32_t group : tier)
        {
            for (const uint32_t other : linked[group])
            {
                if (places[other] == NOWHERE)
                {
                    above[other].push_back(places[group]);
                }
            }
        }
        tier.clear();
        for (const auto& [group, below] : above)
        {
            const double sum = std::accumulate(below.begin(), below.end(), 0.0);
            places[group] = sum / static_cast<double>(below.size());
            tier.push_back(group);
        }
    }
    std::vector<uint32_t> row(groups);
    std::iota(row.begin(), row.end(), 0);
    std::stable_sort(row.begin(), row.end(), [&places](uint32_t a, uint32_t b) {
        return places[a] < places[b];
    });
    std::vector<uint32_t> seats(groups);
    for (uint32_t seat = 0; seat < groups; ++seat)
    {
        seats[row[seat]] = seat;
    }
    return seats;
}

} // namespace ns3
