"""The contributions that ranks hold in the proof of a schedule. A rank's block is a set, with a bit for each rank."""

from __future__ import annotations

from bisect import bisect_right
from functools import reduce
from operator import or_
from typing import Protocol

from astra_ns3.collectives.schedule import ScheduleError
from astra_ns3.collectives.sums import Sums

#: What a message carries: (block, contributions).
Carried = list[tuple[int, int]]
#: Step of what a rank holds from the start.
FROM_START = -1
_AT_THE_END = 2**31
_MOST_SHOWN = 8


class Holdings(Protocol):
    """``name`` names the row, for messages; ``since`` is the last step whose receptions a row may count on."""

    order_matters: bool
    """Whether what rows carry may depend on the order of play, so that several must be tried."""

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """Return what ``rank`` sends; ``claimed``: its blocks, with contributions where the schedule names them."""

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Hand what came to ``rank``; whether it combines it with its own."""

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Return the contributions among ``wanted`` that ``rank`` doesn't have at the end."""


class MergedHoldings:
    """A rank has one version of each block, which receptions are merged with.

    A receiver that gets a block combines it with its own if no contribution is in both, and takes it over if all it
    holds is in it. Anything else would count a contribution twice or lose one. ``helpers``: so many of the last
    ranks are parts of switches; then one may also get the very sum that it has, as who stores a sum in a switch.
    """

    order_matters = True

    def __init__(self, start: list[dict[int, int]], *, helpers: int = 0) -> None:
        self._held = start
        self._helpers = helpers
        self._members = len(start) - helpers

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """All that ``rank`` holds of the blocks at this time of the play."""
        held = self._held[rank]
        content = [(block, held.get(block, 0)) for block, _ in claimed]
        missing = [block for block, contributions in content if not contributions]
        if missing:
            raise ScheduleError(f"{name}: rank {rank} sends block {missing[0]}, which it doesn't hold")
        return content

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Merge; all blocks of a message must be merged the same way, and one without blocks is a signal."""
        if not came:
            return False
        outcomes = {self._merge(name, rank, block, contributions) for block, contributions in came}
        if len(outcomes) > 1:
            raise ScheduleError(f"{name} combines some blocks and copies others")
        return outcomes.pop()

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Contributions not in the version held."""
        return wanted & ~self._held[rank].get(block, 0)

    def _merge(self, name: str, rank: int, block: int, came: int) -> bool:
        held = self._held[rank].get(block, 0)
        if held == came and self._helpers:
            return False
        if held | came == held:
            raise ScheduleError(f"{name}: block {block} brings nothing that rank {rank} hasn't got")
        if held & came and held | came != came:
            raise ScheduleError(f"{name}: block {block} would count contributions twice or lose some")
        self._held[rank][block] = held | came
        return rank < self._members and bool(held) and not held & came


class KnownHoldings:
    """A rank keeps every sum it has had, and can add up sums that have no contribution in common.

    Used where a schedule says which contributions a message carries. A row may count on the receptions that its wait
    guarantees and on no others, so the order of play makes no difference.
    """

    order_matters = False

    def __init__(self, start: list[dict[int, int]], *, helpers: int = 0) -> None:
        self._known = [{block: Sums(had, FROM_START) for block, had in held.items()} for held in start]

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """Return what is claimed. Raises ScheduleError if ``rank`` can't add it up by then."""
        for block, wanted in claimed:
            sums = self._known[rank].get(block)
            if sums is None or not sums.make(wanted, since):
                had = [] if sums is None else sums.until(since)
                shown = [*map(show_ranks, had[:_MOST_SHOWN]), *["..."][: len(had) > _MOST_SHOWN]]
                raise ScheduleError(
                    f"{name}: rank {rank} sends block {block} as the sum of ranks {show_ranks(wanted)}, "
                    f"but may hold no more than the sums of {', '.join(shown) or 'none'}"
                )
        return claimed

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Keep what came; whether it was needed for the promise shows at the end."""
        for block, contributions in came:
            sums = self._known[rank].get(block)
            if sums is None:
                self._known[rank][block] = Sums(contributions, step)
            else:
                sums.add(contributions, step)
        return False

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Contributions that are in no sum, or all of them if the sums don't fit together."""
        sums = self._known[rank].get(block)
        if sums is None:
            return wanted
        if sums.make(wanted, _AT_THE_END):
            return 0
        return wanted & ~reduce(or_, sums.until(_AT_THE_END)) or wanted


class ArrivalHoldings:
    """A barrier: a rank knows who has arrived. Hearing of someone twice does no harm.

    Like :class:`KnownHoldings`, a row counts on what its wait guarantees and no more.
    """

    order_matters = False

    def __init__(self, start: list[dict[int, int]], *, helpers: int = 0) -> None:
        # Of each rank the steps after which it knew more, and all that it knew then.
        self._steps = [[FROM_START] for _ in start]
        self._heard = [[held.get(0, 0)] for held in start]

    def take(self, name: str, rank: int, since: int, claimed: Carried) -> Carried:
        """All those that ``rank`` has heard of for certain."""
        return [(0, self._heard[rank][bisect_right(self._steps[rank], since) - 1])]

    def give(self, name: str, rank: int, step: int, came: Carried) -> bool:
        """Add those that are new; a rank handles what it receives step by step."""
        steps, heard = self._steps[rank], self._heard[rank]
        if steps[-1] < step:
            steps.append(step)
            heard.append(heard[-1])
        for _, others in came:
            heard[-1] |= others
        return False

    def lacks(self, rank: int, block: int, wanted: int) -> int:
        """Return the contributions that never came."""
        return wanted & ~self._heard[rank][-1]


def show_ranks(contributions: int) -> str:
    """``0+2`` for the contributions of ranks 0 and 2."""
    return "+".join(str(rank) for rank in range(contributions.bit_length()) if contributions >> rank & 1)
