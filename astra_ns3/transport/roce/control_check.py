"""RoCE's congestion control and the switches' marking against the network: what can hardly be meant is warned of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from astra_ns3.config.transports.roce_control import OwnControl, RoceControl
from astra_ns3.transport.marking import queue_before_pause
from astra_ns3.transport.network_outline import NetworkOutline, SwitchOutline
from astra_ns3.transport.roce.parameters import RoceParameters, base_round_trip_ps
from astra_ns3.units import PS_PER_MS, PS_PER_SECOND, format_bytes, format_rate, format_time

LONGEST_REGAIN_PS = 10 * PS_PER_MS
"""A control that needs longer to get back half of a line holds most of today's collectives below it to their end."""
# Of the line, the mean rate while its upper half is regained.
_MEAN_SHARE = 0.75

_Numbers = Mapping[str, float]


def control_warnings(parameters: RoceParameters, outline: NetworkOutline) -> Iterator[str]:
    """Delays that an idle network already has, and increases that take long to regain the line."""
    yield from target_warnings(parameters, outline)
    numbers, kind = parameters.control_parameters, parameters.congestion_control
    round_trip_ps = base_round_trip_ps(parameters, outline)
    regain = _REGAIN.get(kind)
    if regain is None:
        return
    rates = outline.line_rates_bps
    # A window's steps go with the round trip, which is far shorter where lines are fast.
    for line_bps in rates if kind in _BY_RATE else rates[:1]:
        in_force = {**numbers, **parameters.faster_lines.get(line_bps, {})}
        regain_ps = regain(in_force, parameters, line_bps, round_trip_ps)
        if regain_ps > LONGEST_REGAIN_PS:
            yield (
                f"congestion_control {kind} needs {format_time(int(regain_ps))} to get from half of "
                f"{format_rate(line_bps)} back to all of it{_CURES.get(kind, '')}"
            )
            return


def target_warnings(parameters: RoceParameters, outline: NetworkOutline) -> Iterator[str]:
    """Delays that a control takes for congestion and that an idle network already has."""
    numbers, kind = parameters.control_parameters, parameters.congestion_control
    round_trip_ps = base_round_trip_ps(parameters, outline)
    for name, limit_ps in _delay_targets(kind, numbers, len(outline.path) - 1):
        if limit_ps < round_trip_ps:
            yield (
                f"congestion_control {kind}: {name} {format_time(limit_ps)} is below the {format_time(round_trip_ps)} "
                "of a round trip on the idle network, so the longest paths always count as congested: raise it"
            )


def unmarked_warnings(control: RoceControl, switches: Sequence[SwitchOutline]) -> Iterator[str]:
    """A control that waits for marks where no switch marks; NVSwitches beside switches that do never mark."""
    if not switches or any(switch.config.marking for switch in switches):
        return
    if control.needs_ecn:
        yield f"congestion_control {control.kind} waits for ECN marks, but no switch marks (ecn: off)"
    if isinstance(control, OwnControl):
        yield f"congestion_control {control.kind} gets neither marks nor CNPs: no switch marks; ecn: scaled lets them"


def marking_warnings(switch: SwitchOutline, wire_bytes: int, priority: int) -> Iterator[str]:
    """Thresholds that no queue reaches, or reaches only when its senders are paused; ``wire_bytes``: largest frame."""
    if not switch.config.marking:
        return
    by_credit = switch.config.credits is not None
    for rate_bps in sorted({port.rate_bps for port in switch.ports}):
        ecn = switch.config.ecn_of(rate_bps)
        most = queue_before_pause(switch, rate_bps, wire_bytes, priority)
        if ecn is None or ecn.kmin_bytes < most:
            continue
        kmin = f"kmin {format_bytes(ecn.kmin_bytes)} of ports of {format_rate(rate_bps)}"
        if switch.config.keeps(priority):
            stop, cure = ("credits act", "credits.bytes") if by_credit else ("PFC acts", "buffer or pfc.alpha")
            yield (
                f"{kmin}: {stop} before ECN, for a sender is {'stopped' if by_credit else 'paused'} when it has filled "
                f"{format_bytes(most)}: lower kmin, or raise {cure}"
            )
        else:
            yield f"{kmin} is not below the {format_bytes(most)} that a queue can hold: no packet is ever marked"


def _delay_targets(kind: str, numbers: _Numbers, switches: int) -> Iterator[tuple[str, int]]:
    """Round-trip times above which a control slows down, on a path of so many switches."""
    if kind == "timely":
        yield "t_low", int(numbers["t_low"])
    if kind == "swift":
        yield "base_target and per_hop make", int(numbers["base_target"] + numbers["per_hop"] * switches)


def _dcqcn_regain_ps(numbers: _Numbers, _: RoceParameters, line_bps: int, _round_trip_ps: int) -> float:
    """Additive steps of both counters until each has counted F, hyperactive ones from then on."""
    counter_bytes, timer_ps = numbers["byte_counter"], numbers["increase_timer"]
    bytes_ps = counter_bytes * 8 * PS_PER_SECOND / (_MEAN_SHARE * line_bps)
    steps_per_ps = 1 / timer_ps + (1 / bytes_ps if counter_bytes else 0)
    # Without a byte counter the timer alone decides, as in the simulator published with HPCC.
    additive_ps = numbers["fast_recovery_times"] * max(timer_ps, bytes_ps)
    half, gained = line_bps / 2, additive_ps * steps_per_ps * numbers["rate_ai"]
    if gained >= half:
        return half / (steps_per_ps * numbers["rate_ai"])
    return additive_ps + (half - gained) / (steps_per_ps * max(numbers["rate_ai"], numbers["rate_hai"]))


def _timely_regain_ps(numbers: _Numbers, _: RoceParameters, line_bps: int, round_trip_ps: int) -> float:
    segment_ps = numbers["segment"] * 8 * PS_PER_SECOND / (_MEAN_SHARE * line_bps)
    step = max(numbers["rate_ai"], numbers["rate_hai"])
    return line_bps / 2 / step * (segment_ps or round_trip_ps)


def _dctcp_regain_ps(numbers: _Numbers, parameters: RoceParameters, line_bps: int, round_trip_ps: int) -> float:
    if numbers["window"]:
        return _window_regain_ps(1.0, parameters, line_bps, round_trip_ps)
    return line_bps / 2 / numbers["rate_ai"] * round_trip_ps


def _window_regain_ps(packets: float, parameters: RoceParameters, line_bps: int, round_trip_ps: int) -> float:
    """So many packets more each round trip."""
    window = line_bps * round_trip_ps / (8 * PS_PER_SECOND) / parameters.payload_bytes
    return window / 2 / packets * round_trip_ps


_REGAIN: Mapping[str, Callable[[_Numbers, RoceParameters, int, int], float]] = MappingProxyType(
    {
        "dcqcn": _dcqcn_regain_ps,
        "timely": _timely_regain_ps,
        "dctcp": _dctcp_regain_ps,
        "swift": lambda numbers, *more: _window_regain_ps(numbers["ai"], *more),
    }
)
_BY_RATE = ("dcqcn", "timely")
_CURES: Mapping[str, str] = MappingProxyType(
    {
        "dcqcn": ": raise rate_ai and rate_hai, shorten increase_timer, or use parameters: scaled",
        "timely": ": raise rate_ai and rate_hai, or use parameters: scaled",
        "dctcp": ", a packet more each round trip as its paper has it; larger payload makes larger steps",
        "swift": ", ai packets more each round trip",
    }
)
