"""A study's result for a terminal: a table of each part, what failed, where the files are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from astra_ns3.experiments.forecasting.costs import PROGRAM_SECONDS
from astra_ns3.report.alignment import aligned, clock, table
from astra_ns3.report.validation import bound_word
from astra_ns3.studies.checking import PointForecast
from astra_ns3.studies.expansion import Expansion, Part
from astra_ns3.studies.figures.data import DONE, label_text
from astra_ns3.studies.means import has_several_seeds
from astra_ns3.studies.result import StudyResult, Warned
from astra_ns3.studies.rows_text import best_lines, measure_heading, measure_text, shown_measures
from astra_ns3.studies.tables import NOT_PLAYED
from astra_ns3.studies.task import PointOutcome
from astra_ns3.units import counted, format_bytes

# Of a part, on a terminal.
_MOST_ROWS = 40
_MOST_FAILURES = 20
_MOST_WARNINGS = 10


def study_text(result: StudyResult) -> str:
    """The tables, for people."""
    expansion = result.expansion
    runs = {point.address for point in expansion.points}
    failures = result.failures
    there = len(runs) - result.played
    said = f"{counted(len(expansion.points), 'point', 'points')}, {counted(len(runs), 'run', 'runs')}"
    rows = [("study", expansion.study.title), ("preset", expansion.preset or "none"), ("points", said)]
    rows.append(("played", f"{result.played} now, {there} were there, {len(failures)} failed"))
    parts = [aligned(rows), *(_part_text(result, part) for part in expansion.parts)]
    if failures:
        lines = [(name, str(outcome.message)) for name, outcome in failures[:_MOST_FAILURES]]
        more = f"\n  and {len(failures) - _MOST_FAILURES} more" if len(failures) > _MOST_FAILURES else ""
        parts.append(f"failed\n{aligned(lines, indent='  ')}{more}")
    parts += warned_text(result.warned)
    parts.append(aligned([("page", str(result.folder / "index.html")), ("table", str(result.folder / "study.csv"))]))
    return "\n\n".join(parts)


def warned_text(warnings: Sequence[Warned]) -> list[str]:
    """Return the warnings of runs as a paragraph, or nothing."""
    lines: list[tuple[str, str]] = []
    for words, runs, points in warnings[:_MOST_WARNINGS]:
        lines += [(counted(runs, "run", "runs"), words), *[("", points)] * bool(points)]
    more = f"\n  and {len(warnings) - _MOST_WARNINGS} more" if len(warnings) > _MOST_WARNINGS else ""
    return [f"warned\n{aligned(lines, indent='  ')}{more}"] * bool(lines)


def _part_text(result: StudyResult, part: Part) -> str:
    rows, seed, file = [row for row in result.mean_rows if row["part"] == part.name], "seeds", "means.csv"
    if not has_several_seeds(rows):
        rows, seed, file = [row for row in result.rows if row["part"] == part.name], "seed", "study.csv"
    axes, measures = [axis.name for axis in part.axes], shown_measures(part, rows)
    status = ["status"] if any(row["status"] != DONE for row in rows) else []
    lines = [[*axes, seed, *map(measure_heading, measures), *status]]
    for row in rows[:_MOST_ROWS]:
        values = [measure_text(row, name) or "-" for name in measures]
        lines.append(
            [*(label_text(row[axis]) for axis in axes), str(row[seed]), *values, *(row[name] for name in status)]
        )
    spread = f"\n  a +- b: a mean and its standard deviation over {seed}" if file == "means.csv" else ""
    more = f"\n  and {counted(len(rows) - _MOST_ROWS, 'more row')} in {file}" if len(rows) > _MOST_ROWS else ""
    best = "".join(f"\n  {line}" for line in best_lines(result.best.values(), part))
    return f"{part.name}: {part.title}\n{table(lines, indent='  ')}{more}{spread}{best}"


def list_text(expansion: Expansion, outcomes: Mapping[str, PointOutcome], guesses: Mapping[str, PointForecast]) -> str:
    """The points, which of them are done, and what the others will take."""
    lines = [["point", "state", "forecast", "run"]]
    known: set[str] = set()
    for point in expansion.points:
        guess = guesses.get(point.address)
        played = "unknown" if point.address not in outcomes else "-"
        again = "the same run as above" if point.address in known else clock(guess.seconds) if guess else played
        known.add(point.address)
        lines.append([point.name, state_of(point.address, outcomes), again, point.address[:8]])
    return f"{table(lines)}\n\n{aligned(_totals(expansion, outcomes, guesses))}"


def state_of(address: str, outcomes: Mapping[str, PointOutcome]) -> str:
    """``done``, ``failed`` or ``not played``."""
    outcome = outcomes.get(address)
    return NOT_PLAYED if outcome is None else outcome.status


def _totals(
    expansion: Expansion, outcomes: Mapping[str, PointOutcome], guesses: Mapping[str, PointForecast]
) -> list[tuple[str, str]]:
    runs = list(dict.fromkeys(point.address for point in expansion.points))
    left = [address for address in runs if address not in outcomes]
    known = [guesses[address] for address in left if address in guesses]
    seconds, most = sum(guess.seconds for guess in known), max((guess.bytes for guess in known), default=0)
    failed = sum(outcomes[address].status != DONE for address in runs if address in outcomes)
    rows = [
        ("points", f"{len(expansion.points)} in {counted(len(expansion.parts), 'part', 'parts')}"),
        ("runs", f"{len(runs)}: {len(runs) - len(left) - failed} done, {failed} failed, {len(left)} to play"),
    ]
    if left:
        seconds += PROGRAM_SECONDS
        unknown = f", and {len(left) - len(known)} without a forecast" if len(known) < len(left) else ""
        bound = bound_word(any(guess.leaves_out for guess in known), any(guess.may_be_less for guess in known))
        said = f"{bound}{clock(seconds)} of one core, start included{unknown}"
        rows.append(("forecast", f"{said}; at most {format_bytes(most)} a run"))
    return rows
