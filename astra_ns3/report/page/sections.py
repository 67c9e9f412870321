"""The page's parts besides figures: numbers on top, words, warnings, comparison, tables, configuration."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

import numpy as np

from astra_ns3.frozen import replace
from astra_ns3.report.alignment import clock
from astra_ns3.report.comparison.algorithms import algorithm_lines
from astra_ns3.report.comparison.compare import compare
from astra_ns3.report.comparison.text import difference_row, key_text, value_text
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.exposed_text import npu_computing, npu_time, scale_rows
from astra_ns3.report.floor_text import allowed_rows
from astra_ns3.report.flow_text import flow_numbers
from astra_ns3.report.foreseen_text import foreseen_rows, throughput_numbers
from astra_ns3.report.page.configuration import Defaults, Key, configuration
from astra_ns3.report.page.markup import Markup, joined, table, tag, unbroken
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.records import COLLECTIVES, changes_of, never_started, ps_of, shown_part, stop_of, table_of
from astra_ns3.report.scenario_text import EVENT_HEAD, event_rows
from astra_ns3.report.signals import Signals
from astra_ns3.report.summary import hidden_rows
from astra_ns3.report.tables import Records, is_of_flows
from astra_ns3.units import counted, format_bytes, format_time

_MOST_DIFFERENCES = 15
# Counters of a run that are 0 where nothing went wrong.
_MISHAPS = ("dropped_frames", "lost_frames", "retransmissions", "timeouts", "pauses", "marked_frames")
_MOST_KEYS = 400
_OPEN_LINES = 8


def numbers_on_top(runs: Sequence[Shown]) -> Markup:
    """The numbers that everybody asks for first: cards of one run, a table of several."""
    if len(runs) == 1:
        cards = (
            tag("div", tag("dt", name), tag("dd", value, tag("small", more) if more else ""))
            for name, value, more in _numbers(runs[0].run)
        )
        return tag("dl", *cards, class_="cards")
    columns = [_numbers(shown.run) for shown in runs]
    names = list(dict.fromkeys(name for column in columns for name, _, _ in column))
    by_name = [{name: (value, more) for name, value, more in column} for column in columns]
    rows = [[tag("div", name), *(_cell(*column.get(name, ("-", ""))) for column in by_name)] for name in names]
    return table(["", *(shown.name for shown in runs)], rows, range(1, len(runs) + 1))


def _cell(value: str, more: str) -> Markup:
    return joined([unbroken(value), tag("small", more) if more else ""])


def _numbers(run: Records) -> list[tuple[str, str, str]]:
    """Name, number, and what stands small beside it."""
    metadata = run.metadata
    statistics, timing = metadata["statistics"], metadata["timing"]
    restarts = (metadata.get("job") or {}).get("restarts")
    tried = (
        f"of all {restarts + 1} tries; computing, waiting and throughput (without loading a checkpoint) are of the last"
        if restarts
        else ""
    )
    start_ps = (metadata.get("job") or {}).get("start_ps")
    since = f"from the job's start at {format_time(start_ps)}" if start_ps else ""
    state = (stop_of(metadata) or "") if metadata["complete"] else "incomplete"
    more = "; ".join(filter(None, (state, since, tried)))
    if never_started(metadata):
        return [("finish", "-", "; ".join(filter(None, (state, "the job never started"))))]
    found = [("finish", format_time(metadata["finish_ps"]), more)]
    found += [(name, "", words) for name, words in scale_rows(metadata)]
    if is_of_flows(run):
        found += [("NPUs", f"{metadata['npus']:,}", ""), *flow_numbers(metadata["flows"])]
    else:
        whole_ps, npu = metadata["compute_ps"] + metadata["exposed_ps"], metadata["report_npu"]
        computing = npu_computing(metadata["compute_ps"], whole_ps, npu)
        exposed = npu_time(metadata["exposed_ps"], whole_ps, npu)
        found += [
            (name, time, share.removesuffix(")")) if share else (name, "-", words)
            for name, words in (("compute", computing), ("exposed communication", exposed))
            for time, _, share in [words.partition("  (")]
        ]
        found += [
            *((name, "", words) for name, words in hidden_rows(metadata)),
            ("NPUs", f"{metadata['npus']:,}", ""),
            ("collectives", f"{metadata['collectives']:,}", counted(metadata["chunks"], "chunk", "chunks")),
        ]
    of_all = "of all jobs" if "job" in metadata else ""  # what a tenant's network counts isn't told apart
    found += [
        *((name, number, more) for name, words in allowed_rows(metadata) for number, _, more in [words.partition(" ")]),
        ("messages", f"{statistics['messages']:,}" if "messages" in statistics else "-", of_all),
        ("wall time", clock(timing["wall_seconds"]), f"{statistics.get('events', 0):,} events {of_all}".strip()),
    ]
    found += throughput_numbers(metadata)
    found += [(name, "", words) for name, words in foreseen_rows(metadata)]
    return found + [
        (name.replace("_", " "), f"{statistics[name]:,}", of_all) for name in _MISHAPS if statistics.get(name)
    ]


def words(runs: Sequence[Shown], again: Sequence[bool]) -> Markup:
    """Return why each run took as long as it did: short paragraphs open, long ones a click away.

    ``again``: which runs can be played again.
    """
    parts: list[object] = []
    for shown, plays_again in zip(runs, again, strict=True):
        head, *paragraphs = replace(explain(shown.run), again=plays_again).text().split("\n\n")
        parts += [tag("h3", shown.name) if len(runs) > 1 else "", tag("pre", head)]
        for paragraph in paragraphs:
            title, _, rest = paragraph.partition("\n")
            is_open = "open" if rest.count("\n") < _OPEN_LINES else None
            parts.append(
                tag("details", tag("summary", title), _hanging(rest), open=is_open) if rest else tag("p", title)
            )
    return joined(parts)


def _hanging(text: str) -> Markup:
    """Lines as they are, of which each goes on two letters behind its own beginning where it is too long."""
    lines = text.splitlines(keepends=True)
    return tag("pre", *(tag("span", line, style=f"--in:{len(line) - len(line.lstrip(' ')) + 2}ch") for line in lines))


def warnings(runs: Sequence[Shown]) -> Markup:
    """Return the warnings of each run and why it was stopped; nothing if there are none."""
    lines = []
    for shown in runs:
        stopped = shown.run.metadata["stopped"]
        said = [*([f"stopped: {stopped['message']}"] if stopped else []), *shown.run.metadata["warnings"]]
        lines += [f"{shown.name}: {line}" if len(runs) > 1 else line for line in said]
    return tag("ul", *(tag("li", line) for line in lines), class_="warnings") if lines else Markup()


def network_changes(runs: Sequence[Shown]) -> Markup:
    """Return when which part of each run's network changed, such as links that failed; nothing if none did."""
    parts = []
    for shown in runs:
        rows, left = event_rows(changes_of(shown.run))
        more = f" {left:,} more are in run.json." if left else ""
        start_ps = (shown.run.metadata.get("job") or {}).get("start_ps")
        job = f", and the job started at {format_time(start_ps)}" if start_ps else ""
        note = tag("p", f"Times count from the run's start{job}.{more}", class_="note")
        parts += [tag("h3", shown.name) if len(runs) > 1 else Markup(), table(EVENT_HEAD, rows), note] if rows else []
    return joined(parts)


