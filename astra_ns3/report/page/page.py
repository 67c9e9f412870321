"""The page as a whole, and its size: at most so many bytes of data, whatever the runs were."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from astra_ns3.errors import needing, refuse
from astra_ns3.report.figures.figure import Figure
from astra_ns3.report.figures.with_plotly import layout, traces
from astra_ns3.report.page.configuration import Defaults
from astra_ns3.report.page.markup import Markup, data_script, html_file, joined, page_part, plain_labels, tag
from astra_ns3.report.page.sections import (
    comparisons,
    in_force,
    network_changes,
    numbers_on_top,
    slowest,
    warnings,
    words,
)
from astra_ns3.report.page.training import exposed_by_group, memory_by_stage
from astra_ns3.report.pictures.kind import Section
from astra_ns3.report.pictures.kinds import KINDS
from astra_ns3.report.pictures.shown import Missing, Shown
from astra_ns3.report.records import place_of
from astra_ns3.report.tables import Records, is_of_flows
from astra_ns3.units import counted
from astra_ns3.whole_file import whole_file

MOST_DATA_BYTES = 1_000_000
"""The most bytes of a page, besides plotly.js, which has about 4.8 MB."""
MOST_DETAIL, LEAST_DETAIL = 400, 25
"""About how many points a curve may have; halved until the page is small enough."""
_MOST_COLUMNS = 3
_PIXELS_PER_INCH = 100
# The page loads nothing, whatever is written in it.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


def report_page(runs: Sequence[Records], defaults: Defaults, again: Sequence[bool] = ()) -> str:
    """One HTML page of the runs, side by side; the same runs give the same page.

    ``defaults``: of the options of a run, by name. ``again``: which runs can be played again (default: none). Raises
    :class:`~astra_ns3.errors.InputError` if plotly is missing, a table can't be read, or the runs are too many for one
    page.
    """
    script = _plotly()
    shown = _named(runs)
    told = _told(shown, again or [False] * len(shown))
    detail = MOST_DETAIL
    while True:
        content = _content(shown, told, defaults, detail)
        if len(content.encode()) <= MOST_DATA_BYTES:
            return _document(shown, content, script)
        refuse(
            detail <= LEAST_DETAIL,
            f"{len(runs)} runs make more than {MOST_DATA_BYTES:,} bytes of figures; report fewer",
        )
        detail //= 2


def write_report(
    runs: Sequence[Records],
    path: str | os.PathLike[str],
    defaults: Defaults,
    again: Sequence[bool] = (),
) -> None:
    """Write the page; raises InputError as :func:`report_page` does, and if the file can't be written."""
    text = report_page(runs, defaults, again)
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def _plotly() -> str:
    with needing("plotly", "reports need"):
        from plotly.offline import get_plotlyjs
    return str(get_plotlyjs())


def _named(runs: Sequence[Records]) -> list[Shown]:
    """The runs by the names of their folders; by whole paths where these are alike, and numbered where those are."""
    whole = [place_of(run) for run in runs]
    last = [Path(name).absolute().name for name in whole]
    names = [name if last.count(name) == 1 else path for name, path in zip(last, whole, strict=True)]
    names = [name if names.count(name) == 1 else f"{name} ({index + 1})" for index, name in enumerate(names)]
    return [Shown(run, name, index) for index, (run, name) in enumerate(zip(runs, names, strict=True))]


class _Told(NamedTuple):
    """The parts that don't depend on how much detail there is room for, and take longest to find."""

    words: Markup
    comparisons: tuple[tuple[str, Markup], ...]
    slowest: Markup


def _told(runs: Sequence[Shown], again: Sequence[bool]) -> _Told:
    return _Told(words(runs, again), tuple(comparisons(runs)), slowest(runs))


