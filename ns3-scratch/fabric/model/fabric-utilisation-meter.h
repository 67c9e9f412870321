// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <algorithm>
#include <cstdint>

namespace ns3
{

/**
 * A switch port's own estimate of how loaded its line is, as HPCC with PINT needs it (R. Ben Basat
 * et al., "PINT: Probabilistic In-band Network Telemetry", SIGCOMM 2020, section 4.3): HPCC's
 * utilisation (queue over bandwidth-delay product plus rate over bandwidth), averaged with weight
 * tau / T over the time tau between two packets.
 */
class FabricUtilisationMeter
{
  public:
    /// \param averagingPs T, the base round-trip time of the network
    explicit FabricUtilisationMeter(int64_t averagingPs)
        : m_averagingPs(averagingPs)
    {
    }

    /**
     * A packet goes on the line.
     * \param nowPs its time
     * \param bytes its bytes
     * \param queueBytes bytes left behind it
     * \param rateBps rate of the line
     * \return the utilisation
     */
    double Update(int64_t nowPs, uint32_t bytes, uint64_t queueBytes, uint64_t rateBps)
    {
        const auto averaging = static_cast<double>(m_averagingPs);
        const double bytesPerPs = static_cast<double>(rateBps) / 8e12;
        const auto tau =
            static_cast<double>(std::clamp<int64_t>(nowPs - m_lastPs, 1, m_averagingPs));
        const double queue = static_cast<double>(queueBytes) / (bytesPerPs * averaging);
        // tau / T times the rate bytes / tau over the line's: tau cancels.
        const double sent = static_cast<double>(bytes) / (bytesPerPs * averaging);
        m_utilisation = m_utilisation * (1.0 - tau / averaging) + queue * tau / averaging + sent;
        m_lastPs = nowPs;
        return m_utilisation;
    }

  private:
    int64_t m_averagingPs;     //!< T
    int64_t m_lastPs{0};       //!< time of the last packet
    double m_utilisation{0.0}; //!< the estimate
};

} // namespace ns3
