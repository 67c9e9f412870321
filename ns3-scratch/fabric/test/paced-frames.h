// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Frames that may not leave before their time, by priority: what a host's queue pairs are, without
 * any of their logic. The plain ports and the ones under test take from it alike.
 */
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>

namespace astra_ns3::test
{

/// Up to eight streams of frames, each with a distance in time between its frames.
class PacedFrames
{
  public:
    /// A frame.
    struct Frame
    {
        uint64_t number; //!< its number
        uint32_t bytes;  //!< its size
    };

    static constexpr int64_t NEVER = std::numeric_limits<int64_t>::max();

    /// \param nowPs the frame may go from then on, and `gapPs` after the one before it
    void Post(uint32_t priority, const Frame& frame, int64_t nowPs, int64_t gapPs)
    {
        Stream& stream = m_streams.at(priority);
        stream.readyPs = stream.frames.empty() ? std::max(stream.readyPs, nowPs) : stream.readyPs;
        stream.gapPs = gapPs;
        stream.frames.push_back(frame);
    }

    /// \return the earliest time of any frame that is not stopped
    int64_t GetNextPs(uint32_t paused) const
    {
        int64_t nextPs = NEVER;
        for (uint32_t priority = 0; priority < m_streams.size(); ++priority)
        {
            const Stream& stream = m_streams[priority];
            const bool sends = !stream.frames.empty() && (paused >> priority & 1) == 0;
            nextPs = sends ? std::min(nextPs, stream.readyPs) : nextPs;
        }
        return nextPs;
    }

    /// \return priority and frame that goes at startPs: the highest that may
    std::pair<uint32_t, Frame> Take(int64_t startPs, uint32_t paused)
    {
        for (uint32_t priority = m_streams.size(); priority-- > 0;)
        {
            Stream& stream = m_streams[priority];
            if (!stream.frames.empty() && (paused >> priority & 1) == 0 &&
                stream.readyPs <= startPs)
            {
                const Frame frame = stream.frames.front();
                stream.frames.pop_front();
                stream.readyPs = startPs + stream.gapPs;
                return {priority, frame};
            }
        }
        return {0, {0, 0}};
    }

  private:
    /// The frames of a priority.
    struct Stream
    {
        std::deque<Frame> frames; //!< in order
        int64_t readyPs{0};       //!< when the first may go
        int64_t gapPs{0};         //!< distance of the next
    };

    std::array<Stream, 8> m_streams; //!< by priority
};

} // namespace astra_ns3::test
