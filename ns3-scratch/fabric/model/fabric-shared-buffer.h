// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-frame.h"

#include "ns3/object.h"

#include <cstdint>
#include <vector>

namespace ns3
{

class FabricPort;

/// Priority flow control of a switch (IEEE 802.1Qbb). Sizes in bytes.
struct FabricPfc
{
    uint8_t losslessPriorities{0};    //!< bit p is set if priority p must lose nothing
    uint64_t reserveBytes{4096};      //!< of each ingress port and lossless priority, never shared
    uint64_t resumeOffsetBytes{3072}; //!< an ingress queue goes on that far below its threshold
};

/**
 * The memory that all ports of a switch share.
 *
 * A frame of a lossy priority is dropped at the tail when the memory is full or, with Alpha above
 * 0, when its egress queue holds Alpha times the free memory (dynamic thresholds: A. Choudhury, E.
 * Hahne, IEEE/ACM ToN 1998). A frame of a lossless priority is accounted to the port it came in by:
 * first to that ingress queue's reserve, then to the shared memory up to a dynamic threshold, then
 * to the port's headroom. An ingress queue that reaches its threshold has its neighbour told to
 * stop, and to go on when it has fallen by the resume offset. A frame that finds its headroom full
 * is lost, and counted.
 *
 * Ports settle their departures lazily, so what is counted here may be too high, never too low. It
 * is made exact only when it would refuse a frame or stop a neighbour; from then on, while any
 * neighbour is stopped, departures are played at their time.
 */
class FabricSharedBuffer : public Object
{
  public:
    /// \return the TypeId
    static TypeId GetTypeId();

    /// \param port a port whose queues lie in this buffer; it gets the next number
    void AddPort(FabricPort* port);

    /// What PFC keeps for one port.
    struct PfcPort
    {
        uint64_t headroomBytes{0}; //!< of each of its lossless priorities
        double alpha{0.125}; //!< its ingress queues may hold so much of the free shared memory
    };

    /// \param port a port in which something begins to wait
    void NoteBusy(FabricPort* port);

    /**
     * Lose nothing in some priorities; when all ports are there.
     * \param pfc what to do
     * \param ports of each port, by number
     * \return whether headrooms and reserves leave any memory to share
     */
    bool UsePfc(const FabricPfc& pfc, const std::vector<PfcPort>& ports);

    /**
     * Have another size and other thresholds from now on. What is held stays, even if it is more
     * than there is room for now. Neighbours of queues that are full by the new thresholds are told
     * to stop, those of stopped queues that no longer are to go on.
     * \param capacityBytes size
     * \param pfc the same priorities as before, and what is new
     * \param ports of each port, by number, if priorities are lossless
     */
    void Change(uint64_t capacityBytes, const FabricPfc& pfc, const std::vector<PfcPort>& ports);

    /// \param pfc flow control \param ports of each port \return bytes of headrooms and reserves
    static uint64_t CountKept(const FabricPfc& pfc, const std::vector<PfcPort>& ports);

    /// \return flow control
    const FabricPfc& GetPfc() const
    {
        return m_pfc;
    }

    /**
     * Reserve room for a frame that arrives now.
     * \param frame the frame
     * \param queueBytes bytes that wait in its egress queue
     * \return whether it fits
     */
    bool Admit(const FabricFrame& frame, uint64_t queueBytes)
    {
        if (m_pfc.losslessPriorities >> frame.priority & 1)
        {
            return AdmitLossless(frame);
        }
        if (!FitsLossy(frame.bufferBytes, queueBytes) &&
            !FitsLossyExactly(frame.bufferBytes, queueBytes))
        {
            return false;
        }
        m_sharedBytes += frame.bufferBytes;
        return true;
    }

    /// \param frame a frame that goes on the line now
    void Release(const FabricFrame& frame)
    {
        if (m_pfc.losslessPriorities >> frame.priority & 1)
        {
            ReleaseLossless(frame);
            return;
        }
        m_sharedBytes -= frame.bufferBytes;
    }

