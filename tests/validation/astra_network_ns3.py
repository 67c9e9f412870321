"""Finish times that we measured on ASTRA-sim 2 with astra-network-ns3, and figures published for it."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from regression.test_astra_ns3_roce import CASES, system, workload
from support.measured import Row, write_config_txt

import astra_ns3
from astra_ns3.workload.files.astra_sim import parse_workload
from validation.comparison import Comparison, Found, Group, recorded, worst

SOURCE = "measured"
TEST = "tests/regression/test_astra_ns3_roce.py"
WITHIN_NS = 0.5
BLOG = "kredd2506.github.io/Astro, 2026"


def _finish_ns(row: Row, size: int | None = None) -> list[float]:
    """When the first and the last NPU end; ``size``: bytes in place of the row's."""
    logging.disable(logging.WARNING)
    try:
        with tempfile.TemporaryDirectory() as folder:
            work = workload(row)
            if size is not None:
                text = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n"
                work = parse_workload(text, "micro")
            result = astra_ns3.run(workload=work, system=system(row), network=write_config_txt(row, Path(folder)))
    finally:
        logging.disable(logging.NOTSET)
    ends_ns = result.npus["finish_us"] * 1000
    return [ends_ns.min(), ends_ns.max()]


def _pairs(row: Row) -> Iterable[tuple[float, float]]:
    return zip(_finish_ns(row), (float(row["finish_first_ns"]), float(row["finish_last_ns"])), strict=True)


def _rows(**wanted: str) -> list[Row]:
    return [row for row in CASES if all(row[key] == value for key, value in wanted.items())]


def _met(chosen: list[Row]) -> Callable[[], Found]:
    return lambda: worst([pair for row in chosen for pair in _pairs(row)], WITHIN_NS, 1000)


def _row(key: str, what: str, chosen: list[Row], note: str = "", *, fast: bool = True) -> Comparison:
    times = [float(row[name]) / 1000 for row in chosen for name in ("finish_first_ns", "finish_last_ns")]
    runs = f"{len(chosen)} runs" if len(chosen) > 1 else "1 run"
    controls = ", ".join(dict.fromkeys(row["congestion_control"] for row in chosen))
    theirs = f"{min(times):,.3f} us" if min(times) == max(times) else f"{min(times):,.3f} to {max(times):,.3f} us"
    return Comparison(key, f"{what}: {runs} ({controls})", SOURCE, theirs, _met(chosen), TEST, fast, note)


def _blog(kibibytes: int, theirs_us: float) -> Callable[[], Found]:
    (row,) = _rows(
        topology="single", n="8", size_mib="16", congestion_control="dcqcn", payload_bytes="1000", algorithm="ring"
    )

    def find() -> Found:
        ours_us = _finish_ns(row, kibibytes << 10)[1] / 1000
        equal = round(ours_us, 1) == theirs_us
        return f"{ours_us:.1f} us", "equal" if equal else f"{ours_us / theirs_us - 1:+.2%}"

    return find


_SINGLE = {"topology": "single"}
_PARTS = "an NPU there begins the second half before all of the first is reduced; ours waits for the whole sum"
GROUPS = [
    Group(
        "ASTRA-sim 2 with astra-network-ns3 (RoCE, 400 Gb/s), preset `astra-network-ns3`: first and last NPU",
        [
            _row(
                "ns3-ring-8",
                "all-reduce, ring of 8, one switch, 1 and 16 MiB",
                _rows(**_SINGLE, n="8", collective="all_reduce", algorithm="ring"),
                fast=False,
            ),
            _row(
                "ns3-ring-16",
                "all-reduce, ring of 16, one switch, 1 MiB",
                _rows(**_SINGLE, n="16", collective="all_reduce", algorithm="ring"),
                fast=False,
            ),
            _row("ns3-one-ring", "all-reduce, `oneRing`", _rows(algorithm="oneRing")),
            _row("ns3-all-gather", "all-gather, ring of 8", _rows(collective="all_gather")),
            _row("ns3-reduce-scatter", "reduce-scatter, ring of 8", _rows(collective="reduce_scatter")),
            _row("ns3-all-to-all-ring", "all-to-all, ring of 8", _rows(collective="all_to_all", algorithm="ring")),
            _row("ns3-all-to-all", "all-to-all, `direct`, 8", _rows(collective="all_to_all", algorithm="direct")),
            _row("ns3-halving", "all-reduce, `halvingDoubling`, 8", _rows(algorithm="halvingDoubling")),
            _row("ns3-tree", "all-reduce, `doubleBinaryTree`, 8", _rows(algorithm="doubleBinaryTree")),
            _row("ns3-direct", "all-reduce, `direct`, 8", _rows(collective="all_reduce", algorithm="direct"), _PARTS),
            _row("ns3-clos", "all-reduce, ring of 16 on two leaves and 8 spines", _rows(topology="clos"), fast=False),
            Comparison(
                "ns3-congested",
                "all-to-all of 16 MiB on a Clos of 32, DCQCN, 16 seeds",
                SOURCE,
                "863 +- 148 us",
                recorded("848 +- 175 us", "-1.7%, means known to 40 us"),
                note="recorded: 32 runs; marks are drawn at random",
            ),
            Comparison(
                "ns3-blog-16m", "all-reduce of 16 MiB, 8 NPUs, one switch", BLOG, "784.6 us", _blog(16 << 10, 784.6)
            ),
            Comparison("ns3-blog-16k", "all-reduce of 16 KiB, 8 NPUs, one switch", BLOG, "113.9 us", _blog(16, 113.9)),
        ],
    )
]
