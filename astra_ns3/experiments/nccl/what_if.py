"""NCCL's other choices, played too: where the tuner's own was not the fastest.

The choice of NCCL's tuner rests on what it believes of each algorithm and protocol. Here each choice that it may make
is forced by ``NCCL_ALGO`` and ``NCCL_PROTO`` and played. All else stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import wrong
from astra_ns3.experiments.nccl.bench import OPERATIONS, BenchRow
from astra_ns3.experiments.nccl.machine import Machine
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.choices import allowed_pairs
from astra_ns3.nccl.constants import FUNCTIONS
from astra_ns3.network.backends import abilities_of

PLAYED = ("Ring", "Tree", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree")
"""The algorithms that can be played: of the others there are no channels."""
SLOWER = 0.01
"""The tuner's choice counts as wrong if it takes longer by more than this share."""


@dataclass(frozen=True)
class WhatIf:
    """A size as the tuner chose, ``others``: as it might have, the fastest first.

    ``not_played``: choices that it might have made, too, but another algorithm stands for theirs here.
    """

    row: BenchRow
    others: tuple[BenchRow, ...]
    not_played: tuple[str, ...] = ()

    @property
    def is_judged(self) -> bool:
        """Whether the tuner's own choice is played as NCCL plays it."""
        return self.row.algorithm in PLAYED

    @property
    def faster(self) -> BenchRow | None:
        """The fastest of the others, if it is faster than the tuner's choice; None: none that was played is."""
        best = self.others[0] if self.others else self.row
        return best if best.time_us * (1 + SLOWER) < self.row.time_us else None


def what_if(machine: Machine, operation: str, rows: Sequence[BenchRow], seed: int = 1) -> list[WhatIf]:
    """Play the sizes of ``rows``, the tuner's choices, by all other choices it may make. Raises InputError."""
    kind, sizes = OPERATIONS[operation], [row.size_bytes for row in rows]
    if kind not in FUNCTIONS:
        raise wrong(f"--what-if: NCCL makes {operation} of messages, and its tuner has no choice there")
    found: list[list[BenchRow]] = [[] for _ in rows]
    pairs = allowed_pairs(machine.communicator, kind)
    for algorithm, protocol in pairs:
        others = [
            place
            for place, row in enumerate(rows)
            if row.algorithm in PLAYED and (row.algorithm, row.protocol) != (algorithm, protocol)
        ]
        if algorithm not in PLAYED or not others:
            continue
        forced = machine.with_keys({"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol})
        played = forced.bench(operation, [sizes[place] for place in others], seed)
        for place, row in zip(others, played, strict=True):
            found[place].append(row)
    return [
        WhatIf(row, tuple(sorted(others, key=lambda other: other.time_us)), not_played(pairs))
        for row, others in zip(rows, found, strict=True)
    ]


def doubts(backend: str) -> tuple[str, ...]:
    """Return what to warn of where a backend doesn't tell well which choice is faster."""
    if abilities_of(backend).shared_lines:
        return ()
    return (f"messages never meet on {backend}, so choices whose messages share lines seem faster than they are",)


def not_played(pairs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the names of those of NCCL's choices for which another algorithm stands."""
    return tuple(" ".join(pair) for pair in pairs if pair[0] not in PLAYED)


def choices_text(found: Sequence[WhatIf]) -> str:
    """The times of all choices of each size, the tuner's with a star, and where it was wrong."""
    names = list(dict.fromkeys(choice_name(row) for one in found for row in (one.row, *one.others)))
    widths = [max(len(name), 10) for name in names]
    heads = "  ".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    lines = [
        "",
        "# us by each choice that NCCL may make; *: the tuner's, !: where another is faster",
        f"#       size  {heads}",
    ]
    for one in found:
        times = {choice_name(row): f"{row.time_us:.1f}" for row in one.others}
        times[choice_name(one.row)] = f"{one.row.time_us:.1f}{'*!' if one.faster else '*'}"
        cells = "  ".join(f"{times.get(name, '-'):>{width}}" for name, width in zip(names, widths, strict=True))
        lines.append(f"{one.row.size_bytes:12}  {cells}")
    return "\n".join([*lines, *map(_line, filter(lambda one: one.faster, found)), _summary(found)])


def choices_document(found: Sequence[WhatIf]) -> list[dict[str, Json]]:
    """Return more keys for each size: ``others`` (times in us), ``faster`` (null: none that was played is),
    ``judged`` (false: nobody knows whether the choice was right) and ``not_played``."""
    return [
        {
            "judged": one.is_judged,
            "not_played": list(one.not_played),
            "others": [choice_document(row) for row in one.others],
            "faster": None if one.faster is None else choice_document(one.faster),
        }
        for one in found
    ]


def choice_document(row: BenchRow) -> dict[str, Json]:
    """Return a choice and its time in us."""
    return {
        "algorithm": row.algorithm,
        "protocol": row.protocol,
        "time_us": round(row.time_us, 3),
        "busbw": round(row.bus_gbytes_per_s, 4),
    }


def choice_name(row: BenchRow) -> str:
    """Return what a choice is called, ``Ring Simple``."""
    return f"{row.algorithm} {row.protocol}"


def _line(one: WhatIf) -> str:
    best = one.faster
    assert best is not None
    return (
        f"# {one.row.size_bytes} bytes: the tuner chose {choice_name(one.row)} ({one.row.bus_gbytes_per_s:.1f} GB/s of "
        f"bus bandwidth), and {choice_name(best)} is faster ({best.bus_gbytes_per_s:.1f} GB/s)"
    )


def _summary(found: Sequence[WhatIf]) -> str:
    judged = [one for one in found if one.is_judged]
    right = sum(one.faster is None for one in judged)
    words = f"# the tuner's choice was within {SLOWER:.0%} of the fastest played for {right} of {len(judged)} sizes"
    missing = [name for one in found[:1] for name in one.not_played]
    return f"{words}; not played, so not judged: {', '.join(missing)}" if missing else words
