"""How many times as long as alone messages took, by their size, in the form of the papers on congestion controls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from astra_ns3.report.figures.figure import Axis, Bars, Curve, Figure, Panel
from astra_ns3.report.figures.style import COLOURS, tails
from astra_ns3.report.pictures.completion import ALIKE, columns_of, slowdowns_by_size, with_ideal
from astra_ns3.report.pictures.kind import Choice, Kind
from astra_ns3.report.tables import Records, names_of
from astra_ns3.units import format_bytes

Found = tuple[int, str, tuple[list[float], dict[str, list[float]], list[int]]]
"""Number and name of a run, its sizes, the slowdown of each size by the name of the percentile, and its messages."""
_FEW = 100
"""The slowest 1% of fewer messages is the slowest alone."""


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return percentiles of the slowdown against the size: a line each, of every run."""
    every = (records, *choice.beside)
    found: list[Found] = []
    for index, (run, each) in enumerate(zip(tails(names_of(every)), every, strict=True)):
        flows = with_ideal(columns_of(each))
        sizes = flows["bytes"]
        if len(sizes):
            if sizes.max() <= ALIKE * sizes.min():
                flows = {**flows, "bytes": np.full_like(sizes, sizes.max())}
            found.append((index, run, slowdowns_by_size(flows)))
    several, ends = len(every) > 1, [size for *_, (x, *_) in found for size in x]
    one_size = bool(ends) and max(ends) <= ALIKE * min(ends)
    panel = _of_one_size(found, int(max(ends)), several) if one_size else _against_size(found, several)
    return Figure([panel], around=0.6)


def _against_size(found: Sequence[Found], several: bool) -> Panel:
    """Return a curve for each run and percentile; of one run the percentiles differ in colour."""
    curves = [
        Curve(x, y, dash=number, mark=index, size=2.5, name=f"{run}, {name}" if several else name,
              colour=COLOURS[(index if several else number) % len(COLOURS)])
        for index, run, (x, lines, _) in found
        for number, (name, y) in enumerate(lines.items())
    ]  # fmt: skip
    x_axis = Axis("size of the message", "bytes", log=bool(curves), sizes=True, grid=True)
    y_axis, empty = Axis("slowdown", log=bool(curves), grid=True), "" if curves else "no message has arrived"
    return Panel(x_axis, y_axis, curves, empty=empty, note=_few(found), height=1.6)


def _of_one_size(found: Sequence[Found], size: int, several: bool) -> Panel:
    """Return a bar for each percentile and run: points of one size make no line."""
    names, thick = list(found[0][2][1]), 0.8 / len(found)
    bars = [
        Bars([values[0] for values in lines.values()], np.arange(len(names)) + thick * (place - (len(found) - 1) / 2),
             thick, upright=True, name=run if several else "", colour=COLOURS[index % len(COLOURS)])
        for place, (index, run, (_, lines, _)) in enumerate(found)
    ]  # fmt: skip
    x_axis = Axis(f"percentile of messages of {format_bytes(size)}", names=names)
    return Panel(x_axis, Axis("slowdown", low=0, grid=True), bars, note=_few(found), height=1.6)


def _unknown(records: Records) -> str:
    """Say what tells times alone, if messages have arrived and none of theirs is known."""
    flows = columns_of(records)
    unknown = len(flows["bytes"]) and not len(with_ideal(flows)["bytes"])
    return "RoCE, or a list of flows, which tell times alone" if unknown else ""


def _few(found: Sequence[Found]) -> str:
    """Say how many messages a point or bar is of, where the slowest percentiles are the same message."""
    counts = [count for *_, (*_, each) in found for count in each]
    least, most = min(counts, default=_FEW), max(counts, default=_FEW)
    many = f"{least} to {most:,}" if least < most else f"{most:,}"
    return f"percentiles of {many} {'message' if most == 1 else 'messages'} each" if least < _FEW else ""


KIND = Kind(
    "slowdown",
    "slowdown of messages against their size",
    _in_file,
    any_of=("completions", "flows"),
    lacks=_unknown,
    compares=True,
    most_runs=len(COLOURS),
)
