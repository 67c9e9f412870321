"""Builds the backend, plays the workload on it, and takes down what came of it, however it ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Protocol

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import AstraNs3Error, HookFailed, InputError, Interrupted, LimitReached, refuse
from astra_ns3.experiments.flow_tables import flow_warnings
from astra_ns3.experiments.forecasting.capacity import check_run_fits
from astra_ns3.experiments.forecasting.end import check_end
from astra_ns3.experiments.garbage import no_search, rare_search
from astra_ns3.experiments.hooks import HookFile, named_hook
from astra_ns3.experiments.inputs import Inputs, scenario_of
from astra_ns3.experiments.jobs.job import Playing, ProgramsJob
from astra_ns3.experiments.jobs.job_kinds import ended_unstored
from astra_ns3.experiments.network_parts.asked_reducers import check_reducers
from astra_ns3.experiments.progress import Progress, ProgressMeter, ProgressSink, expected_work, tell_stage
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.slowdown import slowdown_warnings
from astra_ns3.experiments.tenant_inputs import parts_of
from astra_ns3.experiments.watch import Watch
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.backend_makers import check_given, create_backend
from astra_ns3.network.backends import abilities_of
from astra_ns3.network.floor.floor import Floor, floor_of, floor_warnings, is_below
from astra_ns3.network.ideal.choice import ideal_of
from astra_ns3.network.recorded import TableSink
from astra_ns3.network.records import ALONE, Chain, RecorderOptions, RunRecords
from astra_ns3.playing.drivers.driver import Heartbeat
from astra_ns3.scenario.company import Company, Member
from astra_ns3.scenario.scenario import waiting_line
from astra_ns3.scenario.tenant_network import TenantNetwork
from astra_ns3.scenario.times import OTHERS, PROGRAMS, TIME, Outcome, late_warnings, tries_of
from astra_ns3.units import counted

_Playing = tuple[Member, Inputs, RunRecords, Outcome]


@dataclass(frozen=True)
class Played:
    """The outcome of a run: each tenant's records, the backend's counters, why it stopped early (None: it didn't)."""

    records: tuple[RunRecords, ...]
    statistics: Mapping[str, int | float]
    switch_ports: Sequence[Mapping[str, str | int]]
    setup_seconds: float
    start_bytes: int
    """Resident memory when the run began: the idle program."""
    peak_bytes: int
    """Highest resident memory of the run."""
    error: AstraNs3Error | None
    warnings: Sequence[str] = ()
    reached_ps: int = 0
    """Simulated time that is known to have been reached, if that is more than the records know."""
    floor: Floor | None = None
    """The least time that lines and computations allow; None: not known, or the run was stopped."""
    floors: Mapping[int, Floor | None] = field(default_factory=dict)
    """The same for each tenant that has ended its programs, by its number, as if it were alone."""
    hook_result: Json = None
    """The value that the hook's end function returned, as plain data."""
    outcomes: tuple[Outcome, ...] = ()
    """The outcome of each tenant."""
    warnings_of: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """For each tenant, by its number, the ``warnings`` of its own and of the network that it shares."""


class Reporter(Protocol):
    """Is told how a run gets on."""

    def stage(self, name: str) -> None:
        """A part of the set-up begins."""

    def begun(self, company: Company, network: NetworkBackend, setup_seconds: float) -> None:
        """All is set up; the first event comes next."""

    def beat(self, progress: Progress) -> None:
        """About ten times a second of wall time; what it raises ends the run."""

    def finish(self) -> None:
        """The run is over, well or not."""

    def results(self, played: Played) -> None:
        """Take the run's outcome; only the hook's end function is still to be called."""


def recorder_options(directory: Path | None, record: Iterable[str], sink: TableSink | None) -> RecorderOptions:
    """Return the recorders that the words of ``record`` ask for; ``sink`` takes the rows."""
    words = set(record)
    return RecorderOptions(
        directory,
        flows="flows" in words,
        timeline="timeline" in words,
        accounts="accounts" in words,
        nodes="nodes" in words,
        sink=sink,
    )


class LocalReporter:
    """Checks the limits and tells a sink of the progress, in the process of the run.

    The limits hold from the first event on: nobody else is there to end the set-up.
    """

    def __init__(self, watch: Watch, sink: ProgressSink | None) -> None:
        self._watch = watch
        self._sink = sink

    def stage(self, name: str) -> None:
        """Tell the sink."""
        tell_stage(self._sink, name, self._watch.wall_seconds)

    def begun(self, company: Company, network: NetworkBackend, setup_seconds: float) -> None:
        """Nothing to do."""

    def beat(self, progress: Progress) -> None:
        """Check the limits, tell the sink."""
        self._watch.check()
        if self._sink is not None:
            self._sink.update(progress)

    def finish(self) -> None:
        """Let the sink clean up."""
        if self._sink is not None:
            self._sink.finish()

    def results(self, played: Played) -> None:
        """Nothing to do."""


def play(
    request: RunRequest,
    tenants: Sequence[Inputs],
    recorder: RecorderOptions,
    watch: Watch,
    reporter: Reporter,
    *,
    process_ends: bool = False,
) -> Played:
    """Run to the end, to a limit, to a stall or to Ctrl-C; the backend is closed, its files finished.

    ``tenants``: the inputs of each tenant of ``request``. ``process_ends``: the process ends right after it, so the
    simulation's memory need not be freed.
    Raises InputError, BackendError, LimitReached and KeyboardInterrupt if that happens before the first event.
    """
    limits, first = request.end, tenants[0]
    to_its_end = limits.simulated_ps is None and limits.wall_seconds is None
    parts = parts_of(request, tenants)
    check_reducers(parts)
    if to_its_end:
        check_end(parts)
    check_run_fits(parts, limit_bytes=limits.memory_bytes, to_its_end=to_its_end)
    reporter.stage("building the network")
    scenario = scenario_of(tenants)
    with no_search():
        rows_to = scenario.network_tables(recorder.sink)
        network = _build(request, first, replace(recorder, sink=rows_to, job_bit=scenario.bits.shift))
    try:
        reporter.stage("planning the collectives")

        def beat(time_ps: int, events: int) -> None:
            reporter.beat(meter.read(time_ps, events, watch.wall_seconds))

        with no_search():
            members = _members(request, tenants, scenario.views(network, rows_to), recorder, beat)
            company = Company(network, members, scenario.bits, beat, waiting_line(scenario))
        setup_seconds = watch.wall_seconds
        meter = ProgressMeter(company, network, expected_work(parts), setup_seconds, live=request.live)
        reporter.begun(company, network, setup_seconds)
        with rare_search():
            error = _run(company, request, tenants, reporter)
        company.close_journals()
        played = _left_by(company, network, request, tenants, watch, setup_seconds, error)
        reporter.results(played)
    finally:
        network.close(process_ends=process_ends)
        if recorder.sink is not None:
            recorder.sink.close()
    return _with_hook_result(played, network.hook_result)


@no_search()
def _left_by(
    company: Company,
    network: NetworkBackend,
    request: RunRequest,
    tenants: Sequence[Inputs],
    watch: Watch,
    setup_seconds: float,
    error: AstraNs3Error | None,
) -> Played:
    """Return what a run left that has stopped, by ``error`` or at its end."""
    outcomes = company.outcomes()
    records = tuple(
        _as_asked(member.driver.records(), outcome) for member, outcome in zip(company.members, outcomes, strict=True)
    )
    tries = tries_of([tenant for tenant, _ in request.parts], outcomes)
    complete = error is None and all(records[each.last].complete for each in tries)
    # What the network carried of who was stopped, or waited for nothing, is more than it had time for.
    spare = [inputs.tenancy.restart_ps is not None for inputs in tenants]
    needed = [outcome for outcome, is_spare in zip(outcomes, spare, strict=True) if outcome.ended_by or not is_spare]
    whole = complete and all(outcome.ended_by == PROGRAMS for outcome in needed) and all(map(_waited, records))
    playing = [*zip(company.members, tenants, records, outcomes, strict=True)]
    chains = [_chain(*each, each[1].tenancy.start_ps) for each in playing if each[-1].start_ps is not None]
    begin_ps = min((each.start_ps for each in outcomes if each.start_ps is not None), default=0)
    floor = _floor(tenants[0], network, max(chains), begin_ps) if whole else None
    floors = dict(_own_floors(network, playing))
    finish_ps = finish_of(outcomes, records)
    late = [] if error is not None else _late_events(tenants[0], finish_ps)
    of_network = [*network.warnings(), *late]
    own = {last: [*_warnings(request, tenants, last, records[last], outcomes[last], error)] for _, last in tries}
    of_floors = [*floor_warnings(floor, finish_ps), *_below_own_floors(playing, floors)]
    if len(own) == 1:
        del of_floors[1:]
    return Played(
        outcomes=outcomes,
        records=records,
        statistics=dict(network.statistics()),
        switch_ports=network.switch_table(),
        setup_seconds=setup_seconds,
        start_bytes=watch.start_bytes,
        peak_bytes=watch.peak_bytes,
        error=error,
        floor=floor,
        floors=floors,
        warnings=[*of_floors, *of_network, *chain.from_iterable(own.values())],
        warnings_of={
            number: [*floor_warnings(floors.get(number), records[number].finish_ps), *of_network, *found]
            for number, found in own.items()
        },
    )


def _own_floors(network: NetworkBackend, playing: Sequence[_Playing]) -> Iterator[tuple[int, Floor | None]]:
    """Yield the number and the floor of each tenant that has ended its programs, as if it were alone."""
    for number, (member, inputs, records, outcome) in enumerate(playing):
        # A later try plays a part of the passes, and may have loaded what others had computed.
        is_spare = inputs.tenancy.restart_ps is not None
        is_whole = records.complete and outcome.ended_by == PROGRAMS and not is_spare
        if member.network is not network and is_whole and _waited(records):
            chain = _chain(member, inputs, records, outcome, 0)
            yield number, _floor(playing[0][1], member.network, chain, outcome.start_ps or 0, outcome.start_ps or 0)


def _waited(records: RunRecords) -> bool:
    """Return whether all collectives had ended when the programs had."""
    return all(record.end_ps is not None for record in records.collectives)


def _below_own_floors(playing: Sequence[_Playing], floors: Mapping[int, Floor | None]) -> tuple[str, ...]:
    """Return a line that says how many jobs lie below their own floors, and by how much the lowest does."""
    ends_ps = [records.finish_ps for _, _, records, _ in playing]
    shares = {number: floor.share(ends_ps[number]) for number, floor in floors.items() if floor is not None}
    count, lowest = sum(map(is_below, shares.values())), min(shares, key=shares.__getitem__, default=None)
    if lowest is None:
        return ()
    name = f"'{playing[lowest][1].tenancy.job_name}'"
    who = f"job {name} lies below its floor" if count == 1 else f"{count} jobs lie below their floors, {name} the most"
    return floor_warnings(floors[lowest], ends_ps[lowest], who)


def _as_asked(records: RunRecords, outcome: Outcome) -> RunRecords:
    """Return the records of a tenant; who was stopped as was asked for is complete."""
    return replace(records, complete=True) if outcome.ended_by in (OTHERS, TIME) else records


def finish_of(outcomes: Sequence[Outcome], records: Sequence[RunRecords]) -> int:
    """Return when the last tenant had finished."""
    ends_ps = [
        outcome.start_ps + each.finish_ps
        for outcome, each in zip(outcomes, records, strict=True)
        if outcome.start_ps is not None
    ]
    return max(ends_ps, default=0)


def _members(
    request: RunRequest,
    tenants: Sequence[Inputs],
    views: Sequence[NetworkBackend],
    recorder: RecorderOptions,
    beat: Heartbeat,
) -> list[Member]:
    """Return what plays each tenant, on the network as the tenant sees it."""
    scenario = scenario_of(tenants)
    ideal = ideal_of(scenario.plan, request.backend_name, tenants[0].compatibility)
    waited_for = {each.after.job for each in scenario.tenants if each.after and each.after.passes}
    members = []
    for number, (view, inputs, (tenant, part)) in enumerate(zip(views, tenants, request.parts, strict=True)):
        counts = inputs.tenancy.job_name in waited_for or part.passes == FOREVER or inputs.tenancy.end_ps is not None
        counts = counts or (tenant is not None and tenant.restart is not None and part.passes > 1)
        sink = scenario.tenant_tables(number, recorder.sink)
        playing = Playing(
            part.passes,
            part.seed,
            part.report_npu,
            sink if recorder.timeline else None,
            beat,
            sink,
            scenario.ideal_of(number, ideal),
            sink if recorder.nodes else None,
            inputs.slowdown,
            view.passes_done if counts and isinstance(view, TenantNetwork) else None,
        )
        driver = inputs.job.driver(view, inputs.platform, playing)
        tenancy = inputs.tenancy
        members.append(Member(tenancy.job_name, view, driver, tenancy.times, part.passes, tenancy.is_traffic, counts))
    return members


def _late_events(first: Inputs, finish_ps: int) -> Iterator[str]:
    """Warn of events that a file has after the run's end; chance draws some there as a matter of course."""
    given = [(each.config.at_ps, each.where) for each in first.events if not each.drawn]
    return late_warnings(given, "events of the file", "the run", finish_ps)


def _warnings(
    request: RunRequest,
    tenants: Sequence[Inputs],
    number: int,
    records: RunRecords,
    outcome: Outcome,
    error: AstraNs3Error | None,
) -> Iterator[str]:
    """Yield warnings of flows that say little, slowdowns without effect, open collectives, and late failures."""
    shares, (tenant, _) = abilities_of(tenants[0].backend).needs_packets, request.parts[number]
    of = None if error is not None else "" if tenant is None else f" of '{tenant.name}'"
    yield from flow_warnings(records.flows, tenants[0].plan.of_packets if shares else None, of)
    if error is None:
        yield from slowdown_warnings(tenants[number].slowdown, records)
        yield from ended_unstored(tenants[number].workload, records.finish_ps)
    left = sum(record.end_ps is None for record in records.collectives)
    if error is None and outcome.ended_by == PROGRAMS and left:
        yield (
            f"{counted(left, 'collective')} had not ended when the loop did, and the finish leaves them out: end the "
            "loop with steps.drain()"
        )
    if error is None and tenant is not None and tenant.restart is not None and outcome.start_ps is not None:
        fails = [(time_ps, tenant.place) for time_ps in tenant.restart.fails_ps]
        yield from late_warnings(fails, "failures", "the job", outcome.start_ps + records.finish_ps)


def _floor(inputs: Inputs, network: NetworkBackend, chain: Chain, begin_ps: int, zero_ps: int = 0) -> Floor | None:
    """The least time that the lines allow what was carried, and computations; None where nobody counts it."""
    carried = network.carried()
    return None if carried is None else floor_of(inputs.plan, carried, chain, begin_ps, zero_ps)


def _chain(member: Member, inputs: Inputs, records: RunRecords, outcome: Outcome, start_ps: int) -> Chain:
    """The longest chain of a tenant that starts at ``start_ps``."""
    chain, most = member.driver.chain, max(records.npus, key=lambda npu: npu.compute_ps)
    tenancy = inputs.tenancy
    if inputs.slowdown is None and most.compute_ps >= chain.time_ps:
        chain = Chain(most.compute_ps, most.npu, ALONE)
    npus = tenancy.npus if outcome.npus is None else outcome.npus
    words = chain.words
    if start_ps:
        words = f"the start of a job, and {words}" if chain.time_ps else "the start of the job of NPU {}"
    # A wait for NPUs or for another job hangs on what others took, and is left out.
    return Chain(start_ps + chain.time_ps, npus[chain.npu], words)


def _with_hook_result(played: Played, returned: object) -> Played:
    """``played`` with what the hook's end function returned, if that can be written as JSON."""
    try:
        return replace(played, hook_result=json.loads(json.dumps(returned, allow_nan=False)))
    except (TypeError, ValueError) as error:
        left_out = f"what the function returned that the hook had returned is left out: it is no JSON ({error})"
        return replace(played, warnings=[*played.warnings, left_out])


def _build(request: RunRequest, inputs: Inputs, recorder: RecorderOptions) -> NetworkBackend:
    backend, config = request.backend, inputs.network
    if isinstance(backend, str):
        return create_backend(
            backend,
            inputs.plan,
            seed=request.seed,
            recorder=recorder,
            on_built=named_hook(request.on_built),
            compatibility=inputs.compatibility,
            cores=request.threads,
        )
    if callable(backend):
        made = backend(inputs.plan, request.seed, recorder, request.on_built)
        check_given(made, "what the backend function returned")
        return made
    refuse(backend.npus != config.npus, f"the backend has {backend.npus} NPUs, the network {config.npus}")
    return backend


def _run(company: Company, request: RunRequest, tenants: Sequence[Inputs], reporter: Reporter) -> AstraNs3Error | None:
    """Play to the end; the error that stopped it, if it is one of ours."""
    try:
        company.run(request.end)
    except KeyboardInterrupt:
        return Interrupted(f"interrupted{_passes_done(company, tenants)}")
    except LimitReached as error:
        return LimitReached(f"{error}{_passes_done(company, tenants)}")
    except InputError:
        raise
    except AstraNs3Error as error:
        return error
    except (Exception, SystemExit) as error:
        code, left = _users_code(request, tenants[0], error)
        if code is None:
            raise
        failed = HookFailed(f"{code} failed: {type(error).__name__}: {error}")
        failed.__cause__ = error.with_traceback(left)
        return failed
    finally:
        reporter.finish()
    return None


def _passes_done(company: Company, tenants: Sequence[Inputs]) -> str:
    """Return in which of several passes a training was, to stand at the end of why it stopped.

    A pass's exchanges of gradients may still be under way in the next one.
    """
    done, passes, *_ = company.progress()
    if passes == 1 or len(tenants) > 1 or not isinstance(tenants[0].job, ProgramsJob):
        return ""
    return f"; NPU 0 was in pass {min(done + 1, passes):,} of {passes:,}"


def _users_code(request: RunRequest, inputs: Inputs, error: BaseException) -> tuple[str | None, TracebackType | None]:
    """Whose code raised ``error``, if it is the user's: the congestion control's, with its line, or the hook's.

    Besides, the traceback from the user's first line on.
    """
    control, ours, left = _own_control(inputs), str(Path(__file__).parents[1]), error.__traceback__
    while left is not None and left.tb_frame.f_code.co_filename.startswith(ours):
        left = left.tb_next
    frames = [(frame.f_code.co_filename, line) for frame, line in reversed([*walk_tb(left)])]
    for file, line in frames:
        if control is not None and Path(file).name == Path(control).name:
            return f"{control}:{line}: the congestion control", left
    if request.on_built is None:
        return None, left
    for file, line in frames:
        if not file.startswith((ours, "<")):
            return f"{file}:{line}: the hook's code", left
    told = f"{request.on_built.path}: " if isinstance(request.on_built, HookFile) else ""
    return f"{told}the hook's code", left


def _own_control(inputs: Inputs) -> str | None:
    """The file of a user's own congestion control, if there is one."""
    own = inputs.network.own_control
    return None if own is None else own.path
