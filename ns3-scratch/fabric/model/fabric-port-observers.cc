// SPDX-License-Identifier: GPL-2.0-only
#include "fabric-port-observers.h"

#include "fabric-port.h"

#include <string>
#include <utility>

namespace ns3
{

namespace
{
/// Connects to a trace source of a port's observers, which the port then has.
template <class SOURCE>
class Accessor : public TraceSourceAccessor
{
  public:
    explicit Accessor(SOURCE FabricPortObservers::* source)
        : m_source(source)
    {
    }

    bool ConnectWithoutContext(ObjectBase* object, const CallbackBase& callback) const override
    {
        SOURCE* source = Find(object);
        return source && (source->ConnectWithoutContext(callback), true);
    }

    bool Connect(ObjectBase* object,
                 std::string context,
                 const CallbackBase& callback) const override
    {
        SOURCE* source = Find(object);
        return source && (source->Connect(callback, std::move(context)), true);
    }

    bool DisconnectWithoutContext(ObjectBase* object, const CallbackBase& callback) const override
    {
        SOURCE* source = Find(object);
        return source && (source->DisconnectWithoutContext(callback), true);
    }

    bool Disconnect(ObjectBase* object,
                    std::string context,
                    const CallbackBase& callback) const override
    {
        SOURCE* source = Find(object);
        return source && (source->Disconnect(callback, std::move(context)), true);
    }

  private:
    /// \return the source of a port, or none if the object is no port
    SOURCE* Find(ObjectBase* object) const
    {
        auto* port = dynamic_cast<FabricPort*>(object);
        return port ? &(port->GetObservers().*m_source) : nullptr;
    }

    SOURCE FabricPortObservers::* m_source; //!< which
};

/// \return an accessor of a trace source
template <class SOURCE>
Ptr<const TraceSourceAccessor>
Make(SOURCE FabricPortObservers::* source)
{
    return Create<Accessor<SOURCE>>(source);
}
} // namespace

bool
FabricPortObservers::IsEmpty() const
{
    return m_queue.IsEmpty() && m_line.IsEmpty() && m_transmit.IsEmpty() && m_drop.IsEmpty() &&
           m_mark.IsEmpty() && m_pause.IsEmpty();
}

void
FabricPortObservers::KeepServed(uint32_t ownerBit)
{
    m_served = std::make_unique<FabricServedLog>(ownerBit);
}

void
FabricPortObservers::TellLine(int64_t timePs, uint32_t wireBytes) const
{
    m_line(TimeStep(timePs), wireBytes);
}

void
FabricPortObservers::TellQueue(int64_t timePs, uint64_t bytes) const
{
    m_queue(TimeStep(timePs), bytes);
}

void
FabricPortObservers::TellTransmit(int64_t timePs, const FabricFrame& frame) const
{
    if (!m_transmit.IsEmpty())
    {
        m_transmit(TimeStep(timePs), frame.GetPacket());
    }
    m_line(TimeStep(timePs), frame.wireBytes);
}

void
FabricPortObservers::TellDrop(int64_t timePs, const FabricFrame& frame) const
{
    if (!m_drop.IsEmpty())
    {
        m_drop(TimeStep(timePs), frame.GetPacket());
    }
}

void
FabricPortObservers::TellMark(int64_t timePs, const FabricFrame& frame) const
{
    if (!m_mark.IsEmpty())
    {
        m_mark(TimeStep(timePs), frame.GetPacket());
    }
}

void
FabricPortObservers::TellPause(int64_t timePs, uint8_t pausedPriorities) const
{
    m_pause(TimeStep(timePs), pausedPriorities);
}

Ptr<const TraceSourceAccessor>
FabricPortObservers::MakeQueueAccessor()
{
    return Make(&FabricPortObservers::m_queue);
}

Ptr<const TraceSourceAccessor>
FabricPortObservers::MakeTransmitAccessor()
{
    return Make(&FabricPortObservers::m_transmit);
}

Ptr<const TraceSourceAccessor>
FabricPortObservers::MakeLineAccessor()
{
    return Make(&FabricPortObservers::m_line);
}

Ptr<const TraceSourceAccessor>
FabricPortObservers::MakeDropAccessor()
{
    return Make(&FabricPortObservers::m_drop);
}

Ptr<const TraceSourceAccessor>
FabricPortObservers::MakeMarkAccessor()
{
    return Make(&FabricPortObservers::m_mark);
}

Ptr<const TraceSourceAccessor>
FabricPortObservers::MakePauseAccessor()
{
    return Make(&FabricPortObservers::m_pause);
}

} // namespace ns3
