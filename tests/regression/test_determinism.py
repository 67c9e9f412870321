"""Same files and seed: the same results, bit for bit, in fresh processes and in one; another seed: other ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.command import NEEDS_HEADERS

import astra_ns3
from astra_ns3.errors import InputError
from astra_ns3.experiments.metadata import VARYING_KEYS

TIMEOUT_SECONDS = 120
SEED = 7

pytestmark = NEEDS_HEADERS  # one of them has a hook; the others share its first run

# Marking between kmin and kmax is by chance, and the small buffer drops: whatever could differ has its part in this.
NETWORK = """topology:
  kind: single-switch
  npus: 8
  link: {rate: 100Gbps, delay: 500ns}
  switch: {buffer: 100KB, ecn: {kmin: 5KB, kmax: 200KB, pmax: 0.3}}
transport: {kind: tcp, congestion_control: Dctcp, window: 0.5MB, min_rto: 1ms}
observe:
  queues: [all]
  queue_interval: 1us
  connections: [congestion_window, rtt, retransmissions, timeouts]
  pcap: [host0, "switch0:3"]
"""
SYSTEM = """scheduling-policy: LIFO
endpoint-delay: 10
active-chunks-per-dimension: 2
preferred-dataset-splits: 4
all-reduce-implementation: doubleBinaryTree
reduce-scatter-implementation: ring
all-gather-implementation: ring
all-to-all-implementation: direct
"""
WORKLOAD = """DATA
2
first -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 800000 10
second -1 2000 NONE 0 2000 NONE 0 2000 ALLREDUCE 400000 0
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("inputs")
    texts = {"workload": ("w.txt", WORKLOAD), "system": ("s.txt", SYSTEM), "network": ("n.yaml", NETWORK)}
    for name, text in texts.values():
        (folder / name).write_text(text)
    return {option: str(folder / name) for option, (name, _) in texts.items()}


def in_fresh_process(files: dict[str, Any], output: Path) -> Path:
    options = [f"--{name}={path}" for name, path in files.items()]
    program = "from astra_ns3.cli.main import main; main()"
    words = [sys.executable, "-c", program, "run", *options, "--num-passes=2", "--record=flows", "--quiet"]
    words += [f"--seed={SEED}", f"--path={output}"]
    subprocess.run(words, check=True, timeout=TIMEOUT_SECONDS, stdout=subprocess.DEVNULL)
    return output


def in_this_process(files: dict[str, Any], output: Path, seed: int = SEED) -> Path:
    astra_ns3.run(**files, passes=2, record=["flows"], seed=seed, output=output)
    return output


def contents(folder: Path) -> dict[str, Any]:
    """Every file byte for byte, run.json without times, memory and versions."""
    found: dict[str, Any] = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "run.json"}
    document = json.loads((folder / "run.json").read_text())
    return {**found, "run.json": {key: value for key, value in document.items() if key not in VARYING_KEYS}}


def differing(one: Path, other: Path) -> list[str]:
    first, second = contents(one), contents(other)
    assert set(first) == set(second)
    return sorted(name for name in first if first[name] != second[name])


@pytest.fixture(scope="module")
def fresh(files: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_fresh_process(files, tmp_path_factory.mktemp("fresh") / "out")


def test_the_case_marks_by_chance_and_drops(fresh: Path) -> None:
    result = astra_ns3.Result.load(fresh)
    assert result.complete
    assert result.switches["dropped_frames"].sum() > 0
    assert result.switches["marked_frames"].sum() > 0
    assert result.metadata["statistics"]["retransmissions"] > 0
    suffixes = {file.suffix for file in fresh.iterdir()}
    assert suffixes == {".csv", ".json", ".parquet", ".pcap"}


def test_two_fresh_processes_write_the_same_files(files: dict[str, Any], fresh: Path, tmp_path: Path) -> None:
    assert differing(fresh, in_fresh_process(files, tmp_path / "again")) == []


def test_runs_in_one_process_equal_one_in_a_fresh_process(files: dict[str, Any], fresh: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        assert differing(fresh, in_this_process(files, tmp_path / name)) == []


def test_another_seed_gives_another_result(files: dict[str, Any], fresh: Path, tmp_path: Path) -> None:
    other = in_this_process(files, tmp_path / "other", seed=SEED + 1)
    assert {"flows.parquet", "switch.csv", "run.json"} <= set(differing(fresh, other))
    assert astra_ns3.Result.load(other).finish_ps != astra_ns3.Result.load(fresh).finish_ps


def test_a_run_that_failed_leaves_nothing_behind_for_the_next(
    files: dict[str, Any], fresh: Path, tmp_path: Path
) -> None:
    def fail(context: object) -> None:
        raise RuntimeError("a hook that fails")

    with pytest.raises(InputError, match="RuntimeError: a hook that fails"):
        astra_ns3.run(**files, seed=3, on_built=fail)
    assert differing(fresh, in_this_process(files, tmp_path / "after")) == []
