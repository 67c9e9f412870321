// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Ports, frames and far ends for the suites of FabricPort.
 */
#pragma once

#include "fabric-port.h"
#include "port-oracle.h"

#include "ns3/data-rate.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace ns3::test
{

using astra_ns3::test::Stamps;

/// The far end of a link: notes what arrives. A frame's number is the size of its packet.
class Sink : public FabricReceiver
{
  public:
    void ReceiveFrame(FabricFrame* frame, uint32_t port) override
    {
        m_arrivals.emplace_back(Simulator::Now().GetTimeStep(), frame->packet->GetSize());
        m_ports.push_back(port);
        FabricFramePool::Give(frame);
    }

    /// \return time and number of each frame
    const Stamps& GetArrivals() const
    {
        return m_arrivals;
    }

    /// \return the port each frame came in by
    const std::vector<uint32_t>& GetPorts() const
    {
        return m_ports;
    }

  private:
    Stamps m_arrivals;             //!< time and number of each frame
    std::vector<uint32_t> m_ports; //!< the port each frame came in by
};

/// \return a frame of so many bytes in a buffer. \param number its number
inline FabricFrame*
MakeFrame(uint64_t number, uint32_t bufferBytes, bool ecnCapable = false)
{
    FabricFrame* frame = FabricFramePool::Take();
    frame->SetPacket(Create<Packet>(static_cast<uint32_t>(number)));
    frame->bufferBytes = bufferBytes;
    frame->wireBytes = bufferBytes + 20;
    frame->ingressPort = 0; // pooled frames keep that of the last switch
    frame->ecn = ecnCapable ? FabricEcn::CAPABLE_0 : FabricEcn::NOT_CAPABLE;
    return frame;
}

/// \return a port
inline Ptr<FabricPort>
MakePort(uint64_t rateBps, int64_t delayPs)
{
    return CreateObjectWithAttributes<FabricPort>("DataRate",
                                                  DataRateValue(DataRate(rateBps)),
                                                  "Delay",
                                                  TimeValue(TimeStep(delayPs)));
}

/// \return where two lists differ first, or nothing
inline std::string
FirstDifference(const Stamps& actual, const Stamps& expected)
{
    std::ostringstream text;
    const auto size = std::min(actual.size(), expected.size());
    for (std::size_t place = 0; place < size; ++place)
    {
        if (actual[place] != expected[place])
        {
            text << "at " << place << ": " << actual[place].first << " ps, " << actual[place].second
                 << "; expected " << expected[place].first << " ps, " << expected[place].second;
            return text.str();
        }
    }
    if (actual.size() != expected.size())
    {
        text << actual.size() << " rows; expected " << expected.size();
    }
    return text.str();
}

} // namespace ns3::test
