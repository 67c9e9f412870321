"""TCP: the numbers that follow from its configuration, and whether they make sense together with the network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import log
from typing import ClassVar

import numpy as np

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.idle_lines import transmission_ps
from astra_ns3.config.transports.base import TransportKeys
from astra_ns3.config.transports.tcp import TcpTransport
from astra_ns3.errors import refuse
from astra_ns3.frozen import asdict, dataclass
from astra_ns3.transport.network_outline import NetworkOutline, SwitchOutline
from astra_ns3.transport.transport import (
    A_ROUND_TRIP,
    Frames,
    SharedByFlows,
    Sizes,
    Told,
    Transport,
    TransportCosts,
)
from astra_ns3.transport.wire import (
    ETHERNET_HEADER_AND_FCS_BYTES,
    PREAMBLE_AND_GAP_BYTES,
    frame_bytes,
    segments,
    tcp_packet_bytes,
    wire_bytes,
)
from astra_ns3.units import PS_PER_MS, PS_PER_SECOND, format_bytes, format_time

DCTCP = "Dctcp"
_COUNT_BYTES = ("ns3::TcpCubic", "ns3::TcpDctcp", "ns3::TcpLinuxReno")
"""Controls that grow in slow start by what is acknowledged (RFC 3465); others by a segment an acknowledgement."""
_SYN_OPTION_BYTES = {False: 8, True: 16}
"""Window scale and SACK-permitted, and timestamps, padded."""
_UNSCALED_WINDOW_BYTES = 65_535
"""Which bounds the first flight: the window in a SYN is never scaled (RFC 7323, 2.2)."""
FAR_FROM_ROUND_TRIP = 100
"""A minimum RTO of more round trips than this, each behind a full queue, waits for nothing."""
USUAL_MIN_RTO_PS = 10 * PS_PER_MS
"""That of a file that names none, and usual in data centres: what is not above it is nobody's mistake."""
MOST_SEGMENTS_OF_VEGAS = 20
"""In a round trip; below it Vegas takes at most 1.16 times the ideal (benchmarks/tcp_slow_start.py)."""
_HYSTART_SEGMENTS, _HYSTART_PS, _ROUND_TRIPS_OF_GROWTH = 20, 2 * PS_PER_MS, 20
"""Where ns-3's Cubic leaves slow start, in round trips below HyStartAckDelta; then it grows by 1 in CntClamp."""
_FLOW_ERRORS = "TCP roughly: finish times without losses were -63% to +2% off those of packets"


@dataclass(frozen=True)
class TcpParameters:
    """Every number a TCP socket is given; nothing is left to the simulator's defaults."""

    type_id: str
    window_bytes: int
    mtu_bytes: int
    segment_bytes: int
    initial_window_segments: int
    min_rto_ps: int
    clock_granularity_ps: int
    delayed_ack_count: int
    delayed_ack_timeout_ps: int
    ecn: bool
    sack: bool
    timestamps: bool
    acknowledged: bool
    connect_timeout_ps: int
    connect_retries: int
    data_retries: int


def tcp_parameters(transport: TcpTransport) -> TcpParameters:
    """The configuration with what was left open filled in: the segment size from the MTU, ECN from the algorithm.

    Raises InputError for what no network could carry or no socket could do.
    """
    headers = tcp_packet_bytes(0, timestamps=transport.timestamps)
    segment_bytes = transport.segment_bytes or transport.mtu_bytes - headers
    # IP would cut each packet in two without a word, and the second fragment costs as much as a packet.
    refuse(
        segment_bytes + headers > transport.mtu_bytes,
        f"key 'transport.segment': {segment_bytes} bytes and {headers} of headers and options are more than "
        f"the MTU, {transport.mtu_bytes}; the largest segment is {transport.mtu_bytes - headers}",
    )
    refuse(
        transport.window_bytes < segment_bytes,
        f"key 'transport.window': {transport.window_bytes} bytes do not hold one segment of {segment_bytes}",
    )
    refuse(
        transport.congestion_control == DCTCP and transport.ecn is False,
        "key 'transport.ecn': found off, expected on (or absent): DCTCP cannot work without ECN",
    )
    return TcpParameters(
        type_id=f"ns3::Tcp{transport.congestion_control}",
        window_bytes=transport.window_bytes,
        mtu_bytes=transport.mtu_bytes,
        segment_bytes=segment_bytes,
        initial_window_segments=transport.initial_window_segments,
        min_rto_ps=transport.min_rto_ps,
        clock_granularity_ps=transport.clock_granularity_ps,
        delayed_ack_count=transport.delayed_ack_count,
        delayed_ack_timeout_ps=transport.delayed_ack_timeout_ps,
        ecn=transport.congestion_control == DCTCP if transport.ecn is None else transport.ecn,
        sack=transport.sack,
        timestamps=transport.timestamps,
        acknowledged=transport.completion == "acknowledged",
        connect_timeout_ps=transport.connect_timeout_ps,
        connect_retries=transport.connect_retries,
        data_retries=transport.data_retries,
    )


