"""Constants that NCCL's tuner and search believe in, by version: facts of its source, each with its file.

Sources: NVIDIA/nccl (Apache-2.0), ``src/graph/tuning.cc`` (latencies, bounds, corrections), ``src/graph/search.cc``
(steps of width), ``src/graph/topo.h`` (width of links), ``src/include/device.h`` (threads, buffers), at the tags
v2.18.6-1, v2.19.4-1, v2.20.5-1, ... v2.30.7-1: of each version its last patch. Latencies are in microseconds, widths in
GB/s. Rows of bounds: Volta, Ampere, Hopper, Blackwell; columns: one, two, more servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.frozen import dataclass, replace

Algorithm = Literal["Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"]
Protocol = Literal["LL", "LL128", "Simple"]
Rules = tuple[int, int]
Row = tuple[float, float, float]
Rows = tuple[Row, Row, Row, Row]

#: In NCCL's own order: of two that seem equally fast the first is taken.
ALGORITHMS: tuple[Algorithm, ...] = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS: tuple[Protocol, ...] = ("LL", "LL128", "Simple")
FUNCTIONS: Mapping[CollectiveKind, str] = MappingProxyType(
    {
        CollectiveKind.BROADCAST: "Broadcast",
        CollectiveKind.REDUCE: "Reduce",
        CollectiveKind.ALL_GATHER: "AllGather",
        CollectiveKind.REDUCE_SCATTER: "ReduceScatter",
        CollectiveKind.ALL_REDUCE: "AllReduce",
    }
)
"""The collectives that are tuned, under NCCL's names; all others are made of messages."""

KIB = 1 << 10

SLOTS = 8
"""Steps of a buffer (NCCL_STEPS)."""
BUFFER_BYTES: dict[Protocol, int] = {"LL": 512 << 10, "LL128": 120 * 640 * 8 * 8, "Simple": 4 << 20}
MAX_THREADS = 640
LL128_DATA, LL128_LINE = 15, 16
"""15 of the 16 words of a line are data."""
GRAIN_BYTES: dict[Protocol, int] = {"LL": 16, "LL128": 1920, "Simple": 512}
MAX_NVLS_HEADS, MAX_DIRECT_HEADS = 32, 8
P2P_AT_ONCE = 8
"""Messages that one channel moves at a time (NCCL_MAX_DEV_WORK_P2P_PER_BATCH)."""


@dataclass(frozen=True)
class Tables:
    """Rates and latencies that the tuner of one version assumes. A row of latencies has LL, LL128 and Simple."""

    base: dict[Algorithm, Row]
    nvlink: dict[Algorithm, Row]
    pci: dict[Algorithm, Row]
    network: dict[Algorithm, Row]
    ll: Rows
    ring_ll128: Rows
    tree_ll128: Rows
    tree: Rows
    nvls_tree: Rows | None
    correction: dict[Protocol, tuple[float, ...]]


def _simple(value: float) -> Row:
    return (0.0, 0.0, value)


def _same(value: float) -> Row:
    return (value, value, value)


def _changed(table: dict[Algorithm, Row], **rows: Row) -> dict[Algorithm, Row]:
    """Return a table with some rows changed."""
    return {algorithm: rows.get(algorithm, row) for algorithm, row in table.items()}


