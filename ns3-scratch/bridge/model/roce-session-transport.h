// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-message-transport.h"
#include "roce-probe.h"
#include "session-transport.h"

#include <memory>

namespace astra_ns3
{

/// Messages over RoCE queue pairs.
class RoceSessionTransport : public SessionTransport
{
  public:
    /// \param context what it is made from \param part its numbers
    RoceSessionTransport(const TransportContext& context, PartReader& part);
    ns3::MessageTransport& GetMessages() override;
    bool MayOrderByHost() const override;
    bool MayPlayHostsApart() const override;
    bool MayPlayHostsOnThreads() const override;
    bool MayFail(uint32_t host, int64_t beforePs) const override;
    uint32_t GetLeastWireBytes() const override;
    uint32_t GetMostBytes() const override;
    void AddTo(SessionStatistics& statistics) const override;
    std::vector<TransportCounter> GetCounters() const override;

  private:
    /// Have the congestion controls of NPUs follow other numbers later.
    /// \param timePs when \param npus the first NPU and the last \param controls makes such
    /// controls
    void ScheduleChange(double timePs,
                        const std::pair<double, double>& npus,
                        const ns3::RoceControls& controls);
    /// Record what queue pairs do.
    void Observe(const TransportContext& context);

    bool m_mayPlayHostsApart{false};                        //!< see there
    bool m_mayUseThreads{false};                            //!< see MayPlayHostsOnThreads
    std::unique_ptr<QueuePairProbe> m_probe;                //!< of all queue pairs, or none
    std::unique_ptr<ns3::RoceMessageTransport> m_transport; //!< carries the messages
};

} // namespace astra_ns3