    /// \param port a port whose link has gone down: nobody is there that it has stopped
    void LinkWentDown(const FabricPort* port);
    /// \param port a port whose link is up again: stop its neighbour in what is still too full
    void LinkCameUp(const FabricPort* port);

    /// \return whether departures must be played at their time
    bool NeedsExactDepartures() const
    {
        return m_stopped > 0;
    }

    /// \return bytes held now, exactly
    uint64_t GetUsedBytes();
    /// \return whether nothing is counted anywhere and no neighbour is stopped
    bool IsAtRest();

  protected:
    void DoDispose() override;

  private:
    /// What came in by one port in one lossless priority and has not left.
    struct IngressQueue
    {
        uint64_t bytes{0};         //!< in reserve and shared memory
        uint64_t headroomBytes{0}; //!< in headroom
    };

    /// \param bytes size of the memory
    void SetCapacity(uint64_t bytes);
    /// \return size of the memory
    uint64_t GetCapacity() const;
    /// Let every port in which something waits play the departures that are due.
    void SettlePorts();
    /// \return whether a lossy frame fits by what is counted
    bool FitsLossy(uint64_t bytes, uint64_t queueBytes) const;
    /// \return whether a lossy frame fits once all is counted exactly
    bool FitsLossyExactly(uint64_t bytes, uint64_t queueBytes);
    /// Admit a frame of a lossless priority, and stop its neighbour if need be.
    bool AdmitLossless(const FabricFrame& frame);
    /// \return whether a neighbour must not send more into an ingress queue
    bool IsFull(const IngressQueue& queue, uint32_t port) const;
    /// Stop a port's neighbour in more priorities.
    void StopNeighbour(uint32_t port, uint8_t priorities);
    /// \return number of a port
    uint32_t NumberOf(const FabricPort* port) const;
    /// \return whether a stopped neighbour may send into an ingress queue again
    bool MayResume(const IngressQueue& queue, uint32_t port) const;
    /// Tell a port's neighbour what follows from the thresholds. \param port its number
    void TellNeighbour(uint32_t port);
    /// \return what lossless priorities hold of the shared memory
    uint64_t CountLosslessShared() const;
    /// A frame of a lossless priority goes; let its neighbour go on if it may.
    void ReleaseLossless(const FabricFrame& frame);
    /// \param port an ingress port \param usedBytes of the shared memory
    /// \return bytes of it that one of the port's ingress queues may hold
    uint64_t GetThreshold(uint32_t port, uint64_t usedBytes) const;
    /// \return bytes of shared memory that an ingress queue of so many bytes holds
    uint64_t SharedPart(uint64_t bytes) const;
    /// \return the ingress queue of a frame
    IngressQueue& QueueOf(const FabricFrame& frame);
    /// Put a lossless frame where it belongs. \return whether there was room
    bool Charge(IngressQueue& queue, uint64_t bytes, uint32_t port);
    /// \return whether admitting those bytes has no other effect than counting them
    bool IsHarmless(const IngressQueue& queue, uint64_t bytes, uint32_t port) const;

    uint64_t m_capacityBytes{0};              //!< size
    double m_alpha{0.0};                      //!< of lossy egress queues; 0: no threshold
    uint64_t m_keptBytes{0};                  //!< reserves and headrooms
    uint64_t m_sharedCapacityBytes{0};        //!< size without them
    uint64_t m_sharedBytes{0};                //!< shared memory in use
    std::vector<FabricPort*> m_busy;          //!< ports in which something waits, or did, by number
    std::vector<FabricPort*> m_ports;         //!< ports that share it
    FabricPfc m_pfc;                          //!< flow control
    std::vector<PfcPort> m_pfcPorts;          //!< the same of each port
    std::vector<IngressQueue> m_ingress;      //!< by port and priority
    std::vector<uint8_t> m_stoppedPriorities; //!< of each port's neighbour
    uint32_t m_stopped{0};                    //!< ingress queues whose neighbour is stopped
};

} // namespace ns3
