"""``astra-ns3 validate``: builds everything, runs nothing, writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]


def test_validate_prints_messages_packets_time_and_memory(command: Command, words: list[str], tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    finished = command("validate", *words, "-p", "2")
    assert (finished.status, finished.err) == (0, "")
    rows = dict(line.split("  ", 1) for line in finished.out.splitlines())
    assert rows["messages"].split()[0] == "192"  # 2 passes, 2 collectives, 2 chunks, 4 NPUs, 2(4-1) messages
    assert {"packets", "estimated time", "estimated memory"} <= set(rows)
    assert sorted(tmp_path.rglob("*")) == before


def test_validate_speaks_json(command: Command, words: list[str]) -> None:
    document = command("validate", *words, "--json").json
    assert document["forecast"]["messages"] == 96
    assert document["exit_status"] == 0


def test_validate_shows_warnings(command: Command, files: dict[str, str], words: list[str]) -> None:
    network = Path(files["network"])
    network.write_text(network.read_text().replace("{kind: tcp}", "{kind: tcp, timestamps: true}"))
    finished = command("validate", *words)
    assert finished.status == 0
    assert finished.err.startswith("astra-ns3: warning: timestamps")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("workload", "DATA", "MODLE", "did you mean 'MODEL'"),
        ("system", "all-reduce-implementation: ring", "all-reduce-implementation: ring_ring", "found 2 algorithms"),
        ("network", "npus: 4", "npus: 0", "npus"),
    ],
)
def test_validate_refuses_what_run_refuses(
    command: Command, files: dict[str, str], words: list[str], file: str, old: str, new: str, message: str
) -> None:
    path = Path(files[file])
    path.write_text(path.read_text().replace(old, new))
    finished = command("validate", *words)
    assert finished.status == 2
    (line,) = finished.err.splitlines()
    assert path.name in line
    assert message in line
