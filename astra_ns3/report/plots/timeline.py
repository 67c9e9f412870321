"""What each NPU did when: computing, waiting, and the phases of collectives in flight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import InputError
from astra_ns3.report.plots.collectives import draw_collectives
from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    evenly,
    legend_below,
    new_figure,
    steps,
    swatch,
    time_unit,
)
from astra_ns3.report.tables import Numbers, Records, Words, numbers, recorded, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NPUS = 8
"""Without ``select``: evenly apart."""
MOST_BARS = 600
"""Of an NPU's program."""
PROGRAM_LANE = -2
"""Its program, among an NPU's lanes; the others are dimensions, and -1 messages between NPUs."""
_PROGRAM = {"compute": BLUE, "wait": VERMILION}
_DIMENSIONS = (GREEN, ORANGE, PURPLE, SKY)


def draw(records: Records, choice: Choice) -> Figure:
    """A strip per NPU: its program above, the phases in flight in each dimension below."""
    if recorded(records, "operations") is None and recorded(records, "phases") is None:
        return draw_collectives(records, choice)
    npus = _npus(int(records.metadata["npus"]), choice.select)
    finish_ps = int(records.metadata["finish_ps"])
    strips = _Strips(records, npus)
    lanes = [(npu, lane) for npu in npus for lane in strips.lanes]
    heights = [1.0 if lane == PROGRAM_LANE else 1.4 for _, lane in lanes]
    figure = new_figure(choice.width_inches, 0.75 + 0.12 * sum(heights) + 0.05 * len(npus))
    axes = figure.subplots(len(npus), 1, squeeze=False, sharex=True)[:, 0]
    factor, unit = time_unit(finish_ps)
    for place, npu in enumerate(npus):
        strips.draw(axes[place], npu, finish_ps, factor)
        axes[place].set_ylabel(f"NPU {npu}", rotation=0, ha="right", va="center", fontsize=6)
    for above in axes[:-1]:
        above.spines["bottom"].set_visible(False)
        above.tick_params(axis="x", length=0)
    axes[-1].set_xlim(0, finish_ps / factor)
    axes[-1].set_xlabel(f"time ({unit})")
    if len(npus) < int(records.metadata["npus"]):
        axes[0].set_title(f"{len(npus)} of {records.metadata['npus']} NPUs", loc="right", fontsize=6)
    legend_below(figure, strips.legend(), 2 if choice.width_inches < 5 else 4)
    return figure


def _npus(count: int, select: tuple[str, ...]) -> list[int]:
    """Numbers of the NPUs to show."""
    for word in select:
        if not word.isdecimal() or int(word) >= count:
            raise InputError(f"NPU '{word}' is not one of 0 to {count - 1}")
    return [int(word) for word in select] or evenly(range(count), MOST_NPUS)


