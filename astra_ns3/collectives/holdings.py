"""What ranks hold while a schedule is played for its proof: for each block a set of contributions, a bit per rank."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from astra_ns3.errors import AstraNs3Error

#: What a message carries: (block, contributions).
Carried = list[tuple[int, int]]
#: Step of what a rank holds from the start.
FROM_START = -1


class ScheduleError(AstraNs3Error):
    """A schedule that doesn't do what its collective promises; the message names the row or the rank."""


class Holdings(Protocol):
    """``name`` names the row, for messages; ``since`` is the last step whose receptions a row may count on."""

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """What ``rank`` sends; ``claimed`` holds the blocks, and contributions where the schedule says them."""

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Hand what came to ``rank``; whether it combines it with its own."""

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Of the contributions ``wanted``, those that ``rank`` can't show at the end."""


class MergedHoldings:
    """A rank has one version of each block, which receptions are merged with.

    A receiver that gets a block combines it with its own if no contribution is in both, and takes it over if all it
    holds is in it. Anything else would count a contribution twice or lose one.
    """

    def __init__(self, start: list[dict[int, int]]) -> None:
        self._held = start

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """All that ``rank`` holds of the blocks at this time of the play."""
        held = self._held[rank]
        content = [(block, held.get(block, 0)) for block, _ in claimed]
        missing = [block for block, contributions in content if not contributions]
        if missing:
            raise ScheduleError(f"{name}: rank {rank} sends block {missing[0]}, which it doesn't hold")
        return content

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Merge; all blocks of a message must be merged the same way."""
        outcomes = {self._merge(name, rank, block, contributions) for block, contributions in came}
        if len(outcomes) > 1:
            raise ScheduleError(f"{name} combines some blocks and copies others")
        return outcomes.pop()

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Contributions not in the version held."""
        return wanted & ~self._held[rank].get(block, 0)

    def _merge(self, name: str, rank: int, block: int, came: int) -> bool:
        held = self._held[rank].get(block, 0)
        if held | came == held:
            raise ScheduleError(f"{name}: block {block} brings nothing that rank {rank} hasn't got")
        if held & came and held | came != came:
            raise ScheduleError(f"{name}: block {block} would count contributions twice or lose some")
        self._held[rank][block] = held | came
        return bool(held) and not held & came


class KnownHoldings:
    """A rank keeps every sum it has had, and can add up sums that have no contribution in common.

    Used where a schedule says which contributions a message carries. A row may count on the receptions that its wait
    guarantees and on no others, so the order of play makes no difference.
    """

    def __init__(self, start: list[dict[int, int]]) -> None:
        self._known = [{block: {had: FROM_START} for block, had in held.items()} for held in start]

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """What is claimed, if ``rank`` can add it up by then."""
        for block, wanted in claimed:
            sums = [had for had, step in self._known[rank].get(block, {}).items() if step <= since]
            if not wanted or not _adds_up(wanted, sums):
                raise ScheduleError(
                    f"{name}: rank {rank} sends block {block} as the sum of ranks {show_ranks(wanted)}, "
                    f"but may hold no more than the sums of {', '.join(map(show_ranks, sums)) or 'none'}"
                )
        return claimed

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Keep what came; whether it was needed for the promise shows at the end."""
        for block, contributions in came:
            self._known[rank].setdefault(block, {}).setdefault(contributions, step)
        return False

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Contributions that are in no sum, or all of them if the sums don't fit together."""
        sums = list(self._known[rank].get(block, {}))
        if _adds_up(wanted, sums):
            return 0
        return wanted & ~_union(sums) or wanted


class ArrivalHoldings:
    """A barrier: a rank knows who has arrived. Hearing of someone twice does no harm.

    Like :class:`KnownHoldings`, a row counts on what its wait guarantees and no more.
    """

    def __init__(self, start: list[dict[int, int]]) -> None:
        self._heard = [[(held[0], FROM_START)] for held in start]

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """All those that ``rank`` has heard of for certain."""
        return [(0, _union(heard for heard, step in self._heard[rank] if step <= since))]

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Add those that are new."""
        self._heard[rank] += [(heard, step) for _, heard in came]
        return False

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Those never heard of."""
        return wanted & ~_union(heard for heard, _ in self._heard[rank])


def _union(sets: Iterable[int]) -> int:
    union = 0
    for contributions in sets:
        union |= contributions
    return union


def _adds_up(wanted: int, sums: list[int]) -> bool:
    """Whether some of ``sums`` that have no contribution in common make up ``wanted``."""
    if wanted in sums:
        return True
    fitting = [had for had in sums if had and had & ~wanted == 0]
    return _covers(wanted, fitting)


def _covers(wanted: int, sums: list[int]) -> bool:
    if not wanted:
        return True
    lowest = wanted & -wanted
    return any(had & lowest and had & ~wanted == 0 and _covers(wanted & ~had, sums) for had in sums)


def show_ranks(contributions: int) -> str:
    """``0+2`` for the contributions of ranks 0 and 2."""
    return "+".join(str(rank) for rank in range(contributions.bit_length()) if contributions >> rank & 1)
