"""The format of a study's file, and reading it: a base, axes, presets, parts, figures."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import (
    ConfigModel,
    MemoryBytes,
    OnOff,
    PositiveTimePs,
    checked,
    key_error,
    refuse_key,
    shown,
    validated,
)
from astra_ns3.config.core.plain import Json
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.kinds import STUDY, told_apart
from astra_ns3.errors import nearest, refuse
from astra_ns3.frozen import dataclass
from astra_ns3.network.api import Limits
from astra_ns3.scenario.tenant import LARGEST_SEED
from astra_ns3.studies.columns import RESERVED, columns_of
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.kinds import FIGURE_KINDS
from astra_ns3.studies.keys import is_key, lacks_key, why_no_key
from astra_ns3.studies.measures import MEASURES
from astra_ns3.units import PS_PER_SECOND

_SECONDS = {"min": 60, "h": 3600}
MOST_POINTS = 100_000
_NAME = re.compile(r"\w[\w.-]*")


def _changes(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ValueError(f"found {shown(value)}, expected options and keys of files with their values")
    for key in value:
        if not is_key(str(key)):
            raise key_error(str(key), why_no_key(str(key)))
    return {str(key): each for key, each in value.items()}


def _seeds(value: object) -> object:
    """A number N is the seeds 1 to N."""
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple)):
        raise ValueError(f"found {shown(value)}, expected how many, or a list of seeds")
    if (value if isinstance(value, int) else len(value)) > MOST_POINTS:
        raise ValueError(f"found {shown(value)}, expected at most {MOST_POINTS} seeds")
    seeds = range(1, value + 1) if isinstance(value, int) else value
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 1 <= seed <= LARGEST_SEED:
            raise ValueError(f"found {shown(seed)}, expected whole numbers from 1 to {LARGEST_SEED}")
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"found {shown(value)}, expected at least one seed, and each once")
    return tuple(seeds)


def _axes(value: object) -> object:
    if not isinstance(value, Mapping):
        raise ValueError(f"found {shown(value)}, expected axes with their values")
    for axis, values in value.items():
        if not isinstance(values, (list, tuple, Mapping)) or not values:
            raise key_error(str(axis), f"found {shown(values)}, expected a list of values, or labels with changes")
    return dict(value)


def _known_kind(figure: FigureConfig) -> FigureConfig:
    if figure.kind not in FIGURE_KINDS:
        allowed = f"allowed: {', '.join(FIGURE_KINDS)}{nearest(figure.kind, FIGURE_KINDS)}"
        raise key_error("kind", f"found {figure.kind!r}, {allowed}")
    return figure


def _named(value: object) -> object:
    """Parts, figures and presets are called as files are."""
    for name in value if isinstance(value, Mapping) else ():
        if not _NAME.fullmatch(str(name)):
            expected = "expected letters, digits and _ . -, and first a letter, a digit or _: it names files"
            raise key_error(str(name), f"found {shown(name)}, {expected}")
    return value


Changes = Annotated[dict[str, Any], BeforeValidator(_changes)]  # checked where the option or key is known
"""Options of a run by name, keys of its files dotted, and their values."""
Seeds = Annotated[
    tuple[int, ...],
    BeforeValidator(_seeds),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array", "items": {"type": "integer"}}]}),
]
Axes = Annotated[
    dict[str, Any],  # lists of values, or of named sets of them: what a value is, its option or key says
    BeforeValidator(_axes),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["array", "object"]}}),
]
Figures = Annotated[dict[str, Annotated[FigureConfig, AfterValidator(_known_kind)]], BeforeValidator(_named)]
Combine = Literal["product", "one-at-a-time", "together"]
"""Every value with every other; each axis alone, the others at their first value; the k-th values of all together."""


def _long_time(value: object) -> object:
    """Minutes and hours, which only wall time has, as seconds."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(min|h)", value) if isinstance(value, str) else None
    if found is None:
        return value
    return f"{float(found[1]) * _SECONDS[found[2]]:.3f}s"


WallTimePs = Annotated[PositiveTimePs, BeforeValidator(_long_time)]


class StudyLimits(ConfigModel):
    """When a point is given up."""

    wall_time_ps: WallTimePs | None = Field(alias="wall_time", default=None)
    """Most wall time of a point, also as `10min` or `2h`."""
    memory_bytes: MemoryBytes | None = Field(alias="memory", default=None)
    """Most memory of a point."""
    simulated_time_ps: PositiveTimePs | None = Field(alias="simulated_time", default=None)
    """Most simulated time of a point."""

    def over(self, others: StudyLimits | None) -> StudyLimits:
        """Return these values, and the others' where they say nothing."""
        if others is None:
            return self
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return others.model_copy(update=given)

    @property
    def limits(self) -> Limits | None:
        """Return the limits as a run takes them; None if there are none."""
        wall = None if self.wall_time_ps is None else self.wall_time_ps / PS_PER_SECOND
        found = Limits(self.simulated_time_ps, wall, self.memory_bytes)
        return None if found == Limits() else found


