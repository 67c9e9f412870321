// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

namespace ns3
{

/// How the NPUs of a dimension are joined.
enum class AnalyticalTopology : uint32_t
{
    RING = 0,            //!< each to the next, both ways round
    FULLY_CONNECTED = 1, //!< each to each
    SWITCH = 2           //!< all to one switch, so two links from NPU to NPU
};

/// One dimension of the grid of NPUs, as ASTRA-sim's analytical network describes it.
struct AnalyticalDimension
{
    AnalyticalTopology topology{AnalyticalTopology::SWITCH}; //!< how its NPUs are joined
    uint32_t npus{1};                                        //!< NPUs along it
    double bytesPerNs{1.0};             //!< bandwidth that one message gets on a link
    double linkLatencyNs{0.0};          //!< latency of a link
    double nicLatencyNs{0.0};           //!< latency of a NIC, passed twice
    double routerLatencyNs{0.0};        //!< latency of a switch
    double memoryLatencyNs{0.0};        //!< latency of the NPU's memory
    double memoryBytesPerNs{1.0};       //!< bandwidth of the NPU's memory
    double memoryScale{0.0};            //!< multiplies the memory's time; 0 leaves it out
    std::vector<uint32_t> classOfPlace; //!< class of each of its places; none: all paths are alike
    std::vector<double> latenciesNs; //!< latency of the links from class to class together, by rows
    uint32_t classes{0};             //!< how many classes
    uint32_t portNpus{1};            //!< NPUs, one after the other, that share a port to a switch
    uint32_t portLines{1};           //!< lines of such a port, at most one for each of its NPUs
};

/// A grid of NPUs; dimension 0 changes fastest with the number of the NPU.
class AnalyticalGrid
{
  public:
    /// \param dimensions the dimensions, the innermost first
    explicit AnalyticalGrid(std::vector<AnalyticalDimension> dimensions);

    /// \return number of NPUs
    uint32_t GetNpus() const;

    /// \return whether a player is a switch of the innermost dimension, behind the last NPU: it
    /// reduces what NPUs of that dimension send it, half of the way to another NPU
    bool IsSwitch(uint32_t player) const
    {
        return player >= m_npus;
    }

    /// \return the dimensions
    const std::vector<AnalyticalDimension>& GetDimensions() const;
    /// \return highest dimension in which two different NPUs differ
    uint32_t HighestDifference(uint32_t a, uint32_t b) const;
    /// \return place of an NPU along a dimension
    uint32_t Coordinate(uint32_t npu, uint32_t dimension) const;
    /// \return the NPU that has another place along one dimension
    uint32_t Move(uint32_t npu, uint32_t dimension, uint32_t coordinate) const;
    /// \return links from one place to another of a dimension
    uint32_t Hops(uint32_t dimension, uint32_t from, uint32_t to) const;
    /// \return latency of the links from one place to another of a dimension, in nanoseconds
    double LatencyNs(uint32_t dimension, uint32_t from, uint32_t to) const;

  private:
    std::vector<AnalyticalDimension> m_dimensions; //!< the dimensions
    std::vector<uint32_t> m_strides;               //!< distance of neighbours in each
    uint32_t m_npus{1};                            //!< number of NPUs
};

} // namespace ns3
