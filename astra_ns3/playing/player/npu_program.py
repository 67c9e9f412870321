"""One NPU's run through its training loop: what it is doing now, and what its time went into."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from astra_ns3.config.workload import PassKind
from astra_ns3.network.records import STEPS, Label, NpuRecord
from astra_ns3.playing.programs.operations import Blocking, Compute, Move, Posting, Program, Wait, WaitAny, Waiting
from astra_ns3.system.journal import Journal
from astra_ns3.system.request import Handle, group_words

KINDS: Mapping[type, str] = {Compute: "compute", Wait: "wait", WaitAny: "wait", Move: "step"}
"""What blocks, as a journal calls it."""


@dataclass
class LayerSums:
    """Sums of one layer, by part of its work."""

    compute_ps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    exposed_ps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    comm_ps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    tail_ps: int = 0


SumsByLayer = defaultdict[int | str, LayerSums]


def sums_by_layer(layers: int) -> SumsByLayer:
    """None so far; the workload's ``layers`` come first."""
    sums: SumsByLayer = defaultdict(LayerSums)
    sums.update((layer, LayerSums()) for layer in range(layers))
    return sums


class NpuProgram:
    """Runs ``program`` from one blocking operation to the next.

    ``move_ps``: what a move to the next step takes. ``layers`` gets the sums (None: totals only), ``journal`` each
    operation (None: nobody does).
    """

    def __init__(
        self,
        number: int,
        program: Program,
        move_ps: int,
        layers: SumsByLayer | None,
        journal: Journal | None = None,
    ) -> None:
        self.number = number
        self.finish_ps: int | None = None
        self._send = program.send
        self._move_ps = move_ps
        self._layers = layers
        self._groups: dict[str, int] = defaultdict(int)
        self._journal = journal
        self._blocking: Blocking | None = None
        self._since_ps = 0
        self._compute_ps = 0
        self._exposed_ps = 0
        self._position: Compute | None = None
        self._pass_waited_for = 0

    @property
    def done(self) -> bool:
        """Whether the program has ended."""
        return self.finish_ps is not None

    @property
    def blocking(self) -> Blocking | None:
        """What the NPU is busy with or waits for; None before the start and after the end."""
        return self._blocking

    def next_blocking(self, time_ps: int, post: Callable[[Posting], Handle]) -> Blocking | None:
        """Book what blocked until now and go on to what takes time or isn't finished; None at the end.

        ``post`` does what an Issue, a Send or a Receive asks for.
        """
        if self._blocking is not None:
            self._book(time_ps)
        answer: Handle | None = None
        send = self._send
        operation: Any
        while True:
            try:
                operation = send(answer)
            except StopIteration:
                self.finish_ps = time_ps
                return None
            answer = None
            kind = operation.__class__
            if kind is Compute:
                self._move_to(operation)
                if operation.time_ps:
                    return self._block(operation, time_ps)
            elif kind is Wait or kind is WaitAny:
                self._pass_waited_for = operation.handle.request.label.iteration
                if not operation.over:
                    return self._block(operation, time_ps)
            elif kind is Move:
                if self._move_ps:
                    return self._block(operation, time_ps)
            else:
                answer = post(operation)
                if self._journal is not None and answer.collective >= 0:
                    name = kind.__name__.lower()
                    label = answer.request.label
                    self._journal.operation(self.number, name, label, answer.collective, time_ps, time_ps)

    def handle_done(self, handle: Handle, time_ps: int) -> bool:
        """A collective or a message counts as done; True if the program waited for it."""
        handle.done = True
        if self._layers is not None:
            label = handle.request.label
            self._layers[label.layer].comm_ps[label.part] += time_ps - handle.issue_ps
        waited_for = self._blocking
        return isinstance(waited_for, Waiting) and handle in waited_for.handles

    def record(self, now_ps: int) -> NpuRecord:
        """Totals; what blocks now counts until now."""
        finish_ps = now_ps if self.finish_ps is None else self.finish_ps
        running_ps = finish_ps - self._since_ps if self._blocking is not None else 0
        computes = isinstance(self._blocking, Compute)
        return NpuRecord(
            self.number,
            finish_ps,
            self._compute_ps + (running_ps if computes else 0),
            self._exposed_ps + (0 if computes else running_ps),
            self.done,
        )

    def exposed_by_group(self, now_ps: int) -> Mapping[str, int]:
        """What of its exposed time until now it waited for whom, if it is observed; the longest first."""
        groups = Counter(self._groups)
        if self._blocking is not None and not isinstance(self._blocking, Compute):
            groups[_group_of(self._blocking)] += now_ps - self._since_ps
        return {group: time_ps for group, time_ps in groups.most_common() if time_ps}

    def sums(self, now_ps: int) -> SumsByLayer:
        """The sums of its layers until now, if it is observed: what blocks now counts, and isn't booked yet."""
        if self._layers is None or self._blocking is None:
            return self._layers or sums_by_layer(0)
        found = deepcopy(self._layers)
        _add(found, self._blocking, now_ps - self._since_ps)
        return found

    def write_down(self, journal: Journal, operation: Blocking, time_ps: int) -> None:
        """Put what has blocked until now into ``journal``."""
        label, collective = Label(), -1
        if isinstance(operation, Waiting):
            # Of several the one that let the program go on; none has, if it still waits.
            handle = next((each for each in operation.handles if each.done), operation.handle)
            label, collective = handle.request.label, handle.collective
        elif isinstance(operation, Compute):
            label = operation.label
        kind = KINDS[type(operation)]
        journal.operation(self.number, kind, label, collective, self._since_ps, time_ps)

    def position(self, passes: int, step_of: Callable[[Label], int]) -> tuple[int, int]:
        """Passes done, and steps done of the present pass; ``step_of``: how many come before what is computed."""
        if self.done:
            return passes, 0
        if self._position is None:
            return self._pass_waited_for, 0
        where = self._position.label
        return where.iteration, step_of(where)

    def _move_to(self, operation: Compute) -> None:
        """Note where the NPU is; a forward pass that is done again isn't a step back."""
        if self._position is None or not _again(self._position.label, operation.label):
            self._position = operation

    def _block(self, operation: Blocking, time_ps: int) -> Blocking:
        self._blocking, self._since_ps = operation, time_ps
        return operation

    def _book(self, time_ps: int) -> None:
        operation, self._blocking = self._blocking, None
        elapsed_ps = time_ps - self._since_ps
        if operation is not None and self._journal is not None:
            self.write_down(self._journal, operation, time_ps)
        if isinstance(operation, Compute):
            self._compute_ps += elapsed_ps
        elif operation is not None:
            self._exposed_ps += elapsed_ps
            if self._layers is not None:
                self._groups[_group_of(operation)] += elapsed_ps
        if operation is not None and self._layers is not None:
            _add(self._layers, operation, elapsed_ps)


def _add(layers: SumsByLayer, operation: Blocking, elapsed_ps: int) -> None:
    """Add the time of an operation to its layer, if it has one."""
    if isinstance(operation, Compute):
        layers[operation.label.layer].compute_ps[operation.label.part] += elapsed_ps
    elif isinstance(operation, Waiting):
        label = operation.handle.request.label
        sums = layers[label.layer]
        if operation.tail:
            sums.tail_ps += elapsed_ps
        else:
            sums.exposed_ps[label.part] += elapsed_ps


def _group_of(operation: Waiting | Move) -> str:
    return STEPS if isinstance(operation, Move) else group_words(operation.handle.request)


def _again(before: Label, now: Label) -> bool:
    """Whether a forward pass is done again within an iteration, for the same micro-batch."""
    if before.iteration != now.iteration or before.micro_batch != now.micro_batch or now.part != PassKind.FORWARD:
        return False
    higher = isinstance(before.layer, int) and isinstance(now.layer, int) and before.layer > now.layer
    return before.part != PassKind.FORWARD or higher
