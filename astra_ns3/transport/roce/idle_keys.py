"""Keys of RoCE that a file gives though nothing reads them beside its other keys.

The rules are those of the C++ classes: which control moves a rate and which a window, and what each reliability reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.transport.roce.parameters import RoceParameters

_FIXED = ("none", "static-window")


def idle_key_warnings(transport: RoceTransport, parameters: RoceParameters) -> Iterator[str]:
    """A warning for each given key that can't have an effect; a key with its default value isn't told of."""
    for key, field, why in _idle(transport, parameters):
        part, _, name = field.rpartition(".")
        model = getattr(transport, part) if part else transport
        value, default = getattr(model, name), type(model).model_fields[name].default
        if value is not None and value is not False and value != default:
            yield f"transport.{key} has no effect {why}: leave it out"


def _idle(transport: RoceTransport, parameters: RoceParameters) -> Iterator[tuple[str, str, str]]:
    """Key, field and why, of all that the combination leaves unread."""
    if transport.own_control is None:
        yield from _of_the_control(transport, parameters)
    reliability = parameters.reliability
    if reliability == "selective-repeat":
        yield "reliability.nack_interval", "reliability.nack_interval_ps", f"with {reliability}, which reports each gap"
    if reliability != "go-back-0":
        yield "reliability.go_back_0_chunk", "reliability.go_back_0_chunk_bytes", f"with {reliability}"
    if parameters.queue_pairs_per_pair == 1:
        yield "queue_pair_use", "queue_pair_use", "with one queue pair"
    if parameters.cnp_on_ack:
        for key in ("cnp_interval", "cnp_priority", "cnp_bytes"):
            yield key, "cnp_interval_ps" if key == "cnp_interval" else key, "with cnp on-ack, which sends no CNP"


def _of_the_control(transport: RoceTransport, parameters: RoceParameters) -> Iterator[tuple[str, str, str]]:
    kind, numbers = parameters.congestion_control, parameters.control_parameters
    by_window = kind == "dctcp" and bool(numbers["window"])
    with_kind = f"with congestion_control {kind}{' that moves its window' if by_window else ''}"
    window = parameters.window_of_path or parameters.window_bytes > 0 or by_window or kind == "swift"
    if kind in _FIXED or by_window:
        yield "window_scales_with_rate", "window_scales_with_rate", f"{with_kind}, whose rate is always the line's"
    elif not window:
        yield "window_scales_with_rate", "window_scales_with_rate", "without a window"
    if kind in _FIXED or by_window:
        yield "minimum_rate", "minimum_rate_bps", with_kind
    if kind in _FIXED and not parameters.window_of_path:
        for key in ("base_rtt", "base_rtt_of"):
            yield key, key, f"{with_kind} and no window of bdp"
    if by_window:
        yield "congestion_control.rate_ai", "congestion_control.rate_ai_bps", "while congestion_control.window is on"
    elif kind == "dctcp":
        yield (
            "congestion_control.minimum_window",
            "congestion_control.minimum_window_bytes",
            "while congestion_control.window is off",
        )
    if kind == "swift" and not numbers["fs_range"]:
        for key in ("fs_min_cwnd", "fs_max_cwnd"):
            yield f"congestion_control.{key}", f"congestion_control.{key}", "with an fs_range of 0"
