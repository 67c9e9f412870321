"""The sums of one block that a rank has had, and whether some of them add up to another one."""

from __future__ import annotations

from collections.abc import Iterator

from astra_ns3.collectives.schedule import ScheduleError

# Of sums put together for one other; finding sums that fit together takes exponential time at worst.
_MOST_TRIES = 100_000


class Sums:
    """A sum is a set of contributions, a bit per rank; each is there from the end of a step on.

    What has been added up is kept as a sum itself, so asking for it again costs a look-up.
    """

    __slots__ = ("_by_lowest", "_since")

    def __init__(self, first: int, step: int) -> None:
        self._since = {first: step}
        # Built when sums are first added up: most blocks are only passed on.
        self._by_lowest: dict[int, list[int]] | None = None

    def add(self, found: int, step: int) -> None:
        """``found`` is there from ``step`` on."""
        known = self._since.get(found)
        if known is None and self._by_lowest is not None:
            self._by_lowest.setdefault(found & -found, []).append(found)
        if known is None or step < known:
            self._since[found] = step

    def until(self, step: int) -> list[int]:
        """The sums that are there by ``step``."""
        return [found for found, since in self._since.items() if since <= step]

    def make(self, wanted: int, step: int) -> bool:
        """Whether some that are there by then, and have no contribution in common, add up to ``wanted``."""
        if not wanted:
            return False
        if not self._has(wanted, step):
            if not self._adds_up(wanted, step):
                return False
            self.add(wanted, step)
        return True

    def _has(self, found: int, step: int) -> bool:
        since = self._since.get(found)
        return since is not None and since <= step

    def _adds_up(self, wanted: int, step: int) -> bool:
        """Search, the lowest lacking contribution first: only a sum that begins with it can bring it."""
        tries = 0
        hopeless = set()
        path: list[tuple[int, Iterator[int]]] = [(wanted, self._beginning(wanted))]
        while path:
            lacking, candidates = path[-1]
            for found in candidates:
                tries += 1
                if tries > _MOST_TRIES:
                    raise ScheduleError("sums can be put together in too many ways to tell whether they add up")
                rest = lacking & ~found
                if found & ~lacking or rest in hopeless or self._since[found] > step:
                    continue
                if not rest or self._has(rest, step):
                    return True
                path.append((rest, self._beginning(rest)))
                break
            else:
                hopeless.add(lacking)
                path.pop()
        return False

    def _beginning(self, wanted: int) -> Iterator[int]:
        """Sums whose lowest contribution is that of ``wanted``, the newest first, which tend to be the largest."""
        if self._by_lowest is None:
            self._by_lowest = {}
            for found in self._since:
                self._by_lowest.setdefault(found & -found, []).append(found)
        return reversed(self._by_lowest.get(wanted & -wanted, []))
