// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace astra_ns3
{

class CollectiveExecutor;

/// How flows of a list are played.
struct FlowListSetup
{
    uint32_t schedule{0};           //!< of one message, from rank 0 to rank 1
    uint64_t firstInstance{0};      //!< instance of flow 0
    uint32_t tenantBit{63};         //!< from this bit on an instance says whose it is
    uint32_t connections{0};        //!< which connections of a pair of NPUs they take
    uint32_t priority{0};           //!< in which they travel, or CollectiveMessage::OF_TRANSPORT
    uint64_t token{0};              //!< of the timer that is due when flows are needed, or all done
    std::vector<uint32_t> measured; //!< NPUs whose bytes make the curve; none: there is no curve
};

/**
 * Flows that start at their times, whatever becomes of others: launched here, without a call of
 * Python for each. Each is a phase of its two NPUs. Times are since Begin.
 */
class FlowListPlayer
{
  public:
    static constexpr int64_t NOT_YET = -1; //!< time of what hasn't happened

    /// Columns of flows that are new.
    struct Columns
    {
        const uint32_t* sources;      //!< NPU that sends each
        const uint32_t* destinations; //!< NPU that gets it
        const int64_t* bytes;         //!< size
        const int64_t* startsPs;      //!< when it starts
        const uint32_t* order;        //!< numbers of the columns' flows, by start
    };

    /**
     * \param executor plays the phases
     * \param number which of its players it is
     * \param setup how they are played
     */
    FlowListPlayer(CollectiveExecutor& executor, uint32_t number, FlowListSetup setup);

    /// \param columns flows that start no earlier than those before \param count how many
    /// \param last whether no more come
    void Add(const Columns& columns, uint32_t count, bool last);
    /// Time begins now.
    void Begin();
    /// Nothing starts any more, and what is on its way is heard of no more.
    void Stop();
    /// \return whether an instance is one of its flows'
    bool Owns(uint64_t instance) const;
    /// One end of a flow is done. \return whether the owner has to hear: no flow is left
    bool PhaseDone(uint32_t npu, uint64_t instance, int64_t nowPs);
    /// A flow's start is due. \return whether the owner has to hear: more flows are needed
    bool StartDue(int64_t nowPs);

    /// \return what the owner's timer is called
    uint64_t GetToken() const;
    /// \return when each flow began
    const std::vector<int64_t>& GetStarts() const;
    /// \return when each was delivered
    const std::vector<int64_t>& GetEnds() const;
    /// \return those delivered so far, in their order
    const std::vector<int64_t>& GetDelivered() const;
    /// \return points in time and bytes delivered by then, one after the other
    const std::vector<int64_t>& GetCurve() const;

  private:
    /// Have the next flow started at its time, if there is one.
    void WaitForNext();
    /// Start a flow now.
    void Launch(uint32_t flow, int64_t timePs);
    /// Take down how much has been delivered, unless that was done just before.
    void Measure(int64_t timePs);

    CollectiveExecutor& m_executor;                   //!< plays the phases
    uint32_t m_number;                                //!< which of its players it is
    FlowListSetup m_setup;                            //!< how they are played
    std::vector<uint32_t> m_sources;                  //!< of each flow
    std::vector<uint32_t> m_destinations;             //!< of each flow
    std::vector<int64_t> m_bytes;                     //!< of each flow
    std::vector<int64_t> m_due;                       //!< when it is to start
    std::vector<uint32_t> m_order;                    //!< flows by start
    std::vector<int64_t> m_starts;                    //!< when it did
    std::vector<int64_t> m_ends;                      //!< when it was delivered
    std::vector<int64_t> m_delivered;                 //!< flows in the order of their ends
    std::unordered_map<uint64_t, uint32_t> m_groupOf; //!< by the pair of NPUs
    std::size_t m_next{0};                            //!< place in the order
    bool m_last{false};                               //!< no more come
    bool m_begun{false};                              //!< Begin was called
    bool m_stopped{false};                            //!< Stop was called
    bool m_waits{false};                              //!< a start is on the list of events
    int64_t m_beginPs{0};                             //!< when
    std::vector<int64_t> m_curve;                     //!< time, bytes, time, bytes, ...
    int64_t m_gapPs;                                  //!< between its points, at least
};

} // namespace astra_ns3
