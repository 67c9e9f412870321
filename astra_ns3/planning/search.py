"""Best first: choices are played in the order of their bounds, until no bound that is left is below the best time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, dropwhile, islice, takewhile

from astra_ns3.errors import wrong
from astra_ns3.frozen import dataclass, field
from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Choice, Space
from astra_ns3.units import counted, format_bytes, format_time
from astra_ns3.workload.memory.peaks import memory_of
from astra_ns3.workload.models.changes import changed

# Keys that narrow a search to plans that need less memory.
_SAVING = {"parallel.zero": "3", "training.recompute": "full"}
# Of the least bound: so much more is nearly as little.
_NEARLY, _MOST_NEAR = 1.1, 1000


@dataclass(frozen=True)
class Played:
    """How a choice did. ``time_ps`` None: its run failed; ``cpu_seconds``: that it took."""

    time_ps: int | None
    cpu_seconds: float


@dataclass(frozen=True)
class Found:
    """The outcome of a search. ``played``: choices in the order of their runs; ``too_large``: choices that don't fit.

    ``pruned``: choices that fit as far as their bound tells, and whose bound isn't below the best time; ``open``: those
    that are neither played nor pruned, the least bound first, which is of a choice that fits.
    """

    bounds: int
    too_large: int
    played: Mapping[Choice, Played]
    bound_of: Mapping[Choice, Bound] = field(repr=False)
    memory_of: Mapping[Choice, int] = field(repr=False)
    open: tuple[Bound, ...] = field(repr=False)
    pruned: int

    @property
    def best(self) -> Choice | None:
        """Return the fastest of all that were played; None: no run came to its end."""
        return next(iter(self.ranked), None)

    @property
    def ranked(self) -> list[Choice]:
        """Return all that were played to their end, the fastest first; of equal times the one of least memory."""
        times = {choice: each.time_ps for choice, each in self.played.items() if each.time_ps is not None}
        return sorted(times, key=lambda choice: (times[choice], self.memory_of.get(choice, 0)))

    @property
    def best_ps(self) -> int | None:
        """Return the time of the best."""
        return None if self.best is None else self.played[self.best].time_ps

    @property
    def gap(self) -> float:
        """Return by which share of the best time a choice that wasn't played may be faster; 0: by none."""
        if not self.open or not self.best_ps:
            return 0.0
        return max(0.0, 1 - self.open[0].time_ps / self.best_ps)

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all that was played."""
        return sum(each.cpu_seconds for each in self.played.values())


def hold_text(space: Space, too_large: int, plans: int) -> str:
    """Return words on keys to hold where most of the plans are too large; empty: most aren't, or all are held."""
    saving = [f"--hold {key}={value}" for key, value in _SAVING.items() if key not in space.held]
    if not saving or 2 * too_large <= plans:
        return ""
    return f"; most need too much memory: {' or '.join(saving)} looks only at some that need less"


