"""The result of a study: its table, its failed points, its figures."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from astra_ns3.errors import nearest, refuse, wrong
from astra_ns3.experiments.result import Result
from astra_ns3.experiments.scenario_result import result_in
from astra_ns3.studies.best import Best, bests_of
from astra_ns3.studies.expansion import Expansion, Part, some_points
from astra_ns3.studies.figures.data import Row, View
from astra_ns3.studies.means import MEAN_COLUMNS, mean_rows
from astra_ns3.studies.measures import MEASURES
from astra_ns3.studies.tables import FAILED, LAYER_COLUMNS, framed, layer_rows, point_folder, study_rows
from astra_ns3.studies.task import PointOutcome
from astra_ns3.units import without_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


_OTHERS = " (in others with other numbers)"


class Warned(NamedTuple):
    """A warning of ``runs`` runs. ``points``: the first few points in words, and how many more; empty: all of them."""

    words: str
    runs: int
    points: str


class StudyResult:
    """A study's result, from :func:`astra_ns3.study`; tables are pandas DataFrames, don't change them in place."""

    def __init__(
        self, expansion: Expansion, outcomes: Mapping[str, PointOutcome], folder: Path, played: int = 0
    ) -> None:
        """``played``: how many points this study had to play, the others having been there."""
        self.expansion = expansion
        self.outcomes = dict(outcomes)
        self.folder = folder
        self.played = played

    def __repr__(self) -> str:
        return f"<StudyResult {self.expansion.study.title!r}: {len(self.expansion.points)} points in {self.folder}>"

    @property
    def axes(self) -> tuple[str, ...]:
        """The columns of the axes of all parts."""
        return tuple(dict.fromkeys(axis.name for part in self.expansion.parts for axis in part.axes))

    @cached_property
    def rows(self) -> list[Row]:
        """A row a point, as plain data."""
        return study_rows(self.expansion.points, self.outcomes, self.folder, self.axes)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row a point: part, axes, seed, status, measures, address, error."""
        return framed(self.rows, ("part", *self.axes, "seed", "status", *MEASURES, "address", "error"))

    @cached_property
    def mean_rows(self) -> list[Row]:
        """A row for all points that differ in nothing but their seed, as plain data."""
        return mean_rows(self.rows, self.axes)

    @cached_property
    def means(self) -> pd.DataFrame:
        """A row for all points that differ in nothing but their seed: part, axes, seeds, status, means, deviations."""
        return framed(self.mean_rows, ("part", *self.axes, "seeds", "status", *MEAN_COLUMNS))

    @cached_property
    def best(self) -> dict[str, Best]:
        """The best point of each part that compares points of one model, by the part's name.

        In a part of several backends, the best on each, by the part's name and the backend's: ``one on ns3``.
        """
        found = (bests_of(part, self.expansion.points, self.rows) for part in self.expansion.parts)
        return {best.name: best for each in found for best in each}

    @cached_property
    def layer_rows(self) -> list[Row]:
        """A row a layer of each point that is done, as plain data."""
        return layer_rows(self.expansion.points, self.outcomes, self.folder)

    @cached_property
    def layers(self) -> pd.DataFrame:
        """A row a layer of each point that is done: part, axes, seed, layer, times of the reported NPU."""
        return framed(self.layer_rows, ("part", *self.axes, "seed", *LAYER_COLUMNS))

    @property
    def failed(self) -> pd.DataFrame:
        """The rows of points that failed."""
        return self.frame[self.frame["status"] == FAILED]

    @property
    def failures(self) -> list[tuple[str, PointOutcome]]:
        """Each point that failed, once, with its name."""
        found: dict[str, tuple[str, PointOutcome]] = {}
        for point in self.expansion.points:
            outcome = self.outcomes.get(point.address)
            if outcome is not None and outcome.status == FAILED:
                found.setdefault(point.address, (point.name, outcome))
        return list(found.values())

    @property
    def warnings(self) -> list[tuple[str, int]]:
        """Return the warnings of runs, each with how many runs had it, the most frequent first.

        Warnings that differ in numbers alone are one, with the numbers of the first run.
        """
        return [(each.words, each.runs) for each in self.warned]

    @property
    def warned(self) -> list[Warned]:
        """Return the warnings of runs, as :attr:`warnings`, each with the first few points that it is of."""
        there: dict[str, str] = {}
        for point in self.expansion.points:
            if point.address in self.outcomes:
                there.setdefault(point.address, point.name)
        alike: dict[str, list[tuple[str, str]]] = {}
        for each, name in there.items():
            own = {without_numbers(words): words for words in reversed(self.outcomes[each].warnings)}
            for form, words in reversed(own.items()):
                alike.setdefault(form, []).append((words, name))
        every, found = list(there.values()), []
        for told in sorted(alike.values(), key=len, reverse=True):
            differ = len({words for words, _ in told}) > 1
            points = some_points([name for _, name in told], every)
            found.append(Warned(told[0][0] + _OTHERS * differ, len(told), points))
        return found

    def figure(self, name: str) -> Figure:
        """The figure ``name``, or ``part/name``, as a Figure of matplotlib's; raises InputError if there is none."""
        from astra_ns3.studies.figures.kinds import drawn

        parts = self.expansion.parts
        known = {f"{part.name}/{figure}": (part, figure) for part in parts for figure in part.config.figures}
        found = [key for key in known if key == name or key.partition("/")[2] == name]
        if len(found) != 1:
            why = "is of several parts" if found else "is none of the study's"
            raise wrong(f"figure '{name}' {why}, expected one of {', '.join(known)}{nearest(name, known)}")
        part, figure = known[found[0]]
        return drawn(self.view(part), part.config.figures[figure])

    def view(self, part: Part) -> View:
        """A part with its rows, as figures see it."""
        return part.view(self.rows, self.layer_rows)

    def result(self, row: int) -> Result:
        """The run of a row of :attr:`frame`; raises InputError if it was not played to its end, or not at all."""
        refuse(
            not 0 <= row < len(self.expansion.points),
            f"row {row} is not one of {len(self.expansion.points)}, from 0 on",
        )
        return result_in(point_folder(self.folder, self.expansion.points[row].address))
