// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"
#include "fabric-trail.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace ns3
{

/**
 * What a port has put on its line lately: whose it was, and when. A port has one while accounts of
 * messages are kept. Only what a frame that is accounted for may have waited behind is remembered.
 */
class FabricServedLog
{
  public:
    /// \param ownerBit from this bit on an instance says whose it is
    explicit FabricServedLog(uint32_t ownerBit)
        : m_ownerBit(ownerBit)
    {
    }

    /// A frame that is accounted for begins to wait. \param nowPs when
    void Wait(int64_t nowPs)
    {
        m_waiting.push_back(nowPs);
    }

    /// Nobody waits any more: all were lost.
    void Forget()
    {
        m_waiting.clear();
    }

    /// A frame goes on the line; one that is accounted for is told what it has waited behind.
    /// \param frame it, whose trail has this line as its last \param startPs its first bit
    /// \param endPs its last bit
    void Put(const FabricFrame& frame, int64_t startPs, int64_t endPs);

  private:
    static constexpr size_t FEWEST_TO_FORGET = 256; //!< messages, lest it happens too often

    /// A time in which the line carried frames of one message, or of none.
    struct Sent
    {
        int64_t startPs{0}; //!< first bit
        int64_t endPs{0};   //!< last bit
        uint32_t whose{0};  //!< place among the messages
    };

    /// A message, or what is of none.
    struct Whose
    {
        FabricServed served; //!< it
        uint64_t told{0};    //!< to which trail last
        size_t place{0};     //!< where among what that trail was told
    };

    /// Tells messages apart.
    struct Hash
    {
        size_t operator()(const FabricServed& served) const
        {
            const uint64_t ends = (uint64_t{served.sender} << 32) | served.receiver;
            return served.named ? (served.instance * 0x9E3779B97F4A7C15ULL) ^ ends : 0;
        }
    };

    /// Whether two are of one message.
    struct Alike
    {
        bool operator()(const FabricServed& a, const FabricServed& b) const
        {
            return a.IsAlike(b);
        }
    };

    /// \param served a message, or none \param instance of another
    /// \return whether both are of one owner
    bool IsOfOwner(const FabricServed& served, uint64_t instance) const;

    /// Tell a trail what was on the line while its frame waited, each time by itself.
    /// \param instance of the frame's message \param named whether that is known
    void Tell(FabricTrail& trail, uint64_t instance, bool named) const;

    /// Tell the trail of a packet of RoCE how long it waited behind each message of others, and
    /// behind all of its owner's. \param instance of the packet's message
    void TellSums(FabricTrail& trail, uint64_t instance);

    /// Forget messages of which nothing is remembered any more.
    void ForgetMessages();

    /// \return where among the messages that of a frame is
    uint32_t FindWhose(const FabricFrame& frame, bool named);

    /// \param arrivalPs of a frame \return the first that ended after it
    size_t FindFirst(int64_t arrivalPs) const;

    uint32_t m_ownerBit;              //!< from this bit on an instance says whose it is
    std::deque<Sent> m_sent;          //!< in turn
    std::deque<int64_t> m_waiting;    //!< arrivals of frames that wait and are accounted for
    std::vector<Whose> m_whose;       //!< messages that are in m_sent, and some that were
    std::vector<FabricServed> m_sums; //!< of the trail that is being told
    uint64_t m_told{0};               //!< so many trails were told sums
    std::unordered_map<FabricServed, uint32_t, Hash, Alike> m_places; //!< of the messages
};

} // namespace ns3
