// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3
{

/// Group of each destination host: hosts joined to the same switches are in one, and every node
/// but those switches has the same ways to all of them. Shared by all nodes.
using FabricHostGroups = std::vector<uint32_t>;

/**
 * Routing table of a node. For each group of hosts it names a set of ports, and equal sets are kept
 * once, so that a table takes four bytes a group; where a group is joined to the node itself, the
 * ports of each host are listed.
 */
class FabricRoutes
{
  public:
    /// In the place of a set: look the host up.
    static constexpr uint32_t LOCAL = 0xffffffff;

    /// Ports that lead to a destination; a port may be in it several times, for its weight.
    struct Ports
    {
        const uint32_t* first{nullptr}; //!< the first
        uint32_t count{0};              //!< how many; 0: there is no way
    };

    /**
     * \param groups group of each host
     * \param setOfGroup set of each group, or LOCAL
     * \param setOffsets one more than sets: where the ports of each begin in `setPorts`
     * \param setPorts port numbers
     */
    void SetGroups(std::shared_ptr<const FabricHostGroups> groups,
                   std::vector<uint32_t> setOfGroup,
                   std::vector<uint32_t> setOffsets,
                   std::vector<uint32_t> setPorts);
    /**
     * Change the sets of some groups; what leads to the others stays.
     * \param groups the groups
     * \param sets the set of each from now on, one of those given here, or LOCAL
     * \param setOffsets one more than sets: where the ports of each begin in `setPorts`
     * \param setPorts port numbers
     */
    void ChangeGroups(const std::vector<uint32_t>& groups,
                      const std::vector<uint32_t>& sets,
                      const std::vector<uint32_t>& setOffsets,
                      const std::vector<uint32_t>& setPorts);
    /**
     * \param hosts all hosts joined to this node, one entry a link
     * \param ports port of each entry
     */
    void SetLocal(const std::vector<uint32_t>& hosts, const std::vector<uint32_t>& ports);

    /// \return number of groups
    std::size_t CountGroups() const
    {
        return m_setOfGroup.size();
    }

    /// \param destination a host, which may not exist \return the ports that lead to it
    Ports Find(uint32_t destination) const
    {
        if (!m_groups || destination >= m_groups->size())
        {
            return {};
        }
        const uint32_t set = m_setOfGroup[(*m_groups)[destination]];
        if (set == LOCAL)
        {
            return FindLocal(destination);
        }
        const uint32_t first = m_setOffsets[set];
        return {m_setPorts.data() + first, m_setOffsets[set + 1] - first};
    }

    /// \param destination a host that exists \return whether it is joined to this node
    bool IsLocal(uint32_t destination) const
    {
        return m_setOfGroup[(*m_groups)[destination]] == LOCAL;
    }

  private:
    /// \return ports that lead to a host joined to this node
    Ports FindLocal(uint32_t destination) const;
    /// \return number of the set of these ports, a new one if there is none
    uint32_t FindSet(const uint32_t* first, const uint32_t* last);

    std::shared_ptr<const FabricHostGroups> m_groups; //!< group of each host
    std::vector<uint32_t> m_setOfGroup;               //!< set of each group
    std::vector<uint32_t> m_setOffsets;               //!< first port of each set
    std::vector<uint32_t> m_setPorts;                 //!< ports of all sets
    uint32_t m_firstLocal{0};                         //!< lowest host joined to this node
    std::vector<uint32_t> m_localOffsets;             //!< first port of each host from there on
    std::vector<uint32_t> m_localPorts;               //!< their ports
};

} // namespace ns3
