"""Kinds of pictures, and what a user chooses of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from astra_ns3.errors import refuse, wrong
from astra_ns3.frozen import dataclass, replace
from astra_ns3.report.figures.figure import Figure
from astra_ns3.report.figures.with_matplotlib import drawn
from astra_ns3.report.floor_text import below_floor, floor_words
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.records import last_try, stop_of
from astra_ns3.report.tables import (
    Records,
    could_record,
    how_to_record,
    is_of_flows,
    name_with_folder,
    names_of,
    recorded,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COLUMN_INCHES = 3.3
DOUBLE_INCHES = 7.0
WIDTHS = {"column": COLUMN_INCHES, "double": DOUBLE_INCHES}
"""The widths of a column of a two-column paper, and of both."""
_LEAST_INCHES, _MOST_INCHES = 2.0, 40.0


@dataclass(frozen=True)
class Choice:
    """How a picture is to be: its width. The ports, NPUs, roles or pairs to show, none: a choice of its own; its title,
    None: the run's name, empty: none; other runs in the same axes.
    """

    width_inches: float = COLUMN_INCHES
    select: tuple[str, ...] = ()
    title: str | None = None
    beside: tuple[Records, ...] = ()

    @property
    def wide(self) -> bool:
        """Whether the picture is wider than a column."""
        return self.width_inches >= 5


@dataclass(frozen=True)
class Section:
    """A picture as a section of a page: its heading, what it shows, and the figure of the runs there.

    ``make`` takes about how many points a curve may have, too, and raises
    :class:`~astra_ns3.report.pictures.shown.Missing` if no run has the data.
    """

    heading: str
    words: str
    make: Callable[[Sequence[Shown], int], Figure]


@dataclass(frozen=True)
class Kind:
    """A kind of picture: what it shows, and where: in a file (``make``), as a ``section`` of a page, or in both.

    ``any_of``: tables of which one is needed, none: the CSV files do; ``lacks``: says what a run needs whose recorded
    tables don't tell enough; ``more``: tables with which it shows more; ``selects``: what ``--select`` names, empty:
    nothing; ``compares``: whether other runs may stand beside, ``most_runs``: at most so many in all; ``file``: a CSV
    file that not every run has, and what a run ``needs`` to have it; ``of_flows``: whether it shows anything of a list
    of flows; ``of_network``: whether it shows what all jobs of a scenario share.
    """

    name: str
    words: str = ""
    make: Callable[[Records, Choice], Figure] | None = None
    section: Section | None = None
    any_of: tuple[str, ...] = ()
    lacks: Callable[[Records], str] | None = None
    more: tuple[str, ...] = ()
    selects: str = ""
    compares: bool = False
    most_runs: int | None = None
    file: str = ""
    needs: str = ""
    of_flows: bool = True
    of_network: bool = False

    def suits(self, records: Records) -> bool:
        """Return whether a run of this workload can have anything to show."""
        return self.of_flows or not is_of_flows(records)

    def missing(self, records: Records) -> str:
        """Return what has to be recorded for this picture; empty if it can be drawn."""
        if self.file and self.file not in records.metadata["files"]:
            return self.needs
        if not self.any_of or any(recorded(records, table) for table in self.any_of):
            return "" if self.lacks is None else self.lacks(records)
        return how_to_record(records, *self.any_of)

    def advice(self, records: Records) -> str:
        """Return what would show more than is recorded; empty if all is."""
        lacking = [table for table in self.more if recorded(records, table) is None and could_record(records, table)]
        return " and ".join(dict.fromkeys(how_to_record(records, table) for table in lacking))

    def drawn(self, records: Records, choice: Choice) -> Drawing:
        """Return the picture as matplotlib's Figure; raises InputError if it can't be drawn so."""
        self._check(records, choice)
        if self.make is None:
            raise wrong(f"'{self.name}' stands on pages alone")
        figure = self.make(records, choice)
        figure = replace(figure, missing="; ".join(filter(None, [figure.missing, *_flaws(records, choice)])))
        what = figure.title or self.name
        named = what if choice.beside else f"{name_with_folder(records)}{last_try(records.metadata)}: {what}"
        return drawn(figure, choice.width_inches, named if choice.title is None else choice.title)

    def _check(self, records: Records, choice: Choice) -> None:
        for each in (records, *choice.beside):
            if not self.suits(each):
                raise wrong(
                    f"'{self.name}' shows nothing of a list of flows, which has no "
                    "layers and no collectives; 'completion' shows how long they took",
                    each.folder or "this run",
                )
            if missing := self.missing(each):
                where = each.folder or "this run"
                raise wrong(f"has nothing for '{self.name}': run again with {missing}", where)
        refuse(bool(choice.select and not self.selects), f"'{self.name}' has nothing to select")
        refuse(bool(choice.beside and not self.compares), f"'{self.name}' shows one run; none can stand beside it")
        runs = 1 + len(choice.beside)
        refuse(runs > (self.most_runs or runs), f"'{self.name}' of {runs} runs, expected at most {self.most_runs}")


def _flaws(records: Records, choice: Choice) -> Iterator[str]:
    """Yield which of the runs lie below their floors, or were stopped before their ends."""
    runs = (records, *choice.beside)
    for name, run in zip(names_of(runs), runs, strict=True):
        which = f"{name}: " if choice.beside else ""
        if (floor := below_floor(run.metadata)) is not None:
            yield f"{which}below the floor, {floor_words(floor)}"
        if (stop := stop_of(run.metadata)) is not None:
            yield f"{which}stopped before its end, {stop}"


def width_of(word: str | float) -> float:
    """Return inches: a number from 2 to 40, or "column" or "double"; raises InputError for anything else."""
    try:
        inches = float(WIDTHS.get(str(word), word))
    except ValueError:
        inches = 0.0
    if not _LEAST_INCHES <= inches <= _MOST_INCHES:
        allowed = f"{', '.join(WIDTHS)} or inches from {_LEAST_INCHES:g} to {_MOST_INCHES:g}"
        raise wrong(f"width '{word}' is not one of {allowed}")
    return inches
