"""SimAI's training loop of a transformer, whose collectives go among groups of NPUs, and the pipeline that it lacks.

Source: aliyun/SimAI, the policy HYBRID_TRANSFORMER_FWD_IN_BCKWD as its simulator plays it; sizes and groups as AICB
writes them. Where a model has several stages SimAI plays one and adds a term; here every stage plays the layers of
the file, one micro-batch after the other in the order 1F1B (PipeDream-Flush, Megatron-LM), and sends real messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.network.records import Label, PassKind
from astra_ns3.system.groups import Grid
from astra_ns3.system.request import Handle
from astra_ns3.workload.micro_batches import MicroBatches
from astra_ns3.workload.operations import Program, Receive, Send, Wait
from astra_ns3.workload.parallel_groups import parallel_groups
from astra_ns3.workload.pass_dimensions import USUAL_GROUPS
from astra_ns3.workload.roles import EVERYBODY, Role
from astra_ns3.workload.steps import FORWARD, INPUT_GRADIENT, MOVE, WEIGHT_GRADIENT, Steps, pass_of

PIPELINE = "pipeline"
"""What messages between stages are called in the place of a layer."""
ACTIVATION, GRADIENT = "activation", "gradient"


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
        if any((kept in batches.rows(batch)) != (layer in batches.rows(batch)) for batch in range(batches.count)):
            raise InputError(
                f"{workload.source}: row {layer} goes forward again from the checkpoint at row {kept}, which is not of "
                "its micro-batch; in a pipeline each needs a checkpoint of its own"
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
    """What the NPUs of a stage do in a pass."""

    def __init__(self, steps: Steps, role: Role) -> None:
        assert steps.groups is not None
        self._steps = steps
        self._groups = steps.groups
        self._role = role
        self._pipeline = _Pipeline(steps, role, steps.groups.batches) if steps.groups.batches else None

    def one_pass(self, number: int) -> Program:
        """A training pass."""
        steps = self._steps
        if self._pipeline is None:
            yield from self._forward(number, steps.forwards)
            yield from self._backward(number, steps.backwards)
            return
        batches, pipeline = self._pipeline.batches, self._pipeline
        yield from self._forward(number, batches.before)
        for forward, batch in pipeline.order():
            rows = batches.rows(batch)
            yield from pipeline.receive(number, batch, forward=forward)
            yield from self._forward(number, rows) if forward else self._backward(number, rows[::-1])
            yield from pipeline.send(number, batch, forward=forward)
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
        part = pass_of(self._steps.workload.layers[layer], kind)
        if part.collective is None:
            return
        group = part.group or USUAL_GROUPS[kind]
        communicator = self._groups.communicator(group, self._role.number)
        # An all-gather's bytes are its output's there, and what each NPU brings here.
        gathers = part.collective is CollectiveKind.ALL_GATHER
        bytes = -(-part.bytes // self._groups.sizes[group]) if gathers else part.bytes
        yield from self._steps.issue(number, layer, kind, policy, communicator, bytes)


class _Pipeline:
    """A stage's messages, and the order of its micro-batches."""

    def __init__(self, steps: Steps, role: Role, batches: MicroBatches) -> None:
        self.batches = batches
        self._bytes = steps.workload.stage_bytes or 0
        self._number = role.number
        roles = list(steps.roles.values())
        self._before = roles[role.number - 1].communicator if role.number else None
        self._after = roles[role.number + 1].communicator if role.number + 1 < len(roles) else None
        self._behind = len(roles) - 1 - role.number
        self._sent: list[Handle] = []

    def order(self) -> Iterable[tuple[bool, int]]:
        """Forward (True) and backward passes: as many forward as stages follow, then one of each in turn."""
        count = self.batches.count
        first = min(self._behind, count)
        yield from ((True, batch) for batch in range(first))
        for batch in range(count):
            if first + batch < count:
                yield True, first + batch
            yield False, batch

    def receive(self, number: int, batch: int, *, forward: bool) -> Program:
        """Wait for what a micro-batch's pass needs of the neighbour."""
        source = self._before if forward else self._after
        if source is not None:
            word = ACTIVATION if forward else GRADIENT
            handle = yield Receive(source, self._bytes, word, Label(number, PIPELINE, word, batch))
            assert handle is not None
            yield Wait(handle)

    def send(self, number: int, batch: int, *, forward: bool) -> Program:
        """Send what the neighbour needs of a micro-batch's pass, and go on."""
        to = self._after if forward else self._before
        if to is not None:
            word = ACTIVATION if forward else GRADIENT
            handle = yield Send(to, self._bytes, word, Label(number, PIPELINE, word, batch))
            assert handle is not None
            self._sent.append(handle)

    def drain(self) -> Program:
        """Wait until all that was sent has left."""
        for handle in self._sent:
            yield Wait(handle)
        self._sent.clear()
