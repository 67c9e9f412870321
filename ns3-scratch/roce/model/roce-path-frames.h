// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-port.h"

#include <cstdint>
#include <vector>

namespace ns3
{

/**
 * Frames one behind the other, alone on a path some of whose switches cut through, each sent as
 * soon as the first line is free.
 *
 * A switch sends a frame on when its head has come if the next line is free by then and would not
 * run out of bits, else when all of it is there and the line is free. Frames of one size do the
 * same one after the other until a queue has drained, so that any number of them takes a few steps.
 */
class RocePathFrames
{
  public:
    /// A line of the path.
    struct Line
    {
        const FabricPort* port; //!< sends on it
        uint32_t headWireBytes; //!< on the line when the far end may send a frame on; 0: all
    };

    /// \param lines in turn
    explicit RocePathFrames(std::vector<Line> lines);
    /// \param count frames that follow those before \param wireBytes of each of them on the line
    void Send(uint64_t count, uint32_t wireBytes);

    /// \return when the last frame has left the last line, all delays left out
    int64_t GetLastPs() const
    {
        return m_freePs.back();
    }

  private:
    /// How a frame leaves a line.
    enum class Leave
    {
        AT_HEAD,   //!< when its head has come
        AT_TAIL,   //!< when all of it has
        AFTER_WAIT //!< when the frame before it has left
    };

    /// What becomes of one frame.
    struct Step
    {
        std::vector<Leave> leaves;   //!< by line
        std::vector<int64_t> addsPs; //!< how much later than the one before it leaves, by line
        std::vector<int64_t> waitPs; //!< how long it waits for it, by line
    };

    /// \param wireBytes bytes of the next frame \return what becomes of it
    Step SendOne(uint32_t wireBytes);
    /// \param step of a frame that does as the one before it did \param count frames to come
    /// \return how many of them do the same
    static uint64_t CountAlike(const Step& step, uint64_t count);

    std::vector<Line> m_lines;     //!< in turn
    std::vector<int64_t> m_freePs; //!< when each gets free
};

} // namespace ns3
