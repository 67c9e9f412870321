// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * The memory of a switch with priority flow control, the plain way: every byte is counted when it
 * comes and when it goes. Shares nothing with FabricSharedBuffer.
 */
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

/// What a memory is like.
struct MemoryShape
{
    uint64_t bytes;                     //!< size
    double alpha{0.0};                  //!< of lossy egress queues; 0: no threshold
    uint8_t losslessPriorities{0};      //!< bit p: priority p loses nothing
    uint64_t reserveBytes{0};           //!< of each ingress queue
    uint64_t resumeOffsetBytes{0};      //!< below the threshold
    std::vector<uint64_t> headrooms{};  //!< of each port
    std::vector<double> ingressAlpha{}; //!< of each port
};

/// A frame as the memory sees it.
struct HeldFrame
{
    uint32_t bytes;       //!< size
    uint8_t priority;     //!< its priority
    uint32_t ingressPort; //!< where it came in
};

/// Who is stopped by a port: the priorities, if that has changed.
using PauseOrder = std::optional<std::pair<uint32_t, uint8_t>>;

/// Counts what is held.
class MemoryOracle
{
  public:
    explicit MemoryOracle(MemoryShape shape)
        : m_shape(std::move(shape)),
          m_sharedBytes(m_shape.bytes)
    {
        for (uint64_t headroom : m_shape.headrooms)
        {
            for (uint32_t priority = 0; priority < 8; ++priority)
            {
                m_sharedBytes -= IsLossless(priority) ? headroom + m_shape.reserveBytes : 0;
            }
        }
    }

    /// \return whether a priority loses nothing
    bool IsLossless(uint32_t priority) const
    {
        return (m_shape.losslessPriorities & (1U << priority)) != 0;
    }

    /**
     * A frame comes.
     * \param egressBytes what waits in its egress queue
     * \return whether it finds room, and which neighbour must stop
     */
    std::pair<bool, PauseOrder> Come(const HeldFrame& frame, uint64_t egressBytes)
    {
        if (!IsLossless(frame.priority))
        {
            const bool fits = FitsLossy(frame.bytes, egressBytes);
            m_lossyBytes += fits ? frame.bytes : 0;
            return {fits, {}};
        }
        Ingress& ingress = m_ingress[{frame.ingressPort, frame.priority}];
        const uint64_t before = Above(ingress.bytes);
        const uint64_t after = Above(ingress.bytes + frame.bytes);
        const uint64_t limit = Threshold(frame.ingressPort);
        bool fits = true;
        if (after == 0 || (after <= limit && SharedUsed() + after - before <= m_sharedBytes))
        {
            ingress.bytes += frame.bytes;
        }
        else if (ingress.headroomBytes + frame.bytes <= m_shape.headrooms.at(frame.ingressPort))
        {
            ingress.headroomBytes += frame.bytes;
        }
        else
        {
            fits = false;
        }
        const uint64_t above = Above(ingress.bytes);
        const bool full =
            ingress.headroomBytes > 0 || (above > 0 && above >= Threshold(frame.ingressPort));
        return {fits, full && !ingress.stops ? Order(frame, true) : PauseOrder()};
    }

    /// A frame goes. \return which neighbour may go on
    PauseOrder Go(const HeldFrame& frame)
    {
        if (!IsLossless(frame.priority))
        {
            m_lossyBytes -= frame.bytes;
            return {};
        }
        Ingress& ingress = m_ingress[{frame.ingressPort, frame.priority}];
        for (uint32_t byte = 0; byte < frame.bytes; ++byte)
        {
            (ingress.headroomBytes > 0 ? ingress.headroomBytes : ingress.bytes)--;
        }
        const uint64_t above = Above(ingress.bytes);
        const bool low =
            above == 0 || above + m_shape.resumeOffsetBytes <= Threshold(frame.ingressPort);
        const bool goes = ingress.stops && ingress.headroomBytes == 0 && low;
        return goes ? Order(frame, false) : PauseOrder();
    }

    /// \return bytes held
    uint64_t GetUsedBytes() const
    {
        uint64_t bytes = m_lossyBytes;
        for (const auto& [key, ingress] : m_ingress)
        {
            bytes += ingress.bytes + ingress.headroomBytes;
        }
        return bytes;
    }

  private:
    /// What came in by one port in one lossless priority.
    struct Ingress
    {
        uint64_t bytes{0};         //!< in reserve and shared memory
        uint64_t headroomBytes{0}; //!< in headroom
        bool stops{false};         //!< its neighbour is stopped
    };

    /// \return what of an ingress queue lies in shared memory
    uint64_t Above(uint64_t bytes) const
    {
        return bytes - std::min(bytes, m_shape.reserveBytes);
    }

    /// \return shared memory in use
    uint64_t SharedUsed() const
    {
        uint64_t bytes = m_lossyBytes;
        for (const auto& [key, ingress] : m_ingress)
        {
            bytes += Above(ingress.bytes);
        }
        return bytes;
    }

    uint64_t Threshold(uint32_t port) const
    {
        const auto free = static_cast<double>(m_sharedBytes - SharedUsed());
        return static_cast<uint64_t>(std::floor(m_shape.ingressAlpha.at(port) * free));
    }

    bool FitsLossy(uint32_t bytes, uint64_t egressBytes) const
    {
        const uint64_t used = SharedUsed();
        const auto free = static_cast<double>(m_sharedBytes - used);
        return used + bytes <= m_sharedBytes &&
               (m_shape.alpha == 0.0 ||
                static_cast<double>(egressBytes + bytes) <= m_shape.alpha * free);
    }

    /// \return the priorities that a port's neighbour must stop from now on
    PauseOrder Order(const HeldFrame& frame, bool stop)
    {
        m_ingress[{frame.ingressPort, frame.priority}].stops = stop;
        uint8_t bits = 0;
        for (const auto& [key, ingress] : m_ingress)
        {
            bits |= key.first == frame.ingressPort && ingress.stops ? 1U << key.second : 0;
        }
        return std::pair{frame.ingressPort, bits};
    }

    MemoryShape m_shape;                                        //!< what it is like
    uint64_t m_sharedBytes;                                     //!< size without what is kept
    uint64_t m_lossyBytes{0};                                   //!< held of lossy priorities
    std::map<std::pair<uint32_t, uint32_t>, Ingress> m_ingress; //!< by port and priority
};

} // namespace astra_ns3::test
