// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "fabric-draws.h"
#include "fabric-frame.h"
#include "roce-congestion-control.h"
#include "roce-context.h"
#include "roce-message.h"
#include "roce-nic-port.h"
#include "roce-recovery.h"
#include "roce-sender-account.h"

#include "ns3/event-id.h"

#include <array>
#include <cstdint>
#include <memory>

namespace ns3
{

class RoceQueuePair;

/// What kind of frame a queue pair sends.
enum RoceFrameKind : uint8_t
{
    ROCE_DATA = 0, //!< payload
    ROCE_ACK = 1,  //!< everything below `sequence` has arrived
    ROCE_NACK = 2, //!< the same, and `echo` has arrived out of order
    ROCE_CNP = 3   //!< a data packet was marked
};

/**
 * The sending half of a queue pair: cuts messages into packets, keeps pace and window, sends again
 * what is lost, and asks its congestion control. The stream of bytes runs through all messages of
 * the queue pair.
 */
class RoceQueueSender : public RoceSender
{
  public:
    /// Its place among those of a port that their pacing holds.
    struct Pace
    {
        int64_t readyPs{0};   //!< when its pacing lets it
        std::size_t place{0}; //!< in the heap
    };

    /// Where it begins.
    struct Begin
    {
        uint64_t position{0};          //!< everything below is acknowledged, nothing above sent
        RoceMessage* message{nullptr}; //!< message that has the position, or none
        int64_t openedPs{0};           //!< when its queue pair was opened
        int64_t lastStartPs{0};        //!< when the last packet before began
        uint32_t lastWireBytes{0};     //!< its bytes on the line
    };

    /// \param pair the queue pair it belongs to \param context what all share
    RoceQueueSender(RoceQueuePair& pair, RoceContext& context);
    ~RoceQueueSender() override;

    /// Begin, as if newly made. \param port where packets leave \param way the one that they
    /// take
    /// \param begin where in the stream
    void Open(RoceNicPort& port, const RoceWay& way, const Begin& begin);
    /// \return whether one that is opened behind what it has sent would do the same
    bool MayRest(int64_t nowPs) const;
    /// The numbers of its NPU's congestion controls have changed: follow them, or begin with them
    /// if the control has learnt nothing yet.
    void ChangeControl();
    /// Go on at another port or over another path. \param port where packets leave from now on
    /// \param way the one that they take; the port's rate may have changed, too
    void Move(RoceNicPort& port, const RoceWay& way);
    /// End: stop all timers.
    void Close();
    /// \param posted a message that was appended to the queue pair's list
    void MessagePosted(RoceMessage* posted);

    /// \return its place among those that their pacing holds
    Pace& GetPace()
    {
        return m_pace;
    }

    /// \return whether a packet is not acknowledged
    bool HasUnacknowledged() const
    {
        return m_acknowledged < m_highest;
    }

    /// \return when the last packet began
    int64_t GetLastStartPs() const
    {
        return m_lastStartPs;
    }

    /// \return bytes of the last packet on the line
    uint32_t GetLastWireBytes() const
    {
        return m_lastWireBytes;
    }

    /// \return whether it has a packet that the window lets out
    bool MaySend() const;

    /// \return when pacing lets the next packet out
    int64_t GetReadyPs() const
    {
        return m_readyPs;
    }

    /// \return the earliest time since which it may have waited for its port alone, if accounts are
    /// kept
    int64_t GetHeldSincePs() const;

    /// \param startPs when its first bit goes on the line \return the next packet
    FabricFrame* MakeDataFrame(int64_t startPs);
    /// \param frame an acknowledgement, positive or negative
    void ReceiveAck(const FabricFrame& frame);
    /// A congestion notification has come.
    void ReceiveCnp();
    /// There was no progress for too long. \param nowPs the time
    void TimedOut(int64_t nowPs);

    /// \return whether its next timeout in a row is one too many
    bool GivesUpNext() const
    {
        const uint32_t retries = m_context.parameters.retries;
        return retries > 0 && m_timeouts >= retries;
    }

    /// \return its congestion control
    const RoceCongestionControl& GetControl() const
    {
        return *m_control;
    }

    int64_t GetNowPs() const override;
    uint64_t GetLineRateBps() const override;
    int64_t GetBaseRoundTripPs() const override;
    uint64_t GetBandwidthDelayBytes() const override;
    uint32_t GetPayloadBytes() const override;
    uint32_t GetPacketBytes() const override;
    uint32_t GetSwitches() const override;
    uint64_t GetSentBytes() const override;
    uint64_t GetAcknowledgedBytes() const override;
    double GetRateBps() const override;
    void SetRateBps(double rateBps) override;
    uint64_t GetWindowBytes() const override;
    void SetWindowBytes(uint64_t bytes) override;
    void StartTimer(uint32_t timer, int64_t delayPs) override;
    void StopTimer(uint32_t timer) override;
    double GetRandom() override;

