"""Queues of ports over time, and how long PFC, or missing credit, stopped them then."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from astra_ns3.errors import refuse, some_of
from astra_ns3.report.alignment import percent
from astra_ns3.report.figures.curves import Steps, covered, gathered, heights, merged, steps
from astra_ns3.report.figures.figure import Axis, Band, Curve, Figure, Heat, Panel
from astra_ns3.report.figures.style import COLOURS, ON_PAGES, VERMILION, Unit, size_unit, time_unit
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Shown, having
from astra_ns3.report.ports import chosen
from astra_ns3.report.records import SWITCH, Recorded, by_value, end_of, table_of, time_of
from astra_ns3.report.tables import Numbers, Records, stopped_by
from astra_ns3.units import ordinal

MOST_PORTS = 6
"""Without ``select``: those with the longest queues, and in a file those that were stopped longest."""
_MOST_PAUSED = 24
# Parts of the time, in a file, of which each shows for which share of it a port was stopped.
PARTS = 200
WHOLE = "#E6E6E6"
"""The colour of the whole of each part, behind the share."""
# On a page.
_MOST_BINS = 400

Port = tuple[Numbers, Numbers]
"""Times in picoseconds, and the values from then on; of pauses when they start, and when they end."""


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return lengths of queues above, pauses below, as far as they were recorded."""
    until_ps = end_of(records.metadata)
    unit = time_unit(until_ps)
    panels, words, ports = [], list[str](), set[str]()
    queues, pauses = table_of(records, "queues"), table_of(records, "pauses")
    known = dict.fromkeys(port for table in (queues, pauses) if table is not None for port in table.texts("port"))
    wanted = chosen(known, choice.select) if known else []  # a port that queued may never have been stopped
    if queues is not None:
        found = {
            port: (times[times <= until_ps], values[times <= until_ps])
            for port, (times, values) in _selected(queues, "queue_bytes", wanted, choice).items()
        }
        shown = _foremost({port: int(values.max(initial=0)) for port, (_, values) in found.items()}, choice)
        note = f"{len(shown)} of {len(found)} ports that queued" if len(shown) < len(found) else ""
        panels.append(_lengths({port: found[port] for port in shown}, until_ps, unit, time_of(records), note))
        words, ports = ["queues"], ports.union(shown)
    if pauses is not None:
        found = {
            port: stops(*each, until_ps)
            for port, each in _selected(pauses, "paused_priorities", wanted, choice).items()
        }
        shown = _foremost(_stopped(found), choice)
        note = f"filled: share of each {ordinal(PARTS)} of the time"
        note += f"; {len(shown)} of {len(found)} ports" if len(shown) < len(found) else ""
        panels.append(_stops({port: found[port] for port in shown}, until_ps, unit, records, note))
        words, ports = [*words, "pauses"], ports.union(shown)
    title = f"{' and '.join(words)} of {_where(records, ports)}"
    return Figure(panels, title=title, around=0.7 + 0.25 * len(panels), legend=(3, 6))


def _where(records: Records, ports: Collection[str]) -> str:
    """Return in words where ports are: of one port the ends of its link, of several the node if it is one."""
    nodes = {port.partition(":")[0] for port in ports}
    if len(ports) != 1:
        return f"{len(ports) or ''} ports".strip() + (f" of {nodes.pop()}" if len(nodes) == 1 else "")
    (port,) = ports
    link_to = {row["port"]: row["link_to"] for row in records.rows(SWITCH)}.get(port)
    return f"port {port}" + (f" to {link_to}" if link_to else "")


def _rows(table: Recorded, column: str) -> Iterator[tuple[str, Numbers, Numbers]]:
    """Yield ports, and some of their times and values in order."""
    for batch in table.batches(["time_ps", "port", column]):
        for port, rows in by_value(batch["port"]):
            yield port, batch["time_ps"][rows], batch[column][rows]


def _selected(table: Recorded, column: str, wanted: Sequence[str], choice: Choice) -> dict[str, Port]:
    ports = gathered(_rows(table, column))
    found = {port: ports[port] for port in wanted if port in ports}
    refuse(
        bool(choice.select and len(found) > len(COLOURS)),
        f"{len(found)} ports are selected ({some_of(found)}), expected at most {len(COLOURS)}",
    )
    return found


def _foremost(weights: Mapping[str, int], choice: Choice) -> list[str]:
    return list(weights) if choice.select else sorted(weights, key=lambda name: (-weights[name], name))[:MOST_PORTS]


def _lengths(ports: Mapping[str, Port], until_ps: int, unit: Unit, clock: str, note: str) -> Panel:
    factor, name = size_unit(max((int(values.max(initial=0)) for _, values in ports.values()), default=0))
    curves = []
    for (port, (times, values)), colour in zip(ports.items(), COLOURS, strict=False):
        x, y = steps(np.append(0, times), np.append(0, values), until_ps)
        curves.append(Curve(x / unit[0], y / factor, step=True, width=0.8, name=port, colour=colour))
    x_axis = Axis(clock, unit[1], 0, until_ps / unit[0], grid=True)
    empty = "no observed port had a queue when it was sampled"
    return Panel(x_axis, Axis("queue", name, 0, grid=True), curves, note=note, empty=empty, height=1.5)


