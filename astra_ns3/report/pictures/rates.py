"""The course of congestion control: rates and windows of queue pairs, windows and round trips of connections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from astra_ns3.errors import refuse, required
from astra_ns3.report.figures.curves import Real, Steps, gathered, steps
from astra_ns3.report.figures.figure import Axis, Curve, Figure, Panel
from astra_ns3.report.figures.style import COLOURS, ON_PAGES, Unit, size_unit, time_unit
from astra_ns3.report.pictures.kind import Choice, Kind, Section
from astra_ns3.report.pictures.shown import Missing, Shown, remedy_of
from astra_ns3.report.records import Recorded, end_of, stop_of, table_of, time_of
from astra_ns3.report.tables import Numbers, Records, how_to_record
from astra_ns3.units import counted, ordinal

MOST_PAIRS = 6
"""Without ``select``: those whose rate, or window, was changed most often."""
_TABLES = ("queue_pairs", "connections")
# On a page.
_MOST_BINS = 300
# Name in a file, name on a page, and there its unit.
_QUANTITIES = {
    "rate_bps": ("allowed rate", "allowed rate", (10**9, "Gb/s")),
    "window_bytes": ("window", "window", (10**3, "KB")),
    "congestion_window_bytes": ("window", "congestion window", (10**3, "KB")),
    "rtt_ps": ("round trip", "round trip", (10**6, "us")),
}
# A window of 0 is none.
_NO_LIMIT = "gaps: no window, so without limit"
_GO_ON = "Curves go on after a pair's last message."
_OF_MESSAGES = "Each message has its own queue pair: a curve jumps between those of two NPUs."
_PAIR = re.compile(r"(\d+)[->,](\d+)")

Pair = tuple[int, int, int]
"""Sender, receiver, and which of their queue pairs; 0 where there is one, or a connection."""
Lines = Mapping[Pair, tuple[Numbers, Numbers]]


def _in_file(records: Records, choice: Choice) -> Figure:
    """Return a panel per quantity that was recorded, a line per queue pair or connection."""
    table = next(found for name in _TABLES if (found := table_of(records, name)) is not None)
    lines = gathered(((quantity, pair), times, values) for quantity, pair, times, values in _rows(table))
    counts: dict[Pair, int] = {}
    for (_, pair), (times, _) in lines.items():
        counts[pair] = counts.get(pair, 0) + len(times)
    foremost = sorted(counts, key=lambda pair: (-counts[pair], pair))[:MOST_PAIRS]
    pairs = _chosen(counts, choice.select) or sorted(foremost)
    until_ps = end_of(records.metadata)
    ends = _last_ends(records)
    time = time_unit(until_ps)
    x = Axis(time_of(records), time[1], 0, until_ps / time[0], grid=True)
    panels, words = [], list[str]()
    for name, own in _drawn(lines, pairs).items():
        until = {pair: until_ps if ends is None else ends.get(pair[:2], until_ps) for pair in own}
        panels.append(_panel(name, own, pairs, until, time, x))
        words.append(f"{_QUANTITIES[name][0]}s")
    if not panels:
        panels = [Panel(Axis(), Axis(), (), empty="no rate or window was recorded of these pairs", height=1.2)]
    title = f"{' and '.join(words) or 'rates'} {_whose(pairs)}"
    told = [_GO_ON] * (bool(words) and ends is None) + [_OF_MESSAGES] * (bool(words) and _has_many(records))
    return Figure(panels, title=title, around=0.7, legend=(3, 6), share_x=True, missing=" ".join(told))


def _has_many(records: Records) -> bool:
    """Return whether two NPUs have a queue pair for each message, which the table doesn't tell apart."""
    network = records.metadata["network"]
    transports = network.get("transports", [network.get("transport")])
    found = transports if isinstance(transports, Sequence) else ()
    return any(isinstance(each, Mapping) and each.get("queue_pairs") == "per-message" for each in found)


def _drawn(lines: Mapping[tuple[str, Pair], tuple[Numbers, Numbers]], pairs: Sequence[Pair]) -> dict[str, Lines]:
    """Return what a control sets of the pairs: no window that is 0 throughout, nor a fixed rate beside windows."""
    drawn: dict[str, Lines] = {}
    for name in _QUANTITIES:
        own = {pair: lines[name, pair] for pair in pairs if (name, pair) in lines}
        if any(values.any() for _, values in own.values()):
            drawn[name] = own
    varies = {name for name, own in drawn.items() if any(np.ptp(values) for _, values in own.values())}
    if "window_bytes" in varies and "rate_bps" not in varies:
        drawn.pop("rate_bps", None)
    return drawn


