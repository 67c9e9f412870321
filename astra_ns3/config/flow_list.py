"""A workload without a training loop: a list of flows, each from one NPU to another, in columns.

A million flows take some 40 MB: there is no object per flow. A flow waits for a *gate* besides its start, which opens
when others have been delivered; flows that wait for the same others share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.config.core.scales import check_scales
from astra_ns3.errors import refuse, some_of, wrong
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.units import LARGEST_INTEGER, counted

NO_GATE = -1
MOST_FLOWS = 2**31 - 1
"""Numbers of flows are below it, and of NPUs."""
_MOST_NAMED = 5

Numbers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]


def _none() -> Places:
    return np.zeros(0, dtype=np.int32)


def _one_zero() -> Numbers:
    return np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FlowGates:
    """The gates that flows wait at. Gate ``g`` hears of the delivery of flows ``members[offsets[g]:offsets[g + 1]]``.

    ``needed``: how many of these deliveries open it for all that wait. ``each``: instead, every delivery lets the next
    one go of those that wait, in the order of their numbers. Shapes: ``offsets`` ``(gates + 1,)`` int64, ``members``
    int32, ``needed`` ``(gates,)`` int32, ``each`` ``(gates,)`` bool.
    """

    offsets: Numbers = field(default_factory=_one_zero)
    members: Places = field(default_factory=_none)
    needed: Places = field(default_factory=_none)
    each: npt.NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.needed)

    def heard_by(self, flows: int) -> tuple[Numbers, Places]:
        """The gates that hear of each of ``flows`` flows: of flow ``f`` ``gates[offsets[f]:offsets[f + 1]]``."""
        gate_of = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(self.members, kind="stable")
        counts = np.bincount(self.members, minlength=flows)
        return np.concatenate([_one_zero(), np.cumsum(counts)]), gate_of[order]

    @classmethod
    def of(cls, members: Sequence[Sequence[int]], needed: Sequence[int], each: Sequence[bool]) -> FlowGates:
        """Gates from lists, one entry each."""
        sizes = np.fromiter((len(some) for some in members), dtype=np.int64, count=len(members))
        total = int(sizes.sum())
        flat = np.fromiter((min(flow, MOST_FLOWS) for some in members for flow in some), dtype=np.int32, count=total)
        return cls(
            np.concatenate([_one_zero(), np.cumsum(sizes)]),
            flat,
            np.array([min(count, MOST_FLOWS) for count in needed], dtype=np.int32),
            np.array(each, dtype=np.bool_),
        )


@dataclass(frozen=True, eq=False)
class FlowList:
    """Flows in columns of shape ``(flows,)``, and the file that they came from.

    ``sources``, ``destinations``: NPUs (int32). ``sizes_bytes``, ``starts_ps``: int64; one with a gate starts when that
    has opened, and not before its start. ``waits_for``: the gate of each, :data:`NO_GATE` for none (int32; None: none
    has one). ``npus``: how many NPUs it takes at least. ``lines``: of the file, for messages (None: not known).
    ``format``: what kind of file it was. ``warnings``: what its user should know, each one line. ``connections``: which
    of its two NPUs' connections each takes, from 0 (int32; None: the network file says). Raises InputError.
    """

    sources: Places
    destinations: Places
    sizes_bytes: Numbers
    starts_ps: Numbers
    waits_for: Places | None = None
    gates: FlowGates = field(default_factory=FlowGates)
    npus: int = 0
    source: str = "flows"
    format: str = "flows"
    lines: Places | None = None
    warnings: tuple[str, ...] = ()
    connections: Places | None = None

    def __post_init__(self) -> None:
        refuse(not len(self.sizes_bytes), "has no flows", self.source)
        self._check_columns()
        needed = int(max(self.sources.max(), self.destinations.max())) + 1
        object.__setattr__(self, "npus", max(self.npus, needed))
        of_all = self.sources, self.destinations, self.sizes_bytes, self.starts_ps
        for column in (*of_all, self.waits_for, self.lines, self.connections):
            if column is not None:
                column.setflags(write=False)
        if self.waits_for is not None:
            _check_gates(self)

    def __len__(self) -> int:
        return len(self.sizes_bytes)

    @classmethod
    def of(
        cls,
        sources: Iterable[int],
        destinations: Iterable[int],
        sizes_bytes: Iterable[int],
        starts_ps: Iterable[int],
        after: Sequence[Sequence[int]] | None = None,
        *,
        source: str = "flows",
        npus: int = 0,
    ) -> FlowList:
        """From lists; ``after``: the numbers, from 0, of the flows that each waits for."""
        columns = _columns(sources, destinations, sizes_bytes, starts_ps)
        if after is None or not any(after):
            return cls(*columns, source=source, npus=npus)
        waits_for, gates = gates_of_parents(after)
        return cls(*columns, waits_for, gates, npus, source)

    def where(self, flow: int) -> str:
        """The file and line of a flow, or its number, for messages."""
        line = "" if self.lines is None else f":{int(self.lines[flow])}"
        return f"{self.source}{line}: flow {flow}"

    def gate_of(self, flow: int) -> int:
        """The gate that a flow waits for, or :data:`NO_GATE`."""
        return NO_GATE if self.waits_for is None else int(self.waits_for[flow])

    @property
    def starts_at_times(self) -> bool:
        """Whether flows wait for nothing but time, and two NPUs have one connection."""
        return self.waits_for is None and (self.connections is None or not self.connections.any())

    def waiting(self) -> tuple[Numbers, Places]:
        """The flows that wait for each gate, in order: of gate ``g`` ``flows[offsets[g]:offsets[g + 1]]``."""
        if self.waits_for is None:
            return np.zeros(1, dtype=np.int64), _none()
        flows = np.flatnonzero(self.waits_for >= 0)
        gates = self.waits_for[flows]
        order = np.argsort(gates, kind="stable")
        counts = np.bincount(gates, minlength=len(self.gates))
        return np.concatenate([_one_zero(), np.cumsum(counts)]), flows[order].astype(np.int32)

    def scaled(self, comm_scale: float = 1.0, compute_scale: float = 1.0) -> FlowList:
        """Sizes times ``comm_scale``, starts times ``compute_scale``, truncated; a flow keeps at least one byte.

        Both alike keep the load that the flows put on the network.
        """
        check_scales(comm_scale, compute_scale)
        if comm_scale == 1 and compute_scale == 1:
            return self
        return replace(
            self,
            sizes_bytes=np.maximum(_times(self.sizes_bytes, comm_scale, "size"), 1),
            starts_ps=_times(self.starts_ps, compute_scale, "start"),
        )

    def some(self, flows: Numbers) -> FlowList:
        """Return some of the flows of a list without gates, by their numbers."""
        return replace(
            self,
            sources=self.sources[flows],
            destinations=self.destinations[flows],
            sizes_bytes=self.sizes_bytes[flows],
            starts_ps=self.starts_ps[flows],
            lines=None if self.lines is None else self.lines[flows],
            connections=None if self.connections is None else self.connections[flows],
        )

    def check_npus(self, npus: int) -> None:
        """Raise InputError if a flow names an NPU that a network of so many doesn't have."""
        if self.npus <= npus:
            return
        for what, column in (("comes from", self.sources), ("goes to", self.destinations)):
            beyond = np.flatnonzero(column >= npus)
            if len(beyond):
                flow = int(beyond[0])
                raise wrong(
                    f"{self.where(flow)} {what} NPU {int(column[flow])}, the network has {npus}, 0 to {npus - 1}"
                )
        raise wrong(f"says it has {counted(self.npus, 'node')}, the network has {counted(npus, 'NPU')}", self.source)

    def _check_columns(self) -> None:
        shapes = {len(column) for column in (self.sources, self.destinations, self.sizes_bytes, self.starts_ps)}
        refuse(len(shapes) > 1, f"its columns have {sorted(shapes)} entries, expected as many in each", self.source)
        for bad, words in (
            ((self.sources < 0) | (self.destinations < 0), "has an NPU below 0"),
            (self.sources == self.destinations, "goes from an NPU to itself"),
            (self.sizes_bytes < 1, "has no byte, expected at least 1"),
            (self.starts_ps < 0, "starts before 0"),
        ):
            found = np.flatnonzero(bad)
            if len(found):
                more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
                raise wrong(f"{self.where(int(found[0]))} {words}{more}")
        refuse(
            float(self.sizes_bytes.sum(dtype=np.float64)) > LARGEST_INTEGER,
            f"its flows have more than {LARGEST_INTEGER} bytes, which can't be counted",
            self.source,
        )


