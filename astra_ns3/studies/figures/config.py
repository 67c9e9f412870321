"""The keys of a figure in a study's file."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from astra_ns3.config.core.model import ConfigModel, OnOff


def _one_or_more(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Names = Annotated[
    tuple[str, ...],
    BeforeValidator(_one_or_more),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class FigureConfig(ConfigModel):
    """A figure of a part: what stands on its axes. Names are those of the part's columns."""

    kind: str
    """Which picture: `bars`, `stacked`, `lines`, `heatmap`, `layers` or `table`."""
    title: str = ""
    """Its title. Absent: the part's."""
    x: str | None = None
    """The coordinates: an axis, or `seed`. Absent: the first axis, and with `one-at-a-time` each change of the base
    case."""
    y: Names = ()
    """Measures; absent: ``finish_us``."""
    by: str | None = None
    """An axis: a series for each of its values."""
    panels: str | None = None
    """An axis: a small picture for each of its values. Axes that no key names are panels, too."""
    relative_to: dict[str, object] | None = None  # labels of the study's own columns
    """Each number over that of the row with these coordinates and else the same ones; where `x` is each change of the
    base case, else those of the base case. With `together`, coordinates that only one point has mean this point."""
    log: OnOff = False
    """Whether the scale of `y` is logarithmic. Bars get one only where the largest is ten times the least or more. The
    scale of `x` is logarithmic, and says so, below lines whose last number is 20 times the first or more."""
