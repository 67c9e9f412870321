// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace ns3
{

/**
 * Threads that share out pieces of work with the thread that has it. The helpers take pieces from
 * the front, the thread itself from the back, so that each works on what it worked on before.
 */
class FabricCrew
{
  public:
    /// Does a piece of work. \param worker who does it: 0 is the thread itself \param piece which
    using Work = std::function<void(uint32_t worker, uint32_t piece)>;

    /// \param helpers how many threads to start \param work does a piece; each on any thread
    FabricCrew(uint32_t helpers, Work work);
    ~FabricCrew();
    FabricCrew(const FabricCrew&) = delete;
    FabricCrew& operator=(const FabricCrew&) = delete;

    /// Have the helpers begin. \param pieces how many there are
    void Begin(uint32_t pieces);
    /// Help, and come back when all pieces are done. Rethrows what the first of them threw.
    void Finish();

  private:
    static constexpr uint64_t ALL = 0xffffffff; //!< half of m_left
    static constexpr uint32_t OPEN = 1U << 31;  //!< of m_gate

    /// A helper's life.
    void Help(uint32_t worker);
    /// Do pieces until none is left. \param fromBack take the last first
    void DoPieces(uint32_t worker, bool fromBack);
    /// \param fromBack take the last \param piece gets its number \return whether one was left
    bool TakePiece(bool fromBack, uint32_t& piece);
    /// \return whether there is work and this helper is counted as working
    bool EnterGate();
    /// Wait for new work. \param seen number of the last work that was seen \return the new one
    uint32_t Await(uint32_t seen) const;

    Work m_work;                                   //!< does a piece
    alignas(64) std::atomic<uint64_t> m_left{0};   //!< pieces left: the end, above it the first
    alignas(64) std::atomic<uint32_t> m_gate{0};   //!< helpers at work, and whether more may come
    alignas(64) std::atomic<uint32_t> m_number{0}; //!< of the work, counted up
    std::atomic<uint32_t> m_asleep{0};             //!< helpers that have to be woken
    std::atomic<bool> m_ending{false};             //!< the helpers are to end
    std::atomic<bool> m_failed{false};             //!< m_failure is set, or about to be
    std::exception_ptr m_failure;                  //!< what a piece threw
    std::vector<std::thread> m_helpers;            //!< the threads
};

} // namespace ns3
