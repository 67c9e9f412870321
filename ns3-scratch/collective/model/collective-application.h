// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "collective-schedule.h"
#include "fabric-clock.h"
#include "message-transport.h"

#include "ns3/application.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * What one channel of a collective library costs its NPUs, in place of EndpointCosts.
 *
 * A kernel copies what comes in a lane, one message after the other, at so many bytes a us. From
 * another server a message is copied once it is there as a whole, or, with flags in the data, as it
 * comes; inside a server the sender's kernel writes where the receiver's reads. What is copied as
 * it comes is copied from when it is sent. The latency passes after that, and the kernel goes on
 * meanwhile. Signals, which carry no block, cost nothing, and reducers have no kernel.
 */
struct ChannelCosts
{
    int64_t startPs{0};             //!< before the first sends
    int64_t nearPs{0};              //!< latency of a message from the same server
    int64_t farPs{0};               //!< latency of a message from another one
    uint64_t nearCopyBytesPerMs{0}; //!< data from the same server that is copied; 0: in no time
    uint64_t farCopyBytesPerMs{0};  //!< the same of data from another server
    uint32_t nearWirePerMille{0};   //!< bytes on the wire for 1,000 of data, inside a server
    uint32_t farWirePerMille{0};    //!< the same between servers
    bool copiesAsItComes{false};    //!< whether flags say what of a message from afar is there
    uint32_t channel{0};            //!< number, which a transport may give connections of its own
    std::vector<uint32_t> servers;  //!< server of each rank

    /// \return whether two ranks are in one server
    bool IsNear(uint32_t rank, uint32_t other) const
    {
        return servers[rank] == servers[other];
    }

    /// \return bytes on the wire of so many bytes of data
    uint64_t WireBytes(uint64_t bytes, bool isNear) const;
};

/// The NPUs that play ranks 0, 1, ... of a schedule.
struct CollectiveGroup
{
    std::vector<uint32_t> members; //!< NPU of each rank; reducers are the last
    uint32_t reducers{0};          //!< how many reducers there are
    int64_t delayPs{-1};           //!< endpoint delay of its phases; -1: that of the NPUs
    uint32_t connections{0};       //!< which connections of a pair it uses, if no channel
    uint32_t priority{CollectiveMessage::OF_TRANSPORT}; //!< of its messages
    std::unique_ptr<ChannelCosts> channel;              //!< if it is a channel, what that costs

    /// Let an NPU play the next rank. \return false if it plays one already
    bool Add(uint32_t npu);
    /// \return rank of an NPU, if it plays one
    std::optional<uint32_t> FindRank(uint32_t npu) const;

  private:
    /// Of many members; a run may have a million groups of two, which need none.
    std::unique_ptr<std::unordered_map<uint32_t, uint32_t>> m_rankOfMember;
};

/// Who is told that an NPU has finished its part of a phase, and knows which phases are abandoned.
class PhaseListener
{
  public:
    virtual ~PhaseListener() = default;
    /**
     * \param npu the NPU
     * \param instance the phase it has finished
     */
    virtual void PhaseDone(uint32_t npu, uint64_t instance) = 0;
    /// \return whether a phase was abandoned: an NPU drops its messages. \param instance which
    virtual bool IsAbandoned(uint64_t instance) const = 0;
};

/// What an NPU spends on a message besides the network.
struct EndpointCosts
{
    int64_t delayPs{0}; //!< before the first sends and after each reception
    uint64_t reductionBytesPerNs{
        500'000};          //!< speed of its memory; a reduction moves three times the message
    bool ofReducer{false}; //!< of a part of a switch, which heeds no delay of a group
};

/**
 * One NPU: plays its own rows of the schedules launched on it, and holds no state of any other NPU.
 *
 * Rules (ASTRA-sim 1.0 inside a phase): the endpoint delay passes before the first sends and after
 * each reception; a reduced message waits another 3 * floor(bytes / reductionBytesPerNs) ns.
 * Receptions are handled step by step, those of one step in parallel. A message that arrives before
 * its phase is launched here, or before its step, waits.
 */
class CollectiveApplication : public Application
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /**
     * \param npu number of this NPU
     * \param costs its endpoint costs
     * \param transport what carries its messages
     * \param listener who is told when a phase is done
     */
    void Configure(uint32_t npu,
                   const EndpointCosts& costs,
                   MessageTransport* transport,
                   PhaseListener* listener);
    /// Neither begin a part of a phase nor handle a reception for a while, which comes after those
    /// told of before. \param beginPs from when on \param endPs until when
    void StandStill(int64_t beginPs, int64_t endPs);
    /**
     * Begin this NPU's part of a phase now.
     * \param instance names the phase on all its members
     * \param schedule what to play
     * \param group who plays it; this NPU must belong to it
     * \param bytes what each member brings
     */
    void Launch(uint64_t instance,
                std::shared_ptr<const CollectiveSchedule> schedule,
                std::shared_ptr<const CollectiveGroup> group,
                uint64_t bytes);
    /// \param message a message for this NPU that has arrived whole
    void Receive(const CollectiveMessage& message);
    /// Forget phases that the listener says are abandoned: send and handle nothing more in them,
    /// and don't tell of their ends; what the transport has still arrives. \param begin number of
    /// the first instance \param end behind the last
    void Abandon(uint64_t begin, uint64_t end);

    /// A message this NPU still has to send or to receive.
    struct Pending
    {
        uint32_t sender;   //!< NPU that sends
        uint32_t receiver; //!< NPU that receives
        uint32_t step;     //!< step of the schedule
        uint64_t bytes;    //!< size
        bool sent;         //!< false: this NPU has not sent it; true: it has not arrived here
    };

