// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-crew.h"

#include <utility>

namespace ns3
{

namespace
{
constexpr uint32_t PATIENCE = 8'000; // looks at a value before a thread goes to sleep
constexpr uint32_t MANNERS = 512;    // looks before it lets others have the core

/// Let the core's other half work.
void
Pause()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}
} // namespace

FabricCrew::FabricCrew(uint32_t helpers, Work work)
    : m_work(std::move(work))
{
    m_helpers.reserve(helpers);
    for (uint32_t worker = 1; worker <= helpers; ++worker)
    {
        m_helpers.emplace_back([this, worker] { Help(worker); });
    }
}

FabricCrew::~FabricCrew()
{
    m_ending.store(true);
    m_number.fetch_add(1);
    m_number.notify_all();
    for (std::thread& helper : m_helpers)
    {
        helper.join();
    }
}

void
FabricCrew::Begin(uint32_t pieces)
{
    m_left.store(pieces, std::memory_order_relaxed);
    m_gate.store(OPEN, std::memory_order_release);
    m_number.fetch_add(1); // in one order with m_asleep, so that nobody falls asleep over it
    if (m_asleep.load() > 0)
    {
        m_number.notify_all();
    }
}

void
FabricCrew::Finish()
{
    DoPieces(0, true);
    m_gate.fetch_and(~OPEN, std::memory_order_acq_rel);
    for (uint32_t looks = 0; m_gate.load(std::memory_order_acquire) != 0; ++looks)
    {
        if (looks % MANNERS == MANNERS - 1)
        {
            std::this_thread::yield();
        }
        Pause();
    }
    if (m_failed.load(std::memory_order_acquire)) [[unlikely]]
    {
        m_failed.store(false);
        std::rethrow_exception(std::exchange(m_failure, nullptr));
    }
}

bool
FabricCrew::EnterGate()
{
    uint32_t gate = m_gate.load(std::memory_order_acquire);
    while ((gate & OPEN) != 0)
    {
        if (m_gate.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel))
        {
            return true;
        }
    }
    return false;
}

uint32_t
FabricCrew::Await(uint32_t seen) const
{
    for (uint32_t looks = 0; looks < PATIENCE; ++looks)
    {
        const uint32_t number = m_number.load(std::memory_order_acquire);
        if (number != seen)
        {
            return number;
        }
        Pause();
    }
    return seen;
}

void
FabricCrew::Help(uint32_t worker)
{
    uint32_t seen = 0;
    while (true)
    {
        uint32_t number = Await(seen);
        if (number == seen)
        {
            m_asleep.fetch_add(1);
            m_number.wait(seen);
            m_asleep.fetch_sub(1);
            number = m_number.load(std::memory_order_acquire);
        }
        if (m_ending.load())
        {
            return;
        }
        seen = number;
        if (EnterGate())
        {
            DoPieces(worker, false);
            m_gate.fetch_sub(1, std::memory_order_acq_rel);
        }
    }
}

void
FabricCrew::DoPieces(uint32_t worker, bool fromBack)
{
    uint32_t piece = 0;
    while (TakePiece(fromBack, piece))
    {
        try
        {
            m_work(worker, piece);
        }
        catch (...)
        {
            if (!m_failed.exchange(true))
            {
                m_failure = std::current_exception();
            }
        }
    }
}

bool
FabricCrew::TakePiece(bool fromBack, uint32_t& piece)
{
    uint64_t left = m_left.load(std::memory_order_acquire);
    while (true)
    {
        const uint64_t first = left >> 32;
        const uint64_t end = left & ALL;
        if (first >= end)
        {
            return false;
        }
        piece = static_cast<uint32_t>(fromBack ? end - 1 : first);
        const uint64_t after = fromBack ? first << 32 | (end - 1) : (first + 1) << 32 | end;
        if (m_left.compare_exchange_weak(left, after, std::memory_order_acq_rel))
        {
            return true;
        }
    }
}

} // namespace ns3
