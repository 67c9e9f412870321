"""What bus bandwidth collectives got, by their size: comparable between kinds and numbers of NPUs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from astra_ns3.report.page.figure import COLOURS, Data, Figure, Missing, Panel, Shown, axis
from astra_ns3.report.page.scale import sample, significant
from astra_ns3.report.records import COLLECTIVES
from astra_ns3.units import format_bytes

_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross", "x", "star", "hexagon")


def bandwidth(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """A point per kind, algorithm and size: the mean, with the least and the most."""
    traces, notes = [], []
    series: dict[tuple[str, str], int] = {}
    for shown in runs:
        found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in shown.run.rows(COLLECTIVES):
            if row["bus_bandwidth_gbytes_per_s"]:
                kind = (row["kind"], row["algorithm"])
                found[kind][int(row["bytes"])].append(float(row["bus_bandwidth_gbytes_per_s"]))
        for kind, by_size in found.items():
            place = series.setdefault(kind, len(series))
            sizes = sample(sorted(by_size), detail)
            if len(sizes) < len(by_size):
                notes.append(f"{shown.name}, {kind[0]}: {len(sizes)} of {len(by_size)} sizes.")
            name = " ".join(kind) + (f", {shown.name}" if len(runs) > 1 else "")
            traces.append(_points(name, {size: by_size[size] for size in sizes}, place, shown.place))
    if not traces:
        return Missing("no collective ended: run a workload that has some, to its end")
    layout = {
        "xaxis": axis("bytes of each NPU", type="log", dtick="D2", tickformat="~s"),
        "yaxis": axis("bus bandwidth (GB/s)", rangemode="tozero"),
    }
    return Figure([Panel("all collectives that ended", traces, layout, 380, of_run=False)], notes)


def _points(name: str, by_size: dict[int, list[float]], place: int, run: int) -> Data:
    means = [significant(sum(rates) / len(rates)) for rates in by_size.values()]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(by_size),
        "y": means,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [significant(max(rates) - mean) for rates, mean in zip(by_size.values(), means, strict=True)],
            "arrayminus": [significant(mean - min(rates)) for rates, mean in zip(by_size.values(), means, strict=True)],
            "thickness": 1,
        },
        "hovertext": [f"{format_bytes(size)}, {len(rates)} collectives" for size, rates in by_size.items()],
        "line": {"color": COLOURS[place % len(COLOURS)], "width": 1, "dash": "dot" if run else "solid"},
        "marker": {"color": COLOURS[place % len(COLOURS)], "size": 9, "symbol": _SYMBOLS[run % len(_SYMBOLS)]},
    }
