// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-draws.h"
#include "fabric-frame.h"

#include "ns3/object.h"

#include <cstdint>

namespace ns3
{

/**
 * Decides, when a frame joins a queue or leaves it, whether it gets a congestion mark: never up to
 * Kmin, always above Kmax, between them with a probability that grows linearly to Pmax (RED on the
 * instantaneous queue; with Kmin = Kmax = K the marking of DCTCP, SIGCOMM 2010, section 3.1). A
 * frame that is not ECN capable is never marked.
 */
class FabricEcnMarker : public Object
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /**
     * \param frame the frame
     * \param queueBytes bytes that wait before it when it joins, or behind it when it leaves
     * \return whether it gets a mark
     */
    bool Marks(const FabricFrame& frame, uint64_t queueBytes);

    /// \return whether frames are marked when they join the queue, else when they leave it
    bool MarksAtEnqueue() const
    {
        return m_atEnqueue;
    }

    /// \param draws where marks are drawn from
    void SetDraws(const FabricDraws& draws)
    {
        m_draws = draws;
    }

  private:
    uint64_t m_minimumBytes{0};       //!< Kmin
    uint64_t m_maximumBytes{0};       //!< Kmax
    double m_maximumProbability{1.0}; //!< Pmax
    bool m_atEnqueue{true};           //!< when frames join the queue
    FabricDraws m_draws;              //!< draws the marks
};

} // namespace ns3
