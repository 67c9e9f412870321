"""RoCE, as the rest of the program asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from pydantic import JsonValue

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import validated
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.routing import FLOWLET, PARTING
from astra_ns3.config.transports.base import TransportKeys
from astra_ns3.config.transports.roce import RoceTransport
from astra_ns3.errors import refuse
from astra_ns3.frozen import asdict, dataclass
from astra_ns3.transport.network_outline import NetworkOutline
from astra_ns3.transport.roce.check import (
    check_roce,
    lossless_warnings,
    reordering_warnings,
    window_warnings,
)
from astra_ns3.transport.roce.control_check import target_warnings
from astra_ns3.transport.roce.control_sets import Line
from astra_ns3.transport.roce.parameters import (
    RoceParameters,
    base_round_trip_ps,
    roce_lines,
    roce_parameters,
    window_bytes,
)
from astra_ns3.transport.transport import (
    A_ROUND_TRIP,
    Frames,
    SharedByFlows,
    Sizes,
    Told,
    Transport,
    TransportCosts,
)

BYTES_PER_MET_PAIR = 550
"""With a queue pair for each message: what stays of two NPUs that had one, the queue pair being used again."""

# What the native transport is told otherwise.
_ELSEWHERE = {"time_rounding_ps", "congestion_control", "own_file", "own_class", "control_parameters", "faster_lines"}


@dataclass(frozen=True, eq=False, kw_only=True)
class Roce(Transport):
    """RoCE's queue pairs."""

    kind: ClassVar[str] = "roce"
    costs: ClassVar[TransportCosts] = TransportCosts(
        seconds_per_packet=0.0,
        seconds_per_link=0.4e-6,
        seconds_per_pair=5e-6,
        seconds_per_message=0.1e-6,
        slowdown=0.7,
        pairs_in_cache=4_000,
        messages_that_share=1,
        bytes_per_pair=1_000,
        bytes_in_flight=50,  # of those that wait: a frame of the fabric is 200, and few are on their way at once
    )

    has_priorities: ClassVar[bool] = True

    keys: RoceTransport
    parameters: RoceParameters

    @classmethod
    def on(cls, keys: TransportKeys, outline: NetworkOutline) -> Roce:
        """Return RoCE with these keys on a network; raises InputError for keys that contradict each other."""
        assert isinstance(keys, RoceTransport)
        parameters = roce_parameters(keys, *roce_lines(keys, outline))
        step = keys.congestion_control.flow_window_step(parameters.control_parameters) * parameters.payload_bytes
        window = window_bytes(parameters, outline)
        return cls(
            keys=keys,
            outline=outline,
            parameters=parameters,
            base_round_trip_ps=base_round_trip_ps(parameters, outline),
            largest_frame_bytes=parameters.largest_frame_bytes,
            largest_wire_bytes=parameters.largest_wire_bytes,
            packet_wire_bytes=parameters.largest_wire_bytes,
            answer_wire_bytes=parameters.ack_wire_bytes,
            payload_bytes=parameters.payload_bytes,
            window_bytes=window,
            window_of_path=parameters.window_of_path and not parameters.longest_round_trip,
            measured_by_switches=bool(keys.congestion_control.of_the_fabric),
            acknowledged=parameters.acknowledged,
            priority=parameters.priority,
            answer_priorities=(
                parameters.ack_priority,
                *[parameters.cnp_priority] * (keys.congestion_control.needs_ecn and not parameters.cnp_on_ack),
            ),
            queue_pairs=parameters.queue_pairs_per_pair,
            server_npus=parameters.server_npus,
            pair_of_message=parameters.per_message,
            flow_by_delay=keys.congestion_control.by_delay,
            message_parts=parameters.queue_pairs_per_pair if parameters.split_messages else 1,
            answer_every=parameters.ack_every,
            reducer_answer_every=parameters.reducer_ack_every,
            time_rounding_ps=parameters.time_rounding_ps,
            port_of_message=parameters.port_of_message,
            needs_marks=keys.congestion_control.needs_ecn,
            marks_at_a_step=keys.congestion_control.kind == "dctcp",
            control_numbers=parameters.control_parameters,
            flow_headroom=keys.congestion_control.flow_headroom(parameters.control_parameters),
            flow_start_cost=keys.congestion_control.flow_start_cost,
            flow_rise_round_trips=keys.congestion_control.flow_rise_round_trips,
            flow_errors=_flow_errors(keys),
            flow_held_back=keys.congestion_control.flow_held_back,
            flow_in_flight_bytes=A_ROUND_TRIP if keys.congestion_control.needs_ecn else window,
            flow_first_window_bytes=window if step else 0,
            flow_window_step_bytes=round(step),
        )

    @property
    def bytes_per_pair(self) -> int:
        """Memory of two NPUs that met."""
        return BYTES_PER_MET_PAIR if self.pair_of_message else self.costs.bytes_per_pair * self.queue_pairs

    def frames(self, sizes: Sizes) -> Frames:
        """Full packets, then what is left; of a message in parts, whose packets take turns, what is left of each."""
        roce, payload = self.parameters, self.payload_bytes
        around = roce.header_bytes + roce.telemetry_bytes

        def on_line(data: Sizes) -> Sizes:
            return np.maximum(data + around, roce.minimum_frame_bytes) + roce.line_gap_bytes

        parts = np.minimum(sizes, self.message_parts)
        shorter, longer = sizes // parts, sizes % parts
        full = longer * ((shorter + 1) // payload) + (parts - longer) * (shorter // payload)
        rests = (longer, (shorter + 1) % payload), (parts - longer, shorter % payload)
        not_full = ((np.where(data > 0, count, 0), on_line(data)) for count, data in rests)
        return [(full, on_line(np.full_like(sizes, payload))), *not_full]

    def check(self, network: NetworkConfig, largest_wire_bytes: int) -> list[str]:
        """Return warnings about numbers that can't be meant; raises InputError for what is impossible."""
        return [
            *check_roce(self.keys, self.parameters, self.outline, largest_wire_bytes),
            *self.overtaking(network.topology.routing.kind),
        ]

    def can_lose(self, *, sends: bool) -> list[str]:
        """Return warnings of switches that aren't lossless; ``sends``: whether data have the transport's priority."""
        return lossless_warnings(self.parameters, self.outline, sends=sends)

    def held_by_windows(self) -> list[str]:
        """Return warnings of a window of fixed size that the lines wait for."""
        return window_warnings(self.keys, self.parameters, self.outline) if self.window_bytes else []

    def overtaking(self, routing: str) -> list[str]:
        """Return warnings of routing that parts packets which a control or a reliability takes for those of a path."""
        told = reordering_warnings(self.keys.reliability, routing, self.parameters, self.outline)
        if self.keys.congestion_control.kind == "hpcc" and routing in PARTING and routing != FLOWLET:
            told.append(
                f"on routing {routing} hpcc takes hops of several paths for those of one: use ecmp, flowlet or pinned"
            )
        return told

    def native(self, posting_ps: int) -> Mapping[str, bool | int | float | str]:
        """Return all numbers, those of the congestion control behind ``control.``."""
        numbers = {name: value for name, value in vars(self.parameters).items() if name not in _ELSEWHERE}
        numbers |= {f"control.{name}": value for name, value in self.parameters.control_parameters.items()}
        for rate_bps, more in self.parameters.faster_lines.items():
            numbers |= {f"faster.{rate_bps}.{name}": value for name, value in more.items()}
        if self.keys.own_control is None:
            numbers["control"] = self.parameters.congestion_control
        return {**numbers, "posting_ps": posting_ps}

    def changed_control(self, given: Mapping[str, JsonValue]) -> Mapping[str, float]:
        """Return the numbers of the congestion control that ``given`` sets; its keys are those of a network file."""
        control = self.keys.congestion_control
        refuse(
            self.keys.own_control is not None,
            f"control '{control.kind}' is a class of the user's, whose numbers stay as they are; expected one of ours",
        )
        for key in given:
            stays = key in ("kind", "parameters", *control.lasting, *control.of_the_fabric)
            refuse(stays, f"key 'control.{key}': stays as it is while the network is played")
        document = Document("control", {"kind": control.kind, **given})
        return validated(type(control), document).given()

    def numbers_of_line(self, rate_bps: int) -> Mapping[str, float]:
        """Return the numbers of the congestion control for lines of hosts of a rate, without the least rate."""
        line = Line(rate_bps, self.base_round_trip_ps, self.payload_bytes)
        numbers = roce_parameters(self.keys, line).control_parameters
        return {name: value for name, value in numbers.items() if name != "minimum_rate"}

    def below_round_trip(self, outline: NetworkOutline) -> list[str]:
        """Return warnings of delays that its control takes for congestion and that another idle network has."""
        return list(target_warnings(self.parameters, outline))

    def control_contradiction(self, changed: Mapping[str, float]) -> str | None:
        """Return which number of its congestion control contradicts another, and why, once some have changed."""
        found = self.keys.congestion_control.contradiction({**self.parameters.control_parameters, **changed})
        return None if found is None else f"key 'control.{found[0]}': {found[1]}"

    def in_force(self) -> JsonObject:
        """Return every number as plain data; those of the congestion control with their set."""
        numbers = asdict(self.parameters)
        for elsewhere in ("control_parameters", "faster_lines", "own_file", "own_class"):
            del numbers[elsewhere]
        if not self.server_npus:
            del numbers["server_npus"]
        name = "own" if self.keys.own_control else self.keys.congestion_control.set_name
        faster = {str(rate): self._control(more) for rate, more in self.parameters.faster_lines.items()}
        told = {"parameters": name, "control": self._control(self.parameters.control_parameters)}
        return {**numbers, **told, **({"control_of_faster_lines_bps": faster} if faster else {})}

    def _control(self, given: Mapping[str, float]) -> dict[str, float | int]:
        """The control's numbers, with the unit in the name; whole ones as integers."""
        names = self.keys.congestion_control.names_with_units()
        found = {names.get(key, key): value for key, value in given.items() if key in names}
        return {name: int(value) if float(value).is_integer() else value for name, value in found.items()}

    @staticmethod
    def told(numbers: Mapping[str, Json]) -> Told:
        """Return the congestion control, and its numbers where it has some."""
        control = numbers["control"]
        others = {name: numbers[name] for name in ("cnp_interval_ps", "minimum_rate_bps")}
        title = "congestion control", f"{numbers['congestion_control']}, parameters {numbers['parameters']}"
        return title, {**control, **others} if isinstance(control, Mapping) and control else {}

    def shared_by_flows(self) -> SharedByFlows | None:
        """Return the queue pair of two NPUs, unless each flow has its own."""
        in_turns = self.queue_pairs > 1 and self.message_parts == 1
        if self.pair_of_message or in_turns:
            return None
        return SharedByFlows(
            "queue pair", "queue_pairs: per-message in the network file's transport gives each its own"
        )


def _flow_errors(keys: RoceTransport) -> str:
    """Return how flows play a control, in words; empty: nearly as packets do."""
    control = keys.congestion_control
    if keys.own_control is not None:
        return f"the control {control.kind} not at all: senders share lines evenly at once, without queues"
    if control.flow_errors_percent is None:
        return ""
    least, most = control.flow_errors_percent
    off = f"finish times were {least}% to {most:+}% off those of packets in cases tried with parameters: scaled"
    return f"{control.kind} roughly: {off}" + (", not these" if control.set_name != "scaled" or control.given() else "")
