"""Plays each case in a forked child of a process that has loaded everything: a crash or a hang is an outcome."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from typing import IO, Any

from soak.case import REPOSITORY, Case
from soak.play import Outcome, outcome_document, outcome_of, play

CRASHED, TIME_OUT, BROKEN = "crashed", "time-out", "broken"
MOST_MEMORY_BYTES = 8 << 30
_LAST_LINES = 6
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
_OWN = REPOSITORY / "inputs" / "congestion-control"
_LINK = {"rate": "100Gbps", "delay": "500ns"}


def warm_up() -> None:
    """Load ns-3, its headers and the users' controls, and play a moment of RoCE and of TCP."""
    for name in ("pyarrow.parquet", "pandas"):  # what records are written with
        importlib.import_module(name)
    transports: list[dict[str, Any]] = [
        {"kind": "roce"},
        {"kind": "tcp"},
        {
            "kind": "roce",
            "congestion_control": {"kind": f"{_OWN.relative_to(REPOSITORY)}/additive.hpp:AdditiveControl"},
        },
        {"kind": "roce", "congestion_control": {"kind": f"{_OWN.relative_to(REPOSITORY)}/additive.py:AdditiveControl"}},
    ]
    topology = {"npus": 2, "link": _LINK, "switch": {"buffer": "1MB", "pfc": {}}}
    for transport in transports:
        network = {"topology": topology, "transport": transport}
        outcome = play(Case("warm-up", network, {"kind": "flows", "flows": [[0, 1, 1000, 0]]}, look=True))
        if outcome.end != "finished" or outcome.problems:
            raise RuntimeError(f"the warm-up ended with {outcome}")


def play_in_child(case: Case) -> Outcome:
    """Play a case in a child of this process; every way to end is an outcome."""
    begin = time.perf_counter()
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as complaints:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            _be_child(case, writer, complaints)
        os.close(writer)
        try:
            answer, ended = _read_until(reader, begin + case.budget_seconds)
        finally:
            os.close(reader)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)  # it has answered, is late, or is no more
            _, status = os.waitpid(pid, 0)
        seconds = time.perf_counter() - begin
        if ended and answer:
            return outcome_of(json.loads(answer))
        complaints.seek(0)
        last = complaints.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
    if not ended:
        return Outcome(TIME_OUT, f"after {seconds:.0f} s", ("it took too long",), seconds=seconds)
    why = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {os.WEXITSTATUS(status)}"
    return Outcome(CRASHED, f"{why}: {' | '.join(last)}", ("the process ended",), seconds=seconds)


def _read_until(reader: int, deadline: float) -> tuple[bytes, bool]:
    """What a child writes, and whether it closed its end in time."""
    answer = b""
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.perf_counter()))
        if not ready:
            return answer, False
        more = os.read(reader, 1 << 16)
        if not more:
            return answer, True
        answer += more


def _be_child(case: Case, writer: int, complaints: IO[bytes]) -> None:
    """Play, answer, and end without anything that belongs to the parent's end."""
    try:
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(complaints.fileno(), 2)
        try:
            outcome = play(case)
        except BaseException:
            outcome = Outcome(BROKEN, traceback.format_exc().strip().splitlines()[-1], (traceback.format_exc(),))
        data = json.dumps(outcome_document(outcome)).encode()
        while data:
            data = data[os.write(writer, data) :]
        os._exit(0)
    finally:
        os._exit(70)
