// SPDX-License-Identifier: GPL-2.0-only
#include "roce-probe.h"

#include "roce-queue-pair.h"
#include "session-parameters.h"
#include "telling-delay.h"

#include "ns3/simulator.h"

#include <cmath>
#include <limits>

namespace astra_ns3
{

using namespace ns3;

namespace
{
constexpr double MILLIONTHS = 1e6;
constexpr std::array<uint32_t, 3> QUANTITIES{QUEUE_PAIR_RATE, QUEUE_PAIR_WINDOW, QUEUE_PAIR_ALPHA};
} // namespace

QueuePairProbe::QueuePairProbe(PairTable& table,
                               uint32_t quantities,
                               int64_t intervalPs,
                               const TellingDelay& delay)
    : m_table(table),
      m_delay(delay),
      m_quantities(quantities),
      m_intervalPs(intervalPs)
{
}

QueuePairProbe::Name
QueuePairProbe::NameOf(const RoceQueuePair& pair)
{
    const RoceAddress& address = pair.GetAddress();
    return {address.senderNpu, address.receiverNpu, address.number};
}

void
QueuePairProbe::Append(const Name& name, uint32_t quantity, int64_t value, int64_t timePs)
{
    Keep({Simulator::Now().GetTimeStep(), false, {}},
         {timePs, name.sender, name.receiver, quantity, value, name.number});
}

void
QueuePairProbe::Keep(const Order& order, const PairRow& row)
{
    if (!(m_quantities & QUEUE_PAIR_RETRANSMISSION))
    {
        m_table.Append(row);
        return;
    }
    m_kept.emplace(order, row);
    Write(m_delay.GetToldPs());
}

void
QueuePairProbe::Write(int64_t beforePs)
{
    auto next = m_kept.begin();
    for (; next != m_kept.end() && next->first.toldPs < beforePs; ++next)
    {
        m_table.Append(next->second);
    }
    m_kept.erase(m_kept.begin(), next);
}

void
QueuePairProbe::Sample(const Name& name, Series& series, uint32_t quantity, int64_t nowPs)
{
    // The first multiple at or after the last change is the only one that can show anything new.
    const int64_t step = m_intervalPs > 0 ? m_intervalPs : 1;
    const int64_t samplePs = (series.changedPs + step - 1) / step * step;
    if (samplePs <= nowPs && series.value != series.reported)
    {
        Append(name, quantity, series.value, samplePs);
        series.reported = series.value;
    }
}

void
QueuePairProbe::Note(const Name& name,
                     Series& series,
                     uint32_t quantity,
                     int64_t value,
                     int64_t nowPs)
{
    if (value == series.value)
    {
        return;
    }
    if (m_intervalPs > 0)
    {
        Sample(name, series, quantity, nowPs - 1); // a change at a sampling instant belongs to it
    }
    series.changedPs = nowPs;
    series.value = value;
    if (m_intervalPs == 0)
    {
        Sample(name, series, quantity, nowPs);
    }
}

void
QueuePairProbe::ControlChanged(const RoceQueuePair& pair)
{
    const RoceQueueSender& sender = pair.GetSender();
    const Name name = NameOf(pair);
    const int64_t nowPs = Simulator::Now().GetTimeStep();
    const std::array<int64_t, SAMPLED> values{
        std::llround(sender.GetRateBps()),
        static_cast<int64_t>(sender.GetWindowBytes()),
        std::llround(sender.GetControl().GetAlpha() * MILLIONTHS)};
    auto& series = m_series[name];
    for (std::size_t place = 0; place < SAMPLED; ++place)
    {
        if (m_quantities & QUANTITIES[place])
        {
            Note(name, series[place], QUANTITIES[place], values[place], nowPs);
        }
    }
}

void
QueuePairProbe::Retransmitted(const RoceQueuePair& pair, uint32_t bytes, int64_t timePs)
{
    if (m_quantities & QUEUE_PAIR_RETRANSMISSION)
    {
        const Name name = NameOf(pair);
        Keep({timePs, true, name},
             {timePs, name.sender, name.receiver, QUEUE_PAIR_RETRANSMISSION, bytes, name.number});
    }
}

void
QueuePairProbe::Notified(const RoceQueuePair& pair)
{
    if (m_quantities & QUEUE_PAIR_CNP)
    {
        Append(NameOf(pair), QUEUE_PAIR_CNP, 1, Simulator::Now().GetTimeStep());
    }
}

void
QueuePairProbe::Flush(int64_t nowPs)
{
    for (auto& [name, series] : m_series)
    {
        for (std::size_t place = 0; place < SAMPLED && m_intervalPs > 0; ++place)
        {
            if (m_quantities & QUANTITIES[place])
            {
                Sample(name, series[place], QUANTITIES[place], nowPs);
            }
        }
    }
    Write(std::numeric_limits<int64_t>::max());
}

} // namespace astra_ns3
