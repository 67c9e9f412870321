// SPDX-License-Identifier: GPL-2.0-only
#include "host-groups.h"

#include "fabric-frame.h"
#include "fabric-simulator.h"

#include <algorithm>

namespace astra_ns3
{

using namespace ns3;

/// Hosts that are played together.
class HostGroups::Group : public FabricHostGroup
{
  public:
    Group(CollectiveExecutor& executor, const MessageRouter& router)
        : m_executor(executor),
          m_router(router)
    {
    }

    /// \return the same host, or a new one
    void AddHost(uint32_t host)
    {
        m_hosts.emplace_back().number = host;
    }

    /// \param npu is at the host that was added last
    void SetNpu(uint32_t host, uint32_t npu)
    {
        Find(host).npu = npu;
    }

    /// \param port leads to a host \param most frames that may arrive by it in a window from
    /// within the group; 0: it leads from another group
    void AddPort(uint32_t host, FabricPort* port, uint32_t most)
    {
        if (most == 0)
        {
            Find(host).ports.push_back(port);
        }
        Find(host).fromWithin += most;
    }

    bool MayTell(int64_t endPs) override
    {
        const int64_t settledPs = FabricSimulator::Get().GetSettledPs();
        return std::any_of(m_hosts.begin(), m_hosts.end(), [=, this](const Host& host) {
            if (m_router.MayFail(host.number, endPs))
            {
                return true;
            }
            uint32_t frames = host.fromWithin;
            for (FabricPort* port : host.ports)
            {
                frames += port->CountOnLink(settledPs);
            }
            return host.npu != NONE && m_executor.MayEndWith(host.npu, frames);
        });
    }

  private:
    static constexpr uint32_t NONE = ~uint32_t{0}; //!< no NPU

    /// A host.
    struct Host
    {
        uint32_t number{0};             //!< its number
        uint32_t npu{NONE};             //!< its NPU
        uint32_t fromWithin{0};         //!< frames that may arrive in a window from the group
        std::vector<FabricPort*> ports; //!< that lead to it from other groups
    };

    Host& Find(uint32_t host)
    {
        return *std::find_if(m_hosts.begin(), m_hosts.end(), [host](const Host& each) {
            return each.number == host;
        });
    }

    CollectiveExecutor& m_executor; //!< plays the phases
    const MessageRouter& m_router;  //!< has the transports
    std::vector<Host> m_hosts;      //!< its hosts
};

HostGroups::HostGroups(const FabricNetwork::Windows& windows,
                       const std::vector<uint32_t>& hostOfNpu,
                       const FabricNetwork& fabric,
                       CollectiveExecutor& executor,
                       const MessageRouter& router)
{
    const auto hosts = fabric.GetNHosts();
    const auto groupOf = [&](uint32_t host) -> Group& {
        return *m_groups[windows.groups[host] - 1];
    };
    for (uint32_t host = 0; host < hosts; ++host)
    {
        if (windows.groups[host] > m_groups.size())
        {
            m_groups.push_back(std::make_unique<Group>(executor, router));
        }
        groupOf(host).AddHost(host);
    }
    for (uint32_t npu = 0; npu < hostOfNpu.size(); ++npu)
    {
        groupOf(hostOfNpu[npu]).SetNpu(hostOfNpu[npu], npu);
    }
    for (const auto& link : fabric.GetLinks())
    {
        for (const auto& port : link)
        {
            const uint32_t host = port->GetFarContext();
            if (host < hosts)
            {
                const int64_t leastPs =
                    port->TransmissionPs(FABRIC_MINIMUM_FRAME_BYTES + FABRIC_LINE_GAP_BYTES);
                const bool within = port->GetGroup() == port->GetFarGroup();
                groupOf(host).AddPort(host,
                                      PeekPointer(port),
                                      within ? static_cast<uint32_t>(windows.lengthPs / leastPs) + 2
                                             : 0);
            }
        }
    }
}

HostGroups::~HostGroups() = default;

std::vector<FabricHostGroup*>
HostGroups::GetAll() const
{
    std::vector<FabricHostGroup*> all;
    for (const auto& group : m_groups)
    {
        all.push_back(group.get());
    }
    return all;
}

} // namespace astra_ns3
