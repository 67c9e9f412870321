"""Keys of RoCE that a file gives though nothing reads them beside its other keys.

The rules are those of the C++ classes: which control moves a rate and which a window, and what each reliability reads.
"""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.roce.parameters import RoceParameters

_CNPS = (
    ("cnp", "cnp"),
    ("cnp_interval", "cnp_interval_ps"),
    ("cnp_priority", "cnp_priority"),
    ("cnp_bytes", "cnp_bytes"),
)


def idle_key_warnings(transport: RoceTransport, parameters: RoceParameters, outline: NetworkOutline) -> Iterator[str]:
    """A warning for each given key that can't have an effect; a key with its default value isn't told of."""
    idle = [*_idle(transport, parameters), *_without_marks(transport, parameters, outline)]
    for key, field, why in idle:
        part, _, name = field.rpartition(".")
        model = getattr(transport, part) if part else transport
        value, default = getattr(model, name), type(model).model_fields[name].default
        if value is not None and value != (False if default is None else default):
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


def _without_marks(
    transport: RoceTransport, parameters: RoceParameters, outline: NetworkOutline
) -> Iterator[tuple[str, str, str]]:
    """The keys of CNPs, where none is sent."""
    marked = transport.congestion_control.needs_ecn or any(each.config.marking for each in outline.switches)
    if not marked:
        yield from ((key, field, "while no switch marks") for key, field in _CNPS)
    elif parameters.cnp_on_ack:
        yield from ((key, field, "with cnp on-ack, which sends no CNP") for key, field in _CNPS[1:])


def _of_the_control(transport: RoceTransport, parameters: RoceParameters) -> Iterator[tuple[str, str, str]]:
    control, numbers, of_path = transport.congestion_control, parameters.control_parameters, parameters.window_of_path
    rate, window = control.moves_rate(numbers), control.moves_window(numbers)
    with_kind = f"with congestion_control {control.kind}{' that moves its window' if window and not rate else ''}"
    if not rate:
        for key in ("window_scales_with_rate", "rate_limited"):
            yield key, key, f"{with_kind}, whose rate is always the line's"
        yield "minimum_rate", "minimum_rate_bps", with_kind
    elif not (window or of_path or parameters.window_bytes):
        yield "window_scales_with_rate", "window_scales_with_rate", "without a window"
    if not (rate or window or of_path):
        yield "base_rtt", "base_rtt", f"{with_kind} and no window of bdp"
    if not (of_path or (window and not rate) or control.reads_round_trip(numbers)):
        yield "base_rtt_of", "base_rtt_of", f"{with_kind} and no window of bdp"
    fields = control.names_with_units()
    for key, why in control.unread(numbers):
        yield f"congestion_control.{key}", f"congestion_control.{fields[key]}", why
