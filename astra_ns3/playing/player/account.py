"""The account of one NPU: what its time went into, by layer and by whom it waited for, and how far it has come."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from astra_ns3.config.workload import PassKind
from astra_ns3.network.records import STEPS, Label, LayerTimes, PassTimes
from astra_ns3.playing.player.held import Awaited, Held, Joined
from astra_ns3.playing.programs.operations import Compute, Load, Move, Posting, Receive, Send, Store
from astra_ns3.system.journal import Journal
from astra_ns3.system.request import CollectiveRequest, Handle, group_words

KINDS: Mapping[type[Held | Posting], str] = {
    Compute: "compute",
    Awaited: "wait",
    Move: "step",
    CollectiveRequest: "issue",
    Send: "send",
    Receive: "receive",
    Store: "store",
    Load: "load",
}
"""The kinds of work that take time or are posted, as a journal calls them."""


@dataclass
class LayerSums:
    """Sums of one layer, by part of its work."""

    compute_ps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    exposed_ps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    comm_ps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    tail_ps: int = 0

    def times(self, name: str, stands_with: Mapping[str, PassKind]) -> LayerTimes:
        """Return the sums as the records tell them; ``stands_with``: as of a program."""

        def of(part: str) -> PassTimes:
            return PassTimes(self.compute_ps.get(part, 0), self.exposed_ps.get(part, 0), self.comm_ps.get(part, 0))

        parts = dict.fromkeys(part for found in (self.compute_ps, self.exposed_ps, self.comm_ps) for part in found)
        usual = {kind.value for kind in PassKind}
        return LayerTimes(
            name,
            of(PassKind.FORWARD),
            of(PassKind.WEIGHT_GRADIENT),
            of(PassKind.INPUT_GRADIENT),
            self.tail_ps,
            {str(part): of(part) for part in parts if part not in usual},
            stands_with,
        )


class Account:
    """Is told what NPU ``npu`` does, the one at ``place`` among those of its role.

    ``layers``: of the workload; ``journal``: takes each operation (None: nobody).
    """

    def __init__(self, npu: int, layers: int, journal: Journal | None = None, *, place: int = 0) -> None:
        self._npu = npu
        self._layers = layers
        self._place = place
        self._journal = journal
        self._sums: dict[int | str, LayerSums] = defaultdict(LayerSums)
        self._groups: dict[str, int] = defaultdict(int)
        self._held: Held | None = None
        self._since_ps = 0
        self._position: Label | None = None
        self._pass_waited_for = 0

    def waits_for(self, handle: Handle) -> None:
        """The program comes to a wait, which may be over."""
        self._pass_waited_for = handle.request.label.iteration

    def posted(self, operation: Posting, handle: Handle, time_ps: int) -> None:
        """The program posted an operation."""
        if self._journal is not None and handle.collective >= 0:
            kind = KINDS[type(operation)]
            self._journal.operation(self._npu, kind, handle.request.label, handle.collective, time_ps, time_ps)

    def handle_done(self, handle: Handle, time_ps: int) -> None:
        """A collective or a message counts as done."""
        label = handle.request.label
        self._sums[label.layer].comm_ps[label.part] += time_ps - handle.issue_ps

    def hold(self, held: Held, time_ps: int) -> None:
        """Something takes time from now on."""
        self._held, self._since_ps = held, time_ps

    def release(self, time_ps: int) -> None:
        """Book what has taken time until now."""
        self.write_down(time_ps)
        for each, begin_ps, end_ps in self._spans(time_ps):
            _add(self._sums, each, end_ps - begin_ps)
        self._position = self._reached(time_ps)
        held, self._held = self._held, None
        assert held is not None
        if not isinstance(held, Compute):
            self._groups[_group_of(held)] += time_ps - self._since_ps

    def write_down(self, time_ps: int) -> None:
        """Put what has taken time until now into the journal."""
        if self._journal is None:
            return
        for held, begin_ps, end_ps in self._spans(time_ps):
            label, collective = Label(), -1
            if isinstance(held, Awaited):
                # Of several the one that let the program go on; none has, if it still waits.
                handle = next((each for each in held.handles(self._npu) if each.done), held.first)
                label, collective = handle.request.label, handle.collective
            elif isinstance(held, Compute):
                label = held.label
            self._journal.operation(self._npu, KINDS[type(held)], label, collective, begin_ps, end_ps)

    def exposed_by_group(self, now_ps: int) -> Mapping[str, int]:
        """Return for how long the NPU waited for whom until now, the longest first."""
        groups = Counter(self._groups)
        if self._held is not None and not isinstance(self._held, Compute):
            groups[_group_of(self._held)] += now_ps - self._since_ps
        return {group: time_ps for group, time_ps in groups.most_common() if time_ps}

    def sums(self, now_ps: int) -> dict[int | str, LayerSums]:
        """Return the sums of each layer until now, the workload's first; what takes time counts, and isn't booked."""
        sums: dict[int | str, LayerSums] = defaultdict(LayerSums)
        sums.update((layer, LayerSums()) for layer in range(self._layers))
        sums.update(deepcopy(self._sums))
        for held, begin_ps, end_ps in self._spans(now_ps):
            _add(sums, held, end_ps - begin_ps)
        return sums

    def position(self, step_of: Callable[[Label], int], now_ps: int) -> tuple[int, int]:
        """Return passes done, and steps done of the present pass; ``step_of``: how many come before a computation."""
        position = self._reached(now_ps)
        if position is None:
            return self._pass_waited_for, 0
        return position.iteration, step_of(position)

    def _reached(self, now_ps: int) -> Label | None:
        """Return the last computation that has begun; a forward pass that is done again isn't a step back."""
        position = self._position
        for computed, _ in self._begun(now_ps):
            if position is None or not _again(position, computed.label):
                position = computed.label
        return position

    def _begun(self, now_ps: int) -> Iterator[tuple[Compute, int]]:
        """Yield each computation that is played now and has begun, with its begin."""
        held, begin_ps = self._held, self._since_ps
        if not isinstance(held, Compute):
            return
        for part in held.parts if isinstance(held, Joined) else (held,):
            if begin_ps > now_ps:
                return
            yield part, begin_ps
            begin_ps += part.time_ps if part.times_ps is None else part.times_ps[self._place]

    def _spans(self, now_ps: int) -> Iterator[tuple[Held, int, int]]:
        """Yield what takes time, each computation by itself, with its begin and its end or ``now_ps``."""
        if isinstance(self._held, Compute):
            begun = list(self._begun(now_ps))
            ends_ps = [*(begin_ps for _, begin_ps in begun[1:]), now_ps]
            for (part, begin_ps), end_ps in zip(begun, ends_ps, strict=True):
                if part.time_ps:
                    yield part, begin_ps, end_ps
        elif self._held is not None:
            yield self._held, self._since_ps, now_ps


def _add(sums: dict[int | str, LayerSums], held: Held, elapsed_ps: int) -> None:
    """Add the time of an operation to its layer, if it has one."""
    if isinstance(held, Compute):
        sums[held.label.layer].compute_ps[held.label.part] += elapsed_ps
    elif isinstance(held, Awaited):
        label = held.first.request.label
        if held.tail:
            sums[label.layer].tail_ps += elapsed_ps
        else:
            sums[label.layer].exposed_ps[label.part] += elapsed_ps


def _group_of(held: Awaited | Move) -> str:
    return STEPS if isinstance(held, Move) else group_words(held.first.request)


def _again(before: Label, now: Label) -> bool:
    """Whether a forward pass is done again within an iteration, for the same micro-batch."""
    if before.iteration != now.iteration or before.micro_batch != now.micro_batch or now.part != PassKind.FORWARD:
        return False
    higher = isinstance(before.layer, int) and isinstance(now.layer, int) and before.layer > now.layer
    return before.part != PassKind.FORWARD or higher
