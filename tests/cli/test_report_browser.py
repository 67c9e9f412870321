"""The HTML report in a browser: without a network, without a complaint, every figure drawn, in light and in dark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs
from support.documents.browser import NAMES, WIDTH, browser, opened
from support.lengths import some_slow
from support.recorded_run import US, recorded_run
from support.small_run import small_system
from support.studies import expanded, outcome_of, study_of

import astra_ns3
from astra_ns3.experiments.metadata import usual_options
from astra_ns3.experiments.result import Files
from astra_ns3.network.run_document import MemoryDocument, StopDocument
from astra_ns3.planning.page import PLAN, Shown, Told, save_page, told_page
from astra_ns3.planning.text import page_table_of
from astra_ns3.report.figures.figure import Axis, Curve, Panel
from astra_ns3.report.figures.with_plotly import layout, traces
from astra_ns3.report.page.page import write_report
from astra_ns3.studies.page import Picture
from astra_ns3.studies.page import page as study_page
from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.task import PointOutcome
from astra_ns3.workload.files.astra_sim import parse_workload

pytestmark = pytest.mark.skipif(browser() is None, reason=f"no browser is installed: {', '.join(NAMES)}")

MARKS = ".trace, .bars .point, .heatmaplayer image, .scatterlayer .js-line, .colorbar"
"""What plotly.js draws of data; a panel without data has axes only."""
PHONE_WIDTH = 390
KINDS = ("ALLREDUCE", "ALLGATHER", "REDUCESCATTER", "ALLTOALL")


@pytest.mark.parametrize("dark", some_slow([False, True], [False]), ids=["light", "dark"])
def test_every_figure_is_drawn_and_the_browser_has_nothing_to_say(tmp_path: Path, dark: bool) -> None:
    runs = [recorded_run(tmp_path / "one"), recorded_run(tmp_path / "two", latency_ps=3 * US)]
    file = tmp_path / "report.html"
    write_report(runs, file, usual_options())
    with opened(file, tmp_path / "profile", dark=dark) as page:
        panels = page.evaluate("document.querySelectorAll('.panel').length")
        assert panels >= 16
        page.wait_for(f"document.documentElement.dataset.drawn === '{panels}'")
        drawn = page.evaluate(
            f"[...document.querySelectorAll('.panel')].map(p => p.querySelectorAll('{MARKS}').length)"
        )
        assert len(drawn) == panels
        assert min(drawn) > 0
        assert page.problems == []
        assert [url for url in page.requests if not url.startswith(("data:", "blob:", file.as_uri()))] == []
        paper, ink = (page.evaluate(f"getComputedStyle(document.body).{name}") for name in ("backgroundColor", "color"))
        assert (brightness(paper) < brightness(ink)) is dark
        label = page.evaluate("getComputedStyle(document.querySelector('.panel .xtick text')).fill")
        assert abs(brightness(label) - brightness(paper)) > 128
        assert page.evaluate("document.documentElement.scrollWidth") == WIDTH
        page.resize(PHONE_WIDTH, 800)
        page.wait_for(f"document.documentElement.scrollWidth === {PHONE_WIDTH}")


SCROLLING = """[...document.querySelectorAll('.scrolls')].filter(table => table.scrollWidth > table.clientWidth)
    .map(table => table.textContent.slice(0, 60))"""
DETAILS = ("layerpass", "NPUscollective")
"""Tables with nine columns, which scroll in their own boxes on a narrow screen."""


def with_memory(folder: Path, **options: int) -> astra_ns3.Result:
    """A run whose words on memory are as long as those of a large model."""
    result = recorded_run(folder, **options)
    parts = {"weights_bytes": 480_800_000, "gradients_bytes": 480_800_000, "optimizer_bytes": 180_300_000}
    stages = [{"stage": str(stage), "peak_bytes": 1_245_000_000, "when": "head", **parts} for stage in range(2)]
    told: MemoryDocument = {
        "capacity_bytes": 80 * 10**9,
        "peak_bytes": 1_245_000_000,
        "fits": True,
        "stages": stages,
    }
    return astra_ns3.Result({**result.metadata, "memory_by_stage": told}, Files(folder=result.folder), result.folder)


def test_two_runs_of_models_fit_a_usual_screen_and_a_narrow_one(tmp_path: Path) -> None:
    runs = [with_memory(tmp_path / "one"), with_memory(tmp_path / "two", latency_ps=3 * US)]
    file = tmp_path / "report.html"
    write_report(runs, file, usual_options())
    with opened(file, tmp_path / "profile") as page:
        for width in (1400, 420):
            page.resize(width, 900)
            page.wait_for(f"document.documentElement.scrollWidth === {width}")
            wide = [words for words in page.evaluate(SCROLLING) if width > 800 or not words.startswith(DETAILS)]
            assert wide == []


OUT_OF_THEIR_PANEL = """[...document.querySelectorAll('.panel')].flatMap(panel => {
    const box = panel.getBoundingClientRect();
    const isOut = text => text.left < box.left - 1 || text.right > box.right + 1;
    return [...panel.querySelectorAll('text')].filter(text => isOut(text.getBoundingClientRect()))
        .map(text => text.textContent);
})"""


CLIPPED = """[...document.querySelectorAll('.legend')].flatMap(legend => {
    const box = legend.querySelector('.bg').getBoundingClientRect();
    const isOut = text => text.bottom > box.bottom + 2 || text.right > box.right + 2;
    return [...legend.querySelectorAll('text')].filter(text => isOut(text.getBoundingClientRect()));
}).length"""


def test_no_legend_of_a_narrow_page_hides_its_end(tmp_path: Path) -> None:
    """A legend that has a line for each of many collectives is higher than half of its figure."""
    rows = [f"layer{number} -1 0 NONE 0 0 NONE 0 0 {kind} 9000 0" for number, kind in enumerate(KINDS)]
    result = astra_ns3.run(
        workload=parse_workload("\n".join(["DATA", str(len(rows)), *rows, ""]), "one"),
        system=small_system(),
        network="inputs/network/roce-16.yaml",
        backend="flow",
        output=tmp_path / "a-run-of-which-the-name-is-long",
    )
    file = tmp_path / "report.html"
    write_report([result] * 4, file, usual_options())
    with opened(file, tmp_path / "profile") as page:
        page.resize(PHONE_WIDTH, 900)
        panels = page.evaluate("document.querySelectorAll('.panel').length")
        page.wait_for("matchMedia('(max-width: 30rem)').matches")
        page.wait_for(f"document.documentElement.dataset.drawn === '{panels}'")
        page.wait_for(f"{CLIPPED} === 0")


@pytest.mark.slow
def test_titles_of_axes_beside_long_names_stay_in_a_narrow_figure(tmp_path: Path) -> None:
    layer = "mlp_moelayer"
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\n{layer} -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 100000 0\n", "one"),
        system=small_system(),
        network="inputs/network/roce-16.yaml",
        record=["accounts"],
        output=tmp_path / "run",
    )
    file = tmp_path / "report.html"
    write_report([result], file, usual_options())
    with opened(file, tmp_path / "profile") as page:
        page.resize(420, 900)
        panels = page.evaluate("document.querySelectorAll('.panel').length")
        page.wait_for("matchMedia('(max-width: 30rem)').matches")
        page.wait_for(f"document.documentElement.dataset.drawn === '{panels}'")
        page.wait_for(f"{OUT_OF_THEIR_PANEL}.length === 0")
        assert page.evaluate("document.querySelectorAll('.modebar').length") == 0  # it would cover what is drawn


def test_the_page_of_a_study_fits_a_narrow_screen(tmp_path: Path) -> None:
    """Words without a space, as names of files are, are cut; tables scroll in their own boxes."""
    part = {"axes": {"comm_scale": [1, 2]}, "title": "a" * 90}
    points = expanded(study_of(one=part)).points
    message = "/".join(["no-file-of-this-name"] * 9)
    stopped: StopDocument = {"kind": "InputError", "message": message, "exit_status": 2}
    outcomes = {
        points[0].address: outcome_of(
            points[0], finish_us=1e6, compute_us=1e6, exposed_us=1e6, floor_us=1e6, of_floor=2.0
        ),
        points[1].address: PointOutcome(points[1].address, "failed", stopped, {}, {}, {}),
    }
    picture = Picture("one", "finish", '<svg viewBox="0 0 900 300" width="900pt" height="300pt"></svg>')
    file = tmp_path / "index.html"
    result = StudyResult(expanded(study_of(one=part)), outcomes, tmp_path)
    file.write_text(study_page(result, [picture], "astra-ns3 study " + "x" * 200), encoding="utf-8")
    with opened(file, tmp_path / "profile") as page:
        page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
        page.resize(420, 900)
        page.wait_for("document.documentElement.clientWidth === 420")
        assert page.evaluate("document.documentElement.scrollWidth") == 420
        assert len(page.evaluate(SCROLLING)) == 1


@pytest.mark.slow
def test_a_log_axis_says_its_values_in_full(tmp_path: Path) -> None:
    def labels(highest: float) -> list[str]:
        panel = Panel(Axis("time", "us", log=True), Axis("share"), [Curve([0.15, highest], [0, 1])])
        figure = json.dumps([traces(panel), layout(panel)])
        file = tmp_path / "axis.html"
        file.write_text(
            f"<div id=a></div><script>{get_plotlyjs()}</script><script>Plotly.newPlot('a', ...{figure})</script>"
        )
        with opened(file, tmp_path / "profile") as page:
            page.wait_for("document.querySelectorAll('.xtick text').length > 0")
            return list(page.evaluate("[...document.querySelectorAll('.xtick text')].map(each => each.textContent)"))

    assert labels(60) == ["0.2", "0.5", "1", "2", "5", "10", "20", "50"]
    assert labels(60_000) == ["1", "10", "100", "1,000", "10,000"]


def brightness(colour: str) -> float:
    """Of 'rgb(r, g, b)', 0 to 255."""
    numbers = [float(part) for part in colour[colour.index("(") + 1 :].rstrip(")").split(",")[:3]]
    return sum(numbers) / 3


def test_a_page_that_complains_is_seen_to(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text("<p>no figures<script>console.error('so'); missing();</script><img src='http://127.0.0.1:9/x.png'>")
    with opened(file, tmp_path / "profile") as page:
        page.wait_for("true")
        assert len(page.problems) >= 2
        assert "http://127.0.0.1:9/x.png" in page.requests


ROWS = "[...document.querySelectorAll('tbody tr')].map(row => row.getBoundingClientRect().height)"


def test_the_plans_of_a_page_fit_a_usual_screen_and_their_rows_are_low_on_a_narrow_one(tmp_path: Path) -> None:
    times = {"time_us": 1.753e6, "next_us": 1.77e6, "bound_us": 1.585e6, "compute_us": 3e5, "exposed_us": 1.46e6}
    more = {"tokens_per_second": 149_516, "samples_per_second": 18, "model_flop_utilisation_percent": 9.4}
    row = {**times, **more, "npu_memory_bytes": 28 * 10**9, "of_floor": 1.37, "tight": False}
    why = "not played: forecast 3.66 s with 1 of 4 layers, 1/256 of each message, above 1.00 s"
    plan = "tensor 4 sequence, context 2, data 2, zero 1, micro-batch 16"
    rows: list[dict[str, object]] = [
        {**row, "plan": plan, "packets_us": None, "packets_on": why},
        {**row, "plan": plan, "packets_us": 1e6, "packets_on": "whole model"},
    ]
    head, lines = page_table_of(rows)
    assert (head[1], head[-1]) == ("plan", "on packets")
    assert [line[-1] for line in lines] == [why, "1 s, whole model"]
    save_page(tmp_path, PLAN, Told("Plans", [], "", [Shown("Plans that were played", head, lines)]))
    file = tmp_path / "index.html"
    file.write_text(told_page(tmp_path) or "", encoding="utf-8")
    with opened(file, tmp_path / "profile") as page:
        for width in (1400, 420):
            page.resize(width, 900)
            page.wait_for(f"document.documentElement.scrollWidth === {width}")
            assert max(page.evaluate(ROWS)) < 100
            assert width < 800 or not page.evaluate(SCROLLING)
