"""The HTML report: what its figures show, what it says where there is nothing to show, and how large it gets."""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_backend import FakeBackend
from support.recorded_run import (
    ACCOUNT_PARTS,
    COLLECTIVES,
    INTERVAL_PS,
    MESSAGES,
    PORTS,
    US,
    recorded_run,
    tables,
    write_ports,
    write_table,
)
from support.recorded_tables import run_folder, write_messages, write_pairs
from support.small_run import NPUS, InterruptedBackend, small_network, small_run, small_system, small_workload

import astra_ns3
from astra_ns3.cli.report import report_command
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError, Interrupted
from astra_ns3.experiments.metadata import usual_options
from astra_ns3.experiments.result import Files
from astra_ns3.report.explanation.parts import PARTS
from astra_ns3.report.figures.curves import Steps, evenly, merged, shares
from astra_ns3.report.figures.figure import Figure
from astra_ns3.report.figures.style import time_unit
from astra_ns3.report.figures.with_plotly import layout, traces
from astra_ns3.report.page import page
from astra_ns3.report.page.configuration import configuration
from astra_ns3.report.page.markup import Markup, data_script, tag
from astra_ns3.report.page.page import LEAST_DETAIL, MOST_DATA_BYTES, MOST_DETAIL, report_page
from astra_ns3.report.page.sections import (
    MOST_ROWS,
    network_changes,
    numbers_on_top,
    slowest_collectives,
    slowest_messages,
)
from astra_ns3.report.pictures.kinds import KINDS
from astra_ns3.report.pictures.shown import Missing, Shown
from astra_ns3.report.pictures.timeline import _drawable
from astra_ns3.report.records import Recorded, table_of, time_of

ALWAYS = {"layers", "exposed", "bandwidth"}
"""Figures that every run has the data of."""
FIGURES = {kind.name: kind.section for kind in KINDS if kind.section}
NASTY = "</script><script>alert('x')</script>&\"<b>"
PS_DIGITS = 1e-4
"""Numbers of figures keep five digits."""


def played(output: Path | None = None, **options: Any) -> astra_ns3.Result:
    return astra_ns3.run(**{**small_run(), "output": output, **options})


def made(name: str, *runs: astra_ns3.Result, detail: int = MOST_DETAIL) -> Figure | Missing:
    return page._made(FIGURES[name], [Shown(run, f"run {place}", place) for place, run in enumerate(runs)], detail)


class Drawn(NamedTuple):
    """A panel as plotly.js gets it."""

    title: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]


def panels(name: str, *runs: astra_ns3.Result, detail: int = MOST_DETAIL) -> list[Drawn]:
    figure = made(name, *runs, detail=detail)
    assert isinstance(figure, Figure)
    return [Drawn(panel.title, traces(panel), layout(panel)) for panel in figure.panels]


def trace(panel: Drawn, name: str) -> Mapping[str, Any]:
    (found,) = [each for each in panel.traces if each.get("name") == name]
    return found


def page_of(*runs: astra_ns3.Result) -> str:
    """The page without plotly.js, which is most of it."""
    return report_page(runs, usual_options()).replace(page._plotly(), "")


def data_of(text: str) -> list[dict[str, Any]]:
    """What the page's script draws."""
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data: list[dict[str, Any]] = json.loads(found[1])
    return data


