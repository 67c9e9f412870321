"""A figure: panels, their axes, and the series on these, as plain data that both renderers draw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from astra_ns3.frozen import dataclass
from astra_ns3.report.figures.style import BLACK

CROSS = 8
"""The mark of what is not as it should be; those before it tell series apart."""


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis: what it counts, in which unit, from where to where, and on which scale.

    ``names``: of the places 0, 1, ... of an axis that counts nothing, and ``at``: where they stand, if elsewhere;
    ``whole``: only whole numbers have labels; ``sizes``: numbers are bytes. In a file, ``bare``: only its
    name is there, lying; ``letters``: points of the names of places; ``turned``: these names are.
    """

    name: str = ""
    unit: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    grid: bool = False
    names: Sequence[str] = ()
    at: Sequence[float] | None = None
    whole: bool = False
    sizes: bool = False
    bare: bool = False
    turned: bool = False
    letters: float | None = None

    @property
    def title(self) -> str:
        """The name, and the unit in brackets."""
        return " ".join(word for word in (self.name, f"({self.unit})" if self.unit else "") if word)


@dataclass(frozen=True, eq=False, kw_only=True)
class Series:
    """Something drawn in a panel; ``name``: in the legend, empty: it has no entry there."""

    name: str = ""
    colour: str = BLACK


@dataclass(frozen=True, eq=False)
class Curve(Series):
    """Points, or a line through them; ``step``: a value holds until the next.

    ``dash`` and ``mark``: which of the styles of lines and of marks, None: no line, no mark; ``least`` and ``most``:
    the range of each value; ``notes``: what a page says of each point.
    """

    x: npt.ArrayLike
    y: npt.ArrayLike
    step: bool = False
    dash: int | None = 0
    mark: int | None = None
    size: float = 3
    width: float = 1.0
    faint: bool = False
    least: Sequence[float] = ()
    most: Sequence[float] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Bars(Series):
    """A bar for each value; ``at``: their places, None: 0, 1, ...; ``upright``: not lying; ``notes`` as of a curve."""

    values: npt.ArrayLike
    at: npt.ArrayLike | None = None
    thick: float = 0.75
    upright: bool = False
    hatched: bool = False
    outlined: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Spans(Series):
    """Intervals in lanes: where each starts, how long it is, and in which lane it lies; ``outlined``: in a file."""

    starts: npt.ArrayLike
    lengths: npt.ArrayLike
    lanes: npt.ArrayLike
    thick: float = 0.75
    outlined: bool = False


@dataclass(frozen=True, eq=False)
class Band(Series):
    """The band between two step functions, whose values hold from one of ``edges`` to the next."""

    edges: npt.ArrayLike
    low: npt.ArrayLike
    high: npt.ArrayLike


@dataclass(frozen=True, eq=False)
class Heat(Series):
    """A colour for each number of a table, ``(rows, columns)``.

    ``edges``: of the columns together, None: they stand at 0, 1, ...; ``of``: what the numbers are, with their unit;
    ``rows``: a page's names of the rows.
    """

    values: npt.ArrayLike
    of: Axis
    edges: tuple[float, float] | None = None
    rows: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Whiskers(Series):
    """Upright strokes, each from the least to the most."""

    at: Sequence[float]
    least: Sequence[float]
    most: Sequence[float]


@dataclass(frozen=True, eq=False)
class Words(Series):
    """Words at a point, in a file.

    ``y`` None: on the x-axis. ``across`` and ``up``: the side of the words that touches the point, "left" and "bottom".
    ``raised``: how many points the words stand above it.
    """

    x: float
    y: float | None
    text: str
    across: str = "center"
    up: str = "center"
    letters: float = 5.5
    turned: bool = False
    raised: float = 0


@dataclass(frozen=True, eq=False)
class Rule(Series):
    """A line across the whole panel at a value of the y-axis."""

    y: float
    dash: int = 0
    width: float = 0.6


@dataclass(frozen=True, eq=False)
class Cells(Series):
    """A table of words, in the place of axes."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes and what is drawn on them.

    ``empty``: what is said in place of series if there are none; ``note``: small words in the corner; ``stacked``: bars
    of the same place stand on each other; ``centred``: the title is; ``of_run``: it is a run's name;
    ``height``: in inches.
    """

    x: Axis
    y: Axis
    series: Sequence[Series]
    title: str = ""
    note: str = ""
    empty: str = ""
    stacked: bool = False
    centred: bool = False
    of_run: bool = False
    height: float = 3.2
    gap: float = 0.25
    """Between bars of a page, in bars."""


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels, and what was left out of them in words (``notes``).

    What follows is of files. ``title``: what it shows, and of whom; ``around``: inches of height besides the panels;
    ``legend``: columns of the legend, in a narrow and in a wide picture; ``across``: how many panels stand side by
    side; ``share_x``: panels have one x-axis.
    """

    panels: Sequence[Panel]
    notes: Sequence[str] = ()
    title: str = ""
    around: float = 0.75
    legend: tuple[int, int] = (2, 4)
    across: int = 1
    share_x: bool = False
    share_y: bool = False
    missing: str = ""
    """The note on what a figure lacks, above the legend."""
