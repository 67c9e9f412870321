"""The records of a run, alike for all backends: plain rows, times in picoseconds, sizes in bytes.

One NPU stands for the layers' details, as in ASTRA-sim's tables; every NPU has its totals. Messages, queues and
switches are the backend's own to write, into the directory that :class:`RecorderOptions` names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import PassKind
from astra_ns3.frozen import dataclass, field
from astra_ns3.network.instance import BITS
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.run_document import FlowSizesDocument, SpentDocument

PORT_COUNTERS = (
    "sent_frames",
    "sent_bytes",
    "dropped_frames",
    "dropped_bytes",
    "marked_frames",
    "highest_queue_bytes",
    "lost_frames",
    "pauses",
    "paused_ps",
    "pause_frames",
    "cut_frames",
    "down_frames",
    "silent_frames",
)
"""Counters of each port, in the table's order; results.md explains them."""


class Label(NamedTuple):
    """The name of a piece of work in a training loop, a pipeline or a trace: it is shown, and decides nothing.

    ``layer``: an index into the workload's layers, or a name. ``part``: a :class:`PassKind`, or any word.
    """

    iteration: int = 0
    layer: int | str = ""
    part: str = ""
    micro_batch: int | None = None


@dataclass(frozen=True)
class RecorderOptions:
    """Where tables are streamed to (None: nowhere), and what is recorded besides what the network file asks for.

    ``flows``: every message, and ``accounts``: where its time went, by the backend; ``timeline``: what NPUs do, by the
    system; ``nodes``: those of a workload of graphs. ``sink`` takes the rows; None:
    Parquet files in ``directory``. ``job_bit``: from this bit on an instance number says whose it is.
    """

    directory: Path | None = None
    flows: bool = False
    timeline: bool = False
    accounts: bool = False
    nodes: bool = False
    sink: TableSink | None = None
    job_bit: int = BITS


@dataclass(frozen=True)
class NpuRecord:
    """Totals of one NPU; ``compute_ps + exposed_ps == finish_ps``, which is the present if it is not ``done``.

    Exposed is all that isn't computing: blocked by collectives, and the ticks of ``Compatibility.step_tick_ns``.
    """

    npu: int
    finish_ps: int
    compute_ps: int
    exposed_ps: int
    done: bool


ALONE = "what NPU {} computes"


class Chain(NamedTuple):
    """A chain of what comes one after the other, whatever the network: its least time, and the NPU where it ends.

    ``words``: what it is, with ``{}`` for the NPU.
    """

    time_ps: int = 0
    npu: int = 0
    words: str = "the longest chain of computations, which ends on NPU {}"


@dataclass(frozen=True)
class PassTimes:
    """One pass of one layer on one NPU, summed over the training passes.

    ``exposed_ps``: blocked until its collective counted as done, ``comm_ps``: from issue until then, both with the
    update time; ``comm_ps`` sums over collectives, so it may exceed the run.
    """

    compute_ps: int = 0
    exposed_ps: int = 0
    comm_ps: int = 0


STEPS = "steps of the training loop"
"""The name of the ticks of ``Compatibility.step_tick_ns``, among groups and among layers."""
PIPELINE = "pipeline"
"""The name of messages between stages, as a group and in the place of a layer; waits for them include bubbles."""
TAIL = "tail"
"""The part in which a layer's collectives are waited for after the last pass."""


@dataclass(frozen=True)
class LayerTimes:
    """A layer on one NPU. ``tail_ps``: blocked by its collectives after the last pass.

    ``others``: parts of its work that are none of the three passes. ``stands_with``: which of them, and of
    :data:`TAIL`, stand in the columns of a pass in tables that have no others.

    ASTRA-sim has the tail in the run's total exposed time only, but for layer 0's weight gradient, which is in
    ``weight_gradient.exposed_ps`` here as there (see ``Compatibility.exposed_until_first_end``).
    """

    name: str
    forward: PassTimes
    weight_gradient: PassTimes
    input_gradient: PassTimes
    tail_ps: int
    others: Mapping[str, PassTimes] = field(default_factory=dict)
    stands_with: Mapping[str, PassKind] = field(default_factory=dict)

    @property
    def parts(self) -> Mapping[str, PassTimes]:
        """Every part, the three passes first."""
        return {
            PassKind.FORWARD.value: self.forward,
            PassKind.WEIGHT_GRADIENT.value: self.weight_gradient,
            PassKind.INPUT_GRADIENT.value: self.input_gradient,
            **self.others,
        }

    def with_others(self, kind: PassKind) -> PassTimes:
        """A pass, and what stands with it."""
        every = {**self.parts, TAIL: PassTimes(exposed_ps=self.tail_ps)}
        together = [times for part, times in every.items() if part == kind or self.stands_with.get(part) == kind]
        return PassTimes(
            sum(times.compute_ps for times in together),
            sum(times.exposed_ps for times in together),
            sum(times.comm_ps for times in together),
        )

    @property
    def exposed_ps(self) -> int:
        """All that the NPU was blocked by this layer."""
        return sum(times.exposed_ps for times in self.parts.values()) + self.tail_ps


