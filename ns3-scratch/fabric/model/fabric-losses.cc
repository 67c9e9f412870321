// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-losses.h"

#include "fabric-frame.h"

namespace ns3
{

void
FabricLosses::SetDraws(const FabricDraws& draws)
{
    m_draws = draws;
}

void
FabricLosses::SetRate(double rate, const FabricFrame* newest)
{
    if (newest && rate != m_rate)
    {
        if (!m_earlier)
        {
            m_earlier = std::make_unique<std::deque<Earlier>>();
        }
        m_earlier->push_back({newest, m_rate});
    }
    m_rate = rate;
}

double
FabricLosses::GetRate() const
{
    return m_rate;
}

bool
FabricLosses::MayLose() const
{
    return m_rate > 0.0 || m_earlier;
}

bool
FabricLosses::IsLost(const FabricFrame& frame)
{
    double rate = m_rate;
    if (m_earlier)
    {
        // The first is of all frames up to its last; others with the same last are of none.
        rate = m_earlier->front().rate;
        while (!m_earlier->empty() && m_earlier->front().last == &frame)
        {
            m_earlier->pop_front();
        }
        if (m_earlier->empty())
        {
            m_earlier.reset();
        }
    }
    return Draw(frame, rate);
}

void
FabricLosses::BeginSilence()
{
    m_earlier.reset();
    m_rate = SILENCE;
    m_silence = true; // also a frame of which only the head has arrived
}

void
FabricLosses::Forget()
{
    m_earlier.reset();
}

bool
FabricLosses::Draw(const FabricFrame& frame, double rate)
{
    m_silence = rate >= SILENCE;
    return m_silence || (rate > 0.0 && !frame.isPause && m_draws.Next() < rate);
}

} // namespace ns3
