"""What ``explain`` promises where credit takes long to come back, against runs with the change; windows are untold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.small_run import SYSTEM

import astra_ns3
from astra_ns3.report.explanation.explain import explain

KIB = 1024
LONG = {"rate": "100Gbps", "delay": "2us"}
"""There and back, 50 kB fit on it."""


ROCE = {"kind": "roce", "payload": 4096, "congestion_control": "none"}


def by_credit(size: int) -> dict[str, Any]:
    return {"buffer": "64MB", "credits": {"bytes": size}}


def played(folder: Path, transport: dict[str, Any], switch: dict[str, Any], rate: str = "100Gbps") -> astra_ns3.Result:
    """Play an all-reduce of 8 MB on a switch."""
    shape = {"kind": "single-switch", "npus": 4, "link": {**LONG, "rate": rate}, "switch": switch}
    network = {"topology": shape, "transport": transport}
    texts = {"w.txt": "DATA\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 8000000 0\n", "s.yaml": SYSTEM}
    for name, text in (texts | {"n.json": json.dumps(network)}).items():
        (folder / name).write_text(text, encoding="utf-8")
    workload, system = folder / "w.txt", folder / "s.yaml"
    return astra_ns3.run(workload=workload, system=system, network=folder / "n.json", record=["timeline", "accounts"])


@pytest.mark.parametrize("credit", [16 * KIB, 32 * KIB, 70 * KIB])
@pytest.mark.parametrize(
    ("words", "changed"),
    [
        ("with lines twice as fast", lambda credit: (credit, "200Gbps")),
        ("with credit for all of a round trip", lambda _: (1024 * KIB, "100Gbps")),
    ],
)
def test_a_change_saves_what_was_promised(tmp_path: Path, credit: int, words: str, changed: Any) -> None:
    before, (more, rate) = played(tmp_path, ROCE, by_credit(credit)), changed(credit)
    after = played(tmp_path, ROCE, by_credit(more), rate)
    told = sum(each.time_ps for each in explain(before).what_ifs if each.change == words)
    assert told / before.finish_ps == pytest.approx(1 - after.finish_ps / before.finish_ps, abs=0.06)


def test_over_tcp_and_a_fixed_window_other_windows_are_not_counted(tmp_path: Path) -> None:
    for transport in ({"kind": "tcp"}, {"kind": "roce", "congestion_control": "none", "window": "20KB"}):
        switch = {"buffer": "64MB", "pfc": {}} if transport["kind"] == "roce" else {"buffer": "64MB"}
        found = explain(played(tmp_path, transport, switch))
        (lines,) = [each for each in found.what_ifs if each.change == "with lines twice as fast"]
        assert any("windows may" in words for words in lines.caveats)
