"""How many times as long as alone messages took, by their size, in the form of the papers on congestion controls."""

from __future__ import annotations

from astra_ns3.report.figures.figure import Axis, Curve, Figure, Panel
from astra_ns3.report.figures.style import COLOURS, tails
from astra_ns3.report.pictures.completion import columns_of, slowdowns_by_size, with_ideal
from astra_ns3.report.pictures.kind import Choice, Kind
from astra_ns3.report.tables import Records, names_of


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return percentiles of the slowdown against the size: a line each, of every run."""
    every = (records, *choice.beside)
    curves = []
    for index, (run, each) in enumerate(zip(tails(names_of(every)), every, strict=True)):
        flows = with_ideal(columns_of(each))
        if not len(flows["bytes"]):
            continue
        x, lines = slowdowns_by_size(flows)
        for number, (name, y) in enumerate(lines.items()):
            named = f"{run}, {name}" if len(every) > 1 else name
            colour = COLOURS[(index if len(every) > 1 else number) % len(COLOURS)]
            curves.append(Curve(x, y, dash=number, mark=index, size=2.5, name=named, colour=colour))
    x_axis = Axis("size of the message", "bytes", log=bool(curves), sizes=True, grid=True)
    empty = "of no message is the time alone known: slowdowns need RoCE, or a list of flows"
    y_axis = Axis("slowdown", log=bool(curves), grid=True)
    return Figure([Panel(x_axis, y_axis, curves, empty="" if curves else empty, height=1.6)], around=0.6)


KIND = Kind(
    "slowdown",
    "slowdown of messages against their size",
    _in_file,
    any_of=("completions", "flows"),
    compares=True,
)