# Factors of a tree's width for 64, 128, ... bytes; 23 of them are used, 24 since 2.29.
_CORRECTION: dict[Protocol, tuple[float, ...]] = {
    "LL": (1, 1, 1, 1, 0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1, 1, 1, 1),
    "LL128": (1, 1, 1, 1, 1, 0.9, 0.8, 0.8, 0.8, 0.7, *[0.6] * 6, 0.8, 0.9, 0.9, 0.9, 0.9, 1, 1, 1),
    "Simple": (*[0.9] * 7, 0.8, 0.7, 0.6, 0.6, *[0.5] * 4, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9, 0.9),
}
_HOPPER_18 = (87.7, 22.5, 19.0)
_RULES_2_18 = Tables(
    base={
        "Tree": (6.8, 14.0, 0.0),
        "Ring": (6.6, 14.0, 8.4),
        "CollNetDirect": (6.8, 14.0, 0.0),
        "CollNetChain": (6.8, 14.0, 0.0),
        "NVLS": _simple(23.0),
        "NVLSTree": _simple(23.0),
        "PAT": _same(8.0),
    },
    nvlink={
        "Tree": (0.6, 1.25, 4.0),
        "Ring": (0.6, 1.9, 3.4),
        "CollNetDirect": _simple(8.0),
        "CollNetChain": _simple(4.75),
        "NVLS": _simple(0.0),
        "NVLSTree": _simple(0.0),
        "PAT": _simple(4.0),
    },
    pci={
        "Tree": (1.0, 1.9, 6.0),
        "Ring": (1.0, 2.5, 5.7),
        "CollNetDirect": _simple(8.0),
        "CollNetChain": _simple(8.0),
        "NVLS": _simple(0.0),
        "NVLSTree": _simple(0.0),
        "PAT": _simple(4.0),
    },
    network={
        "Tree": (5.0, 8.5, 14.0),
        "Ring": (2.7, 4.0, 14.0),
        "CollNetDirect": _simple(10.7),
        "CollNetChain": _simple(14.0),
        "NVLS": _simple(18.0),
        "NVLSTree": _simple(19.0),
        "PAT": _simple(14.0),
    },
    ll=((39.0, 39.0, 20.4), (87.7, 22.5, 19.0), _HOPPER_18, _HOPPER_18),
    ring_ll128=(_same(20.0), _same(20.0), _same(36.7), _same(36.7)),
    tree_ll128=(_same(20.0), _same(20.0), (36.7, 36.7, 29.0), (36.7, 36.7, 29.0)),
    tree=((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (38.7, 41.4, 36.0)),
    nvls_tree=None,
    correction={protocol: row[:23] for protocol, row in _CORRECTION.items()},
)


def _rules_2_19(old: Tables) -> Tables:
    """NVLS gets latencies of its own; a tree's step of Simple costs 28 us again, as before 2.18.5."""
    no_base = {name: _same(0.0) for name in ("CollNetDirect", "CollNetChain", "NVLS", "NVLSTree")}
    collnet = {"CollNetDirect": _simple(3.7), "CollNetChain": _simple(2.8)}
    return replace(
        old,
        base=_changed(old.base, **no_base),
        nvlink=_changed(old.nvlink, Tree=(0.6, 1.25, 28.0), NVLS=_simple(23.0), NVLSTree=_simple(23.0), **collnet),
        pci=_changed(old.pci, Tree=(1.0, 1.9, 28.0), **collnet),
        network=_changed(
            old.network,
            Tree=(5.0, 8.5, 28.0),
            NVLSTree=_simple(14.0),
            CollNetDirect=_simple(31.0),
            CollNetChain=_simple(30.0),
        ),
    )


def _rules_2_21(old: Tables) -> Tables:
    hopper = (141.0, 45.0, 35.0)
    return replace(
        old,
        nvlink=_changed(old.nvlink, NVLS=_simple(25.0), NVLSTree=_simple(25.0)),
        ll=(old.ll[0], old.ll[1], hopper, hopper),
    )


def _rules_2_23(old: Tables) -> Tables:
    """A tree of Simple has a base latency and short steps."""
    return replace(
        old,
        base=_changed(old.base, Tree=(6.8, 14.0, 8.4)),
        nvlink=_changed(old.nvlink, Tree=(0.6, 1.25, 4.0)),
        pci=_changed(old.pci, Tree=(1.0, 1.9, 4.0)),
        network=_changed(old.network, Tree=(5.0, 8.5, 14.0)),
    )


def _blackwell(rows: Rows, row: Row) -> Rows:
    return (rows[0], rows[1], rows[2], row)


def _rules_2_25(old: Tables) -> Tables:
    """Blackwell has rows of its own: twice Hopper's."""
    return replace(
        old,
        ll=_blackwell(old.ll, (282.0, 90.0, 70.0)),
        ring_ll128=_blackwell(old.ring_ll128, _same(73.4)),
        tree_ll128=_blackwell(old.tree_ll128, (73.4, 73.4, 58.0)),
        tree=_blackwell(old.tree, (77.4, 82.8, 72.0)),
    )


def _rules_2_28(old: Tables) -> Tables:
    """NVLSTree gets bounds; its latency is that of 2.28.9 (14 us in 2.28.3)."""
    return replace(
        old,
        network=_changed(old.network, NVLSTree=_simple(20.9)),
        ring_ll128=_blackwell(old.ring_ll128, (73.4, 34.6, 73.4)),
        tree_ll128=_blackwell(old.tree_ll128, (55.6, 31.67, 20.0)),
        tree=_blackwell(old.tree, (70.0, 42.8, 24.0)),
        nvls_tree=((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (0.0, 57.7, 45.5), (0.0, 96.0, 43.8)),
    )


def _rules_2_29(old: Tables) -> Tables:
    """As 2.29.7 has it (2.29.2: 34.5 for LL128 rings of Blackwell)."""
    return replace(old, ring_ll128=_blackwell(old.ring_ll128, _same(40.0)), correction=_CORRECTION)


def _rules_2_30(old: Tables) -> Tables:
    rows = old.nvls_tree
    return old if rows is None else replace(old, nvls_tree=_blackwell(rows, (0.0, 96.0, 80.0)))


_CHANGES = {
    (2, 19): _rules_2_19,
    (2, 21): _rules_2_21,
    (2, 23): _rules_2_23,
    (2, 25): _rules_2_25,
    (2, 28): _rules_2_28,
    (2, 29): _rules_2_29,
    (2, 30): _rules_2_30,
}


@cache
def tables(rules: Rules) -> Tables:
    """Return what the tuner of a version believes."""
    found = _RULES_2_18
    for since, change in _CHANGES.items():
        if since <= rules:
            found = change(found)
    return found


NVLS_EFFICIENCY: tuple[float, ...] = (0.0, 0.0, 0.85, 0.74)
"""Share of the links' width that NVLS gets, by generation; used since 2.28."""


def generation(compute_capability: int) -> int:
    """Return the row of a GPU in the tables: 0 Volta and older, 1 Ampere, 2 Hopper, 3 Blackwell."""
    return sum(compute_capability >= first for first in (80, 90, 100))


def nvlink_width(compute_capability: int, rules: Rules) -> float:
    """Return the width of one NVLink and direction, as NCCL believes it (topo.h)."""
    if compute_capability >= 100:
        return 20.6 if rules < (2, 25) else 40.0 if rules < (2, 27) else 40.1
    if compute_capability >= 90:
        return 20.6
    return 12.0 if compute_capability == 86 else 20.0 if compute_capability >= 70 else 18.0


def max_channels(rules: Rules) -> int:
    """Return how many channels there are at most."""
    return 64 if rules >= (2, 25) else 32


def least_traffic(rules: Rules) -> int:
    """Return the bytes of traffic below which a channel isn't used, since 2.22 (MinTrafficPerChannel)."""
    return 32 << 10 if rules >= (2, 29) else 16 << 10 if rules >= (2, 23) else 512


_OLD_INTRA = (40.0, 30.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0)
_OLD_INTER = (48.0, 30.0, 28.0, 24.0, 20.0, 18.0, 15.0, 12.0, 10.0, 9.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.4, 1.2, 0.24, 0.12)
_SLOW = (15.0, 12.0, 6.0, 3.0, 2.4, 1.2, 0.24, 0.12)


@cache
def speed_steps(compute_capability: int, several_servers: bool, rules: Rules) -> tuple[float, ...]:
    """Return the widths of a channel that the search tries, widest first (search.cc)."""
    if compute_capability < 90:
        return _OLD_INTER if several_servers else _OLD_INTRA
    if compute_capability >= 100 and rules >= (2, 25):
        return _blackwell_inter(rules) if several_servers else _blackwell_intra(rules)
    if several_servers:
        return (48.0, 45.0, 42.0, 40.0, 30.0, 24.0, *((22.0,) if rules >= (2, 19) else ()), 20.0, 17.5, *_SLOW)
    fifty, eleven = (50.0,) if rules >= (2, 19) else (), (11.0,) if rules >= (2, 21) else ()
    return (60.0, *fifty, 40.0, 30.0, 24.0, 20.0, 15.0, 12.0, *eleven, 6.0, 3.0)


def _blackwell_intra(rules: Rules) -> tuple[float, ...]:
    half, last = (45.0,) if rules >= (2, 29) else (), (18.0,) if rules >= (2, 27) else ()
    return (90.0, 80.0, 70.0, 60.0, 50.0, *half, 40.0, 30.0, 24.0, 20.0, 19.0, *last)


def _blackwell_inter(rules: Rules) -> tuple[float, ...]:
    end = (42.0, 40.0, 30.0, 24.0, 22.0, 20.0, 17.5, *_SLOW)
    if rules >= (2, 28):
        return (96.0, *((86.0, 80.0) if rules >= (2, 30) else ()), 48.0, 45.1, *end)
    return (47.9 if rules >= (2, 27) else 48.0, 45.0, *end)
