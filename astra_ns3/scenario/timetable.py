"""Starts the tenants of a run at their times and after each other, and ends those that have no end of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from astra_ns3.frozen import dataclass
from astra_ns3.scenario.arriving_network import ArrivingNetwork
from astra_ns3.scenario.tenant_network import TenantNetwork
from astra_ns3.scenario.times import DEVICE, FAILURES, OTHERS, PROGRAMS, TIME, TRANSPORT, Outcome, Times
from astra_ns3.scenario.waiting_line import Served, WaitingLine


@dataclass(frozen=True)
class Entry:
    """A tenant of the timetable: its name, when it plays, and its view of the network. Tries of a job have one name.

    ``start()`` begins it, and ``cut_off()`` tells it that others have ended it. ``checkpointed()``: how many passes
    its last checkpoint has; ``resume(passes)`` has it begin after those.
    """

    name: str
    times: Times
    view: TenantNetwork
    start: Callable[[], None]
    cut_off: Callable[[], None]
    checkpointed: Callable[[], int]
    resume: Callable[[int], None]


class Timetable:
    """Keeps who waits for whom. ``stop()`` ends the run: it is called once nobody is left who has an end.

    A start that follows something happens at the moment of that, or so long after. Who arrives waits in ``line``
    (None: nobody does) for NPUs. A further try of a job begins if the one before it has failed, and is nobody if not.
    """

    def __init__(self, entries: Sequence[Entry], stop: Callable[[], None], line: WaitingLine | None = None) -> None:
        self._entries = entries
        self._stop = stop
        self._line = line
        self._ended_by: list[str | None] = [None] * len(entries)
        self._passes = [0] * len(entries)
        self._resumed = [0] * len(entries)
        self._waiting = {number for number, entry in enumerate(entries) if entry.times.after is not None}
        self._stranded: dict[int, tuple[str, str]] = {}
        self._spare = {number for number, entry in enumerate(entries) if entry.times.restart_ps is not None}
        """Further tries that nobody has needed so far."""
        self._with_an_end = sum(
            not entry.times.endless for number, entry in enumerate(entries) if number not in self._spare
        )
        self._over = False
        for number, entry in enumerate(entries):
            entry.view.on_stop = partial(self._ended, number, PROGRAMS)
            entry.view.on_passes = partial(self._passed, number)

    def begin(self, failed: Callable[[int], None]) -> None:
        """Put all on the network's list of events that depends on the clock alone; once.

        ``failed(number)`` hears of who fails by a device and has no further try.
        """
        for number, entry in enumerate(self._entries):
            if entry.times.arrives:
                self._expect(number)
            elif number not in self._waiting | self._spare:
                entry.view.start(entry.start)
            if entry.times.end_ps is not None:
                entry.view.call_at(entry.times.end_ps, partial(self._halt, number, TIME))
            for time_ps in entry.times.fails_ps:
                entry.view.call_at(time_ps, partial(self._device_dies, number, failed))

    def outcomes(self) -> tuple[Outcome, ...]:
        """Return what has become of each tenant by now; who ended while a further try was to come ended in the last."""
        found = [
            Outcome(
                entry.view.start_ps if entry.view.started else None,
                ended_by,
                passes,
                tuple(entry.view.bound_to) if entry.times.arrives else None,
                resumed,
            )
            for entry, ended_by, passes, resumed in zip(
                self._entries, self._ended_by, self._passes, self._resumed, strict=True
            )
        ]
        for number, outcome in enumerate(found):
            again = self._entries[number].times.restart_ps is not None
            if again and outcome.start_ps is None and outcome.ended_by is not None:
                found[number - 1] = found[number - 1]._replace(ended_by=outcome.ended_by)
                found[number] = Outcome(start_ps=None, npus=outcome.npus)
        return tuple(found)

    def fail(self, number: int) -> bool:
        """End a tenant whose transport has given up; return whether its job has another try."""
        return self._fail(number, TRANSPORT)

    def _fail(self, number: int, ended_by: str) -> bool:
        again = number + 1 in self._spare
        self._halt(number, ended_by)
        return again

    def _device_dies(self, first: int, told: Callable[[int], None]) -> None:
        """A device of a job dies, whose first try is ``first``: the try fails that plays, if one does."""
        name = self._entries[first].name
        tries = [number for number, entry in enumerate(self._entries) if number >= first and entry.name == name]
        for number in tries:
            if self._entries[number].view.started and self._ended_by[number] is None:
                if not self._fail(number, DEVICE):
                    told(number)
                return

    @property
    def stranded(self) -> tuple[str, str] | None:
        """A tenant that waited for passes of another, which ended without them, and that one; None: there is none."""
        return next(iter(self._stranded.values()), None)

    def _expect(self, number: int) -> None:
        """Have a tenant arrive at its time."""
        entry = self._entries[number]
        if entry.times.start_ps:
            entry.view.call_at(entry.times.start_ps, partial(self._arrive, number))
        else:
            self._arrive(number)

    def _arrive(self, number: int) -> None:
        """A tenant arrives, and starts if enough NPUs are free and nobody stands before it."""
        assert self._line is not None
        self._line.join(number)
        for served in self._line.served():
            entry = self._bound(served)
            entry.view.start_now(entry.start)

    def _leave(self, number: int) -> None:
        """A tenant gives its NPUs back, if it had arrived, and others get them."""
        entry = self._entries[number]
        if self._line is None or not entry.times.arrives:
            return
        self._line.free(entry.view.bound_to)
        for served in self._line.served():
            other = self._bound(served)
            other.view.start_in(0, other.start)

    def _bound(self, served: Served) -> Entry:
        entry = self._entries[served.number]
        assert isinstance(entry.view, ArrivingNetwork)
        entry.view.bind(served.npus, unused=served.unused)
        return entry

    def _halt(self, number: int, ended_by: str) -> None:
        """Stop a tenant that goes on."""
        if self._ended_by[number] is None and number not in self._stranded and number not in self._spare:
            self._entries[number].view.halt()
            if ended_by not in FAILURES:  # who failed stays undone
                self._entries[number].cut_off()
            self._ended(number, ended_by)

    def _ended(self, number: int, ended_by: str) -> None:
        """A tenant has ended: who waits for that starts, and with the last that has an end the run is over."""
        self._ended_by[number] = ended_by
        self._waiting.discard(number)
        if self._over:
            return
        if ended_by in FAILURES and number + 1 in self._spare:
            self._try_again(number + 1)
            return
        for waiting, passes in self._those_after(number):
            if passes is None or ended_by == PROGRAMS:
                self._start(waiting)
            else:
                self._strand(waiting)
        self._leave(number)
        self._one_less(number)

    def _try_again(self, number: int) -> None:
        """Have a further try begin, after the last checkpoint; it is awaited as the one before it was."""
        self._spare.remove(number)
        entry = self._entries[number]
        if passes := self._entries[number - 1].checkpointed():
            self._resumed[number] = passes
            entry.resume(passes)
        entry.view.start_in(entry.times.restart_ps or 0, entry.start)

    def _strand(self, number: int) -> None:
        """A tenant can't start any more, and so can't who waits for it."""
        after = self._entries[number].times.after
        assert after is not None
        self._stranded[number] = self._entries[number].name, after.job
        self._waiting.remove(number)
        for waiting, _ in self._those_after(number):
            self._strand(waiting)
        self._one_less(number)

    def _one_less(self, number: int) -> None:
        """End the run with the last tenant that has an end."""
        if self._entries[number].times.endless:
            return
        self._with_an_end -= 1
        if not self._with_an_end:
            self._over = True
            for other in range(len(self._entries)):
                self._halt(other, OTHERS)
            self._stop()

    def _passed(self, number: int, passes: int) -> None:
        self._passes[number] = passes
        for waiting, awaited in self._those_after(number):
            if awaited == passes:
                self._start(waiting)

    def _those_after(self, number: int) -> list[tuple[int, int | None]]:
        """Return who waits for a tenant, and for how many of its passes (None: its end)."""
        name, found = self._entries[number].name, []
        for waiting in sorted(self._waiting):
            after = self._entries[waiting].times.after
            if after is not None and after.job == name:
                found.append((waiting, after.passes))
        return found

    def _start(self, number: int) -> None:
        self._waiting.remove(number)
        entry = self._entries[number]
        entry.view.start_in(entry.times.start_ps, entry.start)
