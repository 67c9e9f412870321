"""Collectives that two runs play by different algorithms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count

from astra_ns3.frozen import dataclass
from astra_ns3.report.records import COLLECTIVES
from astra_ns3.report.tables import Records, is_of_flows
from astra_ns3.units import format_bytes

_MOST = 5
"""So many are told; the rest is counted, and in the JSON."""
_Alike = tuple[str, int, int]


@dataclass(frozen=True)
class OtherAlgorithm:
    """Collectives of a kind, bytes of each NPU and NPUs, so many of which run A plays by ``a`` and run B by ``b``."""

    kind: str
    bytes: int
    npus: int
    count: int
    a: str
    b: str


def other_algorithms(a: Records, b: Records) -> tuple[OtherAlgorithm, ...]:
    """Return which collectives are played otherwise; the n-th of those that are alike is set beside the n-th."""
    if is_of_flows(a) or is_of_flows(b):
        return ()
    known = dict(_algorithms(a))
    found = Counter(
        (*alike, known[alike, number], algorithm)
        for (alike, number), algorithm in _algorithms(b)
        if known.get((alike, number), algorithm) != algorithm
    )
    return tuple(OtherAlgorithm(*key[:3], times, *key[3:]) for key, times in found.items())


def algorithm_lines(found: Sequence[OtherAlgorithm]) -> list[str]:
    """For people: the first few in words, the rest in number."""
    lines = [
        f"{each.kind} of {format_bytes(each.bytes)} on {each.npus:,} NPUs"
        f"{f' ({each.count:,} of them)' if each.count > 1 else ''}: {each.a} -> {each.b}"
        for each in found[:_MOST]
    ]
    more = len(found) - _MOST
    return [*lines, f"and {more:,} more (--json has all)"] if more > 0 else lines


def _algorithms(run: Records) -> Iterator[tuple[tuple[_Alike, int], str]]:
    """Yield each collective, with its number among those that are alike, and its algorithm."""
    numbers: dict[_Alike, count[int]] = {}
    for row in run.rows(COLLECTIVES):
        alike = row["kind"], int(row["bytes"]), int(row["npus"])
        yield (alike, next(numbers.setdefault(alike, count()))), row["algorithm"]
