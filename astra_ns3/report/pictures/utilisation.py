"""How busy each link was: ports from top to bottom by level, time from left to right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from astra_ns3.report.figures.curves import Real
from astra_ns3.report.figures.figure import Axis, Figure, Heat, Panel, Rule, Series
from astra_ns3.report.figures.style import time_unit
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Shown, having
from astra_ns3.report.ports import Level, chosen, levels, paces
from astra_ns3.report.records import SWITCH, Recorded, by_value, end_of, needed, start_of, time_of
from astra_ns3.report.tables import Numbers, Records
from astra_ns3.units import PS_PER_SECOND, parse_time_ps

MOST_COLUMNS = 400
# On a page.
_MOST_PORTS, _MOST_BINS = 96, 160
# Ports whose names find room in a file; of more only the levels are named.
_MOST_NAMES = 24
# From the name of a level to that of the next, at least.
_NAME_INCHES = 0.13


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return a heat map: percent of the link's rate, or Gb/s where rates aren't known."""
    finish_ps = end_of(records.metadata)
    table = needed(records, "utilisation")
    sums, _, edges_ps = _sums(records, table, finish_ps, MOST_COLUMNS)
    rows = levels(records, chosen(table.texts("port"), choice.select))
    ports = [name for level in rows for name in level.ports]
    if not table.rows:
        return Figure([Panel(Axis(), Axis(), (), empty="no observed port sent anything", height=1.5)], around=0)
    inches = 0.11 * len(ports) if len(ports) <= _MOST_NAMES else min(0.008 * len(ports) + 1.6, 2.8)
    values, unit = _rates(records, sums, ports, edges_ps)
    factor, time = time_unit(int(edges_ps[-1]))
    of = Axis("link utilisation", unit, 0, 100) if unit == "%" else Axis("sent", unit, 0)
    since, until = edges_ps[0] / factor, edges_ps[-1] / factor
    edges = np.cumsum([0, *(len(level.ports) for level in rows)])
    series: list[Series] = [Heat(values, of, (since, until))]
    series += [Rule(float(edge), colour="white", width=0.8) for edge in edges[1:-1]]
    panel = Panel(Axis(time_of(records), time, 0, until), _names(rows, ports, edges, inches), series, height=inches)
    return Figure([panel], around=1.2)


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a heat map per run, of the busiest ports."""
    tables, notes = having(runs, "utilisation", "no port sent anything")
    end_ps = max(shown.finish_ps for shown in runs)
    factor, time = time_unit(end_ps, 1)
    panels = []
    for shown, table in tables:
        sums, together, edges_ps = _sums(shown.run, table, end_ps, min(_MOST_BINS, detail))
        busiest = sorted(sums, key=lambda port: -float(sums[port].sum()))[: min(_MOST_PORTS, detail)]
        ports = [port for level in levels(shown.run, busiest) for port in level.ports]
        if len(ports) < len(sums):
            notes.append(f"{shown.name}: the {len(ports)} busiest ports of {len(sums)}.")
        if together > 1:
            notes.append(f"{shown.name}: means over {together} intervals each.")
        values, unit = _rates(shown.run, sums, ports, edges_ps)
        link_to = {row["port"]: row["link_to"] for row in shown.run.rows(SWITCH)}
        names = [f"{port} → {link_to[port]}" if port in link_to else port for port in ports]
        of = Axis(unit=unit, low=0, high=100 if unit == "%" else None)
        heat = Heat(values.round(0 if unit == "%" else 1), of, (edges_ps[0] / factor, edges_ps[-1] / factor), names)
        height = 1.3 + max(0.12 * min(len(ports), 40), 1.2)
        panels.append(
            Panel(
                Axis(time_of(shown.run), time, 0, end_ps / factor),
                Axis(),
                [heat],
                shown.name,
                of_run=True,
                height=height,
            )
        )
    return Figure(panels, notes)


def _sums(records: Records, table: Recorded, end_ps: int, most: int) -> tuple[Mapping[str, Real], int, Numbers]:
    """Return bytes of each port in at most so many bins, how many intervals each has, and the bins' edges."""
    interval_ps = parse_time_ps(records.metadata["network"]["observe"]["utilisation_interval"])
    before_ps = start_of(records.metadata) % interval_ps  # a job may start inside an interval
    intervals = max(1, -(-(end_ps + before_ps) // interval_ps))
    together = -(-intervals // most)
    bins = -(-intervals // together)
    sums: dict[str, Real] = defaultdict(lambda: np.zeros(bins))
    for batch in table.batches(["time_ps", "port", "wire_bytes"]):
        places = (
            (batch["time_ps"] + before_ps - 1) // interval_ps
        ) // together  # a row stands at the end of its interval
        for port, rows in by_value(batch["port"]):
            inside = rows[places[rows] < bins]
            sums[port] += np.bincount(places[inside], weights=batch["wire_bytes"][inside], minlength=bins)
    return sums, together, np.arange(bins + 1) * together * interval_ps - before_ps


def _rates(records: Records, sums: Mapping[str, Real], ports: Sequence[str], edges_ps: Numbers) -> tuple[Real, str]:
    """Return percent of each port's rate then, ``(ports, bins)``, or Gb/s where a rate isn't known; and which."""
    begin_ps, end_ps = edges_ps[:-1], records.network_finish_ps - start_of(records.metadata)
    until_ps = np.where((begin_ps < end_ps) & (end_ps < edges_ps[1:]), end_ps, edges_ps[1:])
    bps = 8 * np.array([sums[port] for port in ports]) * PS_PER_SECOND / (until_ps - begin_ps)
    rates = paces(records)
    if all(port in rates for port in ports):
        return 100 * bps / np.array([rates[port].mean_bps(begin_ps, until_ps) for port in ports]), "%"
    return bps / 1e9, "Gb/s"


def apart(places: list[float], gap: float, end: float) -> list[float]:
    """Return ascending places, moved just so far as to be ``gap`` apart, and half of that within 0 and ``end``."""
    least = gap / 2
    moved: list[float] = []
    for place in places:
        moved.append(max(place, least))
        least = moved[-1] + gap
    most = end - gap / 2
    for number in reversed(range(len(moved))):
        moved[number] = min(moved[number], most)
        most = moved[number] - gap
    return moved


def _names(rows: Sequence[Level], ports: Sequence[str], edges: np.ndarray, inches: float) -> Axis:
    """Return names of ports, or of levels where there are too many."""
    if len(ports) <= _MOST_NAMES:
        return Axis(names=ports, at=[index + 0.5 for index in range(len(ports))], low=len(ports), high=0)
    middles = (edges[:-1] + edges[1:]) / 2
    places = apart(middles.tolist(), _NAME_INCHES * len(ports) / inches, len(ports))
    return Axis(names=[f"{level.name} ({len(level.ports)})" for level in rows], at=places, low=len(ports), high=0)


KIND = Kind(
    "utilisation",
    "how busy each link was, over time",
    _in_file,
    Section("Link utilisation", "What each port put on its line.", _on_page),
    any_of=("utilisation",),
    selects="ports",
    of_network=True,
)
