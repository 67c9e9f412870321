"""From a study's file to its points: what each is called, and the run that it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from astra_ns3.config.compute_slowdown import slowdown_of
from astra_ns3.config.core.placing import placed
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, refuse, some_of, unknown, wrong
from astra_ns3.experiments.changes.files import FILES, file_of
from astra_ns3.experiments.hooks import HookFile
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.frozen import dataclass, field
from astra_ns3.studies.address import Addresses
from astra_ns3.studies.axes import ONE_AT_A_TIME, TOGETHER, Axis, Label, axes_of, combined, count_of
from astra_ns3.studies.changes import Change, in_force
from astra_ns3.studies.figures.check import check_figure
from astra_ns3.studies.figures.data import AxisView, Row, View
from astra_ns3.studies.figures.records import check_records
from astra_ns3.studies.file import MOST_POINTS, PartConfig, PresetConfig, PresetPart, Study, StudyLimits
from astra_ns3.studies.keys import FILE_OPTIONS, FILES_OF_POINTS, SCENARIO, as_text, option_named
from astra_ns3.studies.only import chosen_by
from astra_ns3.studies.places import places_of
from astra_ns3.studies.scenarios import Scenarios
from astra_ns3.studies.sources import USUAL_COMPAT, Sources
from astra_ns3.studies.task import PointTask
from astra_ns3.studies.usual_preset import USUAL_PRESET
from astra_ns3.units import without_numbers

_MOST_TOLD = 5
# Points that a warning names.
_MOST_NAMED = 3
# Options of a run that each job of a scenario has of its own.
_OF_ONE_JOB = ("workload", "system", "passes", "report_npu", "compute_slowdown")


@dataclass(frozen=True)
class Point:
    """A row of a study's table: where it stands, and the run that it is. Points of several parts may be one run."""

    part: str
    labels: Mapping[str, Label]
    """The value of each axis of the part, by column."""
    seed: int
    request: RunRequest
    address: str
    sources: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each file of users' code that the address holds, by path."""

    @property
    def coordinates(self) -> dict[str, Label]:
        """Part, axes and seed."""
        return {"part": self.part, **self.labels, "seed": self.seed}

    @property
    def name(self) -> str:
        """The coordinates in words."""
        return ", ".join(f"{name} {as_text(value)}" for name, value in self.coordinates.items())


@dataclass(frozen=True)
class Part:
    """A part as it is played: its axes, and how they are combined, in force for the preset."""

    name: str
    config: PartConfig
    axes: tuple[Axis, ...]
    combine: str

    @property
    def title(self) -> str:
        """Its title, or its name."""
        return self.config.title or self.name

    def view(self, rows: Iterable[Row] = (), layers: Iterable[Row] = ()) -> View:
        """The part as figures see it, with the rows of all parts' points and layers."""
        return View(
            self.name,
            self.title,
            tuple(AxisView(axis.name, axis.key, tuple(value.label for value in axis.values)) for axis in self.axes),
            self.combine == ONE_AT_A_TIME,
            self.combine == TOGETHER,
            tuple(row for row in rows if row["part"] == self.name),
            tuple(row for row in layers if row["part"] == self.name),
        )


@dataclass(frozen=True)
class Expansion:
    """All that a study plays."""

    study: Study
    preset: str
    """Empty: the file has none of the name that is usual."""
    parts: tuple[Part, ...]
    points: tuple[Point, ...]
    warnings: tuple[str, ...]

    def tasks(self, store: str) -> list[PointTask]:
        """One for each address, in the order of the points."""
        found: dict[str, PointTask] = {}
        places = places_of(self.study.folder, str(self.study.document.data))
        for point in self.points:
            task = PointTask(point.address, point.request, store, point.sources, places)
            found.setdefault(point.address, task)
        return list(found.values())


@dataclass(frozen=True)
class _Draft:
    """A point before its files are read."""

    part: str
    labels: Mapping[str, Label]
    seed: int
    changes: Mapping[str, Change]
    limits: StudyLimits

    @property
    def coordinates(self) -> dict[str, Label]:
        return {"part": self.part, **self.labels, "seed": self.seed}

    def of_files(self) -> dict[str, dict[str, Change]]:
        """Return the changes of each file's keys, and of options without a name of a file."""
        found: dict[str, dict[str, Change]] = {}
        for meaning, change in self.changes.items():
            found.setdefault(file_of(change.key, FILES_OF_POINTS) or "", {})[meaning] = change
        return found


