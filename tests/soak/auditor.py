"""A hook that audits a run when it has ended: its books as they are, then again once everything has come to rest."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from astra_ns3.units import PS_PER_MS, PS_PER_US
from soak.audit import problems_at_any_time, problems_at_rest
from soak.books import Books, read_books

FIRST_SLICE_PS = 10 * PS_PER_US
LAST_SLICE_PS = 400 * PS_PER_MS
"""A drain looks after 10 us, 20 us more, and so on; eight timeouts of RoCE take 134 ms."""
STILL_STUCK_PS = 30 * PS_PER_MS
"""A deadlock that was named must still be there so much later."""
_ENOUGH = 10
_PORT = re.compile(r"(host|switch)(\d+):(\d+)(?: lane (\d))?")
_PRIORITY = re.compile(r"priority (\d)")


def _nothing(*_: object) -> None:
    """What is left of calls into Python after a run."""


@dataclass
class Auditor:
    """``problems`` are found when the run ends. ``looks_ps``: when the books are audited in between."""

    looks_ps: Sequence[int] = ()
    problems: list[str] = field(default_factory=list)
    unrest: list[str] = field(default_factory=list)
    """What isn't at rest after the run's end. A job whose transport gave up leaves it so, while others go on."""
    audited: bool = False
    pauses: int = 0
    lost: int = 0
    dropped: int = 0
    drain_ps: int = 0
    rested: bool = True
    """Whether all could be asked to rest after the run's end: no pair lost its acknowledgements any more."""
    changes: bool = False
    """Whether links fail or change meanwhile."""
    error: str = ""
    """Of the run, told before its end is audited."""

    def on_built(self, context: Any) -> Callable[[], None]:
        """The hook."""
        if context.ns.FabricFramePool.CountFrames():
            self.problems.append("frames of an earlier run were not given back")
        for time_ps in self.looks_ps:
            context.schedule(time_ps, lambda: self._look(context))
        return lambda: self._ended(context)

    def _look(self, context: Any) -> None:
        """Read the books in the middle of the run."""
        if len(self.problems) < _ENOUGH:
            books = read_books(context)
            self.problems += [f"at {books.time_ps} ps: {problem}" for problem in self._now(books)]

    def _ended(self, context: Any) -> None:
        try:
            self._audit(context)
        except Exception:
            self.problems.append("the audit failed: " + traceback.format_exc())
        self.audited = True

    def _now(self, books: Books) -> list[str]:
        return problems_at_any_time(books, changes=self.changes)

    def _audit(self, context: Any) -> None:
        # The driver has gone: nothing that still happens concerns it.
        vars(context._call.__self__)["_call"] = _nothing
        books = read_books(context)
        self.pauses = sum(port.pauses for port in books.ports)
        self.lost = sum(port.lost for port in books.ports)
        self.dropped = sum(port.dropped for port in books.ports)
        self.problems += self._now(books)
        if "deadlock" in self.error:
            self.problems += _still_stuck(context, self.error)
            self.problems += self._now(read_books(context))
        elif not self.error:
            rested = self._drain(context)
            self.problems += self._now(rested)
            if sum(port.dropped for port in rested.ports) == self.dropped:
                self.unrest += problems_at_rest(rested)
            else:
                # Acknowledgements of a lossy priority are dropped: a pair asks again until it gives up, which stops
                # the simulation as it stands. Nothing is at rest then.
                self.rested = False

    def _drain(self, context: Any) -> Books:
        """Play on until nothing waits or travels, or a packet is dropped: go-back-0 may send and drop for ever."""
        begin_ps, length_ps = context.now_ps(), FIRST_SLICE_PS
        while True:
            books = read_books(context)
            self.drain_ps = books.time_ps - begin_ps
            dropped = sum(port.dropped for port in books.ports) > self.dropped
            if dropped or not problems_at_rest(books) or length_ps > LAST_SLICE_PS:
                return books
            _play_on(context, length_ps)
            length_ps *= 2


def _play_on(context: Any, length_ps: int) -> None:
    context.ns.Simulator.Stop(context.ns.TimeStep(length_ps))
    context.ns.Simulator.Run()


def _still_stuck(context: Any, error: str) -> list[str]:
    """Whether the ports of a circle stay stopped; each that doesn't, one line."""
    circle = sorted(set(_PORT.findall(error)))
    found = _PRIORITY.search(error)
    if not circle or (found is None and not all(lane for *_, lane in circle)):
        return [f"a deadlock without ports: {error}"]
    owners = {"host": context.devices, "switch": context.switches}
    ports = [
        (f"{kind}{node}:{port}", owners[kind][int(node)].GetPort(int(port)), int(lane or (found and found[1]) or 0))
        for kind, node, port, lane in circle
    ]
    since = [int(port.GetPausedSincePs(priority)) for _, port, priority in ports]
    _play_on(context, STILL_STUCK_PS)
    return [
        f"{name} of a deadlock went on later"
        for (name, port, priority), before in zip(ports, since, strict=True)
        if not int(port.GetPaused()) >> priority & 1 or int(port.GetPausedSincePs(priority)) != before
    ]
