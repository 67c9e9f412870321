// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace ns3
{

/**
 * A line and the cable behind it: when it can take the next frame, and when what it carries arrives
 * at the far end. It lies in half a cache line, so what seldom changes is elsewhere
 * (FabricLineRate).
 */
class FabricLine
{
  public:
    /// \return whether it is up, as it is from the start
    bool IsUp() const
    {
        return m_freePs != DOWN;
    }

    /// It takes nothing, and what it carried is gone.
    void GoDown()
    {
        m_freePs = DOWN;
        m_lastArrivalPs = 0;
    }

    /// It can take a frame from now on. \param nowPs the present time
    void BecomeFree(int64_t nowPs)
    {
        m_freePs = nowPs;
    }

    /// \return when it can take the next frame; later than any time if it is down
    int64_t GetFreePs() const
    {
        return m_freePs;
    }

    /// \param timePs a time \return whether it can take a frame then
    bool IsFree(int64_t timePs) const
    {
        return m_freePs <= timePs;
    }

    /// \return when the last bit of the newest frame is at the far end
    int64_t GetLastArrivalPs() const
    {
        return m_lastArrivalPs;
    }

    /**
     * Take a frame.
     * \param startPs when its first bit goes on the line
     * \param transmissionPs how long the line is busy with it
     * \return when its last bit is at the far end
     */
    int64_t Carry(int64_t startPs, int64_t transmissionPs)
    {
        m_freePs = startPs + transmissionPs;
        // A cable keeps its order, also where it has just become shorter.
        m_lastArrivalPs = std::max(m_freePs + m_delayPs, m_lastArrivalPs);
        return m_lastArrivalPs;
    }

    /// \param delayPs to the far end of what leaves from now on
    void SetDelayPs(int64_t delayPs)
    {
        m_delayPs = delayPs;
    }

    /// \return propagation delay
    int64_t GetDelayPs() const
    {
        return m_delayPs;
    }

    /// \param bytePs how long each byte takes, or 0: there is no such number
    void SetBytePs(int64_t bytePs)
    {
        // What is too slow for the field is worked out byte by byte, which gives the same.
        m_bytePs = bytePs <= std::numeric_limits<uint32_t>::max() ? bytePs : 0;
    }

    /// \return how long each byte takes, or 0
    int64_t GetBytePs() const
    {
        return m_bytePs;
    }

  private:
    static constexpr int64_t DOWN = std::numeric_limits<int64_t>::max(); //!< no line to get free

    int64_t m_freePs{0};        //!< when it can take the next frame, or DOWN
    int64_t m_lastArrivalPs{0}; //!< arrival of the newest frame
    int64_t m_delayPs{0};       //!< propagation delay
    uint32_t m_bytePs{0};       //!< time of one byte, or 0
};

} // namespace ns3
