// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-trail.h"
#include "lost-times.h"
#include "roce-message.h"
#include "roce-pauses.h"

#include <cstdint>
#include <deque>

namespace ns3
{

/**
 * What has held the sender of a queue pair back, summed from packet to packet, for the accounts of
 * its messages: see docs/accounts.md. It exists only while accounts are recorded. All calls come in
 * the order of their times, as the departures of a port are played.
 */
class RoceSenderAccount
{
  public:
    /// A packet that goes on the line.
    struct Packet
    {
        FabricFrame* frame;   //!< it
        RoceMessage* message; //!< whose it is
        RoceMessage* behind;  //!< the message behind that, or none
        uint64_t position;    //!< of its first byte
        int64_t startPs;      //!< its first bit on the line
        int64_t linePs;       //!< how long the line is busy with it
        bool again;           //!< it was sent before
    };

    /// What may hold the next packet.
    struct Hold
    {
        int64_t readyPs;          //!< when its pace lets it
        uint32_t priority;        //!< its priority
        const RocePauses& pauses; //!< of the port where it leaves
    };

    /// Packets were lost.
    struct Loss
    {
        bool closed;        //!< the sender might not send until it knew
        uint64_t recoverTo; //!< it is made good when all below this has arrived
        int64_t nowPs;      //!< when the sender knows
    };

    /// \param anyDecides whether any packet may complete a message, not its last one alone
    explicit RoceSenderAccount(bool anyDecides);

    /// \param message one that was posted \param isNext whether all before it has been sent
    /// \param nowPs the time
    void Posted(RoceMessage& message, bool isNext, int64_t nowPs);
    /// The sender may send again. \param nowPs since now
    void Opened(int64_t nowPs);
    /// A rate has risen, so that its pace lets a packet sooner. \param toPs until when the old held
    /// it
    void Paced(int64_t toPs);
    /// The sender begins to send again what is lost. \param hold what held it \param loss that
    void GoesBack(const Hold& hold, const Loss& loss);
    /// \param packet one that goes on the line \param hold what may have held it
    void Sent(const Packet& packet, const Hold& hold);
    /// \param position everything below it has arrived \param nowPs the time
    void Acknowledged(uint64_t position, int64_t nowPs);

    /// \param readyPs when pacing lets the next packet \return the earliest time since which it may
    /// have been the port alone that held it
    int64_t GetHeldSincePs(int64_t readyPs) const;

  private:
    /// The first sending of a packet that may be sent again.
    struct First
    {
        uint64_t position;       //!< of its first byte
        int64_t timePs;          //!< when
        FabricSenderTimes times; //!< by then
    };

    /// A message is the next one to be sent for the first time.
    void BecomeNext(RoceMessage& message, int64_t nowPs);
    /// Book the time up to toPs, in which nothing of the queue pair was on the line.
    void Wait(const Hold& hold, int64_t toPs);
    /// Book the time up to toPs, in which the sender made good what was lost.
    void Lose(int64_t toPs);
    /// The line got free before it should have: a link went down, or the queue pair has moved.
    void TakeBack(int64_t nowPs);
    /// Give the packet's frame a trail. \param packet it, sent before or not
    void Follow(const Packet& packet);
    /// \return the first sending of what begins at a position
    const First& FindFirst(uint64_t position) const;

    bool m_anyDecides;            //!< any packet may complete a message
    int64_t m_bookedPs{0};        //!< all time is booked up to here
    int64_t m_openedPs{0};        //!< since when the sender may send
    int64_t m_pacedPs{0};         //!< its pace held it until then, or longer
    bool m_lastAgain{false};      //!< the packet sent last was sent before
    uint64_t m_recoverTo{0};      //!< the last loss is made good when all below has arrived
    int64_t m_recoveredPs{0};     //!< when it was, or NEVER
    LostTimes m_lost;             //!< since the message whose turn came last was posted
    FabricSenderTimes m_times;    //!< booked
    RoceMessage* m_next{nullptr}; //!< newest message whose turn has come, or none
    std::deque<First> m_first;    //!< packets that may be sent again, if any may decide
};

} // namespace ns3