def _last_ends(records: Records) -> dict[tuple[int, int], int] | None:
    """Return when the last message of each pair of NPUs ended; None: the run was stopped, or didn't record them."""
    table = table_of(records, "completions") or table_of(records, "flows")
    if table is None or stop_of(records.metadata):
        return None
    ends: dict[tuple[int, int], int] = {}
    for batch in table.batches(["source", "destination", "end_ps"]):
        order = np.argsort(batch["end_ps"], kind="stable")
        pairs = zip(*(batch[name][order].tolist() for name in ("source", "destination")), strict=True)
        for pair, end_ps in dict(zip(pairs, batch["end_ps"][order].tolist(), strict=True)).items():
            ends[pair] = max(end_ps, ends.get(pair, 0))
    return ends


def _whose(pairs: Sequence[Pair]) -> str:
    """Return in words between which NPUs: both ends, where all pairs have it in common."""
    ends = [sorted({pair[end] for pair in pairs}) for end in (0, 1)]
    if not pairs or all(len(each) > 1 for each in ends):
        return f"of {counted(len({pair[:2] for pair in pairs}), 'pair of NPUs', 'pairs of NPUs')}"
    source, to = (f"NPU {each[0]}" if len(each) == 1 else f"{len(each)} NPUs" for each in ends)
    return f"from {source} to {to}"


def _panel(name: str, lines: Lines, pairs: Sequence[Pair], until: Mapping[Pair, int], time: Unit, x: Axis) -> Panel:
    most = max(int(values.max()) for _, values in lines.values())
    word, _, unit = _QUANTITIES[name]
    scale, unit_name = {"rate_bps": unit, "rtt_ps": time_unit(most)}.get(name) or size_unit(most)
    curves, limits = [], name == "window_bytes"
    for pair, (times, values) in lines.items():
        within = times <= until[pair]
        at, y = steps(times[within], values[within], until[pair])
        y = np.where((y == 0) & limits, np.nan, y / scale)
        named = f"NPU {pair[0]} to {pair[1]}" + (f", queue pair {pair[2]}" if pair[2] else "")
        curves.append(Curve(at / time[0], y, step=True, width=0.8, name=named, colour=COLOURS[pairs.index(pair)]))
    note = _NO_LIMIT if any(np.isnan(np.asarray(curve.y)).any() for curve in curves) else ""
    return Panel(x, Axis(word, unit_name, 0, 1.06 * most / scale, grid=True), curves, note=note, height=1.4)


def _chosen(known: dict[Pair, int], select: Sequence[str]) -> list[Pair]:
    """Return the pairs named, as 0-1, with all their queue pairs."""
    found: list[Pair] = []
    for word in select:
        match = required(
            _PAIR.fullmatch(word), f"pair '{word}' is not two NPUs: write 0-1 for what NPU 0 sends to NPU 1"
        )
        ends = int(match[1]), int(match[2])
        own = sorted(pair for pair in known if pair[:2] == ends)
        refuse(not own, f"pair '{word}': nothing was recorded from NPU {ends[0]} to NPU {ends[1]}")
        found += own
    refuse(len(found) > len(COLOURS), f"{len(found)} pairs are selected, expected at most {len(COLOURS)}")
    return found


