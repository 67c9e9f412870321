"""Varies one or two keys of a request's files, and makes a plan for each of their values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import product

from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.errors import InputError, refuse, wrong
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.planning.bounds import Bound
from astra_ns3.planning.degrees import Space
from astra_ns3.planning.page import check_free, check_own, forget
from astra_ns3.planning.plan import Bounded, Plan, capacity_bytes, make_plan
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.search import Search
from astra_ns3.studies.columns import short_key
from astra_ns3.studies.keys import as_text, is_key, option_named, why_no_key
from astra_ns3.studies.progress import StudyProgressSink
from astra_ns3.units import counted
from astra_ns3.workload.memory.room import is_tight

MOST_AXES = 2
_MOST_POINTS = 400
_OPTION = "--vary"
# Options that change nothing in a bound.
_WITHOUT_BOUNDS = ("backend", "report_npu", "run_name", "record", "cores", "on_built", "congestion_control")
_FOLDER, _MOST_LETTERS = "plan", 80
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class VariedKey:
    """A key of the files, as a study names it, and the values that it has; ``place``: where these are said."""

    key: str
    values: tuple[Json, ...]
    place: str = field(default=_OPTION, repr=False)

    @property
    def name(self) -> str:
        """Return a short name of the key."""
        return short_key(self.key)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return a word for each value."""
        return tuple(map(as_text, self.values))


@dataclass(frozen=True)
class BestBound:
    """The plan of the least bound, of those that fit: no run was played. ``plans``: how many there are.

    ``tight``: whether it leaves little memory (None: an NPU's memory isn't known).
    """

    plan: str
    time_ps: int
    memory_bytes: int
    tight: bool | None
    plans: int


@dataclass(frozen=True)
class VariedPoint:
    """A value of each key, and what came of it. ``samples``: of an iteration; 0 where the model can't be cut.

    ``plan``: None where nothing was played; ``bound``: then the least; ``why``: in words, why neither is there.
    ``few_copies``: that no plan has many copies of the model, in words.
    """

    labels: tuple[str, ...]
    request: PlanRequest
    samples: int = 0
    plan: Plan | None = None
    bound: BestBound | None = None
    why: str = ""
    few_copies: str = ""

    @property
    def best(self) -> str:
        """Return the name of the best plan; empty if there is none."""
        if self.bound is not None:
            return self.bound.plan
        best = None if self.plan is None else self.plan.found.best
        return "" if best is None else best.name

    @property
    def time_ps(self) -> int | None:
        """Return the time of the best plan, or its bound where nothing was played."""
        if self.bound is not None:
            return self.bound.time_ps
        return None if self.plan is None else self.plan.found.best_ps


@dataclass(frozen=True)
class Varied:
    """All points of one or two keys, those of the last key first; ``request``: that of all."""

    request: PlanRequest
    keys: tuple[VariedKey, ...]
    points: tuple[VariedPoint, ...]
    played: bool


def varied_keys(texts: Iterable[str]) -> tuple[VariedKey, ...]:
    """Return the keys of words ``KEY=VALUE,VALUE``; raises InputError for words of another form."""
    return tuple(map(_varied_key, texts))


def _varied_key(text: str) -> VariedKey:
    key, equals, values = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise wrong(
            f"{_OPTION} is '{text}', expected KEY=VALUE,VALUE, such as network.topology.link.rate=100Gbps,200Gbps"
        )
    document = parse_yaml(f"{json.dumps(key)}: [{values}]", f"{_OPTION} {key}").data
    found = document.get(key) if isinstance(document, dict) else None
    return varied_key(key, found if isinstance(found, list) else [], f"{_OPTION} {key}")


def varied_key(key: str, values: Sequence[Json], where: str, place: str = _OPTION) -> VariedKey:
    """Return a key with its values; raises InputError for what can't be one."""
    if not is_key(key):
        raise wrong(why_no_key(key), where)
    labels = list(map(as_text, values))
    refuse(not labels or None in values, f"found '{','.join(labels)}', expected values with commas between them", where)
    refuse(len(set(labels)) < len(labels), f"a value stands twice in '{','.join(labels)}'", where)
    return VariedKey(key, tuple(values), place)


