"""The installed command when its child dies, is stopped, or finds no room on the disk; ns-3 behind it."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.command import PROGRAM, TIMEOUT_SECONDS, Command, Finished, run_command
from support.lengths import some_slow
from support.usual_signals import usual_signals

import astra_ns3

NOTICE_SECONDS = 10
"""A signal is acted on within a second on an idle machine; these tests share theirs."""
NPUS = 8
CONTROL = """#include "roce-congestion-control.h"
#include <cstdlib>
class Own : public ns3::RoceCongestionControl
{{
  public:
    explicit Own(const ns3::RoceControlParameters&) {{}}
    void AckReceived(ns3::RoceSender&, const ns3::RoceAck&) override
    {{
        {end}
    }}
}};
"""
WATCHING = """import sys
from pathlib import Path

class Own:
    acks = 0

    def __init__(self, parameters):
        pass

    def ack_received(self, sender, ack):
        Own.acks += 1
        if Own.acks % 1000 == 0:
            names = {name.split(".")[0] for name in sys.modules}
            Path(__file__).with_name("loaded").write_text(" ".join({"pandas", "pyarrow", "cppyy"} & names))
"""


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options that name the three files: an all-reduce over RoCE that takes about a second for each pass."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "w.txt").write_text("MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4000000 0\n")
    (folder / "s.txt").write_text(
        "scheduling-policy: FIFO\nendpoint-delay: 10\nactive-chunks-per-dimension: 1\npreferred-dataset-splits: 4\n"
        "all-reduce-implementation: ring\nreduce-scatter-implementation: ring\nall-gather-implementation: ring\n"
        "all-to-all-implementation: direct\n"
    )
    (folder / "n.yaml").write_text(
        f"topology: {{kind: single-switch, npus: {NPUS}, link: {{rate: 100Gbps, delay: 500ns}}, "
        "switch: {buffer: 64MB}}\ntransport: {kind: roce, congestion_control: none, payload: 1000}\n"
        "observe: {queues: [all], queue_interval: 10ns, pauses: true, pcap: [host0], utilisation: [all]}\n"
    )
    return ["-w", str(folder / "w.txt"), "-s", str(folder / "s.txt"), "-n", str(folder / "n.yaml")]


def run(*words: str, before: Callable[[], None] = lambda: None) -> Finished:
    return run_command("run", *words, before=before)


def run_fresh(*words: str) -> subprocess.CompletedProcess[str]:
    """In a fresh interpreter."""
    program = [*PROGRAM, "run", *words]
    return subprocess.run(program, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)


def saved(folder: Path) -> astra_ns3.Result:
    result = astra_ns3.Result.load(folder)
    assert not result.complete
    assert len(result.npus) == NPUS
    return result


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("std::exit(0);", "called exit in the simulation's process (status 0)"),
        ("__builtin_trap();", "crashed (SIGILL)"),
        ("std::abort();", "crashed (SIGABRT)"),
    ],
    ids=["exit", "trap", "abort"],
)
def test_a_users_control_that_ends_the_process_is_status_5_and_what_was_done_is_saved(
    words: list[str], tmp_path: Path, end: str, message: str
) -> None:
    (tmp_path / "own.hpp").write_text(CONTROL.format(end=end))
    control = f"--congestion-control={tmp_path / 'own.hpp'}:Own"
    finished = run(*words, control, "--json", "-o", str(tmp_path / "out"))
    assert finished.returncode == 5, finished.stderr
    document = json.loads(finished.stdout)
    assert (document["exit_status"], document["kind"], document["complete"]) == (5, "BackendError", False)
    assert message in document["error"]
    # The first packet takes 0.2 us with its headers and 1 us of delays to arrive, its ACK a little less to come back.
    assert 2_000_000 < saved(tmp_path / "out").finish_ps < 5_000_000


def test_flows_that_were_delivered_before_the_process_died_are_in_the_results(words: list[str], tmp_path: Path) -> None:
    """The hook stops the clock on the wall for long enough to be heard of, then dies between the two flows."""
    (tmp_path / "flows.csv").write_text("source,destination,bytes,start\n0,1,1000,0\n2,3,1000,10us\n")
    (tmp_path / "hook.py").write_text(
        "import os, time\n\ndef on_built(context):\n"
        "    context.schedule(5_000_000, lambda: time.sleep(0.5))\n"
        "    context.schedule(9_000_000, lambda: os._exit(3))\n"
    )
    flows = ["-w", str(tmp_path / "flows.csv"), *words[2:]]
    finished = run(*flows, "--hook", str(tmp_path / "hook.py"), "--json", "-o", str(tmp_path / "out"))
    assert finished.returncode == 5, finished.stderr
    result = saved(tmp_path / "out")
    found = result.metadata["flows"]
    assert (found["flows"], found["delivered"], found["delivered_bytes"]) == (2, 1, 1000)
    assert result.completions["flow"].tolist() == [0]
    assert len(result.flow_completion) == 2
    assert json.loads(finished.stdout)["flows"]["delivered"] == 1


def test_the_simulation_loads_neither_pandas_nor_pyarrow_though_tables_are_written(
    words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(WATCHING)
    control = f"--congestion-control={tmp_path / 'own.py'}:Own"
    finished = run_fresh(*words, "--record=flows", control, "-o", str(tmp_path / "out"))
    assert finished.returncode == 0, finished.stderr
    assert set((tmp_path / "loaded").read_text().split()) == {"cppyy"}
    result = astra_ns3.Result.load(tmp_path / "out")
    assert len(result.flows) > 0
    assert len(result.utilisation) > 0


def test_a_file_that_finds_no_room_costs_neither_the_run_nor_the_other_files(words: list[str], tmp_path: Path) -> None:
    """A limit on the size of a file stands for the full disk; of all tables only that of the queues is larger."""
    limit = 30_000

    def limit_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    output = tmp_path / "out"
    finished = run(*words, "-o", str(output), before=limit_files)
    assert finished.returncode == 6
    assert "Traceback" not in finished.stderr
    assert "finish" in finished.stdout
    last = finished.stderr.splitlines()[-1]
    assert "queues.parquet: File too large; host0.pcap: no room" in last
    (partial,) = tmp_path.glob(".out.*.partial")
    assert str(partial) in last
    kept = astra_ns3.Result.load(partial)
    assert kept.complete
    assert kept.collectives["end_us"].notna().all()
    assert not output.exists()


def start(words: list[str], output: Path, *, before: Callable[[], None] = lambda: None) -> Command:
    return Command(["run", *words, "-o", str(output), "--num-passes=1000"], before=before)


def start_fresh(words: list[str], output: Path) -> subprocess.Popen[str]:
    """In a fresh interpreter, whose first tenths of a second are its own."""
    return subprocess.Popen(
        [*PROGRAM, "run", *words, "-o", str(output), "--num-passes=1000", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=usual_signals,
    )


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("seed", some_slow(range(4), [0]))
def test_one_signal_at_any_moment_ends_the_program_without_a_traceback(
    words: list[str], tmp_path: Path, ending: signal.Signals, seed: int
) -> None:
    process = start_fresh(words, tmp_path / "out")
    time.sleep(random.Random(f"{ending} {seed}").uniform(0.3, 4.5))  # the interpreter itself needs the first tenths
    begin = time.monotonic()
    process.send_signal(ending)
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert time.monotonic() - begin < NOTICE_SECONDS
    assert (process.returncode, "Traceback" in err) == (130, False), err
    assert json.loads(out)["kind"] == "Interrupted"
    said = err.splitlines()[-1]
    assert said.startswith("astra-ns3: error: interrupted")
    if not (tmp_path / "out").exists():
        assert "nothing was saved" in said
    assert {path.name for path in tmp_path.iterdir()} <= {"out"}


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_to_a_run_that_is_under_way_saves_what_is_done(
    words: list[str], tmp_path: Path, ending: signal.Signals
) -> None:
    process = start(words, tmp_path / "out")
    wait_for_rows(tmp_path)
    process.send_signal(ending)
    finished = process.finish()
    assert (finished.returncode, "Traceback" in finished.stderr) == (130, False), finished.stderr
    result = saved(tmp_path / "out")
    assert result.finish_ps > 0
    assert len(result.queues) > 0
    stopped = result.metadata["stopped"]
    assert stopped is not None
    assert stopped["kind"] == "Interrupted"


def test_a_signal_that_is_ignored_at_the_start_stays_ignored(words: list[str], tmp_path: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = start(words, tmp_path / "out", before=ignore)
    wait_for_rows(tmp_path)
    for _ in range(10):
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.finish().returncode == 130


def test_the_child_ends_with_its_parent(words: list[str], tmp_path: Path) -> None:
    process = start(words, tmp_path / "out")
    child = child_of(process.pid)
    process.send_signal(signal.SIGKILL)
    process.finish()
    deadline = time.monotonic() + NOTICE_SECONDS
    while Path(f"/proc/{child}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()


def wait_for_rows(folder: Path) -> None:
    """Wait until a run that writes below ``folder`` has streamed rows, so it is well under way."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if any(file.stat().st_size > 10_000 for file in folder.glob(".out.*.partial/queues.parquet")):
            return
        time.sleep(0.05)
    raise AssertionError("no rows were written")


def child_of(pid: int) -> int:
    """The process that ``pid`` has forked, once it has."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        found = children.read_text().split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError("there is no child")


def test_a_run_that_is_killed_by_the_system_is_saved(words: list[str], tmp_path: Path) -> None:
    """As the out-of-memory killer does, which takes the child."""
    process = start(words, tmp_path / "out")
    wait_for_rows(tmp_path)
    os.kill(child_of(process.pid), signal.SIGKILL)
    finished = process.finish()
    assert finished.returncode == 5
    assert "was killed (SIGKILL; perhaps memory ran out: it held" in finished.stderr
    assert len(saved(tmp_path / "out").queues) > 0


def summary_of(finished: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(finished.stdout)


def test_limits_hold_in_the_set_up(words: list[str], tmp_path: Path) -> None:
    finished = run_fresh(*words, "--limit-wall-time=200ms", "--json", "-o", str(tmp_path / "out"))
    assert finished.returncode == 4
    assert "wall time reached its limit of 0.2 s while the run was set up" in summary_of(finished)["error"]
    assert list(tmp_path.iterdir()) == []
