"""Jobs that have arrived and wait in line for NPUs: first come, first served, so nobody overtakes."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from astra_ns3.config.scenario.placement import Placement
from astra_ns3.frozen import dataclass
from astra_ns3.scenario.placement import Places, found_by


@dataclass(frozen=True)
class Berth:
    """The NPUs that a job asks for: the rule that chooses them, with what it draws by."""

    rule: Placement
    seed: int


class Served(NamedTuple):
    """A job, by its number, and the NPUs that it gets; ``unused``: no other job had any of them before."""

    number: int
    npus: tuple[int, ...]
    unused: bool


class WaitingLine:
    """Chooses NPUs for jobs by their numbers, among those that are ``free``; ``berths``: what each asks for.

    The first in line gets its NPUs as soon as its rule finds enough; those behind it wait until then.
    """

    def __init__(self, places: Places, free: Collection[int], berths: Mapping[int, Berth]) -> None:
        self._places = places
        self._free = set(free)
        self._unused = set(free)
        self._berths = berths
        self._line: deque[int] = deque()

    @property
    def unclaimed(self) -> Collection[int]:
        """The NPUs that are free."""
        return frozenset(self._free)

    def join(self, number: int) -> None:
        """A job has arrived: it stands last in line."""
        self._line.append(number)

    def free(self, npus: Sequence[int]) -> None:
        """A job has ended, and its NPUs are free."""
        self._free.update(npus)

    def served(self) -> Iterator[Served]:
        """Yield each job that gets NPUs now, in the order of the line."""
        while self._line:
            berth = self._berths[self._line[0]]
            npus = found_by(berth.rule, self._places, self._free, berth.seed)
            if len(npus) < berth.rule.count:
                return
            unused = self._unused.issuperset(npus)
            self._free.difference_update(npus)
            self._unused.difference_update(npus)
            yield Served(self._line.popleft(), npus, unused)