class Search:
    """A search over ``bounds`` of a space: says which choices to play, and hears how each did.

    ``together``: how many are played at once. ``cpu_seconds``: none but the very first is begun that would take the CPU
    time of all that were played beyond it, by what playing is expected to take (None: no limit). ``first``: to begin
    with, if they fit, such as the degrees that the model's file has. With a limit, and at most one such, the search
    begins besides with the cheapest of those whose bounds are nearly the least: they prune as well, and say what
    playing takes here.
    """

    def __init__(
        self,
        space: Space,
        bounds: Sequence[Bound],
        capacity_bytes: int | None,
        together: int,
        cpu_seconds: float | None = None,
        first: Sequence[Choice] = (),
    ) -> None:
        self._space, self._together = space, together
        self.capacity_bytes, self.cpu_seconds, self.first = capacity_bytes, cpu_seconds, tuple(first)
        self._bounds = bounds
        small = [each for each in bounds if capacity_bytes is None or each.memory_bytes <= capacity_bytes]
        self._too_large = len(bounds) - len(small)
        self._waiting = sorted(small, key=lambda each: (each.time_ps, each.memory_bytes, each.choice.name))
        self._ahead = [each for choice in first for each in self._waiting if each.choice is choice]
        self._begun: dict[Choice, Bound] = {}
        self._played: dict[Choice, Played] = {}
        self._memory: dict[Choice, int] = {}
        self._best_ps: int | None = None

    def begin(self) -> list[Choice]:
        """Return the choices to begin with; raises InputError if none fits the memory of an NPU."""
        found = [bound.choice for bound in self._ahead[:1] if self._takes(bound)]
        if self.cpu_seconds is not None and len(self.first) < 2:
            self._ahead += self._cheapest(max(1, self._together - len(found)))
        if len(found) < self._together:
            found += self._following()
        if not found:
            raise self._fits_nowhere()
        return found

    def ended(self, choice: Choice, played: Played) -> list[Choice]:
        """Take note of how a choice did, and return the choices to play now."""
        self._played[choice] = played
        if played.time_ps is not None and (self._best_ps is None or played.time_ps < self._best_ps):
            self._best_ps = played.time_ps
        return self._following()

    def begun(self, choice: Choice) -> tuple[Bound, int]:
        """Return the bound of a choice that was begun, and the memory that its fullest NPU needs."""
        return self._begun[choice], self._memory[choice]

    def found(self) -> Found:
        """Return what was found so far."""
        below = list(filter(self._is_below, self._waiting))
        reached = list(dropwhile(lambda each: not self.fits(each.choice), below))
        played = {choice: self._played[choice] for choice in self._begun if choice in self._played}
        return Found(
            len(self._bounds),
            self._too_large + len(below) - len(reached),
            played,
            {choice: self._begun[choice] for choice in played},
            {choice: self._memory[choice] for choice in played},
            tuple(reached),
            len(self._waiting) - len(below),
        )

    def so_far(self) -> str:
        """Return in words what is known of a search that is stopped on its way."""
        found = self.found()
        running = [bound for choice, bound in self._begun.items() if choice not in self._played]
        counts = [
            f"{found.too_large:,} too large for an NPU",
            f"{found.pruned:,} pruned by their bounds",
            f"{len(found.played):,} played",
            *([f"{len(running):,} begun"] if running else []),
            f"{len(found.open):,} not looked at",
        ]
        best = (
            "none has ended" if found.best is None else f"the best {found.best.name}: {format_time(found.best_ps or 0)}"
        )
        words = f"{counted(found.bounds, 'plan')}: {', '.join(counts)}; {best}"
        left = [*running, *found.open[:1]]
        if left:
            least = min(left, key=lambda each: each.time_ps)
            others = "each" if found.best is None else "every other"
            words += f"; {others} takes at least {format_time(least.time_ps)} ({least.choice.name})"
        return words + hold_text(self._space, found.too_large, found.bounds)

    def _cheapest(self, most: int) -> list[Bound]:
        """Return the cheapest that fit of those whose bounds are nearly the least."""
        near = [each for each in self._waiting if each.time_ps <= _NEARLY * self._waiting[0].time_ps][:_MOST_NEAR]
        cheap = sorted(near, key=lambda each: each.cpu_seconds)
        return list(islice((each for each in cheap if self.fits(each.choice)), most))

    def _following(self) -> list[Choice]:
        """Return the choices of least bounds that may be begun, all below the best time."""
        found: list[Choice] = []
        while len(self._begun) - len(self._played) < self._together:
            bound = self._next()
            if bound is None:
                break
            if self._takes(bound):
                found.append(bound.choice)
        return found

    def _next(self) -> Bound | None:
        """Return a bound that waits, is below the best time, and within the limit: one of the first, or the least."""
        below = takewhile(self._is_below, self._waiting)
        return next(filter(self._affords, chain(filter(self._is_below, self._ahead), below)), None)

    def _is_below(self, bound: Bound) -> bool:
        """Whether a choice may be faster than the best."""
        return self._best_ps is None or bound.time_ps < self._best_ps

    def _affords(self, bound: Bound) -> bool:
        """Whether playing a choice, too, stays within the limit; by what others took, once some have ended."""
        if self.cpu_seconds is None or not self._begun:
            return True
        guessed = sum(self._begun[choice].cpu_seconds for choice in self._played)
        used = sum(each.cpu_seconds for each in self._played.values())
        worth = used / guessed if guessed else 1.0
        running = sum(each.cpu_seconds for choice, each in self._begun.items() if choice not in self._played)
        return used + worth * (running + bound.cpu_seconds) <= self.cpu_seconds

    def _takes(self, bound: Bound) -> bool:
        """Begin a choice that waits, if it fits."""
        self._waiting.remove(bound)
        if bound in self._ahead:
            self._ahead.remove(bound)
        if not self.fits(bound.choice):
            self._too_large += 1
            return False
        self._begun[bound.choice] = bound
        return True

    def fits(self, choice: Choice) -> bool:
        """Whether an NPU has the memory that the fullest stage needs, by the model of a run's memory."""
        plan = changed(self._space.workload, choice.keys).plan(self._space.npus)
        most = max(stage.peak.usage.total_bytes for stage in memory_of(plan))
        self._memory[choice] = most
        return self.capacity_bytes is None or most <= self.capacity_bytes

    def _fits_nowhere(self) -> Exception:
        """The error of a model that fits no choice, and what would make it fit."""
        assert self.capacity_bytes is not None
        memory = format_bytes(self.capacity_bytes)
        least = min(self._bounds, key=lambda each: self._memory.get(each.choice, each.memory_bytes))
        needed = self._memory.get(least.choice, least.memory_bytes)
        return wrong(
            f"fits none of {counted(len(self._bounds), 'plan')} on {counted(self._space.npus, 'NPU')} "
            f"of {memory}: "
            f"the least is {format_bytes(needed)} ({least.choice.name}); expected more NPUs, NPUs of that memory, or "
            f"fewer samples an iteration{', or other keys held by --hold' if self._space.held else ''}",
            self._space.workload.source,
        )
