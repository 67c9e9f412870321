"""RoCE keys of a network file: packets, queue pairs, reliability, windows; congestion controls are in roce_control.

The defaults are RoCEv2 on Ethernet (InfiniBand Architecture, Annex A17; IEEE 802.3): 14 bytes of Ethernet header, 20 of
IP, 8 of UDP, 12 of BTH, 4 of ICRC and 4 of FCS make 62 around the payload. An ACK adds an AETH of 4, a CNP 16 reserved
bytes. 8 of preamble and 12 of gap are on the line only. Seven retries are the most that a queue pair of a real NIC can
be set to. A path on which so many timeouts follow each other without progress is taken for dead, and a run that says so
is worth more than one that never ends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from annotated_types import Le
from pydantic import BeforeValidator, Field, PrivateAttr, WithJsonSchema, model_validator

from astra_ns3.config.core.model import (
    Bytes,
    ConfigModel,
    Count,
    Number,
    OnOff,
    OrName,
    PositiveBytes,
    PositiveTimePs,
    RateBps,
    TimePs,
    as_value_error,
    checked,
    key_error,
    refuse_key,
)
from astra_ns3.config.topology.switch import Priority
from astra_ns3.config.transports.base import Joined, TransportKeys
from astra_ns3.config.transports.roce_control import KINDS, NoControl, OwnControl, RoceControlConfig
from astra_ns3.config.transports.tcp import CONGESTION_CONTROLS
from astra_ns3.units import PS_PER_MS, parse_bytes
from astra_ns3.user_code import user_part

LARGEST_PAYLOAD_BYTES = 65_000
NIC_TIMEOUT_PS = 4_096_000 * 2**12
"""4.096 us x 2**n, n = 12 (InfiniBand Architecture Specification, 9.7.6.1.3): above what full buffers hold back."""
MOST_QUEUE_PAIRS = 256
"""Between two NPUs; communication libraries use a few."""
WINDOW_WORDS = ("bdp", "none")


def _window(value: str | int) -> str | int:
    size = value if value in WINDOW_WORDS else as_value_error(parse_bytes)(value)
    if size == 0:
        raise ValueError("found 0, expected a size above 0, or one of bdp, none")
    return size


Window = Annotated[
    int | Literal["bdp", "none"],
    BeforeValidator(_window),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 1}], "examples": ["bdp", "100KB"]}),
]


class Reliability(ConfigModel):
    """How lost and reordered packets are recovered."""

    kind: Literal["go-back-n", "go-back-0", "selective-repeat"] = "go-back-n"
    """The part that is sent again: all from the gap on, a piece from its start, or the lost packets alone (IRN)."""
    timeout_ps: PositiveTimePs | None = Field(alias="timeout", default=None)
    """So long without progress, and everything that is not acknowledged is sent again; absent: 16.777 ms (4.096 us x
    2**12, a setting of real NICs), with selective-repeat 1 ms."""
    nack_interval_ps: TimePs = Field(alias="nack_interval", default=0)
    """A gap that is still open after so long is reported again when more packets come; 0: one NACK for each gap."""
    retries: Number = 7
    """Timeouts in a row without progress after which the run fails; 0: never."""
    new_path_after: Number = 0
    """Timeouts in a row after which data takes another of the equal paths, by a new source port; 0: never."""
    reordering_packets: Number = 0
    """With selective-repeat: how far behind a packet may come before it counts as lost."""
    go_back_0_chunk_bytes: Bytes = Field(alias="go_back_0_chunk", default=4000)
    """With go-back-0: the sender returns to the start of a piece of so many bytes; 0: of the message."""

    @property
    def timeout_in_use_ps(self) -> int:
        """The timeout, also where it was left out."""
        if self.timeout_ps is not None:
            return self.timeout_ps
        return PS_PER_MS if self.kind == "selective-repeat" else NIC_TIMEOUT_PS

    @model_validator(mode="after")
    @checked
    def _reordering_needs_selective_repeat(self) -> None:
        refuse_key(
            bool(self.reordering_packets and self.kind != "selective-repeat"),
            "reordering_packets",
            f"has no effect with {self.kind}; it is for selective-repeat",
        )


def _not_of_tcp(value: object) -> object:
    known = {name.lower() for name in CONGESTION_CONTROLS} - {*KINDS}
    if isinstance(value, str) and value.lower() in known:
        raise ValueError(f"found '{value}', a control of 'kind: tcp', allowed: {', '.join(KINDS)}")
    return value


class RoceTransport(TransportKeys):
    """RoCEv2 queue pairs between ordered pairs of NPUs; numbers that belong together are checked in transport."""

    title: ClassVar[str] = "RoCE"
    takes_control: ClassVar[bool] = True
    joined_by: ClassVar[Joined | None] = "queue_pairs"
    kind: Literal["roce"] = "roce"
    payload_bytes: Annotated[PositiveBytes, Le(LARGEST_PAYLOAD_BYTES)] = Field(alias="payload", default=1000)
    """Data bytes of a full packet."""
    header_bytes: Annotated[Bytes, Le(4096)] = 62
    """Bytes around the payload of a data packet, as a buffer holds it: Ethernet 14, IP 20, UDP 8, BTH 12, ICRC 4, FCS
    4."""
    ack_bytes: Annotated[PositiveBytes, Le(4096)] = 66
    """Bytes of an acknowledgement: a header and an AETH of 4."""
    cnp_bytes: Annotated[PositiveBytes, Le(4096)] = 78
    """Bytes of a congestion notification: a header and 16 reserved bytes."""
    minimum_frame_bytes: Annotated[Bytes, Le(4096)] = 64
    """Shorter frames are filled up to so many bytes."""
    line_gap_bytes: Annotated[Bytes, Le(4096)] = 20
    """Preamble and gap: on the line only, for every frame."""
    telemetry_bytes: Annotated[Bytes, Le(4096)] | None = None
    """Bytes on each data packet for the congestion control. Absent: 42 for `hpcc`, 2 for `hpcc-pint`, else 0."""
    ack_telemetry_bytes: Annotated[Bytes, Le(4096)] | None = None
    """Bytes on each acknowledgement for the congestion control. Absent: as `telemetry_bytes`."""
    queue_pairs: Literal["per-pair", "per-message"] = "per-pair"
    """One queue pair for each ordered pair of NPUs and the whole run, or a new one for each message."""
    queue_pairs_per_pair: Annotated[Count, Le(MOST_QUEUE_PAIRS)] = 1
    """With ``per-pair``: how many there are between each ordered pair of NPUs, each with a source port, a window and a
    congestion control of its own."""
    queue_pair_use: Literal["turns", "split"] = "turns"
    """With several: whole messages take them in turns, or each message is cut into equal parts, one for each. NCCL has
    both (environment variables NCCL_IB_QPS_PER_CONNECTION and NCCL_IB_SPLIT_DATA_ON_QPS, 0 and 1)."""
    round_robin: Literal["by-age", "as-ready"] = "by-age"
    """The queue pair that a NIC serves next. `by-age`: all around, a new one after the youngest, as in HPCC's code.
    `as-ready`: the one that has been ready longest since its last packet."""
    priority: Priority = 3
    """The priority of data, 0 to 7."""
    ack_priority: Priority | None = None
    """The priority of acknowledgements. Absent: that of the data."""
    cnp_priority: Priority = 6
    """The priority of congestion notifications."""
    ack_every: Count = 1
    """Packets for each acknowledgement. The last packet of a message, and the last that the window lets out, always has
    one."""
    completion: Literal["arrival", "acknowledged"] = "arrival"
    """When a message counts as arrived: its last byte received, or acknowledged to the sender."""
    reliability: Annotated[Reliability, OrName()] = Reliability()
    """How lost and reordered packets are recovered; `reliability: go-back-0` is short for a kind with its defaults."""
    window: Window | None = None
    """Most bytes in flight: a size, `bdp` (the path's bandwidth-delay product) or `none`. Absent: `bdp` for
    `static-window`, `dctcp`, `hpcc`, `hpcc-pint` and `swift`, `none` for the others."""
    base_rtt: Literal["packet-and-ack", "payload"] = "packet-and-ack"
    """Round trip on an idle network, which ``bdp`` and some controls start from: that of a full packet and its ACK, or
    both ways' delays and one way's payload bits alone."""
    base_rtt_of: Literal["path", "longest"] = "path"
    """Each path has its own, or all have that of the longest."""
    window_scales_with_rate: OnOff | None = None
    """Whether the window shrinks in proportion to the rate; absent: on for HPCC and HPCC-PINT, whose window is rate x
    base round trip, else off."""
    minimum_rate_bps: RateBps | None = Field(alias="minimum_rate", default=None)
    """No congestion control goes below it. Absent: by the control's set of parameters. `scaled` 1/1000 of the line, as
    the authors of DCQCN at 100 Gb/s, `paper` 100Mbps, `hpcc` 1Gbps, `nvidia` 1Mbps."""
    cnp_interval_ps: TimePs | None = Field(alias="cnp_interval", default=None)
    """Least time between two CNPs of a queue pair; 0: one for each marked packet. Absent: by the control's set of
    parameters. `scaled` a round trip, since a cut is felt after one, but at least 4us; `paper` 50us; `hpcc` and
    `nvidia` 4us."""
    cnp: Literal["packet", "on-ack"] = "packet"
    """A CNP is a packet of its own, or a bit of the ACK of each marked packet."""
    rate_limited: OnOff = True
    """Whether packets are paced at the congestion control's rate."""
    time_rounding_ps: TimePs = Field(alias="time_rounding", default=0)
    """Each transmission time is rounded to the nearest multiple of this; 0: exact to the picosecond."""
    ecmp: Literal["flow-hash", "per-message-port"] = "flow-hash"
    """Paths are hashed from all of a queue pair's addresses, or from a source port: 10000 for the first queue pair of
    two NPUs, 10001 for the next. It keeps its port; each message has one with `queue_pairs: per-message`."""
    congestion_control: Annotated[RoceControlConfig, BeforeValidator(_not_of_tcp)] = NoControl()
    """The control of each queue pair: a name, or a group with `kind` and its parameters. `none` is line rate."""

    _server_npus: int = PrivateAttr(default=0)
    _on_connections: bool = PrivateAttr(default=False)

    def on_connections(self) -> RoceTransport:
        """Return the same with a queue pair for each of a workload's connections; two NPUs may have several."""
        found = self.model_copy(update={"queue_pairs": "per-pair"})
        found._on_connections = True
        return found

    @property
    def keeps_ports(self) -> bool:
        """Whether ports that messages were to have are those of the one queue pair of each two NPUs."""
        one = self.queue_pairs == "per-pair" and self.queue_pairs_per_pair == 1 and not self._on_connections
        return self.ecmp == "per-message-port" and one

    def without_turns_inside(self, server_npus: int) -> RoceTransport:
        """Return the same with one queue pair, in place of turns, for NPUs of a server of so many.

        And for messages with reducers and storage hosts, which aren't connections of NCCL's.
        """
        found = self.model_copy()
        found._server_npus = server_npus
        return found

    @property
    def server_npus(self) -> int:
        """NPUs of a server, inside which messages take no turns; 0: they take turns everywhere, or are split."""
        return 0 if self.queue_pairs_per_pair == 1 or self.queue_pair_use == "split" else self._server_npus

    @property
    def own_control(self) -> OwnControl | None:
        """A congestion control of the user's."""
        return self.congestion_control if isinstance(self.congestion_control, OwnControl) else None

    def control_keys(self, name: str) -> Mapping[str, object]:
        """Return the keys that change where the option names another congestion control."""
        if _same_control(name, self.congestion_control.kind):
            return {}
        return {"congestion_control": name, "telemetry_bytes": None, "ack_telemetry_bytes": None}

    @model_validator(mode="after")
    @checked
    def _several_queue_pairs_last(self) -> None:
        if self.queue_pairs_per_pair > 1 and self.queue_pairs == "per-message":
            found = f"found {self.queue_pairs_per_pair} with queue_pairs per-message, which opens one for each message"
            raise key_error("queue_pairs_per_pair", f"{found}; expected 1, or queue_pairs per-pair")


def _same_control(one: str, other: str) -> bool:
    """Return whether two names mean the same control: of the user's own, a class of the same file."""
    parts = [user_part(name, compiled=True) for name in (one, other)]
    named = [(os.path.realpath(part.file), part.name) for part in parts if part is not None]
    return one == other or (len(named) == len(parts) and len({*named}) == 1)