def _first_window_bytes(parameters: TcpParameters) -> int:
    segments_of_window = _UNSCALED_WINDOW_BYTES // parameters.segment_bytes
    return min(parameters.initial_window_segments, segments_of_window) * parameters.segment_bytes


def base_round_trip_ps(parameters: TcpParameters, outline: NetworkOutline) -> int:
    """From the first bit of a full segment sent to the last bit of its ACK received, nothing else on the network."""
    packets = (
        tcp_packet_bytes(parameters.segment_bytes, timestamps=parameters.timestamps),
        tcp_packet_bytes(0, timestamps=parameters.timestamps),
    )
    return outline.idle_round_trip_ps(*map(wire_bytes, packets))


def longest_drain_ps(parameters: TcpParameters, outline: NetworkOutline) -> int:
    """The time a port needs for the longest queue it can have: every window towards one host, or the buffer.

    The same number of windows can stand in the queue of one host's NIC, whose buffer is its own.
    """
    connections = (outline.npus - outline.npus_per_host) * outline.npus_per_host
    packet = tcp_packet_bytes(parameters.segment_bytes, timestamps=parameters.timestamps)
    in_flight = connections * segments(parameters.window_bytes, parameters.segment_bytes)
    of_switch = (outline.largest_buffer_bytes if outline.switches else None, outline.slowest_bps)
    of_nic = (outline.nic_buffer_bytes, min(port.rate_bps for port in outline.host_ports))
    return max(
        (in_flight if limit is None else min(in_flight, limit // frame_bytes(packet)))
        * transmission_ps(wire_bytes(packet), rate_bps)
        for limit, rate_bps in (of_switch, of_nic)
    )


def _check_buffers(parameters: TcpParameters, outline: NetworkOutline) -> None:
    largest = frame_bytes(parameters.mtu_bytes)
    switches = {switch.config.buffer_bytes for switch in outline.switches}
    for key, sizes in (("topology.switch.buffer", switches), ("topology.nic.buffer", {outline.nic_buffer_bytes})):
        for size in sizes:
            refuse(
                size is not None and size < largest,
                f"key '{key}': {size} bytes do not hold one frame of {largest} (MTU and Ethernet header)",
            )


def _timer_warnings(parameters: TcpParameters, outline: NetworkOutline) -> list[str]:
    warnings = []
    min_rto, granularity = format_time(parameters.min_rto_ps), format_time(parameters.clock_granularity_ps)
    if parameters.min_rto_ps < parameters.clock_granularity_ps:
        warnings.append(
            f"min_rto {min_rto} is below clock_granularity {granularity}, which is a floor under the RTO as well: "
            "lower clock_granularity too"
        )
    drain_ps = longest_drain_ps(parameters, outline)
    if parameters.min_rto_ps < drain_ps:
        warnings.append(
            f"min_rto {min_rto} is shorter than the {format_time(drain_ps)} that a full queue takes to drain: "
            "packets that only wait will be sent again; raise min_rto or lower the window"
        )
    longest_ps = drain_ps + base_round_trip_ps(parameters, outline)
    if parameters.min_rto_ps > max(USUAL_MIN_RTO_PS, FAR_FROM_ROUND_TRIP * longest_ps):
        warnings.append(
            f"min_rto {min_rto} is {parameters.min_rto_ps // longest_ps} times the {format_time(longest_ps)} of a "
            "round trip behind a full queue: a message whose last segment is lost waits so long for nothing; lower it"
        )
    if parameters.delayed_ack_count > 1 and parameters.delayed_ack_timeout_ps >= parameters.min_rto_ps:
        warnings.append(
            f"delayed_ack_timeout {format_time(parameters.delayed_ack_timeout_ps)} is not below min_rto {min_rto}: "
            "the last segment of a message will be sent twice"
        )
    if parameters.timestamps:
        warnings.append(
            "timestamps tick in milliseconds in ns-3, so round trips of microseconds are misread by orders of "
            "magnitude: switch timestamps off"
        )
    usual_ps = TcpTransport.model_fields["delayed_ack_timeout_ps"].default
    if parameters.delayed_ack_count == 1 and parameters.delayed_ack_timeout_ps != usual_ps:
        warnings.append("delayed_ack_timeout has no effect with a delayed_ack_count of 1: leave it out")
    return warnings


def _window_warnings(parameters: TcpParameters, outline: NetworkOutline) -> list[str]:
    """A window that is sent before it is acknowledged; its last segment may be a part of one.

    A receiver that waits for more segments than the window holds acknowledges when its timer has run out.
    """
    whole, rest = divmod(parameters.window_bytes, parameters.segment_bytes)
    parts = ((whole, parameters.segment_bytes), (int(rest > 0), rest))
    packets = [(count, tcp_packet_bytes(size, timestamps=parameters.timestamps)) for count, size in parts]
    window_ps = sum(count * transmission_ps(wire_bytes(packet), outline.slowest_bps) for count, packet in packets)
    is_delayed = segments(parameters.window_bytes, parameters.segment_bytes) < parameters.delayed_ack_count
    waits_ps = parameters.delayed_ack_timeout_ps if is_delayed else 0
    round_trip_ps = base_round_trip_ps(parameters, outline) + 2 * outline.slower_way_ps + waits_ps
    if window_ps >= round_trip_ps:
        return []
    where = " on the slowest of equally short ways" if outline.slower_way_ps else ""
    return [
        f"window {format_bytes(parameters.window_bytes)} cannot fill the link: it is sent in {format_time(window_ps)} "
        f"and acknowledged after {format_time(round_trip_ps)}{where}, so one connection reaches "
        f"at most {100 * window_ps / round_trip_ps:.2g}% of the rate"
    ]


def _segment_warnings(keys: TcpTransport, parameters: TcpParameters) -> Iterator[str]:
    """A segment that leaves a part of an MTU unused which isn't the usual one."""
    packet = tcp_packet_bytes(parameters.segment_bytes, timestamps=parameters.timestamps)
    usual = parameters.mtu_bytes == TcpTransport.model_fields["mtu_bytes"].default
    if keys.segment_bytes is not None and packet < parameters.mtu_bytes and not usual:
        yield (
            f"segment {parameters.segment_bytes} makes packets of {packet} bytes, and mtu {parameters.mtu_bytes} makes "
            "them no larger: leave segment out, and it fills the mtu"
        )


def _control_warnings(parameters: TcpParameters, outline: NetworkOutline) -> Iterator[str]:
    """Yield warnings of Vegas and Cubic where a round trip holds many segments.

    ns-3's Vegas takes the time of a few full ones for a queue, and its Cubic the start of the next round trip.
    """
    round_trip_ps = base_round_trip_ps(parameters, outline)
    held = round_trip_ps * outline.slowest_bps // (8 * PS_PER_SECOND) // parameters.segment_bytes
    most = min(held, parameters.window_bytes // parameters.segment_bytes)
    if parameters.type_id == "ns3::TcpVegas" and held > MOST_SEGMENTS_OF_VEGAS:
        yield (
            f"congestion_control Vegas: a round trip holds {held} segments, and above {MOST_SEGMENTS_OF_VEGAS} ns-3's "
            "Vegas takes its own segments for a queue and can stay at a quarter of the line (docs/tcp.md): choose "
            "another, or a larger mtu"
        )
    if parameters.type_id == "ns3::TcpCubic" and most > 2 * _HYSTART_SEGMENTS and round_trip_ps < _HYSTART_PS:
        fills_ps = round(_ROUND_TRIPS_OF_GROWTH * round_trip_ps * log(most / _HYSTART_SEGMENTS))
        yield (
            f"congestion_control Cubic: a round trip holds {held} segments, but below 2 ms ns-3's Cubic leaves slow "
            f"start at about {_HYSTART_SEGMENTS}, so a connection takes about {format_time(fills_ps)} to fill its line "
            "(docs/tcp.md): choose another, or turn HyStart off in a hook"
        )


def _ecn_warnings(parameters: TcpParameters, switch: SwitchOutline) -> list[str]:
    marking = {switch.config.ecn_of(port.rate_bps) for port in switch.ports}
    lowest = min((ecn.kmin_bytes for ecn in marking if ecn is not None), default=None)
    if lowest is None:
        if not parameters.ecn:
            return []
        return ["transport uses ECN but the switch marks nothing (topology.switch.ecn is absent): only losses slow it"]
    warnings = []
    if not parameters.ecn:
        warnings.append("the switch marks packets (topology.switch.ecn) but the transport has ECN off: no mark is seen")
    if lowest >= switch.config.buffer_bytes:
        warnings.append(
            f"kmin {format_bytes(lowest)} is not below the switch buffer {format_bytes(switch.config.buffer_bytes)}: "
            "packets are dropped before any is marked"
        )
    return warnings


@dataclass(frozen=True, eq=False, kw_only=True)
class Tcp(Transport):
    """ns-3's TCP, as the rest of the program asks for it."""

    kind: ClassVar[str] = "tcp"
    costs: ClassVar[TransportCosts] = TransportCosts(
        seconds_per_packet=13.5e-6,
        seconds_per_link=0.2e-6,
        seconds_per_pair=200e-6,
        seconds_per_message=2.5e-6,
        slowdown=0.4,
        pairs_in_cache=4_000,
        messages_that_share=4,
        bytes_per_pair=17_000,  # two idle sockets of 8.4 KB
        bytes_in_flight=1_000,  # headers, tags, the sender's list of segments; ns-3's packets hold no payload here
    )
    marks_at_enqueue: ClassVar[bool] = True
    ports_of_connections: ClassVar[bool] = True
    pauses_watched: ClassVar[bool] = False
    has_part_of_its_own: ClassVar[bool] = True

    keys: TcpTransport
    parameters: TcpParameters

    @classmethod
    def on(cls, keys: TransportKeys, outline: NetworkOutline) -> Tcp:
        """Return TCP with these keys on a network; raises InputError for what no socket could do."""
        assert isinstance(keys, TcpTransport)
        parameters = tcp_parameters(keys)
        return cls(
            keys=keys,
            outline=outline,
            parameters=parameters,
            base_round_trip_ps=base_round_trip_ps(parameters, outline),
            largest_frame_bytes=frame_bytes(parameters.mtu_bytes),
            largest_wire_bytes=wire_bytes(parameters.mtu_bytes),
            packet_wire_bytes=wire_bytes(tcp_packet_bytes(parameters.segment_bytes, timestamps=parameters.timestamps)),
            answer_wire_bytes=wire_bytes(tcp_packet_bytes(0, timestamps=parameters.timestamps)),
            payload_bytes=parameters.segment_bytes,
            window_bytes=parameters.window_bytes,
            acknowledged=parameters.acknowledged,
            answer_every=parameters.delayed_ack_count,
            marks_at_a_step=True,
            flow_errors=_FLOW_ERRORS,
            flow_in_flight_bytes=A_ROUND_TRIP if parameters.ecn else parameters.window_bytes,
            flow_first_window_bytes=_first_window_bytes(parameters),
            flow_window_growth=1.0 if parameters.type_id in _COUNT_BYTES else 1 / parameters.delayed_ack_count,
            flow_opening_wire_bytes=wire_bytes(tcp_packet_bytes(_SYN_OPTION_BYTES[parameters.timestamps])),
        )

    @property
    def window_lets_out_bytes(self) -> int:
        """A window: TCP sends part of a segment where no more fits."""
        return self.window_bytes

    def frames(self, sizes: Sizes) -> Frames:
        """Return full segments, then what is left."""
        rest = sizes % self.payload_bytes
        headers = tcp_packet_bytes(0, timestamps=self.parameters.timestamps)
        last = np.maximum(rest + headers + ETHERNET_HEADER_AND_FCS_BYTES + PREAMBLE_AND_GAP_BYTES, wire_bytes(0))
        whole = sizes // self.payload_bytes, np.full_like(sizes, self.packet_wire_bytes)
        return [whole, ((rest > 0).astype(np.int64), last)]

    def held_by_windows(self) -> list[str]:
        """Return warnings of a window that the lines wait for."""
        return _window_warnings(self.parameters, self.outline)

    def check(self, network: NetworkConfig, largest_wire_bytes: int) -> list[str]:
        """Return warnings about numbers that can't be meant; raises InputError for what is impossible.

        Model limits: the round trip is that of one full segment over the longest path of an idle network, the longest
        queue that of all other NPUs' windows at one port.
        """
        parameters, outline = self.parameters, self.outline
        _check_buffers(parameters, outline)
        warnings = [*_timer_warnings(parameters, outline), *_window_warnings(parameters, outline)]
        warnings += [*_segment_warnings(self.keys, parameters), *_control_warnings(parameters, outline)]
        for switch in outline.switches:
            warnings += _ecn_warnings(parameters, switch)
        return list(dict.fromkeys(warnings))

    def in_force(self) -> JsonObject:
        """Return every number as plain data."""
        return asdict(self.parameters)

    @staticmethod
    def told(numbers: Mapping[str, Json]) -> Told:
        """Return the congestion control, and the numbers that decide most."""
        control, ecn = str(numbers["type_id"]).removeprefix("ns3::Tcp"), "on" if numbers["ecn"] else "off"
        return ("TCP", f"{control}, ECN {ecn}"), {name: numbers[name] for name in _TOLD}

    def native(self, posting_ps: int) -> Mapping[str, bool | int | float | str]:
        """Return all numbers."""
        return asdict(self.parameters)

    def shared_by_flows(self) -> SharedByFlows | None:
        """Return the connection of two NPUs."""
        remedy = "transport: {kind: roce, queue_pairs: per-message} gives each a queue pair"
        return SharedByFlows("TCP connection", remedy)


_TOLD = ("window_bytes", "segment_bytes", "min_rto_ps")
