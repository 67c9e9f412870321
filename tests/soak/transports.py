"""Random transports: RoCE with every congestion control and recovery, and TCP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from astra_ns3.config.transports.roce_control import KINDS as CONTROL_KINDS
from astra_ns3.config.transports.tcp import CONGESTION_CONTROLS as TCP_CONTROLS
from soak.draw import Draw

PAYLOADS = (256, 512, 1000, 1024, 1500, 4096, 8192, 9000)
OWN_CONTROLS = tuple(f"inputs/congestion-control/additive.{ending}:AdditiveControl" for ending in ("hpp", "py"))
Drawn = dict[str, Any]

_PARAMETERS: Mapping[str, Callable[[Draw], Drawn]] = {
    "none": lambda draw: {},
    "static-window": lambda draw: {},
    "dcqcn": lambda draw: draw.some(
        0.25,
        rate_ai=draw.pick("5Mbps", "400Mbps"),
        rate_hai="1Gbps",
        g=draw.pick(1 / 16, 1 / 1024),
        alpha_timer=draw.pick("1us", "55us", "500us"),
        decrease_timer=draw.pick("0ns", "4us", "50us"),
        increase_timer=draw.pick("5us", "300us"),
        byte_counter=draw.pick("0", "10KB", "1MB"),
        fast_recovery_times=draw.pick(1, 3),
        clamp_target_rate=draw.chance(0.5),
        rate_on_first_cnp=draw.pick(0.25, 0.5),
    ),
    "timely": lambda draw: draw.some(
        0.25,
        rate_ai="500Mbps",
        beta=draw.pick(0.2, 0.8),
        t_low=draw.pick("2us", "10us"),
        minimum_rtt=draw.pick("0ns", "5us"),
        hai_below_t_low=draw.chance(0.5),
        max_decrease=draw.pick(0.3, 1.0),
        segment=draw.pick("0", "1000", "64KB"),
    ),
    "dctcp": lambda draw: draw.some(
        0.3, window=draw.chance(0.5), g=draw.pick(1 / 4, 1 / 64), minimum_window=draw.pick("1000", "20KB")
    ),
    "hpcc": lambda draw: draw.some(
        0.3,
        rate_ai=draw.pick("10Mbps", "1Gbps"),
        eta=draw.pick(0.5, 1.0),
        max_stage=draw.pick(0, 2),
        fast_react=draw.chance(0.5),
        multiple_rates=draw.chance(0.5),
    ),
    "hpcc-pint": lambda draw: draw.some(
        0.3, eta=draw.pick(0.5, 1.0), log_base=draw.pick(1.02, 1.5), sampling=draw.pick(0.1, 0.5), max_stage=2
    ),
    "swift": lambda draw: draw.some(
        0.3,
        base_target=draw.pick("5us", "100us"),
        per_hop="0ns",
        ai=draw.pick(0.1, 4.0),
        max_mdf=0.2,
        fs_range="0ns",
        min_cwnd=draw.pick(0.001, 1.0),
        max_cwnd=10.0,
    ),
}
assert tuple(_PARAMETERS) == CONTROL_KINDS
_SETS: Mapping[str, tuple[str, ...]] = {
    "dcqcn": ("paper", "hpcc", "nvidia"),
    "timely": ("paper", "hpcc"),
    "dctcp": ("paper", "hpcc"),
    "hpcc": ("paper", "hpcc"),
    "hpcc-pint": ("paper", "hpcc"),
    "swift": ("paper",),
}
"""Beside the default, which is drawn most often."""


def draw_control(draw: Draw) -> Drawn:
    """A congestion control and some of its parameters; now and then the user's own."""
    if draw.chance(0.08):
        return {"kind": draw.weighted({OWN_CONTROLS[0]: 3, OWN_CONTROLS[1]: 1}), "parameters": {"factor": 0.5}}
    kind = draw.pick(*CONTROL_KINDS)
    made: Drawn = {"kind": kind, **_PARAMETERS[kind](draw)}
    if kind in _SETS:
        made |= draw.some(0.4, parameters=draw.pick(*_SETS[kind]))
    return made


