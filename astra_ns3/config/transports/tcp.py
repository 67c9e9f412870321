"""TCP keys of a network file. The defaults are for a data centre and are never ns-3's (1 s minimum RTO, 536-byte
segments, 200 ms delayed ACK, 3 s connection timeout).

Why these numbers: the window is that of the HotI 2020 case study; the initial window is RFC 6928's. A minimum RTO of 10
ms is above the time in which 127 such windows leave a 100 Gb/s port (5.4 ms), so that a long queue is not taken for a
loss. The clock granularity must be below it, since it is a floor under the RTO as well (RFC 6298, 2.3). The delayed ACK
waits for two segments (RFC 5681, 4.2) but far less than the minimum RTO.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le
from pydantic import BeforeValidator, Field, WithJsonSchema

from astra_ns3.config.core.model import Count, OnOff, PositiveBytes, PositiveTimePs
from astra_ns3.config.transports.base import Joined, TransportKeys
from astra_ns3.config.transports.roce_control import KINDS
from astra_ns3.errors import nearest
from astra_ns3.units import PS_PER_MS, PS_PER_US

CONGESTION_CONTROLS = (
    "NewReno",
    "LinuxReno",
    "Bbr",
    "Bic",
    "Cubic",
    "Dctcp",
    "HighSpeed",
    "Htcp",
    "Hybla",
    "Illinois",
    "Ledbat",
    "Lp",
    "Scalable",
    "Vegas",
    "Veno",
    "WestwoodPlus",
    "Yeah",
)
"""ns-3's algorithms; the TypeId is ``ns3::Tcp`` and the name."""

SMALLEST_MTU_BYTES = 68
"""RFC 791, section 3.2."""
LARGEST_MTU_BYTES = 65_535
LARGEST_WINDOW_BYTES = 65_535 << 14
"""The most that a 16-bit window and the largest scale of RFC 7323 can say, 2**30 less 2**14."""


def _congestion_control(value: object) -> str:
    by_lower = {name.lower(): name for name in CONGESTION_CONTROLS}
    if not isinstance(value, str) or value.lower() not in by_lower:
        of_roce = ", a control of 'kind: roce'" if str(value).lower() in KINDS else ""
        hint = "" if of_roce else nearest(str(value), CONGESTION_CONTROLS)
        raise ValueError(f"found {value!r}{of_roce}, allowed: {', '.join(CONGESTION_CONTROLS)}{hint}")
    return by_lower[value.lower()]


class TcpTransport(TransportKeys):
    """One lasting TCP connection per ordered pair of NPUs; numbers that belong together are checked in transport."""

    title: ClassVar[str] = "TCP"
    joined_by: ClassVar[Joined | None] = "connections"
    kind: Literal["tcp"] = "tcp"
    congestion_control: Annotated[
        str, BeforeValidator(_congestion_control), WithJsonSchema({"enum": list(CONGESTION_CONTROLS)})
    ] = "NewReno"
    """ns-3's algorithm; upper and lower case are alike. The default is the plainest one; ns-3's is Cubic."""
    window_bytes: Annotated[PositiveBytes, Le(LARGEST_WINDOW_BYTES)] = Field(alias="window", default=500_000)
    """Send and receive buffer of each connection. It and the congestion window alone limit what is in flight. The
    default is the case study's 0.5 MB; ns-3 has 131072."""
    mtu_bytes: Annotated[PositiveBytes, Ge(SMALLEST_MTU_BYTES), Le(LARGEST_MTU_BYTES)] = Field(
        alias="mtu", default=1500
    )
    """Bytes of the largest IP packet."""
    segment_bytes: PositiveBytes | None = Field(alias="segment", default=None)
    """Data bytes of a full segment. Absent: the MTU less 40 bytes of headers, or 52 with timestamps; ns-3 has 536."""
    initial_window_segments: Count = 10
    """The congestion window at the start, in segments (RFC 6928)."""
    min_rto_ps: PositiveTimePs = Field(alias="min_rto", default=10 * PS_PER_MS)
    """The least retransmission timeout. The default is above the time that the case study's longest queue takes; ns-3
    has 1s."""
    clock_granularity_ps: PositiveTimePs = Field(alias="clock_granularity", default=10 * PS_PER_US)
    """The clock's step, which is a floor under the retransmission timeout too (RFC 6298, 2.3); ns-3 has 1ms."""
    delayed_ack_count: Count = 2
    """Segments for each acknowledgement (RFC 5681, 4.2)."""
    delayed_ack_timeout_ps: PositiveTimePs = Field(alias="delayed_ack_timeout", default=40 * PS_PER_US)
    """How long an acknowledgement may wait. The default is some idle round trips, far below `min_rto`; ns-3 has
    200ms."""
    ecn: OnOff | None = None
    """Whether ECN is used. Absent: on for DCTCP, else off."""
    sack: OnOff = True
    """Whether selective acknowledgements are used (RFC 2018)."""
    timestamps: OnOff = False
    """Whether segments carry timestamps, which tick in milliseconds and take 12 bytes of each packet; ns-3 has them
    on."""
    completion: Literal["arrival", "acknowledged"] = "arrival"
    """When a message counts as arrived: its last byte read by the receiver, or acknowledged to the sender."""
    connect_timeout_ps: PositiveTimePs = Field(alias="connect_timeout", default=5 * PS_PER_MS)
    """The first wait of the handshake; ns-3 has 3s."""
    connect_retries: Count = 6
    """Handshakes tried before giving up."""
    data_retries: Count = 15
    """Retransmissions of a segment before giving up: 15 as in Linux; ns-3 has 6."""
