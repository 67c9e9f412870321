"""RoCE: the numbers that follow from its configuration, for the native side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.roce.control_sets import InForce, Line, in_force
from astra_ns3.units import PS_PER_SECOND

_REDUCER_ACK_EVERY = 8


@dataclass(frozen=True)
class RoceFrames:
    """Sizes of the transport's frames, whatever network they travel; ``header_bytes`` and ``ack_bytes`` are without
    telemetry. ``payload_round_trip``: a base round trip counts one way's payload alone."""

    payload_bytes: int
    header_bytes: int
    ack_bytes: int
    cnp_bytes: int
    minimum_frame_bytes: int
    line_gap_bytes: int
    telemetry_bytes: int
    ack_telemetry_bytes: int
    payload_round_trip: bool

    @property
    def largest_frame_bytes(self) -> int:
        """A full data packet in a buffer."""
        return max(self.minimum_frame_bytes, self.payload_bytes + self.header_bytes + self.telemetry_bytes)

    @property
    def largest_wire_bytes(self) -> int:
        """A full data packet on the line."""
        return self.largest_frame_bytes + self.line_gap_bytes

    @property
    def ack_wire_bytes(self) -> int:
        """An ACK on the line."""
        return max(self.minimum_frame_bytes, self.ack_bytes + self.ack_telemetry_bytes) + self.line_gap_bytes


@dataclass(frozen=True)
class RoceParameters(RoceFrames):
    """Every number of the transport; nothing is left to defaults. Most are those of C++'s ``RoceParameters``.

    ``window_bytes`` 0: none, or the path's bandwidth-delay product if ``window_of_path``. ``own_file`` and
    ``own_class``: a user's own control, empty for ours, which ``congestion_control`` names. ``control_parameters``: the
    control's numbers by name, and ``minimum_rate``. ``faster_lines``: in place of these, the numbers of queue pairs on
    whose path no line is slower than the key, in bits per second; only what differs.
    """

    turns_by_age: bool
    per_message: bool
    queue_pairs_per_pair: int
    split_messages: bool
    server_npus: int
    acknowledged: bool
    priority: int
    ack_priority: int
    cnp_priority: int
    ack_every: int
    reducer_ack_every: int
    reliability: str
    timeout_ps: int
    retries: int
    new_path_after: int
    nack_interval_ps: int
    reordering_packets: int
    chunk_bytes: int
    window_bytes: int
    window_of_path: bool
    window_scales: bool
    paced: bool
    minimum_rate_bps: int
    cnp_interval_ps: int
    cnp_on_ack: bool
    port_of_message: bool
    longest_round_trip: bool
    utilisation_log_base: float
    utilisation_probability: float
    time_rounding_ps: int
    congestion_control: str
    own_file: str
    own_class: str
    control_parameters: Mapping[str, float]
    faster_lines: Mapping[int, Mapping[str, float]]


def roce_frames(transport: RoceTransport) -> RoceFrames:
    """The sizes of frames, with the telemetry that the control needs."""
    control = transport.congestion_control
    return RoceFrames(
        payload_bytes=transport.payload_bytes,
        header_bytes=transport.header_bytes,
        ack_bytes=transport.ack_bytes,
        cnp_bytes=transport.cnp_bytes,
        minimum_frame_bytes=transport.minimum_frame_bytes,
        line_gap_bytes=transport.line_gap_bytes,
        telemetry_bytes=_given(transport.telemetry_bytes, control.telemetry_bytes),
        ack_telemetry_bytes=_given(transport.ack_telemetry_bytes, control.ack_telemetry_bytes),
        payload_round_trip=transport.base_rtt == "payload",
    )


def roce_lines(transport: RoceTransport, outline: NetworkOutline) -> list[Line]:
    """Return the lines that scale the control's numbers on the network of ``outline``, the slowest first."""
    round_trip_ps = base_round_trip_ps(roce_frames(transport), outline)
    return [Line(rate_bps, round_trip_ps, transport.payload_bytes) for rate_bps in outline.line_rates_bps]


def _reducer_ack_every(transport: RoceTransport) -> int:
    """Return the packets of an acknowledgement between an NPU and a switch that reduces, or two such switches.

    They have one for several, as adapters have, unless a congestion control listens to acknowledgements.
    """
    listens = transport.congestion_control.kind not in ("none", "dcqcn")
    return transport.ack_every if listens else max(transport.ack_every, _REDUCER_ACK_EVERY)


