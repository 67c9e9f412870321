"""The base class of transports: all that the rest of the program asks of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import JsonValue

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.switch import SwitchConfig
from astra_ns3.config.transports.base import TransportKeys
from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass
from astra_ns3.transport.network_outline import NetworkOutline

Sizes = npt.NDArray[np.int64]
Frames = list[tuple[Sizes, Sizes]]
"""Groups of frames, one behind the other: of each message how many there are, and their size on the line."""
Told = tuple[tuple[str, str], Mapping[str, Json]]
"""A line for people, and numbers below it, with their units in their names."""


@dataclass(frozen=True)
class TransportCosts:
    """CPU time and memory of a transport over ns-3's events.

    A packet, its acknowledgement counted, takes ``seconds_per_packet`` at its ends and ``seconds_per_link`` on the way;
    with more pairs than ``pairs_in_cache`` up to ``slowdown`` times more. Up to ``messages_that_share`` messages of
    chunks that run together share a packet.
    """

    seconds_per_packet: float
    seconds_per_link: float
    seconds_per_pair: float
    seconds_per_message: float
    slowdown: float
    pairs_in_cache: int
    messages_that_share: int
    bytes_per_pair: int
    bytes_in_flight: int


@dataclass(frozen=True)
class SharedByFlows:
    """A queue pair or connection that the flows of two NPUs share, and the key that gives each its own."""

    shared: str
    remedy: str


A_ROUND_TRIP = -1
"""As bytes in flight: what the way holds."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Transport(ABC):
    """A transport with the keys of a network file, on the network of ``outline``, which is all that it travels over.

    ``largest_frame_bytes`` and ``largest_wire_bytes``: of any of its frames, in a buffer and on the line.
    ``packet_wire_bytes``: of a full packet, whose answer has ``answer_wire_bytes``. ``window_bytes``: 0 is no limit;
    ``window_of_path``: this is that of the longest path, and each other one has its own.
    ``measured_by_switches``: they tell utilisation over the longest round trip at first.
    ``priority``: of its data; ``answer_priorities``: of its other frames, where these have their own.
    ``acknowledged``: a message is there when its answer is. ``queue_pairs``: between two NPUs, at most.
    ``server_npus``: NPUs of a server, inside which one queue pair is enough; 0: nowhere.
    ``pair_of_message``: each message opens a queue pair of its own.
    ``flow_by_delay``: its control takes longer ways for queues.
    ``message_parts``: each of which is cut into packets by itself. ``pauses_watched``: a switch's ``watchdog``
    holds for it.
    ``answer_every``: packets that one answer is for; ``reducer_answer_every``: beside a reducer, 0: as many.
    ``port_of_message``: each message has a source port of its own, by which switches choose. ``needs_marks``: it waits
    for ECN marks; ``marks_at_a_step``: whose thresholds are equal. ``control_numbers``: those that a congestion control
    of the user's is given. ``has_part_of_its_own``: neither lines nor windows set a part of a message's time, but the
    transport itself. ``flow_headroom``: for flows without packets, the share of a line that it never fills;
    ``flow_start_cost``: round trips that a new queue pair loses for each factor e that its rate falls by;
    ``flow_rise_round_trips``: until it sends at a rate that has become higher;
    ``flow_errors``: of finish times of flows with its control, in words; empty: small, or unknown;
    ``flow_held_back``: what happens in the network may slow a sender; ``flow_in_flight_bytes``: the most that a queue
    pair or connection has under way: 0 for no limit, A_ROUND_TRIP where marks hold it there;
    ``flow_first_window_bytes``: of a new connection, which grows by ``flow_window_growth`` of what is acknowledged, 0
    where windows don't grow; ``flow_window_step_bytes``: by so much in each round trip, without a largest;
    ``flow_opening_wire_bytes``: of the packet each way that opens a connection, 0 where nothing does.
    """

    kind: ClassVar[str]
    costs: ClassVar[TransportCosts]
    marks_at_enqueue: ClassVar[bool] = False
    """When frames are marked unless the file says."""
    ports_of_connections: ClassVar[bool] = False
    """Ways are hashed from the ports of a connection."""
    pauses_watched: ClassVar[bool] = True
    has_priorities: ClassVar[bool] = False
    """Messages may travel in different priorities."""
    has_part_of_its_own: ClassVar[bool] = False

    keys: TransportKeys
    outline: NetworkOutline
    base_round_trip_ps: int
    largest_frame_bytes: int
    largest_wire_bytes: int
    packet_wire_bytes: int
    answer_wire_bytes: int
    payload_bytes: int
    window_bytes: int
    acknowledged: bool
    priority: int = 0
    answer_priorities: tuple[int, ...] = ()
    queue_pairs: int = 1
    server_npus: int = 0
    pair_of_message: bool = False
    flow_by_delay: bool = False
    message_parts: int = 1
    answer_every: int = 1
    reducer_answer_every: int = 0
    time_rounding_ps: int = 0
    port_of_message: bool = False
    needs_marks: bool = False
    marks_at_a_step: bool = False
    control_numbers: Mapping[str, float] | None = None
    flow_headroom: float = 0.0
    flow_start_cost: float = 0.0
    flow_rise_round_trips: float = 0.0
    flow_errors: str = ""
    flow_held_back: bool = True
    flow_in_flight_bytes: int = 0
    flow_first_window_bytes: int = 0
    flow_window_growth: float = 0.0
    flow_window_step_bytes: int = 0
    flow_opening_wire_bytes: int = 0
    window_of_path: bool = False
    measured_by_switches: bool = False

    @classmethod
    @abstractmethod
    def on(cls, keys: TransportKeys, outline: NetworkOutline) -> Transport:
        """Return the transport of these keys on a network; raises InputError for what no network could carry."""

    @property
    def wire_sizes(self) -> tuple[int, int]:
        """Bytes on the line of a full packet and of its answer."""
        return self.packet_wire_bytes, self.answer_wire_bytes

    @property
    def takes_turns(self) -> bool:
        """Whether messages between two NPUs go over several queue pairs in turn."""
        return self.queue_pairs > 1 and self.message_parts == 1

    @property
    def window_lets_out_bytes(self) -> int:
        """Bytes of data that leave on a window: its last packet may reach beyond it. 0 is no limit."""
        return -(-self.window_bytes // self.payload_bytes) * self.payload_bytes

    @property
    def bytes_per_pair(self) -> int:
        """Memory of two NPUs that met."""
        return self.costs.bytes_per_pair

    @abstractmethod
    def frames(self, sizes: Sizes) -> Frames:
        """Return the frames of messages of these sizes, outline ``(messages,)``."""

    @abstractmethod
    def check(self, network: NetworkConfig, largest_wire_bytes: int) -> list[str]:
        """Return warnings about numbers that can't be meant, each one line; raises InputError for what is impossible.

        ``largest_wire_bytes``: of any frame on the network.
        """

    def can_lose(self, *, sends: bool) -> list[str]:
        """Return warnings of switches that aren't lossless; ``sends``: whether data have the transport's priority."""
        del sends
        return []

    def held_by_windows(self) -> list[str]:
        """Return warnings of windows that the lines wait for; they hold for packets and for flows."""
        return []

    def overtaking(self, _routing: str) -> list[str]:
        """Return warnings of routing by which packets overtake each other and count as lost."""
        return []

    @abstractmethod
    def in_force(self) -> JsonObject:
        """Return every number as plain data, as run.json has them."""

    @staticmethod
    @abstractmethod
    def told(numbers: Mapping[str, Json]) -> Told:
        """Return what people are told of numbers as :meth:`in_force` gives them."""

    def changed_control(self, given: Mapping[str, JsonValue]) -> Mapping[str, float]:
        """Return other numbers of its congestion control, by name; raises InputError for what it hasn't."""
        raise wrong(f"transport {self.kind} has no control whose numbers change, expected roce")

    def numbers_of_line(self, _rate_bps: int) -> Mapping[str, float]:
        """Return the numbers of its congestion control for lines of hosts of a rate, without the least rate."""
        return {}

    def below_round_trip(self, _outline: NetworkOutline) -> list[str]:
        """Return warnings of delays that its control takes for congestion and that another idle network has."""
        return []

    def control_contradiction(self, changed: Mapping[str, float]) -> str | None:
        """Return which number of its congestion control contradicts another, and why, once some have changed."""
        return None

    def shared_by_flows(self) -> SharedByFlows | None:
        """Return what flows of two NPUs share; None if nothing."""
        return None

    @abstractmethod
    def native(self, posting_ps: int) -> Mapping[str, bool | int | float | str]:
        """Return what the native transport of this kind is made from, by the names that it reads.

        ``posting_ps``: what an NPU spends before it sends a message.
        """

    def chooses_marking(self, switch: SwitchConfig) -> bool:
        """Return whether the program chooses the thresholds of a switch that this transport passes."""
        return self.needs_marks if switch.ecn is None else switch.ecn == "scaled"
