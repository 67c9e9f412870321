"""Plays mutated inputs through the command line and the API, each in a process of its own, and judges how they end."""

from __future__ import annotations

import os
import random
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import astra_ns3
from astra_ns3.cli.main import status_of
from astra_ns3.errors import AstraNs3Error
from astra_ns3.experiments.inputs import Options
from astra_ns3.experiments.validate import validate
from astra_ns3.network.api import Limits
from fuzz.models import BESIDE, NAME, model_words, odd_model
from fuzz.mutate import TOKENS, mutated
from fuzz.samples import (
    BAD_BODIES,
    BAD_FILES,
    GRAPHS,
    LOGS,
    NETWORKS,
    PARTS,
    SCENARIOS,
    SCHEDULES,
    SYSTEMS,
    TABLES,
    TRACE_WORDS,
    TRACES,
    WORKLOADS,
    odd_trace,
)

RINGS = (
    "scheduling-policy: LIFO\npreferred-dataset-splits: 1\nall-to-all-implementation: oneDirect\n"
    "all-reduce-implementation: oneRing\nall-gather-implementation: oneRing\nreduce-scatter-implementation: oneRing\n"
)
"""A system file for groups that lie anywhere."""
STATUSES = (0, 2, 3, 4, 5, 6)
LONGEST_SECONDS = 30
MOST_MEMORY = 6 * 2**30
_TRACED, _DIED = 70, 71
_FILES = {**WORKLOADS, **SYSTEMS, **NETWORKS, **SCHEDULES, **GRAPHS, **TRACES, **LOGS, **SCENARIOS, **TABLES}
_OPTIONS = (
    *("-p", "--comm-scale", "--compute-scale", "--backend", "--compat", "--num-queues-per-dim", "--injection-scale"),
    *("--scheduling-policy", "--intra-dimension-scheduling", "--inter-dimension-scheduling", "--congestion-control"),
    *("--run-name", "--seed", "--record", "--hook", "--limit-simulated-time", "--limit-memory", "--log-level"),
    *("--rendezvous-protocol", "--json", "--no-such-option", "--cores", "--set"),
)
_VALUES: tuple[object, ...] = (None, 0, -1, 1.5, True, float("nan"), 10**30, "", "x", b"x", [], {}, object(), Path())


@dataclass(frozen=True)
class Failure:
    """A case that did not end as it should; ``files`` are those that were mutated."""

    case: int
    words: str
    what: str


class Fuzzer:
    """Plays the cases of a seed in ``folder``; the same seed plays the same cases.

    ``traces``, ``models``, ``scenarios``: only those of Chakra's traces, of model files, or of scenarios.
    """

    def __init__(
        self, folder: Path, seed: int, *, traces: bool = False, models: bool = False, scenarios: bool = False
    ) -> None:
        self._folder = folder
        self._seed = seed
        self._traces = traces
        self._models = models
        self._scenarios = scenarios
        self.statuses: Counter[int] = Counter()
        self.failures: list[Failure] = []

    def play(self, cases: int, *, first: int = 0, seconds: float | None = None) -> int:
        """Play so many cases, or as many as fit in ``seconds``; how many it were."""
        end = None if seconds is None else time.monotonic() + seconds
        for case in range(first, first + cases):
            if end is not None and time.monotonic() > end:
                return case - first
            self._one(case)
        return cases

    def _one(self, case: int) -> None:
        draw = random.Random(f"{self._seed} {case}")
        place = self._folder / f"case-{case}"
        place.mkdir()
        for name, text in _FILES.items():
            (place / name).write_bytes(_content(name, text))
        (place / "mine.py").write_text(_parts(draw), encoding="utf-8")
        if self._models:
            self._end(case, place, self._model_words(place, draw), draw)
            return
        chosen = _trace_words if self._traces else _scenario_words if self._scenarios else _words
        words = chosen(draw)
        trace = {draw.choice(list(TRACES))} if set(words) & set(TRACE_WORDS) else set()
        table = set(TABLES) if "arrivals.yaml" in words else set()
        named = {word.removeprefix("file:") for word in words} & set(_FILES)
        for name in named | {draw.choice(list(GRAPHS))} | trace | table:
            if draw.random() < (0.9 if name in trace else 0.4):
                odd = name.endswith(".et") and draw.random() < 0.5
                text = odd_trace(draw) if odd else mutated(draw, _FILES[name])
                (place / name).write_bytes(_content(name, text))
        self._end(case, place, words, draw)

    def _model_words(self, place: Path, draw: random.Random) -> list[str]:
        """A command line of a model file, which is written, and its tables."""
        for name, text in BESIDE.items():
            (place / name).write_text(text, encoding="utf-8")
        (place / "rings.yaml").write_text(RINGS, encoding="utf-8")
        words = model_words(draw)
        (place / NAME).write_bytes(_content(NAME, odd_model(draw, whole=words[0] not in ("convert", "generate"))))
        return words

    def _end(self, case: int, place: Path, words: list[str], draw: random.Random) -> None:
        """Play a case whose files are written, and judge it."""
        status, error = _played(place, words, draw)
        what = _judged(place, words, status, error)
        self.statuses[status] += 1
        if what is None:
            shutil.rmtree(place)
        else:
            self.failures.append(Failure(case, " ".join(words), what))


