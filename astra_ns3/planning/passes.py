"""The least time of a block's passes for one micro-batch: computing, and exchanges that are waited for."""

from __future__ import annotations

from typing import NamedTuple

from astra_ns3.config.training_plan import Block, Degrees, Exchange, Item, Operation, Ring, Uneven
from astra_ns3.planning.least_times import LeastTimes
from astra_ns3.workload.computing.clock import Clock

Lines = tuple[int, ...]
"""Time that an NPU's lines along each dimension of the network are busy, in ps."""


class BlockTimes(NamedTuple):
    """The least times of a block's passes, in ps; ``backward``: of both gradients, where they aren't parted.

    ``lines_ps`` and ``cpu_ns`` (of playing its exchanges): those of all passes of a micro-batch together.
    """

    forward_ps: int
    backward_ps: int
    input_ps: int
    weight_ps: int
    lines_ps: Lines
    cpu_ns: int


class _Spent(NamedTuple):
    """The least time of some items, on their lines, and what playing them costs."""

    time_ps: int
    lines_ps: Lines
    cpu_ns: int


def added(one: Lines, other: Lines, times: int = 1) -> Lines:
    """Return the sum of the one and so many times the other."""
    return tuple(own + times * more for own, more in zip(one, other, strict=True))


class PassTimes:
    """Least times of blocks."""

    def __init__(self, least: LeastTimes, clock: Clock) -> None:
        self._least = least
        self._clock = clock

    def of_block(self, block: Block, degrees: Degrees) -> BlockTimes:
        """Return the times of a block; raises InputError for an exchange that the system can't do."""
        again, forward = self._of(block.again, degrees), self._of(block.forward, degrees)
        inputs, weights = self._of(block.input_gradient, degrees), self._of(block.weight_gradient, degrees)
        both = self._of((*block.input_gradient, *block.weight_gradient), degrees)
        lines = added(added(again.lines_ps, forward.lines_ps), both.lines_ps)
        cpu_ns = again.cpu_ns + forward.cpu_ns + both.cpu_ns
        back_ps = again.time_ps + both.time_ps, again.time_ps + inputs.time_ps, weights.time_ps
        return BlockTimes(forward.time_ps, *back_ps, lines, cpu_ns)

    def _of(self, items: tuple[Item, ...], degrees: Degrees) -> _Spent:
        """Return the time of items one after the other; what isn't waited for ends before the pass does."""
        time_ps = behind_ps = cpu_ns = 0
        lines: Lines = (0,) * self._least.dimensions
        for item in items:
            if isinstance(item, Exchange):
                if degrees.size(item.group) == 1 or not item.bytes:
                    continue
                least = self._least.exchange(item, degrees)
                lines, cpu_ns = added(lines, least.lines_ps), cpu_ns + least.cpu_ns
                if item.waited:
                    time_ps += least.time_ps
                else:
                    behind_ps = max(behind_ps, time_ps + least.time_ps)
            elif isinstance(item, Ring):
                time_ps += self._ring_ps(item, degrees)
                cpu_ns += (degrees.size(item.group) - bool(not item.home_bytes)) * self._least.message_cpu_ns
            else:
                time_ps += self._computed_ps(item)
        return _Spent(max(time_ps, behind_ps), lines, cpu_ns)

    def _computed_ps(self, item: Operation | Uneven) -> int:
        operations = (item,) if isinstance(item, Operation) else item.operations
        return min(map(self._clock.time_ps, operations))

    def _ring_ps(self, ring: Ring, degrees: Degrees) -> int:
        """Each turn takes as long as its computing and as its messages."""
        turns, stride = degrees.size(ring.group), degrees.strides(ring.group)[0]
        compute_ps = self._computed_ps(ring.operation)
        if turns == 1 or not ring.turn_bytes:
            return turns * compute_ps
        turn_ps = max(compute_ps, self._least.message_ps(stride, ring.turn_bytes))
        last_ps = max(compute_ps, self._least.message_ps(stride, ring.home_bytes) if ring.home_bytes else 0)
        return (turns - 1) * turn_ps + last_ps