def _content(runs: Sequence[Shown], told: _Told, defaults: Defaults, detail: int) -> Markup:
    """All that depends on the runs: text first, then the data of figures."""
    only_flows = all(is_of_flows(shown.run) for shown in runs)
    kinds = [(kind.name, kind.section) for kind in KINDS if kind.of_flows or not only_flows]
    made = [(name, section, _made(section, runs, detail)) for name, section in kinds if section]
    hint = tag("p", "Marked values differ from their default, or have none.", class_="note")
    return joined(
        [
            _header(runs),
            numbers_on_top(runs),
            warnings(runs),
            _section("Why it took so long", told.words),
            _table("What was exposed, by group", exposed_by_group(runs)),
            _table("Memory by stage", memory_by_stage(runs)),
            _table("Changes of the network", network_changes(runs)),
            *(_section(heading, body) for heading, body in told.comparisons),
            *(
                _figure(name, section, figure, len(runs))
                for name, section, figure in made
                if not isinstance(figure, Missing)
            ),
            tag("section", told.slowest) if told.slowest else "",
            _not_shown([(section, figure) for _, section, figure in made if isinstance(figure, Missing)]),
            _section("Configuration in force", hint, in_force(runs, defaults, detail)),
            data_script("figures", [panel for *_, figure in made for panel in _data(figure)]),
        ]
    )


def _made(section: Section, runs: Sequence[Shown], detail: int) -> Figure | Missing:
    try:
        return section.make(runs, detail)
    except Missing as missing:
        return missing


def _header(runs: Sequence[Shown]) -> Markup:
    kicker = tag("p", "astra-ns3 report", class_="kicker")
    return tag("header", kicker, tag("h1", _title(runs)), tag("p", _line(runs)))


def _section(heading: str, *body: object, name: str | None = None) -> Markup:
    return tag("section", tag("h2", heading), *body, id=name)


def _table(heading: str, body: Markup) -> Markup:
    """A section, if it has something in it."""
    return _section(heading, body) if body else Markup()


def _not_shown(missing: Sequence[tuple[Section, Missing]]) -> Markup:
    """A line for each figure that has no data, a click away, with what would give it some."""
    lines = [tag("li", tag("strong", section.heading), f": {lacking}") for section, lacking in missing]
    summary = tag("summary", "Figures without data", tag("small", f"{len(lines)} not shown"))
    return tag("section", tag("details", summary, tag("ul", *lines))) if lines else Markup()


def _figure(name: str, section: Section, made: Figure, runs: int) -> Markup:
    """A section with the places of its panels. A run that is alone need not be named."""
    intro = tag("p", section.words, class_="words")
    panels = []
    for panel in made.panels:
        label = f"{section.heading}: {panel.title}"
        place = tag(
            "div",
            class_="panel",
            style=f"height:{round(_PIXELS_PER_INCH * panel.height)}px",
            role="img",
            aria_label=label,
        )
        panels.append(tag("figure", "" if runs == 1 and panel.of_run else tag("figcaption", panel.title), place))
    notes = [tag("p", note, class_="note") for note in made.notes]
    grid = tag("div", *panels, class_="panels", style=f"--columns:{_columns(len(panels), runs)}")
    return _section(section.heading, intro, grid, *notes, name=name)


def _columns(panels: int, runs: int) -> int:
    """Panels side by side: those of all runs, if there are not too many."""
    return runs if 1 < runs <= _MOST_COLUMNS and panels % runs == 0 else max(1, min(_MOST_COLUMNS, panels))


def _data(made: Figure | Missing) -> list[dict[str, object]]:
    """The data that the script draws, panel by panel."""
    panels = () if isinstance(made, Missing) else made.panels
    return [{"data": plain_labels(traces(panel)), "layout": plain_labels(layout(panel))} for panel in panels]


def _title(runs: Sequence[Shown]) -> str:
    return " · ".join(shown.name for shown in runs)


def _line(runs: Sequence[Shown]) -> str:
    """The workload, where it is the same for all."""
    told = {}
    for shown in runs:
        run, workload = shown.run.metadata, shown.run.metadata["workload"]
        told[
            f"{Path(workload['source']).name} ({workload['loop']}) on {counted(run['npus'], 'NPU')}, {run['backend']}"
        ] = True
    return "; ".join(told)


def _document(runs: Sequence[Shown], content: Markup, plotly: str) -> str:
    versions = runs[0].run.metadata["versions"]
    foot = (
        f"astra-ns3 {versions['astra-ns3']}, ns-3 {versions['ns3']}. Figures by plotly.js (MIT licence), in this file."
    )
    title = f"{_title(runs)}: astra-ns3 report"
    return html_file(title, content, foot, policy=_POLICY, scripts=(plotly, f"\n{page_part('page.js')}"))
