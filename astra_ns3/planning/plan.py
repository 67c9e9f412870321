"""Plans a model's training on a network: bounds on all choices, the survivors as flows, and the best on packets."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from astra_ns3.config.core.plain import Json
from astra_ns3.config.training_plan import TrainingPlan
from astra_ns3.errors import InputError, Interrupted, nearest, some_of, wrong
from astra_ns3.experiments.changes.documents import document_of
from astra_ns3.experiments.given_files import named
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.experiments.isolated.interruption import Interruption
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.planning.bounds import Bound, Bounds
from astra_ns3.planning.degrees import Choice, Space, space_of
from astra_ns3.planning.iterations import ITERATIONS, is_affordable, next_search, second_ps
from astra_ns3.planning.packets import OnPackets, sized_for_packets
from astra_ns3.planning.page import STORE, check_own, forget
from astra_ns3.planning.playable import Playable
from astra_ns3.planning.request import (
    AXIS,
    BACKEND,
    FLOWS,
    PACKETS,
    PASSES_AXIS,
    PlanRequest,
)
from astra_ns3.planning.search import Found, Played, Search, hold_text
from astra_ns3.planning.usual_limits import USUAL_PACKETS
from astra_ns3.studies.axes import Label
from astra_ns3.studies.figures.data import DONE
from astra_ns3.studies.keys import as_text
from astra_ns3.studies.playing import More, nothing_more, play_tasks
from astra_ns3.studies.progress import StudyProgressSink
from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.run_study import measured_today
from astra_ns3.studies.store import Store
from astra_ns3.studies.task import PointOutcome, PointTask
from astra_ns3.studies.workers.local import cores
from astra_ns3.units import PS_PER_US, counted, format_time
from astra_ns3.workload.memory.room import is_tight
from astra_ns3.workload.models.changes import changed
from astra_ns3.workload.models.workload import ModelWorkload


@dataclass(frozen=True)
class Plan:
    """A plan that was made. ``bound_seconds``: CPU time of all bounds; ``study``: all choices that were played.

    ``left_out``: how many choices can't be played, by what is said of them, the most first. ``own``: the choice that
    the model's file has, if it can be played, and ``own_why`` why it can't. ``packets``: the best on packets, in the
    order of their times as flows. ``following``: of second iterations (None: none may be faster than the first).
    """

    request: PlanRequest
    space: Space
    found: Found
    bound_seconds: float
    study: StudyResult
    left_out: Mapping[str, int] = field(default_factory=dict)
    own: Choice | None = None
    own_why: str = ""
    packets: tuple[OnPackets, ...] = ()
    following: Found | None = None

    def workload(self, choice: Choice) -> ModelWorkload:
        """Return the model, cut as a choice says."""
        return changed(self.space.workload, choice.keys)

    @property
    def capacity_bytes(self) -> int | None:
        """Return the memory of an NPU; None: not known."""
        return capacity_bytes(self.space)

    def is_tight(self, choice: Choice) -> bool | None:
        """Return whether a choice that was played fits but leaves little room; None: an NPU's memory isn't known."""
        following = {} if self.following is None else self.following.memory_of
        return is_tight({**following, **self.found.memory_of}[choice], self.capacity_bytes)


@dataclass(frozen=True)
class AllBounds:
    """Bounds on all choices that can be played. ``left_out``: how many can't, by what is said of them.

    ``own_why``: what is said of the plan of the model's file, if it can't.
    """

    bounds: list[Bound]
    left_out: Mapping[str, int]
    own_why: str


class Bounded:
    """Spaces and bounds of several requests: what two of them have in common is worked out once.

    All choices hang on the model, the number of NPUs and what is held; bounds on all but the memory of an NPU.
    """

    def __init__(self) -> None:
        self._spaces: dict[str, Space] = {}
        self._bounds: dict[str, AllBounds] = {}

    def space(self, request: PlanRequest) -> Space:
        """Return all choices; raises InputError for what can't be planned."""
        key = json.dumps([request.workload.file.document(), request.npus, *_asked(request)], sort_keys=True)
        if key not in self._spaces:
            self._spaces[key] = space_of(request.workload, request.npus, request.held, request.places)
        return self._spaces[key]

    def bounds(self, request: PlanRequest, space: Space) -> AllBounds:
        """Return bounds on all choices; raises InputError if none can be played."""
        model = {**request.workload.file.document(), "memory": None}
        run = request.base
        files = [document_of(each) for each in (run.network, run.system) if not isinstance(each, str | os.PathLike)]
        options = repr(replace(run, workload="", network="", system=""))
        key = json.dumps([model, *files, *_asked(request), options], sort_keys=True)
        if key not in self._bounds:
            self._bounds[key] = bounds_of(request, space)
        return self._bounds[key]


def _asked(request: PlanRequest) -> list[Json]:
    """Return what a request says of its choices besides its files."""
    return [request.samples, dict(request.held)]


