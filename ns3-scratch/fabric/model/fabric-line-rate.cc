// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-line-rate.h"

#include "ns3/abort.h"

namespace ns3
{

namespace
{
constexpr int64_t PS_TIMES_BITS_PER_SECOND =
    8'000'000'000'000; // picoseconds a byte takes at 1 bit/s
} // namespace

void
FabricLineRate::SetBps(uint64_t bps)
{
    NS_ABORT_MSG_IF(bps == 0, "FabricPort: the rate must be above 0");
    m_bps = bps;
}

void
FabricLineRate::SetRoundingPs(int64_t roundingPs)
{
    m_roundingPs = roundingPs;
}

int64_t
FabricLineRate::RoundPs(int64_t timePs) const
{
    return m_roundingPs > 0 ? (timePs + m_roundingPs / 2) / m_roundingPs * m_roundingPs : timePs;
}

int64_t
FabricLineRate::TransmissionPs(uint32_t wireBytes) const
{
    const auto rate = static_cast<int64_t>(m_bps);
    return RoundPs((PS_TIMES_BITS_PER_SECOND * wireBytes + rate / 2) / rate);
}

int64_t
FabricLineRate::GetBytePs() const
{
    const auto rate = static_cast<int64_t>(m_bps);
    const bool whole = PS_TIMES_BITS_PER_SECOND % rate == 0 && m_roundingPs == 0;
    return whole ? PS_TIMES_BITS_PER_SECOND / rate : 0;
}

} // namespace ns3
