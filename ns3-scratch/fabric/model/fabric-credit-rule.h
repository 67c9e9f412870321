// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-admission.h"
#include "fabric-credits.h"
#include "fabric-frame.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

class FabricPort;

/// Where frames come into a switch that gives credit.
struct FabricCreditEntrance
{
    FabricPort* here{nullptr};       //!< the switch's port on that link
    FabricPort* upstream{nullptr};   //!< the far end's, which sends by credit
    FabricCredits* credits{nullptr}; //!< the far end's
    uint32_t order{0};               //!< of the way in
};

/// By which lane a frame goes on that came by a lane and changes it.
using FabricNextLanes = std::array<uint8_t, FABRIC_PRIORITIES>;

/**
 * A port of a switch that gives credit to its neighbours. No frame is refused: what comes has
 * credit, so the buffer has room for it. When a frame leaves, its credit goes back to the port that
 * sent it here.
 *
 * Links have an order. A frame that goes on by a link whose number isn't above that of the link it
 * came by changes to the next lane. So within one lane frames only go up in the order, and no
 * circle of waiting lanes can close as long as there is a next lane (W. Dally, C. Seitz,
 * "Deadlock-free message routing in multiprocessor interconnection networks", IEEE ToC 36(5),
 * 1987). A date line is where the order begins anew; with equal numbers the lane is that of the
 * hop.
 */
class FabricCreditRule : public FabricAdmissionRule
{
  public:
    /// Where frames come in, by port of the switch; all its ports share it.
    using Entrances = std::shared_ptr<std::vector<FabricCreditEntrance>>;

    /// \param port the port, whose rule it is \param entrances of its switch
    /// \param order place of the port's link in the order \param next lanes
    FabricCreditRule(FabricPort& port,
                     Entrances entrances,
                     uint32_t order,
                     const FabricNextLanes& next);

    bool Admit(FabricFrame& frame, uint64_t queueBytes, FabricSharedBuffer* memory) override;
    void Release(const FabricFrame& frame, FabricSharedBuffer* memory) override;
    void Discard(const FabricFrame& frame) override;
    bool NeedsExactDepartures(const FabricSharedBuffer* memory) const override;

  private:
    /// Give back a frame's credit. \param leftPs when its last bit leaves
    void GiveBack(const FabricFrame& frame, int64_t leftPs) const;
    /// \return whether any frame comes from a node that is played together with the switch
    bool HasNearEntrance() const;

    FabricPort& m_port;           //!< whose rule it is
    Entrances m_entrances;        //!< of the switch
    uint32_t m_order;             //!< of the port's link
    FabricNextLanes m_next;       //!< lane after each lane
    mutable bool m_looked{false}; //!< m_near is known
    mutable bool m_near{true};    //!< see HasNearEntrance
};

} // namespace ns3
