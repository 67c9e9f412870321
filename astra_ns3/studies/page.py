"""A study's page: what was played, its figures, the tables of its parts, what failed, and the command for it again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from astra_ns3.experiments.versions import versions
from astra_ns3.frozen import dataclass
from astra_ns3.report.alignment import clock
from astra_ns3.report.page.markup import Markup, escaped, html_file, joined, table, tag
from astra_ns3.studies.expansion import Part, in_brackets
from astra_ns3.studies.figures.data import DONE, Row, label_text
from astra_ns3.studies.means import has_several_seeds
from astra_ns3.studies.measures import MEASURES
from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.rows_text import best_lines, measure_heading, measure_text, shown_measures
from astra_ns3.units import counted

# The page loads nothing, whatever is written in it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
NOTHING = Markup()
STUDY = "study"
_STYLE = "figure svg { width: 100%; height: auto; background: #fff; }"


@dataclass(frozen=True)
class Picture:
    """A figure of a part, as SVG."""

    part: str
    name: str
    svg: str


def page(
    result: StudyResult, pictures: Sequence[Picture], command: str, first: Markup = NOTHING, kind: str = STUDY
) -> str:
    """One HTML file that loads nothing. ``command``: plays the study again; ``first``: sections before all others.

    ``kind``: of what the page is.
    """
    sections = [
        _part(result, part, [each for each in pictures if each.part == part.name]) for part in result.expansion.parts
    ]
    parts = [_header(result, kind), first, _failures(result), _warned(result), *sections, the_same_again(command)]
    return page_of(f"{result.expansion.study.title}: astra-ns3 {kind}", joined(parts))


def the_same_again(command: str) -> Markup:
    """Return the section with the command that makes a page again."""
    return tag("section", tag("h2", "The same again"), tag("pre", command))


def page_of(title: str, content: Markup) -> str:
    """Return an HTML file around its content, which loads nothing."""
    known = versions()
    foot = f"astra-ns3 {known['astra-ns3']}, ns-3 {known['ns3']}."
    return html_file(title, content, foot, policy=_POLICY, style=f"{_STYLE}\n")


def drawing(svg: str, name: str) -> Markup:
    """Return a picture in a page, from the text of its SVG file."""
    return tag("figure", Markup(svg[svg.index("<svg") :]), id=name)


def _header(result: StudyResult, kind: str) -> Markup:
    expansion = result.expansion
    preset = f", preset {expansion.preset}" if expansion.preset else ""
    runs = {point.address for point in expansion.points}
    seconds = sum(result.outcomes[each].cost.get("wall_seconds", 0.0) for each in runs if each in result.outcomes)
    words = (
        f"{counted(len(expansion.points), 'point', 'points')}, {counted(len(runs), 'run', 'runs')}{preset}; "
        f"{clock(seconds)} of one worker"
    )
    return tag(
        "header", tag("p", f"astra-ns3 {kind}", class_="kicker"), tag("h1", expansion.study.title), tag("p", words)
    )


def _failures(result: StudyResult) -> Markup:
    """The points that failed, each with its error."""
    failures = result.failures
    if not failures:
        return Markup("")
    lines = [tag("li", tag("b", name), f": {outcome.message or 'not complete'}") for name, outcome in failures]
    return tag("div", tag("b", f"{counted(len(failures), 'run', 'runs')} failed"), tag("ul", *lines), class_="warnings")


def _warned(result: StudyResult) -> Markup:
    """The warnings of runs, with how many of them had each."""
    lines = [
        tag("li", tag("b", counted(runs, "run", "runs")), f": {words}{in_brackets(points)}")
        for words, runs, points in result.warned
    ]
    return tag("div", tag("b", "warned"), tag("ul", *lines), class_="warnings") if lines else Markup("")


def _part(result: StudyResult, part: Part, pictures: Sequence[Picture]) -> Markup:
    figures = [drawing(each.svg, f"{part.name}-{each.name}") for each in pictures]
    best = [tag("p", line) for line in best_lines(result.best.values(), part)]
    numbers = tag("details", tag("summary", "The numbers"), *_tables(result, part))
    return tag("section", tag("h2", part.title), *figures, *best, numbers)


def _tables(result: StudyResult, part: Part) -> list[Markup]:
    """The part's points, with the measures that its figures show; before them their means where they have seeds."""
    rows = [row for row in result.rows if row["part"] == part.name]
    means = [row for row in result.mean_rows if row["part"] == part.name]
    points = _table(part, rows, "seed", "run", _run)
    if not has_several_seeds(means):
        return [points]
    return [_table(part, means, "seeds", "status", lambda row: Markup(escaped(row["status"]))), points]


def _table(part: Part, rows: Sequence[Row], seed: str, last: str, last_cell: Callable[[Row], Markup]) -> Markup:
    measures, axes = shown_measures(part, rows), [axis.name for axis in part.axes]
    head = [*axes, seed, *(_heading(name) for name in measures), last]
    body = [
        [
            *(label_text(row[axis]) for axis in axes),
            row[seed],
            *(measure_text(row, each) for each in measures),
            last_cell(row),
        ]
        for row in rows
    ]
    return table(head, body, range(len(axes), len(head) - 1))


def _heading(measure: str) -> str:
    unit, heading = MEASURES[measure].unit, measure_heading(measure)
    return heading if not unit or measure.endswith(f"_{unit}") else f"{heading} ({unit})"


def _run(row: Row) -> Markup:
    """A link to the point's folder, or why there are no numbers."""
    if row["status"] != DONE:
        return Markup(escaped(row["status"]))
    return tag("a", tag("code", row["address"][:8]), href=f"points/{row['address']}/")
