// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace ns3
{

/// One row of a schedule on its way between two ranks.
struct CollectiveMessage
{
    /// The priority of a message that travels in that of its transport.
    static constexpr uint32_t OF_TRANSPORT = ~uint32_t{0};

    uint64_t instance{0};            //!< which run of a schedule it belongs to
    uint64_t bytes{0};               //!< size, at least 1
    int64_t startPs{0};              //!< when it was handed to the transport
    uint32_t row{0};                 //!< which row of the schedule it is
    uint32_t sender{0};              //!< NPU that sends
    uint32_t receiver{0};            //!< NPU that receives
    uint32_t channel{0};             //!< which channel of a collective library it belongs to
    uint32_t priority{OF_TRANSPORT}; //!< in which it travels; all of a pair and channel have one
};

class MessageAccountant;

/// Who is told of what a transport has done; one per simulation.
class MessageListener
{
  public:
    virtual ~MessageListener() = default;
    /// \param message a message whose last byte has just been read, in order, at its receiver
    virtual void MessageArrived(const CollectiveMessage& message) = 0;
    /// \param npu a receiver \param bytes of messages, whole or not, that the receiver has just
    /// read, in order; below 0 if it throws away what it had read
    virtual void BytesArrived(uint32_t npu, int64_t bytes) = 0;
    /// \param message the first of those that can never arrive \param reason why, in one line
    virtual void TransportFailed(const CollectiveMessage& message, const char* reason) = 0;

    /// \return who keeps accounts of messages, the same all along, or none
    virtual MessageAccountant* GetAccountant()
    {
        return nullptr;
    }
};

/// Carries messages between NPUs: TCP, RoCE, a formula.
class MessageTransport
{
  public:
    virtual ~MessageTransport() = default;
    /// \param message a message to carry from now on; what a transport sends in several ways at
    /// once may overtake
    virtual void Send(const CollectiveMessage& message) = 0;
};

} // namespace ns3
