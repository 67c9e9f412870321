"""The request of a run, checked before anything is read or built."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from astra_ns3.errors import nearest, refuse, whole_number, wrong
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.option import INPUTS, LIMITS, OUTPUT, RECORDS, SEEDS, Flag, needed, option
from astra_ns3.experiments.options import Options
from astra_ns3.frozen import dataclass, field
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.limits import Limits
from astra_ns3.scenario.tenant import LARGEST_SEED, FilePath, Tenant
from astra_ns3.units import PS_PER_SECOND, parse_bytes, parse_time_ps
from astra_ns3.user_code import UserFunction

if TYPE_CHECKING:  # help and Tab do without them
    from astra_ns3.config.core.plain import JsonObject
    from astra_ns3.config.network.file import AnyNetwork
    from astra_ns3.config.system import SystemConfig
    from astra_ns3.experiments.progress import ProgressSink
    from astra_ns3.scenario.course import Course
    from astra_ns3.workload.files.workload_formats import AnyWorkload

RECORDED = ("flows", "accounts", "layers", "timeline", "nodes")
_TEXTS = (".yaml", ".yml", ".json", ".txt")
_WORKLOADS = (*_TEXTS, ".csv", ".cm", ".tm", ".et")
RECORDABLE = (*RECORDED, "all")
NETWORK_FLAG = Flag("-n --network --network-configuration", metavar="FILE", endings=_TEXTS, help="Network.")
_LONGEST_NAME = 100
_ALL_CORES = "auto"
_MOST_CORES = 1024
_LONGEST_ENDING = "_dimension_utilization.csv"
# File systems take 255; some bytes are for the names that files have while they are put in place.
_LONGEST_FILE_NAME_BYTES = 240


def _limits(simulated_ps: int | None, wall_ps: int | None, memory_bytes: int | None) -> Limits:
    """The limits that the command line's words give."""
    return Limits(simulated_ps, None if wall_ps is None else wall_ps / PS_PER_SECOND, memory_bytes)


def _cores(given: object) -> int:
    """Return how many cores ``given`` means; raises InputError if it is neither ``auto`` nor a number of cores."""
    if given == _ALL_CORES:
        return len(os.sched_getaffinity(0))
    number = int(given) if isinstance(given, str) and given.isdecimal() else given
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= _MOST_CORES:
        raise wrong(f"cores is {given!r}, expected a whole number from 1 to {_MOST_CORES}, or {_ALL_CORES}")
    return number


def _names(given: Iterable[str]) -> tuple[str, ...]:
    """Return the names of tables that the command line gives, one or several with commas each time."""
    return tuple(name.strip() for words in given for name in words.split(","))


