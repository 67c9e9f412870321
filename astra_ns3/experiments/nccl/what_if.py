"""NCCL's other choices, played too: where the tuner's own was not the fastest.

The choice of NCCL's tuner rests on what it believes of each algorithm and protocol. Here each choice that it may make
is forced by ``NCCL_ALGO`` and ``NCCL_PROTO`` and played. All else stays as it is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from astra_ns3.collectives.schedule import Tell, silent
from astra_ns3.config.core.plain import Json
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import wrong
from astra_ns3.experiments.nccl.bench import OPERATIONS, BenchRow
from astra_ns3.experiments.nccl.machine import Machine
from astra_ns3.frozen import dataclass
from astra_ns3.nccl.choices import allowed_pairs
from astra_ns3.nccl.constants import FUNCTIONS
from astra_ns3.network.backends import abilities_of
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.routes import shortest_paths
from astra_ns3.units import counted

_DRAWN = "the seed draws the paths of flows: with another seed, another choice may be the fastest"
_SILENT_SECONDS = 3.0
SLOWER = 0.01
"""The tuner's choice counts as wrong if it takes longer by more than this share."""


@dataclass(frozen=True)
class WhatIf:
    """A size as the tuner chose, ``others``: as it might have, the fastest first."""

    row: BenchRow
    others: tuple[BenchRow, ...]

    @property
    def faster(self) -> BenchRow | None:
        """The fastest of the others, if it is faster than the tuner's choice."""
        best = self.others[0] if self.others else self.row
        return best if best.time_us * (1 + SLOWER) < self.row.time_us else None


def what_if(
    machine: Machine, operation: str, rows: Sequence[BenchRow], seed: int = 1, tell: Tell = silent
) -> list[WhatIf]:
    """Play the sizes of ``rows``, the tuner's choices, by all other choices it may make. Raises InputError.

    ``tell``: told how long each takes about, if that is long, and which is played after a few seconds.
    """
    kind, sizes = OPERATIONS[operation], [row.size_bytes for row in rows]
    if kind not in FUNCTIONS:
        raise wrong(f"--what-if: NCCL makes {operation} of messages, and its tuner has no choice there")
    found: list[list[BenchRow]] = [[] for _ in rows]
    begun, pairs = time.monotonic(), list(allowed_pairs(machine.communicator, kind))
    for number, (algorithm, protocol) in enumerate(pairs, 1):
        others = [place for place, row in enumerate(rows) if (row.algorithm, row.protocol) != (algorithm, protocol)]
        if not others:
            continue
        forced = machine.with_keys({"NCCL_ALGO": algorithm, "NCCL_PROTO": protocol})
        begin = f"{algorithm} {protocol}: "
        if time.monotonic() - begun > _SILENT_SECONDS:
            tell(f"{begin}{counted(len(others), 'size')}, choice {number} of {len(pairs)}")
        played = forced.bench(operation, [sizes[place] for place in others], seed, partial(_told, tell, begin))
        for place, row in zip(others, played, strict=True):
            found[place].append(row)
    return [
        WhatIf(row, tuple(sorted(others, key=lambda other: other.time_us)))
        for row, others in zip(rows, found, strict=True)
    ]


def _told(tell: Tell, begin: str, words: str) -> None:
    tell(begin + words)


def doubts(network: AnyNetwork, backend: str) -> tuple[str, ...]:
    """Return what to warn of where a backend doesn't tell well which choice is faster, or a seed has a say in it."""
    abilities = abilities_of(backend)
    if not abilities.shared_lines:
        return (f"messages never meet on {backend}, so choices whose messages share lines seem faster than they are",)
    if not abilities.drawn_paths or not isinstance(network, NetworkConfig):
        return ()
    return (_DRAWN,) if shortest_paths(build_graph(network.topology)).branch else ()


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
    """Return more keys for each size: ``others`` (times in us) and ``faster`` (null: none is)."""
    return [
        {
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
    right = sum(one.faster is None for one in found)
    return f"# the tuner's choice was within {SLOWER:.0%} of the fastest for {right} of {len(found)} sizes"
