// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"
#include "fabric-shared-buffer.h"

#include "ns3/ptr.h"

#include <cstdint>
#include <memory>

namespace ns3
{

/**
 * What else than "take it if the memory has room, else drop it" a port does with frames: cut their
 * data off, wait for credit. What it doesn't say is as without it. It may ask the memory itself,
 * which is none if the queues have no limit; it then sees to what it was given being released.
 */
class FabricAdmissionRule
{
  public:
    virtual ~FabricAdmissionRule() = default;
    /**
     * \param frame a frame that is to be sent; it may be changed, its priority too
     * \param queueBytes bytes that wait in the queue of its priority
     * \param memory memory of the queues, or none
     * \return whether it is taken; else it is dropped
     */
    virtual bool Admit(FabricFrame& frame, uint64_t queueBytes, FabricSharedBuffer* memory);
    /// \param frame as for Admit, of which only the head has come \return whether it goes on the
    /// line now; else Admit is asked when all of it is there
    virtual bool AdmitHead(const FabricFrame& frame,
                           uint64_t queueBytes,
                           FabricSharedBuffer* memory);
    /// \param frame a frame that was admitted and goes on the line now, or is lost from a queue
    /// \param memory as for Admit
    virtual void Release(const FabricFrame& frame, FabricSharedBuffer* memory);
    /// \param frame a frame that came into the switch and is let go without having been admitted:
    /// no link leads on, or it is down
    virtual void Discard(const FabricFrame& frame);
    /// \param memory as for Admit \return whether Release must be told of each departure at its
    /// time
    virtual bool NeedsExactDepartures(const FabricSharedBuffer* memory) const;
};

/**
 * What a port does with a frame that is to be sent: its queues lie in a memory, which has room for
 * the frame, or the frame is dropped. What stops a neighbour in time is the memory's (PFC). A rule
 * may do otherwise; without one nothing virtual is called.
 */
class FabricAdmission
{
  public:
    /// \param memory the memory that the queues lie in; none is queues without limit
    void SetMemory(Ptr<FabricSharedBuffer> memory);
    /// \param rule what else to do; none: nothing
    void SetRule(std::unique_ptr<FabricAdmissionRule> rule);

    /// \return the memory, or none
    FabricSharedBuffer* GetMemory() const
    {
        return PeekPointer(m_memory);
    }

    /// \param frame a frame that is to be sent, which a rule may change \param queueBytes bytes
    /// that wait in the queue of its priority \return whether it is taken
    bool Admit(FabricFrame& frame, uint64_t queueBytes)
    {
        if (m_rule) [[unlikely]]
        {
            return m_rule->Admit(frame, queueBytes, GetMemory());
        }
        return !m_memory || m_memory->Admit(frame, queueBytes);
    }

    /// \param frame as for Admit, of which only the head has come \return whether it is taken now
    bool AdmitHead(const FabricFrame& frame, uint64_t queueBytes)
    {
        if (m_rule) [[unlikely]]
        {
            return m_rule->AdmitHead(frame, queueBytes, GetMemory());
        }
        return !m_memory || m_memory->Admit(frame, queueBytes);
    }

    /// \param frame a frame that was taken and is here no more
    void Release(const FabricFrame& frame)
    {
        if (m_rule) [[unlikely]]
        {
            m_rule->Release(frame, GetMemory());
        }
        else if (m_memory)
        {
            m_memory->Release(frame);
        }
    }

    /// \param frame a frame that is let go without having been admitted
    void Discard(const FabricFrame& frame)
    {
        if (m_rule) [[unlikely]]
        {
            m_rule->Discard(frame);
        }
    }

    /// \return whether departures must be played at their time
    bool NeedsExactDepartures() const
    {
        if (m_rule) [[unlikely]]
        {
            return m_rule->NeedsExactDepartures(GetMemory());
        }
        return m_memory && m_memory->NeedsExactDepartures();
    }

  private:
    Ptr<FabricSharedBuffer> m_memory;            //!< memory of the queues
    std::unique_ptr<FabricAdmissionRule> m_rule; //!< what else to do
};

} // namespace ns3
