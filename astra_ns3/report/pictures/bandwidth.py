"""Bus bandwidth of collectives by their size, as NVIDIA's nccl-tests define it, of one run or of several."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean, median

from astra_ns3.errors import check_known
from astra_ns3.report.figures.curves import evenly
from astra_ns3.report.figures.figure import Axis, Curve, Figure, Panel
from astra_ns3.report.figures.style import COLOURS, ON_PAGES, labels, tails
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Missing, Shown
from astra_ns3.report.records import COLLECTIVES
from astra_ns3.report.tables import Records, names_of
from astra_ns3.units import counted, format_bytes

_WORDS = {"ALLREDUCE": "all-reduce", "ALLTOALL": "all-to-all", "ALLGATHER": "all-gather",
          "REDUCESCATTER": "reduce-scatter", "POINTTOPOINT": "message"}  # fmt: skip

_MOST_GROUPS = 6
"""More groups than this can't be told apart: the collectives of all others are shown together."""
_OTHERS = "other groups"
_Y = Axis("bus bandwidth", "GB/s", low=0, grid=True)

Found = dict[tuple[str, str, str], dict[int, list[float]]]
"""Kind, algorithm and group -> bytes -> bandwidths in 10**9 bytes a second."""


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return a point per collective, a line through the medians of each kind, group and run."""
    every = (records, *choice.beside)
    runs = [(name, _by_group(bandwidths(each))) for name, each in zip(tails(names_of(every)), every, strict=True)]
    known = list(dict.fromkeys(each for _, found in runs for each in found))
    kinds = list(dict.fromkeys(kind for kind, _ in known))
    for word in choice.select:
        check_known("collective", word, kinds)
    several = len(runs) > 1
    shown = [each for kind in choice.select or kinds for each in known if each[0] == kind]
    groups = list(dict.fromkeys(group for _, group in shown if group != _OTHERS))
    names = {_OTHERS: _OTHERS, **dict(zip(groups, labels(groups), strict=True))}
    series = []
    for index, (run, found) in enumerate(runs):
        for number, (kind, group) in enumerate(shown):
            by_size = dict(sorted(found.get((kind, group), {}).items()))
            points = [(size, value) for size, values in by_size.items() for value in values]
            if points:
                colour = COLOURS[(index if several else number) % len(COLOURS)]
                x, y = zip(*points, strict=True)
                series.append(Curve(x, y, dash=None, mark=number, size=2.2, faint=True, colour=colour))
                words = ", ".join(filter(None, (_WORDS.get(kind, kind.lower()), names[group])))
                name = " ".join(([run] if several else []) + [words])
                medians = [median(values) for values in by_size.values()]
                series.append(Curve([*by_size], medians, dash=number * several, mark=number, name=name, colour=colour))
    x_axis = Axis("size that each NPU brings", log=True, sizes=True)
    older = any("group_duration_us" not in row for each in every for row in each.rows(COLLECTIVES))
    note = f"times: means over groups, waits included{' (older runs: of all)' if older else ''}; lines: medians"
    panel = Panel(x_axis, _Y, series, empty="no collective has ended", note=note, height=2.2)
    return Figure([panel], around=0.4)


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a point per kind, algorithm, group and size: the mean, with the least and the most."""
    series, notes = [], []
    colours: dict[tuple[str, str, str], str] = {}
    for shown in runs:
        for kind, by_size in bandwidths(shown.run).items():
            words = [" ".join(kind[:2]), kind[2], shown.name if len(runs) > 1 else ""]
            colour = colours.setdefault(kind, ON_PAGES[len(colours) % len(ON_PAGES)])
            sizes = evenly(sorted(by_size), detail)
            if len(sizes) < len(by_size):
                notes.append(f"{shown.name}, {kind[0]}: {len(sizes)} of {len(by_size)} sizes.")
            rates = [by_size[size] for size in sizes]
            series.append(
                Curve(sizes, [fmean(each) for each in rates], dash=2 if shown.place else 0, mark=shown.place, size=9,
                      least=[min(each) for each in rates], most=[max(each) for each in rates],
                      notes=[f"{format_bytes(size)}, {counted(len(by_size[size]), 'collective')}" for size in sizes],
                      name=", ".join(filter(None, words)), colour=colour)
            )  # fmt: skip
    if not series:
        raise Missing("no collective ended: run a workload that has some, to its end")
    x = Axis("size that each NPU brings", log=True, sizes=True)
    return Figure([Panel(x, _Y, series, "all collectives that ended", height=3.8)], notes)


def bandwidths(records: Records) -> Found:
    """Return those of all collectives that ended, and took time."""
    found: Found = defaultdict(lambda: defaultdict(list))
    rows = [row for row in records.rows(COLLECTIVES) if row["bus_bandwidth_gbytes_per_s"]]
    often = dict(Counter(row.get("group", "") for row in rows).most_common(_MOST_GROUPS))
    for row in rows:
        group = row.get("group", "")
        key = row["kind"], row["algorithm"], group if group in often else _OTHERS
        found[key][int(row["bytes"])].append(float(row["bus_bandwidth_gbytes_per_s"]))
    return found


def _by_group(found: Found) -> dict[tuple[str, str], dict[int, list[float]]]:
    """Return the same of all algorithms of a kind together, by kind and group."""
    groups: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (kind, _, group), by_size in found.items():
        for size, values in by_size.items():
            groups[kind, group][size] += values
    return groups


KIND = Kind(
    "bandwidth",
    "bus bandwidth of collectives by size",
    _in_file,
    Section(
        "Bus bandwidth by size",
        "Means over collectives of one size, with least and most. Durations include waiting for other collectives.",
        _on_page,
    ),
    selects="kinds of collectives, as ALLREDUCE",
    compares=True,
    most_runs=len(COLOURS),
    of_flows=False,
)
