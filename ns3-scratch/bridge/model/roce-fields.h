// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "roce-parameters.h"

#include <array>

namespace astra_ns3
{

/// Words for ns3::RoceReliability.
inline constexpr std::array<const char*, 3> ROCE_RELIABILITIES{"go-back-n",
                                                               "go-back-0",
                                                               "selective-repeat"};

/// Read or write all parameters by their names. \param part a PartReader, or what writes
template <typename PART>
void
ForEachParameter(PART& part, ns3::RoceParameters& parameters)
{
    part("payload_bytes", parameters.payloadBytes);
    part("header_bytes", parameters.headerBytes);
    part("ack_bytes", parameters.ackBytes);
    part("cnp_bytes", parameters.cnpBytes);
    part("minimum_frame_bytes", parameters.minimumFrameBytes);
    part("line_gap_bytes", parameters.lineGapBytes);
    part("telemetry_bytes", parameters.telemetryBytes);
    part("ack_telemetry_bytes", parameters.ackTelemetryBytes);
    part("turns_by_age", parameters.turnsByAge);
    part("per_message", parameters.perMessage);
    part("queue_pairs_per_pair", parameters.queuePairsPerPair);
    part("split_messages", parameters.splitMessages);
    part("server_npus", parameters.serverNpus);
    part("acknowledged", parameters.acknowledged);
    part("priority", parameters.priority);
    part("ack_priority", parameters.ackPriority);
    part("cnp_priority", parameters.cnpPriority);
    part("ack_every", parameters.ackEvery);
    part("reducer_ack_every", parameters.reducerAckEvery);
    part("reliability", parameters.reliability, ROCE_RELIABILITIES);
    part("timeout_ps", parameters.timeoutPs);
    part("retries", parameters.retries);
    part("new_path_after", parameters.newPathAfter);
    part("nack_interval_ps", parameters.nackIntervalPs);
    part("reordering_packets", parameters.reorderingPackets);
    part("chunk_bytes", parameters.chunkBytes);
    part("window_bytes", parameters.windowBytes);
    part("window_of_path", parameters.windowOfPath);
    part("window_scales", parameters.windowScales);
    part("paced", parameters.paced);
    part("minimum_rate_bps", parameters.minimumRateBps);
    part("cnp_interval_ps", parameters.cnpIntervalPs);
    part("cnp_on_ack", parameters.cnpOnAck);
    part("port_of_message", parameters.portOfMessage);
    part("payload_round_trip", parameters.payloadRoundTrip);
    part("longest_round_trip", parameters.longestRoundTrip);
    part("posting_ps", parameters.postingPs);
    part("utilisation_log_base", parameters.utilisationLogBase);
    part("utilisation_probability", parameters.utilisationProbability);
}

} // namespace astra_ns3