def _on_page(runs: Sequence[Shown], detail: int) -> Figure:
    """Return a plot for each quantity of each run, a line for each of the pairs with most changes."""
    end_ps = max(shown.finish_ps for shown in runs)
    time = time_unit(end_ps, 1)
    bins = min(_MOST_BINS, detail)
    found = [_curves(shown, end_ps, bins) for shown in runs]
    x = Axis(time_of(*(shown.run for shown in runs)), time[1], 0, end_ps / time[0])
    panels: list[Panel] = []
    notes: list[str] = []
    for quantity, (_, name, (factor, unit)) in _QUANTITIES.items():
        own = [each.get(quantity, (Steps[Pair](end_ps, bins), [])) for each in found]
        highest = max(_limited(curves, pairs) for curves, pairs in own)
        for shown, (curves, pairs) in zip(runs, own, strict=True):
            if pairs and not _limited(curves, pairs):
                notes.append(f"{shown.name}: no {name} was ever limited.")
            elif pairs:
                y = Axis(name, unit, 0, 1.05 * highest / factor)
                ends = _last_ends(shown.run)
                lines = [
                    Curve(curves.edges_ps / time[0], _ended(curves, pair, ends) / factor, step=True,
                          colour=ON_PAGES[index],
                          name=f"{pair[0]} → {pair[1]}" + (f", queue pair {pair[2]}" if pair[2] else ""))
                    for index, pair in enumerate(pairs[:MOST_PAIRS])
                ]  # fmt: skip
                panels.append(Panel(x, y, lines, f"{shown.name}: {name}", height=3))
                if any(np.isinf(curves.curve(pair)).any() for pair in pairs[:MOST_PAIRS]):
                    notes.append(f"{shown.name}: {_NO_LIMIT}.")
                if len(pairs) > MOST_PAIRS:
                    notes.append(f"{shown.name}, {name}: {MOST_PAIRS} pairs of {len(pairs)}, those with most changes.")
    if not panels and not any(table_of(shown.run, name) for shown in runs for name in _TABLES):
        over_tcp = how_to_record(runs[0].run, "connections")
        raise Missing(f"{remedy_of(runs[0], 'queue_pairs')} (RoCE), or {over_tcp} (TCP)")
    if not panels:
        return Figure([], notes or ["No rate or window was ever seen."])
    drawn = (shown for shown, curves in zip(runs, found, strict=True) if curves)
    notes += [f"{shown.name}: {_OF_MESSAGES}" for shown in drawn if _has_many(shown.run)]
    return Figure(panels, [*notes, f"The highest value in each {ordinal(bins)} of the time."])


def _ended(curves: Steps[Pair], pair: Pair, ends: dict[tuple[int, int], int] | None) -> Real:
    """Return a pair's curve until its last message ended, without what is without limit."""
    found = curves.curve(pair)
    return np.where(np.isinf(found) | (curves.edges_ps > (ends or {}).get(pair[:2], np.inf)), np.nan, found)


def _limited(curves: Steps[Pair], pairs: Sequence[Pair]) -> float:
    """Return the highest value that was a limit; 0 of none."""
    found = np.concatenate([np.zeros(1), *(curves.curve(pair) for pair in pairs)])
    return float(found[np.isfinite(found)].max())


def _curves(shown: Shown, end_ps: int, bins: int) -> dict[str, tuple[Steps[Pair], list[Pair]]]:
    """Return of each quantity the values of each pair, and the pairs, those with most of them first."""
    curves: dict[str, Steps[Pair]] = {}
    counts: dict[str, dict[Pair, int]] = {}
    for table in filter(None, (table_of(shown.run, name) for name in _TABLES)):
        for quantity, pair, times, values in _rows(table):
            limits = np.where((values == 0) & (quantity == "window_bytes"), np.inf, values)
            curves.setdefault(quantity, Steps[Pair](end_ps, bins)).add(pair, times, limits)
            own = counts.setdefault(quantity, {})
            own[pair] = own.get(pair, 0) + len(times)
    return {name: (curves[name], sorted(own, key=lambda pair: (-own[pair], pair))) for name, own in counts.items()}


def _rows(table: Recorded) -> Iterator[tuple[str, Pair, Numbers, Numbers]]:
    """Yield quantities, pairs, and some of the times and values of these in order."""
    ends = ["source", "destination", *(["queue_pair"] if "queue_pair" in table.columns else [])]
    for batch in table.batches(["time_ps", *ends, "quantity", "value"]):
        for quantity in dict.fromkeys(batch["quantity"].tolist()):
            rows = np.flatnonzero(batch["quantity"] == quantity)
            pairs = np.zeros((3, len(rows)), dtype=np.int64)
            for index, name in enumerate(ends):
                pairs[index] = batch[name][rows]
            order = np.lexsort((rows, *pairs[::-1]))
            edges = np.flatnonzero(np.diff(pairs[:, order]).any(axis=0)) + 1
            for part in np.split(order, edges):
                source, destination, number = pairs[:, part[0]].tolist()
                yield quantity, (source, destination, number), batch["time_ps"][rows[part]], batch["value"][rows[part]]


KIND = Kind(
    "rates",
    "rates and windows of queue pairs or connections, over time",
    _in_file,
    Section("Rates and windows", "What congestion control let senders do, by pair of NPUs.", _on_page),
    any_of=_TABLES,
    selects="pairs of NPUs, as 0-1",
)
