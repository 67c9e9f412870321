"""Plays a case in this process and says how it ended."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from support.accounts import problems_of, read_accounts

from astra_ns3.collectives.lookup import lookup
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.errors import AstraNs3Error, BackendError, InputError, SimulationStalled
from astra_ns3.experiments.run import execute
from astra_ns3.network.api import EndpointModel, Limits
from astra_ns3.network.backend_makers import create_backend
from astra_ns3.network.plan import plan_network
from astra_ns3.network.recorded import ACCOUNTS
from astra_ns3.network.records import RecorderOptions
from soak.auditor import Auditor
from soak.case import CONFIG_FILE, Case, network_of, write_files
from soak.explained import problems_of_explanation
from soak.requests import request_of
from soak.scenarios import KIND as SCENARIO
from soak.scenarios import play_scenario

LOOKS = 25
FINISHED, DEADLOCK, GAVE_UP, REFUSED, STALLED, FAILED = (
    "finished",
    "deadlock named",
    "gave up",
    "refused",
    "stalled",
    "failed",
)
UNCHANGED = ("finish_ps", "messages", "packets", "retransmissions", "timeouts", "dropped_frames", "lost_frames",
             "marked_frames", "pauses", "nacks", "cnps", "queue_pairs", "out_of_order_packets")  # fmt: skip
"""What onlookers must not change."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended. ``problems``: what the audit found, or what else is wrong, each one line."""

    end: str
    message: str = ""
    problems: tuple[str, ...] = ()
    numbers: Mapping[str, int] | None = None
    pauses: int = 0
    lost: int = 0
    dropped: int = 0
    drain_ps: int = 0
    seconds: float = 0.0

    @property
    def paused(self) -> bool:
        """Whether any port was ever stopped."""
        return self.pauses > 0


def play(case: Case) -> Outcome:
    """Play a case; if it says so, records anything or has many cores, again: unlike onlookers, no record, one core."""
    begin = time.perf_counter()
    outcome = _played(case, Auditor())
    if (case.look or case.record or case.cores > 1) and outcome.numbers is not None:
        finish_ps = outcome.numbers["finish_ps"]
        looks = [random.Random(case.seed).randrange(finish_ps + 1) for _ in range(LOOKS)]
        again = _played(
            replace(case, record=(), network=_unobserved(case.network), cores=1),
            Auditor(looks_ps=looks if case.look or case.record else ()),
        )
        outcome = replace(outcome, problems=(*outcome.problems, *_differences(outcome, again)))
    return replace(outcome, seconds=time.perf_counter() - begin)


def _unobserved(network: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in network.items() if key != "observe"}


def _differences(first: Outcome, again: Outcome) -> list[str]:
    if first.end != again.end or first.numbers is None or again.numbers is None:
        ends = f"{first.end} and {again.end} ({first.message} / {again.message})"
        return [f"with onlookers or on one core it ends otherwise: {ends}"]
    return [
        f"onlookers or cores change {name}: {first.numbers.get(name)} and {again.numbers.get(name)}"
        for name in UNCHANGED
        if first.numbers.get(name) != again.numbers.get(name)
    ]


def _played(case: Case, auditor: Auditor) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="astra-ns3-soak-") as name:
        folder = Path(name)
        write_files(case, folder)
        job: Callable[[Case, Path, Auditor], dict[str, int]] = _JOBS[case.job["kind"]]
        try:
            numbers = job(case, folder, auditor)
            end, message = FINISHED, ""
        except InputError as error:
            numbers, end, message = None, REFUSED, str(error)
        except AstraNs3Error as error:
            numbers, end, message = None, _end_of(error), str(error)
        unrest = auditor.unrest if end != GAVE_UP else []
        problems = [*auditor.problems, *unrest, *_problems_of_accounts(case, folder / "out")]
    if not auditor.audited and end != REFUSED:
        problems.append("the run was not audited")
    return Outcome(
        end, message, tuple(problems), numbers, auditor.pauses, auditor.lost, auditor.dropped, auditor.drain_ps
    )


def _problems_of_accounts(case: Case, folder: Path) -> list[str]:
    if "accounts" not in case.record or not (folder / ACCOUNTS.file).exists():
        return []
    return problems_of(*read_accounts(folder))


def _end_of(error: AstraNs3Error) -> str:
    text = str(error)
    if isinstance(error, SimulationStalled):
        return STALLED
    if isinstance(error, BackendError) and " deadlock" in text:
        return DEADLOCK
    return GAVE_UP if isinstance(error, BackendError) and "gave up" in text else FAILED


def _numbers(finish_ps: int, statistics: Mapping[str, Any]) -> dict[str, int]:
    found = {name: value for name, value in statistics.items() if isinstance(value, int)}
    return {"finish_ps": finish_ps, "packets": 0, **found}


