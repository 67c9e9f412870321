"""The pipeline that SimAI lacks: what a stage does when, and what it sends to its neighbours.

Plain pipelines go in the order 1F1B; those of which a stage has several parts of the model, its chunks, in the
interleaved form of it (:mod:`astra_ns3.workload.training.schedules`): behind the last stage's chunk comes the first
stage's next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from astra_ns3.network.records import PIPELINE, Label
from astra_ns3.playing.loops.steps import Steps
from astra_ns3.playing.programs.operations import Program, Receive, Send, Wait
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.request import Handle
from astra_ns3.workload.loops.micro_batches import MicroBatches
from astra_ns3.workload.training.schedules import Position, WorkKind, interleaved, one_forward_one_backward

ACTIVATION, GRADIENT = "activation", "gradient"


class Turn(NamedTuple):
    """A micro-batch goes forward, or backward, through a chunk of a stage."""

    forward: bool
    batch: int
    chunk: int


def turns(stage: int, stages: int, batches: int, chunks: int) -> Iterator[Turn]:
    """The steps of a stage, in order; ``batches`` is a multiple of ``stages`` where there are several ``chunks``."""
    order = one_forward_one_backward if chunks == 1 else interleaved
    for work in order(Position(stage, stages, chunks, batches)):
        yield Turn(work.kind is WorkKind.FORWARD, work.micro_batch, work.chunk)


class Pipeline:
    """A stage's messages, and its turns."""

    def __init__(self, steps: Steps, role: Role, batches: MicroBatches) -> None:
        self.batches = batches
        self._bytes = steps.workload.stage_bytes or 0
        self._stage = role.number
        self._roles = list(steps.roles.values())
        self._sent: list[Handle] = []

    def turns(self) -> Iterable[Turn]:
        """The turns of this stage, in order."""
        return turns(self._stage, len(self._roles), self.batches.count, self.batches.parts)

    def receive(self, number: int, turn: Turn) -> Program:
        """Wait for what a turn needs of the neighbour."""
        source = self._neighbour(turn, -1 if turn.forward else 1)
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