@dataclass(frozen=True)
class PhaseTimes:
    """Phase k of a layer's chunks on one NPU: sums over ``chunks`` finished phases.

    ``queue_ps``: waiting for a slot. ``network_ps``: from start to end without the endpoint delays, divided by the
    number of steps in which messages are received and rounded down per chunk. *Model limit*: ASTRA-sim takes the mean
    over messages from posting a receive to its arrival; both are the same where a step receives one message.
    """

    chunks: int
    queue_ps: int
    network_ps: int


@dataclass(frozen=True)
class DimensionTimes:
    """A layer's chunks in one dimension on one NPU: ``time_ps`` from start to end of a phase, summed, no queueing."""

    chunks: int
    time_ps: int


@dataclass(frozen=True)
class LayerDetail:
    """A layer's chunks on one NPU. ``creation_ps``: from creation to the first queue, summed over ``chunks``."""

    name: str
    chunks: int
    creation_ps: int
    phases: tuple[PhaseTimes, ...]
    dimensions: tuple[DimensionTimes, ...]


@dataclass(frozen=True, slots=True)
class CollectiveRecord:
    """One collective: ``start_ps`` when the first NPU issued it, ``end_ps`` when the last was done (None: not yet).

    The update time that follows is not in it. ``index`` counts collectives in the order in which they were first
    issued; ``label`` has the layer by its name; ``algorithm`` has one name per phase, joined by "_". A message from one
    NPU to another is here, too, as a point-to-point collective of two; it starts when it can leave: when its sender
    posts it, or with rendezvous when both ends have (``start_ps`` until then: when the first end was posted).
    ``line_bytes``: of an all-to-all with counts, the most that one NPU sends to others or gets from them. ``group``:
    among whom it is. ``groups_ps``: mean, rounded up, and longest duration of its groups, each from its own first issue
    to its own last end (None: not yet, or there is one group, which takes the whole time).
    """

    index: int
    label: Label
    kind: CollectiveKind
    algorithm: str
    bytes: int
    ranks: int
    chunks: int
    start_ps: int
    end_ps: int | None = None
    line_bytes: int | None = None
    group: str = ""
    groups_ps: tuple[int, int] | None = None

    @property
    def layer(self) -> str:
        """The layer's name."""
        return str(self.label.layer)

    @property
    def durations_ps(self) -> tuple[int, int] | None:
        """Mean and longest duration of its groups; None: not yet."""
        whole_ps = None if self.end_ps is None else self.end_ps - self.start_ps
        return self.groups_ps or (None if whole_ps is None else (whole_ps, whole_ps))


@dataclass(frozen=True)
class RoleTimes:
    """The layers of a role's program, on the NPU ``npu`` that stands for it.

    ``groups``: what of its time was exposed by exchanges in each kind of group, ps; together all of it.
    """

    role: str
    npu: int
    layers: tuple[LayerTimes, ...]
    groups: Mapping[str, int] = field(default_factory=dict)


FLOW_PERCENTILES: Mapping[str, float] = {"p50": 50, "p95": 95, "p99": 99, "p999": 99.9, "max": 100}


@dataclass(frozen=True)
class FlowTotals:
    """Totals of a list of flows by now. ``all``: of all delivered flows (None: there is none); ``sizes``: by class.

    ``bins``: by size, too, about as many flows in each; none of few flows.

    ``goodput``: intervals of time, one after the other, with the bytes of messages that all NPUs got in each.
    ``overlapping``: flows that may have waited for the one before of the same two NPUs to be sent.
    """

    flows: int
    started: int
    delivered: int
    bytes: int
    delivered_bytes: int
    first_start_ps: int
    last_end_ps: int
    all: FlowSizesDocument | None = None
    sizes: tuple[FlowSizesDocument, ...] = ()
    bins: tuple[FlowSizesDocument, ...] = ()
    goodput: tuple[tuple[int, int, int], ...] = ()
    overlapping: int = 0


@dataclass(frozen=True)
class RunRecords:
    """All of a run so far. ``layers``, ``details``, ``busy`` and ``sent_bytes`` are those of ``reported_npu``.

    Index of ``busy`` and ``sent_bytes`` is the dimension. ``busy``: intervals (begin, end), in order and disjoint, in
    which the NPU's queue of the dimension held a chunk, waiting or running. ``sent_bytes``: what it sent in phases that
    it finished. ``roles``: the layers of every role. ``flows``: of a workload that is a list of
    flows.
    """

    complete: bool
    finish_ps: int
    npus: tuple[NpuRecord, ...]
    layers: tuple[LayerTimes, ...]
    details: tuple[LayerDetail, ...]
    collectives: Sequence[CollectiveRecord]
    busy: tuple[tuple[tuple[int, int], ...], ...]
    sent_bytes: tuple[int, ...]
    reported_npu: int = 0
    roles: tuple[RoleTimes, ...] = ()
    flows: FlowTotals | None = None

    def spent_by(self, npu: NpuRecord) -> SpentDocument:
        """Return how long an NPU computed and waited; nothing of a list of flows, whose NPUs do neither."""
        return {} if self.flows is not None else {"compute_ps": npu.compute_ps, "exposed_ps": npu.exposed_ps}

    @property
    def groups(self) -> Mapping[str, int]:
        """The time that the reported NPU waited for each kind of group, ps."""
        return next((role.groups for role in self.roles if role.npu == self.reported_npu), {})