@dataclass(frozen=True, kw_only=True)
class RunRequest(Options):
    """Everything about one run. A field is an option of :func:`astra_ns3.run`, and of the command line if it has flags.

    ``record`` is a tuple once the request is made; raises InputError if it has no names.
    """

    workload: FilePath | AnyWorkload = field(
        metadata=needed(
            "path of a workload file, or a Workload.",
            Flag("-w --workload --workload-configuration", metavar="FILE", endings=_WORKLOADS, help="Workload."),
            group=INPUTS,
        )
    )
    system: FilePath | SystemConfig = field(
        metadata=needed(
            "path of a system file, or a SystemConfig.",
            Flag("-s --system --system-configuration", metavar="FILE", endings=_TEXTS, help="System."),
            group=INPUTS,
        )
    )
    network: FilePath | AnyNetwork = field(
        metadata=needed(
            "path of a network file, or a NetworkConfig, or an AnalyticalNetwork.", NETWORK_FLAG, group=INPUTS
        )
    )
    output: FilePath | None = option(
        None,
        "folder for the results; None writes none.",
        Flag("-o --output --path", metavar="DIR", folder=True, help="Folder for the results; none: a table is shown."),
        group=OUTPUT,
    )
    overwrite: bool = option(
        False,
        "replace the run that ``output`` holds; other files there stay.",
        Flag("--overwrite", help="Replace the run that the folder holds."),
        group=OUTPUT,
    )
    run_name: str = option(
        "run",
        "name of the run in its tables and in one file's name. Without it summaries have the workload's name.",
        Flag("--run-name", help="Name of the run in its files."),
        group=OUTPUT,
    )
    seed: int = option(
        1,
        "seed of all random numbers, 1 to 2**32 - 1. The same files and seed give the same results.",
        Flag("--seed", help=f"Seed of all random numbers, 1 to {LARGEST_SEED}."),
        group=SEEDS,
    )
    record: Iterable[str] = option(
        (),
        'further tables: "flows", a row per message; "accounts", where the time of each went; "layers", the layers of '
        'every role; "timeline", what every NPU does and when; "nodes", those of a workload of graphs; "all" of these '
        "that there are.",
        Flag(
            "--record",
            metavar="TABLES",
            suggested=RECORDABLE,
            listed=True,
            help="Also write tables, one or several with commas: "
            "of messages (flows.parquet), of where their time went (accounts.parquet, "
            "account_hops.parquet), of every role's layers (layers.parquet), of what every NPU does (timeline: "
            "operations.parquet, phases.parquet), of every node of graphs (nodes.parquet); or all. Needs --output.",
        ),
        made=_names,
        group=RECORDS,
    )
    on_built: UserFunction | None = option(
        None,
        "called with what the backend built, before the first event.",
        Flag(
            "--hook",
            metavar="FILE.py:name",
            endings=(".py",),
            help="Function called with a context before the first event; FILE.py: on_built.",
        ),
        made=HookFile,
        group=RECORDS,
    )
    cores: int | str = option(
        1,
        'threads that play switches and hosts of a packet-level network, or "auto": as many as this process may use. '
        "The results are the same.",
        Flag(
            "--cores",
            metavar="N|auto",
            quantity=_cores,
            suggested=("1", "2", "4", _ALL_CORES),
            help="Cores that play the network, or auto: all there are. The results are the same.",
        ),
        group=LIMITS,
    )
    limits: Limits | None = option(
        None,
        "when to give up; what is done by then is saved.",
        Flag("--limit-simulated-time", quantity=parse_time_ps, metavar="TIME", help="Stop there, e.g. 10ms."),
        Flag("--limit-wall-time", quantity=parse_time_ps, metavar="TIME", help="Stop after so long, e.g. 60s."),
        Flag("--limit-memory", quantity=parse_bytes, metavar="SIZE", help="Stop when so much is resident, e.g. 4GiB."),
        made=_limits,
        group=LIMITS,
    )
    live: bool = option(
        False,
        "tell ``progress`` of the longest queue and of the oldest collective, too.",
        Flag("--live", help="On a terminal, show the longest queue and the oldest collective, too."),
    )
    progress: ProgressSink | None = option(None, "is told about ten times a second how far the run is.")
    isolated: bool | None = option(
        None,
        "play the run in a child process; None: unless ``on_built`` is a function or ``backend`` an object, which live "
        "here. Whatever it dies of is a BackendError here, and what it had done is saved; "
        "limits and Ctrl-C also end a set-up or a callback that takes long. Hooks, policies, congestion controls and a "
        "backend given as an object then live in the child: what they gather comes back only as what the function "
        "returns that ``on_built`` returned, if it is JSON (:attr:`Result.hook`).",
    )

    def __post_init__(self) -> None:
        if isinstance(self.record, str):
            names: tuple[str, ...] = (self.record,)
        elif isinstance(self.record, Iterable):
            names = tuple(self.record)
        else:
            raise wrong(f"record is {self.record!r}, expected names of tables: {', '.join(RECORDABLE)}")
        if "all" in names:
            accounts = abilities_of(self.backend).accounts
            every = [name for name in RECORDED if accounts or name != "accounts"]
            names = tuple(dict.fromkeys((*every, *(name for name in names if name != "all"))))
        object.__setattr__(self, "record", names)

    @property
    def scenario_source(self) -> str | None:
        """The scenario's file; None: the run has none."""
        return None

    @property
    def scenario_keys(self) -> JsonObject | None:
        """Return the keys of the scenario's file that aren't at their defaults; None: the run has no such file."""
        return None

    @property
    def scenario_files(self) -> tuple[str, ...]:
        """The scenario's file and its table, as far as there are any."""
        return ()

    @property
    def course(self) -> Course:
        """Return the events, failures and recovery of the network during the run."""
        from astra_ns3.scenario.course import NOTHING

        return NOTHING

    @property
    def parts(self) -> tuple[tuple[Tenant | None, RunRequest], ...]:
        """Who plays on the network, each with a request of its own; None: a run's only one, on all NPUs."""
        return ((None, self),)

    @property
    def in_a_child(self) -> bool:
        """Whether the run is played in a child process: as asked, or unless something of the user's lives here."""
        if self.isolated is not None:
            return self.isolated
        return isinstance(self.backend, str) and (self.on_built is None or isinstance(self.on_built, HookFile))

    @property
    def output_path(self) -> Path | None:
        """The output folder, if one was named."""
        return None if self.output is None else Path(self.output)

    @property
    def threads(self) -> int:
        """How many threads may play."""
        return _cores(self.cores)

    @property
    def end(self) -> Limits:
        """When to give up, none given: never."""
        return Limits() if self.limits is None else self.limits

    def check(self) -> None:
        """Raise InputError for the first argument that is out of range."""
        from astra_ns3.config.core.model import shown
        from astra_ns3.network.backend_makers import takes

        super().check()
        whole_number("seed", self.seed, 1, LARGEST_SEED)
        _cores(self.cores)
        refuse(not isinstance(self.end, Limits), f"limits is {self.limits!r}, expected a Limits")
        if self.on_built is not None and not callable(self.on_built):
            raise wrong(f"on_built is {self.on_built!r}, expected a function")
        if self.on_built is not None and isinstance(self.backend, str) and not takes(self.on_built, 1):
            raise wrong(f"on_built is {shown(self.on_built)}, which can't be called with one argument, the context")
        for call in ("update", "finish") if self.progress is not None else ():
            if not callable(getattr(self.progress, call, None)):
                raise wrong(f"progress is {shown(self.progress)}, which is no ProgressSink: it has no {call}")
        for what in self.record:
            if not isinstance(what, str) or what not in RECORDABLE:
                raise wrong(f"record '{what}' is not one of {', '.join(RECORDABLE)}{nearest(str(what), RECORDABLE)}")
        _check_output(self.output)
        check_run_name(self.run_name)
        _check_limits(self.end)


