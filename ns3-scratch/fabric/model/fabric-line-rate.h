// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace ns3
{

/// How fast a line is: how long it is busy with so many bytes, in whole picoseconds.
class FabricLineRate
{
  public:
    /// \param bps bits per second, above 0
    void SetBps(uint64_t bps);

    /// \return bits per second
    uint64_t GetBps() const
    {
        return m_bps;
    }

    /// \param roundingPs times are rounded to multiples of it; 0: they are not
    void SetRoundingPs(int64_t roundingPs);

    /// \return what times are rounded to multiples of, or 0
    int64_t GetRoundingPs() const
    {
        return m_roundingPs;
    }

    /// \param timePs a time \return the nearest that the rounding allows
    int64_t RoundPs(int64_t timePs) const;
    /// \param wireBytes bytes on the line \return how long the line is busy with them
    int64_t TransmissionPs(uint32_t wireBytes) const;
    /// \return how long each byte takes, or 0: there is no such number, ask TransmissionPs
    int64_t GetBytePs() const;

  private:
    uint64_t m_bps{0};       //!< bits per second
    int64_t m_roundingPs{0}; //!< times are multiples of it, or 0
};

} // namespace ns3