def comparisons(runs: Sequence[Shown]) -> Iterator[tuple[str, Markup]]:
    """Heading and tables of each further run against the first: of jobs, against the first job of the same name."""
    jobs = [(shown.run.metadata.get("job") or {}).get("name") for shown in runs]
    for place, other in enumerate(runs[1:], 1):
        job = jobs[place]
        number = jobs.index(job) if job in jobs[:place] else 0
        first = runs[number]
        if job and jobs[number] not in (job, None):
            continue
        comparison = compare(first.run, other.run, (first.name, other.name))
        heading = f"{other.name} against {first.name}"
        if comparison.equal:
            yield heading, tag("p", "Nothing differs.")
            continue
        head = ("", first.name, other.name)
        parts: list[object] = [tag("p", note) for note in comparison.notes]
        keys = [
            (key_text(each.key), *(tag("span", value_text(each.key, value)) for value in (each.a, each.b)))
            for each in comparison.told_settings
        ]
        parts.append(_cut("settings", head, keys, ()))
        parts += [tag("p", line, class_="note") for line in comparison.other_settings]
        parts += [tag("p", f"algorithm of {line}") for line in algorithm_lines(comparison.algorithms)]
        for group in comparison.groups:
            rows = [difference_row(one) for one in group.told]
            parts.append(_cut(comparison.heading(group.name), (*head, "change", ""), rows, (1, 2, 3, 4)))
        yield heading, joined(parts)