def _check_output(output: object) -> None:
    named = os.fspath(output) if isinstance(output, (str, os.PathLike)) else ""
    refuse(
        output is not None and (not isinstance(named, str) or not named or "\0" in named),
        f"output is {output!r}, expected the path of a folder",
    )


def check_run_name(name: str) -> None:
    """It becomes part of a file's name and a cell of a table."""
    if isinstance(name, str) and len(os.fsencode(f"{name}{_LONGEST_ENDING}")) > _LONGEST_FILE_NAME_BYTES:
        most = _LONGEST_FILE_NAME_BYTES - len(_LONGEST_ENDING)
        raise wrong(f"run name {name!r} has {len(os.fsencode(name))} bytes, more than {most}: it names a file")
    plain = isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable()
    refuse(
        not plain or "/" in name or name.startswith("."),
        f"run name {name!r} is not 1 to {_LONGEST_NAME} printable characters without '/' and without '.' in front",
    )


def _check_limits(limits: Limits) -> None:
    for name, limit in (
        ("simulated time", limits.simulated_ps),
        ("wall time", limits.wall_seconds),
        ("memory", limits.memory_bytes),
    ):
        refuse(
            isinstance(limit, bool) or not isinstance(limit, (int, float, type(None))),
            f"the limit on {name} is {limit!r}, expected a number",
        )
        refuse(limit is not None and not limit > 0, f"the limit on {name} is {limit}, expected more than 0")