def make_plan(
    request: PlanRequest,
    progress: StudyProgressSink | None = None,
    bounded: Bounded | None = None,
    warn: Callable[[str], object] | None = None,
) -> Plan:
    """Plan; what the request's folder has already isn't played again, but what it tells of an earlier plan goes first.

    ``bounded``: of other plans beside this one. ``warn`` hears before the search what narrows it. Raises InputError for
    what can't be planned, and for a model that fits no choice.
    """
    store, bounded = Store(request.folder, STORE), bounded or Bounded()
    check_own(request.folder, request.files)
    begun = time.process_time()
    space = bounded.space(request)
    if warn is not None and space.few_copies:
        warn(space.few_copies)
    all_bounds = bounded.bounds(request, space)
    bounds = all_bounds.bounds
    bound_seconds = time.process_time() - begun
    capacity = capacity_bytes(space)
    own = next((each.choice for each in bounds if space.is_own(each.choice)), None)
    together = request.jobs or cores()
    search = Search(space, bounds, capacity, together, request.cpu_seconds, () if own is None else (own,))
    forget(request.folder, request.files)
    player = _Player(request, store, search)
    player.play(progress)
    found = search.found()
    following = next_search(space, found, bounds, search, together, request.cpu_seconds)
    if following is not None and is_affordable(found, following):
        player.play_next(following, progress)
    packets = player.play_on_packets(found, space, progress)
    second = None if following is None else following.found()
    others, why = all_bounds.left_out, all_bounds.own_why
    return Plan(request, space, found, bound_seconds, player.study(), others, own, why, packets, second)


def capacity_bytes(space: Space) -> int | None:
    """Return the memory of an NPU; None: not known."""
    return space.workload.file.memory_bytes or space.workload.file.compute.memory_bytes


def bounds_of(request: PlanRequest, space: Space) -> AllBounds:
    """Return bounds on all choices of a space; raises InputError if none can be played, Interrupted after Ctrl-C."""
    inputs, plan = _inputs_of(request, space, _first(request, space))
    bounds = Bounds(space, plan, inputs)
    with named(inputs.system.source, of_its_own=(space.workload.source,)):
        known: list[Bound] = []
        with Interruption() as interruption:
            for bound in bounds.all():
                known.append(bound)
                if interruption.noted_at is not None:
                    break
        if interruption.noted_at is None:
            return AllBounds(known, bounds.left_out, bounds.own_why)
    raise Interrupted(_bounds_so_far(space, known, sum(bounds.left_out.values())))


def _bounds_so_far(space: Space, known: Sequence[Bound], left_out: int) -> str:
    """Return what is said of bounds that were interrupted; ``left_out``: choices that can't be played."""
    capacity = capacity_bytes(space)
    small = [each for each in known if capacity is None or each.memory_bytes <= capacity]
    large, looked_at = len(known) - len(small), len(known) + left_out
    words = [f"interrupted; bounds of {counted(len(known), 'plan')} are known, {large:,} of them too large for an NPU"]
    if small:
        least = min(small, key=lambda each: each.time_ps)
        words.append(f"the least of the others is {format_time(least.time_ps)} ({least.choice.name})")
    words.append(f"{sum(1 for _ in _choices(space)) - looked_at:,} weren't looked at")
    return ", ".join(words) + hold_text(space, large, len(known))


def _first(request: PlanRequest, space: Space) -> Choice:
    """Return the first choice that can be played; raises InputError if none can."""
    playable = Playable(space, request.dimensions)
    for cell, _ in playable.cells():
        for choice in playable.choices(cell):
            return choice
    for why in playable.left_out:
        raise wrong(why)
    raise _no_choice(space)


def _no_choice(space: Space) -> InputError:
    """Return the error of a space without choices: of a held value that rules out all, else of NPUs and samples."""
    source, over = space.workload.source, f"{space.npus} NPUs with {space.samples} samples an iteration"
    for key, value in space.held.items():
        others = {name: other for name, other in space.held.items() if name != key}
        every = (choice.keys.get(key) for choice in _choices(replace(space, held=others)))
        allowed = sorted({as_text(each) for each in every}, key=lambda text: (len(text), text))
        if allowed:
            beside = ", beside the other held values" if others else ""
            expected = f"{some_of(allowed)}{nearest(as_text(value), allowed)}"
            words = f"key '{key}': found {as_text(value)} to cut {source} over {over}{beside}, expected {expected}"
            return wrong(words, space.places.get(key, "hold"))
    held = "".join(f", {key} held to {as_text(value)}" for key, value in space.held.items())
    expected = f"{'other held values, ' if held else ''}other NPUs or another training.global_batch"
    return wrong(f"can't be cut over {over}{held}, expected {expected}", source)


def _choices(space: Space) -> Iterator[Choice]:
    layers = space.workload.totals().layers
    for shape in space.shapes:
        for cell in space.cells(shape):
            yield from space.choices(cell, layers)


def _inputs_of(request: PlanRequest, space: Space, choice: Choice) -> tuple[Inputs, TrainingPlan]:
    """Return the inputs of a run, and the training plan in it."""
    workload = changed(space.workload, choice.keys)
    (inputs,) = load_tenants(replace(request.base, workload=workload))
    return inputs, workload.plan(space.npus)


