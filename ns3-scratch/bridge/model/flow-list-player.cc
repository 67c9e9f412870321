// SPDX-License-Identifier: GPL-2.0-only
#include "flow-list-player.h"

#include "collective-executor.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr uint32_t FLOW_BITS = 32; // of an instance, below the flow's number: chunk and phase
constexpr std::size_t MOST_POINTS = 512;
constexpr int64_t FIRST_GAP_PS = 1'000'000;

/// Keep a point only where the one before is a gap away. \param curve times and bytes by turns
void
Thin(std::vector<int64_t>& curve, int64_t gapPs)
{
    std::size_t kept = 2;
    for (std::size_t point = 2; point < curve.size(); point += 2)
    {
        if (curve[point] - curve[kept - 2] >= gapPs)
        {
            curve[kept] = curve[point];
            curve[kept + 1] = curve[point + 1];
            kept += 2;
        }
    }
    curve.resize(kept);
}
} // namespace

FlowListPlayer::FlowListPlayer(CollectiveExecutor& executor, uint32_t number, FlowListSetup setup)
    : m_executor(executor),
      m_number(number),
      m_setup(std::move(setup)),
      m_gapPs(FIRST_GAP_PS)
{
}

void
FlowListPlayer::Add(const Columns& columns, uint32_t count, bool last)
{
    const auto first = static_cast<uint32_t>(m_bytes.size());
    m_sources.insert(m_sources.end(), columns.sources, columns.sources + count);
    m_destinations.insert(m_destinations.end(), columns.destinations, columns.destinations + count);
    m_bytes.insert(m_bytes.end(), columns.bytes, columns.bytes + count);
    m_due.insert(m_due.end(), columns.startsPs, columns.startsPs + count);
    m_order.reserve(m_order.size() + count);
    for (const uint32_t* place = columns.order; place != columns.order + count; ++place)
    {
        if (*place >= count)
        {
            throw std::invalid_argument("flows: there is no flow " + std::to_string(*place));
        }
        m_order.push_back(first + *place);
    }
    m_starts.resize(m_bytes.size(), NOT_YET);
    m_ends.resize(m_bytes.size(), NOT_YET);
    m_last = last;
    WaitForNext();
}

void
FlowListPlayer::Begin()
{
    m_beginPs = Simulator::Now().GetTimeStep();
    m_begun = true;
    WaitForNext();
}

void
FlowListPlayer::Stop()
{
    m_stopped = true;
}

void
FlowListPlayer::WaitForNext()
{
    if (!m_begun || m_stopped || m_waits || m_next == m_order.size())
    {
        return;
    }
    m_waits = true;
    const uint32_t flow = m_order[m_next];
    const int64_t nowPs = Simulator::Now().GetTimeStep() - m_beginPs;
    m_executor.SetFlowTimer(m_sources[flow], std::max<int64_t>(m_due[flow] - nowPs, 0), m_number);
}

bool
FlowListPlayer::StartDue(int64_t nowPs)
{
    m_waits = false;
    if (m_stopped)
    {
        return false;
    }
    const int64_t timePs = nowPs - m_beginPs;
    while (m_next < m_order.size() && m_due[m_order[m_next]] <= timePs)
    {
        Launch(m_order[m_next++], timePs);
    }
    WaitForNext();
    return m_next == m_order.size() && !m_last;
}

void
FlowListPlayer::Launch(uint32_t flow, int64_t timePs)
{
    m_starts[flow] = timePs;
    Measure(timePs);
    const uint32_t ends[] = {m_sources[flow], m_destinations[flow]};
    const uint64_t pair = (uint64_t{ends[0]} << 32) | ends[1];
    const auto [found, isNew] = m_groupOf.try_emplace(pair, 0);
    if (isNew)
    {
        found->second = m_executor.RegisterGroup(ends, 2, -1, m_setup.connections);
        m_executor.SetPriority(found->second, m_setup.priority);
    }
    const uint64_t instance = m_setup.firstInstance | (uint64_t{flow} << FLOW_BITS);
    const auto bytes = static_cast<uint64_t>(m_bytes[flow]);
    m_executor.Launch(ends[1], instance, m_setup.schedule, found->second, bytes);
    m_executor.Launch(ends[0], instance, m_setup.schedule, found->second, bytes);
}

bool
FlowListPlayer::Owns(uint64_t instance) const
{
    return instance >> m_setup.tenantBit == m_setup.firstInstance >> m_setup.tenantBit;
}

bool
FlowListPlayer::PhaseDone(uint32_t npu, uint64_t instance, int64_t nowPs)
{
    const uint64_t flow = (instance ^ m_setup.firstInstance) >> FLOW_BITS;
    if (m_stopped || npu != m_destinations.at(flow))
    {
        return false;
    }
    m_ends[flow] = nowPs - m_beginPs;
    m_delivered.push_back(static_cast<int64_t>(flow));
    Measure(nowPs - m_beginPs);
    return m_last && m_delivered.size() == m_bytes.size();
}

void
FlowListPlayer::Measure(int64_t timePs)
{
    const bool isFirst = m_curve.empty();
    if (m_setup.measured.empty() || (!isFirst && timePs - m_curve[m_curve.size() - 2] < m_gapPs))
    {
        return;
    }
    uint64_t bytes = 0;
    for (const uint32_t npu : m_setup.measured)
    {
        bytes += m_executor.GetDeliveredBytes(npu);
    }
    m_curve.push_back(timePs);
    m_curve.push_back(static_cast<int64_t>(bytes));
    if (m_curve.size() > 2 * MOST_POINTS)
    {
        m_gapPs *= 2;
        Thin(m_curve, m_gapPs);
    }
}

uint64_t
FlowListPlayer::GetToken() const
{
    return m_setup.token;
}

const std::vector<int64_t>&
FlowListPlayer::GetStarts() const
{
    return m_starts;
}

const std::vector<int64_t>&
FlowListPlayer::GetEnds() const
{
    return m_ends;
}

const std::vector<int64_t>&
FlowListPlayer::GetDelivered() const
{
    return m_delivered;
}

const std::vector<int64_t>&
FlowListPlayer::GetCurve() const
{
    return m_curve;
}

} // namespace astra_ns3