def _cut(name: str, head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> Markup:
    if not rows:
        return Markup()
    more = len(rows) - _MOST_DIFFERENCES
    left_out = tag("p", f"and {more:,} more: astra-ns3 compare --json has all", class_="note") if more > 0 else ""
    return joined([tag("h3", name), table(head, rows[:_MOST_DIFFERENCES], numbers), left_out])


def slowest(runs: Sequence[Shown]) -> Markup:
    """The collectives and messages that took longest; nothing of what was not recorded."""
    parts: list[object] = []
    for heading, find in (("Slowest collectives", slowest_collectives), ("Slowest messages", slowest_messages)):
        asked = [shown for shown in runs if find is slowest_messages or not is_of_flows(shown.run)]
        found = [(shown, rows) for shown in asked if (rows := find(shown.run)) is not None]
        parts.append(tag("h2", heading) if found else "")
        for shown, rows in found:
            parts += [tag("h3", shown.name) if len(runs) > 1 else "", table(*rows)]
    return joined(parts)


def in_force(runs: Sequence[Shown], defaults: Defaults, detail: int) -> Markup:
    """Return each key with its values; those that differ from their default, or between runs, are marked."""
    head = ["", *(shown.name if len(runs) > 1 else "value" for shown in runs)]
    parts = []
    for name, keys in configuration(runs, defaults).items():
        kept = keys[: min(_MOST_KEYS, 2 * detail)]
        changed = sum(any(key.changed) for key in keys)
        told = any(mark is not None for key in keys for mark in key.changed)
        said = f"{len(keys)} keys" + (f", {changed} not at their default" if told else "")
        rows = [[_name(key), *(_value(key, index) for index in range(len(runs)))] for key in kept]
        left_out = f"and {len(keys) - len(kept):,} more in run.json" if len(kept) < len(keys) else ""
        parts.append(
            tag("details", tag("summary", name.replace("_", " "), tag("small", said)), table(head, rows),
                tag("p", left_out, class_="note") if left_out else "")
        )  # fmt: skip
    return joined(parts)


def _name(key: Key) -> Markup:
    return tag("code", key_text(key.name), class_="differs" if key.differs else None)


def _value(key: Key, run: int) -> Markup:
    text = value_text(key.name, key.values[run])
    mark = key.changed[run]
    title = "differs from the default, or has none" if mark else None
    return tag("span", text, class_="changed" if mark else None, title=title)


MOST_ROWS = 12

Found = tuple[Sequence[str], Sequence[Sequence[str]], Sequence[int]]
"""Head, rows, and the columns that hold numbers."""

_ENDS = ("source", "destination")
_COLUMNS = (*_ENDS, "collective", "chunk", "phase", "bytes", "start_ps", "end_ps")


def slowest_collectives(run: Records) -> Found | None:
    """The collectives that took longest, of all that ended; None if there is none."""
    ended = [row for row in run.rows(COLLECTIVES) if row["duration_us"]]
    if not ended:
        return None
    rows = [
        (
            row["collective"],
            row["layer"],
            row["iteration"],
            shown_part(run, row["part"]),
            f"{row['kind']} {row['algorithm']}",
            row["npus"],
            format_bytes(int(row["bytes"])),
            format_time(ps_of(row["start_us"]) or 0),
            format_time(ps_of(row["duration_us"]) or 0),
            format_time(ps_of(row["group_duration_us"]) or 0) if "group_duration_us" in row else "",
            row["bus_bandwidth_gbytes_per_s"] and f"{float(row['bus_bandwidth_gbytes_per_s']):.4g}",
        )
        for row in heapq.nlargest(MOST_ROWS, ended, key=lambda row: ps_of(row["duration_us"]) or 0)
    ]
    head = ("", "layer", "pass", "part", "kind", "NPUs", "bytes", "start", "duration", "mean of groups", "bus GB/s")
    return head, rows, (0, 2, 5, 6, 7, 8, 9, 10)


def slowest_messages(run: Records) -> Found | None:
    """The messages but signals that took longest, with what one alone takes if known; None if none was recorded.

    Messages that differ in their ends alone are one row.
    """
    table = table_of(run, "flows") or table_of(run, "accounts")
    if table is None:
        return None
    ideal = "ideal_ps" in table.columns
    columns = (*_COLUMNS, "ideal_ps") if ideal else _COLUMNS
    # By what they have in common: when the first of them was, its two ends, and how many there are.
    longest: dict[tuple[int, ...], tuple[int, int, tuple[int, int], int]] = {}
    done, signals = 0, Signals.of(table)
    for every_message in table.batches(columns):
        kept = ~signals.among(every_message)
        batch = {name: column[kept] for name, column in every_message.items()}
        times = batch["end_ps"] - batch["start_ps"]
        rows_of = np.stack([batch[name] for name in columns[len(_ENDS) :]], axis=1)
        every, first, counts = np.unique(rows_of, axis=0, return_index=True, return_counts=True)
        for index in np.lexsort((first, -times[first]))[:MOST_ROWS]:
            key, row = tuple(every[index].tolist()), int(first[index])
            ends = int(batch["source"][row]), int(batch["destination"][row])
            _, at, shown_ends, count = longest.get(key, (0, -(done + row), ends, 0))
            longest[key] = (int(times[row]), at, shown_ends, count + int(counts[index]))
        longest = dict(heapq.nlargest(MOST_ROWS, longest.items(), key=lambda item: item[1][:2]))
        done += len(times)
    layers = {row["collective"]: f"{row['layer']} {row['kind']}" for row in run.rows(COLLECTIVES)}
    ideal = ideal and any(values[-1] for values in longest)
    rows = []
    for values, (time_ps, _, ends, count) in longest.items():
        of = dict(zip(columns[len(_ENDS) :], values, strict=True))
        alone = (f"{time_ps / of['ideal_ps']:.3g}" if of["ideal_ps"] else "-",) if ideal else ()
        rows.append(
            (
                f"{ends[0]} → {ends[1]}" + (f" and {count - 1:,} more" if count > 1 else ""),
                f"{of['collective']} {layers.get(str(of['collective']), '')}",
                str(of["chunk"]),
                str(of["phase"]),
                format_bytes(of["bytes"]),
                format_time(of["start_ps"]),
                format_time(time_ps),
                *alone,
            )
        )
    what = ("NPUs", "flow" if is_of_flows(run) else "collective")
    head = (*what, "chunk", "phase", "bytes", "start", "time", *(("slowdown",) if ideal else ()))
    return head, rows, (2, 3, 4, 5, 6, 7)