def joined(first: FlowList, second: FlowList) -> FlowList:
    """Return a list with the flows of two, neither of which has gates, one behind the other."""
    return replace(
        first,
        sources=np.concatenate([first.sources, second.sources]),
        destinations=np.concatenate([first.destinations, second.destinations]),
        sizes_bytes=np.concatenate([first.sizes_bytes, second.sizes_bytes]),
        starts_ps=np.concatenate([first.starts_ps, second.starts_ps]),
        npus=max(first.npus, second.npus),
    )


def gates_of_parents(after: Sequence[Sequence[int]]) -> tuple[Places, FlowGates]:
    """The gate of each flow, and the gates, where each waits for all of some others; equal ones share a gate."""
    numbers: dict[tuple[int, ...], int] = {}
    waits_for = np.full(len(after), NO_GATE, dtype=np.int32)
    for flow, parents in enumerate(after):
        if parents:
            waits_for[flow] = numbers.setdefault(tuple(dict.fromkeys(parents)), len(numbers))
    return waits_for, FlowGates.of(list(numbers), [len(each) for each in numbers], [False] * len(numbers))


def _columns(
    sources: Iterable[int], destinations: Iterable[int], sizes: Iterable[int], starts: Iterable[int]
) -> tuple[Places, Places, Numbers, Numbers]:
    first, second = (_whole_numbers("NPU", column, MOST_FLOWS).astype(np.int32) for column in (sources, destinations))
    most = LARGEST_INTEGER
    return first, second, _whole_numbers("size", sizes, most), _whole_numbers("start", starts, most)