  private:
    static constexpr uint32_t TIMERS = 4; //!< of the congestion control

    /// \return position of a packet to send again by selective repeat, or RoceRecovery::NOTHING
    uint64_t FindLost() const
    {
        return m_recovery ? m_recovery->FindLost(m_acknowledged) : RoceRecovery::NOTHING;
    }

    /// \return whether the window lets out a packet
    bool WindowLets() const
    {
        return m_limitBytes == 0 || m_next - m_acknowledged < m_limitBytes;
    }

    /// \return whether what is in flight brings no acknowledgement: the window has become smaller
    /// since, and then one packet more goes out, which asks for one
    bool NobodyAnswers() const;

    /// \return the way that its packets take
    const RoceWay& GetWay() const
    {
        return *m_way;
    }

    /// \return the rate of its line
    double GetLineBps() const
    {
        return static_cast<double>(GetWay().lineRateBps);
    }

    /// \return whether it never sends at the rate of its port: see RoceContext::npus
    bool IsSlowerThanPort() const
    {
        return GetWay().lineRateBps < m_port->GetPort().GetRateBps();
    }

    /// \param way one that its packets can take \return what makes its congestion control there
    const RoceControls::Factory& GetControlOf(const RoceWay& way) const;
    /// \return a path utilisation as the few bits of a packet hold it: a power of the base (PINT)
    double Encoded(double utilisation) const;
    /// Go back to the first byte that is not acknowledged.
    void GoBack();
    /// Work out the window from its parts.
    void UpdateLimit();
    /// Make a control and let it begin, at line rate and with the configured window.
    void StartControl();
    /// Work out when pacing lets the next packet out.
    void UpdateReady();
    /// Take the place among the senders that the present state asks for; departures are settled.
    void Reschedule(int64_t nowPs);
    /// Everything below a position is acknowledged. \return how many bytes of it are news
    uint64_t Advance(uint64_t position, int64_t nowPs);
    /// Act on a negative acknowledgement.
    void HandleNack(const FabricFrame& frame);
    /// The congestion control's timer is due.
    void TimerDue(uint32_t timer);
    /// Tell the observer.
    void Report();
    /// Begin to keep account of its time, if somebody wants that.
    void OpenAccount();
    /// \return what may hold the next packet, for its account
    RoceSenderAccount::Hold GetHold() const;
    /// It begins to send again: tell its account. \param nowPs the time
    void AccountLoss(int64_t nowPs);
    /// Tell its account of a packet. \param message whose \param startPs when it goes on the line
    void AccountPacket(FabricFrame* frame, RoceMessage* message, int64_t startPs);

    RoceQueuePair& m_pair;                            //!< owner
    RoceContext& m_context;                           //!< what all share
    RoceNicPort* m_port{nullptr};                     //!< where packets leave
    Pace m_pace;                                      //!< place among those that pacing holds
    RoceMessage* m_current{nullptr};                  //!< message with the next byte, or none
    uint64_t m_next{0};                               //!< next byte to send
    uint64_t m_highest{0};                            //!< behind the highest byte ever sent
    uint64_t m_acknowledged{0};                       //!< everything below has arrived
    uint64_t m_asked{0};                              //!< if all below arrives, it is acknowledged
    uint64_t m_limitBytes{0};                         //!< most bytes in flight, 0 without limit
    uint64_t m_windowBytes{0};                        //!< the same at line rate
    double m_rateBps{0.0};                            //!< pace
    RoceRateOnLine m_onLine;                          //!< where lines change
    const RoceWay* m_way{nullptr};                    //!< its way
    int64_t m_lastStartPs{0};                         //!< when the last packet began
    uint32_t m_lastWireBytes{0};                      //!< its bytes on the line
    uint32_t m_timeouts{0};                           //!< in a row
    int64_t m_readyPs{0};                             //!< when pacing lets the next packet out
    std::unique_ptr<RoceCongestionControl> m_control; //!< sets rate and window
    std::unique_ptr<RoceRecovery> m_recovery;         //!< selective repeat only
    std::unique_ptr<RoceSenderAccount> m_account;     //!< of its time, if somebody wants that
    FabricDraws m_draws;                              //!< of the congestion control
    bool m_drawn{false};                              //!< it has drawn
    bool m_starting{false};                           //!< the control is told to start
    bool m_moved{false};                              //!< it has been over other paths
    std::unique_ptr<std::array<EventId, TIMERS>>
        m_timers; //!< of the congestion control, if it had one
};

} // namespace ns3