class PartConfig(ConfigModel):
    """One question of a study: its points are those of its axes, combined, with each seed."""

    title: str = ""
    """The part's title, and that of figures without one."""
    base: Changes = Field(default_factory=dict)
    """Changes of all points of this part, after the study's."""
    axes: Axes = Field(default_factory=dict)
    """The things that are varied: values of a key, labels with changes, or a list of changes."""
    combine: Combine = "product"
    """`product`: every value with every other. `one-at-a-time`: the first value of every axis, and points that differ
    from it in one axis. `together`: the k-th values of all axes."""
    names: dict[str, str] = Field(default_factory=dict)
    """The names of columns, for axes of this part."""
    seeds: Seeds | None = None
    """The seeds of this part. Absent: the study's."""
    limits: StudyLimits | None = None
    """The limits of this part. Absent: the study's."""
    figures: Figures = Field(default_factory=dict)
    """Pictures by name."""


class PresetPart(ConfigModel):
    """The changes of a part by a preset; an axis that it names has its values instead of the part's."""

    skip: OnOff = False
    """Whether the part is left out."""
    base: Changes = Field(default_factory=dict)
    """Changes of all points of the part, after the part's."""
    axes: Axes = Field(default_factory=dict)
    """Other values for axes of the part; of an axis with labels, a list of those to keep."""
    combine: Combine | None = None
    """Another way to combine."""
    seeds: Seeds | None = None
    """Other seeds."""
    limits: StudyLimits | None = None
    """Other limits."""


class PresetConfig(ConfigModel):
    """A size of the study, as ``laptop`` or ``paper``."""

    base: Changes = Field(default_factory=dict)
    """Changes of all points, after the study's."""
    seeds: Seeds | None = None
    """Other seeds."""
    limits: StudyLimits | None = None
    """Other limits."""
    parts: dict[str, PresetPart] = Field(default_factory=dict)
    """Changes of parts, by the part's name."""


class StudyConfig(ConfigModel):
    """A study's file."""

    title: str = ""
    """The study's title. Absent: the file's name."""
    base: Changes = Field(default_factory=dict)
    """Changes that all points start with."""
    seeds: Seeds = (1,)
    """How many seeds, from 1 on, or a list of them. Each point is played with each."""
    limits: StudyLimits | None = None
    """When a point is given up: it has failed then."""
    names: dict[str, str] = Field(default_factory=dict)
    """The names of columns, for axes whose names are long."""
    presets: Annotated[dict[str, PresetConfig], BeforeValidator(_named)] = Field(default_factory=dict)
    """Sizes of the study by name. `laptop` is used if `--preset` names none."""
    parts: Annotated[dict[str, PartConfig], Field(min_length=1), BeforeValidator(_named)]
    """The questions of the study by name, each with points and figures of its own."""

    @model_validator(mode="after")
    @checked
    def _presets_name_parts(self) -> None:
        for name, preset in self.presets.items():
            for part in preset.parts:
                if part not in self.parts:
                    found = f"preset '{name}' names part '{part}', expected one of {', '.join(self.parts)}"
                    raise key_error("presets", f"{found}{nearest(part, self.parts)}")

    @model_validator(mode="after")
    @checked
    def _figures_have_files_of_their_own(self) -> None:
        known: dict[str, str] = {}
        for name, part in self.parts.items():
            for figure in part.figures:
                file = figure_file(name, figure)
                other = known.setdefault(file.casefold(), f"figure '{figure}' of part '{name}'")
                refuse_key(
                    other != f"figure '{figure}' of part '{name}'",
                    "parts",
                    f"figure '{figure}' of part '{name}' would be the file {file}, as {other}",
                )

    @model_validator(mode="after")
    @checked
    def _columns_have_names_of_their_own(self) -> None:
        for name, part in self.parts.items():
            columns = columns_of(self, part)
            taken = [*RESERVED, *MEASURES, *columns.values()]
            for axis, column in columns.items():
                refuse_key(
                    taken.count(column) > 1 and not lacks_key(axis, part.axes[axis]),
                    "parts",
                    f"part '{name}': a column '{column}' is there already; see 'names'",
                )


def figure_file(part: str, figure: str) -> str:
    """The name of a figure's files, without the ending."""
    return f"{part}-{figure}"


@dataclass(frozen=True)
class Study:
    """A study as it was read: what it says, where each key stands, and the folder that its paths begin at."""

    config: StudyConfig
    document: Document
    folder: Path
    text: str = ""
    """The text of its file; empty: it was given as data."""

    @property
    def name(self) -> str:
        """Return the name of its file, without the ending."""
        return Path(self.document.source).stem

    @property
    def title(self) -> str:
        """Its title, or its name."""
        return self.config.title or self.name


def read_study(given: str | os.PathLike[str] | Mapping[str, Json]) -> Study:
    """The study that a file holds, or that plain data describe, whose paths begin at the working folder.

    Raises InputError with file, line and key.
    """
    if isinstance(given, Mapping):
        document = Document("study", dict(given))
        return Study(validated(StudyConfig, document), document, Path.cwd(), "")
    refuse(
        not isinstance(given, (str, os.PathLike)),
        f"the study is {shown(given)}, expected the path of a file or a mapping as in one",
    )
    with told_apart(given, STUDY):
        text = read_text(given)
        document = parse_yaml(text, os.fspath(given))
        return Study(validated(StudyConfig, document), document, Path(given).absolute().parent, text)
