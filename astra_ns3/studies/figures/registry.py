"""The kinds of figures by name. A new one is a file here and a line below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from astra_ns3.studies.figures import bars, heatmap, layers, lines, stacked, table
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_KINDS: Mapping[str, Callable[[View, FigureConfig], Figure]] = {
    "bars": bars.draw,
    "stacked": stacked.draw,
    "lines": lines.draw,
    "heatmap": heatmap.draw,
    "layers": layers.draw,
    "table": table.draw,
}
