"""SimAI's training loop of a transformer, whose collectives go among groups of NPUs, and the pipeline that it lacks.

Source: aliyun/SimAI, the policy HYBRID_TRANSFORMER_FWD_IN_BCKWD as its simulator plays it; sizes and groups as AICB
writes them. Where a model has several stages SimAI plays one and adds a term; here every stage plays the layers of
the file, micro-batch by micro-batch (:mod:`astra_ns3.playing.loops.simai_pipeline`), and sends real messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import PassKind, Workload
from astra_ns3.errors import refuse
from astra_ns3.playing.loops.simai_pipeline import Pipeline
from astra_ns3.playing.loops.steps import FORWARD, INPUT_GRADIENT, MOVE, WEIGHT_GRADIENT, Steps
from astra_ns3.playing.programs.operations import Program
from astra_ns3.playing.programs.roles import EVERYBODY, Role
from astra_ns3.system.groups import Grid
from astra_ns3.workload.loops.micro_batches import MicroBatches
from astra_ns3.workload.loops.parallel_groups import parallel_groups
from astra_ns3.workload.loops.pass_dimensions import USUAL_GROUPS


def stages(workload: Workload, grid: Grid) -> Mapping[str, Sequence[int]]:
    """A role for each stage of the pipeline; all NPUs have one if there is only one."""
    groups = parallel_groups(workload, grid.sizes)
    if groups.batches is not None:
        _check_checkpoints(workload, groups.batches)
    if groups.stages == 1:
        return {EVERYBODY: range(grid.npus)}
    return {f"stage {number}": groups.stage(number) for number in range(groups.stages)}


def _check_checkpoints(workload: Workload, batches: MicroBatches) -> None:
    """Raise InputError if a micro-batch would have to go forward again through rows of another one."""
    for layer in workload.checkpoint_initiates:
        kept = max((each for each in workload.checkpoints if each <= layer), default=layer)
        rows = [batches.rows(batch, part) for batch in range(batches.count) for part in range(batches.parts)]
        refuse(
            any((kept in each) != (layer in each) for each in [*rows, batches.behind]),
            f"row {layer} goes forward again from the checkpoint at row {kept}, which is not of "
            f"its micro-batch{' and chunk' if batches.parts > 1 else ''}; in a pipeline each needs a checkpoint of "
            "its own",
            workload.source,
        )


def simai_transformer(steps: Steps, role: Role) -> Program:
    """Forward every collective is waited for. Backward the input gradient's is, before the weight gradient is computed.

    Checkpoints as in ASTRA-sim's loop. Stages that send each other nothing play the rows side by side, as one does.
    """
    part = _Stage(steps, role)
    for number in steps.passes:
        yield from part.one_pass(number)
    yield from steps.drain()


class _Stage:
    """The work of the NPUs of a stage in a pass."""

    def __init__(self, steps: Steps, role: Role) -> None:
        assert steps.groups is not None
        self._steps = steps
        self._groups = steps.groups.groups
        self._communicators = steps.groups
        self._role = role
        self._pipeline = Pipeline(steps, role, self._groups.batches) if self._groups.batches else None

    def one_pass(self, number: int) -> Program:
        """A training pass."""
        steps = self._steps
        if self._pipeline is None:
            yield from self._forward(number, steps.forwards)
            yield from self._backward(number, steps.backwards)
            return
        batches, pipeline = self._pipeline.batches, self._pipeline
        yield from self._forward(number, batches.before)
        for turn in pipeline.turns():
            rows = batches.rows(turn.batch, turn.chunk)
            yield from pipeline.receive(number, turn)
            yield from self._forward(number, rows) if turn.forward else self._backward(number, rows[::-1])
            yield from pipeline.send(number, turn)
        yield from self._forward(number, batches.behind)
        yield from self._backward(number, batches.behind[::-1])
        yield from self._backward(number, batches.before[::-1])
        yield from pipeline.drain()

    def _forward(self, number: int, layers: Iterable[int]) -> Program:
        for layer in layers:
            yield from self._steps.forward_compute(number, layer)
            yield from self._issue(number, layer, FORWARD)
            yield from self._steps.wait(layer, FORWARD)
            yield MOVE

    def _backward(self, number: int, layers: Iterable[int]) -> Program:
        steps, workload = self._steps, self._steps.workload
        for layer in layers:
            if layer in workload.checkpoint_initiates:
                yield MOVE
                checkpoint = max(kept for kept in workload.checkpoints if kept <= layer)
                yield from self._forward(number, range(checkpoint, layer))
            yield from steps.compute(number, layer, INPUT_GRADIENT)
            yield from self._issue(number, layer, INPUT_GRADIENT, "LIFO")
            yield from steps.wait(layer, INPUT_GRADIENT)
            yield MOVE
            yield from steps.compute(number, layer, WEIGHT_GRADIENT)
            yield from self._issue(number, layer, WEIGHT_GRADIENT, "FIFO")
            yield MOVE

    def _issue(self, number: int, layer: int, kind: PassKind, policy: str | None = None) -> Program:
        part = self._steps.workload.layers[layer].passes[kind]
        if part.collective is None:
            return
        group = part.group or USUAL_GROUPS[kind]
        communicator = self._communicators.of(group, self._role.number)
        # An all-gather's bytes are its output's there, and what each NPU brings here.
        gathers = part.collective is CollectiveKind.ALL_GATHER
        bytes = -(-part.bytes // self._groups.sizes[group]) if gathers else part.bytes
        yield from self._steps.issue(number, layer, kind, policy, communicator, bytes)