def is_in_python(roce: Mapping[str, Any]) -> bool:
    """Whether each packet costs a call into Python."""
    return ".py:" in str(roce["congestion_control"]["kind"])


def draw_reliability(draw: Draw, *, in_order: bool, loses: bool) -> Drawn:
    """A recovery that can get on: go-back-0 only where nothing is lost or overtaken, or with small pieces."""
    kinds = {"selective-repeat": 2.0, "go-back-n": 3.0 if in_order and not loses else 0.7}
    if in_order and not loses:
        kinds["go-back-0"] = 1.0
    made: Drawn = {"kind": draw.weighted(kinds)}
    made |= draw.some(0.2, nack_interval=draw.pick("5us", "500us"))
    if made["kind"] == "selective-repeat" and (not in_order or draw.chance(0.3)):
        made["reordering_packets"] = draw.pick(0, 8, 64) if in_order else draw.pick(8, 64)
    if made["kind"] == "go-back-0":
        made |= draw.some(0.5, go_back_0_chunk=draw.pick("0", "2000", "64KB"))
    if loses or not in_order:
        # Nearly without end: with one timeout for all, losers can send in step, and lose, for ever.
        made |= {"retries": 500, "timeout": draw.pick("500us", "2ms")}
    return made


def draw_roce(draw: Draw, *, in_order: bool, loses: bool) -> Drawn:
    """RoCE's group of a network file."""
    payload = draw.pick(*PAYLOADS)
    made: Drawn = {"kind": "roce", "payload": payload, "congestion_control": draw_control(draw)}
    made["reliability"] = draw_reliability(draw, in_order=in_order, loses=loses)
    made |= draw.some(
        0.25,
        queue_pairs=draw.pick("per-pair", "per-message"),
        ack_every=draw.pick(2, 4, 16),
        completion="acknowledged",
        base_rtt=draw.pick("packet-and-ack", "payload"),
        base_rtt_of=draw.pick("path", "longest"),
        window_scales_with_rate=draw.chance(0.5),
        cnp_interval=draw.pick("0ns", "4us"),
        cnp="on-ack",
        ack_priority=draw.pick(0, 6, 7),
        cnp_priority=draw.pick(3, 5),
    )
    made |= draw.some(0.1, priority=draw.pick(0, 2, 5), rate_limited=False, minimum_rate="1Gbps")
    if draw.chance(0.06):
        made |= {"header_bytes": 36, "ack_bytes": 48, "cnp_bytes": 48, "minimum_frame_bytes": 0, "line_gap_bytes": 0}
    made |= draw.some(0.1, time_rounding=draw.pick("1ps", "100ps"))
    if made.get("queue_pairs") == "per-message" and draw.chance(0.3):
        made["ecmp"] = "per-message-port"
    if draw.chance(0.35) and made["congestion_control"]["kind"] != "static-window":
        made["window"] = draw.pick("bdp", "none", payload, 10 * payload, "100KB")
    if made.get("queue_pairs") != "per-message" and draw.chance(0.4):
        made |= {"queue_pairs_per_pair": draw.pick(2, 3, 8), "queue_pair_use": draw.pick("turns", "split")}
    return made


def draw_tcp(draw: Draw) -> Drawn:
    """TCP's group of a network file."""
    made: Drawn = {"kind": "tcp", "congestion_control": draw.pick(*TCP_CONTROLS)}
    made |= draw.some(
        0.3,
        window=draw.pick("64KB", "2MB"),
        mtu=draw.pick(576, 4096, 9000),
        initial_window_segments=draw.pick(2, 100),
        delayed_ack_count=1,
        sack=False,
        timestamps=True,
        completion="acknowledged",
    )
    made |= draw.some(0.6, ecn=True)
    return {**made, "min_rto": draw.pick("1ms", "10ms")}


def largest_packet_bytes(transport: Mapping[str, Any]) -> int:
    """About what a full packet takes in a buffer."""
    return int(transport["payload"]) + 104 if transport["kind"] == "roce" else int(transport.get("mtu", 1500)) + 18
