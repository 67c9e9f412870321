"""Frames one behind the other, alone on a path some of whose switches cut through.

A switch that cuts through sends a frame on when its head has come, if the next line is free by then and would not run
out of bits. Else when all of it is there and the line is free. Frames of one size do the same one after the other until
a queue has drained. So a few pieces, each linear in the number of frames, tell their course.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.frozen import dataclass

Numbers = npt.NDArray[np.int64]
LinePs = Callable[[Numbers, int], Numbers]
"""How long line number so-and-so is busy with frames of these sizes."""


@dataclass(frozen=True)
class Lines:
    """The lines of a path in turn: ``heads`` has the bytes on the line up to the end of what the far end waits for.

    ``heads``: 0 where the far end waits for the whole frame, so at the last line.
    """

    busy_ps: LinePs
    heads: Sequence[int]

    def idle(self, messages: int) -> Numbers:
        """When each line gets free at first, shape ``(lines, messages)``."""
        return np.zeros((len(self.heads), messages), dtype=np.int64)


@dataclass(frozen=True)
class _Step:
    """The course of a frame of each message; shapes ``(lines, messages)``.

    ``free_ps``: when the line is free again; ``waits_ps``: how long the frame waits for the one before it, once all of
    it is there; ``at_head``: sent on when its head had come.
    """

    free_ps: Numbers
    waits_ps: Numbers
    at_head: npt.NDArray[np.bool_]


def _step(lines: Lines, free_ps: Numbers, sizes: Numbers) -> _Step:
    after = np.empty_like(free_ps)
    waits = np.empty_like(free_ps)
    at_head = np.empty(free_ps.shape, dtype=np.bool_)
    head = tail = np.zeros(len(sizes), dtype=np.int64)
    for line, head_bytes in enumerate(lines.heads):
        busy = lines.busy_ps(sizes, line)
        at_head[line] = (head >= free_ps[line]) & (head + busy >= tail)
        start = np.where(at_head[line], head, np.maximum(tail, free_ps[line]))
        waits[line] = np.maximum(free_ps[line] - tail, 0)
        head = after[line] = tail = start + busy
        if head_bytes:
            of_head = start + lines.busy_ps(np.array([head_bytes]), line)
            head = np.where(sizes > head_bytes, of_head, tail)
    return _Step(after, waits, at_head)


def send_few(lines: Lines, free_ps: Numbers, counts: Numbers, sizes: Numbers) -> Numbers:
    """When the lines get free after ``counts`` more frames of ``sizes`` bytes on the line, of each message."""
    for number in range(int(counts.max(initial=0))):
        free_ps = np.where(counts > number, _step(lines, free_ps, sizes).free_ps, free_ps)
    return free_ps


def send_equal(lines: Lines, counts: Numbers, size: int) -> Numbers:
    """When the idle lines get free after ``counts`` frames, the first of each message, all of one size."""
    starts, free, adds = _pieces(lines, int(counts.max(initial=0)), size)
    piece = np.searchsorted(starts, counts, side="right") - 1
    return free[:, piece] + adds[:, piece] * (counts - starts[piece])


def _pieces(lines: Lines, most: int, size: int) -> tuple[Numbers, Numbers, Numbers]:
    """From which count on each line gets free when, and how much later with each frame more."""
    one = np.array([size])
    free = lines.idle(1)
    starts, frees, adds = [0], [free], [np.zeros_like(free)]
    before: _Step | None = None
    sent = 0
    while sent < most:
        step = _step(lines, free, one)
        sent += 1
        added, free = step.free_ps - free, step.free_ps
        starts.append(sent)
        frees.append(free)
        adds.append(added)
        if before is not None and _alike(before, step):
            more = min(most - sent, _steps_alike(step, added))
            sent, free = sent + more, free + more * added
        before = step
    return np.array(starts), np.hstack(frees), np.hstack(adds)


def _alike(one: _Step, other: _Step) -> bool:
    same_wait = np.array_equal(one.waits_ps > 0, other.waits_ps > 0)
    return same_wait and np.array_equal(one.at_head, other.at_head)


def _steps_alike(step: _Step, added: Numbers) -> int:
    """How many frames more do the same: until a queue has drained by as much as they come later than they leave."""
    alike = int(np.iinfo(np.int64).max)
    drains = added[:-1] - added[1:]
    for wait, drain in zip(step.waits_ps[1:, 0].tolist(), drains[:, 0].tolist(), strict=True):
        if wait > 0 and drain > 0:
            alike = min(alike, (wait - 1) // drain)
    return alike
