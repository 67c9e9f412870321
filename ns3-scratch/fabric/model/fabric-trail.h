// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

class FabricPort;

/// A line on a frame's way: how it waited for it, and when it was on it. Times are picoseconds.
struct FabricHop
{
    const FabricPort* port{nullptr}; //!< who sends on the line
    int64_t arrivalPs{0};            //!< when the frame had come to the port
    int64_t pausedPs{0};             //!< of its wait, while its priority was stopped
    int64_t startPs{0};              //!< its first bit on the line
    int64_t lineEndPs{0};            //!< its last bit on the line
    int64_t endPs{0};                //!< its last bit at the far end
};

/// What was on a line while a frame waited for it. Times are picoseconds.
struct FabricServed
{
    int64_t startPs{0};   //!< its first bit on the line; of a sum, when the wait began
    int64_t endPs{0};     //!< its last bit on the line
    uint64_t instance{0}; //!< of its message: which run of a schedule
    uint32_t sender{0};   //!< of its message: NPU that sends
    uint32_t receiver{0}; //!< of its message: NPU that receives
    uint32_t hop{0};      //!< which line of the trail's it was
    bool named{false};    //!< its message is known
    bool own{false};      //!< messages of the owner of the one that waited, in sum

    /// \param other something else \return whether both are of one message, or of none
    bool IsAlike(const FabricServed& other) const
    {
        return named == other.named && own == other.own &&
               (!named || (instance == other.instance && sender == other.sender &&
                           receiver == other.receiver));
    }
};

/// What has held a sender back so far, and what it has used its line for; picoseconds.
struct FabricSenderTimes
{
    int64_t windowPs{0};        //!< its window was closed
    int64_t pacingPs{0};        //!< its pace held it
    int64_t pausedPs{0};        //!< it could have sent, but its priority was stopped
    int64_t queuePs{0};         //!< it could have sent, but the line had others
    int64_t lostPs{0};          //!< it sent again what was lost
    int64_t serialisationPs{0}; //!< its line was busy with what it sent for the first time
};

/**
 * Where a frame has been and when, for the account of the message that it may complete. Pooled with
 * the frames (FabricFramePool); ports write into it while the frame's `accounted` is set.
 */
class FabricTrail
{
  public:
    /// The frame waits in a port. \param nowPs when it came \param pausedPs for how long its
    /// priority had been stopped there by then
    void Wait(int64_t nowPs, int64_t pausedPs)
    {
        m_waits = true;
        m_arrivalPs = nowPs;
        m_pausedPs = pausedPs;
    }

    /**
     * The frame goes on a line.
     * \param port whose
     * \param startPs its first bit on it
     * \param lineEndPs its last bit
     * \param endPs its last bit at the far end
     * \param pausedPs for how long its priority had been stopped there by startPs
     */
    void Leave(const FabricPort* port,
               int64_t startPs,
               int64_t lineEndPs,
               int64_t endPs,
               int64_t pausedPs)
    {
        m_hops.push_back({port,
                          m_waits ? m_arrivalPs : startPs,
                          m_waits ? pausedPs - m_pausedPs : 0,
                          startPs,
                          lineEndPs,
                          endPs});
        m_waits = false;
    }

    /// The frame is sent on before its last bit is there: of the line it comes by counts what its
    /// head took. \param nowPs when its head had come
    void CutThrough(int64_t nowPs)
    {
        FabricHop& hop = m_hops.back();
        hop.lineEndPs -= hop.endPs - nowPs;
        hop.endPs = nowPs;
    }

    /// \param served what was on the last line while the frame waited for it
    void AddServed(FabricServed served)
    {
        served.hop = static_cast<uint32_t>(m_hops.size()) - 1;
        m_served.push_back(served);
    }

    /// \return what it waited behind, in turn
    const std::vector<FabricServed>& GetServed() const
    {
        return m_served;
    }

    /// \param firstPs when its sender first sent what is in it \param times of its sender by then
    void SetFirst(int64_t firstPs, const FabricSenderTimes& times)
    {
        m_firstPs = firstPs;
        m_times = times;
    }

    /// \param may whether the frame can complete no message but those that were there before it,
    /// so that no part of its waits is left out, and their sums are enough
    void LetSum(bool may)
    {
        m_sums = may;
    }

    /// \return whether sums of what it waited behind are enough
    bool MaySum() const
    {
        return m_sums;
    }

    /// \return the lines, in turn
    const std::vector<FabricHop>& GetHops() const
    {
        return m_hops;
    }

    /// \return when its sender first sent what is in it
    int64_t GetFirstPs() const
    {
        return m_firstPs;
    }

    /// \return of its sender by then
    const FabricSenderTimes& GetTimes() const
    {
        return m_times;
    }

  private:
    friend class FabricFramePool;

    FabricTrail* m_next{nullptr};       //!< next in the pool
    bool m_waits{false};                //!< the frame waits in a port
    bool m_sums{false};                 //!< sums of what it waited behind are enough
    int64_t m_arrivalPs{0};             //!< since when
    int64_t m_pausedPs{0};              //!< for how long its priority had been stopped by then
    int64_t m_firstPs{0};               //!< when its sender first sent what is in it
    FabricSenderTimes m_times;          //!< of its sender by then
    std::vector<FabricHop> m_hops;      //!< the lines, in turn
    std::vector<FabricServed> m_served; //!< what was on these while it waited
};

} // namespace ns3