def stops(times: Numbers, priorities: Numbers, until_ps: int) -> Port:
    """Return from when to when a port was stopped until then, in any priority: a job may end before its scenario."""
    stopped = (priorities != 0) & (times < until_ps)
    ends = np.minimum(np.append(times[1:], until_ps)[: len(times)], until_ps)
    return merged(times[stopped], ends[stopped], 0)


def _stopped(ports: Mapping[str, Port]) -> dict[str, int]:
    """Return for how long each port was stopped."""
    return {port: int((ends - starts).sum()) for port, (starts, ends) in ports.items()}


def _stops(ports: Mapping[str, Port], until_ps: int, unit: Unit, records: Records, note: str) -> Panel:
    edges = np.linspace(0, until_ps, PARTS + 1)
    bands = []
    for lane, spans in enumerate(ports.values()):
        foot = np.full(PARTS, lane + 0.4)
        bands.append(Band(edges[[0, -1]] / unit[0], foot[:1] - 0.8, foot[:1], colour=WHOLE))
        bands.append(Band(edges / unit[0], foot - 0.8 * heights(covered(*spans, edges)), foot, colour=VERMILION))
    stopped = stopped_by(records, "stopped by PFC", "with a lane without further credit")
    x = Axis(f"time {stopped}{time_of(records).removeprefix('time')}", unit[1], 0, until_ps / unit[0], grid=True)
    none = stopped_by(records, "PFC stopped no port", "each lane always had credit")
    return Panel(x, Axis(names=_with_shares(ports, until_ps)), bands, note=note, empty=none,
                 height=max(0.2 * len(ports), 0.4))  # fmt: skip


def _with_shares(ports: Mapping[str, Port], whole_ps: int) -> list[str]:
    """Return names of ports with the share of the time that each was stopped."""
    return [f"{port}, {percent(time_ps, whole_ps)}" for port, time_ps in _stopped(ports).items()]


def _queues_on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a line for each of the ports with the longest queues."""
    tables, notes = having(runs, "queues", "no queue was ever seen")
    end_ps = max(shown.finish_ps for shown in runs)
    unit = time_unit(end_ps, 1)
    found: list[tuple[Shown, Steps[str]]] = []
    for shown, table in tables:
        bins = Steps[str](end_ps, min(_MOST_BINS, 2 * detail))
        for port, times, values in _rows(table, "queue_bytes"):
            until = np.searchsorted(times, shown.finish_ps, side="right")
            if until:  # else it queues after the job alone
                bins.add(port, times[:until], values[:until].astype(np.float64))
        if len(bins.keys()) > MOST_PORTS:
            notes.append(f"{shown.name}: the {MOST_PORTS} ports with the longest queues of {len(bins.keys())}.")
        found.append((shown, bins))
    highest = max((bins.top(bins.keys()[:1]) for _, bins in found), default=1.0)
    if found:
        notes.append(f"The longest that a queue was in each {ordinal(found[0][1].bins)} of the time.")
    x = Axis(time_of(*(shown.run for shown in runs)), unit[1], 0, end_ps / unit[0])
    y = Axis("waiting", "KB", 0, 1.05 * max(highest, 1) / 1000)
    panels = []
    for shown, bins in found:
        curves = [
            Curve(bins.edges_ps / unit[0], bins.curve(port) / 1000, step=True, name=port, colour=ON_PAGES[index])
            for index, port in enumerate(bins.keys()[:MOST_PORTS])
        ]
        panels.append(Panel(x, y, curves, shown.name, of_run=True))
    return Figure(panels, notes)


def _pauses_on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return for which share of each part of the time ports were stopped, of those that were stopped longest."""
    tables, notes = having(runs, "pauses", "no port was ever stopped")
    end_ps = max(shown.finish_ps for shown in runs)
    unit = time_unit(end_ps, 1)
    edges = np.linspace(0, end_ps, min(_MOST_BINS, detail) + 1)
    x = Axis(time_of(*(shown.run for shown in runs)), unit[1], 0, end_ps / unit[0])
    panels = []
    for shown, table in tables:
        found = {
            port: stops(*each, shown.finish_ps) for port, each in gathered(_rows(table, "paused_priorities")).items()
        }
        stopped = _stopped(found)
        ports = sorted(found, key=lambda port: -stopped[port])
        if len(ports) > _MOST_PAUSED:
            notes.append(f"{shown.name}: the {_MOST_PAUSED} ports that were stopped longest of {len(ports)}.")
        most = {port: found[port] for port in ports[:_MOST_PAUSED]}
        values = np.array([100 * covered(*spans, edges) for spans in most.values()]).round(1)
        names = _with_shares(most, shown.finish_ps)
        heat = Heat(values, Axis(unit="%", low=0, high=100), (0, end_ps / unit[0]), names)
        panels.append(Panel(x, Axis(), [heat], shown.name, of_run=True, height=1.3 + 0.17 * len(names)))
    return Figure(panels, notes)


KIND = Kind(
    "queues",
    "queues and pauses of ports, over time",
    _in_file,
    Section("Queues", "What waited at ports, all priorities together.", _queues_on_page),
    any_of=("queues", "pauses"),
    more=("queues", "pauses"),
    selects="ports",
    of_network=True,
)
_TOLD = "For which share of the time PFC stopped a priority of a port, or a lane of the port had no further credit."
PAUSES = Kind("pauses", section=Section("Pauses", _TOLD, _pauses_on_page))
