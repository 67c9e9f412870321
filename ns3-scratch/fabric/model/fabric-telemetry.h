// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * In-band network telemetry that a data packet collects. No ns-3 header is included here, since
 * congestion controls that users bring see it. Times are picoseconds.
 */
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

/// What a switch port writes into a passing data packet when the packet's first bit goes on the
/// line.
struct FabricTelemetryHop
{
    int64_t timePs{0};      //!< when the packet left the queue
    uint64_t sentBytes{0};  //!< bytes the line had carried before it, preamble and gap counted
    uint64_t queueBytes{0}; //!< bytes left waiting behind it
    uint64_t rateBps{0};    //!< rate of the line
};

/// The entries of a path. The first ones, all that most paths have, lie in what owns them.
class FabricTelemetryHops
{
  public:
    /// \return how many
    uint32_t size() const
    {
        return m_size;
    }

    /// \return the first one
    const FabricTelemetryHop* data() const
    {
        return m_size > HERE ? m_more.data() : m_here;
    }

    /// \return the first one
    const FabricTelemetryHop* begin() const
    {
        return data();
    }

    /// \return behind the last one
    const FabricTelemetryHop* end() const
    {
        return data() + m_size;
    }

    /// \param number its number, from 1 on: with it nothing is read that may have left the cache;
    /// 0: not known \param hop the next one
    void Put(uint32_t number, const FabricTelemetryHop& hop)
    {
        if (number - 1 < HERE)
        {
            m_here[number - 1] = hop;
            m_size = number;
            return;
        }
        Append(hop);
    }

    /// None is left.
    void clear()
    {
        m_size = 0;
    }

  private:
    static constexpr uint32_t HERE = 6; //!< room for so many

    void Append(const FabricTelemetryHop& hop)
    {
        if (m_size < HERE)
        {
            m_here[m_size++] = hop;
            return;
        }
        if (m_size == HERE)
        {
            m_more.assign(m_here, m_here + HERE);
        }
        m_more.push_back(hop);
        m_size++;
    }

    uint32_t m_size{0};                     //!< how many
    FabricTelemetryHop m_here[HERE];        //!< all, while they have room here
    std::vector<FabricTelemetryHop> m_more; //!< all, once there were more
};

/// What a data packet collects on its way; pooled with the frames.
struct alignas(64) FabricTelemetry
{
    FabricTelemetry* next{nullptr}; //!< next in the pool
    double pathUtilisation{0.0};    //!< the highest utilisation on the way
    bool pathOnly{false};           //!< collect one number in place of the entries
    FabricTelemetryHops hops;       //!< one entry a switch, unless only the path counts
};

} // namespace ns3
