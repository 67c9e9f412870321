// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * CollectiveApplications without a network.
 */
#pragma once

#include "collective-application.h"

#include "ns3/simulator.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace ns3::test
{

/// Latency of a message unless a test wants another.
inline constexpr int64_t LATENCY_PS = 1'000'000;
/// Name of the phase that is played.
inline constexpr uint64_t INSTANCE = 77;

/// NPUs joined by a transport of a fixed latency, which may differ by pair or be infinite.
class FixedLatencyNpus : public MessageTransport, public PhaseListener
{
  public:
    FixedLatencyNpus(std::vector<uint32_t> npus, const EndpointCosts& costs)
        : m_group(std::make_shared<CollectiveGroup>())
    {
        for (uint32_t rank = 0; rank < npus.size(); ++rank)
        {
            m_group->Add(npus[rank]);
            auto& application = m_applications[npus[rank]];
            application = CreateObject<CollectiveApplication>();
            application->Configure(npus[rank], costs, this, this);
        }
    }

    ~FixedLatencyNpus() override
    {
        for (auto& [npu, application] : m_applications)
        {
            application->Dispose();
        }
        Simulator::Destroy();
    }

    void Send(const CollectiveMessage& message) override
    {
        m_sent.push_back(message);
        if (m_onSend)
        {
            m_onSend(message);
        }
        const int64_t latencyPs = m_latencyPs ? m_latencyPs(message) : LATENCY_PS;
        if (latencyPs >= 0)
        {
            Ptr<CollectiveApplication> receiver = m_applications.at(message.receiver);
            Simulator::Schedule(TimeStep(latencyPs),
                                [receiver, message] { receiver->Receive(message); });
        }
    }

    void PhaseDone(uint32_t npu, uint64_t instance) override
    {
        m_done[{npu, instance}].push_back(Simulator::Now().GetTimeStep());
    }

    bool IsAbandoned(uint64_t instance) const override
    {
        return m_abandoned.count(instance) > 0;
    }

    /// Abandon the phase on every NPU now.
    void AbandonAll()
    {
        m_abandoned.insert(INSTANCE);
        for (uint32_t npu : m_group->members)
        {
            Get(npu)->Abandon(INSTANCE, INSTANCE + 1);
        }
    }

    /// \param onSend called while a message is being sent
    void SetOnSend(std::function<void(const CollectiveMessage&)> onSend)
    {
        m_onSend = std::move(onSend);
    }

    /// \param latencyPs gives the latency of a message; below 0 it never arrives
    void SetLatency(std::function<int64_t(const CollectiveMessage&)> latencyPs)
    {
        m_latencyPs = std::move(latencyPs);
    }

    /// Launch a phase on every NPU now.
    void LaunchAll(const std::shared_ptr<const CollectiveSchedule>& schedule, uint64_t bytes)
    {
        for (uint32_t npu : m_group->members)
        {
            Get(npu)->Launch(INSTANCE, schedule, m_group, bytes);
        }
    }

    /// \return an NPU's application
    const Ptr<CollectiveApplication>& Get(uint32_t npu) const
    {
        return m_applications.at(npu);
    }

    /// \return who plays
    const std::shared_ptr<CollectiveGroup>& GetGroup() const
    {
        return m_group;
    }

    /// \return when an NPU was reported done, or -1 if that did not happen exactly once
    int64_t GetDonePs(uint32_t npu, uint64_t instance = INSTANCE) const
    {
        const auto found = m_done.find({npu, instance});
        return found == m_done.end() || found->second.size() != 1 ? -1 : found->second[0];
    }

    /// \return messages sent, in order
    const std::vector<CollectiveMessage>& GetSent() const
    {
        return m_sent;
    }

  private:
    std::shared_ptr<CollectiveGroup> m_group;                      //!< who plays
    std::map<uint32_t, Ptr<CollectiveApplication>> m_applications; //!< by NPU
    std::function<int64_t(const CollectiveMessage&)>
        m_latencyPs;                                        //!< latency, if not the same for all
    std::function<void(const CollectiveMessage&)> m_onSend; //!< called while one is being sent
    std::set<uint64_t> m_abandoned;                         //!< phases
    std::map<std::pair<uint32_t, uint64_t>, std::vector<int64_t>> m_done; //!< by NPU and phase
    std::vector<CollectiveMessage> m_sent;                                //!< messages sent
};

} // namespace ns3::test