def _whole_numbers(what: str, given: Iterable[int], most: int) -> Numbers:
    """A column of numbers; raises InputError for what is none, or above ``most``."""
    try:
        found = np.array(list(given), dtype=object)
        column: Numbers = found.astype(np.int64)
        if not bool((found == column).all()):
            raise ValueError
    except (TypeError, ValueError, OverflowError) as error:
        raise wrong(f"a {what} of the flows is no whole number of 64 bits") from error
    if len(column) and int(column.max()) > most:
        raise wrong(f"a {what} of the flows is {int(column.max())}, expected at most {most}")
    return column


def _check_gates(flows: FlowList) -> None:
    """Raise InputError if a gate hears of a flow that isn't there, or some flow could never start."""
    gates, waits_for = flows.gates, flows.waits_for
    assert waits_for is not None
    beyond = np.flatnonzero((gates.members < 0) | (gates.members >= len(flows)))
    if len(beyond):
        gate = int(np.searchsorted(gates.offsets, beyond[0], side="right")) - 1
        flow = int(np.flatnonzero(waits_for == gate)[0]) if (waits_for == gate).any() else 0
        named = int(gates.members[beyond[0]])
        raise wrong(f"{flows.where(flow)} waits for flow {named}, expected one of 0 to {len(flows) - 1}")
    stuck = np.flatnonzero(~_started(flows))
    if len(stuck):
        raise wrong(
            f"{flows.where(int(stuck[0]))} can never start: what it waits for waits for it, or is not enough "
            f"(flows that never start: {some_of(map(str, stuck.tolist()), _MOST_NAMED)})"
        )


def _started(flows: FlowList) -> npt.NDArray[np.bool_]:
    """Which flows start in the end if all that start are delivered; the order doesn't matter for that."""
    gates, waits_for = flows.gates, flows.waits_for
    assert waits_for is not None
    heard_from, hearing = gates.heard_by(len(flows))
    offsets, waiting = flows.waiting()
    heard, freed = np.zeros(len(gates), dtype=np.int64), offsets[:-1].copy()
    started: npt.NDArray[np.bool_] = waits_for == NO_GATE
    opened = np.flatnonzero((gates.needed == 0) & ~gates.each).tolist()
    delivered = np.flatnonzero(started & (np.diff(heard_from) > 0)).tolist()
    while delivered or opened:
        if delivered:
            flow = delivered.pop()
            for gate in hearing[heard_from[flow] : heard_from[flow + 1]].tolist():
                heard[gate] += 1
                if gates.each[gate] or heard[gate] == gates.needed[gate]:
                    opened.append(gate)
            continue
        gate = opened.pop()
        first, last = int(freed[gate]), int(offsets[gate + 1])
        last = min(first + 1, last) if gates.each[gate] else last
        freed[gate] = last
        started[waiting[first:last]] = True
        delivered += waiting[first:last].tolist()
    return started


def _times(column: Numbers, scale: float, what: str) -> Numbers:
    refuse(
        float(column.max()) * scale > LARGEST_INTEGER, f"a flow's {what} times {scale:g} is more than {LARGEST_INTEGER}"
    )
    scaled: Numbers = (column * scale).astype(np.int64) if scale != 1 else column
    return scaled
