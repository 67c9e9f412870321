"""Queues of ports, and when PFC stopped them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from astra_ns3.errors import InputError
from astra_ns3.report.plots.kind import Choice, Kind
from astra_ns3.report.plots.style import (
    COLOURS,
    VERMILION,
    legend_below,
    listed,
    merged,
    new_figure,
    panels,
    say_empty,
    size_unit,
    steps,
    stroke,
    time_unit,
)
from astra_ns3.report.ports import chosen
from astra_ns3.report.tables import Numbers, Records, numbers, recorded, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PORTS = 6
"""Without ``select``: those with the longest queues, and those that were stopped longest."""


def draw(records: Records, choice: Choice) -> Figure:
    """Lengths of queues above, pauses below, as far as they were recorded."""
    tables = [table for table in ("queues", "pauses") if recorded(records, table) is not None]
    found = {table: _by_port(records, table, choice.select) for table in tables}
    until_ps = int(records.metadata["finish_ps"])
    shown = {table: _foremost(table, ports, choice, until_ps) for table, ports in found.items()}
    rows = len(shown.get("pauses", ()))
    heights = [1.5 if table == "queues" else max(0.13 * rows, 0.4) for table in tables]
    figure = new_figure(choice.width_inches, 0.95 + sum(heights) + 0.25 * (len(tables) - 1))
    handles = []
    unit = time_unit(until_ps)
    axes = panels(figure, heights)
    for place, table in enumerate(tables):
        if table == "queues":
            handles = _draw_queues(axes[place], shown[table], until_ps, unit)
        else:
            _draw_pauses(axes[place], shown[table], until_ps, unit)
        if len(shown[table]) < len(found[table]):
            words = f"{len(shown[table])} of {len(found[table])} ports that {_DID[table]}"
            axes[place].set_title(words, loc="right", fontsize=6)
    legend_below(figure, handles, 3 if choice.width_inches < 5 else 6)
    return figure


_DID = {"queues": "queued", "pauses": "were stopped"}

Port = tuple[Numbers, Numbers]
"""Times in picoseconds, and the values from then on."""


def _by_port(records: Records, table: str, select: tuple[str, ...]) -> dict[str, Port]:
    """Of each port that has rows its times and values."""
    port = words(records, table, "port")
    times, values = numbers(records, table, "time_ps", "queue_bytes" if table == "queues" else "paused_priorities")
    order = np.argsort(port.codes, kind="stable")
    present, begins = np.unique(port.codes[order], return_index=True)
    split = zip(present, np.split(order, begins[1:]), strict=True) if len(order) else ()
    found = {port.texts[code]: (times[rows], values[rows]) for code, rows in split}
    if not select:
        return found
    return {name: found[name] for name in chosen(port.texts, select) if name in found}


def _foremost(table: str, ports: dict[str, Port], choice: Choice, until_ps: int) -> dict[str, Port]:
    if choice.select:
        if len(ports) > len(COLOURS):
            raise InputError(f"{len(ports)} ports are selected ({listed(ports)}), expected at most {len(COLOURS)}")
        return ports
    if table == "queues":
        weights = {name: int(values.max()) for name, (_, values) in ports.items()}
    else:
        weights = {name: _paused_ps(port, until_ps) for name, port in ports.items()}
    foremost = sorted(ports, key=lambda name: (-weights[name], name))[:MOST_PORTS]
    return {name: ports[name] for name in foremost}


def _draw_queues(axes: Axes, ports: dict[str, Port], until_ps: int, unit: tuple[int, str]) -> list[object]:
    if not ports:
        say_empty(axes, "no observed port had a queue when it was sampled")
        return []
    factor, name = size_unit(max(int(values.max()) for _, values in ports.values()))
    for (times, values), colour in zip(ports.values(), COLOURS, strict=False):
        x, y = steps(np.append(0, times), np.append(0, values), until_ps)
        axes.step(x / unit[0], y / factor, where="post", color=colour, linewidth=0.8)
    axes.set_xlim(0, until_ps / unit[0])
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"queue ({name})")
    axes.set_xlabel(f"time ({unit[1]})")
    axes.grid()
    return [stroke(colour, port) for port, colour in zip(ports, COLOURS, strict=False)]


def _paused_ps(port: Port, until_ps: int) -> int:
    starts, ends = pauses(*port, until_ps)
    return int((ends - starts).sum())


def pauses(times: Numbers, priorities: Numbers, until_ps: int) -> tuple[Numbers, Numbers]:
    """From when to when a port was stopped, in any priority; one that is stopped at the end is so until then."""
    stopped = priorities != 0
    ends = np.append(times[1:], max(until_ps, int(times[-1]) if len(times) else 0))
    return merged(times[stopped], ends[: len(times)][stopped], 0)


def _draw_pauses(axes: Axes, ports: dict[str, Port], until_ps: int, unit: tuple[int, str]) -> None:
    if not ports:
        say_empty(axes, "no port was stopped by PFC")
        return
    pixel = until_ps / 1_000
    for row, port in enumerate(ports.values()):
        starts, ends = merged(*pauses(*port, until_ps), pixel / 4)
        wide = np.maximum(ends - starts, pixel / 2)
        axes.broken_barh(list(zip(starts / unit[0], wide / unit[0], strict=True)), (row - 0.36, 0.72), color=VERMILION)
    axes.set_yticks(range(len(ports)), list(ports), fontsize=5.5)
    axes.set_ylim(len(ports) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, until_ps / unit[0])
    axes.set_xlabel(f"time stopped by PFC ({unit[1]})")
    axes.grid(axis="x")


KIND = Kind(
    "queues",
    "queues and pauses of ports, over time",
    draw,
    any_of=("queues", "pauses"),
    more=("queues", "pauses"),
    selects="ports",
)
