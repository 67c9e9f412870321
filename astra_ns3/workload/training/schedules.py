"""In which order the stages of a pipeline work on micro-batches: pure, one function per schedule.

Sources: GPipe: Y. Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism",
NeurIPS 2019. 1F1B and its interleaved form: D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
Clusters Using Megatron-LM", SC 2021. ZB-H1: P. Qi, X. Wan, G. Huang, M. Lin, "Zero Bubble Pipeline Parallelism", 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from astra_ns3.errors import InputError, nearest, refuse, wrong


class WorkKind(str, Enum):
    """The kinds of work of a stage with a micro-batch; ``BACKWARD`` is both gradients, ``INPUT`` and ``WEIGHT`` one
    each."""

    FORWARD = "forward"
    BACKWARD = "backward"
    INPUT = "input"
    WEIGHT = "weight"


class Work(NamedTuple):
    """A pass of a micro-batch through a stage's part of the model; ``chunk``: which of its parts, 0 the first."""

    kind: WorkKind
    chunk: int
    micro_batch: int


class Position(NamedTuple):
    """A stage, 0 the first, of how many; parts of the model on each; micro-batches of an iteration."""

    stage: int
    stages: int
    chunks: int
    micro_batches: int


Schedule = Callable[[Position], Iterator[Work]]
"""The steps of a stage in an iteration, in order. Raises InputError if the numbers don't fit the schedule."""

FORWARD, BACKWARD, INPUT, WEIGHT = WorkKind.FORWARD, WorkKind.BACKWARD, WorkKind.INPUT, WorkKind.WEIGHT


def gpipe(at: Position) -> Iterator[Work]:
    """All micro-batches forward, then all backward, the last one first; with ``virtual_stages`` part after part.

    Idle share with v virtual stages: (p - 1) / (v m + p - 1).
    """
    forwards = [(chunk, batch) for chunk in range(at.chunks) for batch in range(at.micro_batches)]
    yield from (Work(FORWARD, chunk, batch) for chunk, batch in forwards)
    yield from (Work(BACKWARD, chunk, batch) for chunk, batch in reversed(forwards))


def one_forward_one_backward(at: Position) -> Iterator[Work]:
    """As many forward as stages follow, then one forward and one backward in turn (PipeDream-Flush).

    Idle share: (p - 1) / (m + p - 1).
    """
    _needs_one_chunk(at, "1f1b")
    first = min(at.stages - 1 - at.stage, at.micro_batches)
    yield from (Work(FORWARD, 0, batch) for batch in range(first))
    for batch in range(at.micro_batches):
        if first + batch < at.micro_batches:
            yield Work(FORWARD, 0, first + batch)
        yield Work(BACKWARD, 0, batch)


def interleaved(at: Position) -> Iterator[Work]:
    """As 1f1b over v ``virtual_stages`` on each stage, each for p micro-batches in a row; m is a multiple of p.

    Idle: (p - 1) / (v m) of the rest.
    """
    refuse(at.chunks < 2, "schedule 'interleaved' with 1 virtual stage, expected at least 2")
    refuse(
        bool(at.micro_batches % at.stages),
        f"schedule 'interleaved' with {at.micro_batches} micro-batches, expected a multiple of the {at.stages} stages",
    )
    total = at.micro_batches * at.chunks
    first = min(2 * (at.stages - 1 - at.stage) + (at.chunks - 1) * at.stages, total)
    yield from (_interleaved(at, number, FORWARD) for number in range(first))
    for number in range(total):
        if first + number < total:
            yield _interleaved(at, first + number, FORWARD)
        yield _interleaved(at, number, BACKWARD)


def _interleaved(at: Position, number: int, kind: WorkKind) -> Work:
    """The work with a number among the forward, or the backward, passes of a stage."""
    group, inside = divmod(number, at.stages * at.chunks)
    chunk, batch = divmod(inside, at.stages)
    return Work(kind, chunk if kind is FORWARD else at.chunks - 1 - chunk, group * at.stages + batch)


def zero_bubble(at: Position) -> Iterator[Work]:
    """ZB-H1: as 1f1b, but gradients of inputs go on at once.

    Gradients of weights come as many micro-batches later as stages come before. Idle time: (p - 1)(F + I - W), where
    1f1b has (p - 1)(F + I + W), for W not longer than F.
    """
    _needs_one_chunk(at, "zero-bubble")
    first = min(at.stages - 1 - at.stage, at.micro_batches)
    yield from (Work(FORWARD, 0, batch) for batch in range(first))
    for batch in range(at.micro_batches):
        if first + batch < at.micro_batches:
            yield Work(FORWARD, 0, first + batch)
        yield Work(INPUT, 0, batch)
        if batch >= at.stage:
            yield Work(WEIGHT, 0, batch - at.stage)
    yield from (Work(WEIGHT, 0, batch) for batch in range(max(at.micro_batches - at.stage, 0), at.micro_batches))


def _needs_one_chunk(at: Position, name: str) -> None:
    refuse(at.chunks > 1, f"schedule '{name}' with {at.chunks} virtual stages, expected 1, or schedule 'interleaved'")


SCHEDULES: Mapping[str, Schedule] = {
    "gpipe": gpipe,
    "1f1b": one_forward_one_backward,
    "interleaved": interleaved,
    "zero-bubble": zero_bubble,
}
"""By the name in a model's file."""


def order_of(schedule: str, at: Position, source: str = "") -> tuple[Work, ...]:
    """Return the steps of a stage in an iteration; raises InputError if the numbers don't fit, or nothing has that
    name."""
    where = f"{source}: " if source else ""
    if schedule not in SCHEDULES:
        known = ", ".join(SCHEDULES)
        raise wrong(f"{where}schedule '{schedule}' is not one of {known}{nearest(schedule, SCHEDULES)}")
    try:
        return tuple(SCHEDULES[schedule](at))
    except InputError as error:
        raise wrong(f"{where}{error}") from error