def expand(study: Study, preset: str = USUAL_PRESET, only: Iterable[str] = ()) -> Expansion:
    """The points of a study; nothing is played or written.

    Raises InputError: of a point for all that is wrong with any of them, in one line.
    """
    name, chosen = _preset(study, preset)
    parts = []
    drafts: list[_Draft] = []
    for part_name, part in study.config.parts.items():
        of_preset = chosen.parts.get(part_name)
        if of_preset is not None and of_preset.skip:
            continue
        axes = axes_of(study, part_name, part, (name, of_preset) if of_preset else None)
        combine = (of_preset.combine if of_preset is not None else None) or part.combine
        parts.append(Part(part_name, part, axes, combine))
        drafts.extend(_drafts(study, name, chosen, of_preset, parts[-1]))
    keys = {axis.key: axis.name for part in parts for axis in part.axes}
    wanted = chosen_by(only, [draft.coordinates for draft in drafts], keys)
    kept = [draft for draft in drafts if wanted(draft.coordinates)]
    refuse(not kept, f"no point has all of {', '.join(only)}", study.document.source)
    played = tuple(part for part in parts if any(draft.part == part.name for draft in kept))
    points, warnings = _points(study, kept)  # first, for an axis whose key is unknown is why a figure's x is
    for one in parts:
        for figure, config in one.config.figures.items():
            where = study.document.where(("parts", one.name, "figures", figure))
            check_figure(one.view(), config, where, {**study.config.names, **one.config.names})
    for one in played:
        own = ((point.name, point.request) for point in points if point.part == one.name)
        check_records(one.config.figures, own, study.document.where(("parts", one.name, "figures")))
    return Expansion(study, name, played, tuple(points), warnings)


def _preset(study: Study, name: str) -> tuple[str, PresetConfig]:
    presets = study.config.presets
    if name in presets:
        return name, presets[name]
    if name != USUAL_PRESET:
        refuse(not presets, f"there is no preset '{name}': the file has no presets", study.document.source)
        raise unknown("preset", name, presets, study.document.source)
    return "", PresetConfig()


def _drafts(
    study: Study, name: str, preset: PresetConfig, of_preset: PresetPart | None, part: Part
) -> Iterator[_Draft]:
    """The points of a part; what stands later goes before what stands earlier."""
    config, where = part.config, study.document.where(("parts", part.name))
    levels = [
        _changes(study, study.config.base, ("base",)),
        _changes(study, preset.base, ("presets", name, "base")),
        _changes(study, config.base, ("parts", part.name, "base")),
    ]
    said = [study.config.seeds, preset.seeds, config.seeds]
    limits = (preset.limits or StudyLimits()).over(study.config.limits)
    limits = (config.limits or StudyLimits()).over(limits)
    if of_preset is not None:
        levels.append(_changes(study, of_preset.base, ("presets", name, "parts", part.name, "base")))
        said.append(of_preset.seeds)
        limits = (of_preset.limits or StudyLimits()).over(limits)
    seeds = next(seeds for seeds in reversed(said) if seeds is not None)
    _check_count(part, len(seeds), where)
    for choice in combined(part.axes, part.combine, where):
        labels = {axis.name: value.label for axis, value in zip(part.axes, choice, strict=True)}
        own = [change for value in choice for change in value.changes]
        _check_apart(own, where, labels)
        changes = in_force([*levels, own])
        for seed in seeds:
            yield _Draft(part.name, labels, seed, changes, limits)


def _check_count(part: Part, seeds: int, where: str) -> None:
    """Before they are made."""
    count = count_of(part.axes, part.combine) * seeds
    if count > MOST_POINTS:
        sizes = ", ".join(f"{axis.name} {len(axis.values)}" for axis in part.axes)
        said = f"{sizes}, seed {seeds}" if sizes else f"seed {seeds}"
        raise wrong(f"{count:,} points ({said}), expected at most {MOST_POINTS:,}; see 'combine'", where)


def _changes(study: Study, base: Mapping[str, Json], path: tuple[str, ...]) -> list[Change]:
    return [Change(key, value, study.document.line((*path, key))) for key, value in base.items()]


def _check_apart(changes: list[Change], where: str, labels: Mapping[str, Label]) -> None:
    """Two axes that change one key contradict each other."""
    said: dict[str, Change] = {}
    for change in changes:
        before = said.setdefault(change.meaning, change)
        if before.value != change.value:
            raise wrong(f"two of the axes {', '.join(labels)} set '{change.key}' to different values", where)


def _points(study: Study, drafts: list[_Draft]) -> tuple[list[Point], tuple[str, ...]]:
    sources, addresses = Sources(study.document.source, study.folder), Addresses()
    scenarios = Scenarios(study.document.source, study.folder, sources)
    points: list[Point] = []
    warnings: dict[str, list[str]] = {}  # the words first, and then the points that they are of
    refused: dict[str, None] = {}
    for draft in drafts:
        try:
            request, said = _request(study, sources, scenarios, draft)
            points.append(Point(draft.part, draft.labels, draft.seed, request, *addresses.of(request)))
            for words in {without_numbers(each): each for each in reversed(said)}.values():
                warnings.setdefault(without_numbers(words), [words]).append(points[-1].name)
        except InputError as error:
            refused[str(error)] = None
    if refused:
        raise all_of(list(refused))
    _check_limits(study, points)
    every = [point.name for point in points]
    return points, tuple(f"{words}{in_brackets(some_points(names, every))}" for words, *names in warnings.values())


