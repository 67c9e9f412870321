// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Plays cases of the oracle of whole networks on plain ports, and writes their logs.
 *
 *     astra-ns3-plain-player FIRST COUNT
 *
 * For each case the number of rows (8 bytes), then the rows as they are in memory.
 */
#include "network-player.h"
#include "plain-ties.h"

#include "ns3/nstime.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

void
ns3::test::NoteTie(int64_t timePs)
{
    astra_ns3::test::LogNote(astra_ns3::test::LogKind::TIE, timePs);
}

void
ns3::test::NoteDueDeparture(int64_t timePs)
{
    astra_ns3::test::LogNote(astra_ns3::test::LogKind::DUE_DEPARTURE, timePs);
}

int
main(int argc, char* argv[])
{
    if (argc != 3)
    {
        std::fputs("usage: astra-ns3-plain-player FIRST COUNT\n", stderr);
        return 2;
    }
    ns3::Time::SetResolution(ns3::Time::PS);
    try
    {
        const auto first = static_cast<uint32_t>(std::stoul(argv[1]));
        const auto count = static_cast<uint32_t>(std::stoul(argv[2]));
        for (uint32_t number = first; number < first + count; ++number)
        {
            const auto log =
                astra_ns3::test::PlayNetworkCase(astra_ns3::test::MakeNetworkCase(number));
            const uint64_t rows = log.size();
            if (std::fwrite(&rows, sizeof rows, 1, stdout) != 1 ||
                std::fwrite(log.data(), sizeof log[0], rows, stdout) != rows)
            {
                return EXIT_FAILURE; // whoever reads has heard enough
            }
        }
    }
    catch (const std::exception& error)
    {
        std::fprintf(stderr, "astra-ns3-plain-player: %s\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