def roce_parameters(transport: RoceTransport, line: Line, *faster: Line) -> RoceParameters:
    """The configuration with what was left open filled in: windows, telemetry and numbers as the control needs them.

    ``line`` scales the control's numbers; on paths without a slower line, those of ``faster`` do.

    Raises InputError for combinations that contradict each other.
    """
    control, reliability, own = transport.congestion_control, transport.reliability, transport.own_control
    window, scales = _window(transport), transport.window_scales_with_rate
    found = _in_force(transport, line)
    control_parameters = _of_the_control(transport, found)
    return RoceParameters(
        **vars(roce_frames(transport)),
        turns_by_age=transport.round_robin == "by-age",
        per_message=transport.queue_pairs == "per-message",
        queue_pairs_per_pair=transport.queue_pairs_per_pair,
        split_messages=transport.queue_pair_use == "split",
        server_npus=transport.server_npus,
        acknowledged=transport.completion == "acknowledged",
        priority=transport.priority,
        ack_priority=_given(transport.ack_priority, transport.priority),
        cnp_priority=transport.cnp_priority,
        ack_every=transport.ack_every,
        reducer_ack_every=_reducer_ack_every(transport),
        reliability=reliability.kind,
        timeout_ps=reliability.timeout_in_use_ps,
        retries=reliability.retries,
        new_path_after=_new_path_after(transport),
        nack_interval_ps=reliability.nack_interval_ps,
        reordering_packets=reliability.reordering_packets,
        chunk_bytes=reliability.go_back_0_chunk_bytes,
        window_bytes=window if isinstance(window, int) else 0,
        window_of_path=window == "bdp",
        window_scales=control.window_scales if scales is None else scales,
        paced=transport.rate_limited,
        minimum_rate_bps=_given(transport.minimum_rate_bps, found.minimum_rate_bps),
        cnp_interval_ps=_given(transport.cnp_interval_ps, found.cnp_interval_ps),
        cnp_on_ack=transport.cnp == "on-ack",
        port_of_message=transport.ecmp == "per-message-port",
        longest_round_trip=transport.base_rtt_of == "longest",
        utilisation_log_base=found.numbers.get("log_base", 1.05),
        utilisation_probability=found.numbers.get("sampling", 1.0),
        time_rounding_ps=transport.time_rounding_ps,
        congestion_control=control.kind,
        own_file=own.path if own else "",
        own_class=own.class_name if own else "",
        control_parameters=control_parameters,
        faster_lines=_faster_lines(transport, faster, control_parameters),
    )


def _of_the_control(transport: RoceTransport, found: InForce) -> dict[str, float]:
    of_the_fabric = transport.congestion_control.of_the_fabric
    numbers = {name: value for name, value in found.numbers.items() if name not in of_the_fabric}
    return {"minimum_rate": float(_given(transport.minimum_rate_bps, found.minimum_rate_bps)), **numbers}


def _faster_lines(
    transport: RoceTransport, lines: Iterable[Line], numbers: Mapping[str, float]
) -> dict[int, dict[str, float]]:
    found = {line.rate_bps: _of_the_control(transport, _in_force(transport, line)) for line in lines}
    unlike = {rate: {name: each[name] for name in each if each[name] != numbers[name]} for rate, each in found.items()}
    return {rate: each for rate, each in unlike.items() if each.keys() - {"minimum_rate"}}


def _in_force(transport: RoceTransport, line: Line) -> InForce:
    try:
        return in_force(transport.congestion_control, line)
    except ValueError as error:
        raise wrong(str(error)) from error


def _new_path_after(transport: RoceTransport) -> int:
    after = transport.reliability.new_path_after
    words = (
        "reliability.new_path_after draws source ports, which ecmp: per-message-port counts up; expected one of them"
    )
    refuse(after > 0 and transport.ecmp == "per-message-port", words)
    return after


def _window(transport: RoceTransport) -> int | str:
    control = transport.congestion_control
    window = control.default_window if transport.window is None else transport.window
    refuse(
        control.kind == "static-window" and window == "none",
        "key 'transport.window': found 'none', expected a size or 'bdp': static-window is that window",
    )
    return window


def _given(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def base_round_trip_ps(parameters: RoceFrames, outline: NetworkOutline) -> int:
    """From the first bit of a full packet sent to the last of its ACK received, on the idle, longest path."""
    sizes: tuple[int, ...] = (parameters.largest_wire_bytes, parameters.ack_wire_bytes)
    if parameters.payload_round_trip:
        sizes = (parameters.payload_bytes,)
    return outline.idle_round_trip_ps(*sizes)


def window_bytes(parameters: RoceParameters, outline: NetworkOutline) -> int:
    """The window of a queue pair on the longest path; 0: none."""
    if not parameters.window_of_path or not outline.path:
        return parameters.window_bytes
    return max(1, base_round_trip_ps(parameters, outline) * outline.slowest_bps // (8 * PS_PER_SECOND))
