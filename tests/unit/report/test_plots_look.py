"""Pictures of runs: nothing leaves the page, names lie apart, lines keep their peaks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.documents.pictures import bars, check_page, picture, words_of
from support.recorded_tables import (
    US,
    full_folder,
    run_folder,
    write_accounts,
    write_memory,
    write_messages,
    write_pairs,
    write_ports,
)
from support.small_run import small_network

import astra_ns3
from astra_ns3.errors import InputError
from astra_ns3.network.plan import plan_network
from astra_ns3.report.figures import curves, style, with_matplotlib
from astra_ns3.report.figures.figure import Axis, Curve, Figure, Heat, Panel
from astra_ns3.report.network.figure import draw_network
from astra_ns3.report.pictures import accounts
from astra_ns3.report.pictures.kinds import IN_FILES
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.report.pictures.utilisation import apart
from astra_ns3.workload.files.astra_sim import parse_workload

NAMES = [kind.name for kind in IN_FILES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which everything was recorded."""
    return full_folder(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize("width", ["column", "double"])
@pytest.mark.parametrize("kind", NAMES)
def test_all_words_stay_on_the_page_and_every_axis_says_what_it_is(kind: str, width: str, folder: Path) -> None:
    check_page(picture(folder, kind, width=width))


def test_the_share_beside_a_bar_ends_before_the_axis_does(folder: Path) -> None:
    figure = picture(folder, "exposed", width="column")
    check_page(figure)
    axes = figure.axes[0]
    (share,) = [text for text in axes.texts if "exposed" in text.get_text()]
    assert share.get_window_extent().x1 <= axes.get_window_extent().x1


def test_an_axis_begins_where_it_is_said_to_whatever_the_values(folder: Path) -> None:
    axis = Axis("bandwidth", low=0)
    panel = Panel(Axis("time"), axis, [Curve(x=[0, 1], y=[90, 100])])
    drawn = with_matplotlib.drawn(Figure([panel]), 3.5, "high up")
    assert drawn.axes[0].get_ylim()[0] == 0


@pytest.mark.parametrize("name", ["$\\frac{a$", "$a$_b^c", "price $5 to $6", "\\alpha_{x}"])
def test_names_of_users_are_drawn_as_they_are_written(name: str, tmp_path: Path) -> None:
    x, y = Axis(name, names=[name]), Axis(name, names=[name])
    curve = Curve(x=[0], y=[0], name=name)
    drawn = with_matplotlib.drawn(Figure([Panel(x, y, [curve], name, note=name)], missing=name), 7, name)
    with_matplotlib.write(drawn, tmp_path / "a.svg")
    draw_network(plan_network(small_network()).graph, tmp_path / "b.svg", title=name)
    for file, least in (("a.svg", 8), ("b.svg", 1)):
        assert (tmp_path / file).read_text(encoding="utf-8").count(f">{name}<") >= least


def test_a_legend_has_names_that_begin_with_an_underscore_by_all_matplotlibs() -> None:
    """Before 3.10 it left out what begins so, without a space."""
    curves = [Curve(x=[0], y=[0], name=name) for name in ("_mine", "yours")]
    drawn = with_matplotlib.drawn(Figure([Panel(Axis(), Axis(), curves)]), 7, "")
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == [" _mine", "yours"]


@pytest.mark.parametrize(("dash", "period"), [(1, 3.7 + 1.6), (2, 1 + 1.65), (3, 6.4 + 1.6 + 1 + 1.6)])
def test_a_legend_shows_each_kind_of_dashes_twice(dash: int, period: float) -> None:
    """``period``: matplotlib's default, in widths of the line. Lengths of handles are in font sizes."""
    curves = [Curve(x=[0, 1], y=[0, 1], dash=each, name=str(each)) for each in (0, dash)]
    (legend,) = with_matplotlib.drawn(Figure([Panel(Axis(), Axis(), curves)]), 3.5, "").legends
    line, letters = legend.get_lines()[1], float(legend.get_texts()[1].get_fontsize())
    assert legend.handlelength * letters >= 2 * period * line.get_linewidth()


@pytest.mark.parametrize(("marks", "dashes"), [((None, None), (0, 0)), ((0, 1), (0, 1)), ((0, 0), (0, None))])
def test_a_legend_stays_short_where_no_dashes_are_needed(marks: tuple[int, int], dashes: tuple[int, int]) -> None:
    curves = [Curve([0], [0], mark=m, dash=d, name=str(n)) for n, (m, d) in enumerate(zip(marks, dashes, strict=True))]
    (legend,) = with_matplotlib.drawn(Figure([Panel(Axis(), Axis(), curves)]), 3.5, "").legends
    assert legend.handlelength == with_matplotlib.SETTINGS["legend.handlelength"]


@pytest.mark.parametrize("width", ["column", "double"])
def test_many_long_names_of_groups_leave_a_picture_of_bandwidths_its_height(width: str, tmp_path: Path) -> None:
    run = run_folder(tmp_path)
    table = pd.read_csv(run / "collectives.csv").iloc[:1]
    short, long = (
        ["data"],
        [f"a communicator with a long name, of which this is number {number}" for number in "123456"],
    )
    heights = []
    for groups in (short, long):
        rows = [table.assign(group=group, kind=kind) for group in groups for kind in ("ALLREDUCE", "ALLTOALL")]
        pd.concat(rows).assign(bytes=64, bus_bandwidth_gbytes_per_s=9.0).to_csv(run / "collectives.csv", index=False)
        figure = picture(run, "bandwidth", width=width, title="")
        check_page(figure)
        heights.append(figure.axes[0].get_window_extent().height)
    assert heights[1] > 0.7 * heights[0]


def test_a_logarithmic_bar_of_colours_has_plain_numbers(tmp_path: Path) -> None:
    panel = Panel(Axis(), Axis(), [Heat([[1.0, 1000.0]], Axis("time", "us", log=True))])
    with_matplotlib.write(with_matplotlib.drawn(Figure([panel]), 7, ""), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "mathdefault" not in text
    assert ">100<" in text


@pytest.mark.parametrize(("low", "high"), [(0.98, 1.8), (1.01, 2.9), (1.1, 9), (0.52, 3.9), (3, 250), (0.2, 5000)])
def test_a_logarithmic_axis_has_numbers_at_three_places_or_more_and_near_its_ends(low: float, high: float) -> None:
    for values, other in (((low, high), (low, high)), ((low, low * 1.01), (low, high))):
        panels = [Panel(Axis(), Axis("y", log=True), [Curve([0, 1], each)]) for each in (values, other)]
        figure = with_matplotlib.drawn(Figure(panels, across=2, share_y=True), 7, "")
        bottom, top = figure.axes[0].get_ylim()
        told = [
            [text.get_text() for text in axes.get_yticklabels() if bottom <= text.get_position()[1] <= top]
            for axes in figure.axes
        ]
        assert told[0] == told[1]
        numbers = sorted({float(text) for text in told[0] if text})
        assert len(numbers) >= 3
        if top < 30 * bottom:
            assert max(numbers[0] / bottom, top / numbers[-1]) < 2


@pytest.mark.parametrize("kind", NAMES)
def test_empty_tables_are_said_to_be_empty_in_the_picture(kind: str, tmp_path: Path) -> None:
    network = small_network(npus=1)
    workload = parse_workload("DATA\n1\nonly -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 4000 10\n", "one")
    from support.fake_backend import FakeBackend

    path = run_folder(tmp_path, network=network, workload=workload, backend=FakeBackend(1), record=["layers"])
    (path / "switch.csv").write_text("port,link_to\nhost0,switch0\nswitch0:0,host0\n", encoding="utf-8")
    write_messages(path, [])
    write_accounts(path, [])
    for table, value in (("utilisation", "wire_bytes"), ("queues", "queue_bytes"), ("pauses", "paused_priorities")):
        write_ports(path, table, value, [])
    write_pairs(path, "queue_pairs", [])
    write_memory(path, [])
    figure = picture(path, kind)
    check_page(figure, labelled=kind in ("layers", "exposed"))
    said = " ".join(words_of(figure))
    assert kind in ("layers", "exposed") or " no" in f" {said}"


@pytest.mark.parametrize("kind", ["layers", "timeline", "accounts"])
def test_fifty_layers_with_long_names_stay_on_the_page_and_apart(kind: str, tmp_path: Path) -> None:
    layers = [f"transformer_block_{place:02}.attention.query_key_value" for place in range(50)]
    rows = "".join(f"{layer} -1 300 NONE 0 200 NONE 0 100 ALLREDUCE 4000 50\n" for layer in layers)
    path = run_folder(tmp_path, workload=parse_workload(f"DATA\n50\n{rows}", "fifty"), record=["layers"])
    write_accounts(path, [(place, 0, {"turn_ps": 10 + place}) for place in range(50)])
    figure = picture(path, kind)
    check_page(figure)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert len(set(names)) == len(names)


def test_layers_that_are_alike_have_one_bar_in_a_file_and_on_a_page(tmp_path: Path) -> None:
    """Messages of 79 layers take 5 us each, those of one layer 40 us."""
    rows = "".join(f"layer_{place} -1 300 NONE 0 200 NONE 0 100 ALLREDUCE 4000 50\n" for place in range(80))
    path = run_folder(tmp_path, workload=parse_workload(f"DATA\n80\n{rows}", "eighty"), record=["layers"])
    result = astra_ns3.Result.load(path)
    slow = {int(row["collective"]): row["layer"] == "layer_7" for row in result.rows("collectives.csv")}
    write_accounts(path, [(number, 0, {"turn_ps": (40 if is_slow else 5) * US}) for number, is_slow in slow.items()])
    figure = picture(path, "accounts")
    check_page(figure)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names[2:] == ["layer_0-79 (79), weight grad.", "layer_7, weight grad."]
    assert words_of(figure).count("5 us") == 1
    section = accounts.KIND.section
    assert section is not None
    (panel,) = section.make([Shown(result, "run", 0)], 400).panels
    assert panel.y.names == ["layer_0-79 (79) weight gradient ALLREDU…", "layer_7 weight gradient ALLREDUCE"]


def test_levels_of_few_ports_beside_levels_of_many_have_names_apart(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    links = [f"host{host},switch{host // 30}" for host in range(60)]
    links += [f"switch{host // 30}:{host % 30},host{host}" for host in range(60)]
    links += ["switch0:30,switch2", "switch1:30,switch2", "switch2:0,switch0", "switch2:1,switch1"]
    (path / "switch.csv").write_text("\n".join(["port,link_to", *links]) + "\n", encoding="utf-8")
    rows = [(10 * US, link.partition(",")[0], 1000) for link in links]
    write_ports(path, "utilisation", "wire_bytes", rows)
    figure = picture(path, "utilisation")
    check_page(figure)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names == ["NICs (60)", "level 1 down (60)", "level 1 up (2)", "level 2 down (2)"]


@given(st.lists(st.integers(0, 100), max_size=9))
def test_names_are_moved_apart_and_stay_within(places: list[int]) -> None:
    moved = apart(sorted(places), 10.0, 100.0)
    assert all(low + 10 <= high + 1e-9 for low, high in pairwise(moved))
    assert all(5 - 1e-9 <= place <= 95 + 1e-9 for place in moved)


def test_many_layers_are_the_largest_and_one_bar_for_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_ns3.report.pictures.layers.MOST_LAYERS", 3)
    rows = "".join(f"l{place} -1 {100 * place} NONE 0 0 NONE 0 0 NONE 0 0\n" for place in range(1, 7))
    figure = picture(run_folder(tmp_path, workload=parse_workload(f"DATA\n6\n{rows}", "six")), "layers")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["l5", "l6", "4 other layers"]
    assert bars(figure)[:, 2].sum() == pytest.approx(100 * (1 + 2 + 3 + 4 + 5 + 6))  # ns


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 100)), min_size=1, max_size=200),
    st.integers(2, 8),
)
def test_fewer_points_of_a_line_keep_its_range_in_every_span(points: list[tuple[int, int]], most: int) -> None:
    times, values = np.array(sorted(time for time, _ in points)), np.array([value for _, value in points])
    x, y = curves.steps(times, values, 600, most)
    whole_x, whole_y = np.append(times, 600), np.append(values, values[-1])
    assert len(x) <= max(4 * (most + 1), 1)
    assert set(zip(x, y, strict=True)) <= set(zip(whole_x, whole_y, strict=True))
    assert (np.diff(x) >= 0).all()
    width = max(1, -(-(601 - whole_x[0]) // most))
    for span in np.unique((whole_x - whole_x[0]) // width):
        inside, kept = ((column - whole_x[0]) // width == span for column in (whole_x, x))
        assert (y[kept].min(), y[kept].max()) == (whole_y[inside].min(), whole_y[inside].max())


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 10)), max_size=40))
def test_merged_intervals_cover_the_same_and_lie_apart(spans: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    ends = starts + np.array([length for _, length in spans], dtype=np.int64)
    low, high = curves.merged(starts, ends, 0)
    cover = {time for start, end in zip(starts, ends, strict=True) for time in range(start, end)}
    assert {time for start, end in zip(low, high, strict=True) for time in range(start, end)} == cover
    assert (low[1:] > high[:-1]).all()


def test_a_value_that_falls_within_a_span_still_counts_there() -> None:
    found: curves.Steps[str] = curves.Steps(100, 5)
    found.add("port", np.array([20, 50]), np.array([9.0, 1.0]))
    found.add("port", np.array([85]), np.array([3.0]))
    assert found.curve("port").tolist() == pytest.approx([np.nan, 9.0, 9.0, 1.0, 3.0], nan_ok=True)


def test_a_time_is_told_in_the_largest_unit_of_which_it_has_two() -> None:
    assert [style.time_unit(time_ps)[1] for time_ps in (1_999_999, 2_000_000, 10**12, 2 * 10**12)] == [
        "ns",
        "us",
        "ms",
        "s",
    ]


def test_long_names_lose_what_they_have_in_common() -> None:
    names = [f"encoder.block_{place}.self_attention.weight" for place in range(12)]
    assert style.labels(names, 16)[10:] == ["enc…ock_10…", "enc…ock_11…"]
    assert style.labels(["a", "b"]) == ["a", "b"]
    alike = [f"{'x' * 30}{place}{'y' * 30}" for place in range(3)]
    assert len(set(style.labels(alike, 12))) == 3


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["one", "two"], ["one", "two"]),
        (["results/of/all/of/us/rate-100", "results/of/all/of/us/rate-400"], ["…/of/us/rate-100", "…/of/us/rate-400"]),
        (["a-100-of-all-else-as-is", "a-400-of-all-else-as-is"], ["…100-of-all-else-as-is", "…400-of-all-else-as-is"]),
    ],
)
def test_names_of_runs_lose_their_beginnings_and_still_differ(names: list[str], short: list[str]) -> None:
    assert style.tails(names) == short


def test_long_names_of_runs_that_differ_far_from_their_ends_still_differ() -> None:
    assert len({*style.tails([f"{letter}{'-and-so-on' * 9}" for letter in "abc"])}) == 3


@pytest.mark.parametrize(("stages", "drawn"), [(4, 4), (5, 3)])
def test_a_picture_of_memory_says_of_how_many_stages_it_has_some(stages: int, drawn: int, tmp_path: Path) -> None:
    folder = full_folder(tmp_path)
    write_memory(folder, [(stage, step, 100 * (stage == 1)) for stage in range(stages) for step in range(2)])
    figure = picture(folder, "memory")
    assert len(figure.axes) == drawn
    words = figure.axes[-1].get_xlabel()
    assert words == "step of the schedule" + (f"; {drawn} of {stages} stages" if drawn < stages else "")


def test_a_slowdown_of_messages_whose_time_alone_nobody_knows_is_refused(tmp_path: Path) -> None:
    path = run_folder(tmp_path, record=["layers"])
    write_messages(path, [(0, 1, 0, 1000)])
    with pytest.raises(InputError, match="has nothing for 'slowdown': run again with RoCE, or a list of flows"):
        picture(path, "slowdown")
