// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * FabricPorts over one FabricSharedBuffer with everything they report, played by ns-3: what the
 * plain ports of port-oracle.h are compared with.
 */
#pragma once

#include "port-fixture.h"
#include "port-oracle.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3::test
{

using astra_ns3::test::MemoryShape;
using astra_ns3::test::Offer;
using astra_ns3::test::PacedFrames;
using astra_ns3::test::PAUSE_FRAME;
using astra_ns3::test::PortLog;
using astra_ns3::test::PortShape;

/// Packets are so much larger than their numbers, so that none looks like a pause frame.
constexpr uint32_t NUMBER_OFFSET = 1'000;

/// \return number of a frame by the packet that a trace shows
inline uint64_t
NumberOf(const Ptr<const Packet>& packet)
{
    if (packet->GetSize() >= NUMBER_OFFSET)
    {
        return packet->GetSize() - NUMBER_OFFSET;
    }
    // IEEE 802.1Qbb: header 14, opcode 2, enable vector 2, then a time of 2 for each priority.
    std::array<uint8_t, 64> bytes{};
    packet->CopyData(bytes.data(), bytes.size());
    uint64_t paused = 0;
    for (uint32_t priority = 0; priority < 8; ++priority)
    {
        const bool stops = bytes[18 + 2 * priority] != 0 || bytes[19 + 2 * priority] != 0;
        paused |= stops ? uint64_t{1} << priority : 0;
    }
    return PAUSE_FRAME + paused;
}

/// \return a frame that collects telemetry. \param number its number
inline FabricFrame*
MakeNumberedFrame(uint64_t number, uint32_t bytes, uint32_t priority)
{
    FabricFrame* frame = MakeFrame(number + NUMBER_OFFSET, bytes);
    frame->priority = static_cast<uint8_t>(priority);
    frame->SetTelemetry(FabricFramePool::TakeTelemetry());
    return frame;
}

/// The far end of a port: notes frames and what they have collected.
class LoggingSink : public FabricReceiver
{
  public:
    /// \param log where to note it
    explicit LoggingSink(PortLog* log)
        : m_log(log)
    {
    }

    void ReceiveFrame(FabricFrame* frame, uint32_t) override
    {
        const int64_t nowPs = Simulator::Now().GetTimeStep();
        m_log->arrivals.emplace_back(nowPs,
                                     frame->isPause ? PAUSE_FRAME + frame->pausedPriorities
                                                    : NumberOf(frame->packet));
        if (frame->telemetry)
        {
            for (const FabricTelemetryHop& hop : frame->telemetry->hops)
            {
                m_log->sentStamps.emplace_back(hop.timePs, hop.sentBytes);
                m_log->queueStamps.emplace_back(hop.timePs, hop.queueBytes);
            }
        }
        FabricFramePool::Give(frame);
    }

  private:
    PortLog* m_log; //!< where to note it
};

/// The frames of a host.
class FrameSource : public FabricFrameSource
{
  public:
    int64_t GetNextPs(uint32_t pausedPriorities) override
    {
        return m_frames.GetNextPs(pausedPriorities);
    }

    FabricFrame* Take(int64_t startPs, uint32_t pausedPriorities) override
    {
        const auto [priority, frame] = m_frames.Take(startPs, pausedPriorities);
        return MakeNumberedFrame(frame.number, frame.bytes, priority);
    }

    /// \return the frames
    PacedFrames& Get()
    {
        return m_frames;
    }

  private:
    PacedFrames m_frames; //!< the frames
};

/// Several ports over one memory.
class ObservedPorts
{
  public:
    ObservedPorts(const std::vector<PortShape>& shapes, const MemoryShape& memory)
        : m_memory(CreateObjectWithAttributes<FabricSharedBuffer>("Capacity",
                                                                  UintegerValue(memory.bytes),
                                                                  "Alpha",
                                                                  DoubleValue(memory.alpha))),
          m_logs(shapes.size()),
          m_sources(shapes.size())
    {
        for (std::size_t number = 0; number < shapes.size(); ++number)
        {
            m_sinks.emplace_back(&m_logs[number]);
        }
        for (std::size_t number = 0; number < shapes.size(); ++number)
        {
            AddPort(shapes[number], number);
        }
        if (memory.losslessPriorities != 0)
        {
            std::vector<FabricSharedBuffer::PfcPort> pfcPorts;
            for (std::size_t number = 0; number < shapes.size(); ++number)
            {
                pfcPorts.push_back({memory.headrooms[number], memory.ingressAlpha[number]});
            }
            m_memory->UsePfc(
                {memory.losslessPriorities, memory.reserveBytes, memory.resumeOffsetBytes},
                pfcPorts);
        }
    }

    /// \return what each port does. \param offers in order of time
    std::vector<PortLog> Play(const std::vector<Offer>& offers)
    {
        for (std::size_t number = 0; number < offers.size(); ++number)
        {
            Simulator::Schedule(TimeStep(offers[number].timePs),
                                [this, number, offer = offers[number]] { Take(number, offer); });
        }
        Simulator::Run();
        m_events = Simulator::GetEventCount();
        for (std::size_t number = 0; number < m_ports.size(); ++number)
        {
            PortLog& log = m_logs[number];
            const FabricPortCounters counters = m_ports[number]->GetCounters();
            log.sentBytes = counters.sentBytes;
            log.droppedBytes = counters.droppedBytes;
            log.highestQueueBytes = counters.highestQueueBytes;
            log.lostFrames = counters.lostFrames;
            log.stops = counters.pauses;
            m_counters.push_back(counters);
            m_ports[number]->Dispose();
        }
        m_memory->Dispose();
        Simulator::Destroy();
        return m_logs;
    }

    /// \return events that ns-3 played
    uint64_t GetEvents() const
    {
        return m_events;
    }

    /// \return a port's counters after the run
    const FabricPortCounters& GetCounters(std::size_t port) const
    {
        return m_counters.at(port);
    }

  private:
    void AddPort(const PortShape& shape, std::size_t number)
    {
        Ptr<FabricPort> port = MakePort(shape.rateBps, shape.delayPs);
        port->SetBuffer(m_memory);
        port->SetSource(&m_sources[number]);
        port->SetMarker(
            CreateObjectWithAttributes<FabricEcnMarker>("Kmin",
                                                        UintegerValue(shape.markBytes),
                                                        "Kmax",
                                                        UintegerValue(shape.markBytes),
                                                        "AtEnqueue",
                                                        BooleanValue(!shape.marksAtDequeue)));
        if (!shape.quanta.empty())
        {
            std::array<uint32_t, FABRIC_PRIORITIES> quanta{};
            std::copy(shape.quanta.begin(), shape.quanta.end(), quanta.begin());
            port->SetScheduler(std::make_unique<FabricDeficitRoundRobin>(quanta));
        }
        if (shape.losesAll)
        {
            port->SetErrorRate(1.0);
        }
        port->Connect(&m_sinks[number], 0, 0);
        PortLog& log = m_logs[number];
        Watch(port, "Transmit", log.starts);
        Watch(port, "Drop", log.drops);
        Watch(port, "Mark", log.marks);
        WatchNumber<uint64_t>(port, "Queue", log.queue);
        WatchNumber<uint8_t>(port, "Pause", log.pauses);
        m_ports.push_back(port);
    }

    static void Watch(const Ptr<FabricPort>& port, const std::string& source, Stamps& log)
    {
        Stamps* stamps = &log;
        port->TraceConnectWithoutContext(
            source,
            Callback<void, Time, Ptr<const Packet>>([stamps](Time time, Ptr<const Packet> packet) {
                stamps->emplace_back(time.GetTimeStep(), NumberOf(packet));
            }));
    }

    template <typename NUMBER>
    static void WatchNumber(const Ptr<FabricPort>& port, const std::string& source, Stamps& log)
    {
        Stamps* stamps = &log;
        port->TraceConnectWithoutContext(
            source,
            Callback<void, Time, NUMBER>([stamps](Time time, NUMBER number) {
                stamps->emplace_back(time.GetTimeStep(), number);
            }));
    }

    void Take(uint64_t number, const Offer& offer)
    {
        const Ptr<FabricPort>& port = m_ports[offer.port];
        const int64_t nowPs = Simulator::Now().GetTimeStep();
        if (offer.paused >= 0)
        {
            port->SetPaused(static_cast<uint8_t>(offer.paused));
        }
        else if (offer.bufferBytes == 0)
        {
            m_logs[offer.port].looks.emplace_back(nowPs, port->GetQueueBytes());
            m_logs[offer.port].memoryLooks.emplace_back(nowPs, m_memory->GetUsedBytes());
        }
        else if (offer.gapPs >= 0)
        {
            port->Settle(nowPs);
            m_sources[offer.port].Get().Post(offer.priority,
                                             {number, offer.bufferBytes},
                                             nowPs,
                                             offer.gapPs);
            port->SourceChanged(nowPs);
        }
        else
        {
            FabricFrame* frame = MakeNumberedFrame(number, offer.bufferBytes, offer.priority);
            frame->ecn = offer.ecnCapable ? FabricEcn::CAPABLE_0 : FabricEcn::NOT_CAPABLE;
            frame->ingressPort = offer.ingressPort;
            port->Enqueue(frame);
        }
    }

    Ptr<FabricSharedBuffer> m_memory;           //!< the memory they share
    std::vector<PortLog> m_logs;                //!< what was seen
    std::vector<FrameSource> m_sources;         //!< frames of hosts
    std::vector<LoggingSink> m_sinks;           //!< far ends
    std::vector<Ptr<FabricPort>> m_ports;       //!< the ports
    std::vector<FabricPortCounters> m_counters; //!< counters at the end
    uint64_t m_events{0};                       //!< events played
};

} // namespace ns3::test