def _content(name: str, text: str) -> bytes:
    """The bytes of a file; of a trace's each letter is one."""
    return text.encode("latin-1", "replace") if name.endswith(".et") else text.encode("utf-8", "surrogatepass")


def _parts(draw: random.Random) -> str:
    """A file of the user's: as it should be, with one function that does something else, or none at all."""
    if draw.random() < 0.5:
        return PARTS
    if draw.random() < 0.3:
        return draw.choice(BAD_FILES)
    heads = [line for line in PARTS.splitlines() if line.lstrip().startswith("def ")]
    head = draw.choice(heads)
    indent = " " * (len(head) - len(head.lstrip()) + 4)
    return PARTS.replace(head, f"{head}\n{indent}{draw.choice(BAD_BODIES)}")


def _words(draw: random.Random) -> list[str]:
    """A command line; with "api" in front a call of the API instead."""
    kind = draw.choice(
        ("validate", *["validate"] * 3, "run", "show network", "show collective", "convert", "api", "nccl", "scenario")
    )
    if kind == "nccl":
        return _nccl_words(draw)
    if kind == "scenario":
        return _scenario_words(draw)
    if kind == "convert":
        return _other_words(draw, draw.choice([*WORKLOADS, *TRACE_WORDS]))
    if kind == "show network":
        return ["show", "network", draw.choice((*NETWORKS, *GRAPHS)), "--json"]
    if kind == "show collective":
        name = draw.choice((*(f"file:{name}" for name in SCHEDULES), "mine.py:algorithm", "mine.py:topology"))
        return ["show", "collective", name, "--no-figure"]
    files = [
        "-w",
        draw.choice([*WORKLOADS, *TRACE_WORDS]),
        "-s",
        draw.choice(list(SYSTEMS)),
        "-n",
        draw.choice(list(NETWORKS)),
    ]
    if kind == "api":
        return ["api", *files]
    words = [kind, *files]
    if any("analytical" in word for word in files) and draw.random() < 0.8:
        words += ["--backend", draw.choice(("analytical", "analytical-queues"))]
    elif draw.random() < 0.4:
        words += draw.choice((["--cores", "2"], ["--cores", "auto"], ["--backend", "flow"]))
    while draw.random() < 0.3:
        words += [draw.choice(_OPTIONS), draw.choice(TOKENS).replace("\0", "")[:300]]
    if kind == "run":
        words += ["-o", "out", "--limit-wall-time", "3s"]
    return words


def _nccl_words(draw: random.Random) -> list[str]:
    """A log of nccl-tests set beside what is played, or a few sizes, on servers that may not be there."""
    servers = draw.choice(("1xdgx-h100", "2xp4de", "2xa100-slingshot", "3xgb200", "xdgx-2", "0xp5", "dgx-a100"))
    if draw.random() < 0.5:
        words = ["nccl", draw.choice(("compare", "fit")), draw.choice([*LOGS]), "--servers", servers]
    else:
        tuned = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
        operation = draw.choice((*tuned, "alltoall", "sendrecv"))
        words = ["nccl", operation, "--servers", servers, "-b", draw.choice(("1", "64K", "-1", "x")), "-e", "64K"]
    words += ["--gpus", draw.choice(("1", "2", "9"))] if draw.random() < 0.3 else []
    words += ["-n", draw.choice(list(NETWORKS))] if draw.random() < 0.2 and "fit" not in words else []
    while draw.random() < 0.5:
        key = draw.choice(
            ("NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_CTAS", "host-overhead", "server", "version", "channels")
        )
        words += ["--set", f"{key}={draw.choice(('Ring', '^Tree', '3', '-1', '2.30', 'each', draw.choice(TOKENS)))}"]
    return [word.replace("\0", "")[:300] for word in words]


def _scenario_words(draw: random.Random) -> list[str]:
    """A scenario looked at, checked or played, on its own network or on another."""
    file, network = draw.choice([*SCENARIOS]), draw.choice(("single.yaml", "leaves.yaml", "rails.yaml", *NETWORKS))
    other = ["-n", network] if file == "alone.yaml" or draw.random() < 0.2 else []
    kind = draw.choice(("show", "validate", "run"))
    if kind == "show":
        return ["show", "scenario", file, *other, *draw.choice(([], ["--json"], ["-o", "out.svg"], ["--seed", "7"]))]
    words = [kind, "--scenario", file, *other]
    if draw.random() < 0.4:
        words += ["--backend", draw.choice(("flow", "analytical", "analytical-queues"))]
    while draw.random() < 0.2:
        words += [draw.choice(_OPTIONS), draw.choice(TOKENS).replace("\0", "")[:300]]
    return [*words, *(["-o", "out", "--limit-wall-time", "3s"] if kind == "run" else [])]


