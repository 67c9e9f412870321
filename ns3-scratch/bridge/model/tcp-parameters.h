// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <string>

namespace astra_ns3
{

/// Parameters of ns-3's TCP and of the IP interface below it.
struct TcpParameters
{
    std::string congestionControl{"ns3::TcpCubic"}; //!< TypeId of the congestion control
    uint32_t windowBytes{500'000};                  //!< send and receive buffer
    uint32_t segmentBytes{1460};                    //!< payload of a segment
    uint32_t mtuBytes{1500};                        //!< largest IP packet
    uint32_t initialWindowSegments{10};             //!< initial congestion window
    int64_t minRtoPs{10'000'000'000};               //!< least retransmission timeout
    int64_t clockGranularityPs{10'000'000};         //!< granularity of the timeout's clock
    uint32_t delayedAckCount{2};                    //!< segments per acknowledgement
    int64_t delayedAckTimeoutPs{40'000'000};        //!< longest an acknowledgement waits
    int64_t connectTimeoutPs{5'000'000'000};        //!< first timeout of the handshake
    uint32_t connectRetries{6};                     //!< times the handshake is tried again
    uint32_t dataRetries{15}; //!< times a segment is sent again before giving up
    bool ecn{false};          //!< explicit congestion notification
    bool acknowledged{false}; //!< messages complete when acknowledged
    bool sack{true};          //!< selective acknowledgements
    bool timestamps{false};   //!< RFC 7323 timestamps, which tick in milliseconds in ns-3
};

/// Read or write all parameters by their names. \param part a PartReader, or what writes
template <typename PART>
void
ForEachParameter(PART& part, TcpParameters& parameters)
{
    part("type_id", parameters.congestionControl);
    part("window_bytes", parameters.windowBytes);
    part("segment_bytes", parameters.segmentBytes);
    part("mtu_bytes", parameters.mtuBytes);
    part("initial_window_segments", parameters.initialWindowSegments);
    part("min_rto_ps", parameters.minRtoPs);
    part("clock_granularity_ps", parameters.clockGranularityPs);
    part("delayed_ack_count", parameters.delayedAckCount);
    part("delayed_ack_timeout_ps", parameters.delayedAckTimeoutPs);
    part("connect_timeout_ps", parameters.connectTimeoutPs);
    part("connect_retries", parameters.connectRetries);
    part("data_retries", parameters.dataRetries);
    part("ecn", parameters.ecn);
    part("acknowledged", parameters.acknowledged);
    part("sack", parameters.sack);
    part("timestamps", parameters.timestamps);
}

} // namespace astra_ns3
