"""Where the time of messages goes: shares of waiting, pausing, sending and travelling, by what they were sent for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from astra_ns3.report.plots.kind import COLUMN_INCHES, Choice, Kind
from astra_ns3.report.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    HATCH,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    labels,
    legend_below,
    new_figure,
    panels,
    say_empty,
    short_part,
    shortened,
    swatch,
)
from astra_ns3.report.tables import Records, batches, is_of_flows, rows_of
from astra_ns3.units import format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GROUPS = 12
PARTS: Mapping[str, tuple[str, str, bool]] = {
    "turn_ps": ("turn", SKY, False),
    "window_ps": ("window", PURPLE, False),
    "pacing_ps": ("pacing", ORANGE, False),
    "nic_paused_ps": ("NIC paused", VERMILION, True),
    "nic_queue_ps": ("NIC queue", YELLOW, False),
    "transport_ps": ("TCP", PURPLE, True),
    "lost_ps": ("lost", BLACK, False),
    "switch_queue_ps": ("switch queue", BLUE, False),
    "switch_paused_ps": ("switch paused", VERMILION, False),
    "serialisation_ps": ("serialisation", GREEN, False),
    "propagation_ps": ("propagation", GREY, False),
    "acknowledgement_ps": ("acknowledgement", GREY, True),
}
"""Of a message's time: its word, its colour, whether it is hatched. In the order in which a message meets them."""
_SLOWEST = 0.01
_SEEN = 0.002
"""A smaller share than this is not to be seen, and not in the legend."""

Sums = npt.NDArray[np.float64]


def draw(records: Records, choice: Choice) -> Figure:
    """Bars for all messages, for the slowest, and for those of each layer's part that took most; means at the ends."""
    groups = _groups(records)
    used = [place for place in range(len(PARTS)) if any(sums[place] > _SEEN * sums.sum() for _, sums, _ in groups)]
    columns = 3 if choice.width_inches < 5 else 6
    figure = new_figure(choice.width_inches, 0.75 + 0.155 * max(len(groups), 3) + 0.13 * -(-len(used) // columns))
    (axes,) = panels(figure, [1])
    if not groups:
        say_empty(axes, "no message has arrived")
        return figure
    _draw_groups(axes, groups, used, choice.width_inches)
    every = list(PARTS.values())
    legend_below(figure, [swatch(every[p][1], every[p][0], hatched=every[p][2]) for p in used], columns)
    return figure


def _groups(records: Records) -> list[tuple[str, Sums, int]]:
    """Names, sums of parts in picoseconds, and numbers of messages."""
    if not rows_of(records, "accounts"):
        return []
    rows = records.rows("collectives.csv")
    layers = list(dict.fromkeys(row["layer"] for row in rows))
    called = dict(zip(layers, labels(layers, 18), strict=True))
    of_flows = is_of_flows(records)  # which belong to no collective
    names = (
        ["flows"]
        if of_flows
        else list(dict.fromkeys(f"{called[row['layer']]}, {short_part(row['part'])}" for row in rows))
    )
    group_of = np.zeros(1 + max((int(row["collective"]) for row in rows), default=0), dtype=np.int64)
    for row in rows:
        group_of[int(row["collective"])] = names.index(f"{called[row['layer']]}, {short_part(row['part'])}")
    slow_ps = _slow_ps(records)
    sums, counts = np.zeros((len(names), len(PARTS))), np.zeros(len(names), dtype=np.int64)
    slowest, slow_messages = np.zeros(len(PARTS)), 0
    for batch in batches(records, "accounts", ["collective", "start_ps", "end_ps", *PARTS]):
        parts = np.stack([batch.column(name).to_numpy() for name in PARTS], axis=1)
        number = batch.column("collective").to_numpy()
        group = np.zeros_like(number) if of_flows else group_of[number]
        np.add.at(sums, group, parts)
        counts += np.bincount(group, minlength=len(names))
        slow = batch.column("end_ps").to_numpy() - batch.column("start_ps").to_numpy() >= slow_ps
        slowest += parts[slow].sum(axis=0)
        slow_messages += int(slow.sum())
    foremost = np.argsort(-sums.sum(axis=1), kind="stable")[: 0 if of_flows else MOST_GROUPS]
    found = [("all messages", sums.sum(axis=0), int(counts.sum())), ("slowest 1%", slowest, slow_messages)]
    return found + [(names[group], sums[group], int(counts[group])) for group in foremost if counts[group]]


def _slow_ps(records: Records) -> float:
    """From which time on a message is one of the slowest."""
    took = [
        batch.column("end_ps").to_numpy() - batch.column("start_ps").to_numpy()
        for batch in batches(records, "accounts", ["start_ps", "end_ps"])
    ]
    return float(np.quantile(np.concatenate(took), 1 - _SLOWEST))


def _draw_groups(axes: Axes, groups: list[tuple[str, Sums, int]], used: list[int], width_inches: float) -> None:
    places = np.arange(len(groups))
    left = np.zeros(len(groups))
    whole = np.array([max(float(sums.sum()), 1.0) for _, sums, _ in groups])
    for part, (_, colour, hatched) in enumerate(PARTS.values()):
        if part not in used:
            continue
        share = 100 * np.array([sums[part] for _, sums, _ in groups]) / whole
        style: dict[str, Any] = {"facecolor": "white" if hatched else colour, "hatch": HATCH if hatched else None}
        axes.barh(places, share, left=left, height=0.75, linewidth=0.4, edgecolor=colour, **style)
        left += share
    for place, (_, sums, count) in enumerate(groups):
        axes.text(101, place, format_time(round(float(sums.sum()) / max(count, 1))), va="center", fontsize=5.5)
    axes.set_yticks(places, [shortened(name, 24) for name, _, _ in groups], fontsize=6)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(groups) - 0.4, -0.6)
    axes.set_xlim(0, 100 + 18 * COLUMN_INCHES / width_inches)  # room for the means
    axes.set_xticks(range(0, 101, 25))
    axes.set_xlabel("share of messages' time (%), and its mean")


KIND = Kind("accounts", "where the time of messages goes", draw, any_of=("accounts",))
