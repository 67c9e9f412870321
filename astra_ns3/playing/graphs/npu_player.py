"""The walk of an NPU, or of several in step, through a graph: which nodes go on, and what the time went into."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from astra_ns3.config.graph_workload import GraphNode
from astra_ns3.network.records import NpuRecord
from astra_ns3.playing.graphs.ready import ReadyNodes
from astra_ns3.playing.graphs.slots import Slot
from astra_ns3.playing.graphs.sums import WorkSums
from astra_ns3.playing.graphs.window import Window

Begin = Callable[["NpuPlayer", GraphNode], bool | None]
"""Begins a node now; True if it is done at once, None if it isn't run at all, else its end is told by ``ended``."""
_DEVICE = int(Slot.DEVICE)
Told = Callable[[int, GraphNode, int, int], None]
"""Is told of an NPU, a node of it that has ended, and when it began and ended."""


class NpuPlayer:
    """``npus``: in the order in which they do what they do at one moment.

    ``overlooks``: what becomes ready by nodes that aren't run is looked at when another node ends.

    ``sums``: where the time is booked by kind of work; ``told``: hears of every node that has ended.
    """

    __slots__ = (
        "_begin",
        "_on_done",
        "_overlooked",
        "_overlooks",
        "_ready",
        "_since",
        "compute_ps",
        "computes_since_ps",
        "done",
        "ended_nodes",
        "finish_ps",
        "npus",
        "running",
        "sums",
        "told",
        "window",
    )

    def __init__(
        self,
        npus: list[int],
        window: Window,
        ready: ReadyNodes,
        begin: Begin,
        on_done: Callable[[int], None],
        *,
        overlooks: bool = False,
        sums: WorkSums | None = None,
        told: Told | None = None,
    ) -> None:
        self.npus = npus
        self.window = window
        self.sums = sums
        self.told = told
        self.running: dict[int, tuple[GraphNode, int, int]] = {}
        """The nodes that go on, by their number, each with when it began and its place."""
        self.compute_ps = 0
        self.computes_since_ps: int | None = None
        self.finish_ps = 0
        self.ended_nodes = 0
        self.done = False
        self._ready = ready
        self._begin = begin
        self._on_done = on_done
        self._overlooks = overlooks
        self._overlooked: list[GraphNode] = []

    @property
    def npu(self) -> int:
        """The first, which stands for all."""
        return self.npus[0]

    def split(self, groups: Sequence[list[int]]) -> list[NpuPlayer]:
        """Return a player for each of ``groups``, which all NPUs are in; nothing is left of this one."""
        parts = []
        for npus, window in zip(groups, self.window.split(len(groups)), strict=True):
            part = NpuPlayer(
                npus, window, self._ready.copy(), self._begin, self._on_done, overlooks=self._overlooks, told=self.told
            )
            part.running, part.done, part.ended_nodes = dict(self.running), self.done, self.ended_nodes
            part.compute_ps, part.computes_since_ps = self.compute_ps, self.computes_since_ps
            part.finish_ps, part._overlooked = self.finish_ps, list(self._overlooked)
            parts.append(part)
        return parts

    def start(self, time_ps: int) -> None:
        """Begin what can begin."""
        self.window.fill()
        self._look(time_ps)

    def ended(self, node: GraphNode, time_ps: int, took_ps: int = 0, since_ps: int = 0) -> None:
        """A node has ended: book it, and begin what can begin now; times as of :meth:`Window.finish`."""
        number = node.number
        _, begin_ps, slot = self.running.pop(number)
        self.ended_nodes += 1
        if slot == _DEVICE:
            self.compute_ps += time_ps - begin_ps
            self.computes_since_ps = None
        if self.sums is not None:
            self.sums.ended(node, begin_ps, time_ps)
        if self.told is not None:
            self.told(self.npu, node, begin_ps, time_ps)
        self._ready.free(slot)
        self.finish_ps = time_ps
        self.window.finish(number, took_ps, since_ps)
        self._look(time_ps)

    def record(self, npu: int, now_ps: int) -> NpuRecord:
        """The totals of one of its NPUs; what goes on counts until now."""
        finish_ps = self.finish_ps if self.done else now_ps
        since_ps = self.computes_since_ps
        compute_ps = self.compute_ps + (0 if since_ps is None else now_ps - since_ps)
        return NpuRecord(npu, finish_ps, compute_ps, finish_ps - compute_ps, self.done)

    def waiting(self) -> list[GraphNode]:
        """Nodes that are ready and wait for their place."""
        return [*self._ready.waiting(), *self._overlooked]

    def _look(self, time_ps: int) -> None:
        """Begin every node that may begin, and all that this makes ready."""
        window, running, ready = self.window, self.running, self._ready
        if self._overlooked:
            self._add_overlooked()
        if window.ready:
            self._add_ready()
        while True:
            taken = ready.take()
            if taken is None:
                if running or not self._find_more():
                    break
                continue
            node, slot = taken
            at_once = self._begin(self, node)
            if at_once is False:
                running[node.number] = node, time_ps, slot
                if slot == _DEVICE:
                    self.computes_since_ps = time_ps
                if self.sums is not None:
                    self.sums.begun(node, time_ps)
            else:
                ready.free(slot)
                self._pass_over(node, time_ps, at_once)
        if not running and window.empty:
            self.done = True
            if self.sums is not None:
                self.sums.stopped((), time_ps)
            self._on_done(len(self.npus))

    def _pass_over(self, node: GraphNode, time_ps: int, at_once: bool | None) -> None:
        """A node is done at once, or (None) isn't run at all."""
        window = self.window
        self.ended_nodes += 1
        if self.told is not None and at_once:
            self.told(self.npu, node, time_ps, time_ps)
        window.finish(node.number)
        if at_once is None and self._overlooks:
            self._overlooked += window.ready
            window.ready = []
        elif window.ready:
            self._add_ready()

    def _find_more(self) -> bool:
        """Where nothing goes on: take what was overlooked, or read on; whether there was any."""
        if self._overlooked:
            self._add_overlooked()
            return True
        found = self.window.fill(beyond=True)
        self._add_ready()
        return found

    def _add_ready(self) -> None:
        self._ready.add(self.window.ready)
        self.window.ready = []

    def _add_overlooked(self) -> None:
        self._ready.add(self._overlooked)
        self._overlooked = []