class Text(HTMLParser):
    """The elements and the text of a page, scripts left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.words: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.elements.append(tag)

    def handle_data(self, data: str) -> None:
        if not self.elements or self.elements[-1] not in ("script", "style"):
            self.words.append(data)


def test_a_run_that_recorded_nothing_has_the_figures_of_every_run_and_says_what_to_record() -> None:
    run = played()
    found = {name: made(name, run) for name in FIGURES}
    assert {name for name, figure in found.items() if isinstance(figure, Figure)} == ALWAYS
    text = page_of(run)
    for name, figure in found.items():
        assert (f'id="{name}"' in text) == isinstance(figure, Figure), "what has no data has no section"
        if isinstance(figure, Missing):
            assert re.search(r"--record \w+|observe\.\w+", str(figure))
            assert str(figure) in " ".join(Text(text).words)
    assert "Slowest messages" not in text


def test_a_run_that_recorded_everything_has_every_figure_and_plotly_knows_every_word(tmp_path: Path) -> None:
    text = page_of(recorded_run(tmp_path / "all"))
    figures = data_of(text)
    assert text.count('class="panel"') == len(figures)
    assert len(figures) >= len(FIGURES)
    assert "No data" not in text
    for figure in figures:
        assert figure["data"]
        go.Figure(figure)  # refuses an attribute that there isn't


def test_bars_of_a_layer_are_its_times(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    (panel,) = panels("layers", run)
    scale_ps, _ = time_unit(run.finish_ps, 1)
    exposed = [sum(each["x"][layer] for each in panel.traces if each["name"].startswith("exposed")) for layer in (0, 1)]
    expected = [layer["exposed_ps"] / scale_ps for layer in run.metadata["exposed_by_layer"]]
    assert exposed == pytest.approx(expected, rel=PS_DIGITS, abs=1e-3)
    computed = sum(sum(each["x"]) for each in panel.traces if each["name"].startswith("compute"))
    assert computed == pytest.approx(run.metadata["compute_ps"] / scale_ps, rel=PS_DIGITS)


def test_bars_of_an_npu_add_up_to_its_finish(tmp_path: Path) -> None:
    run = played()
    (panel,) = panels("exposed", run)
    sums = [sum(times) for times in zip(*(each["y"] for each in panel.traces), strict=True)]
    scale_ps, _ = time_unit(run.finish_ps, 1)
    assert sums == pytest.approx([us * US / scale_ps for us in run.npus["finish_us"]], rel=PS_DIGITS)


def test_bars_of_some_npus_are_noted_and_those_of_all_are_not() -> None:
    run = played()
    for detail, notes in ((NPUS - 1, [f"run 0: {NPUS - 1} of {NPUS} NPUs, evenly spread."]), (NPUS, [])):
        figure = made("exposed", run, detail=detail)
        assert isinstance(figure, Figure)
        assert list(figure.notes) == notes


def test_the_timeline_has_what_an_npu_computed_and_waited(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    (panel,) = panels("timeline", run)
    assert set(panel.layout["yaxis"]["ticktext"]) == {f"NPU {npu}" for npu in range(NPUS)} | {
        f"{npu}, dimension 0" for npu in range(NPUS)
    }
    scale_ps, _ = time_unit(run.finish_ps, 1)
    lane = panel.layout["yaxis"]["ticktext"].index("NPU 0")
    compute = trace(panel, "compute")
    length = sum(x for x, y in zip(compute["x"], compute["y"], strict=True) if y == lane)
    assert length == pytest.approx(run.metadata["compute_ps"] / scale_ps, rel=0.02)  # what touches is drawn as one
    waits = trace(panel, "wait")
    assert max(base + x for base, x in zip(waits["base"], waits["x"], strict=True)) <= run.finish_ps / scale_ps + 1e-3


def test_timelines_beside_each_other_end_where_the_longer_run_does(tmp_path: Path) -> None:
    run = played(tmp_path / "run", record=["timeline"])
    document: Any = {**run.metadata, "finish_ps": 3 * run.finish_ps}
    longer = astra_ns3.Result(document, Files(folder=run.folder), run.folder)
    scale_ps, _ = time_unit(longer.finish_ps, 1)
    for panel in panels("timeline", run, longer):
        assert panel.layout["xaxis"]["range"][1] == pytest.approx(longer.finish_ps / scale_ps)


def test_the_timeline_of_a_job_has_a_lane_for_changes_of_the_network_on_the_job_s_clock(tmp_path: Path) -> None:
    run = played(tmp_path / "run", record=["timeline"])
    assert not [each for each in panels("timeline", run)[0].traces if each.get("name") == "changed"]
    begin_ps = 10 * run.finish_ps
    event = {"event": 0, "name": "leaf 0 - spine 0", "start_ps": begin_ps + 1000, "end_ps": None, "up": False}
    before = {**event, "start_ps": 0, "end_ps": begin_ps - 1}
    document: Any = {**run.metadata, "job": {"start_ps": begin_ps}, "events": [before, event]}
    (panel,) = panels("timeline", astra_ns3.Result(document, Files(folder=run.folder), run.folder))
    changed, (unit, _) = trace(panel, "changed"), time_unit(run.finish_ps, 1)
    assert changed["base"] == pytest.approx([1000 / unit])
    assert changed["x"] == pytest.approx([(run.finish_ps - 1000) / unit])
    assert panel.layout["yaxis"]["ticktext"][-1] == "network"
    assert panel.layout["xaxis"]["title"]["text"].startswith("time from the start of the job (")
    document["job"] = {"start_ps": 2_000_000, "last_try_ps": 1}
    job = astra_ns3.Result(document, Files(folder=run.folder), run.folder)
    assert "and the job started at 2 us." in network_changes([Shown(job, "job", 0)])
    assert time_of(job, run) == "time from the start of the last try"
    cards = numbers_on_top([Shown(job, "job", 0)])
    assert "start at 2 us" in cards
    document["job"] = {"start_ps": 3_405_554_320}
    late = [Shown(astra_ns3.Result(document, Files(folder=run.folder), run.folder), "job", 0)]
    assert "and the job started at 3.406 ms." in network_changes(late)
    assert "start at 3.406 ms" in numbers_on_top(late)


def test_a_job_is_told_no_change_of_an_npu_that_it_hasn_t_but_one_that_goes_down(tmp_path: Path) -> None:
    run = played(tmp_path / "run", record=["timeline"])
    slow = {"start_ps": 1000, "end_ps": None, "slower": 2}
    events = [{**slow, "event": npu, "name": f"npu {npu}", "npu": npu} for npu in (1, 9)]
    events.append({**slow, "event": 2, "name": "all NPUs", "start_ps": 2000})
    document: Any = {**run.metadata, "job": {"start_ps": 0, "npus": [0, 1]}, "events": events}
    job = astra_ns3.Result(document, Files(folder=run.folder), run.folder)
    told = network_changes([Shown(job, "job", 0)])
    assert ("npu 1" in told, "npu 9" in told, "all NPUs" in told) == (True, False, True)
    for keys, lanes in (({}, 0), ({"still": True}, 0), ({"control": {}}, 0), ({"up": False}, 1)):
        document["events"] = [{"event": 1, "name": "npu 9", "npu": 9, "start_ps": 1000, "end_ps": None, **keys}]
        assert [each.get("name") for each in panels("timeline", job)[0].traces].count("changed") == lanes
        assert ("npu 9" in network_changes([Shown(job, "job", 0)])) == bool(lanes)


def test_a_timeline_of_many_short_turns_shows_how_much_of_each_there_is() -> None:
    """NPU 0 computes for 10 and waits for 20, 4,000 times, a collective beside; NPU 1 does so twice, drawn as it is."""
    turn = np.arange(4000) * 30
    tracks: dict[tuple[int, str | int], Any] = {
        (0, "compute"): (turn, turn + 10), (0, "wait"): (turn + 10, turn + 30), (0, 1): (turn + 15, turn + 30),
        (1, "compute"): (turn[:2], turn[:2] + 10), (1, "wait"): (turn[:2] + 10, turn[:2] + 30),
    }  # fmt: skip
    drawn = _drawable(tracks, 120_000, 600)
    lengths = {track: int((ends - starts).sum()) for track, (starts, ends) in drawn.items()}
    assert lengths == {(0, "compute"): 40_000, (0, "wait"): 80_000, (0, 1): 60_000, (1, "compute"): 20, (1, "wait"): 40}
    for half in (0, 60_000):  # everywhere, not only on the whole
        starts, ends = drawn[0, "compute"]
        inside = (starts >= half) & (ends <= half + 60_000)
        assert (ends - starts)[inside].sum() == pytest.approx(20_000, abs=400)
    compute, wait = drawn[0, "compute"], drawn[0, "wait"]
    assert not np.isin(compute[0], wait[0]).any()


def test_utilisation_is_the_share_of_the_ports_rate(tmp_path: Path) -> None:
    (panel,) = panels("utilisation", recorded_run(tmp_path / "run"))
    (heat,) = panel.traces
    # 12,500 bytes in 10 us are 10 Gb/s, a tenth of the port's rate; the third port sends three times as much.
    assert INTERVAL_PS == 10 * US
    assert [port.partition(" ")[0] for port in heat["y"]] == list(PORTS)
    assert [row[0] for row in heat["z"]] == [10, 20, 30]
    assert heat["colorbar"]["title"]["text"] == "%"


def test_utilisation_without_a_known_rate_is_in_gigabits(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    document = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    own = tmp_path / "own.py"  # a report runs nobody's code
    own.write_text("from pathlib import Path\nPath(__file__).with_suffix('.loaded').touch()\ndef graph(): pass\n")
    document["network"]["topology"] = {"kind": f"{own}:graph"}
    (tmp_path / "run" / "run.json").write_text(json.dumps(document), encoding="utf-8")
    assert run.folder is not None
    (panel,) = panels("utilisation", astra_ns3.Result.load(run.folder))
    assert [row[0] for row in panel.traces[0]["z"]] == [10.0, 20.0, 30.0]
    assert panel.traces[0]["colorbar"]["title"]["text"] == "Gb/s"
    assert page_of(astra_ns3.Result.load(run.folder))
    assert not own.with_suffix(".loaded").exists()


def test_a_port_is_stopped_from_a_pause_until_it_may_go_on_or_the_end(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    (panel,) = panels("pauses", run)
    (heat,) = panel.traces
    width_ps = run.finish_ps / len(heat["x"])
    found = {name: sum(shares) / 100 * width_ps / US for name, shares in zip(heat["y"], heat["z"], strict=True)}
    end = run.finish_ps / US
    spans = {"host0": [(1, 3), (6, end)], "switch0:1": [(4, end)]}
    lasts = {port: sum(until - since for since, until in own) for port, own in spans.items()}
    assert found == pytest.approx(
        {f"{port}, {100 * time / end:.1f}%": time for port, time in lasts.items()}, abs=0.001 * end
    )


def test_rates_are_those_of_the_pair(tmp_path: Path) -> None:
    found = panels("rates", recorded_run(tmp_path / "run"))
    assert {panel.title for panel in found} == {"run 0: allowed rate", "run 0: congestion window", "run 0: round trip"}
    (rate,) = [panel for panel in found if panel.title == "run 0: allowed rate"]
    assert (trace(rate, "0 → 1")["y"][0], trace(rate, "0 → 1")["y"][-1]) == (100, 50)
    assert trace(rate, "1 → 2")["y"][-1] == 20


def test_a_time_without_a_window_is_a_gap(tmp_path: Path) -> None:
    """A window of 20 KB for a third of the run, then none, which is written as 0, and one of 40 KB for a third."""
    run = recorded_run(tmp_path / "run")
    rows = zip((0, 1, 2), (20_000, 0, 40_000), strict=True)
    changes = [(third * run.finish_ps // 3, 0, 1, "window_bytes", size) for third, size in rows]
    write_pairs(tmp_path / "run", "queue_pairs", changes)
    (window,) = [panel for panel in panels("rates", run) if panel.title == "run 0: window"]
    sizes = trace(window, "0 → 1")["y"]
    assert {sizes[0], sizes[len(sizes) // 2], sizes[-1]} == {20, None, 40}
    assert sizes[len(sizes) // 2] is None


def test_each_queue_pair_of_two_npus_has_a_line(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    write_pairs(tmp_path / "run", "queue_pairs", [(0, 0, 1, "rate_bps", 10**11), (0, 0, 1, "rate_bps", 10**10)], [0, 2])
    (rate,) = [panel for panel in panels("rates", run) if panel.title == "run 0: allowed rate"]
    assert (trace(rate, "0 → 1")["y"][0], trace(rate, "0 → 1, queue pair 2")["y"][0]) == (100, 10)


def test_accounts_are_means_over_the_messages_of_a_collective(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    (panel,) = panels("accounts", run)
    labels = [f"{row['layer']} {row['part']} {row['kind']}" for row in run.rows("collectives.csv")]
    assert len(labels) == len(set(labels)) == COLLECTIVES
    means = [sum(range(first, MESSAGES, COLLECTIVES)) / (MESSAGES // COLLECTIVES) for first in range(COLLECTIVES)]
    longest = max(means) * sum(ACCOUNT_PARTS.values())
    for part, each_ps in ACCOUNT_PARTS.items():
        bars = trace(panel, PARTS[part])
        found = dict(zip(bars["hovertext"], bars["x"], strict=True))
        for label, mean in zip(labels, means, strict=True):
            assert found[label] == pytest.approx(mean * each_ps / time_unit(longest, 1)[0], rel=PS_DIGITS)


def test_curves_of_completion_are_the_distribution(tmp_path: Path) -> None:
    times, slowdown, by_size = panels("completion", recorded_run(tmp_path / "run"))
    took = np.arange(MESSAGES) * sum(ACCOUNT_PARTS.values())
    scale_ps, _ = time_unit(float(np.median(took)), 1)
    for x, y in zip(times.traces[0]["x"], times.traces[0]["y"], strict=True):
        assert (took / scale_ps <= x * (1 + PS_DIGITS)).mean() >= y - PS_DIGITS
        assert (took / scale_ps < x * (1 - PS_DIGITS)).mean() <= y + PS_DIGITS
    assert slowdown.traces[0]["x"][-1] == pytest.approx(took.max() / (US // 2), rel=PS_DIGITS)
    medians = by_size.traces[0]
    # Four sizes, a bin each; the median is the least value that half of its messages don't exceed.
    classes = [np.arange(MESSAGES)[[n % 4 == size for n in range(MESSAGES)]] for size in range(4)]
    middle = [float(np.percentile(each, 50, method="inverted_cdf")) for each in classes]
    expected = [each * sum(ACCOUNT_PARTS.values()) / (US // 2) for each in middle]
    assert medians["y"] == pytest.approx(expected, rel=PS_DIGITS)


def test_runs_side_by_side_have_the_same_axes(tmp_path: Path) -> None:
    runs = [recorded_run(tmp_path / "a"), recorded_run(tmp_path / "b", latency_ps=7 * US)]
    for name in ("layers", "exposed", "timeline", "utilisation", "queues", "pauses", "accounts"):
        first, second = panels(name, *runs)
        for key in ("xaxis", "yaxis"):
            assert first.layout[key].get("range") == second.layout[key].get("range")
            assert first.layout[key].get("title") == second.layout[key].get("title")
        assert any("range" in first.layout[key] for key in ("xaxis", "yaxis"))
    assert len(panels("completion", *runs)[0].traces) == len(panels("completion", *runs)[1].traces) == 2


def test_what_one_of_two_runs_lacks_is_said_beside_the_others_figure(tmp_path: Path) -> None:
    runs = recorded_run(tmp_path / "all"), played(tmp_path / "less")
    for name in FIGURES:
        figure = made(name, *runs)
        assert isinstance(figure, Figure)
        if name not in {*ALWAYS, "rates"}:
            assert any(note.startswith("run 1: not recorded; ") for note in figure.notes), name


def test_a_table_without_rows_is_no_figure_and_no_missing_record(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    for name, columns in tables(run.finish_ps).items():
        write_table(tmp_path / "run", name, {key: values[:0] for key, values in columns.items()})
    for name in ("accounts", "completion", "utilisation", "queues", "pauses", "rates"):
        figure = made(name, run)
        assert isinstance(figure, Figure)
        assert figure.panels == []
        (note,) = figure.notes
        assert re.search(r"\bno\b", note, re.IGNORECASE)
    assert page_of(run)


def test_names_are_text_and_never_markup(tmp_path: Path) -> None:
    workload = small_run()["workload"]
    layers = tuple(
        layer.__class__(**{**vars(layer), "name": f"{NASTY}{place}"}) for place, layer in enumerate(workload.layers)
    )
    nasty = Workload(**{**vars(workload), "layers": layers, "source": NASTY})
    run = played(tmp_path / "run", workload=nasty)
    text = page_of(run, run)
    plain = page_of(played(tmp_path / "plain"), played())
    assert NASTY not in text
    assert Text(text).elements.count("script") == Text(plain).elements.count("script")
    assert Text(text).elements.count("b") == 0
    assert NASTY in " ".join(Text(text).words)
    labels = [label for figure in data_of(text) for each in figure["data"] for label in each.get("hovertext", ())]
    assert html.escape(f"{NASTY}0", quote=False) in labels
    assert [label for label in labels if "<" in label] == []


def test_markup_escapes_content_and_attributes_but_not_itself() -> None:
    assert tag("p", "<", tag("b", "&"), title='"') == '<p title="&quot;">&lt;<b>&amp;</b></p>'
    assert isinstance(tag("p"), Markup)
    assert data_script("x", ["</script>"]).count("</script>") == 1


def test_the_page_asks_for_nothing_from_elsewhere() -> None:
    own = html.unescape(page_of(played()))
    assert "default-src 'none'" in own
    assert re.findall(r"(?:src|href)=|url\(|@import|https?://", own) == []


def test_the_same_runs_give_the_same_page(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "run")
    assert report_page([run], usual_options()) == report_page([run], usual_options())


def test_a_large_run_is_made_coarser_says_so_and_stays_small(tmp_path: Path) -> None:
    run = recorded_run(tmp_path / "large")
    rows, ports = 400_000, 2_000
    numbers = np.arange(rows)
    times = np.sort(numbers % 997 * run.finish_ps // 997)
    flows = {"source": numbers % 4, "destination": (numbers + 1) % 4, "collective": numbers % 4, "chunk": numbers % 2,
             "phase": numbers % 2, "row": numbers, "bytes": numbers + 1, "start_ps": times,
             "end_ps": times + 1 + numbers * 7919 % 100_003, "ideal_ps": np.full(rows, 10)}  # fmt: skip
    write_table(tmp_path / "large", "flows", {key: values.tolist() for key, values in flows.items()})
    names = [f"switch{number % ports}:0" for number in numbers]
    write_ports(tmp_path / "large", {f"switch{port}:0": "host0" for port in range(ports)})
    for table, column in (("queues", "queue_bytes"), ("utilisation", "wire_bytes")):
        write_table(tmp_path / "large", table, {"time_ps": (times + INTERVAL_PS).tolist(), "port": names,
                                                column: (numbers % 1000).tolist()})  # fmt: skip
    text = page_of(run)
    assert len(text.encode()) < MOST_DATA_BYTES + 20_000
    assert len(page._plotly().encode()) < 5_000_000 - 20_000
    words = " ".join(Text(text).words)
    assert "every 2nd of 400,000 messages" in words
    assert "busiest ports of 2000" in words
    found = slowest_messages(run)
    assert found is not None
    longest = np.lexsort((numbers, -(flows["end_ps"] - flows["start_ps"])))[:MOST_ROWS]
    assert [row[0] for row in found[1]] == [f"{number % 4} → {(number + 1) % 4}" for number in longest]


def test_a_page_that_would_be_too_large_has_fewer_points_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = recorded_run(tmp_path / "run", passes=20)
    shown = page._named([run])
    told = page._told(shown, [False])
    whole = len(page._content(shown, told, usual_options(), MOST_DETAIL).encode())
    least = len(page._content(shown, told, usual_options(), LEAST_DETAIL).encode())
    assert least < whole
    monkeypatch.setattr(page, "MOST_DATA_BYTES", whole - 1)
    assert data_of(page_of(run))
    monkeypatch.setattr(page, "MOST_DATA_BYTES", least - 1)
    with pytest.raises(InputError, match=r"1 runs make more than .* bytes of figures; report fewer"):
        page_of(run)


def test_keys_that_differ_from_their_default_are_marked_and_no_others() -> None:
    run = played(system=small_system(**{"endpoint-delay": 20}), seed=7)
    parts = configuration([Shown(run, "run", 0)], usual_options())
    assert [key.name for key in parts["options"] if key.changed[0]] == ["backend", "seed"]  # the fake backend
    marks = {key.name: key.changed[0] for part in ("system", "network") for key in parts[part]}
    assert marks["network.topology.link.rate"] is True  # has no default
    assert marks["network.topology.routing.kind"] is False
    assert marks["network.transport.mtu"] is False
    assert marks["system.endpoint-delay"] is True
    assert marks["system.injection-scale"] is False
    assert {key.changed for key in parts["workload"]} == {(None,)}


def test_an_option_whose_default_is_nothing_is_marked_with_each_of_its_keys() -> None:
    run = played(compute_slowdown={"stragglers": [{"factor": 2}]})
    keys = configuration([Shown(run, "run", 0)], usual_options())["options"]
    given = [key for key in keys if key.name.startswith("compute_slowdown.")]
    assert given
    assert all(key.changed == (True,) for key in given)


def test_a_stopped_run_and_its_warnings_are_on_top() -> None:
    with pytest.raises(Interrupted) as caught:
        played(backend=InterruptedBackend(NPUS), passes=2)
    words = " ".join(Text(page_of(caught.value.result)).words)
    assert "stopped: " in words
    assert "incomplete" in words


@pytest.mark.parametrize(("share", "number"), [(1.25, "80%"), (0.5, "0.5")])
def test_the_speed_and_a_share_of_the_floor_are_numbers_like_the_others(
    share: float, number: str, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    played(output=path)
    told = json.loads((path / "run.json").read_text(encoding="utf-8"))
    floor = {"time_ps": US, "where": "the lines out of NPU 0", "bytes": 1, "bytes_per_ns": 1.0, "share": share}
    (path / "run.json").write_text(json.dumps({**told, "floor": floor}), encoding="utf-8")
    assert f"<dd>{number}<small>of " in page_of(astra_ns3.Result.load(path))


def test_the_page_of_a_tenant_says_that_the_network_counts_for_all() -> None:
    run = played()
    assert "of all jobs" not in page_of(run)
    run.metadata["job"] = {"name": "a", "npus": [0, 1, 2, 3], "start_ps": 0, "dimensions": [4]}
    text = page_of(run)
    assert re.search(r"<dt>messages</dt><dd>[^<]*<small>of all jobs</small>", text)
    assert "events of all jobs</small>" in text
    for key, value in (("start", "0 ps"), ("npus", "0-3"), ("dimensions", "4")):
        assert f"<code>job.{key}</code></td><td><span>{value}</span>" in text


def test_the_folder_of_a_scenario_gives_the_page_of_its_jobs(tmp_path: Path) -> None:
    jobs = {"a": [0, 1], "b": [2, 3]}
    tenants = [astra_ns3.Tenant(name, npus, small_workload(), small_system()) for name, npus in jobs.items()]
    folder, output = tmp_path / "both", tmp_path / "report.html"
    astra_ns3.run_scenario(network=small_network(), tenants=tenants, backend=FakeBackend(NPUS), output=folder)
    found = CliRunner().invoke(report_command, [str(folder), "-o", str(output)], catch_exceptions=False)
    assert found.exit_code == 0
    runs = [astra_ns3.Result.load(folder / f"job-{name}") for name in jobs]
    text = output.read_text(encoding="utf-8").replace(page._plotly(), "")
    assert text == page_of(*runs)
    assert "job-b against job-a" not in text
    assert page_of(*runs, *runs).count("</h2><p>Nothing differs.") == 2


def test_runs_of_folders_with_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "run", tmp_path / "b" / "run"]
    runs = [played(folder) for folder in folders]
    assert [shown.name for shown in page._named(runs)] == [str(folder) for folder in folders]
    assert [shown.name for shown in page._named([runs[0], runs[0]])] == [f"{folders[0]} (1)", f"{folders[0]} (2)"]


def test_two_equal_runs_differ_in_nothing_and_two_others_do(tmp_path: Path) -> None:
    same = " ".join(Text(page_of(played(), played())).words)
    other = played(backend=FakeBackend(NPUS, latency_ps=5 * US))
    different = " ".join(Text(page_of(played(), other)).words)
    assert "Nothing differs." in same
    assert "Nothing differs." not in different
    assert "durations together" in different


def test_a_number_stays_in_a_line_with_its_unit_and_a_long_line_goes_on_behind_its_beginning(tmp_path: Path) -> None:
    run, other = recorded_run(tmp_path / "run"), played(backend=FakeBackend(NPUS, latency_ps=5 * US))
    text = page_of(run, other)
    numbers = [html.unescape(each) for each in re.findall(r'<td class="number">([^<]*)', text)]
    assert any(each.endswith("\u00a0us") for each in numbers)
    assert [each for each in numbers if " " in each.strip()] == []
    lines = [
        line
        for pre in re.findall(r"<details[^>]*>.*?<pre>(.*?)</pre>", text, re.DOTALL)
        for line in pre.split("</span>")
        if line
    ]
    assert lines
    for line in lines:
        found = re.fullmatch(r'<span style="--in:(\d+)ch">( *).*\n?', line)
        assert found is not None
        assert int(found[1]) == len(found[2]) + 2


def test_notes_of_a_comparison_name_the_runs_as_the_page_does(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught:
        played(tmp_path / "short", backend=InterruptedBackend(NPUS), passes=2)
    assert caught.value.result is not None
    text = Text(page_of(recorded_run(tmp_path / "whole"), caught.value.result)).words
    assert "only whole recorded accounts: run short again with --record accounts" in text
    assert any(word.startswith("short did not come to its end: ") for word in text)


def test_the_slowest_collectives_stand_first() -> None:
    run = played(passes=9)
    found = slowest_collectives(run)
    assert found is not None
    durations = sorted(run.collectives["duration_us"], reverse=True)[:MOST_ROWS]
    numbers = [int(row[0]) for row in found[1]]
    assert [run.collectives["duration_us"][number] for number in numbers] == durations


def test_the_slowest_collectives_have_the_mean_of_their_groups_which_older_results_lack() -> None:
    names = dict.fromkeys(("layer", "part", "kind", "algorithm"), "a")
    numbers = dict.fromkeys(("collective", "iteration", "npus", "bytes", "start_us"), "0")
    older = {**names, **numbers, "duration_us": "9.0", "bus_bandwidth_gbytes_per_s": "1.0"}
    for row, told in ((older, ""), ({**older, "group_duration_us": "4.0"}, "4 us")):
        found = slowest_collectives(SimpleNamespace(rows=lambda _, row=row: [row]))
        assert found is not None
        assert found[1][0][found[0].index("duration") :] == ("9 us", told, "1")


def test_messages_that_differ_in_their_ends_alone_are_one_row(tmp_path: Path) -> None:
    folder = run_folder(tmp_path)
    spans = [(0, 1, 0, 5 * US), (1, 2, 0, 5 * US), (2, 3, 0, 5 * US), (3, 0, 0, 7 * US), (0, 2, 1 * US, 6 * US)]
    write_messages(folder, spans)
    found = slowest_messages(astra_ns3.Result.load(folder))
    assert found is not None
    assert [(row[0], row[5], row[6]) for row in found[1]] == [
        ("3 → 0", "0 ps", "7 us"),
        ("0 → 1 and 2 more", "0 ps", "5 us"),
        ("0 → 2", "1 us", "5 us"),
    ]


def test_a_table_that_should_be_there_and_is_not_is_an_error(tmp_path: Path) -> None:
    run = played(tmp_path / "run", record=["timeline"])
    (tmp_path / "run" / "phases.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match=r"phases\.parquet: cannot be read: "):
        table_of(run, "phases")
    (tmp_path / "run" / "phases.parquet").unlink()
    with pytest.raises(InputError, match=r"there is no phases"):
        table_of(run, "phases")
    assert table_of(run, "accounts") is None


def test_every_kth_row_is_read_across_batches(tmp_path: Path) -> None:
    rows = 150_001
    write_table(tmp_path, "table", {"number": list(range(rows))})
    read = Recorded(tmp_path / "table.parquet").whole(["number"], 1000)["number"]
    assert read.tolist() == list(range(0, rows, 151))


def test_a_missing_plotly_is_one_line_that_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(InputError) as caught:
        page_of(played())
    assert str(caught.value) == "reports need plotly, which is not installed; 'pip install plotly' gives it"


def test_the_command_writes_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    played(tmp_path / "run")
    printed = CliRunner().invoke(report_command, ["run"], standalone_mode=False)
    assert (printed.exception, printed.output) == (None, "written to report.html\n")
    assert Path("report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    error = CliRunner().invoke(report_command, ["run", "-o", "/proc/none/page.html"], standalone_mode=False).exception
    assert isinstance(error, InputError)
    assert str(error) == "/proc/none/page.html: cannot be written: No such file or directory"
    error = CliRunner().invoke(report_command, ["run", "-o", "page.pdf"], standalone_mode=False).exception
    assert str(error) == "page.pdf: a report's file ends in .html, .htm"


INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=30)


@settings(max_examples=200, deadline=None)
@given(INTERVALS, st.integers(0, 5))
def test_joined_intervals_cover_the_same_time_and_stand_apart(found: list[tuple[int, int]], gap: int) -> None:
    starts = np.array([start for start, _ in found], dtype=np.int64)
    ends = np.array([start + length for start, length in found], dtype=np.int64)
    began, ended = merged(starts, ends, gap)
    covered = {tick for start, length in found for tick in range(start, start + length)}
    drawn = {tick for start, end in zip(began, ended, strict=True) for tick in range(start, end)}
    assert covered <= drawn
    assert (began[1:] > ended[:-1] + gap).all()
    if gap == 0:
        assert drawn == covered


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 9)), min_size=1, max_size=40), st.integers(1, 12))
def test_steps_are_the_highest_value_that_held_in_each_bin(rows: list[tuple[int, int]], bins: int) -> None:
    rows.sort(key=lambda row: row[0])
    steps = Steps[str](100, bins)
    for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
        if part:
            steps.add("port", np.array([time for time, _ in part]), np.array([value for _, value in part], dtype=float))
    curve = steps.curve("port")
    for number in range(bins):
        inside = [time for time in range(100) if min(int(time * bins / 100), bins - 1) == number]
        before = [value for time, value in rows if time < inside[0]]
        held = [value for time, value in rows if time in inside] + before[-1:]
        assert (max(held) if held else None) == (None if np.isnan(curve[number]) else curve[number])


def test_shares_end_at_the_largest_and_samples_keep_both_ends() -> None:
    values, share = (each.tolist() for each in shares(np.arange(1.0, 1001.0)))
    assert (values[0], share[0], values[-1], share[-1]) == (1, 0, 1000, 1)
    assert values[share.index(0.9)] == 900
    assert evenly(list(range(100)), 5) == [0, 25, 50, 74, 99]
    assert evenly([1, 2], 5) == [1, 2]
