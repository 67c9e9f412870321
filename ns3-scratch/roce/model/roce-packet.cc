// SPDX-License-Identifier: GPL-2.0-only
#include "roce-packet.h"

#include "roce-queue-sender.h"

#include <algorithm>
#include <vector>

namespace ns3
{

namespace
{
constexpr uint32_t BASE_ADDRESS = 0x0a000001; // of host 0, as in FabricNetwork
constexpr uint16_t ROCE_PORT = 4791;          // UDP destination port of RoCEv2
constexpr uint32_t ETHERNET_BYTES = 14;

/// Bytes in network order.
class Writer
{
  public:
    /// \param value a number \param bytes how many bytes it takes
    void Put(uint64_t value, uint32_t bytes)
    {
        for (uint32_t left = bytes; left-- > 0;)
        {
            m_bytes.push_back(static_cast<uint8_t>(value >> (8 * left)));
        }
    }

    /// \return what was put
    const std::vector<uint8_t>& Get() const
    {
        return m_bytes;
    }

  private:
    std::vector<uint8_t> m_bytes; //!< what was put
};

/// \return opcode of the base transport header
uint8_t
OpcodeOf(uint8_t kind)
{
    switch (kind)
    {
    case ROCE_DATA:
        return 0x04; // RC SEND only
    case ROCE_CNP:
        return 0x81; // congestion notification packet
    default:
        return 0x11; // RC acknowledge
    }
}
} // namespace

Ptr<Packet>
MakeRocePacket(const FabricFrame& frame, uint32_t receiverPair, uint32_t senderPair)
{
    const uint32_t size = frame.bufferBytes - FABRIC_CHECK_BYTES;
    const uint32_t ipBytes = size - ETHERNET_BYTES;
    const bool data = frame.kind == ROCE_DATA;
    Writer writer;
    writer.Put(0x020000000000 + frame.destination, 6); // locally administered addresses
    writer.Put(0x020000000000 + frame.source, 6);
    writer.Put(0x0800, 2);
    writer.Put(0x45, 1);
    writer.Put(frame.priority << 5 | static_cast<uint8_t>(frame.ecn), 1);
    writer.Put(ipBytes, 2);
    writer.Put(0x00004000, 4); // don't fragment
    writer.Put(64, 1);
    writer.Put(17, 1);
    writer.Put(0, 2);
    writer.Put(BASE_ADDRESS + frame.source, 4);
    writer.Put(BASE_ADDRESS + frame.destination, 4);
    writer.Put(0xc000 | (frame.flowHash & 0x3fff), 2);
    writer.Put(ROCE_PORT, 2);
    writer.Put(ipBytes - 20, 2);
    writer.Put(0, 2);
    writer.Put(OpcodeOf(frame.kind), 1);
    writer.Put(0x40, 1);
    writer.Put(0xffff, 2);
    writer.Put(data ? receiverPair : senderPair, 4);
    writer.Put(frame.sequence & 0xffffff, 4);
    if (frame.kind == ROCE_ACK || frame.kind == ROCE_NACK)
    {
        writer.Put(frame.kind == ROCE_ACK ? 0x1f : 0x60, 1); // syndrome: ACK, or sequence error
        writer.Put(0, 3);
    }
    const std::vector<uint8_t>& bytes = writer.Get();
    const uint32_t headerBytes = std::min<uint32_t>(bytes.size(), size);
    Ptr<Packet> packet = Create<Packet>(bytes.data(), headerBytes);
    packet->AddAtEnd(Create<Packet>(size - headerBytes)); // padding would not be zeros
    return packet;
}

} // namespace ns3