class _Strips:
    """Operations and phases of some NPUs, as far as they were recorded."""

    def __init__(self, records: Records, npus: list[int]) -> None:
        self._kinds = Words(np.zeros(0, np.int64), ())
        self._operations: tuple[Numbers, ...] = (np.zeros(0, np.int64),) * 3
        if recorded(records, "operations") is not None:
            kinds, columns = words(records, "operations", "kind"), ("npu", "start_ps", "end_ps")
            operations = numbers(records, "operations", *columns)
            inside = np.isin(operations[0], npus)
            self._kinds = Words(kinds.codes[inside], kinds.texts)
            self._operations = tuple(column[inside] for column in operations)
        self._phases: tuple[Numbers, ...] = (np.zeros(0, np.int64),) * 4
        if recorded(records, "phases") is not None:
            phases = numbers(records, "phases", "npu", "dimension", "start_ps", "end_ps")
            inside = np.isin(phases[0], npus)
            self._phases = tuple(column[inside] for column in phases)
        self._dimensions = [int(number) for number in np.unique(self._phases[1])]
        self._most = {dimension: self._most_at_once(dimension) for dimension in self._dimensions}
        program = [PROGRAM_LANE] if recorded(records, "operations") is not None else []
        self.lanes = [*program, *self._dimensions]
        """Of each NPU."""

    def _most_at_once(self, dimension: int) -> int:
        """Phases that any of the NPUs has in flight at a time."""
        most = 1
        for npu in np.unique(self._phases[0]):
            _, counts = self._in_flight(int(npu), dimension)
            most = max(most, int(counts.max(initial=0)))
        return most

    def _in_flight(self, npu: int, dimension: int) -> tuple[Numbers, Numbers]:
        """Times, and how many phases are in flight from then on."""
        inside = (self._phases[0] == npu) & (self._phases[1] == dimension)
        starts, ends = self._phases[2][inside], self._phases[3][inside]
        times, place = np.unique(np.concatenate([starts, ends]), return_inverse=True)
        change = np.zeros(len(times), dtype=np.int64)
        np.add.at(change, place, np.repeat([1, -1], len(starts)))
        return times, np.cumsum(change)

    def draw(self, axes: Axes, npu: int, finish_ps: int, factor: int) -> None:
        """The strip of an NPU; lanes from top to bottom."""
        for place, lane in enumerate(self.lanes):
            bottom = len(self.lanes) - 1 - place
            if lane == PROGRAM_LANE:
                self._draw_program(axes, npu, bottom, finish_ps, factor)
                continue
            times, counts = self._in_flight(npu, lane)
            if len(times):
                x, y = steps(times, counts, int(times[-1]))
                colour = _DIMENSIONS[lane % len(_DIMENSIONS)]
                top = bottom + 0.9 * y / self._most[lane]
                axes.fill_between(x / factor, bottom, top, step="post", color=colour, linewidth=0)
        axes.set_ylim(-0.1, len(self.lanes))
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="x", length=2)

    def _draw_program(self, axes: Axes, npu: int, bottom: int, finish_ps: int, factor: int) -> None:
        """Bars, or where there are too many for the width, which share of each moment went into what."""
        spans = []
        for kind in _PROGRAM:
            code = self._kinds.texts.index(kind) if kind in self._kinds.texts else -1
            inside = (self._operations[0] == npu) & (self._kinds.codes == code)
            spans.append((self._operations[1][inside], self._operations[2][inside]))
        if sum(len(starts) for starts, _ in spans) <= MOST_BARS:
            for (starts, ends), colour in zip(spans, _PROGRAM.values(), strict=True):
                bars = list(zip(starts / factor, (ends - starts) / factor, strict=True))
                axes.broken_barh(bars, (bottom, 0.9), color=colour, linewidth=0)
            return
        edges = np.linspace(0, finish_ps, MOST_BARS + 1)
        below = np.full(MOST_BARS, float(bottom))
        for (starts, ends), colour in zip(spans, _PROGRAM.values(), strict=True):
            above = below + 0.9 * covered(starts, ends, edges)
            axes.stairs(above, edges / factor, baseline=below, fill=True, color=colour, linewidth=0)
            below = above

    def legend(self) -> list[object]:
        """What the colours mean."""
        program = [("computing", BLUE), ("waiting", VERMILION)] if self.lanes[:1] == [PROGRAM_LANE] else []
        found = [swatch(colour, word) for word, colour in program]
        for dimension in self._dimensions:
            colour = _DIMENSIONS[dimension % len(_DIMENSIONS)]
            what = "messages" if dimension < 0 else f"phases, dimension {dimension}"
            found.append(swatch(colour, f"{what} (at most {self._most[dimension]})"))
        return found


def covered(starts: Numbers, ends: Numbers, edges: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Which share of each span between ``edges`` lies in one of the intervals, which don't overlap."""
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    until = np.concatenate([[0], np.cumsum(ends - starts)])
    times = np.stack([starts, ends], axis=1).ravel()
    so_far = np.interp(edges, times, np.repeat(until, 2)[1:-1]) if len(times) else np.zeros(len(edges))
    shares: npt.NDArray[np.float64] = np.diff(so_far) / np.diff(edges)
    return shares


KIND = Kind("timeline", "what each NPU did when", draw, more=("operations", "phases"), selects="NPUs", of_flows=False)
