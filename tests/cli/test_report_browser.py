"""The HTML report in a browser: without a network, without a complaint, every figure drawn, in light and in dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import NAMES, WIDTH, browser, opened
from support.recorded_run import US, recorded_run

from astra_ns3.experiments.metadata import usual_options
from astra_ns3.report.page.page import write_report

pytestmark = pytest.mark.skipif(browser() is None, reason=f"no browser is installed: {', '.join(NAMES)}")

MARKS = ".trace, .bars .point, .heatmaplayer image, .scatterlayer .js-line, .colorbar"
"""What plotly.js draws of data; a panel without data has axes only."""
PHONE_WIDTH = 390


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
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