def _trace_words(draw: random.Random) -> list[str]:
    """A command line with one of Chakra's traces."""
    workload = draw.choice(TRACE_WORDS)
    if draw.random() < 0.3:
        return _other_words(draw, workload)
    words = [
        draw.choice(("validate", "validate", "run")),
        "-w",
        workload,
        "-s",
        draw.choice(("system.txt", "graphs.json")),
    ]
    network = draw.choice(("analytical.yml", "single.yaml", "rails.yaml"))
    words += ["-n", network, *(["--backend", "analytical"] if network == "analytical.yml" else [])]
    words += ["--compat", "astra-sim-2"] if draw.random() < 0.4 else []
    words += ["--comm-group-configuration", "trace.groups.json"] if draw.random() < 0.2 else []
    return [*words, *(["-o", "out", "--limit-wall-time", "3s"] if words[0] == "run" else [])]


def _other_words(draw: random.Random, workload: str) -> list[str]:
    """A workload looked at, or written in another format."""
    dimensions = draw.choice(([], ["--dimensions", draw.choice(("4", "2x2", "1x4", "2x3"))]))
    if draw.random() < 0.3:
        return ["show", "workload", workload, *dimensions, *draw.choice(([], ["--json"]))]
    words = ["convert", workload, draw.choice(("out", "out", "trace", "text")), *dimensions]
    return [*words, *draw.choice(([], ["--to", draw.choice(("chakra-json", "astra-sim", "simai", "csv", "hpcc"))]))]


def _played(place: Path, words: list[str], draw: random.Random) -> tuple[int, str]:
    """Exit status, below 0 a signal's number, and what stood on standard error."""
    sys.stdout.flush()
    sys.stderr.flush()
    error = place / ".stderr"
    child = os.fork()
    if child == 0:
        _child(place, words, draw, error)
    watch = os.pidfd_open(child)
    in_time, _, _ = select.select([watch], [], [], LONGEST_SECONDS)
    os.close(watch)
    if not in_time:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), error.read_text(encoding="utf-8", errors="replace")


def _child(place: Path, words: list[str], draw: random.Random, error: Path) -> None:
    """Never returns."""
    status = _DIED
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        os.chdir(place)
        for number, path in ((1, ".stdout"), (2, error.name)):
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(file, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        status = _called(words, draw) if words[0] == "api" else status_of(words)
        sys.stderr.flush()
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
        status = _TRACED
    finally:
        os._exit(status)


def _called(words: list[str], draw: random.Random) -> int:
    """A call of the API with an argument or two of a wrong kind; its error's exit status."""
    files: dict[str, Any] = dict(zip(("workload", "system", "network"), words[2::2], strict=True))
    try:
        if draw.random() < 0.5:
            wrong: dict[str, Any] = {draw.choice([*Options.__dataclass_fields__]): draw.choice(_VALUES) for _ in "12"}
            changed_file = {draw.choice([*files]): draw.choice(_VALUES)} if draw.random() < 0.3 else {}
            validate(**{**files, **changed_file}, options=Options(**wrong))
        else:
            names = [name for name in astra_ns3.run.__annotations__ if name not in ("return", "isolated", "progress")]
            changed: dict[str, Any] = {draw.choice(names): draw.choice(_VALUES) for _ in range(draw.randint(1, 2))}
            limits = Limits(wall_seconds=3)
            given: dict[str, Any] = {**files, "limits": limits, "backend": "analytical", "isolated": True, **changed}
            astra_ns3.run(**given)
    except AstraNs3Error as error:
        os.write(2, f"astra-ns3: error: {error}\n".encode("utf-8", "replace"))
        return error.exit_status
    return 0


def _judged(place: Path, words: list[str], status: int, error: str) -> str | None:
    """What is wrong with how a case ended; None: nothing."""
    if status == -signal.SIGKILL:
        return f"nothing within {LONGEST_SECONDS} s"
    if "Traceback" in error or status not in STATUSES:
        return f"status {status}: {error[-1500:]}"
    lines = [line for line in error.splitlines() if line.startswith("astra-ns3: error: ")]
    if len(lines) != (0 if status == 0 else 1) and status != 5:  # ns-3 may have said something of its own
        return f"status {status} with {len(lines)} lines of errors: {error[-1500:]}"
    if status == 2 and words[0] != "api" and any(place.glob("out*")):
        return f"status 2, and something was written: {error[-500:]}"
    if status == 5 and "mistake of astra-ns3" in error:
        return error[-500:]
    return None