def _check(keys: Sequence[VariedKey], *, play: bool) -> None:
    """Raise InputError for keys that can't stand beside each other, or that bounds don't depend on."""
    names = [each.key for each in keys]
    refuse(len(names) > MOST_AXES, f"{_OPTION} is given {counted(len(names), 'time')}, expected at most {MOST_AXES}")
    refuse(len(set(names)) < len(names), f"{_OPTION} {names[0] if names else ''}: the key is given twice")
    idle = [name for name in names if option_named(name) in _WITHOUT_BOUNDS]
    if idle and not play:
        raise wrong(f"{_OPTION} {idle[0]}: changes no bound, so --bounds-only has nothing to tell of it")


def vary(
    request: PlanRequest,
    keys: Sequence[VariedKey],
    progress: Callable[[], StudyProgressSink | None] = lambda: None,
    *,
    play: bool = True,
) -> Varied:
    """Make a plan for each value of each key, in a folder of its own; or look for the least bounds, unless ``play``.

    ``progress``: makes the sink of a plan. Raises InputError for values that no file may have, before anything is
    written, and if no plan fits anywhere.
    """
    check_free(request.folder)
    _check(keys, play=play)
    points = list(_points(request, keys))
    refuse(len(points) > _MOST_POINTS, f"{_OPTION} makes {len(points):,} points, expected at most {_MOST_POINTS}")
    for point in points:
        _ = point.request.base  # all files are read with all values
    played = [point.request for point in points if play]
    for each in played:
        check_own(each.folder, each.files)
    for each in (request, *played):
        forget(each.folder, each.files)
    bounded = Bounded()
    done = [_planned(point, bounded, progress, play=play) for point in points]
    refuse(not any(point.best for point in done), f"no point has a plan: {done[0].why}")
    return Varied(request, tuple(keys), tuple(done), play)


def _points(request: PlanRequest, keys: Sequence[VariedKey]) -> Iterable[VariedPoint]:
    """Yield the points without plans. A folder is called after its values, so other values of a later call add some."""
    pairs = [tuple(zip(each.values, each.labels, strict=True)) for each in keys]
    for number, chosen in enumerate(product(*pairs), start=1):
        values = {each.key: value for each, (value, _) in zip(keys, chosen, strict=True)}
        labels = tuple(label for _, label in chosen)
        own = replace(
            request,
            changes={**request.changes, **values},
            places={**request.places, **{each.key: each.place for each in keys}},
            output=request.folder / _folder(keys, labels, number),
            packets=request.packets or 0,
        )
        yield VariedPoint(labels, own)


def _folder(keys: Sequence[VariedKey], labels: Sequence[str], number: int) -> str:
    """Return the name of a plan's folder; with a number where words are no name for a folder."""
    words = [word for key, label in zip(keys, labels, strict=True) for word in (key.name, label)]
    name = "-".join([_FOLDER, *words])
    if _NAME.fullmatch(name) and len(name) <= _MOST_LETTERS:
        return name
    return f"{_FOLDER}-{hashlib.sha256(repr((keys, labels)).encode()).hexdigest()[:8]}-{number}"


def _planned(
    point: VariedPoint, bounded: Bounded, progress: Callable[[], StudyProgressSink | None], *, play: bool
) -> VariedPoint:
    """Return the point with its plan, or with why there is none."""
    try:
        space = bounded.space(point.request)
        point = replace(point, samples=space.samples, few_copies=space.few_copies)
        if play:
            return replace(point, plan=make_plan(point.request, progress(), bounded))
        return replace(point, bound=best_bound(space, bounded.bounds(point.request, space).bounds))
    except InputError as error:
        return replace(point, why=str(error))


def best_bound(space: Space, bounds: Sequence[Bound]) -> BestBound:
    """Return the least bound of a plan that fits; raises InputError if none does."""
    capacity = capacity_bytes(space)
    search = Search(space, bounds, capacity, 1)
    (choice,) = search.begin()
    bound, memory_bytes = search.begun(choice)
    return BestBound(choice.name, bound.time_ps, memory_bytes, is_tight(memory_bytes, capacity), len(bounds))