def some_points(names: Sequence[str], every: Sequence[str]) -> str:
    """Return the names of the first few points that a warning is of, and how many more; empty: it is of all."""
    return "" if len(names) == len(every) else f"in {some_of(names, _MOST_NAMED, '; ')}"


def in_brackets(words: str) -> str:
    """Return words to stand behind others; nothing for none."""
    return f" ({words})" if words else ""


def _check_limits(study: Study, points: Iterable[Point]) -> None:
    """A point of two parts is played once, so that both must limit it alike."""
    first: dict[str, Point] = {}
    for point in points:
        other = first.setdefault(point.address, point)
        if other.request.limits != point.request.limits:
            where = study.document.where(("parts", point.part))
            raise wrong(
                f"'{point.name}' is the same run as '{other.name}', with other limits: give both the same", where
            )


def all_of(messages: list[str]) -> InputError:
    """One error of several, in one line."""
    told = messages[1:_MOST_TOLD]
    more = f" (and {len(messages) - 1} more: {'; '.join(told)})" if told else ""
    return wrong(messages[0] + (more if len(messages) <= _MOST_TOLD else f"{more[:-1]}; ...)"))


def _request(study: Study, sources: Sources, scenarios: Scenarios, draft: _Draft) -> tuple[RunRequest, list[str]]:
    """The run of a point, and what to warn of."""
    of_files = draft.of_files()
    options = of_files.pop("", {})
    values: dict[str, Any] = {  # what a request takes by name
        name: _value(study, name, change) for name, change in options.items() if name not in FILES_OF_POINTS
    }
    files: Sequence[str] = FILES
    if SCENARIO in options:
        _check_alone(study, {**options, **{name: change for own in of_files.values() for name, change in own.items()}})
        file, tenants = scenarios.get(options[SCENARIO], [*of_files.get(SCENARIO, {}).values()])
        values |= {"scenario": file, "tenants": tenants}
        files = ("network",)
        if file.config.network is not None:
            options.setdefault("network", Change("network", file.config.network))
    warnings: list[str] = []
    for kind in files:
        if kind not in options:
            raise wrong(f"key '{kind}' is missing: name a file", study.document.where(("parts", draft.part)))
        source = sources.get(kind, options[kind], [*of_files.get(kind, {}).values()])
        values[kind] = source.config
        warnings += source.warnings
        if source.compat != USUAL_COMPAT and values.get("compat", USUAL_COMPAT) == USUAL_COMPAT:
            values["compat"] = source.compat
    values |= {"seed": draft.seed, "limits": draft.limits.limits}
    try:
        request = ScenarioRequest(**values) if SCENARIO in options else RunRequest(**values)
        request.check()
    except InputError as error:
        raise wrong(f"{error}", _blamed(study, str(error), options)) from error
    return request, warnings


def _check_alone(study: Study, changes: Mapping[str, Change]) -> None:
    """Raise InputError for what a point says of one job where its scenario's file has the jobs."""
    for name, change in changes.items():
        first = name.partition(".")[0]
        if first in _OF_ONE_JOB:
            where = f"{study.document.source}:{change.line}" if change.line else study.document.source
            raise wrong(f"key '{change.key}' is of one job; expected scenario.jobs.NAME.KEY beside a scenario", where)


def _value(study: Study, name: str, change: Change) -> Any:  # each option has a type of its own
    """An option's value as a request takes it; paths begin at the study's folder."""
    if name == "on_built" and change.value is not None:
        hook = str(change.value)
        return HookFile(placed(hook, study.folder) if ":" in hook else str(study.folder / hook))
    if name == "compute_slowdown" and isinstance(change.value, Mapping):
        where = f"{study.document.source}:{change.line}" if change.line else study.document.source
        return slowdown_of(change.value, f"{where}: {name}")
    if name in FILE_OPTIONS and change.value is not None:
        return str(study.folder / str(change.value))
    return placed(change.value, study.folder)


def _blamed(study: Study, words: str, options: Mapping[str, Change]) -> str:
    """Return where the option stands that a message begins with."""
    said = words.partition(" ")[0].strip("'").replace("-", "_")
    change = options.get(option_named(said) or said)
    return f"{study.document.source}:{change.line}" if change is not None and change.line else study.document.source
