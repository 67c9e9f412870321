"""The installed command with ns-3 behind it: files, sameness of equal runs, Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.accounts import problems_of
from support.command import PROGRAM, TIMEOUT_SECONDS, Command

import astra_ns3
from astra_ns3.experiments.metadata import VARYING_KEYS

BYTES = 400_000
NPUS = 8
SPLITS = 4

pytestmark = pytest.mark.xdist_group("runs of the command")  # they share one

NETWORK = f"""topology:
  kind: single-switch
  npus: {NPUS}
  link: {{rate: 100Gbps, delay: 500ns}}
  switch: {{buffer: 64MB}}
transport: {{kind: tcp, congestion_control: Cubic, window: 0.5MB}}
observe: {{queues: [all], connections: [congestion_window], pcap: [host0]}}
"""
SYSTEM = f"""scheduling-policy: FIFO
endpoint-delay: 10
active-chunks-per-dimension: 2
preferred-dataset-splits: {SPLITS}
all-reduce-implementation: ring
reduce-scatter-implementation: ring
all-gather-implementation: ring
all-to-all-implementation: direct
collective-optimization: baseline
"""
WORKLOAD = f"MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {BYTES} 0\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("inputs")
    texts = {"workload": ("w.txt", WORKLOAD), "system": ("s.txt", SYSTEM), "network": ("n.yaml", NETWORK)}
    for name, text in texts.values():
        (folder / name).write_text(text)
    return {option: str(folder / name) for option, (name, _) in texts.items()}


def words(files: dict[str, Any], output: Path) -> list[str]:
    options = [f"--{name}={path}" for name, path in files.items()]
    return ["run", *options, f"--path={output}", "--record=flows"]


def contents(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {file.name: file.read_bytes() for file in folder.iterdir() if file.name != "run.json"}
    document = json.loads((folder / "run.json").read_text())
    return {**found, "run.json": {key: value for key, value in document.items() if key not in VARYING_KEYS}}


@pytest.fixture(scope="module")
def finished(files: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run in a fresh process."""
    output = tmp_path_factory.mktemp("runs") / "out"
    subprocess.run([*PROGRAM, *words(files, output)], check=True, timeout=TIMEOUT_SECONDS, stdout=subprocess.DEVNULL)
    return output


def test_a_capture_has_every_packet_that_its_port_sent(finished: Path) -> None:
    ports = astra_ns3.Result.load(finished).switches.set_index("port")
    capture = (finished / "host0.pcap").read_bytes()
    position, packets = 24, 0
    while position < len(capture):
        position += 16 + int.from_bytes(capture[position + 8 : position + 12], sys.byteorder)
        packets += 1
    assert position == len(capture)
    assert packets == ports.loc["host0", "sent_frames"]


def test_every_message_of_the_ring_is_a_flow(finished: Path) -> None:
    result = astra_ns3.Result.load(finished)
    flows = result.flows
    # A ring all-reduce sends 2(n-1) messages of a n-th of the chunk from each of n NPUs.
    assert len(flows) == SPLITS * NPUS * 2 * (NPUS - 1)
    assert flows["bytes"].sum() == BYTES * 2 * (NPUS - 1)
    assert set(zip(flows["source"], flows["destination"], strict=True)) == {(n, (n + 1) % NPUS) for n in range(NPUS)}
    assert (flows["start_ps"] < flows["end_ps"]).all()
    assert flows["end_ps"].max() <= result.finish_ps


def test_the_command_line_accounts_for_every_message(files: dict[str, Any], tmp_path: Path) -> None:
    output = tmp_path / "out"
    ran = Command([*words(files, output), "--record=accounts"]).finish()
    assert (ran.returncode, ran.stderr) == (0, "")
    result = astra_ns3.Result.load(output)
    assert problems_of(result.accounts, result.account_hops) == []
    flows = result.flows
    pd.testing.assert_frame_equal(result.accounts[list(flows.columns[:-1])], flows.iloc[:, :-1])
    assert result.account_hops["port"].nunique() == 2 * NPUS  # each NIC, and the switch's port to each host


def test_no_bus_bandwidth_is_above_the_link(finished: Path) -> None:
    bandwidth = astra_ns3.Result.load(finished).collectives["bus_bandwidth_gbytes_per_s"]
    assert (bandwidth > 0).all()
    assert (bandwidth < 12.5).all()


def test_a_second_run_in_one_process_equals_one_in_a_fresh_process(
    files: dict[str, Any], finished: Path, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        astra_ns3.run(**files, output=tmp_path / name, record=["flows"])
    assert contents(tmp_path / "first") == contents(finished)
    assert contents(tmp_path / "second") == contents(finished)


def under_way(folder: Path) -> bool:
    """Whether a run that writes below ``folder`` has sent thousands of packets; it takes down those of a port."""
    return any(file.stat().st_size > 1_000_000 for file in folder.glob(".out.*.partial/host0.pcap"))


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_the_end_of_a_batch_job_save_what_is_done(
    files: dict[str, Any], tmp_path: Path, ending: signal.Signals
) -> None:
    output = tmp_path / "out"
    process = Command([*words(files, output), "--num-passes=1000"])
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not under_way(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(ending)
    finished = process.finish()
    assert (finished.returncode, "Traceback" in finished.stderr) == (130, False)
    result = astra_ns3.Result.load(output)
    assert not result.complete
    assert result.finish_ps > 0
    assert len(result.flows) > 0
