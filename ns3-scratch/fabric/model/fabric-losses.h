// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-draws.h"

#include <deque>
#include <memory>

namespace ns3
{

struct FabricFrame;

/**
 * Which frames of a link are lost: each by the error rate with which it left, as drawn when it
 * arrives. Rates that frames on the way have left with are kept until these arrive.
 */
class FabricLosses
{
  public:
    /// The "probability" of a line that carries nothing at all, pause frames neither.
    static constexpr double SILENCE = 2.0;

    /// \param draws where losses are drawn from
    void SetDraws(const FabricDraws& draws);
    /**
     * \param rate probability with which frames that leave from now on are lost
     * \param newest the last frame that left before and has not been drawn for, or none
     */
    void SetRate(double rate, const FabricFrame* newest);
    /// \return probability with which frames that leave now are lost
    double GetRate() const;
    /// \return whether any frame on the way, or that leaves now, may be lost
    bool MayLose() const;
    /// \param frame the frame that arrives next \return whether it is lost; to be asked once
    bool IsLost(const FabricFrame& frame);
    /// All that is on the way and all that leaves from now on is lost.
    void BeginSilence();

    /// \return whether the frame that was drawn for last is lost to silence
    bool WasSilence() const
    {
        return m_silence;
    }

    /// Nothing is on the way any more.
    void Forget();
    /// \param frame a frame \param rate with which it left \return whether it is lost, as drawn now
    bool Draw(const FabricFrame& frame, double rate);

  private:
    /// An error rate that frames on the way have left with.
    struct Earlier
    {
        const FabricFrame* last; //!< the last of them
        double rate;             //!< their error rate
    };

    double m_rate{0.0};                             //!< of what leaves from now on
    bool m_silence{false};                          //!< the last was lost to silence
    std::unique_ptr<std::deque<Earlier>> m_earlier; //!< of what left before, oldest first; or none
    FabricDraws m_draws;                            //!< draws the losses
};

} // namespace ns3
