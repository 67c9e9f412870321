// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-flow-hash.h"

#include <cstdint>

namespace ns3
{

/// Hashes by which switches choose the ways of a queue pair.
struct RoceFlowHashes
{
    uint32_t data;   //!< of its data
    uint32_t answer; //!< of what comes back, which takes a way of its own

    /**
     * \param sender NPU that sends
     * \param receiver NPU that receives
     * \param number of the queue pair, or of its message if each has one
     * \param portOfMessage the hash is a source port that grows by message
     */
    RoceFlowHashes(uint32_t sender, uint32_t receiver, uint32_t number, bool portOfMessage)
    {
        constexpr uint32_t FIRST_PORT = 10'000;    // source port of a pair's first message
        constexpr uint32_t DESTINATION_PORT = 100; // of every message
        if (portOfMessage)
        {
            const uint32_t port = (FIRST_PORT + number) & 0xffff;
            data = port | DESTINATION_PORT << 16;
            answer = DESTINATION_PORT | port << 16;
            return;
        }
        const uint32_t ends = FabricMixHash(FabricMixHash(sender) ^ receiver);
        data = FabricMixHash(ends ^ number);
        answer = AnswerTo(data);
    }

    /// \param data hash of data \return that of its answers, which take ways of their own
    static uint32_t AnswerTo(uint32_t data)
    {
        constexpr uint32_t ANSWER = 0x9e3779b9;
        return FabricMixHash(data ^ ANSWER);
    }

    /// \param data hash of data \return that of data that leaves by another source port
    static uint32_t Redrawn(uint32_t data)
    {
        constexpr uint32_t DRAW = 0x85ebca6b;
        return FabricMixHash(data ^ DRAW);
    }
};

} // namespace ns3
