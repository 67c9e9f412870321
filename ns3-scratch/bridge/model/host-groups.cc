// SPDX-License-Identifier: GPL-2.0-only
#include "host-groups.h"

#include "fabric-simulator.h"

#include <algorithm>

namespace astra_ns3
{

using namespace ns3;

/// Hosts that are played together.
class HostGroups::Group : public FabricHostGroup
{
  public:
    /// A host.
    struct Host
    {
        uint32_t number{0};                        //!< its number
        const CollectiveApplication* npu{nullptr}; //!< its NPU, if it has one
        uint32_t npuNumber{0};                     //!< that NPU's
        uint32_t mostFrames{0};                    //!< that can arrive in a window
        uint64_t mostBytes{0};                     //!< that can
        uint32_t mostWithin{0};                    //!< those of them sent in that window
        std::vector<FabricPort*> ports;            //!< from which the others come
    };

    Group(const CollectiveExecutor& executor, const MessageRouter& router, int64_t windowPs)
        : m_executor(executor),
          m_router(router),
          m_windowPs(windowPs)
    {
    }

    /// \return a new host
    Host& AddHost(uint32_t number)
    {
        m_hosts.emplace_back().number = number;
        return m_hosts.back();
    }

    /// \return a host by its number
    Host& Find(uint32_t number)
    {
        return *std::find_if(m_hosts.begin(), m_hosts.end(), [number](const Host& host) {
            return host.number == number;
        });
    }

    bool MayTell(int64_t endPs) override
    {
        if (endPs <= m_quietUntilPs && m_launches == m_executor.GetLaunches())
        {
            return false;
        }
        m_launches = m_executor.GetLaunches();
        m_quietUntilPs = 0;
        int64_t quiet = MOST_QUIET;
        for (Host& host : m_hosts)
        {
            const int64_t windows = CountQuiet(host, endPs);
            if (windows == 0)
            {
                return true;
            }
            quiet = std::min(quiet, windows);
        }
        m_quietUntilPs = endPs + (quiet - 1) * m_windowPs;
        return false;
    }

  private:
    static constexpr uint64_t MOST_QUIET = 64; //!< windows

    /// \return in how many windows from now on nothing has to be told, at least. \param endPs end
    /// of the first
    int64_t CountQuiet(const Host& host, int64_t endPs) const
    {
        const int64_t quiet = CountUnended(host);
        if (quiet == 0 || m_router.MayFail(host.number, endPs))
        {
            return 0;
        }
        return m_router.MayFail(host.number, endPs + (quiet - 1) * m_windowPs) ? 1 : quiet;
    }

    /// \return in how many windows from now on no phase ends there, at least
    int64_t CountUnended(const Host& host) const
    {
        if (!host.npu)
        {
            return MOST_QUIET;
        }
        const auto awaited = host.npu->CountAwaited(m_executor.GetDeliveredBytes(host.npuNumber));
        if (awaited.messages == 0)
        {
            return 0;
        }
        if (host.mostFrames == 0)
        {
            return MOST_QUIET;
        }
        const uint64_t windows =
            std::max((awaited.messages - 1) / host.mostFrames,
                     awaited.bytes == 0 ? 0 : (awaited.bytes - 1) / host.mostBytes);
        if (windows > 0)
        {
            return static_cast<int64_t>(std::min(MOST_QUIET, windows));
        }
        uint64_t frames = host.mostWithin;
        for (FabricPort* port : host.ports)
        {
            frames += port->CountOnLink(FabricSimulator::Get().GetSettledPs());
        }
        return awaited.messages > frames || awaited.bytes > frames * m_router.GetMostBytes() ? 1
                                                                                             : 0;
    }

    const CollectiveExecutor& m_executor; //!< plays the phases
    const MessageRouter& m_router;        //!< has the transports
    int64_t m_windowPs;                   //!< length of a window
    int64_t m_quietUntilPs{0};            //!< until then nothing has to be told
    uint64_t m_launches{0};               //!< if no phase has begun since so many had
    std::vector<Host> m_hosts;            //!< its hosts
};

HostGroups::HostGroups(const FabricNetwork::Windows& windows,
                       const std::vector<uint32_t>& hostOfNpu,
                       const FabricNetwork& fabric,
                       const CollectiveExecutor& executor,
                       const MessageRouter& router)
{
    const uint32_t hosts = fabric.GetNHosts();
    const auto find = [&](uint32_t host) -> Group::Host& {
        return m_groups[windows.groups[host] - 1]->Find(host);
    };
    for (uint32_t host = 0; host < hosts; ++host)
    {
        if (windows.groups[host] > m_groups.size())
        {
            m_groups.push_back(std::make_unique<Group>(executor, router, windows.lengthPs));
        }
        m_groups[windows.groups[host] - 1]->AddHost(host);
    }
    for (uint32_t npu = 0; npu < hostOfNpu.size(); ++npu)
    {
        Group::Host& host = find(hostOfNpu[npu]);
        host.npu = &executor.GetApplication(npu);
        host.npuNumber = npu;
    }
    for (const auto& link : fabric.GetLinks())
    {
        for (const auto& port : link)
        {
            if (port->GetFarContext() >= hosts)
            {
                continue;
            }
            Group::Host& host = find(port->GetFarContext());
            const int64_t leastPs =
                std::max<int64_t>(port->TransmissionPs(router.GetLeastWireBytes()), 1);
            const auto most = static_cast<uint32_t>(windows.lengthPs / leastPs) + 2;
            host.mostFrames += most;
            const uint32_t bytes = router.GetMostBytes();
            const int64_t fullPs = std::max<int64_t>(port->TransmissionPs(bytes), 1);
            host.mostBytes += (windows.lengthPs / fullPs + 2) * bytes;
            if (port->GetGroup() == port->GetFarGroup())
            {
                host.mostWithin += most;
            }
            else
            {
                host.ports.push_back(PeekPointer(port));
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
