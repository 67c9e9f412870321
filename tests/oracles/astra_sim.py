"""ASTRA-sim 1.0 on its analytical network, worked out for one NPU that stands for all.

Written from its rules alone, section by section of ``semantics.md`` (``shared/reference/astra-sim-1.0``), for what is
alike on all NPUs: rings, and switches with ``direct``; plain queues. Times are whole nanoseconds. Events of one
nanosecond at different places have an order there that needs all NPUs: :class:`Tie` says that a case has one.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

GIB_PER_NS = 2**30 / 1e9
REDUCED_BYTES_PER_NS = 500_000
HIGHEST = 10**8
AR, RS, AG, A2A, NONE = "ALLREDUCE", "REDUCESCATTER", "ALLGATHER", "ALLTOALL", "NONE"


class Tie(Exception):
    """What comes first in a nanosecond would decide, and isn't known here."""


@dataclass(frozen=True)
class Dimension:
    """``Ring`` or ``Switch``; ``algorithm``: ``ring``, or ``direct`` on a switch."""

    topology: str
    npus: int
    links: int
    gib: float
    latency_ns: int
    router_ns: int = 0
    algorithm: str = "ring"

    def message_ns(self, bytes: int) -> int:
        """Section 3, for a neighbour on a ring; the sum is truncated after every addend."""
        ring = self.topology == "Ring"
        time = int((1 if ring else 2) * self.latency_ns)
        time = int(time + bytes / (self.gib * GIB_PER_NS * (self.links // 2 * 2 if ring else self.links)))
        return time if ring else time + self.router_ns

    def phase_ns(self, kind: str, bytes: int, endpoint_ns: int) -> int:
        """Section 4: a chunk of ``bytes`` in this dimension."""
        n = self.npus
        message = bytes if kind == AG else bytes // n
        reduction = 3 * (message // REDUCED_BYTES_PER_NS)
        step = endpoint_ns + self.message_ns(message)
        if self.algorithm == "direct":
            assert self.topology == "Switch"
            assert reduction == 0 or kind in (AG, A2A)
            return (2 if kind == AR else 1) * step + endpoint_ns
        steps = {AR: 2 * (n - 1), RS: n - 1, AG: n - 1, A2A: n * (n - 1) // 2}[kind]
        return steps * step + endpoint_ns + (n - 1 if kind in (AR, RS) else 0) * reduction

    def output(self, kind: str, bytes: int) -> int:
        """What a chunk of ``bytes`` comes out with."""
        return {RS: bytes // self.npus, AG: bytes * self.npus}.get(kind, bytes)


@dataclass(frozen=True)
class System:
    """``baseline``: an all-reduce of full size in each dimension. ``policy``: where the workload says none."""

    dimensions: tuple[Dimension, ...]
    splits: int
    active: int
    endpoint_ns: int
    policy: str = "LIFO"
    baseline: bool = False


@dataclass(frozen=True)
class Part:
    """One pass of a layer."""

    compute_ns: int
    kind: str = NONE
    bytes: int = 0


@dataclass(frozen=True)
class Layer:
    """``policy``: of HYBRID_CUSTOMIZED, the loop whose dimensions it takes."""

    forward: Part
    input_gradient: Part
    weight_gradient: Part
    update_ns: int = 0
    policy: str = ""

    def part(self, name: str) -> Part:
        return {"f": self.forward, "i": self.input_gradient, "w": self.weight_gradient}[name]


@dataclass(frozen=True)
class Workload:
    """``model``: how many dimensions a transformer's model parallelism takes; ``bottom``: DLRM's last bottom layer."""

    loop: str
    layers: tuple[Layer, ...]
    bottom: int = 0
    model: int = 1
    checkpoints: tuple[int, ...] = ()
    initiates: tuple[int, ...] = ()


@dataclass
class Outcome:
    """By layer and pass (``f``, ``i``, ``w``)."""

    finish_ns: int = 0
    compute_ns: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    exposed_ns: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    total_ns: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class _Collective:
    chunks: int = 0
    issued_ns: int = 0
    done: bool = False
    waiter: Callable[[], None] | None = None


@dataclass
class _Chunk:
    collective: _Collective
    phases: Iterator[tuple[int, int]]  # dimension, duration
    priority: int
    update: Callable[[], None]
    duration: int = 0


@dataclass
class _Queue:
    running: int = 0
    waiting: list[_Chunk] = field(default_factory=list)


Steps = Generator[tuple[str, Any, Any], None, None]


class Play:
    """A run: queues of section 5, the loop of section 6."""

    def __init__(self, system: System, workload: Workload, passes: int) -> None:
        self.outcome = Outcome()
        self._system, self._workload, self._passes = system, workload, passes
        self._queues = [_Queue() for _ in system.dimensions]
        self._events: list[tuple[int, int, str, Callable[[], None]]] = []
        self._order = count()
        self._counter = 0
        self._now = 0
        self._open: dict[tuple[int, str], list[_Collective]] = defaultdict(list)
        self._steps = self._loop()

    def run(self) -> Outcome:
        """What NPU 0 sees; raises Tie."""
        self._advance()
        last: tuple[int, str] = (-1, "")
        while self._events:
            time, _, place, action = heapq.heappop(self._events)
            if time == last[0] and place != last[1]:
                raise Tie(f"at {time} ns: {last[1]} and {place}")
            last, self._now = (time, place), time
            action()
        return self.outcome

    def _at(self, delay_ns: int, place: str, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self._now + delay_ns, next(self._order), place, action))

    # --- section 5 ---------------------------------------------------------------------------------------------------

    def _issue(self, layer: int, name: str, dimensions: Sequence[int], policy: str = "") -> None:
        part = self._workload.layers[layer].part(name)
        if part.kind == NONE:
            return
        policy = policy or self._system.policy
        priority = HIGHEST if policy == "HIGHEST" else self._counter
        self._counter += {"LIFO": 1, "FIFO": -1}.get(policy, 0)
        used = [number for number in dimensions if self._system.dimensions[number].npus > 1]
        if not used:
            return
        collective = _Collective(issued_ns=self._now)
        self._open[layer, name].append(collective)
        size = part.bytes // self._system.splits
        sizes = [size] * (part.bytes // size) + [part.bytes % size] * (part.bytes % size > 0)
        collective.chunks = len(sizes)
        for bytes in sizes:
            phases = self._phases(part.kind, used, bytes)
            self._enter(_Chunk(collective, phases, priority, lambda: self._finished(layer, name, collective)))
        for number in used:
            self._start(number)

    def _phases(self, kind: str, used: list[int], bytes: int) -> Iterator[tuple[int, int]]:
        if kind == AR and not self._system.baseline:
            plan = [(number, RS) for number in used[:-1]] + [(used[-1], AR)]
            plan += [(number, AG) for number in used[-2::-1]]
        else:
            plan = [(number, kind) for number in (used[::-1] if kind == AG else used)]
        for number, phase in plan:
            dimension = self._system.dimensions[number]
            yield number, dimension.phase_ns(phase, bytes, self._system.endpoint_ns)
            bytes = dimension.output(phase, bytes)

    def _enter(self, chunk: _Chunk) -> int | None:
        number, chunk.duration = next(chunk.phases, (None, 0))
        if number is not None:
            waiting = self._queues[number].waiting
            place = next((i for i, other in enumerate(waiting) if other.priority < chunk.priority), len(waiting))
            waiting.insert(place, chunk)
        return number

    def _start(self, number: int) -> None:
        queue = self._queues[number]
        while queue.waiting and queue.running < self._system.active:
            chunk = queue.waiting.pop(0)
            queue.running += 1
            self._at(chunk.duration, f"dimension {number}", lambda chunk=chunk: self._ended(chunk, number))  # type: ignore[misc]

    def _ended(self, chunk: _Chunk, number: int) -> None:
        self._queues[number].running -= 1
        following = self._enter(chunk)
        self._start(number)
        if following is not None:
            self._start(following)
            return
        chunk.collective.chunks -= 1
        if not chunk.collective.chunks:
            chunk.update()

    def _finished(self, layer: int, name: str, collective: _Collective) -> None:
        update_ns = self._workload.layers[layer].update_ns

        def done() -> None:
            collective.done = True
            self._open[layer, name].remove(collective)
            self.outcome.total_ns[layer, name] += self._now - collective.issued_ns
            if collective.waiter is not None:
                collective.waiter()

        if update_ns:
            self._at(update_ns, "update", done)
        else:
            done()

    # --- section 6 ---------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        for word, first, second in self._steps:
            if word == "compute":
                time = self._workload.layers[first].part(second).compute_ns
                self.outcome.compute_ns[first, second] += time
                if time:
                    self._at(time, "loop", self._advance)
                    return
            elif word == "move":
                self._at(1, "loop", self._advance)
                return
            else:
                waited = next(iter(self._open[first, second]), None)
                if waited is not None:
                    begin = self._now

                    def go_on(begin: int = begin, key: tuple[int, str] = (first, second), word: str = word) -> None:
                        self.outcome.exposed_ns[key] += self._now - begin if word == "wait" else 0
                        self._advance()

                    waited.waiter = go_on
                    return
        self.outcome.finish_ns = max(self.outcome.finish_ns, self._now)

    def _loop(self) -> Steps:
        loop = self._workload.loop
        inner = {"DATA": self._data, "HYBRID_DLRM": self._dlrm}.get(loop, self._model)
        for _ in range(self._passes):
            yield from inner()
        while self._open[0, "w"]:
            yield "wait", 0, "w"  # section 10: booked as exposed, and no other's
        for layer in range(len(self._workload.layers)):
            for name in "fiw":
                while self._open[layer, name]:
                    yield "drain", layer, name

    def _dimensions(self, layer: int, name: str) -> Sequence[int]:
        """Section 5: model and data dimensions."""
        every = range(len(self._system.dimensions))
        policy = self._workload.layers[layer].policy or self._workload.loop
        if policy in ("DATA", "HYBRID_DLRM"):
            return every if name == "w" or (policy == "HYBRID_DLRM" and layer == 0) else ()
        if policy in ("MODEL", "DISTRIBUTED_INFERENCE"):
            return () if name == "w" else every
        split = self._workload.model if policy.startswith("HYBRID_TRANSFORMER") else 1
        low, high = every[:split], every[split:]
        first, second = (low, high) if policy != "HYBRID_MODEL_DATA" else (high, low)
        return second if name == "w" else first

    def _forwards(self, layers: Sequence[int]) -> Steps:
        for layer in layers:
            yield "wait", layer, "w"
            yield "compute", layer, "f"
            self._issue(layer, "f", self._dimensions(layer, "f"))
            yield "wait", layer, "f"
            yield "move", None, None

    def _data(self) -> Steps:
        layers = range(len(self._workload.layers))
        for layer in layers:
            yield "wait", layer, "w"
            yield "compute", layer, "f"
            yield "move", None, None
        for layer in reversed(layers):
            yield "compute", layer, "w"
            self._issue(layer, "w", self._dimensions(layer, "w"))
            yield "move", None, None
            if layer:
                yield "compute", layer, "i"
                yield "move", None, None

    def _model(self) -> Steps:
        """MODEL, the hybrids and the transformers; inference is their forward half."""
        loop, layers = self._workload.loop, range(len(self._workload.layers))
        yield from self._forwards(layers)
        for layer in reversed(layers) if loop != "DISTRIBUTED_INFERENCE" else ():
            if layer in self._workload.initiates:
                yield "move", None, None
                kept = max(number for number in self._workload.checkpoints if number <= layer)
                yield from self._forwards(range(kept, layer))
            yield "compute", layer, "i"
            if layer or loop.startswith("HYBRID_TRANSFORMER"):
                self._issue(layer, "i", self._dimensions(layer, "i"), "LIFO")
            yield "move", None, None
            yield "compute", layer, "w"
            if loop != "MODEL":
                self._issue(layer, "w", self._dimensions(layer, "w"), "FIFO")
            yield "wait", layer, "i"
            yield "move", None, None

    def _dlrm(self) -> Steps:
        bottom, layers = self._workload.bottom, range(len(self._workload.layers))
        for layer in layers:
            yield "wait", layer, "w"
            yield "compute", layer, "f"
            if self._workload.layers[layer].forward.kind == A2A:
                self._issue(layer, "f", self._dimensions(layer, "f"), "HIGHEST")
            if layer == bottom:
                yield "wait", 0, "f"
            yield "move", None, None
        for layer in reversed(layers):
            yield "compute", layer, "w"
            self._issue(layer, "w", self._dimensions(layer, "w"))
            if layer:
                yield "move", None, None
                yield "compute", layer, "i"
            else:
                yield "wait", 0, "i"
            if layer == bottom + 1:
                self._issue(0, "i", self._dimensions(0, "i"), "HIGHEST")
            yield "move", None, None
