"""No control with its defaults makes an incast, a permutation or an all-to-all much longer, at slow lines too, and the
page's table has what they make of it.

Packets of 4 KB are the hard case: at 10 Gb/s one takes 3.3 us, about a quarter of a round trip.
"""

from __future__ import annotations

import csv
import logging
from functools import cache
from typing import Any

import pytest
from support.documents.pages import ROOT
from support.lengths import some_slow

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.transports.roce_control import KINDS
from astra_ns3.system.file import parse_system

MOST = 1.6
"""Times what it takes without a control; most of it is in the first round trips, with all flows open at line rate."""
CONTROLS = [kind for kind in KINDS if kind != "none"]
PAYLOAD_BYTES = 4096
RATES = ("10", "25", "100", "400", "800")
HOSTS = 16
SYSTEM = {
    **{f"{kind}-implementation": "ring" for kind in ("all-reduce", "all-gather", "reduce-scatter")},
    "all-to-all-implementation": "direct",
    "scheduling-policy": "FIFO",
    "preferred-dataset-splits": 1,
}


def flows(pattern: str, line_bytes: int) -> FlowList:
    """As much as a bottleneck's line sends in 2 ms."""
    everyone = range(HOSTS)
    if pattern == "incast":
        return FlowList.of([*range(1, 9)], [0] * 8, [line_bytes // 8] * 8, [0] * 8)
    if pattern == "permutation":
        return FlowList.of([*everyone], [(host + 5) % HOSTS for host in everyone], [line_bytes] * HOSTS, [0] * HOSTS)
    pairs = [(one, other) for one in everyone for other in everyone if one != other]
    sizes = [line_bytes // (HOSTS - 1)] * len(pairs)
    return FlowList.of([one for one, _ in pairs], [other for _, other in pairs], sizes, [0] * len(pairs))


@cache
def finish_ps(pattern: str, rate_gbps: int, control: str) -> int:
    switch = {"buffer": "64MB", "pfc": {}}
    topology: dict[str, Any] = {"link": {"rate": f"{rate_gbps}Gbps", "delay": "500ns"}, "switch": switch}
    if pattern == "incast":
        topology |= {"kind": "single-switch", "npus": 9}
    else:
        spines = {"permutation": 4, "all-to-all": 2}[pattern]
        topology |= {"kind": "leaf-spine", "leaves": 4, "spines": spines, "hosts_per_leaf": 4}
    transport = {"kind": "roce", "congestion_control": control, "payload": PAYLOAD_BYTES}
    result = astra_ns3.run(
        workload=flows(pattern, int(rate_gbps * 1e9 / 8 * 0.002)),
        system=parse_system(SYSTEM),
        network=parse_network({"topology": topology, "transport": transport}),
    )
    return result.finish_ps


def table() -> list[dict[str, str]]:
    """The rows of the table behind docs/congestion-control.md, one for each pattern and control."""
    with (ROOT / "docs" / "tables" / "control-defaults.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def in_table(pattern: str, rate_gbps: int) -> dict[str, str]:
    """The cells of one pattern and rate, by control."""
    rows = [row for row in table() if row["Pattern"] == pattern]
    return {row["Control"]: row[str(rate_gbps)] for row in rows if row["Control"] != "none"}


def summary() -> list[str]:
    """The table's range over all rates, as the page shows it."""
    cells = {(row["Control"], row["Pattern"]): [row[rate] for rate in RATES] for row in table()}
    spans = {key: " to ".join(dict.fromkeys((min(times), max(times)))) for key, times in cells.items()}
    patterns = [*dict.fromkeys(pattern for _, pattern in cells)]
    return [
        f"| `{control}` | {' | '.join(spans[control, pattern] for pattern in patterns)} |"
        for control in dict.fromkeys(control for control, _ in cells)
        if control != "none"
    ]


def test_the_page_has_the_range_of_each_control_in_the_table() -> None:
    page = (ROOT / "docs" / "congestion-control.md").read_text(encoding="utf-8")
    assert "\n".join(summary()) in page


@pytest.mark.parametrize("rate_gbps", some_slow([10, 25, 100, 400, 800], [10]))
@pytest.mark.parametrize("pattern", ["incast", "permutation", "all-to-all"])
def test_no_default_control_takes_much_longer_than_none_and_the_page_says_how_long(
    pattern: str, rate_gbps: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    alone = finish_ps(pattern, rate_gbps, "none")
    times = {control: finish_ps(pattern, rate_gbps, control) / alone for control in CONTROLS}
    assert {control: times[control] for control in times if times[control] > MOST} == {}
    assert {control: f"{time:.2f}" for control, time in times.items()} == in_table(pattern, rate_gbps)
