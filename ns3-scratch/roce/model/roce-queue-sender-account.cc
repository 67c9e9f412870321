// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * What a RoceQueueSender tells the account of its time.
 */
#include "roce-queue-pair.h"
#include "roce-queue-sender.h"

namespace ns3
{

void
RoceQueueSender::OpenAccount()
{
    m_account.reset();
    if (m_context.accountant)
    {
        const bool anyDecides =
            m_context.parameters.reliability == RoceReliability::SELECTIVE_REPEAT;
        m_account = std::make_unique<RoceSenderAccount>(anyDecides);
        m_port->KeepPauses();
    }
}

RoceSenderAccount::Hold
RoceQueueSender::GetHold() const
{
    return {m_readyPs, m_pair.GetPriority(), m_port->KeepPauses()};
}

int64_t
RoceQueueSender::GetHeldSincePs() const
{
    return m_account ? m_account->GetHeldSincePs(m_readyPs) : GetNowPs();
}

void
RoceQueueSender::AccountLoss(int64_t nowPs)
{
    if (m_account) [[unlikely]]
    {
        // Going back, all acknowledgements behind the first one come as they always do. With
        // selective repeat what was lost later may hold them.
        const uint64_t recoverTo = m_recovery ? m_highest : m_acknowledged + 1;
        m_account->GoesBack(GetHold(),
                            {m_pair.GetTurn().state == RoceTurn::IDLE, recoverTo, nowPs});
    }
}

void
RoceQueueSender::AccountPacket(FabricFrame* frame, RoceMessage* message, int64_t startPs)
{
    const RoceAddress& address = m_pair.GetAddress();
    frame->SetMessage(message->instance, address.senderNpu, address.receiverNpu);
    m_account->Sent({frame,
                     message,
                     m_pair.GetMessages().GetNext(*message),
                     frame->sequence,
                     startPs,
                     m_port->GetPort().TransmissionPs(frame->wireBytes),
                     frame->sequence < m_highest},
                    GetHold());
}

} // namespace ns3
