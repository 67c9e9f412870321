// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What stands before a host's NIC in the suites of RoCE: it sees every frame, and drops or holds up
 * those that a test names. Times are picoseconds.
 */
#pragma once

#include "fabric-port.h"
#include "roce-queue-sender.h"

#include "ns3/simulator.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace ns3::test
{

/// A frame that reached its last link's end.
struct SeenFrame
{
    int64_t timePs;        //!< when its last bit came
    uint8_t kind;          //!< a RoceFrameKind
    uint8_t priority;      //!< of the frame
    uint32_t source;       //!< host it comes from
    uint64_t sequence;     //!< position
    uint64_t echo;         //!< position named by an answer
    uint32_t payloadBytes; //!< data
    uint32_t wireBytes;    //!< on the line
};

/// Stands before a host's NIC: notes frames, and drops or holds up those that a test names.
class Gate : public FabricReceiver
{
  public:
    /// \return how long a frame is held up, or below 0 to drop it
    using Rule = std::function<int64_t(const FabricFrame& frame)>;

    /// \param behind the NIC
    explicit Gate(FabricReceiver* behind)
        : m_behind(behind)
    {
    }

    /// \param rule from now on
    void SetRule(Rule rule)
    {
        m_rule = std::move(rule);
    }

    void ReceiveFrame(FabricFrame* frame, uint32_t port) override
    {
        m_seen.push_back({Simulator::Now().GetTimeStep(),
                          frame->kind,
                          frame->priority,
                          frame->source,
                          frame->sequence,
                          frame->echo,
                          frame->payloadBytes,
                          frame->wireBytes});
        const int64_t heldPs = m_rule && frame->flow ? m_rule(*frame) : 0;
        if (heldPs < 0)
        {
            frame->flow->FrameLost(frame);
        }
        else if (heldPs == 0)
        {
            m_behind->ReceiveFrame(frame, port);
        }
        else
        {
            Simulator::Schedule(TimeStep(heldPs),
                                [this, frame, port] { m_behind->ReceiveFrame(frame, port); });
        }
    }

    /// \return frames of a kind
    std::vector<SeenFrame> GetSeen(uint8_t kind) const
    {
        std::vector<SeenFrame> found;
        for (const SeenFrame& frame : m_seen)
        {
            if (frame.kind == kind)
            {
                found.push_back(frame);
            }
        }
        return found;
    }

    /// \return positions of the data packets, in order of arrival
    std::vector<uint64_t> GetPositions() const
    {
        std::vector<uint64_t> positions;
        for (const SeenFrame& frame : GetSeen(ROCE_DATA))
        {
            positions.push_back(frame.sequence);
        }
        return positions;
    }

  private:
    FabricReceiver* m_behind;      //!< the NIC
    Rule m_rule;                   //!< drops or holds up
    std::vector<SeenFrame> m_seen; //!< all frames
};

} // namespace ns3::test
