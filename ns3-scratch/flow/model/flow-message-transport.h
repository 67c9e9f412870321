// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-changes.h"
#include "fabric-net-device.h"
#include "fabric-sent-counts.h"
#include "flow-meter.h"
#include "flow-network.h"
#include "flow-paths.h"
#include "flow-queues.h"
#include "flow-transport-kind.h"
#include "flow-window.h"
#include "message-account.h"
#include "message-transport.h"
#include "roce-message-parts.h"
#include "roce-pair-table.h"
#include "roce-path.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ns3
{

/// What flows travel over, and what they are told of it.
struct FlowContext
{
    std::vector<Ptr<FabricNetDevice>> hosts;          //!< NIC of each host
    std::vector<uint32_t> hostOfNpu;                  //!< host of each NPU
    uint32_t npus{0};                                 //!< players from here on are reducers
    std::vector<std::pair<uint32_t, uint32_t>> kinds; //!< by dimension: NPUs, number of transport
    std::vector<FlowTransportKind> transports;        //!< by number
    bool spreads{false};                              //!< packets of a message part
    bool spreadsByRate{false};                        //!< and faster ports take more of them
    int64_t flowletGapPs{0};                          //!< a longer pause ends a way; 0: none does
    bool queues{false};                               //!< nothing slows senders: FlowQueues
    FlowGrain grain;                                  //!< of their mixtures
    std::vector<FlowRoom> rooms;                      //!< of the switches
    uint32_t baseAddress{0};                          //!< IPv4 address of host 0
    int64_t meterPs{0};                 //!< observed lines are told of by such intervals
    MessageListener* listener{nullptr}; //!< told of messages
};

/**
 * Carries messages as flows over the ways that packets would take. Messages of a queue pair, or
 * of a connection, go one after the other; each is a flow (FlowNetwork) of its packets' bytes on
 * the line. It arrives once the flow has ended and its last packet has crossed the network: later
 * by what the message takes alone beyond its bytes at the rate of the narrowest line.
 */
class FlowMessageTransport : public MessageTransport,
                             public FlowOwner,
                             public FlowQueuesOwner,
                             public FabricRoutesListener
{
  public:
    /// \param context what flows travel over
    explicit FlowMessageTransport(FlowContext context);
    ~FlowMessageTransport() override;
    void Send(const CollectiveMessage& message) override;
    void FlowEnded(uint32_t flow) override;
    void FlowSent(uint32_t flow) override;
    void FlowPassed(uint32_t flow) override;
    /// Flows take the ways that the tables name now, and lines have the rates of now.
    void RoutesChanged() override;

    /// \param nowPs the time until which the meter tells of observed lines
    void FlushMeter(int64_t nowPs)
    {
        m_meter.Flush(nowPs);
    }

    /// \param counts gets what lines have carried of messages that are under way, at ports that
    /// don't count it yet
    void CountUnderWay(FabricSentCounts& counts) const;

    /// \return flows so far
    uint64_t GetFlows() const
    {
        return m_flows;
    }

    /// \return at how many ports packets would have been lost, or neighbours stopped
    /// \param lossless which of both
    uint64_t GetFull(bool lossless) const
    {
        return m_rooms.GetFull(lossless);
    }

    /// \return how often rates were shared anew
    uint64_t GetSolutions() const
    {
        return m_queued ? m_queued->GetSolutions() : m_network.GetSolutions();
    }

  private:
    /// What the lines of a way are like, which it has in common with many others.
    struct Way
    {
        RocePath path;                //!< the lines
        int64_t roundTripPs{0};       //!< of a full packet and its acknowledgement
        int64_t answerPs{0};          //!< what the last acknowledgement adds to a message
        int64_t openingPs{0};         //!< of opening a connection
        uint64_t windowBytes{0};      //!< most data in flight of a queue pair; 0: no limit
        uint64_t firstWindowBytes{0}; //!< of a new one; 0: windows don't grow
        int64_t inFlightBytes{0};     //!< most under way; 0: no limit, below: what the way holds

        /// \return whether windows let as much out on another way
        bool HasWindowsOf(const Way& other) const
        {
            return roundTripPs == other.roundTripPs && windowBytes == other.windowBytes &&
                   firstWindowBytes == other.firstWindowBytes;
        }
    };

    static constexpr uint32_t NO_WAY = ~0U; //!< in the place of a way's number: none is known yet
    static constexpr uint64_t HASH_FACTOR = 0x9e3779b97f4a7c15; //!< odd, spreads bits upwards

    /// Frames of a message, from the first on, and of its acknowledgements.
    struct Frames
    {
        uint64_t data{0};    //!< frames of its data
        uint64_t answers{0}; //!< acknowledgements
    };

    /// One of the queue pairs of two NPUs.
    struct Queue
    {
        const std::vector<FlowUse>* forth{nullptr}; //!< links of its data
        const std::vector<FlowUse>* back{nullptr};  //!< links of its acknowledgements
        uint32_t pair{0};                           //!< number of its NPUs
        uint32_t number{0};                         //!< of the queue pair among theirs
        uint32_t way{NO_WAY};                       //!< number of its way
        uint32_t flow{FlowShares::NONE};            //!< of its first message, if it is under way
        uint64_t narrowestBps{0};                   //!< rate that its bytes have alone, at most
        int64_t arrivalPs{0};                       //!< of the last message
        uint64_t sentBytes{0};                      //!< since it was idle
        double lastRate{0.0};                       //!< at which the last flow ended
        double cap{0.0};                            //!< most that its window lets out in a ps
        FlowWindowCourse course;                    //!< of its window
        int64_t openPs{0};                          //!< when it is opened
        int64_t idlePs{0};                          //!< when the last flow ended
        bool isNew{true};                           //!< it has not sent yet
        int64_t beganPs{0};                         //!< when the flow began
        Frames counted;                             //!< of its message, at ports of ways it had
        std::deque<CollectiveMessage> messages;     //!< the first is under way
    };

    /// A message whose flow has left its sender.
    struct Sent
    {
        uint32_t queue{0};         //!< its queue
        int64_t beganPs{0};        //!< when its flow began
        CollectiveMessage message; //!< itself
        bool underWay{false};      //!< it has not passed
    };

    /// A hash of links.
    struct HashUses
    {
        /// \return the hash. \param uses links
        std::size_t operator()(const std::vector<FlowUse>& uses) const
        {
            uint64_t hash = uses.size();
            for (const FlowUse& use : uses)
            {
                hash = (hash ^ use.link ^ std::bit_cast<uint64_t>(use.share)) * HASH_FACTOR;
                hash ^= hash >> 29;
            }
            return hash;
        }
    };

    /// Two NPUs, in one channel.
    struct Pair
    {
        uint32_t sender{0};           //!< NPU that sends
        uint32_t receiver{0};         //!< NPU that receives
        uint32_t channel{0};          //!< of a collective library
        uint32_t kind{0};             //!< number of the transport
        uint32_t next{0};             //!< number of its next queue pair
        uint16_t port{0};             //!< TCP port of the sender
        std::vector<uint32_t> queues; //!< that last
    };

    /// \return whether a switch that reduces is an end of a queue
    bool IsOfReducer(const Queue& queue) const;
    /// \return packets that one acknowledgement of a queue is for
    uint32_t AnswerEvery(const Queue& queue) const;
    /// \return acknowledgements of a message of a queue
    uint64_t CountAnswers(const Queue& queue, const FlowPackets& packets) const;
    /// \return number of two NPUs, about which what is needed is found out
    uint32_t FindPair(uint32_t sender, uint32_t receiver);
    /// \return number of the two NPUs and the channel of a message
    uint32_t FindPairOf(const CollectiveMessage& message);
    /// \return number of two NPUs in a channel, which are new
    uint32_t AddPair(uint32_t sender, uint32_t receiver, uint32_t channel);
    /// \return number of the transport between two NPUs
    uint32_t FindKind(uint32_t sender, uint32_t receiver) const;
    /// \return the queue whose turn it is
    uint32_t TakeTurn(uint32_t pair);
    /// \return a queue, new or used again. \param number of the queue pair among its NPUs'
    uint32_t OpenQueue(uint32_t pair, uint32_t number);
    /// Find the ways of a queue.
    void FindWays(Queue& queue);
    /// \return links of lines, which stay there
    const std::vector<FlowUse>* LinksOf(const std::vector<FlowLine>& lines);
    /// \return number of a line's link. \param isFirst of a way, a sender's own
    uint32_t LinkOf(FabricPort* port, bool isFirst);
    /// \return the path of these lines, each taken once
    static RocePath PathOf(const std::vector<FlowLine>& lines);
    /// \return number of the way over these lines. \param back lines of acknowledgements
    uint32_t WayOf(const Queue& queue,
                   const std::vector<FlowLine>& lines,
                   const std::vector<FlowLine>& back);
    /// \param first port of the sender's NIC
    /// \return bytes that a pair has under way if its window follows from its path; 0: it doesn't.
    ///         As queue pairs do, it takes one of the shortest paths, both ways
    uint64_t WindowOfPath(const Pair& pair, const FabricPort* first) const;
    /// Set the windows of a way. \param ofPath the window that follows from the path, if it does
    static void SetWindows(Way& way, const FlowTransportKind& kind, uint64_t ofPath);
    /// \return time that a message takes alone, without its acknowledgement. \param path its way
    static int64_t AlonePs(const FlowTransportKind& kind, const RocePath& path, uint64_t bytes);
    /// Put a message behind the others of a queue.
    void Post(uint32_t queue, const CollectiveMessage& message);
    /// Let the first message of a queue go.
    void Begin(uint32_t queue);
    /// \return most bytes per ps of the message that goes, by what its window lets out. \param
    /// bytes of its data \param wireBytes the same on the line \param cap of a message without an
    /// end
    /// \param anew nothing else is under way, or the way has other delays
    double FindCap(Queue& queue, uint64_t bytes, double wireBytes, double cap, bool anew) const;
    /// \return what lets bytes of a queue out on its way
    FlowWindow WindowOf(const Queue& queue) const;
    /// \return most bytes per ps of a message without an end
    double CapOf(const Queue& queue) const;
    /// \return from the first packet of a window to its acknowledgement, which others may wait for
    double WindowTripPs(const Queue& queue, uint64_t windowBytes) const;
    /// A message goes on, on a way that may be new. \param anew windows let out otherwise
    void GoOn(Queue& queue, bool anew);
    /// The first message of a queue has left its sender: the next one goes.
    CollectiveMessage TakeFirst(uint32_t queue);
    /// No message of a queue is under way.
    void Free(uint32_t queue);
    /// A message whose flow has ended arrives later. \param waits of the flow
    void Deliver(Queue& queue,
                 const CollectiveMessage& message,
                 int64_t beganPs,
                 const std::vector<FlowWait>& waits);
    /// Who is told what a port has sent.
    using Counter = std::function<void(FabricPort*, uint64_t frames, uint64_t bytes)>;

    /// \return the kind of a queue's transport
    const FlowTransportKind& KindOf(const Queue& queue) const;
    /// \return frames of a message that lines have carried. \param queue where it is under way
    Frames FramesOf(const Queue& queue) const;
    /// Count frames of a message at the ports of a way. \param from so many are counted already
    /// \param until the last of them
    void Count(const Queue& queue,
               std::span<const FlowUse> forth,
               std::span<const FlowUse> back,
               uint64_t bytes,
               Frames from,
               Frames until,
               const Counter& counter) const;
    /// Count what a message has sent at all ports of its way.
    void CountAll(const Queue& queue,
                  std::span<const FlowUse> forth,
                  std::span<const FlowUse> back,
                  uint64_t bytes);
    /// A message that is under way has another way: count what it has sent at the ports of this
    /// one.
    void CountSoFar(Queue& queue, std::span<const FlowUse> forth, std::span<const FlowUse> back);
    /// Count what each queue has let through of a message. \param data counts its frames
    /// \param answers counts acknowledgements as if they hadn't waited
    void CountThrough(const Queue& queue,
                      uint32_t flow,
                      uint64_t bytes,
                      const Counter& data,
                      const Counter& answers) const;
    /// Leave out acknowledgements that wait in queues.
    void LeaveWaiting(FabricSentCounts& answers) const;
    /// \return waits in the order of a message's way, in whole picoseconds, at most a time together
    static std::vector<FlowWait> Divide(const Queue& queue,
                                        std::vector<FlowWait> waits,
                                        int64_t timePs);
    /// \return where the time of a message went. \param ownPs what it takes alone, with its
    /// acknowledgement \param waits of its flow
    MessageAccount AccountOf(const Queue& queue,
                             const CollectiveMessage& message,
                             int64_t beganPs,
                             int64_t ownPs,
                             const std::vector<FlowWait>& waits) const;

    FlowContext m_context;                                    //!< what flows travel over
    std::unique_ptr<RoceMessageParts> m_parts;                //!< of messages, if split
    MessageAccountant* m_accountant;                          //!< keeps accounts, or none
    FlowMeter m_meter;                                        //!< of observed lines
    FlowRooms m_rooms;                                        //!< of switches
    FlowNetwork m_network;                                    //!< rates
    std::unique_ptr<FlowQueues> m_queued;                     //!< or queues
    std::vector<Sent> m_sent;                                 //!< by flow, of queues
    FlowPaths m_paths;                                        //!< ways
    std::unordered_map<const FabricPort*, uint32_t> m_linkOf; //!< links by port
    std::vector<FabricPort*> m_portOf;                        //!< the other way round
    std::map<std::vector<uint64_t>, uint32_t> m_wayOf;        //!< ways by what decides their times
    std::vector<Way> m_ways;                                  //!< by number
    RocePairTable m_numbers;                                  //!< of receivers
    std::vector<std::vector<uint32_t>> m_pairsOf; //!< by sender: pairs by number of the receiver
    std::vector<Pair> m_pairs;                    //!< by number
    std::unordered_map<uint64_t, uint32_t>
        m_pairsOfChannels; //!< by pair and channel, of channels other than the first
    std::unordered_set<std::vector<FlowUse>, HashUses> m_links; //!< of ways, each once
    std::deque<Queue> m_queues;                                 //!< by number
    std::vector<uint32_t> m_free;                               //!< queues to use again
    std::vector<uint32_t> m_queueOf;                            //!< queue of each flow
    std::vector<uint16_t> m_ports; //!< TCP port given out last, by host
    uint64_t m_flows{0};           //!< so far
};

} // namespace ns3
