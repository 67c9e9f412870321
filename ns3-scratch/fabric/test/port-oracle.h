// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Output ports over one shared memory, the plain way: a queue a port, one event when the line is
 * free again, one when a frame arrives. Shares nothing with FabricPort; the suite compares the two.
 */
#pragma once

#include <algorithm>
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
    int64_t timePs;       //!< when
    uint32_t port;        //!< where
    uint32_t bufferBytes; //!< size of the frame that comes; 0: no frame, only a look at the port
    bool ecnCapable;      //!< whether the frame may be marked
};

/// Times of something, with the number of the frame or with bytes.
using Stamps = std::vector<std::pair<int64_t, uint64_t>>;

/// Everything that can be seen of one port.
struct PortLog
{
    Stamps arrivals;               //!< frame at the far end
    Stamps starts;                 //!< frame whose first bit goes on the line
    Stamps drops;                  //!< frame dropped
    Stamps marks;                  //!< frame marked
    Stamps queue;                  //!< bytes that wait, at each change
    Stamps looks;                  //!< bytes that wait, at each look
    Stamps memoryLooks;            //!< bytes in the shared memory, at each look
    uint64_t sentBytes{0};         //!< bytes put on the line
    uint64_t droppedBytes{0};      //!< bytes dropped
    uint64_t highestQueueBytes{0}; //!< most bytes that ever waited
};

/// What one of the oracle's ports is like.
struct PortShape
{
    uint64_t rateBps;   //!< rate of the line
    int64_t delayPs;    //!< delay to the far end
    uint64_t markBytes; //!< a frame that finds more than this waiting is marked
};

/// Plays offers on ports that share a memory.
class PortOracle
{
  public:
    /// \param shapes the ports \param memoryBytes the memory they share
    PortOracle(std::vector<PortShape> shapes, uint64_t memoryBytes)
        : m_shapes(std::move(shapes)),
          m_ports(m_shapes.size()),
          m_memoryBytes(memoryBytes)
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
            switch (kind)
            {
            case Kind::LINE_FREE:
                LineFree(timePs, port);
                break;
            case Kind::OFFER:
                Take(timePs, number, offers[number]);
                break;
            case Kind::ARRIVAL:
                m_ports[port].log.arrivals.emplace_back(timePs, number);
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

  private:
    /// Kinds of events; the earlier ones come first where times are equal.
    enum class Kind
    {
        LINE_FREE, // departures before enqueues: the rule of the fabric
        OFFER,
        ARRIVAL
    };

    /// A frame that waits.
    struct Waiting
    {
        uint64_t number; //!< of the frame
        uint32_t bytes;  //!< its size in the memory
    };

    /// A port's state.
    struct Port
    {
        std::deque<Waiting> queue; //!< waiting
        uint64_t queueBytes{0};    //!< their bytes
        bool busy{false};          //!< the line is in use
        PortLog log;               //!< what was seen
    };

    void Take(int64_t timePs, uint64_t number, const Offer& offer)
    {
        Port& port = m_ports[offer.port];
        if (offer.bufferBytes == 0)
        {
            port.log.looks.emplace_back(timePs, port.queueBytes);
            port.log.memoryLooks.emplace_back(timePs, m_usedBytes);
            return;
        }
        if (m_usedBytes + offer.bufferBytes > m_memoryBytes)
        {
            port.log.drops.emplace_back(timePs, number);
            port.log.droppedBytes += offer.bufferBytes;
            return;
        }
        if (offer.ecnCapable && port.queueBytes > m_shapes[offer.port].markBytes)
        {
            port.log.marks.emplace_back(timePs, number);
        }
        if (!port.busy)
        {
            Start(timePs, offer.port, {number, offer.bufferBytes});
            return;
        }
        m_usedBytes += offer.bufferBytes;
        port.queue.push_back({number, offer.bufferBytes});
        port.queueBytes += offer.bufferBytes;
        port.log.queue.emplace_back(timePs, port.queueBytes);
        port.log.highestQueueBytes = std::max(port.log.highestQueueBytes, port.queueBytes);
    }

    void LineFree(int64_t timePs, uint32_t number)
    {
        Port& port = m_ports[number];
        port.busy = false;
        if (!port.queue.empty())
        {
            const Waiting frame = port.queue.front();
            port.queue.pop_front();
            port.queueBytes -= frame.bytes;
            m_usedBytes -= frame.bytes;
            port.log.queue.emplace_back(timePs, port.queueBytes);
            Start(timePs, number, frame);
        }
    }

    void Start(int64_t timePs, uint32_t number, const Waiting& frame)
    {
        Port& port = m_ports[number];
        const PortShape& shape = m_shapes[number];
        const __int128 bits =
            (__int128{frame.bytes} + 20) * 8; // preamble and gap are on the line only
        const auto linePs =
            static_cast<int64_t>((bits * 1'000'000'000'000 + shape.rateBps / 2) / shape.rateBps);
        port.busy = true;
        port.log.starts.emplace_back(timePs, frame.number);
        port.log.sentBytes += frame.bytes;
        m_events.insert({timePs + linePs, Kind::LINE_FREE, frame.number, number});
        m_events.insert({timePs + linePs + shape.delayPs, Kind::ARRIVAL, frame.number, number});
    }

    std::vector<PortShape> m_shapes;                                  //!< what the ports are like
    std::vector<Port> m_ports;                                        //!< their state
    uint64_t m_memoryBytes;                                           //!< size of the memory
    uint64_t m_usedBytes{0};                                          //!< bytes of it in use
    std::set<std::tuple<int64_t, Kind, uint64_t, uint32_t>> m_events; //!< time, kind, frame, port
};

} // namespace astra_ns3::test
