"""The pipeline that SimAI lacks: what a stage does when, and what it sends to its neighbours.

Plain pipelines go in the order 1F1B (PipeDream-Flush, Narayanan et al. 2021). Where a stage has several parts of the
model, its chunks, the order is the interleaved one of Megatron-LM (Narayanan et al., "Efficient Large-Scale Language
Model Training on GPU Clusters", SC 2021, section 2.2): as many micro-batches as there are stages go through one chunk,
then through the next, and behind the last stage's chunk comes the first stage's next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from astra_ns3.network.records import Label
from astra_ns3.system.request import Handle
from astra_ns3.workload.micro_batches import MicroBatches
from astra_ns3.workload.operations import Program, Receive, Send, Wait
from astra_ns3.workload.roles import Role
from astra_ns3.workload.steps import Steps

PIPELINE = "pipeline"
"""What messages between stages are called in the place of a layer."""
ACTIVATION, GRADIENT = "activation", "gradient"


class Turn(NamedTuple):
    """A micro-batch goes forward, or backward, through a chunk of a stage."""

    forward: bool
    batch: int
    chunk: int


def turns(stage: int, stages: int, batches: int, chunks: int) -> Iterator[Turn]:
    """What a stage does, in order; ``batches`` is a multiple of ``stages`` where there are several ``chunks``.

    So many go forward before the first goes backward that no stage waits for long; then one of each in turn.
    """
    forwards = list(_through(stages, batches, chunks))
    backwards = [(batch, chunks - 1 - chunk) for batch, chunk in forwards]
    behind = stages - 1 - stage
    first = min(behind if chunks == 1 else 2 * behind + (chunks - 1) * stages, len(forwards))
    yield from (Turn(True, *each) for each in forwards[:first])
    for place, each in enumerate(backwards):
        if first + place < len(forwards):
            yield Turn(True, *forwards[first + place])
        yield Turn(False, *each)


def _through(stages: int, batches: int, chunks: int) -> Iterator[tuple[int, int]]:
    """Micro-batches and the chunks that they go through."""
    at_once = batches if chunks == 1 else stages
    for begin in range(0, batches, at_once):
        for chunk in range(chunks):
            yield from ((batch, chunk) for batch in range(begin, begin + at_once))


class Pipeline:
    """A stage's messages, and its turns."""

    def __init__(self, steps: Steps, role: Role, batches: MicroBatches) -> None:
        self.batches = batches
        self._bytes = steps.workload.stage_bytes or 0
        self._stage = role.number
        self._roles = list(steps.roles.values())
        self._sent: list[Handle] = []

    def turns(self) -> Iterable[Turn]:
        """What this stage does, in order."""
        return turns(self._stage, len(self._roles), self.batches.count, self.batches.parts)

    def receive(self, number: int, turn: Turn) -> Program:
        """Wait for what a turn needs of the neighbour."""
        step = -1 if turn.forward else 1
        source = self._neighbour(turn, step)
        if source is not None:
            word = ACTIVATION if turn.forward else GRADIENT
            label = Label(number, PIPELINE, word, turn.batch)
            handle = yield Receive(self._roles[source].communicator, self._bytes, self._tag(word, turn.chunk), label)
            assert handle is not None
            yield Wait(handle)

    def send(self, number: int, turn: Turn) -> Program:
        """Send what the neighbour needs of a turn, and go on."""
        step = 1 if turn.forward else -1
        to = self._neighbour(turn, step)
        if to is not None:
            word = ACTIVATION if turn.forward else GRADIENT
            chunk = turn.chunk if to == self._stage + step else turn.chunk + step
            label = Label(number, PIPELINE, word, turn.batch)
            handle = yield Send(self._roles[to].communicator, self._bytes, self._tag(word, chunk), label)
            assert handle is not None
            self._sent.append(handle)

    def drain(self) -> Program:
        """Wait until all that was sent has left."""
        for handle in self._sent:
            yield Wait(handle)
        self._sent.clear()

    def _neighbour(self, turn: Turn, step: int) -> int | None:
        """The stage before or behind (-1, 1) that a turn's data come from or go to; None at an end of the model.

        Beyond the last stage the model goes on in the first one's next chunk.
        """
        stage, stages = self._stage + step, len(self._roles)
        if 0 <= stage < stages:
            return stage
        return stage % stages if 0 <= turn.chunk + step < self.batches.parts else None

    def _tag(self, word: str, chunk: int) -> str | tuple[str, int]:
        """Which messages of a pair of NPUs follow one another; ``chunk``: the receiver's."""
        return word if self.batches.parts == 1 else (word, chunk)
