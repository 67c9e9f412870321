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


def test_command_lines_of_astra_sim_2_are_taken_as_they_are(command: Command, words: list[str]) -> None:
    named = {"-w": "--workload-configuration", "-s": "--system-configuration", "-n": "--network-configuration"}
    theirs = [f"{named[key]}={file}" for key, file in zip(words[::2], words[1::2], strict=True)]
    switched = ["--backend", "analytical", "--comm-group-configuration=empty", "--rendezvous-protocol"]
    for value, on in (("=false", False), ("=true", True), ("", True)):
        switched[-1] = f"--rendezvous-protocol{value}"
        finished = command("run", *theirs, *switched, "--num-queues-per-dim=1", "--injection-scale=1", "--json")
        assert (finished.status, finished.err) == (0, "")
        assert (finished.json["finish_ps"] > command("run", *words, *switched[:2], "--json").json["finish_ps"]) is on
    for name in ("run", "validate"):
        finished = command(name, *theirs, *switched[:2], "--logging-configuration=empty", "--logging-folder=log")
        assert finished.status == 0
        assert "warning: without effect here: --logging-configuration, --logging-folder" in finished.err


def test_validate_warns_of_a_run_that_memory_cannot_hold(
    command: Command, files: dict[str, str], words: list[str]
) -> None:
    """MICRO issues the collectives of all passes at once."""
    Path(files["workload"]).write_text("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4096 0\n")
    passes = ["-p", "1000000000"]
    refused = command("run", *words, *passes, "--backend", "fake", "--json").json["error"]
    assert "would need about" in refused
    finished = command("validate", *words, *passes)
    assert finished.status == 0
    (line,) = finished.err.splitlines()
    assert line.startswith("astra-ns3: warning: run would refuse this here and now: the run, of it")
    assert line.endswith(refused.rsplit(";", 1)[1])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{kind: tcp}", "{kind: tcp, window: 1KB}", ":6: key 'transport.window': 1000 bytes do not hold one segment"),
        (
            "{kind: tcp}",
            "{kind: tcp}\nobserve: {pauses: [all]}",
            ":7: key 'observe.pauses': found ['all'], expected",
        ),
    ],
)
def test_what_is_wrong_with_a_network_is_said_with_its_line(
    command: Command, files: dict[str, str], words: list[str], old: str, new: str, message: str
) -> None:
    path = Path(files["network"])
    path.write_text(path.read_text().replace(old, new))
    finished = command("validate", *words)
    assert finished.status == 2
    assert f"{path.name}{message}" in finished.err


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
