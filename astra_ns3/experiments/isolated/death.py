"""Says in one line what a run's process died of, and what is known of where."""

from __future__ import annotations

import os
import signal
from itertools import chain

from astra_ns3.experiments.isolated.snapshot import Accumulated
from astra_ns3.experiments.progress import Progress
from astra_ns3.frozen import dataclass
from astra_ns3.units import format_bytes, format_time

NS3_FAILED_STATUS = 5
"""Exit status of a process that ns-3 ends, as the native half has it."""
_MOST_LETTERS = 400
_SAYING_NOTHING = (
    "NS_FATAL, terminating",
    "terminate called",
    "astra-ns3: error: ns-3 ended the process",
    # of Python's faulthandler, if the caller has it switched on
    "Fatal Python error",
    "Current thread",
    "Thread 0x",
    "File ",
    "Extension modules",
)


@dataclass(frozen=True)
class Whereabouts:
    """The facts that the parent knows of a child. ``stage``: of the set-up (None: it had begun); ``over``: it had ended
    too."""

    stage: str | None
    over: bool
    time_ps: int
    progress: Progress | None
    resident_bytes: int
    known: Accumulated


# What to say of messages of ns-3's that tell its users nothing of ours.
_HINTS = {
    "missing the required protocol": "hosts have TCP, UDP and ICMP only where the network file has transport tcp, and "
    "a hook asked for a socket of ns-3's",
}


def describe_death(status: int | None, words: str, where: Whereabouts) -> str:
    """``status``: of ``waitpid`` (None: it went elsewhere); ``words``: the end of what it wrote to standard error."""
    parts = [f"{_cause(status, where)} {_place(where)}"]
    last_words = _last_words(words)
    if last_words:
        parts.append(last_words)
    parts += [hint for known, hint in _HINTS.items() if known in words]
    return ": ".join(parts)


def _cause(status: int | None, where: Whereabouts) -> str:
    if status is None:
        return "the simulation's process ended, nobody knows of what (SIGCHLD is ignored here, or handled)"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
        if number == signal.SIGKILL:
            held = format_bytes(where.resident_bytes)
            return f"the simulation's process was killed ({name}; perhaps memory ran out: it held {held})"
        return f"the simulation's process crashed ({name})"
    code = os.WEXITSTATUS(status)
    if code == NS3_FAILED_STATUS:
        return "ns-3 ended the process"
    return f"something called exit in the simulation's process (status {code})"


def _place(where: Whereabouts) -> str:
    if where.stage is not None:
        return f"while the run was set up ({where.stage})"
    if where.over:
        return "after the run's end, in the function that the hook had returned"
    place = f"at {format_time(where.time_ps)}"
    if where.progress is not None:
        progress = where.progress
        place += f", in pass {min(progress.passes_done + 1, progress.passes)} of {progress.passes}"
    if where.known.last is not None:
        records = where.known.records()
        collectives = chain.from_iterable(tenant.collectives for tenant in records)
        open_layers = dict.fromkeys(record.layer for record in collectives if record.end_ps is None)
        npus = [npu for tenant in records for npu in tenant.npus]
        place += f", {sum(npu.done for npu in npus)} of {len(npus)} NPUs done"
        if open_layers:
            shown = ", ".join(list(open_layers)[:3])
            place += f", with collectives of {shown}{', ...' if len(open_layers) > 3 else ''} under way"
    return place


def _last_words(words: str) -> str:
    """The last lines that say something, in one."""
    lines = [" ".join(line.split()) for line in words.splitlines()]
    saying = [line for line in lines if line and not line.startswith(_SAYING_NOTHING)]
    return " ".join(saying[-2:])[:_MOST_LETTERS]
