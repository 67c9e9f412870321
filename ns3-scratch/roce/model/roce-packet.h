// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include "ns3/packet.h"

#include <cstdint>

namespace ns3
{

/**
 * \param frame a frame of a queue pair
 * \param receiverPair number of the queue pair at the receiver, on the wire
 * \param senderPair number of the queue pair at the sender
 * \return the frame as a RoCEv2 packet (InfiniBand Architecture Specification 1.4, annex A17): an
 * Ethernet header, IPv4, UDP to port 4791, base transport header, payload. The packet sequence
 * number shows the low 24 bits of the stream position; the checks are zero.
 */
Ptr<Packet> MakeRocePacket(const FabricFrame& frame, uint32_t receiverPair, uint32_t senderPair);

} // namespace ns3
