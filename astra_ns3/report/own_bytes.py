"""Waits of messages behind their own bytes, at lines slower than those before. Nothing but faster lines spares them.

Accounts of packets have such a wait in the queue of a switch, in pauses, or where a control paces a message to the slow
line. A message alone on the network takes as long, so all of it counts as time on the line. Where an event slowed the
line, the time beyond that of the line as it was built counts as slowed by events.

*Model limits*: a line's rate is its mean while the message was under way. Where a network file names another file, the
time of the deciding packet tells the rates, except where a switch cuts through. Beside events of rates, what a message
loses on a slower one of several unlike ways counts as slowed by them, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.topology.routing import PARTING
from astra_ns3.frozen import dataclass
from astra_ns3.network.recorded import JOB
from astra_ns3.network.run_document import FileDocument
from astra_ns3.report.network_of import network_of
from astra_ns3.report.ports import changes_of_rates, paces
from astra_ns3.report.records import Batch, Recorded, by_value, needed, table_of
from astra_ns3.report.signals import Signals
from astra_ns3.report.tables import Numbers, Records, is_analytical
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.routes import shortest_paths
from astra_ns3.transport.wire import (
    ETHERNET_HEADER_AND_FCS_BYTES,
    PREAMBLE_AND_GAP_BYTES,
    SMALLEST_FRAME_BYTES,
    tcp_packet_bytes,
)
from astra_ns3.units import LARGEST_INTEGER, PS_PER_SECOND

Columns = Batch
Real = npt.NDArray[np.float64]
_PS_PER_BYTE = 8.0 * PS_PER_SECOND
_HOP_COLUMNS = ("message", "hop", "port", "arrival_ps", "queue_ps", "paused_ps", "serialisation_ps", "propagation_ps")
# A packet's head alone counts ahead of a switch that cuts through; rounding takes less off a whole packet.
_ALMOST_WHOLE = 0.98
_WAITS = ("queue_ps", "paused_ps")
_OF_SWITCHES = {"queue_ps": "switch_queue_ps", "paused_ps": "switch_paused_ps"}
_WAITS_FOR_LATER_LINES = (*_OF_SWITCHES.values(), "nic_paused_ps", "pacing_ps")
# A message with full frames, whatever the payload.
_LONG_BYTES = 2**30


class WithoutOwn(NamedTuple):
    """Messages and, with accounts, the lines that they took (account_hops.parquet), without waits for own bytes.

    Messages with accounts have two columns more: ``slowed_ps``, how much longer events kept them on a line, which lines
    have, too; ``later_ps``, how much of this and of ``serialisation_ps`` the lines behind the first one add.
    """

    messages: Columns | None
    hops: Columns | None = None


@dataclass(frozen=True)
class _Frames:
    """Bytes on the line of each message's full frames and of its last, and how many full ones come before that.

    Messages may be cut into ``parts`` that take turns at the first line. Then ``full`` is the mean of all but the last.
    ``queued``: a message's frames stand behind each other in the NIC, as TCP's segments do.
    """

    full: Numbers
    last: Numbers
    before: Numbers
    parts: Numbers
    queued: bool

    @classmethod
    def of(cls, in_force: FileDocument, sizes: Numbers) -> _Frames:
        """Return the frames of messages of some sizes."""
        roce, tcp = in_force.get("roce"), in_force.get("tcp")
        if roce is None:
            payload, parts = int(tcp["segment_bytes"]) if tcp else int(sizes.max(initial=1)), 1
            around = tcp_packet_bytes(0, timestamps=bool(tcp and tcp["timestamps"])) + ETHERNET_HEADER_AND_FCS_BYTES
            least, gap = SMALLEST_FRAME_BYTES, PREAMBLE_AND_GAP_BYTES
        else:
            payload, parts = roce["payload_bytes"], roce["queue_pairs_per_pair"] if roce["split_messages"] else 1
            around = roce["header_bytes"] + roce["telemetry_bytes"]
            least, gap = roce["minimum_frame_bytes"], roce["line_gap_bytes"]
        parts_of = np.clip(sizes, 1, parts)
        data = np.maximum(-(-sizes // parts_of), 1)
        whole = parts_of * ((data - 1) // payload)
        full, last = (np.maximum(each + around, least) + gap for each in (np.full_like(data, payload), data % payload))
        last = np.where(data % payload, last, full)
        before = whole + parts_of - 1
        full = np.where(before > 0, (whole * full + (parts_of - 1) * last) // np.maximum(before, 1), full)
        return cls(full, last, before, parts_of, bool(tcp and roce is None))


def full_frame_bytes(run: Records) -> int:
    """Return the bytes on the line of a full frame of a run."""
    return int(_Frames.of(run.metadata.get("in_force") or {}, np.full(1, _LONG_BYTES)).full[0])


def has_accounts(messages: Columns | None) -> bool:
    """Return whether messages have what they waited for."""
    return messages is not None and "turn_ps" in messages


def messages_of(run: Records) -> Columns | None:
    """Return the columns of accounts.parquet, or of flows.parquet if there is none; None if there is neither."""
    table = table_of(run, "accounts") or table_of(run, "flows")
    return None if table is None else table.whole(_columns_of(table))


def recorded_messages(run: Records) -> WithoutOwn:
    """Return the messages that a run recorded."""
    messages, table = messages_of(run), table_of(run, "account_hops")
    if messages is None or not has_accounts(messages):
        return WithoutOwn(messages)
    return _Lines(run).without_own(messages, None if table is None else table.whole(_HOP_COLUMNS))


def account_batches(run: Records, columns: Sequence[str]) -> Iterator[Batch]:
    """Yield columns of accounts, without signals and without waits for own bytes, piece by piece.

    Raises InputError if the run has no accounts.
    """
    table, hops = needed(run, "accounts"), table_of(run, "account_hops")
    lines, signals = _Lines(run), Signals.of(table)
    pieces, first = None if hops is None else _Pieces(hops), 0
    for messages in table.batches(_columns_of(table)):
        after = first + len(messages["bytes"])
        own, _ = lines.without_own(messages, None if pieces is None else pieces.until(first, after))
        assert own is not None
        data, first = ~signals.among(messages), after
        yield {name: own[name][data] for name in columns}


def _columns_of(table: Recorded) -> list[str]:
    return [name for name in table.columns if name != JOB.name]


class _Pieces:
    """The rows of account_hops.parquet, which stand in the order of their messages, for some messages at a time."""

    def __init__(self, table: Recorded) -> None:
        self._batches = table.batches(_HOP_COLUMNS)
        self._read: list[Batch] = []

    def until(self, first: int, after: int) -> Columns:
        """Return the rows of the messages from ``first`` to before ``after``, numbered from 0; then they are gone."""
        while not self._read or not len(self._read[-1]["message"]) or self._read[-1]["message"][-1] < after:
            if (batch := next(self._batches, None)) is None:
                break
            self._read.append(batch)
        if not self._read:
            return {name: np.zeros(0, object if name == "port" else np.int64) for name in _HOP_COLUMNS}
        every = {name: np.concatenate([batch[name] for batch in self._read]) for name in _HOP_COLUMNS}
        end = int(np.searchsorted(every["message"], after))
        self._read = [{name: column[end:] for name, column in every.items()}]
        return {name: column[:end] - first if name == "message" else column[:end] for name, column in every.items()}


class _Lines:
    """The lines and the transport of a run, by which waits for own bytes are told."""

    def __init__(self, run: Records) -> None:
        self._in_force = run.metadata.get("in_force") or {}
        self._paces, self._changes = paces(run), changes_of_rates(run)
        slowest_bps = min((pace.built_bps for pace in self._paces.values()), default=None)
        self._several_ways = _take_several_ways(run, slowest_bps)
        self._of_flows = is_analytical(run)

    def without_own(self, messages: Columns, hops: Columns | None) -> WithoutOwn:
        """Return messages that have accounts, and their lines, without waits for own bytes."""
        frames, none = _Frames.of(self._in_force, messages["bytes"]), np.zeros_like(messages["bytes"])
        messages = {"ideal_ps": none, **messages, "slowed_ps": none, "later_ps": none}
        if hops is None:
            return WithoutOwn(messages)
        rates, built = self._rates_bps(messages, hops)
        if frames.parts.max(initial=1) > 1 if self._of_flows else self._several_ways:
            found = _of_several_ways(messages, hops, frames)
        elif self._of_flows:
            found = _of_flows(messages, hops, frames, rates, built)
        else:
            found = _of_packets(messages, hops, frames, rates)
        beside = self._changes.mean_bps(messages["start_ps"], np.maximum(messages["end_ps"], messages["start_ps"] + 1))
        return _slowed(found, beside < self._changes.built_bps, rates, built)

    def _rates_bps(self, messages: Columns, hops: Columns) -> tuple[Real, Real]:
        """Return the mean rate of each hop's line from the message's turn to the packet's leaving, and the line's rate
        without events; NaN: not known.
        """
        begin = (messages["start_ps"] + messages["turn_ps"])[hops["message"]]
        end = hops["arrival_ps"] + hops["queue_ps"] + hops["paused_ps"] + hops["serialisation_ps"]
        found, built = np.full(len(begin), np.nan), np.full(len(begin), np.nan)
        for port, rows in by_value(hops["port"]):
            if port in self._paces:
                found[rows] = self._paces[port].mean_bps(begin[rows], np.maximum(end[rows], begin[rows] + 1))
                built[rows] = self._paces[port].built_bps
        return found, built


def _take_several_ways(run: Records, slowest_bps: int | None) -> bool:
    """Return whether the packets of a message may share no line but the first and the last."""
    in_force, network = run.metadata.get("in_force") or {}, network_of(run.metadata["network"])
    roce = in_force.get("roce")
    part = bool(roce and roce["split_messages"] and roce["queue_pairs_per_pair"] > 1)
    if isinstance(network, NetworkConfig) and slowest_bps is not None:
        part = part or network.topology.routing.parts(full_frame_bytes(run), slowest_bps)
        return part and shortest_paths(build_graph(network.topology)).branch
    topology = (run.metadata.get("network") or {}).get("topology") or {}
    return part or (topology.get("routing") or {}).get("kind") in PARTING


def _of_several_ways(messages: Columns, hops: Columns, frames: _Frames) -> WithoutOwn:
    """Take out of waits what the recorded times alone have of them, as far as the waits go."""
    found, of = dict(messages), hops["message"]
    told_ps = messages["serialisation_ps"] + messages["propagation_ps"] + messages["acknowledgement_ps"]
    left = np.maximum(messages["ideal_ps"] - told_ps, 0)
    left = left - _shifted(found, {"nic_queue_ps": (frames.parts - 1) * messages["serialisation_ps"]}, left)
    later = _shifted(found, dict.fromkeys(_WAITS_FOR_LATER_LINES, left), left)
    kept = {column: found[part] / np.maximum(messages[part], 1) for column, part in _OF_SWITCHES.items()}
    behind = hops["hop"] > 0
    lines = {name: np.where(behind, hops[name] * kept[name][of], hops[name]).astype(np.int64) for name in _WAITS}
    return WithoutOwn({**found, "later_ps": later}, {**hops, **lines})


def _of_packets(messages: Columns, hops: Columns, frames: _Frames, rates: Real) -> WithoutOwn:
    """Follow each message's packets as if they were alone, line by line; what its sender held back doesn't queue."""
    count, of = len(messages["bytes"]), hops["message"]
    came, heads, slowest, turns = (np.zeros(count) for _ in range(4))
    # How long the sender held packets back: then they come later to a slow line, and wait less there.
    held = (messages["window_ps"] + messages["transport_ps"] + messages["pacing_ps"]).astype(float)
    own = {name: np.zeros(len(of), dtype=np.int64) for name in _WAITS}
    left, unqueued = held, np.zeros(count)
    for hop in range(int(hops["hop"].max(initial=-1)) + 1):
        rows = np.flatnonzero(hops["hop"] == hop)
        at, packet = of[rows], hops["serialisation_ps"][rows].astype(float)
        rate = rates[rows]
        rate = np.where(np.isnan(rate), frames.last[at] * _PS_PER_BYTE / np.maximum(packet, 1), rate)
        full = np.round(frames.full[at] * _PS_PER_BYTE / rate)
        is_head = packet < _ALMOST_WHOLE * frames.last[at] * _PS_PER_BYTE / rate
        before = frames.before[at]
        if not hop:  # TCP's own part has what the NIC took for earlier segments in it
            held[at] -= np.minimum(np.where(messages["transport_ps"][at] > 0, before * full, 0), held[at])
            left = held.copy()
            turns[at] = (before + 1) * full * (1 - 1 / frames.parts[at])
            if frames.queued:  # until the NIC had the last segment, it can't have sent more than the line carries
                turns[at] = np.maximum(before * full - messages["transport_ps"][at], 0)
        # When the line is free of the message's other packets; the last one may come before that.
        free = np.where(before > 0, heads[at] + full + (before - 1) * np.maximum(slowest[at], full), 0)
        wait = np.maximum(free - came[at], 0) if hop else np.zeros(len(at))
        came[at] = (came[at] + wait if hop else before * full) + packet
        heads[at] += np.where(is_head, packet, full)
        slowest[at] = np.maximum(slowest[at], full)
        queued = np.maximum(wait - left[at], 0)
        left[at] = np.maximum(left[at] - wait, 0)
        for name in _WAITS:
            own[name][rows] = np.minimum(queued, hops[name][rows])
            queued = queued - own[name][rows]
        unqueued[at] += queued
    found, sums = dict(messages), {name: np.bincount(of, own[name], count).astype(np.int64) for name in _WAITS}
    absorbed = (held - left).astype(np.int64)
    blind = np.minimum(absorbed, messages["window_ps"] + messages["transport_ps"])
    shifts = {
        "switch_queue_ps": sums["queue_ps"],
        "switch_paused_ps": sums["paused_ps"],
        "pacing_ps": absorbed - blind,
        "nic_paused_ps": unqueued.astype(np.int64),
    }
    _shifted(found, {"nic_queue_ps": turns.astype(np.int64)})
    later = _shifted(found, shifts)
    return WithoutOwn({**found, "later_ps": later}, {**hops, **{name: hops[name] - own[name] for name in _WAITS}})


def _slowed(told: WithoutOwn, beside: npt.NDArray[np.bool_], rates: Real, built: Real) -> WithoutOwn:
    """Take out of the time on the line what messages ``beside`` events of rates have of it beyond their time alone.

    It is told of the port whose line was slowed most.
    """
    messages, hops = told.messages, told.hops
    assert messages is not None
    assert hops is not None
    of, on_the_way = hops["message"], messages["propagation_ps"]
    answer = np.minimum(messages["acknowledgement_ps"], on_the_way)
    ideal = messages["ideal_ps"]
    line_ps = np.where(beside & (ideal > 0), ideal - on_the_way - answer, LARGEST_INTEGER)
    slowed = messages["serialisation_ps"] - np.clip(line_ps, 0, messages["serialisation_ps"])
    left = np.nan_to_num(rates / built, nan=1.0)
    order = np.lexsort((left, of))
    slowest = order[np.flatnonzero(np.diff(of[order], prepend=-1))]
    there = np.zeros_like(of)
    there[slowest] = np.where(left[slowest] < 1, slowed[of[slowest]], 0)
    messages = {**messages, "slowed_ps": slowed, "serialisation_ps": messages["serialisation_ps"] - slowed}
    return WithoutOwn(messages, {**hops, "slowed_ps": there})


def _of_flows(messages: Columns, hops: Columns, frames: _Frames, rates: Real, built: Real) -> WithoutOwn:
    """Take out of waits at lines that an event slowed what the own bytes need there; a line may carry a share of them.

    Flows' time on the line is that of the slowest line, so other lines have no waits for own bytes.
    """
    of, count = hops["message"], len(messages["bytes"])
    wire, line_ps = (frames.before * frames.full + frames.last)[of], messages["serialisation_ps"][of]
    beyond = np.minimum(wire * _PS_PER_BYTE / rates, line_ps * built / rates) - line_ps
    own = np.minimum(np.nan_to_num(np.maximum(beyond, 0)), hops["queue_ps"]).astype(np.int64)
    found, first = dict(messages), hops["hop"] == 0
    _shifted(found, {"nic_queue_ps": np.bincount(of[first], own[first], count).astype(np.int64)})
    later = _shifted(found, {"switch_queue_ps": np.bincount(of[~first], own[~first], count).astype(np.int64)})
    return WithoutOwn({**found, "later_ps": later}, {**hops, "queue_ps": hops["queue_ps"] - own})


def _shifted(messages: dict[str, Numbers], shifts: Mapping[str, Numbers], most: Numbers | None = None) -> Numbers:
    """Move so much of parts to the time on the line, as far as they go; return how much of each message that is.

    ``most``: no more than this of all parts together.
    """
    moved = np.zeros_like(messages["bytes"])
    for name, shift in shifts.items():
        some = np.minimum(shift if most is None else np.minimum(shift, most - moved), messages[name])
        messages[name] = messages[name] - some
        moved = moved + some
    messages["serialisation_ps"] = messages["serialisation_ps"] + moved
    return moved
