"""Where the time of messages goes, part by part, by what they were sent for. Signals are no messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from astra_ns3.frozen import dataclass
from astra_ns3.report.alike import name_of_all, together, unnumbered
from astra_ns3.report.explanation.parts import PARTS
from astra_ns3.report.figures import style
from astra_ns3.report.figures.curves import Real
from astra_ns3.report.figures.figure import Axis, Bars, Figure, Panel, Series, Words
from astra_ns3.report.own_bytes import account_batches
from astra_ns3.report.pictures.kind import COLUMN_INCHES, Choice, Kind, Section
from astra_ns3.report.pictures.shown import Shown, having
from astra_ns3.report.records import COLLECTIVES, needed, shown_part
from astra_ns3.report.signals import without_signals
from astra_ns3.report.tables import Numbers, Records, is_of_flows
from astra_ns3.units import format_time

MOST_GROUPS = 12
LOOKS: Mapping[str, tuple[str, bool]] = {
    "turn_ps": (style.SKY, False),
    "window_ps": (style.PURPLE, False),
    "pacing_ps": (style.ORANGE, False),
    "nic_paused_ps": (style.VERMILION, True),
    "nic_queue_ps": (style.YELLOW, False),
    "transport_ps": (style.PURPLE, True),
    "lost_ps": (style.BLACK, False),
    "switch_queue_ps": (style.BLUE, False),
    "switch_paused_ps": (style.VERMILION, False),
    "slowed_ps": (style.GREEN, True),
    "serialisation_ps": (style.GREEN, False),
    "propagation_ps": (style.GREY, False),
    "acknowledgement_ps": (style.GREY, True),
}
"""In the order in which a message meets them: its colour, and whether it is hatched."""
# On a page.
_MOST_BARS = 24
_SLOWEST = 0.01
# A smaller share than this is not to be seen, and not in the legend.
_SEEN = 0.002


@dataclass(frozen=True, eq=False)
class _Bar:
    """A bar: ``layers`` together, ``of`` what, its ``place`` in the run, picoseconds of each part, and messages."""

    place: int
    layers: str
    of: str
    sums: Real
    messages: int


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return bars for all messages, the slowest, and those of each layer's part that took most; means at the ends."""
    groups = _groups(records)
    whole = np.array([max(float(sums.sum()), 1.0) for _, sums, _ in groups])
    used = [index for index in range(len(PARTS)) if any(sums[index] > _SEEN * sums.sum() for _, sums, _ in groups)]
    series: list[Series] = []
    for index, (part, (colour, hatched)) in enumerate(LOOKS.items()):
        if index in used:
            share = 100 * np.array([sums[index] for _, sums, _ in groups]) / whole
            series.append(Bars(share, hatched=hatched, outlined=True, name=PARTS[part], colour=colour))
    for index, (_, sums, count) in enumerate(groups):
        series.append(Words(101, index, format_time(round(float(sums.sum()) / max(count, 1))), "left"))
    room = 18 * COLUMN_INCHES / choice.width_inches  # for the means
    x = Axis("share of the time (%), and mean", low=0, high=100 + room, at=range(0, 101, 25))
    y = Axis(names=[style.shortened(name, 29) for name, _, _ in groups])
    panel = Panel(x, y, series, stacked=True, empty="no message has arrived", height=0.155 * max(len(groups), 3))
    return Figure([panel], around=0.75 + 0.13 * -(-len(used) // (4 if choice.wide else 2)), legend=(2, 4))


def _groups(records: Records) -> list[tuple[str, Real, int]]:
    """Return names, sums of parts in picoseconds, and numbers of messages."""
    table = needed(records, "accounts")
    if not table.rows:
        return []
    bars = _bars(records, ("part",), [*PARTS])
    times, _ = without_signals(table, ["start_ps", "end_ps"])
    took = times["end_ps"] - times["start_ps"]
    slow = took >= np.quantile(took, 1 - _SLOWEST)
    slowest, done = np.zeros(len(PARTS)), 0
    for batch in account_batches(records, [*PARTS]):
        rows = slow[done : done + len(batch["turn_ps"])]
        slowest += [batch[part][rows].sum() for part in PARTS]
        done += len(rows)
    shown = [] if is_of_flows(records) else bars[:MOST_GROUPS]
    called = style.labels([bar.layers for bar in shown], 16) if shown else []
    all_messages = np.sum([bar.sums for bar in bars], axis=0)
    found = [("all messages", all_messages, len(took)), ("slowest 1%", slowest, int(slow.sum()))]
    named = [style.of_part(name, bar.of) for name, bar in zip(called, shown, strict=True)]
    return found + [(name, bar.sums, bar.messages) for name, bar in zip(named, shown, strict=True)]


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a bar per layer, pass and kind of collective: the mean over its messages."""
    tables, notes = having(runs, "accounts", "no message arrived")
    bars = []
    for shown, _ in tables:
        ranked = _bars(shown.run, ("part", "kind"), [*PARTS])
        if len(ranked) > min(_MOST_BARS, detail):
            notes.append(f"{shown.name}: the {min(_MOST_BARS, detail)} with the most time of {len(ranked)}.")
        kept = sorted(ranked[: min(_MOST_BARS, detail)], key=lambda bar: bar.place)
        means = np.array([bar.sums / bar.messages for bar in kept])
        names = [f"{bar.layers} {bar.of}".rstrip() for bar in kept]
        bars.append((shown, names, dict(zip(PARTS, means.T, strict=True)), means.sum(axis=1)))
    longest = max((float(totals.max()) for *_, totals in bars), default=1.0)
    factor, unit = style.time_unit(longest, 1)
    x = Axis("mean time of a message", unit, 0, 1.04 * longest / factor)
    panels = []
    for shown, kept_names, by_part, _ in bars:
        series = [
            Bars(values / factor, notes=kept_names, name=PARTS[part], colour=LOOKS[part][0], hatched=LOOKS[part][1])
            for part, values in by_part.items()
            if values.any()
        ]
        y, height = Axis(names=style.cut(kept_names, 40)), 1.3 + 0.13 * len(series) + 0.19 * len(kept_names)
        panels.append(Panel(x, y, series, shown.name, stacked=True, of_run=True, height=height))
    return Figure(panels, notes)


def _bars(records: Records, by: Sequence[str], parts: Sequence[str]) -> list[_Bar]:
    """Return a bar for each layer and each value of ``by``, the longest first; layers that are alike share one."""
    places, sums, counts = _sums(records, by, parts)
    rows = [(place, *key) for key, place in places.items() if counts[place]]
    alike = together(
        rows, lambda row: (unnumbered(row[1]), row[2]), lambda row: float(sums[row[0]].sum() / counts[row[0]])
    )
    bars = []
    for same in alike:
        own, names = sorted(place for place, *_ in same), list(dict.fromkeys(layer for _, layer, _ in same))
        name = name_of_all(names) + (f" ({len(names)})" if len(names) > 1 else "")
        bars.append(_Bar(own[0], name, same[0][2], sums[own].sum(axis=0), int(counts[own].sum())))
    return sorted(bars, key=lambda bar: (-float(bar.sums.sum()), bar.place))


def _sums(
    records: Records, by: Sequence[str], parts: Sequence[str]
) -> tuple[dict[tuple[str, str], int], Real, Numbers]:
    """Return places of layers with values of ``by``; picoseconds, ``(places, parts)``, and messages of each."""
    places: dict[tuple[str, str], int] = {}
    of = {}
    for row in records.rows(COLLECTIVES):
        key = row["layer"], " ".join(filter(None, (shown_part(records, row[name]) for name in by)))
        of[int(row["collective"])] = places.setdefault(key, len(places))
    other = places.setdefault(("flows" if is_of_flows(records) else "other messages", ""), len(places))
    most = max(of, default=-1) + 1  # what had nothing to do has a number and no row
    sums, counts = np.zeros((len(places), len(parts))), np.zeros(len(places), dtype=np.int64)
    lookup = np.array([*(of.get(number, other) for number in range(most)), other])
    for batch in account_batches(records, ["collective", *parts]):
        numbers = batch["collective"]
        group = lookup[np.where((numbers >= 0) & (numbers < most), numbers, most)]
        counts += np.bincount(group, minlength=len(places))
        for column, part in enumerate(parts):
            sums[:, column] += np.bincount(group, weights=batch[part], minlength=len(places))
    return places, sums, counts


KIND = Kind(
    "accounts",
    "where the time of messages goes",
    _in_file,
    Section("Where message time goes", "From being handed over to being complete, in parts that add up.", _on_page),
    any_of=("accounts",),
)
