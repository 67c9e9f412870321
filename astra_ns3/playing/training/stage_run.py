"""An NPU's run through its stage's script: the generator that a driver plays."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import replace

from astra_ns3.config.training_plan import Beyond, Exchange
from astra_ns3.config.workload import PassKind
from astra_ns3.network.records import PIPELINE, Label
from astra_ns3.playing.programs.operations import (
    CHECKPOINT,
    LOAD,
    STORE,
    Load,
    Operation,
    Posting,
    Program,
    Receive,
    Send,
    Store,
    Wait,
)
from astra_ns3.playing.training.beyond import Leaving, Stream
from astra_ns3.playing.training.sharding import Bucket
from astra_ns3.playing.training.stage_script import BlockScript, Moved, PlannedWork, StageScript
from astra_ns3.playing.training.step_maker import Computing, Step, Turning
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.policies import HIGHEST_PRIORITY
from astra_ns3.system.request import Handle
from astra_ns3.workload.training.schedules import Work, WorkKind

OPTIMIZER = "optimizer"
"""The name of the update in the place of a layer."""
SUMMED = "own tokens"
"""The name there of gradients that tensor groups add up, for each NPU used the weights for its own tokens."""
TIED = "tied embedding"
"""The name of the gradient that the first and the last stage share in the place of a layer."""
ACTIVATION, GRADIENT, WEIGHTS, AGAIN, UPDATE = "activation", "gradient", "weights", "recompute", "update"

# The policy of what the block that is computed waits for.
_NOW = "HIGHEST"
# That of weights is below this; and below HIGHEST in a graph of the run, too (``playing/converting/unrolled.py``).
_WEIGHTS_PRIORITY = HIGHEST_PRIORITY * 2 // 5

FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT = PassKind.FORWARD, PassKind.INPUT_GRADIENT, PassKind.WEIGHT_GRADIENT

Posted = Generator[Operation, "Handle | None", Handle]


class StageRun:
    """One run: what is waited for, and where.

    * a layer's exchanges before the next step, or before the end of its backward pass (of the gradient of its input, if
      the schedule does that of its weights apart);
    * what the neighbour sends before the pass that needs it; that what was sent has left, before the update;
    * all gradients before the update, with ZeRO's stages 2 and 3 without overlap after the pass that makes them; then
      those that tensor groups add up, then those of a tied embedding;
    * weights that others updated before the first forward pass that needs them, or, without overlap, before it begins;
    * what lies beyond the device before its use, and a checkpoint at its end or, behind, before the next one.

    What is needed first goes first in a queue: a block's own exchanges, then weights in the order of blocks to come.
    Gradients, for which nothing waits before the end, go behind them, in the order of the system's policy.
    """

    def __init__(self, script: StageScript) -> None:
        self._script = script
        self._request = script.maker.request
        self._sent: list[Handle] = []
        self._reducing: list[Handle] = []
        self._late: list[tuple[int, Bucket]] = []
        self._weights: dict[int, list[Handle]] = {}
        self._ahead: deque[list[Handle]] = deque()
        self._asked = 0
        self._used = 0
        self._next_weights = _WEIGHTS_PRIORITY
        activations = script.offload.activations
        self._leaving = None if activations is None else Leaving(activations)
        weights, gathers = script.offload.weights, script.sharding.gathers_updated
        self._gathered = Leaving(weights) if weights is not None and gathers else None  # of weights that others updated
        self._checkpoint: list[Handle] = []
        self._shards: Stream | None = None

    def program(self, passes: int, first: int = 0) -> Program:
        """So many iterations; ``first``: how many of them a checkpoint has."""
        if first:
            yield Wait((yield from post(Load(self._script.restored_bytes, Label(first, CHECKPOINT, LOAD)))))
        for number in range(first, passes):
            self._asked = self._used = 0
            self._shards = self._shards_of(number)
            for planned in self._script.order:
                yield from self._work(number, planned)
            yield from self._finish(number)
        for handles in (*self._weights.values(), self._checkpoint):
            for handle in handles:
                yield Wait(handle, tail=True)

    def _work(self, number: int, planned: PlannedWork) -> Program:
        work = planned.work
        if work.kind is WorkKind.FORWARD:
            yield from self._receive(number, work, forward=True)
            yield from self._forward(number, planned)
            yield from self._send(number, work, forward=True)
            return
        if work.kind is WorkKind.WEIGHT:
            yield from self._weight_gradients(number, planned)
        else:
            yield from self._receive(number, work, forward=False)
            yield from self._backward(number, planned)
            yield from self._send(number, work, forward=False)
        if self._script.sharding.shards_gradients and self._late:
            yield from self._hand_in_late(number, work.micro_batch)
            yield from wait(self._reducing)

    def _forward(self, number: int, planned: PlannedWork) -> Program:
        batch = planned.work.micro_batch
        blocks = self._script.chunks[planned.work.chunk]
        weights = self._weights_of(number, blocks, batch)
        for block in blocks:
            yield from wait(self._weights.pop(block.layer, []))
            if weights is not None:
                yield from weights.come()
            if self._leaving is not None:
                yield from self._leaving.make_room()
            if planned.gathers:
                yield from self._gather(number, block)
            left: list[Handle] = []
            label = Label(number, block.layer, FORWARD, batch)
            yield from self._play(block.forward, label, left)
            yield from wait(left)
            if self._leaving is not None:
                yield from self._leaving.go((label, block.moved.activations))

    def _backward(self, number: int, planned: PlannedWork) -> Program:
        kind, chunk, batch = planned.work
        blocks = self._script.chunks[chunk][::-1]
        loaded = [replace(block, moved=block.moved._replace(weights=0)) if block.stays else block for block in blocks]
        streams = [self._weights_of(number, loaded, batch), self._activations_of(number, blocks, batch)]
        if self._leaving is not None:
            yield from self._leaving.finish()
        for block in blocks:
            for stream in streams:
                if stream is not None:
                    yield from stream.come()
            if planned.gathers and not block.stays:
                yield from self._gather(number, block)
            left: list[Handle] = []
            if block.again:
                yield from self._play(block.again, Label(number, block.layer, AGAIN, batch), left)
                yield from wait(left)
            yield from self._play(block.input_gradient, Label(number, block.layer, INPUT_GRADIENT, batch), left)
            if kind is WorkKind.BACKWARD:
                yield from self._play(block.weight_gradient, Label(number, block.layer, WEIGHT_GRADIENT, batch), left)
            yield from wait(left)
            if planned.reduces:
                yield from self._reduce(number, block, batch)

    def _weights_of(self, number: int, blocks: Sequence[BlockScript], batch: int | None) -> Stream | None:
        """Return the weights of blocks that are used in this order; None if they are on the device, or gathered."""
        beyond = None if self._script.loads_shards else self._script.offload.weights
        return self._stream(beyond, "weights", number, blocks, batch)

    def _shards_of(self, number: int) -> Stream | None:
        """Return shards of weights in the order in which they are gathered; None if they are on the device."""
        beyond = self._script.offload.weights
        if beyond is None or not self._script.loads_shards:
            return None
        uses = self._script.uses
        return Stream(beyond, [(Label(number, use.layer, LOAD, use.micro_batch), use.shard_bytes) for use in uses])

    def _activations_of(self, number: int, blocks: Sequence[BlockScript], batch: int | None) -> Stream | None:
        """Return the activations of blocks that are used in this order; None if they are on the device."""
        return self._stream(self._script.offload.activations, "activations", number, blocks, batch)

    @staticmethod
    def _stream(
        beyond: Beyond | None, part: str, number: int, blocks: Sequence[BlockScript], batch: int | None = None
    ) -> Stream | None:
        if beyond is None:
            return None
        place = Moved._fields.index(part)
        return Stream(beyond, [(Label(number, block.layer, LOAD, batch), block.moved[place]) for block in blocks])

    def _weight_gradients(self, number: int, planned: PlannedWork) -> Program:
        batch = planned.work.micro_batch
        for block in reversed(self._script.chunks[planned.work.chunk]):
            left: list[Handle] = []
            yield from self._play(block.weight_gradient, Label(number, block.layer, WEIGHT_GRADIENT, batch), left)
            yield from wait(left)
            if planned.reduces:
                yield from self._reduce(number, block, batch)

    def _play(self, steps: Sequence[Step], label: Label, left: list[Handle]) -> Program:
        """Steps; ``left``: gets what nothing has waited for."""
        for step in steps:
            if isinstance(step, Computing):
                yield step.operation(label)
            elif isinstance(step, Exchange):
                handle = yield from post(self._request(step, label, _NOW))
                if step.waited:
                    yield Wait(handle)
                else:
                    left.append(handle)
            else:
                yield from _turn(step, label)

    def _gather(self, number: int, block: BlockScript) -> Program:
        """Have a block's weights, and ask for those of blocks to come."""
        if not block.gathers and self._shards is None:
            return
        uses = self._script.uses
        self._used += 1
        while self._asked < min(self._used + self._script.sharding.prefetch, len(uses)):
            use = uses[self._asked]
            self._asked += 1
            if self._shards is not None:
                yield from self._shards.come()
            handles = []
            for gather in use.gathers:
                label = Label(number, use.layer, WEIGHTS, use.micro_batch)
                handles.append((yield from self._gather_weights(gather, label)))
            self._ahead.append(handles)
        yield from wait(self._ahead.popleft())

    def _gather_weights(self, gather: Exchange, label: Label) -> Posted:
        """Ask for a gather of weights. It goes before all gathers that are asked for later."""
        self._next_weights -= 1
        return (yield from post(self._request(gather, label, self._next_weights)))

    def _reduce(self, number: int, block: BlockScript, batch: int) -> Program:
        """Send the gradients of full buckets, at once or later."""
        for bucket in block.buckets:
            if self._script.reduces_early:
                yield from self._hand_in(Label(number, block.layer, GRADIENT, batch), bucket)
            else:
                self._late.append((block.layer, bucket))

    def _hand_in_late(self, number: int, batch: int | None = None) -> Program:
        """Send the gradients that have waited."""
        for layer, bucket in self._late:
            yield from self._hand_in(Label(number, layer, GRADIENT, batch), bucket)
        self._late.clear()

    def _hand_in(self, label: Label, bucket: Bucket) -> Program:
        """Send the gradients of a bucket."""
        assert bucket.reduce is not None
        handle = yield from post(self._request(bucket.reduce, label))
        if bucket.reduce.pool is None:
            self._reducing.append(handle)
        elif isinstance(label.layer, int):  # the new weights come back
            self._weights.setdefault(label.layer, []).append(handle)

    def _finish(self, number: int) -> Program:
        """After the last micro-batch: gradients, the update, and weights for others."""
        script = self._script
        if script.offload.pooled:
            yield from self._add_up(number)
        yield from self._hand_in_late(number)
        yield from wait(self._sent)
        yield from wait(self._reducing)
        if not script.offload.pooled:
            yield from self._add_up(number)
        if script.offload.updates:
            yield from self._update(number)
        elif script.update is not None:
            yield script.update.operation(Label(number, OPTIMIZER, UPDATE))
        for chunk in script.chunks:
            for block in chunk:
                yield from self._hand_out(number, block)
                if self._gathered is not None:
                    yield from wait(self._weights.pop(block.layer, []))
                    yield from self._gathered.make_room()
                    yield from self._gathered.go((Label(number, block.layer, WEIGHTS), block.moved.weights))
        if self._gathered is not None:
            yield from self._gathered.finish()
        yield from self._keep(number)

    def _add_up(self, number: int) -> Program:
        """Add up gradients that tensor groups, or the first and the last stage, have parts of."""
        script = self._script
        if script.summed is not None:
            yield Wait((yield from post(self._request(script.summed, Label(number, SUMMED, GRADIENT), _NOW))))
        if script.tied is not None:
            tied = replace(script.tied, label=Label(number, TIED, GRADIENT), policy=_NOW)
            yield Wait((yield from post(tied)))

    def _update(self, number: int) -> Program:
        """Update block by block, with what lies beyond the device."""
        offload, blocks = self._script.offload, [block for block, _ in self._script.updates]
        given = ((offload.weights, "updated"), (offload.optimizer, "optimizer"))
        found = {part: self._stream(away, part, number, blocks) for away, part in given}
        streams = [stream for stream in found.values() if stream is not None]
        for _, update in self._script.updates:
            for stream in streams:
                yield from stream.come()
            yield update.operation(Label(number, OPTIMIZER, UPDATE))
            for stream in streams:
                if stream is not found["updated"] or self._gathered is None:
                    yield from stream.go()
        for stream in streams:
            yield from stream.finish()

    def _keep(self, number: int) -> Program:
        """Store a checkpoint, if its turn has come."""
        checkpoint = self._script.checkpoint
        if checkpoint is None or (number + 1) % checkpoint.every:
            return
        if not checkpoint.interval_ps:  # else one that isn't stored puts off the next
            yield from wait(self._checkpoint)
        if self._script.offload.pooled:  # the storage hosts keep what they have updated
            for handles in self._weights.values():
                yield from wait(handles)
        label = Label(number, CHECKPOINT, STORE)
        stored = Store(
            self._script.checkpoint_bytes, label, interval_ps=checkpoint.interval_ps, behind=checkpoint.behind
        )
        self._checkpoint.append((yield from post(stored)))
        if not checkpoint.behind:
            yield from wait(self._checkpoint)

    def _hand_out(self, number: int, block: BlockScript) -> Program:
        """Send the weights that this NPU has updated to the others."""
        for bucket in block.buckets:
            if bucket.gather is not None:
                label = Label(number, block.layer, WEIGHTS)
                handle = yield from self._gather_weights(bucket.gather, label)
                self._weights.setdefault(block.layer, []).append(handle)
        if not self._script.sharding.overlap:
            yield from wait(self._weights.pop(block.layer, []))

    def _receive(self, number: int, work: Work, *, forward: bool) -> Program:
        """Wait for what a pass needs of the neighbour."""
        source = self._neighbour(work.chunk, before=forward)
        if source is not None:
            word = ACTIVATION if forward else GRADIENT
            label = Label(number, PIPELINE, word, work.micro_batch)
            yield Wait((yield from post(Receive(source, self._script.boundary_bytes, (word, work.chunk), label))))

    def _send(self, number: int, work: Work, *, forward: bool) -> Program:
        """Send what the neighbour needs, and go on."""
        to = self._neighbour(work.chunk, before=not forward)
        if to is not None:
            script = self._script
            word = ACTIVATION if forward else GRADIENT
            # Which of its stage's parts the one is that comes after, or before, one of ours.
            tag = word, work.chunk + script.is_last if forward else work.chunk - script.is_first
            label = Label(number, PIPELINE, word, work.micro_batch)
            self._sent.append((yield from post(Send(to, script.boundary_bytes, tag, label))))

    def _neighbour(self, chunk: int, *, before: bool) -> Communicator | None:
        """Who has the part of the model before or after one of ours, None if nobody else has."""
        script = self._script
        if before:
            return None if script.is_first and chunk == 0 else script.before
        return None if script.is_last and chunk == len(script.chunks) - 1 else script.after


def _turn(step: Turning, label: Label) -> Program:
    for turn in range(step.turns):
        handles = []
        bytes = step.home_bytes + (step.bytes if turn < step.turns - 1 else 0)
        if bytes:
            handles.append((yield from post(Send(step.next, bytes, step.tag, label))))
            handles.append((yield from post(Receive(step.before, bytes, step.tag, label))))
        yield step.computing.operation(label)
        yield from wait(handles)


def post(operation: Posting) -> Posted:
    """Post something, and give its handle."""
    handle = yield operation
    assert handle is not None
    return handle


def wait(handles: list[Handle]) -> Program:
    """Wait for all, and forget them."""
    for handle in handles:
        yield Wait(handle)
    handles.clear()
