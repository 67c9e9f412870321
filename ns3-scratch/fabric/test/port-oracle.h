// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Output ports over one shared memory, the plain way: a queue a priority, one event when the line
 * is free again, one when a frame arrives. Shares nothing with FabricPort; the suite compares the
 * two.
 */
#pragma once

#include "memory-oracle.h"
#include "paced-frames.h"
#include "round-robin-oracle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace astra_ns3::test
{

/// Something that happens to a port from outside.
struct Offer
{
    int64_t timePs;          //!< when
    uint32_t port;           //!< where
    uint32_t bufferBytes;    //!< size of the frame that comes; 0: no frame, only a look at the port
    bool ecnCapable;         //!< whether the frame may be marked
    uint8_t priority{0};     //!< of the frame
    uint32_t ingressPort{0}; //!< where the frame came in
    int paused{-1};          //!< above -1: no frame, the far end stops these priorities
    int64_t gapPs{-1};       //!< above -1: the frame goes into the source, with this gap behind it
};

/// Times of something, with the number of the frame or with bytes.
using Stamps = std::vector<std::pair<int64_t, uint64_t>>;

/// Number of a pause frame that stops these priorities.
constexpr uint64_t PAUSE_FRAME = 1'000'000'000;

/// Everything that can be seen of one port.
struct PortLog
{
    Stamps arrivals;               //!< frame at the far end
    Stamps starts;                 //!< frame whose first bit goes on the line
    Stamps drops;                  //!< frame dropped, or lost on the line
    Stamps marks;                  //!< frame marked
    Stamps queue;                  //!< bytes that wait, at each change
    Stamps looks;                  //!< bytes that wait, at each look
    Stamps memoryLooks;            //!< bytes in the shared memory, at each look
    Stamps sentStamps;             //!< telemetry: time and bytes sent, of each frame that arrives
    Stamps queueStamps;            //!< telemetry: time and bytes that wait
    Stamps pauses;                 //!< priorities stopped, at each change
    uint64_t sentBytes{0};         //!< bytes put on the line
    uint64_t droppedBytes{0};      //!< bytes dropped
    uint64_t highestQueueBytes{0}; //!< most bytes that ever waited
    uint64_t lostFrames{0};        //!< frames lost on the line
    uint64_t stops{0};             //!< times a priority was told to stop
};

/// What one of the oracle's ports is like.
struct PortShape
{
    uint64_t rateBps;               //!< rate of the line
    int64_t delayPs;                //!< delay to the far end
    uint64_t markBytes;             //!< a frame that finds more than this waiting is marked
    bool marksAtDequeue{false};     //!< or one that leaves more than this behind
    bool losesAll{false};           //!< the line loses every frame
    std::vector<uint32_t> quanta{}; //!< deficit round robin; none: strict priority
};

/// Plays offers on ports that share a memory.
class PortOracle
{
  public:
    /// \param shapes the ports \param memory what they share
    PortOracle(std::vector<PortShape> shapes, MemoryShape memory)
        : m_shapes(std::move(shapes)),
          m_ports(m_shapes.size()),
          m_memory(std::move(memory))
    {
    }

    /// \return what each port does. \param offers in order of time; the frames are numbered by
    /// their place
    std::vector<PortLog> Play(const std::vector<Offer>& offers)
    {
        for (uint64_t number = 0; number < offers.size(); ++number)
        {
            m_events.insert({offers[number].timePs, Kind::OFFER, number, offers[number].port});
        }
        while (!m_events.empty())
        {
            const auto [timePs, kind, number, port] = *m_events.begin();
            m_events.erase(m_events.begin());
            m_lineFreesNow = timePs == m_nowPs ? m_lineFreesNow : 0;
            m_nowPs = timePs;
            switch (kind)
            {
            case Kind::LINE_FREE:
                m_lineFreesNow++;
                m_ports[port].busy = false;
                StartNext(timePs, port);
                break;
            case Kind::PACED:
                StartNext(timePs, port);
                break;
            case Kind::OFFER:
                Take(timePs, number, offers[number]);
                break;
            case Kind::ARRIVAL:
                Arrive(timePs, port);
                break;
            }
        }
        std::vector<PortLog> logs;
        for (auto& port : m_ports)
        {
            logs.push_back(port.log);
        }
        return logs;
    }

    /// \return whether a port sent a pause when several lines got free in the same picosecond: in
    /// which order nobody says
    bool IsAmbiguous() const
    {
        return m_ambiguous;
    }

  private:
    /// Kinds of events; the earlier ones come first where times are equal.
    enum class Kind
    {
        LINE_FREE, // departures before enqueues: the rule of the fabric
        PACED,
        OFFER,
        ARRIVAL
    };

    /// A frame that waits, or is on its way.
    struct Waiting
    {
        uint64_t number;        //!< of the frame
        HeldFrame frame;        //!< as the memory sees it
        bool ecnCapable;        //!< whether it may be marked
        bool held{false};       //!< it lay in the memory, and so has telemetry
        int64_t startPs{0};     //!< telemetry: when its first bit went on the line
        uint64_t sentBytes{0};  //!< telemetry: sent before it
        uint64_t queueBytes{0}; //!< telemetry: left waiting
    };

    /// A port's state.
    struct Port
    {
        std::array<std::deque<Waiting>, 8> queues; //!< waiting
        std::deque<uint64_t> pauses;               //!< pause frames that wait
        std::deque<Waiting> wire;                  //!< on the way
        PacedFrames source;                        //!< frames of a host
        RoundRobinOracle roundRobin;               //!< whose turn it is
        uint8_t paused{0};                         //!< priorities that are stopped
        bool busy{false};                          //!< the line is in use
        uint64_t lineBytes{0};                     //!< put on the line, preamble and gap counted
        PortLog log;                               //!< what was seen
    };

    static uint64_t BytesOf(const std::deque<Waiting>& queue)
    {
        uint64_t bytes = 0;
        for (const Waiting& waiting : queue)
        {
            bytes += waiting.frame.bytes;
        }
        return bytes;
    }

    static uint64_t BytesOf(const Port& port)
    {
        uint64_t bytes = 0;
        for (const auto& queue : port.queues)
        {
            bytes += BytesOf(queue);
        }
        return bytes;
    }

    void Take(int64_t timePs, uint64_t number, const Offer& offer)
    {
        Port& port = m_ports[offer.port];
        if (offer.paused >= 0)
        {
            SetPaused(timePs, offer.port, static_cast<uint8_t>(offer.paused));
        }
        else if (offer.bufferBytes == 0)
        {
            port.log.looks.emplace_back(timePs, BytesOf(port));
            port.log.memoryLooks.emplace_back(timePs, m_memory.GetUsedBytes());
        }
        else if (offer.gapPs >= 0)
        {
            port.source.Post(offer.priority, {number, offer.bufferBytes}, timePs, offer.gapPs);
            StartNext(timePs, offer.port);
        }
        else
        {
            const HeldFrame frame{offer.bufferBytes, offer.priority, offer.ingressPort};
            Enqueue(timePs, offer.port, {number, frame, offer.ecnCapable});
        }
    }

    void SetPaused(int64_t timePs, uint32_t number, uint8_t paused)
    {
        Port& port = m_ports[number];
        for (uint32_t priority = 0; priority < 8; ++priority)
        {
            port.log.stops += (paused & ~port.paused) >> priority & 1;
        }
        if (paused != port.paused)
        {
            port.log.pauses.emplace_back(timePs, paused);
        }
        port.paused = paused;
        StartNext(timePs, number);
    }

    void Enqueue(int64_t timePs, uint32_t number, const Waiting& waiting)
    {
        Port& port = m_ports[number];
        const PortShape& shape = m_shapes[number];
        const uint32_t priority = waiting.frame.priority;
        const uint64_t before = BytesOf(port.queues[priority]);
        const auto [fits, order] = m_memory.Come(waiting.frame, before);
        Obey(timePs, order);
        if (!fits)
        {
            port.log.drops.emplace_back(timePs, waiting.number);
            port.log.droppedBytes += waiting.frame.bytes;
            return;
        }
        if (!shape.marksAtDequeue && waiting.ecnCapable && before > shape.markBytes)
        {
            port.log.marks.emplace_back(timePs, waiting.number);
        }
        if (!port.busy && (port.paused >> priority & 1) == 0)
        {
            Start(timePs, number, waiting, true);
            return;
        }
        port.queues[priority].push_back(waiting);
        port.log.queue.emplace_back(timePs, BytesOf(port));
        port.log.highestQueueBytes = std::max(port.log.highestQueueBytes, BytesOf(port));
    }

    /// Send a pause frame, if the memory wants it.
    void Obey(int64_t timePs, const PauseOrder& order)
    {
        if (order)
        {
            const auto next = m_events.begin();
            const bool tied = next != m_events.end() && std::get<0>(*next) == timePs &&
                              std::get<1>(*next) == Kind::LINE_FREE;
            m_ambiguous = m_ambiguous || tied || m_lineFreesNow > 1;
            m_ports[order->first].pauses.push_back(PAUSE_FRAME + order->second);
            StartNext(timePs, order->first);
        }
    }

    /// Put on an idle line what is due.
    void StartNext(int64_t timePs, uint32_t number)
    {
        Port& port = m_ports[number];
        if (port.busy)
        {
            return;
        }
        if (!port.pauses.empty())
        {
            const uint64_t pause = port.pauses.front();
            port.pauses.pop_front();
            Start(timePs, number, {pause, {64, 0, 0}, false}, false);
            return;
        }
        std::array<uint32_t, 8> fronts{};
        uint32_t last = 0;
        int highest = -1;
        bool weighted = false;
        for (uint32_t priority = 0; priority < 8; ++priority)
        {
            const auto& queue = port.queues[priority];
            if (!queue.empty() && (port.paused >> priority & 1) == 0)
            {
                fronts[priority] = queue.front().frame.bytes;
                last |= queue.size() == 1 ? 1U << priority : 0;
                highest = static_cast<int>(priority);
                weighted = weighted || (!m_shapes[number].quanta.empty() &&
                                        m_shapes[number].quanta[priority] > 0);
            }
        }
        if (highest >= 0)
        {
            StartWaiting(timePs,
                         number,
                         weighted ? port.roundRobin.Choose(m_shapes[number].quanta, fronts, last)
                                  : static_cast<uint32_t>(highest));
            return;
        }
        const int64_t nextPs = port.source.GetNextPs(port.paused);
        if (nextPs <= timePs)
        {
            const auto [priority, frame] = port.source.Take(timePs, port.paused);
            const HeldFrame held{frame.bytes, static_cast<uint8_t>(priority), 0};
            Start(timePs, number, {frame.number, held, false}, false);
        }
        else if (nextPs != PacedFrames::NEVER)
        {
            m_events.insert({nextPs, Kind::PACED, 0, number});
        }
    }

    void StartWaiting(int64_t timePs, uint32_t number, uint32_t priority)
    {
        Port& port = m_ports[number];
        const Waiting frame = port.queues[priority].front();
        port.queues[priority].pop_front();
        port.log.queue.emplace_back(timePs, BytesOf(port));
        if (m_shapes[number].marksAtDequeue && frame.ecnCapable &&
            BytesOf(port.queues[priority]) > m_shapes[number].markBytes)
        {
            port.log.marks.emplace_back(timePs, frame.number);
        }
        Start(timePs, number, frame, true);
    }

    /// \param held it lies in the memory
    void Start(int64_t timePs, uint32_t number, Waiting frame, bool held)
    {
        Port& port = m_ports[number];
        const PortShape& shape = m_shapes[number];
        const __int128 bits =
            (__int128{frame.frame.bytes} + 20) * 8; // preamble and gap are on the line only
        const auto linePs =
            static_cast<int64_t>((bits * 1'000'000'000'000 + shape.rateBps / 2) / shape.rateBps);
        port.busy = true;
        frame.held = held;
        frame.startPs = timePs;
        frame.sentBytes = port.lineBytes;
        frame.queueBytes = BytesOf(port);
        port.wire.push_back(frame);
        port.log.starts.emplace_back(timePs, frame.number);
        port.log.sentBytes += frame.frame.bytes;
        port.lineBytes += frame.frame.bytes + 20;
        m_events.insert({timePs + linePs, Kind::LINE_FREE, frame.number, number});
        m_events.insert({timePs + linePs + shape.delayPs, Kind::ARRIVAL, frame.number, number});
        if (held)
        {
            Obey(timePs, m_memory.Go(frame.frame));
        }
    }

    void Arrive(int64_t timePs, uint32_t number)
    {
        Port& port = m_ports[number];
        const Waiting frame = port.wire.front();
        port.wire.pop_front();
        if (m_shapes[number].losesAll && frame.number < PAUSE_FRAME)
        {
            port.log.drops.emplace_back(timePs, frame.number);
            port.log.lostFrames++;
            return;
        }
        port.log.arrivals.emplace_back(timePs, frame.number);
        if (frame.held)
        {
            port.log.sentStamps.emplace_back(frame.startPs, frame.sentBytes);
            port.log.queueStamps.emplace_back(frame.startPs, frame.queueBytes);
        }
    }

    std::vector<PortShape> m_shapes;                                  //!< what the ports are like
    std::vector<Port> m_ports;                                        //!< their state
    MemoryOracle m_memory;                                            //!< the memory
    int64_t m_nowPs{0};                                               //!< time
    uint32_t m_lineFreesNow{0};                                       //!< lines that got free then
    bool m_ambiguous{false};                                          //!< see IsAmbiguous
    std::set<std::tuple<int64_t, Kind, uint64_t, uint32_t>> m_events; //!< time, kind, frame, port
};

} // namespace astra_ns3::test
