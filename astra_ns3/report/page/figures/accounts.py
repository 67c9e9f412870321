"""Where the time of messages went, part by part, by the collective that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from astra_ns3.network.recorded import PARTS
from astra_ns3.report.explanation.parts import PARTS as WORDS
from astra_ns3.report.page.figure import Data, Figure, Missing, Panel, Shown, axis
from astra_ns3.report.page.having import having
from astra_ns3.report.page.scale import short, time_scale
from astra_ns3.report.plots.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILION, YELLOW
from astra_ns3.report.records import COLLECTIVES, Recorded
from astra_ns3.report.tables import is_of_flows

_MOST_BARS = 24
_COLOURS: Mapping[str, str] = {
    "turn_ps": GREY,
    "window_ps": PURPLE,
    "pacing_ps": YELLOW,
    "nic_paused_ps": "#8F3F00",
    "nic_queue_ps": ORANGE,
    "transport_ps": "#B79BD1",
    "lost_ps": "#000000",
    "switch_queue_ps": VERMILION,
    "switch_paused_ps": "#A02020",
    "serialisation_ps": BLUE,
    "propagation_ps": SKY,
    "acknowledgement_ps": GREEN,
}
_OTHER = "#4D4D4D"

Sums = dict[str, npt.NDArray[np.float64]]


def accounts(runs: Sequence[Shown], detail: int) -> Figure | Missing:
    """A bar per layer, pass and kind of collective: the mean over its messages."""
    having_rows = having(runs, "accounts", "no message arrived")
    if isinstance(having_rows, Missing):
        return having_rows
    tables, notes = having_rows
    bars = []
    for shown, table in tables:
        names, sums, counts = _sums(shown, table)
        totals = np.sum(list(sums.values()), axis=0)
        ranked = [int(place) for place in np.argsort(-totals, kind="stable") if counts[place]]
        if len(ranked) > min(_MOST_BARS, detail):
            notes.append(f"{shown.name}: the {min(_MOST_BARS, detail)} with the most time of {len(ranked)}.")
        kept = sorted(ranked[: min(_MOST_BARS, detail)])
        bars.append((shown, [names[place] for place in kept],
                     {part: values[kept] / counts[kept] for part, values in sums.items()}))  # fmt: skip
    longest = max((float(np.sum(list(means.values()), axis=0).max()) for _, _, means in bars), default=1.0)
    return Figure([_panel(shown, names, means, longest) for shown, names, means in bars], notes)


def _sums(shown: Shown, table: Recorded) -> tuple[list[str], Sums, npt.NDArray[np.int64]]:
    """Names of the bars; picoseconds of each part, and messages, of each bar."""
    parts = [part.name for part in PARTS if part.name in table.columns]
    places: dict[str, int] = {}
    rows = shown.run.rows(COLLECTIVES)
    of: dict[int, int] = {}
    for row in rows:
        name = " ".join(filter(None, (row["layer"], row["part"], row["kind"])))
        of[int(row["collective"])] = places.setdefault(name, len(places))
    other = places.setdefault("flows" if is_of_flows(shown.run) else "other messages", len(places))
    most = max(of, default=-1) + 1  # what had nothing to do has a number and no row
    sums = {part: np.zeros(len(places)) for part in parts}
    counts = np.zeros(len(places), dtype=np.int64)
    lookup = np.array([*(of.get(number, other) for number in range(most)), other])
    for batch in table.batches(["collective", *parts]):
        numbers = batch["collective"].astype(np.int64)
        bar = lookup[np.where((numbers >= 0) & (numbers < most), numbers, most)]
        counts += np.bincount(bar, minlength=len(places))
        for part in parts:
            sums[part] += np.bincount(bar, weights=batch[part], minlength=len(places))
    return list(places), sums, counts


def _panel(shown: Shown, names: list[str], means: Sums, longest_ps: float) -> Panel:
    scale = time_scale(longest_ps)
    traces: list[Data] = [
        {
            "type": "bar",
            "orientation": "h",
            "name": WORDS[part],
            "x": scale.of(values),
            "y": list(range(len(names))),
            "marker": {"color": _COLOURS.get(part, _OTHER)},
            "hovertext": names,
            "hovertemplate": f"%{{hovertext}}<br>%{{x}} {scale.unit}",
        }
        for part, values in means.items()
        if values.any()
    ]
    layout = {
        "barmode": "stack",
        "bargap": 0.25,
        "xaxis": axis(f"mean time of a message ({scale.unit})", range=[0, 1.04 * longest_ps / scale.ps]),
        "yaxis": {"autorange": "reversed", "tickmode": "array", "tickvals": list(range(len(names))),
                  "ticktext": short(names, 40), "showgrid": False, "zeroline": False},
    }  # fmt: skip
    return Panel(shown.name, traces, layout, 130 + 13 * len(traces) + 19 * len(names))
