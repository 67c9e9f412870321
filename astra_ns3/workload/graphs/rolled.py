"""Graphs as a loop of SimAI's, where they are one: the same thread on all NPUs, over groups as Megatron-LM has them.

If the thread waits for all of its collectives, they are forward passes, row by row. Otherwise all is backward: there
SimAI's loop waits for the input gradient's collective of a row and not for the weight gradient's, from the last row up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS, CollectiveKind
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.workload import Layer, ParallelGroup, Pass, Workload
from astra_ns3.errors import refuse, required, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import PS_PER_NS
from astra_ns3.workload.graphs.chain import Step, chain

_LOOP = "SIMAI_TRANSFORMER"
_KINDS = (*TEXT_FORMAT_KINDS, CollectiveKind.BROADCAST)
# Groups that a word names; the others are those of a column.
_NAMED = (ParallelGroup.EXPERT, ParallelGroup.EXPERT_DATA)
_LONGEST_NAME = 60
Spacing = tuple[int, int]
"""How far apart the members of a group are, and how many there are."""


def rolled(workload: GraphWorkload) -> Workload:
    """The loop that does what graphs do; raises InputError with file and node for what it can't say."""
    steps = chain(workload, 0)
    work = [step.work() for step in steps]
    for npu in range(1, workload.npus):
        if [step.work() for step in chain(workload, npu)] != work:
            raise wrong(f"does other things than {workload.file_of(0)}{_IN_TEXT}", workload.file_of(npu))
    steps = [step if step.members > 1 else step._replace(collective=None) for step in steps]
    for step in steps:
        _check(step, f"{workload.file_of(0)}: node {step.number} '{step.name}'")
    groups = required(
        _Groups.fitting(steps, workload.npus),
        f"its communicators are no tensor, data and expert groups{_IN_TEXT}",
        workload.source,
    )
    layers = _layers(steps, groups)
    refuse(not layers, "has nothing to do, and a text needs a row", workload.source)
    return Workload(
        _LOOP,
        tuple(layers),
        source=workload.source,
        model_parallel_npus=groups.tensor,
        expert_parallel_npus=groups.experts,
        pipeline_stages=1,
        npus=workload.npus,
    )


_IN_TEXT = ", which SimAI's text can't say"


def _check(step: Step, where: str) -> None:
    if step.time_ps % PS_PER_NS or step.update_ps % PS_PER_NS:
        raise wrong(f"lasts no whole number of nanoseconds{_IN_TEXT}", where)
    if step.collective is not None and step.collective not in _KINDS:
        raise wrong(f"is a {step.collective.name.lower()}{_IN_TEXT}", where)


@dataclass(frozen=True)
class _Groups:
    """NPUs that share a tensor, and of those with the same part of it, that share the experts."""

    tensor: int
    experts: int
    npus: int

    @classmethod
    def fitting(cls, steps: Iterable[Step], npus: int) -> _Groups | None:
        """The groups that cover some steps, most of them by the plain words; None: there are none."""
        wanted = {((step.stride, step.members), step.waits) for step in steps if step.collective is not None}
        every = (cls(tensor, experts, npus) for tensor in _divisors(npus) for experts in _divisors(npus // tensor))
        fit = [found for found in every if all(found.named(shape, waits=waits) for shape, waits in wanted)]
        return min(fit, key=lambda found: (found._suffixes(wanted), found.experts, found.tensor), default=None)

    def _suffixes(self, wanted: Iterable[tuple[Spacing, bool]]) -> int:
        return sum(self.named(shape, waits=waits) in _NAMED for shape, waits in wanted)

    def named(self, shape: Spacing, *, waits: bool) -> ParallelGroup | None:
        """The group of that shape in the column of what is waited for or not; there plain words are tensor or data."""
        data = self.npus // self.tensor
        plain = ParallelGroup.TENSOR if waits else ParallelGroup.DATA
        shapes = {
            plain: (1, self.tensor) if waits else (self.tensor, data),
            ParallelGroup.EXPERT: (self.tensor, self.experts),
            ParallelGroup.EXPERT_DATA: (self.tensor * self.experts, data // self.experts),
        }
        return next((group for group, has in shapes.items() if has == shape), None)


def _divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def _layers(steps: list[Step], groups: _Groups) -> list[Layer]:
    nothing = Pass(0)
    if all(step.waits for step in steps):
        rows = [(row[0], row[0].time_ps, row[-1]) for row in _pairs(steps)]
        return [Layer(_name(first), _pass(time, last, groups), nothing, nothing) for first, time, last in rows]
    layers = []
    for first, parts, update_ps in _rows(steps):
        input_gradient, weight_gradient = (_pass(time, step, groups) for time, step in parts)
        layers.append(Layer(_name(first), nothing, input_gradient, weight_gradient, update_ps // PS_PER_NS))
    return layers[::-1]


def _pairs(steps: list[Step]) -> Iterator[list[Step]]:
    """Each computation with the collective behind it."""
    row: list[Step] = []
    for step in steps:
        if row and not (row[-1].collective is None and step.collective is not None):
            yield row
            row = []
        row.append(step)
    if row:
        yield row


Part = tuple[int, Step | None]
"""A computation, in picoseconds, and the collective behind it."""


def _rows(steps: list[Step]) -> Iterator[tuple[Step, list[Part], int]]:
    """Rows of a computation, a collective that is waited for, a computation, one that isn't, and its update."""
    first: Step | None = None
    parts: list[Part] = [(0, None), (0, None)]
    slot = 0  # of the next thing: a computation, a collective, a computation, a collective
    for step in steps:
        wanted = _slot(step, slot)
        update_hits = bool(step.update_ps) and parts[0][1] is not None  # an update is for both collectives of a row
        if first is not None and (wanted is None or update_hits):
            yield first, parts, 0
            first, parts, slot = None, [(0, None), (0, None)], 0
            wanted = _slot(step, 0)
        assert wanted is not None
        first = first or step
        half, collective = divmod(wanted, 2)
        parts[half] = (parts[half][0], step) if collective else (step.time_ps, None)
        slot = wanted + 1
        if slot == 4:
            yield first, parts, step.update_ps
            first, parts, slot = None, [(0, None), (0, None)], 0
    if first is not None:
        yield first, parts, 0


def _slot(step: Step, slot: int) -> int | None:
    """Return the next slot of a row where a step can stand, at or behind ``slot``; None: in the next row."""
    slots = (0, 2) if step.collective is None else (1,) if step.waits else (3,)
    return next((each for each in slots if each >= slot), None)


def _pass(time_ps: int, step: Step | None, groups: _Groups) -> Pass:
    """A computation and a collective; of an all-gather SimAI counts the whole output."""
    time_ns = time_ps // PS_PER_NS
    if step is None or step.collective is None:
        return Pass(time_ns)
    group = groups.named((step.stride, step.members), waits=step.waits)
    named = group if group in _NAMED else None
    gathers = step.collective is CollectiveKind.ALL_GATHER
    return Pass(time_ns, step.collective, step.bytes * (step.members if gathers else 1), named)


def _name(step: Step) -> str:
    return "_".join(step.name.split())[:_LONGEST_NAME] or f"node{step.number}"