class _Player:
    """Plays the choices that a search asks for, as points of one study that grows."""

    def __init__(self, request: PlanRequest, store: Store, search: Search) -> None:
        self._request, self._store, self._search = request, store, search
        self._choices: dict[str, Choice] = {}
        self._sized: dict[Choice, Mapping[str, Json]] = {}
        self._longer: dict[Choice, tuple[str, ...]] = {}
        self._outcomes: dict[str, PointOutcome] = {}

    def play(self, progress: StudyProgressSink | None) -> None:
        """Play until the search asks for no more; raises InputError if no choice fits."""
        self._play(self._tasks(self._search.begin()), progress, self._more)

    def play_next(self, following: Search, progress: StudyProgressSink | None) -> None:
        """Play one and two iterations of the choices that a search over second iterations asks for."""
        ended: dict[str, PointOutcome] = {}

        def more(outcome: PointOutcome) -> list[PointTask]:
            ended[outcome.address] = outcome
            pairs = ((choice, pair) for choice, pair in self._longer.items() if outcome.address in pair)
            choice, pair = next(pairs)
            if not all(address in ended for address in pair):
                return []
            one, two = (_played(ended[address]) for address in pair)
            return self._pairs(following.ended(choice, second_ps(one, two)))

        self._play(self._pairs(following.begin()), progress, more)

    def play_on_packets(self, found: Found, space: Space, progress: StudyProgressSink | None) -> tuple[OnPackets, ...]:
        """Play the best on packets, and as flows what is smaller than the model; return how each did."""
        request = self._request
        most = USUAL_PACKETS if request.packets is None else request.packets
        best = found.ranked[: most if request.has_packets else 0]
        asked = [sized_for_packets(request, space, choice) for choice in best]
        self._sized = {each.choice: each.sized.changes for each in asked if each.sized is not None}
        if not self._sized:
            return tuple(asked)
        expansion = request.expansion([], self._sized)
        self._play(expansion.tasks(os.fspath(self._store.folder)), progress, nothing_more)
        ended = {
            (point.labels[AXIS], point.labels[BACKEND]): self._outcomes[point.address] for point in expansion.points
        }
        return tuple(each if each.sized is None else _with_times(each, ended) for each in asked)

    def study(self) -> StudyResult:
        """Return all that was played."""
        expansion = self._request.expansion(self._choices.values(), self._sized, self._longer)
        return StudyResult(expansion, self._outcomes, self._request.folder)

    def _play(self, tasks: Sequence[PointTask], progress: StudyProgressSink | None, more: More) -> None:
        try:
            outcomes = play_tasks(tasks, store=self._store, jobs=self._request.jobs, progress=progress, more=more)
        except Interrupted as error:
            raise Interrupted(f"{error}; {self._search.so_far()}") from error
        self._outcomes |= measured_today(outcomes, self._store, write=True)

    def _more(self, outcome: PointOutcome) -> list[PointTask]:
        return self._tasks(self._search.ended(self._choices[outcome.address], _played(outcome)))

    def _pairs(self, choices: Sequence[Choice]) -> list[PointTask]:
        """Return the tasks of one and of two iterations of choices."""
        if not choices:
            return []
        expansion = self._request.expansion([], longer=choices)
        addresses = {(point.labels[AXIS], point.labels[PASSES_AXIS]): point.address for point in expansion.points}
        self._longer |= {choice: tuple(addresses[choice.name, passes] for passes in ITERATIONS) for choice in choices}
        return expansion.tasks(os.fspath(self._store.folder))

    def _tasks(self, choices: Sequence[Choice]) -> list[PointTask]:
        """Return the tasks of choices; two that are one run would be one point, which keys without effect rule out."""
        if not choices:
            return []
        expansion = self._request.expansion(choices)
        points = zip(expansion.points, choices, strict=True)
        self._choices |= {point.address: choice for point, choice in points}
        return expansion.tasks(os.fspath(self._store.folder))


def _played(outcome: PointOutcome) -> Played:
    return Played(_time_ps(outcome), outcome.cost.get("cpu_seconds", 0.0))


def _with_times(asked: OnPackets, ended: Mapping[tuple[Label, Label], PointOutcome]) -> OnPackets:
    """Return the plan with what its runs took, or with why one failed."""
    flows, packets = (ended[asked.choice.name, backend] for backend in (FLOWS, PACKETS))
    failed = next((each for each in (packets, flows) if each.status != DONE), None)
    why = "" if failed is None else f"{asked.on}: failed: {failed.message or 'not complete'}"
    return replace(asked, why=why, time_ps=_time_ps(packets), flows_ps=_time_ps(flows))


def _time_ps(outcome: PointOutcome) -> int | None:
    finish_us = outcome.measures.get("finish_us") if outcome.status == DONE else None
    return None if finish_us is None else round(finish_us * PS_PER_US)
