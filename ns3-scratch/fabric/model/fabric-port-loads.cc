// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-port-loads.h"

#include "fabric-port.h"

#include <algorithm>

namespace ns3
{

namespace
{
/// A port among the choices.
struct Choice
{
    uint32_t place;    //!< where it is there first
    double rate;       //!< of its line
    double turns{0.0}; //!< how often it is there
};

/// \return whether a port has a higher rate for each of its turns than another
bool
IsFaster(const Choice& one, const Choice& other)
{
    return one.rate * other.turns > other.rate * one.turns;
}

/// \return the ports among the choices, each once
std::vector<Choice>
FindChoices(const FabricRoutes::Ports& choices, const std::vector<Ptr<FabricPort>>& ports)
{
    std::vector<Choice> found;
    for (uint32_t place = 0; place < choices.count; ++place)
    {
        const uint32_t number = choices.first[place];
        auto choice = std::find_if(found.begin(), found.end(), [&](const Choice& each) {
            return choices.first[each.place] == number;
        });
        if (choice == found.end())
        {
            const auto rate = static_cast<double>(ports[number]->GetRateBps());
            choice = found.insert(found.end(), {place, rate});
        }
        choice->turns += 1.0;
    }
    return found;
}

/// \return bits per second that ports beside the choices may bring
double
FindComing(const FabricRoutes::Ports& choices, const std::vector<Ptr<FabricPort>>& ports)
{
    double coming = 0.0;
    for (uint32_t number = 0; number < ports.size(); ++number)
    {
        const FabricPort& port = *ports[number];
        const uint32_t* const end = choices.first + choices.count;
        if (port.IsUp() && !port.IsSilent() && std::find(choices.first, end, number) == end)
        {
            coming += static_cast<double>(port.GetRateBps());
        }
    }
    return coming;
}
} // namespace

std::vector<double>
FabricPortLoads(const FabricRoutes::Ports& choices, const std::vector<Ptr<FabricPort>>& ports)
{
    std::vector<Choice> found = FindChoices(choices, ports);
    std::vector<double> loads(choices.count, 0.0);
    for (const Choice& choice : found)
    {
        loads[choice.place] = choice.rate;
    }
    std::stable_sort(found.begin(), found.end(), [](const Choice& one, const Choice& other) {
        return IsFaster(other, one);
    });
    const bool equal = !IsFaster(found.back(), found.front());
    const double coming = equal ? 0.0 : FindComing(choices, ports);
    if (coming <= 0.0)
    {
        return loads;
    }
    double left = coming;
    double turns = 0.0;
    for (const Choice& choice : found)
    {
        turns += choice.turns;
    }
    // Slow ports are full first, and leave the rest to faster ones.
    for (const Choice& choice : found)
    {
        const double load = std::min(choice.rate, left * choice.turns / turns);
        loads[choice.place] = load;
        left -= load;
        turns -= choice.turns;
    }
    return loads;
}

} // namespace ns3
