"""Ctrl-C and a kill, sent to a real process; the backend is a fake that never ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.small_run import write_inputs
from support.usual_signals import usual_signals

TIMEOUT_SECONDS = 60

PROGRAM = """
import sys, time
sys.path[:0] = {paths!r}
from support.fake_backend import FakeBackend
from support.small_run import NPUS
from astra_ns3.network import backend_makers

class Endless(FakeBackend):
    def run(self, listener, limits):
        for beat in range(1_000_000):
            if beat == 3:
                print("running", file=sys.stderr, flush=True)
            time.sleep(0.02)
            listener.heartbeat(self.now_ps(), beat)

backend_makers.BACKENDS = {{"endless": lambda *_: Endless(NPUS)}}
from astra_ns3.cli.main import main
main()
"""


@pytest.fixture
def running(tmp_path: Path, repository: Path) -> subprocess.Popen[str]:
    """A run that goes on until it is stopped, into the folder ``out``."""
    files = write_inputs(tmp_path)
    program = PROGRAM.format(paths=[str(repository / "tests")])
    words = ["run", "-w", files["workload"], "-s", files["system"], "-n", files["network"], "--json"]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words, "--backend", "endless", "-o", str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=usual_signals,
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "running\n"
    return process


def test_ctrl_c_saves_what_is_done_and_exits_with_130(running: subprocess.Popen[str], tmp_path: Path) -> None:
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=TIMEOUT_SECONDS)
    assert running.returncode == 130
    assert "Traceback" not in err
    assert json.loads(out)["exit_status"] == 130
    document = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (document["complete"], document["stopped"]["kind"]) == (False, "Interrupted")


def test_a_killed_run_leaves_nothing_under_a_final_name(running: subprocess.Popen[str], tmp_path: Path) -> None:
    running.kill()
    running.communicate(timeout=TIMEOUT_SECONDS)
    assert not (tmp_path / "out").exists()
