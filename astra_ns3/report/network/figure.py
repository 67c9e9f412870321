"""A picture of a network: levels as rows, rates as widths of lines, NPUs of one node in a frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING

from astra_ns3.errors import refuse
from astra_ns3.report.network.layout import layout
from astra_ns3.report.network.marks import Layout, Mark
from astra_ns3.report.saving_figure import drawing, in_legend
from astra_ns3.topology.forwarding import with_whole_hosts
from astra_ns3.topology.graph import Graph
from astra_ns3.units import format_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WIRES = 20_000
"""More lines than this are a grey area, and a huge file."""
_COLOURS = ("#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#b45309", "#0e7490", "#be123c", "#4d7c0f")
_HOST, _SWITCH = "#e4e4e7", "#27272a"
# A tint, darker where one frame lies in another.
_FRAME = "#71717a14"
_MARGIN = 0.3
_DOTS_PER_INCH = 110


# What a line and a letter of the legend take.
_HANDLE_INCHES, _LETTER_INCHES = 0.55, 0.065


def draw_network(graph: Graph, path: str | os.PathLike[str], title: str) -> None:
    """Write the picture; the format is that of the file's ending.

    Raises :class:`~astra_ns3.errors.InputError` if matplotlib is missing or the file can't be written.
    """
    graph = with_whole_hosts(graph)
    drawn = layout(graph)
    refuse(len(drawn.wires) > MOST_WIRES, f"{len(drawn.wires)} lines are too many for a picture (at most {MOST_WIRES})")
    if drawn.height is None:
        size = (min(max(0.34 * drawn.width + 1.6, 5.0), 15.0), 1.5 + 1.25 * len(drawn.rows))
    else:
        scale = min(1.0, 9.0 / max(drawn.width, drawn.height)) * 0.75
        size = (max(scale * drawn.width, 3.5) + 0.5, max(scale * drawn.height, 2.5) + 1.2)
    with drawing(path, size, _DOTS_PER_INCH) as axes:
        _draw_wires(axes, drawn)
        _draw_marks(axes, drawn)
        _label(axes, drawn, title)


def _draw_wires(axes: Axes, drawn: Layout) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyArrowPatch

    kinds: dict[tuple[str, int], list[int]] = {}
    for wire in drawn.wires:
        kinds.setdefault((wire.kind, wire.rate_bps), []).append(wire.count)
    colours = {kind: _COLOURS[number % len(_COLOURS)] for number, kind in enumerate(kinds)}
    slowest = min((rate for _, rate in kinds), default=1)
    most = max((wire.count for wire in drawn.wires), default=1)
    thin = 1.0 if len(drawn.wires) < 150 else 0.6 if len(drawn.wires) < 600 else 0.3
    for wire in drawn.wires:
        a, b = drawn.marks[wire.a], drawn.marks[wire.b]
        axes.add_patch(
            FancyArrowPatch(
                (a.x, a.y),
                (b.x, b.y),
                arrowstyle="-",
                connectionstyle=f"arc3,rad={_bend(drawn, a, b)}",
                color=colours[(wire.kind, wire.rate_bps)],
                linewidth=thin * _width(wire.rate_bps, slowest) * (1 + (wire.count - 1) / most),
                alpha=0.75,
                shrinkA=0,
                shrinkB=0,
                zorder=1,
            )
        )
    handles = [
        Line2D([], [], color=colours[key], linewidth=_width(key[1], slowest), label=in_legend(_entry(*key, counts)))
        for key, counts in kinds.items()
    ]
    if handles:
        longest = max(len(str(handle.get_label())) for handle in handles)
        fitting = int(axes.get_window_extent().width / axes.figure.dpi / (_HANDLE_INCHES + _LETTER_INCHES * longest))
        axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.02), frameon=False, fontsize=8,
                    ncols=max(1, min(4, len(handles), fitting)))  # fmt: skip


def _entry(kind: str, rate_bps: int, counts: Sequence[int]) -> str:
    """Return the words of the legend: the rate of a link, and how many links a line stands for if not one each."""
    least, most = min(counts), max(counts)
    links = f"{most}" if least == most else f"{least} to {most}"
    return f"{kind}, {f'each line {links} x ' if most > 1 else ''}{format_rate(rate_bps)}"


def _bend(drawn: Layout, a: Mark, b: Mark) -> float:
    """Links that would run through other marks go round them."""
    length = max(abs(a.x - b.x), abs(a.y - b.y))
    if drawn.height is not None:
        in_line = abs(a.x - b.x) < 0.01 or abs(a.y - b.y) < 0.01
        return 0.22 if in_line and length > 1.6 and not (a.is_host or b.is_host) else 0.0
    beside = length <= 1.01 * drawn.width / _in_row(drawn, a.y)
    return 0.0 if a.y != b.y or beside else -min(0.42, 0.9 / length + 0.08)


def _in_row(drawn: Layout, height: float) -> int:
    return sum(1 for mark in drawn.marks if mark.y == height)


def _width(rate_bps: int, slowest_bps: int) -> float:
    """Wider for faster, but not in proportion: 1 to 32 times the rate is 1 to 4 points."""
    return min(1 + 0.6 * log2(rate_bps / slowest_bps), 4.0)


def _draw_marks(axes: Axes, drawn: Layout) -> None:
    from matplotlib.patches import Rectangle

    for left, right, bottom, top in drawn.boxes:
        axes.add_patch(
            Rectangle(
                (left, bottom), right - left, top - bottom, fill=False, edgecolor="#a1a1aa", linewidth=0.8, zorder=0
            )
        )
    for frame in drawn.frames:
        width, height = frame.right - frame.left, frame.top - frame.bottom
        axes.add_patch(
            Rectangle(
                (frame.left, frame.bottom),
                width,
                height,
                facecolor=_FRAME,
                edgecolor="#a1a1aa",
                linewidth=0.6,
                zorder=0,
            )
        )
        y = frame.bottom + 0.03 if frame.below else frame.top
        axes.text(frame.left + 0.12, y, frame.label, fontsize=6.5, color="#52525b", va="bottom", ha="left", zorder=3)
    for mark in drawn.marks:
        size = 7 if drawn.height is not None or _in_row(drawn, mark.y) <= 40 else 5.5
        axes.text(
            mark.x,
            mark.y,
            mark.label,
            ha="center",
            va="center",
            fontsize=size,
            color="black" if mark.is_host else "white",
            bbox={
                "boxstyle": "round,pad=0.25" if mark.is_host else "square,pad=0.3",
                "facecolor": _HOST if mark.is_host else _SWITCH,
                "edgecolor": "#71717a",
                "linewidth": 0.6,
            },
            zorder=3,
        )


def _label(axes: Axes, drawn: Layout, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlim(-_MARGIN, drawn.width + _MARGIN)
    if drawn.height is not None:
        axes.set_ylim(-0.4, drawn.height + 0.4)
        axes.set_aspect("equal")
        axes.set_axis_off()
        return
    heights = [height for _, height in drawn.rows]
    axes.set_ylim(min(heights) - 0.55, max(heights) + 0.55)
    axes.set_yticks(heights, [name for name, _ in drawn.rows], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