    /// What has to arrive here before a phase can end, at least.
    struct Awaited
    {
        uint64_t messages; //!< that aren't here
        uint64_t bytes;    //!< that aren't here, those of messages not here as a whole included
    };

    /// \param delivered bytes of messages, whole or not, that have arrived here so far
    /// \return what is awaited; the largest numbers if no phase has begun
    Awaited CountAwaited(uint64_t delivered) const;

    /// \return what is still to do in a phase; nothing if it is done or was not launched
    std::vector<Pending> GetPending(uint64_t instance) const;
    /// \return bytes handed to the transport so far
    uint64_t GetSentBytes() const;
    /// \return messages handed to the transport so far
    uint64_t GetSentMessages() const;
    /// \return bytes of the messages that have arrived here so far
    uint64_t GetReceivedBytes() const;
    /// \return messages that have arrived here so far
    uint64_t GetReceivedMessages() const;

  protected:
    void DoDispose() override;

  private:
    class HandledEvent;

    /// A row that has arrived, perhaps before its turn.
    struct Early
    {
        uint32_t row;      //!< which
        int64_t startPs;   //!< when it was sent
        int64_t arrivalPs; //!< when it arrived
    };

    /// This NPU's part of one lane of a phase.
    struct Lane
    {
        const CollectiveSchedule::Send* nextSend{nullptr}; //!< next of its sends
        const CollectiveSchedule::Send* lastSend{nullptr}; //!< behind the last
        uint32_t slots{0};                                 //!< its reception steps
        uint32_t slot{0};                                  //!< reception step being handled
        uint32_t handled{0};                               //!< receptions of it that are handled
        int64_t freePs{0};             //!< when a channel's kernel had copied the steps before
        int64_t copiedPs{0};           //!< when it has copied what came in this step
        std::vector<uint32_t> arrived; //!< rows arrived in this step, for a report

        /// \return whether nothing is left to send and to handle
        bool IsDone() const
        {
            return nextSend == lastSend && slot == slots;
        }
    };

    /// This NPU's part of one phase.
    struct Phase
    {
        std::shared_ptr<const CollectiveSchedule> schedule; //!< what is played; none until launched
        std::shared_ptr<const CollectiveGroup> group;       //!< who plays it
        uint64_t bytes{0};                                  //!< what each member brings
        uint64_t leastBytes{0};                             //!< no message is smaller
        uint32_t rank{0};                                   //!< this NPU's rank in the group
        bool started{false};                                //!< the first endpoint delay has passed
        bool abandoned{false};                              //!< nothing more is sent or handled
        Lane first;                                         //!< the first lane
        std::vector<Lane> others;                           //!< the others
        std::vector<Early> early;                           //!< rows that arrived before their turn

        /// \return a lane by its number
        Lane& GetLane(uint32_t number)
        {
            return number == 0 ? first : others[number - 1];
        }

        const Lane& GetLane(uint32_t number) const
        {
            return number == 0 ? first : others[number - 1];
        }
    };

    /// \return the phase of an event that is due; none: it was abandoned
    Phase* FindPhase(uint64_t instance);
    /// The first endpoint delay of a phase has passed.
    void Start(uint64_t instance);
    /// Begin to handle a row whose turn has come.
    void Handle(uint64_t instance,
                Phase& phase,
                const Early& arrived,
                const CollectiveSchedule::Reception& reception);
    /// \return in how long a channel has handled a row whose turn has come
    static int64_t ChannelDelayPs(Phase& phase,
                                  const Early& arrived,
                                  const CollectiveSchedule::Reception& reception);
    /// \param delayPs after which something is to be done \return when it is, as the NPU may stand
    /// still then
    int64_t AwakeDelayPs(int64_t delayPs) const;
    /// Have a reception handled after a while.
    void HandledLater(int64_t delayPs, uint64_t instance, uint32_t lane);
    /// A reception is handled: go on.
    void Handled(uint64_t instance, uint32_t lane);
    /// \return whether the next reception that is handled ends a phase, and nothing is left to send
    bool EndsWithNext(uint64_t instance, uint32_t lane) const;
    /// Handle the rows that arrived early and whose turn has come.
    void HandleEarly(uint64_t instance, Phase& phase);
    /// Send what is ready in a lane.
    void SendReady(uint64_t instance, Phase& phase, Lane& lane);
    /// Hand a row to the transport.
    void SendRow(uint64_t instance, const Phase& phase, const CollectiveSchedule::Send& send);
    /// \return whether every lane is done
    static bool IsDone(const Phase& phase);
    /// Tell the listener if nothing is left to do.
    void FinishIfDone(uint64_t instance, Phase& phase);
    /// \return what passes before the first sends of a phase and after each reception
    int64_t EndpointDelayPs(const Phase& phase) const;
    /// \return the time of its host
    FabricClock GetClock() const;
    /// \return the same for one of them
    static uint32_t CountAwaited(const Phase& phase);

    uint32_t m_npu{0};                                 //!< number of this NPU
    EndpointCosts m_costs;                             //!< what a message costs here
    std::vector<std::pair<int64_t, int64_t>> m_stills; //!< when it stands still, in order
    MessageTransport* m_transport{nullptr};            //!< carries messages
    PhaseListener* m_listener{nullptr};                //!< is told of finished phases
    std::unordered_map<uint64_t, Phase> m_phases; //!< launched and not done, or with early messages
    /// Abandoned, and kept until the next event, as the one that sends may be among them.
    std::vector<std::unordered_map<uint64_t, Phase>::node_type> m_abandoned;
    uint64_t m_sentBytes{0};        //!< bytes handed to the transport
    uint64_t m_sentMessages{0};     //!< messages handed to the transport
    uint64_t m_receivedBytes{0};    //!< bytes of messages that have arrived
    uint64_t m_receivedMessages{0}; //!< messages that have arrived
};

} // namespace ns3