def _play_run(case: Case, folder: Path, auditor: Auditor) -> dict[str, int]:
    request = request_of(case, folder)
    network = request.network
    observed = case.record or (isinstance(network, NetworkConfig) and network.observe.anything)
    request = replace(
        request, output=folder / "out" if observed else None, record=tuple(case.record), on_built=auditor.on_built
    )
    # The auditor's hook is called while the run is closed down, before its error comes out of it.
    with _told_of_errors(auditor):
        outcome = execute(request)
    if outcome.error is not None:
        raise outcome.error
    floor = outcome.result.metadata["floor"]
    if floor is not None and outcome.result.finish_ps < floor["time_ps"]:
        auditor.problems.append(f"finished after {outcome.result.finish_ps} ps, below the floor: {floor}")
    if "timeline" in case.record:
        auditor.problems += problems_of_explanation(outcome.result)
    return _numbers(outcome.result.finish_ps, outcome.result.metadata["statistics"])


class _told_of_errors:  # noqa: N801, a context manager
    """Let the auditor know what a backend's run raises, as soon as it does."""

    def __init__(self, auditor: Auditor) -> None:
        from astra_ns3.network.door.session_backend import SessionBackend

        self._kind: Any = SessionBackend
        self._auditor = auditor

    def __enter__(self) -> None:
        self._run = self._kind.run

        def told(backend: Any, listener: Any, limits: Limits) -> None:
            try:
                self._run(backend, listener, limits)
            except AstraNs3Error as error:
                self._auditor.error = str(error)
                raise

        self._kind.run = told

    def __exit__(self, *_: object) -> None:
        self._kind.run = self._run


class _Count:
    """A listener that stops the backend when all ranks have finished all that was launched."""

    def __init__(self, backend: Any, left: int) -> None:
        self._backend = backend
        self.left = left

    def phase_done(self, rank: int, instance: int, time_ps: int) -> None:
        self.left -= 1
        if not self.left:
            self._backend.stop()

    def heartbeat(self, time_ps: int, events: int) -> None: ...


Launches = list[tuple[int, Schedule, tuple[int, ...], int, int]]
"""Start (ps), schedule, its NPUs, instance, bytes."""


def _play_collectives(case: Case, folder: Path, auditor: Auditor) -> dict[str, int]:
    job = case.job

    def launches(npus: int) -> Launches:
        schedule = lookup(CollectiveKind[job["collective"]], job["algorithm"], npus)
        return [
            (number * job["gap_ps"], schedule, tuple(range(npus)), number, job["bytes"])
            for number in range(job["times"])
        ]

    return _play_launches(case, folder, auditor, launches)


def _play_flows(case: Case, folder: Path, auditor: Auditor) -> dict[str, int]:
    if case.job.get("written"):
        return _play_run(case, folder, auditor)
    flows = case.job["flows"]

    def launches(_: int) -> Launches:
        schedule = lookup(CollectiveKind.POINT_TO_POINT, "direct", 2)
        return [
            (start_ps, schedule, (sender, receiver), number, size)
            for number, (sender, receiver, size, start_ps) in enumerate(flows)
        ]

    return _play_launches(case, folder, auditor, launches)


def _play_launches(case: Case, folder: Path, auditor: Auditor, launches: Callable[[int], Launches]) -> dict[str, int]:
    network = network_of(case, folder)
    config: Any = network if isinstance(network, NetworkConfig) else read_network_file(folder / CONFIG_FILE).network
    (folder / "out").mkdir(exist_ok=True)
    endpoint = EndpointModel(delay_ps=case.job.get("endpoint_ps", 0))
    recorder = RecorderOptions(folder / "out", flows="flows" in case.record, accounts="accounts" in case.record)
    backend: Any = create_backend(
        "ns3",
        plan_network(config, endpoint),
        seed=case.seed,
        recorder=recorder,
        on_built=auditor.on_built,
        cores=case.cores,
    )
    try:
        planned = launches(backend.npus)
        count = _Count(backend, sum(len(members) for _, _, members, _, _ in planned))
        for start_ps, schedule, members, instance, size in planned:
            known, group = backend.register_schedule(schedule), backend.register_group(members)
            for npu in members:
                launch = partial(backend.launch, npu, known, group, instance, size)
                backend.call_later(npu, start_ps, lambda _, launch=launch: launch())
        with _told_of_errors(auditor):
            backend.run(count, Limits())
        if count.left:
            auditor.error = f"{count.left} parts of phases were never finished"
            raise SimulationStalled(auditor.error)
        return _numbers(backend.now_ps(), backend.statistics())
    finally:
        backend.close()


def _play_scenario(case: Case, folder: Path, auditor: Auditor) -> dict[str, int]:
    auditor.changes = True
    with _told_of_errors(auditor):
        return _numbers(*play_scenario(case, folder, auditor))


_JOBS = {
    "workload": _play_run,
    "collective": _play_collectives,
    "flows": _play_flows,
    SCENARIO: _play_scenario,
}


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """An outcome as plain data."""
    return asdict(outcome)


def outcome_of(data: Mapping[str, Any]) -> Outcome:
    """The outcome that :func:`outcome_document` wrote."""
    return Outcome(**{**data, "problems": tuple(data["problems"])})
