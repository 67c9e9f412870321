// SPDX-License-Identifier: GPL-2.0-only
#include "roce-path-frames.h"

#include <algorithm>
#include <utility>

namespace ns3
{

RocePathFrames::RocePathFrames(std::vector<Line> lines)
    : m_lines(std::move(lines)),
      m_freePs(m_lines.size(), 0)
{
}

RocePathFrames::Step
RocePathFrames::SendOne(uint32_t wireBytes)
{
    Step step;
    int64_t tailPs = 0;
    int64_t headPs = 0;
    for (std::size_t number = 0; number < m_lines.size(); ++number)
    {
        const FabricPort& port = *m_lines[number].port;
        const int64_t linePs = port.TransmissionPs(wireBytes);
        const int64_t freePs = m_freePs[number];
        const bool cuts = headPs >= freePs && headPs + linePs >= tailPs;
        const int64_t startPs = cuts ? headPs : std::max(tailPs, freePs);
        step.leaves.push_back(cuts               ? Leave::AT_HEAD
                              : tailPs >= freePs ? Leave::AT_TAIL
                                                 : Leave::AFTER_WAIT);
        step.waitPs.push_back(std::max<int64_t>(0, freePs - tailPs));
        step.addsPs.push_back(startPs + linePs - freePs);
        m_freePs[number] = tailPs = startPs + linePs;
        const uint32_t headBytes = m_lines[number].headWireBytes;
        const bool announced = headBytes > 0 && wireBytes > headBytes;
        headPs = announced ? startPs + port.TransmissionPs(headBytes) : tailPs;
    }
    return step;
}

uint64_t
RocePathFrames::CountAlike(const Step& step, uint64_t count)
{
    for (std::size_t line = 1; line < step.leaves.size(); ++line)
    {
        // A queue drains by as much as frames come later than they leave.
        const int64_t drainsPs = step.addsPs[line - 1] - step.addsPs[line];
        if (step.leaves[line] == Leave::AFTER_WAIT && drainsPs > 0)
        {
            count = std::min(count, static_cast<uint64_t>((step.waitPs[line] - 1) / drainsPs));
        }
    }
    return count;
}

void
RocePathFrames::Send(uint64_t count, uint32_t wireBytes)
{
    std::vector<Leave> before;
    while (count > 0)
    {
        const Step step = SendOne(wireBytes);
        count--;
        if (step.leaves == before)
        {
            const uint64_t alike = CountAlike(step, count);
            for (std::size_t line = 0; line < m_lines.size(); ++line)
            {
                m_freePs[line] += static_cast<int64_t>(alike) * step.addsPs[line];
            }
            count -= alike;
        }
        before = step.leaves;
    }
}

} // namespace ns3
