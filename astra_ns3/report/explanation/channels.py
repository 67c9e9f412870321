"""Plays the kernels of NCCL's channels again, from the tables of a run.

A run doesn't record its kernels. A kernel's work follows from recorded tables: the arrivals of messages, the
channel's costs and the steps of its schedule. docs/nccl.md has the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np

from astra_ns3.frozen import dataclass
from astra_ns3.network.instance import unpack_instance
from astra_ns3.report.explanation.parts import BUSY, COPYING, LATENCY, MESSAGE, SIGNAL, Segment
from astra_ns3.report.records import COLLECTIVES, Batch, table_of
from astra_ns3.report.tables import Numbers, Records
from astra_ns3.units import PS_PER_MS, PS_PER_US

_PER_MILLE = 1_000
_US_PER_MS = PS_PER_MS // PS_PER_US
_BY_NCCL = "nccl "
_COSTS = (
    "lanes",
    "whole_bytes",
    "blocks",
    "start_ps",
    "near_ps",
    "far_ps",
    "near_copy_bytes_per_ms",
    "far_copy_bytes_per_ms",
    "near_wire_per_mille",
    "far_wire_per_mille",
    "copies_as_it_comes",
)


@dataclass(frozen=True)
class Arrival:
    """A message that has come to a part. ``message``: its row in the table of messages.

    ``copy_ps``: that copying takes; ``latency_ps``: that passes after it; ``whole``: it is copied once all is there.
    """

    message: int
    source: int
    start_ps: int
    end_ps: int
    step: int
    is_signal: bool
    copy_ps: int
    latency_ps: int
    whole: bool

    @property
    def from_ps(self) -> int:
        """From when on it may be copied."""
        return self.end_ps if self.whole else self.start_ps


@dataclass(frozen=True)
class Handled:
    """A message that was handled at ``time_ps``. If a step has several messages, this is the last.

    ``begin_ps`` to ``copied_ps``: when it was copied. ``after``: what was copied before it and kept the kernel busy
    until ``begin_ps``; ``turn``: what was handled before and let its step begin, if that was at ``time_ps`` only.
    """

    arrival: Arrival
    begin_ps: int
    copied_ps: int
    time_ps: int
    after: Handled | None
    turn: Handled | None


class Channels:
    """The channels of a run. ``messages``: their columns, None if none were recorded."""

    def __init__(self, run: Records, messages: Batch | None) -> None:
        by_nccl = [row for row in run.rows(COLLECTIVES) if row["algorithm"].startswith(_BY_NCCL)]
        self._protocols = {int(row["collective"]): row["algorithm"].split()[2] for row in by_nccl}
        self._messages = messages
        self._parts: dict[tuple[int, int], Mapping[int, Sequence[Handled]]] = {}
        costs, rows = table_of(run, "channels"), table_of(run, "channel_rows")
        self._costs: dict[tuple[int, int], dict[str, int]] = {}
        self._rows: dict[int, Batch] = {}
        if costs is None or rows is None or messages is None:
            return
        names = ("collective", "chunk", "schedule", *_COSTS)
        for collective, chunk, *numbers in costs.tuples(*names):
            self._costs[collective, chunk] = dict(zip(names[2:], numbers, strict=True))
        table = rows.whole(("schedule", "step", "first_block", "block_count"))
        for schedule in np.unique(table["schedule"]).tolist():
            here = table["schedule"] == schedule
            self._rows[schedule] = {name: column[here] for name, column in table.items()}
        metadata = run.metadata
        npus = metadata["job"]["npus"] if "job" in metadata else range(metadata["npus"])
        self._servers = np.array(npus, dtype=np.int64) // metadata["npus_per_server"]
        self._between = _between_servers(messages, self._servers)

    def play(self, instance: int) -> bool:
        """Whether a channel plays an instance."""
        return unpack_instance(instance)[0] in self._protocols

    def tell(self, instance: int) -> bool:
        """Whether it is known what its kernels do."""
        return unpack_instance(instance)[:2] in self._costs

    def protocol(self, instance: int) -> str:
        """LL, LL128 or Simple."""
        return self._protocols[unpack_instance(instance)[0]]

    def start_ps(self, instance: int) -> int:
        """How long it takes from its start on an NPU to the first sends."""
        return self._costs[unpack_instance(instance)[:2]]["start_ps"]

    def handled_at(self, instance: int, npu: int, began_ps: int, received: Numbers, time_ps: int) -> Sequence[Handled]:
        """Return the messages, of the rows ``received``, that a part that began at ``began_ps`` had handled by then."""
        if (instance, npu) not in self._parts:
            self._parts[instance, npu] = self._played(instance, npu, began_ps, received)
        return self._parts[instance, npu].get(time_ps, ())

    def _played(self, instance: int, npu: int, began_ps: int, received: Numbers) -> Mapping[int, Sequence[Handled]]:
        costs = self._costs[unpack_instance(instance)[:2]]
        arrivals = sorted(self._arrivals(costs, npu, received), key=lambda each: each.step)
        by_lane: dict[int, list[Arrival]] = {}
        for arrival in arrivals:
            by_lane.setdefault(arrival.step % costs["lanes"], []).append(arrival)
        found: dict[int, list[Handled]] = {}
        for lane in by_lane.values():
            for handled in _handled(lane, began_ps):
                found.setdefault(handled.time_ps, []).append(handled)
        return found

    def _arrivals(self, costs: Mapping[str, int], npu: int, received: Numbers) -> list[Arrival]:
        messages, rows = self._messages, self._rows[costs["schedule"]]
        assert messages is not None
        kept = messages["row"][received] % len(rows["step"])
        sources, wire = messages["source"][received], messages["bytes"][received]
        # Switches that reduce are behind the last NPU, and have no kernel.
        npus = len(self._servers)
        in_switch = npu >= npus
        shared = self._servers[np.minimum(sources, npus - 1)] == self._servers[min(npu, npus - 1)]
        near = np.where(sources < npus, shared, ~np.isin(sources, self._between)) | in_switch
        rates = np.where(near, costs["near_copy_bytes_per_ms"], costs["far_copy_bytes_per_ms"]) * (not in_switch)
        per_mille = np.where(near, costs["near_wire_per_mille"], costs["far_wire_per_mille"])
        data = _data_bytes(costs, rows["first_block"][kept], rows["block_count"][kept], wire, per_mille)
        copies = np.where(rates > 0, _copying_ps(data, np.maximum(rates, 1)), 0)
        columns = (
            received,
            sources,
            messages["start_ps"][received],
            messages["end_ps"][received],
            rows["step"][kept],
            rows["block_count"][kept] == 0,
            copies,
            np.where(near, costs["near_ps"], costs["far_ps"]) * (not in_switch),
            ~near & (costs["copies_as_it_comes"] == 0),
        )
        return [Arrival(*cells) for cells in zip(*(column.tolist() for column in columns), strict=True)]


def _between_servers(messages: Batch, servers: Numbers) -> Numbers:
    """Switches that reduce and hear of several servers, or of other switches; all others are in a server.

    ``servers``: of each NPU.
    """
    npus = len(servers)
    heard = messages["destination"] >= npus
    switches, sources = messages["destination"][heard], messages["source"][heard]
    of_npu = sources < npus
    pairs = np.unique(np.stack([switches[of_npu], servers[sources[of_npu]]], axis=1), axis=0)
    found, counts = np.unique(pairs[:, 0], return_counts=True)
    return np.union1d(found[counts > 1], switches[~of_npu])


def _copying_ps(data: Numbers, bytes_per_ms: Numbers) -> Numbers:
    """Return how long copies take, as the network rounds it; in two steps, which hold for 9 TB."""
    whole, left = np.divmod(data * PS_PER_US, bytes_per_ms)
    copying: Numbers = whole * _US_PER_MS + left * _US_PER_MS // bytes_per_ms
    return copying


def _data_bytes(costs: Mapping[str, int], first: Numbers, count: Numbers, wire: Numbers, per_mille: Numbers) -> Numbers:
    """Bytes of data in messages. With as many bytes on the wire or more these tell; with fewer the blocks do."""
    if (per_mille >= _PER_MILLE).all():
        return wire * _PER_MILLE // per_mille
    whole, blocks = costs["whole_bytes"], costs["blocks"]
    sizes: Numbers = (first + count) * whole // blocks - first * whole // blocks
    return np.maximum(sizes, 1)


def _handled(arrivals: Sequence[Arrival], began_ps: int) -> list[Handled]:
    """Yield how a lane handled its messages, in the order of its steps; the part began at ``began_ps``."""
    found: list[Handled] = []
    turn: Handled | None = None  # what was handled last of the steps before, and so when this one began
    last: Handled | None = None  # what was copied last of the steps before
    for _, step in groupby(arrivals, key=lambda each: each.step):
        here = [_one(arrival, began_ps, turn, last) for arrival in step]
        turn = max(here, key=lambda each: each.time_ps)
        copied = [each for each in here if not each.arrival.is_signal]
        last = max((*copied, *([] if last is None else [last])), key=lambda each: each.copied_ps, default=None)
        found += here
    return found


def _one(arrival: Arrival, began_ps: int, turn: Handled | None, last: Handled | None) -> Handled:
    from_ps = began_ps if turn is None else turn.time_ps
    begin_ps = copied_ps = handled_ps = arrival.end_ps
    after: Handled | None = None
    if not arrival.is_signal:
        begin_ps, after = arrival.from_ps, None
        if last is not None and last.copied_ps > begin_ps:
            begin_ps, after = last.copied_ps, last
        copied_ps = max(arrival.end_ps, begin_ps + arrival.copy_ps)
        handled_ps = copied_ps + arrival.latency_ps
    return Handled(
        arrival, begin_ps, copied_ps, max(handled_ps, from_ps), after, turn if from_ps > handled_ps else None
    )


def links_to(handled: Handled, npu: int, collective: int, protocol: str) -> tuple[tuple[Segment, ...], Arrival]:
    """Return what took time until a message was handled, the latest first, and the message that it begins with.

    What a kernel had copied before it could go on with the message counts as being busy.
    """
    while handled.turn is not None:
        handled = handled.turn
    links = [Segment(LATENCY, npu, handled.copied_ps, handled.time_ps, collective=collective, protocol=protocol)]
    kind = COPYING
    while (arrival := handled.arrival).end_ps < handled.copied_ps and handled.after is not None:
        links.append(Segment(kind, npu, handled.begin_ps, handled.copied_ps, collective=collective, protocol=protocol))
        handled, kind = handled.after, BUSY
    links.append(Segment(kind, npu, arrival.end_ps, handled.copied_ps, collective=collective, protocol=protocol))
    kind = SIGNAL if arrival.is_signal else MESSAGE
    way = Segment(
        kind,
        arrival.source,
        arrival.start_ps,
        arrival.end_ps,
        collective=collective,
        message=arrival.message,
        protocol=protocol if arrival.is_signal else "",
    )
    return (*links, way), arrival
