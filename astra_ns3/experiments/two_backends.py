"""One case on two backends, a process each: how far the first is off from the second, and what either costs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIGTERM
from typing import TYPE_CHECKING

from astra_ns3.errors import BackendError, check_known, refuse, wrong
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.scenario_result import ScenarioResult, result_in
from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import ABILITIES
from astra_ns3.python_command import python_command
from astra_ns3.units import PS_PER_US

if TYPE_CHECKING:
    import pandas as pd

_MESSAGE = ["job", "source", "destination", "bytes", "collective", "chunk", "phase", "row"]
_TWO, _INPUT = 2, 2
_NAMES = {"ns3": "packets"}
_REMEDY = "; packets play each of NCCL's channels by itself, and so does '--set system.nccl.channels=each' everywhere"


@dataclass(frozen=True)
class _Played:
    result: Result
    messages: pd.DataFrame
    cpu_seconds: float


def play_on_both(words: Sequence[str], backends: Sequence[str], case: str) -> dict[str, str | float]:
    """Return a row that compares two backends, by the names of its columns.

    ``words``: options of ``run`` with their values. ``backends``: the one that is looked at, and the one that is right.
    Times are in ps. ``median``, ``p99``, ``largest``: sizes of the relative errors of the messages' times. ``losses``:
    packets that the one that is right lost, or else the other, or sent again if these are more ("-": no packets).
    Raises InputError and BackendError with what a run said.
    """
    known = ", ".join(ABILITIES)
    for backend in backends:
        check_known("--backends: backend", backend, ABILITIES)
    refuse(
        len(set(backends)) != _TWO or len(backends) != _TWO,
        f"--backends: found {','.join(backends)!r}, expected two of {known}, as flow,ns3",
    )
    with tempfile.TemporaryDirectory() as folder:
        looked_at, right = (_play(words, backend, Path(folder)) for backend in backends)
    nccl = any(each.metadata["system"].get("collectives") == "nccl" for each in _jobs(looked_at.result).values())
    errors = _errors(looked_at.messages, right.messages, _REMEDY if nccl else "")
    finish_ps, right_finish_ps = looked_at.result.finish_ps, right.result.finish_ps
    of_packets = [
        each for each, name in zip((right, looked_at), backends[::-1], strict=True) if ABILITIES[name].packets
    ]
    name, right_name = (_NAMES.get(backend, backend) for backend in backends)
    return {
        "case": case,
        f"{right_name} finish": right_finish_ps,
        f"{name} finish": finish_ps,
        "error": finish_ps / right_finish_ps - 1,
        "median": float(errors.median()),
        "p99": float(errors.quantile(0.99)),
        "largest": float(errors.max()),
        f"CPU {right_name}": right.cpu_seconds,
        f"CPU {name}": looked_at.cpu_seconds,
        "ratio": right.cpu_seconds / looked_at.cpu_seconds,
        "losses": lost_packets(of_packets[0].result.metadata["statistics"]) if of_packets else "-",
    }


def lost_packets(statistics: Mapping[str, int | float]) -> int | float:
    """Return how many packets were lost, or how many sent again: what is lost is sent again, often with others."""
    lost = (statistics.get("dropped_frames") or 0) + (statistics.get("lost_frames") or 0)
    return max(lost, statistics.get("retransmissions") or 0)


def row_text(row: Mapping[str, str | float]) -> str:
    """Return a row as a line of a table in Markdown."""
    formats = {"error": "+.2%", "median": ".1%", "p99": ".1%", "largest": ".1%", "losses": ".0f"}
    times = {
        name: f"{v / PS_PER_US:.1f} us" for name, v in row.items() if name.endswith("finish") and not isinstance(v, str)
    }
    cells = (v if isinstance(v, str) else format(v, formats.get(name, ".1f")) for name, v in {**row, **times}.items())
    return f"| {' | '.join(cells)} |"


def heading_text(row: Mapping[str, str | float]) -> str:
    """Return the two lines above such rows."""
    return f"| {' | '.join(row)} |\n|{'---|' * len(row)}"


def _play(options: Sequence[str], backend: str, folder: Path) -> _Played:
    output, log = folder / backend, folder / f"{backend}.log"
    words = [*options, f"--backend={backend}", "--record=flows", f"--output={output}", "--quiet"]
    flags = os.O_CREAT | os.O_WRONLY
    out, err = os.open(folder / f"{backend}.out", flags), os.open(log, flags)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, err, 2)]
        command = python_command("from astra_ns3.cli.entry import main; main()", "run", *words)
        child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        try:
            _, status, usage = os.wait4(child, 0)
        except BaseException:
            os.kill(child, SIGTERM)
            os.waitpid(child, 0)  # it writes into the folder
            raise
    finally:
        os.close(out)
        os.close(err)
    if status:
        said = log.read_text(encoding="utf-8").strip().splitlines() or ["it failed"]
        words_said = f"with the backend {backend}: {said[-1].removeprefix('astra-ns3: error: ')}"
        raise (wrong(words_said) if os.waitstatus_to_exitcode(status) == _INPUT else BackendError(words_said))
    import pandas as pd

    result = result_in(output)
    messages = pd.concat([each.flows.assign(job=name) for name, each in _jobs(result).items()], ignore_index=True)
    return _Played(result, messages, usage.ru_utime + usage.ru_stime)


def _jobs(result: Result) -> Mapping[str, Result]:
    """Return what is compared: the run, or a scenario's jobs; other traffic ends with these, wherever it is then."""
    if not isinstance(result, ScenarioResult):
        return {"": result}
    found = {name: each for name, each in result.tenants.items() if not each.metadata["job"].get("traffic")}
    return found or result.tenants


def _errors(looked_at: pd.DataFrame, right: pd.DataFrame, remedy: str) -> pd.Series[float]:
    """Return the sizes of the relative errors of the messages' times; ``remedy``: where they aren't the same."""
    # Collectives are counted in the order in which they begin, which may differ.
    for key in (_MESSAGE, [name for name in _MESSAGE if name != "collective"]):
        one, other = (each.sort_values([*key, "start_ps"], ignore_index=True) for each in (looked_at, right))
        alike = len(one) == len(other) > 0 and one[key].equals(other[key])
        if alike:
            break
    expected = "expected the same, at least one, on both backends"
    refuse(not alike, f"{len(one):,} messages and {len(other):,}, {expected}{remedy}")
    times = (each["end_ps"] - each["start_ps"] for each in (one, other))
    looked_at_ps, right_ps = times
    return (looked_at_ps / right_ps - 1).abs()
