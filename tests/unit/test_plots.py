"""Pictures of runs: what is drawn is what the tables say, nothing leaves the page, and what lacks is said."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.text import Text
from support.recorded_tables import (
    PARTS,
    US,
    full_folder,
    run_folder,
    write_accounts,
    write_messages,
    write_pairs,
    write_ports,
    write_table,
)
from support.small_run import small_network, small_run, small_system

import astra_ns3
from astra_ns3.cli.main import main
from astra_ns3.errors import InputError
from astra_ns3.report.plots import style
from astra_ns3.report.plots.completion import classes
from astra_ns3.report.plots.kind import width_of
from astra_ns3.report.plots.queues import pauses
from astra_ns3.report.plots.registry import KINDS
from astra_ns3.report.plots.timeline import covered
from astra_ns3.report.plots.utilisation import apart
from astra_ns3.report.ports import levels, rates_bps
from astra_ns3.report.tables import names_of
from astra_ns3.workload.files.astra_sim import parse_workload

NAMES = [kind.name for kind in KINDS]
GBPS = 10**9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which everything was recorded."""
    return full_folder(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def picture(folder: Path, kind: str, **options: Any) -> Figure:
    figure = getattr(astra_ns3.Result.load(folder).plot, kind)(**options)
    assert isinstance(figure, Figure)
    return figure


def bars(figure: Figure, panel: int = 0) -> np.ndarray[Any, Any]:
    """Left, bottom, width and height of each bar, in the order of drawing."""
    found = [patch for patch in figure.axes[panel].patches if isinstance(patch, Rectangle)]
    return np.array([[bar.get_x(), bar.get_y(), bar.get_width(), bar.get_height()] for bar in found])


def lines(figure: Figure, panel: int = 0) -> list[tuple[list[float], list[float]]]:
    drawn = figure.axes[panel].get_lines()
    return [(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()) for line in drawn]


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text() and text.get_visible()]


# What is drawn


def test_a_layers_bar_is_as_long_as_its_parts_take(folder: Path) -> None:
    table = astra_ns3.Result.load(folder).layers
    figure = picture(folder, "layers")
    drawn = bars(figure)
    rows = list(dict.fromkeys(table["layer"]))
    spent = table.groupby("layer", sort=False, observed=True)[["compute_ps", "exposed_ps"]].sum().sum(axis=1)
    (unit,) = {label.split("(")[1].rstrip(")") for label in [figure.axes[0].get_xlabel()]}
    factor = {"us": US, "ns": 1000, "ms": 1000 * US}[unit]
    for place, layer in enumerate(rows):
        of_layer = drawn[np.isclose(drawn[:, 1] + drawn[:, 3] / 2, place)]
        assert of_layer[:, 2].sum() == pytest.approx(spent[layer] / factor)
        assert (of_layer[:, 0] + of_layer[:, 2]).max() == pytest.approx(spent[layer] / factor)


def test_without_the_layers_of_roles_those_of_the_reported_npu_are_drawn(copy: Path) -> None:
    with_table = bars(picture(copy, "layers"))
    (copy / "layers.parquet").unlink()
    _forget(copy, "layers.parquet")
    without = bars(picture(copy, "layers"))
    rows = astra_ns3.Result.load(copy).end_to_end
    columns = [f"{part}_{what}_us" for part in ("fwd", "wg", "ig") for what in ("compute", "exposed_comm")]
    assert without[:, 2].sum() == pytest.approx(rows[columns].to_numpy().sum())
    assert with_table[:, 2].sum() >= without[:, 2].sum()  # the tail has no columns there


def test_computing_and_exposed_are_drawn_for_every_npu_and_on_average(folder: Path) -> None:
    npus = astra_ns3.Result.load(folder).npus
    figure = picture(folder, "exposed")
    mean, each = bars(figure), bars(figure, 1)
    assert mean[:, 2].tolist() == pytest.approx([npus["compute_us"].mean(), npus["exposed_us"].mean()])
    assert each[:, 3].tolist() == pytest.approx([*npus["compute_us"], *npus["exposed_us"]])
    share = 100 * npus["exposed_us"].sum() / (npus["exposed_us"].sum() + npus["compute_us"].sum())
    assert f" {share:.1f}% exposed" in words_of(figure)


def test_the_heat_map_has_the_utilisation_of_each_port_and_time(folder: Path) -> None:
    figure = picture(folder, "utilisation")
    (image,) = figure.axes[0].get_images()
    shown = np.asarray(image.get_array())
    # 125,000 bytes are what 100 Gb/s send in 10 us. NICs stand above the switch's ports.
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["host0", "switch0:1"]
    assert shown[:, :2].tolist() == [[100.0, 50.0], [0.0, 20.0]]
    assert (image.norm.vmin, image.norm.vmax) == (0, 100)


def test_a_run_of_many_intervals_is_drawn_in_fewer_columns_of_the_same_mean(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_ns3.report.plots.utilisation.MOST_COLUMNS", 2)
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps({**document, "finish_ps": 40 * US}), encoding="utf-8")
    write_ports(copy, "utilisation", "wire_bytes", [(10 * US, "host0", 125_000), (40 * US, "host0", 62_500)])
    (image,) = picture(copy, "utilisation").axes[0].get_images()
    assert np.asarray(image.get_array()).tolist() == [[50.0, 25.0]]


def test_without_the_networks_rates_the_heat_map_has_gigabits(copy: Path) -> None:
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    document["network"]["topology"] = {"kind": "file", "path": "has-gone.txt"}
    (copy / "run.json").write_text(json.dumps(document), encoding="utf-8")
    figure = picture(copy, "utilisation")
    (image,) = figure.axes[0].get_images()
    assert np.asarray(image.get_array())[:, :2].tolist() == [[100.0, 50.0], [0.0, 20.0]]
    assert "sent (Gb/s)" in words_of(figure)


def test_queues_hold_their_length_until_it_changes(folder: Path) -> None:
    figure = picture(folder, "queues")
    queues = dict(zip(["switch0:1", "host0"], lines(figure), strict=True))  # the longest first
    unit = figure.axes[0].get_ylabel()
    assert unit == "queue (KB)"
    assert queues["switch0:1"][0][:3] == [0, 10, 20]
    assert queues["switch0:1"][1][:3] == [0, 5, 0]
    assert queues["host0"][1] == pytest.approx([0, 0.09, 0.09])
    assert figure.axes[0].get_lines()[0].get_drawstyle() == "steps-post"


def test_pauses_last_until_a_port_may_go_on_or_the_run_ends() -> None:
    times, priorities = np.array([2, 6, 7, 8]), np.array([8, 0, 8, 12])
    starts, ends = pauses(times, priorities, 20)
    assert (starts.tolist(), ends.tolist()) == ([2, 7], [6, 20])


def test_pauses_are_drawn_where_they_were(folder: Path) -> None:
    finish_us = astra_ns3.Result.load(folder).finish_ps / US
    axes = picture(folder, "queues").axes[1]
    names = [text.get_text() for text in axes.get_yticklabels()]
    spans = {name: bars.get_paths()[0].get_extents() for name, bars in zip(names, axes.collections, strict=True)}
    assert (spans["host0"].x0, spans["host0"].x1) == pytest.approx((2, 6))
    assert (spans["host2"].x0, spans["host2"].x1) == pytest.approx((7, finish_us))


def test_rates_of_the_pairs_chosen_are_drawn(folder: Path) -> None:
    figure = picture(folder, "rates", select="0-1")
    rate, window = lines(figure), lines(figure, 1)
    finish_us = astra_ns3.Result.load(folder).finish_ps / US
    assert len(rate) == 1
    assert rate[0][0] == pytest.approx([1, 5, finish_us])
    assert rate[0][1] == [100, 25, 25]
    assert window[0][1] == [40, 40]
    assert [axes.get_ylabel() for axes in figure.axes] == ["rate (Gb/s)", "window (KB)"]


def test_windows_of_connections_are_drawn_where_there_are_no_queue_pairs(copy: Path) -> None:
    (copy / "queue_pairs.parquet").unlink()
    rows = [(US, 2, 3, "congestion_window_bytes", 5_000), (US, 2, 3, "rtt_ps", 3 * US)]
    write_pairs(copy, "connections", rows)
    figure = picture(copy, "rates")
    assert [axes.get_ylabel() for axes in figure.axes] == ["window (KB)", "round trip (us)"]
    assert lines(figure, 1)[0][1] == [3, 3]


def test_the_distribution_of_completion_times_reaches_one_at_the_slowest(folder: Path) -> None:
    figure = picture(folder, "completion")
    ((x, y),) = lines(figure)
    assert x == [2, 2, 3, 3, 7]
    assert y == [0, 0.25, 0.5, 0.75, 1]
    ((slowdown, _),) = lines(figure, 1)  # alone each takes a microsecond
    assert slowdown == [2, 2, 3, 3, 7]


def test_without_an_ideal_there_is_no_slowdown(copy: Path) -> None:
    write_messages(copy, [(0, 1, 0, US)])
    assert len(picture(copy, "completion").axes) == 1


def test_equal_chunks_that_differ_by_a_byte_are_one_size() -> None:
    sizes = np.array([7812, 7813, 100_000])
    assert [name for name, _ in classes(sizes, sizes)] == ["7.813 KB", "100 KB"]


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=60))
def test_every_message_is_in_one_class_of_sizes(sizes: list[int]) -> None:
    every = np.array(sizes)
    found = classes(every, np.unique(every))
    assert 1 <= len(found) <= 4
    assert (np.stack([inside for _, inside in found]).sum(axis=0) == 1).all()


def test_bandwidths_are_those_of_the_collectives(folder: Path) -> None:
    collectives = astra_ns3.Result.load(folder).collectives
    points, medians = lines(picture(folder, "bandwidth"))
    expected = sorted(zip(collectives["bytes"], collectives["bus_bandwidth_gbytes_per_s"], strict=True))
    assert sorted(zip(*points, strict=True)) == expected
    by_size = collectives.groupby("bytes")["bus_bandwidth_gbytes_per_s"].median()
    assert medians[0] == list(by_size.index)
    assert medians[1] == pytest.approx(list(by_size))


def test_the_shares_of_an_account_add_up_to_all_of_the_time(folder: Path) -> None:
    figure = picture(folder, "accounts")
    drawn, names = bars(figure), [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert names[:2] == ["all messages", "slowest 1%"]
    for place in range(len(names)):
        row = drawn[np.isclose(drawn[:, 1] + drawn[:, 3] / 2, place)]
        assert row[:, 2].sum() == pytest.approx(100)
    # 8.5 us in all, of which the turn is 1, the switch's queue 2, propagation 1, pacing 3, the NIC's pause 1
    of_all = sorted(drawn[np.isclose(drawn[:, 1] + drawn[:, 3] / 2, 0)][:, 2])
    assert of_all == pytest.approx(sorted(100 * np.array([1, 2, 1, 3, 1, 0.5]) / 8.5))
    assert "4.25 us" in words_of(figure)
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert legend == {"turn", "switch queue", "propagation", "pacing", "NIC paused", "serialisation"}


def test_every_part_of_an_account_has_a_look_of_its_own() -> None:
    from astra_ns3.report.plots.accounts import PARTS as DRAWN

    assert tuple(DRAWN) == PARTS
    assert len({(colour, hatched) for _, colour, hatched in DRAWN.values()}) == len(PARTS)


def test_the_timeline_has_each_npus_computing_and_waiting(folder: Path) -> None:
    operations = astra_ns3.Result.load(folder).operations
    figure = picture(folder, "timeline", select=["0", "2"])
    assert [axes.get_ylabel() for axes in figure.axes] == ["NPU 0", "NPU 2"]
    for axes, npu in zip(figure.axes, (0, 2), strict=True):
        for kind, drawn in zip(("compute", "wait"), axes.collections, strict=False):
            rows = operations[(operations["npu"] == npu) & (operations["kind"] == kind)]
            length = sum(path.get_extents().width for path in drawn.get_paths())
            assert length == pytest.approx((rows["end_ps"] - rows["start_ps"]).sum() / US)


def test_a_timeline_of_too_many_bars_shows_what_share_of_each_moment_went_into_what(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_ns3.report.plots.timeline.MOST_BARS", 5)
    result = astra_ns3.Result.load(folder)
    operations = result.operations[result.operations["npu"] == 3]
    figure = picture(folder, "timeline", select="3")
    stairs = [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]
    for kind, drawn in zip(("compute", "wait"), stairs, strict=True):
        values, edges, baseline = drawn.get_data()
        rows = operations[operations["kind"] == kind]
        area = ((values - np.asarray(baseline)) * np.diff(edges)).sum() / 0.9
        assert area == pytest.approx((rows["end_ps"] - rows["start_ps"]).sum() / US)
        assert len(values) == 5


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12), st.integers(1, 7))
def test_what_intervals_cover_is_what_they_have_of_each_span(gaps: list[tuple[int, int]], spans: int) -> None:
    times = np.cumsum([number for pair in gaps for number in pair] or [0, 0]).reshape(-1, 2)
    edges = np.linspace(0, 100, spans + 1)
    starts, ends = times.T
    inside = np.minimum(ends, edges[1:, None]) - np.maximum(starts, edges[:-1, None])
    expected = np.maximum(inside, 0).sum(axis=1) / np.diff(edges)
    assert covered(starts, ends, edges) == pytest.approx(expected)


def test_the_timeline_has_as_many_phases_as_are_in_flight(folder: Path) -> None:
    phases = astra_ns3.Result.load(folder).phases.query("npu == 1")
    figure = picture(folder, "timeline", select="1")
    at_once = max(((phases["start_ps"] <= time) & (phases["end_ps"] > time)).sum() for time in phases["start_ps"])
    assert f"phases, dimension 0 (at most {at_once})" in words_of(figure)


def test_without_what_npus_did_the_timeline_has_collectives_and_says_so(tmp_path: Path, command: Any) -> None:
    path = run_folder(tmp_path)
    collectives = astra_ns3.Result.load(path).collectives
    drawn = bars(picture(path, "timeline"))
    assert drawn[:, 0].tolist() == pytest.approx(collectives["start_us"].tolist())
    assert drawn[:, 2].tolist() == pytest.approx(collectives["duration_us"].tolist())
    _, out, _ = command("plot", str(path), "timeline", "-o", str(tmp_path / "t.png"))
    assert "more is shown with --record timeline" in out


# How it looks


@pytest.mark.parametrize("width", ["column", "double"])
@pytest.mark.parametrize("kind", NAMES)
def test_all_words_stay_on_the_page_and_every_axis_says_what_it_is(kind: str, width: str, folder: Path) -> None:
    check_page(picture(folder, kind, width=width))


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
    monkeypatch.setattr("astra_ns3.report.plots.layers.MOST_LAYERS", 3)
    rows = "".join(f"l{place} -1 {100 * place} NONE 0 0 NONE 0 0 NONE 0 0\n" for place in range(1, 7))
    figure = picture(run_folder(tmp_path, workload=parse_workload(f"DATA\n6\n{rows}", "six")), "layers")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["l5", "l6", "4 other layers"]
    assert bars(figure)[:, 2].sum() == pytest.approx(100 * (1 + 2 + 3 + 4 + 5 + 6))  # ns


def check_page(figure: Figure, *, labelled: bool = True) -> None:
    """Draw it; nothing may warn, stand outside, or stand on a name beside it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
    page = figure.bbox
    for text in figure.findobj(Text):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
            assert inside or _unused_tick(text, figure), f"{text.get_text()!r} leaves the page"
    for axes in figure.axes:
        rows = [label.get_window_extent() for label in axes.get_yticklabels() if label.get_text()]
        rows.sort(key=lambda box: box.y0)
        assert all(low.y1 <= high.y0 + 0.25 * low.height for low, high in pairwise(rows))
    if labelled:
        drawn = [axes for axes in figure.axes if axes.has_data() and axes.get_label() != "<colorbar>"]
        assert drawn
        assert drawn[-1].get_xlabel()
        assert all(axes.get_ylabel() or axes.get_yticklabels() for axes in drawn)


def _unused_tick(text: Text, figure: Figure) -> bool:
    """Whether it is the label of a tick beyond the axis, which is not drawn."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if text in (tick.label1, tick.label2):
                    return not (tick.label1.get_visible() and low <= tick.get_loc() <= high)
    return False


# What may be asked for


def test_a_result_names_its_pictures(folder: Path) -> None:
    result = astra_ns3.Result.load(folder)
    assert dir(result.plot) == sorted(NAMES)
    assert all(getattr(result.plot, name).__doc__ for name in NAMES)
    with pytest.raises(AttributeError, match="no picture 'lairs'"):
        _ = result.plot.lairs


def test_a_result_that_was_not_saved_has_pictures(folder: Path) -> None:
    result = astra_ns3.run(**small_run())
    assert len(bars(result.plot.layers())) > 0
    with pytest.raises(InputError, match="this run: has nothing for 'completion': run again with --record flows"):
        result.plot.completion()


@pytest.mark.parametrize(
    ("kind", "select", "said"),
    [
        ("layers", "al", r"role 'al' is not one of all; did you mean 'all'\?"),
        ("timeline", "4", "NPU '4' is not one of 0 to 3"),
        ("utilisation", "host7", "port 'host7' was not recorded"),
        ("rates", "01", "pair '01' is not two NPUs"),
        ("rates", "1-0", "nothing was recorded from NPU 1 to NPU 0"),
        ("bandwidth", "ALLTOAL", "collective 'ALLTOAL' is not one of ALLREDUCE"),
        ("exposed", "0", "'exposed' has nothing to select"),
    ],
)
def test_a_choice_that_is_not_there_is_refused(kind: str, select: str, said: str, folder: Path) -> None:
    with pytest.raises(InputError, match=said):
        picture(folder, kind, select=select)


def test_a_node_stands_for_all_of_its_ports(folder: Path) -> None:
    figure = picture(folder, "utilisation", select="switch0")
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == ["switch0:1"]


@pytest.mark.parametrize("kind", ["bandwidth", "completion", "exposed"])
def test_other_runs_stand_beside(kind: str, folder: Path, tmp_path: Path) -> None:
    other = run_folder(tmp_path / "other", run_name="second", system=small_system(**{"endpoint-delay": 900}))
    write_messages(other, [(0, 1, 0, 20 * US)], ideal_ps=US)
    figure = picture(folder, kind, beside=[astra_ns3.Result.load(other)])
    check_page(figure)
    assert any("second" in word for word in words_of(figure))
    with pytest.raises(InputError, match="shows one run; none can stand beside it"):
        picture(folder, "layers", beside=[astra_ns3.Result.load(other)])


def test_runs_of_one_name_are_told_apart_by_their_folders(folder: Path, tmp_path: Path) -> None:
    twins = [astra_ns3.Result.load(shutil.copytree(folder, tmp_path / name)) for name in ("tcp", "roce")]
    again = astra_ns3.Result.load(shutil.copytree(folder, tmp_path / "other" / "roce"))
    unsaved = astra_ns3.run(**small_run(), run_name="another")
    assert names_of([twins[0], unsaved]) == [str(twins[0].metadata["run_name"]), "another"]
    assert names_of(twins) == ["tcp", "roce"]
    assert names_of([*twins, again]) == ["1: tcp", "2: roce", "3: roce"]


def test_widths_are_words_or_inches() -> None:
    assert [width_of(word) for word in ("column", "double", "5", 4.5)] == [3.3, 7.0, 5.0, 4.5]
    for word in ("wide", "0", "-1", "nan", "inf"):
        with pytest.raises(InputError, match=f"width '{word}' is not one of column, double or inches"):
            width_of(word)


def test_the_levels_of_a_network_are_found_from_its_ports(tmp_path: Path) -> None:
    path = run_folder(tmp_path)
    links = [("host0", "switch0"), ("host1", "switch1"), ("switch0", "switch2"), ("switch1", "switch2")]
    count = dict.fromkeys(("host0", "host1", "switch0", "switch1", "switch2"), 0)
    ports = {}
    for link in links:
        for node, peer in (link, link[::-1]):
            ports[f"{node}:{count[node]}".removesuffix(":0" if node.startswith("host") else "?")] = peer
            count[node] += 1
    lines = ["port,link_to", *(f"{port},{peer}" for port, peer in ports.items())]
    (path / "switch.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = levels(astra_ns3.Result.load(path), reversed(list(ports)))
    assert [(level.name, level.ports) for level in found] == [
        ("NICs", ("host0", "host1")),
        ("level 1 down", ("switch0:0", "switch1:0")),
        ("level 1 up", ("switch0:1", "switch1:1")),
        ("level 2 down", ("switch2:0", "switch2:1")),
    ]


def test_rates_of_ports_are_those_of_their_links(folder: Path) -> None:
    ports = [f"host{npu}" for npu in range(4)] + [f"switch0:{npu}" for npu in range(4)]
    assert rates_bps(astra_ns3.Result.load(folder)) == dict.fromkeys(ports, 100 * GBPS)


# Helpers


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 100)), min_size=1, max_size=200),
    st.integers(2, 8),
)
def test_fewer_points_of_a_line_keep_its_range_in_every_span(points: list[tuple[int, int]], most: int) -> None:
    times, values = np.array(sorted(time for time, _ in points)), np.array([value for _, value in points])
    x, y = style.steps(times, values, 600, most)
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
    low, high = style.merged(starts, ends, 0)
    cover = {time for start, end in zip(starts, ends, strict=True) for time in range(start, end)}
    assert {time for start, end in zip(low, high, strict=True) for time in range(start, end)} == cover
    assert (low[1:] > high[:-1]).all()


def test_long_names_lose_what_they_have_in_common() -> None:
    names = [f"encoder.block_{place}.self_attention.weight" for place in range(12)]
    assert style.labels(names, 16)[10:] == ["enc…ock_10…", "enc…ock_11…"]
    assert style.labels(["a", "b"]) == ["a", "b"]
    alike = [f"{'x' * 30}{place}{'y' * 30}" for place in range(3)]
    assert len(set(style.labels(alike, 12))) == 3


# The command


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(words)
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return run


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_command_writes_each_format_the_same_each_time(
    ending: str, folder: Path, tmp_path: Path, command: Any
) -> None:
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    files = [tmp_path / f"{name}.{ending}" for name in "ab"]
    for file in files:
        status, out, _ = command("plot", str(folder), "layers", "-o", str(file))
        assert (status, out) == (0, f"written to {file}\n")
        assert file.read_bytes().startswith(heads[ending])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_without_a_file_the_picture_has_the_name_of_its_kind(
    folder: Path, tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, out, _ = command("plot", str(folder), "exposed", "--json")
    assert (status, json.loads(out)["written"]) == (0, "exposed.png")
    assert (tmp_path / "exposed.png").is_file()


def test_titles_may_be_given_or_left_out(folder: Path, tmp_path: Path, command: Any) -> None:
    for words, shown in (
        (["--title", "Mine & <yours>"], "Mine &amp; &lt;yours&gt;"),
        (["--no-title"], None),
        ([], ": layers"),
    ):
        file = tmp_path / "picture.svg"
        assert command("plot", str(folder), "layers", "-o", str(file), *words)[0] == 0
        text = file.read_text(encoding="utf-8")
        assert (shown in text) if shown else (": layers" not in text)


def test_without_a_kind_what_can_be_drawn_is_listed(tmp_path: Path, folder: Path, command: Any) -> None:
    status, out, _ = command("plot", str(folder))
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == NAMES
    status, out, _ = command("plot", str(run_folder(tmp_path)))
    can, cannot = out.split("not recorded:\n")
    assert [line.split()[0] for line in can.splitlines()] == ["layers", "exposed", "timeline", "bandwidth"]
    needs = {line.split()[0]: line.split("needs ")[1] for line in cannot.splitlines()}
    assert needs["completion"] == "--record flows"
    assert needs["queues"] == "observe.queues in the network file or observe.pauses in the network file"
    status, out, _ = command("plot", str(tmp_path / "out"), "--json")
    told = {kind["kind"]: kind["needs"] for kind in json.loads(out)["kinds"]}
    assert told == {**dict.fromkeys(NAMES), **needs}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["laiers"], "picture 'laiers' is not one of layers, exposed, .*; did you mean 'layers'?"),
        (["layers", "-o", "x.gif"], r"x\.gif: a picture's file ends in \.png, \.svg, \.pdf"),
        (["layers", "-o", "/none/x.png"], "/none/x.png: cannot be written"),
        (["layers", "--width", "wide"], "width 'wide'"),
        (["layers", "--title", "a", "--no-title"], "exclude each other"),
        (["--select", "0"], "which picture"),
    ],
)
def test_a_wrong_word_is_one_line(
    words: list[str], said: str, folder: Path, command: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    status, _, err = command("plot", str(folder), *words)
    assert (status, err.count("\n")) == (2, 1)
    assert re.search(said, err)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_matplotlib_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="'pip install matplotlib' gives it"):
        picture(folder, "layers")


def _forget(folder: Path, name: str) -> None:
    """Take a file out of the list of run.json."""
    document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    document["files"].remove(name)
    (folder / "run.json").write_text(json.dumps(document), encoding="utf-8")


def test_a_table_that_has_gone_is_not_taken_for_one_that_was_not_recorded(copy: Path) -> None:
    (copy / "operations.parquet").unlink()
    with pytest.raises(InputError, match=r"there is no operations\.parquet"):
        picture(copy, "timeline")


def test_roles_have_a_panel_each_and_can_be_chosen(copy: Path) -> None:
    write_table(
        copy,
        "layers",
        role=["first", "first", "last"],
        npu=[0, 0, 2],
        layer=["a", "b", "a"],
        part=["forward", "forward", "forward"],
        compute_ps=[US, 2 * US, 3 * US],
        exposed_ps=[0, 0, US],
        communication_ps=[0, 0, 0],
    )
    both, last = picture(copy, "layers"), picture(copy, "layers", select="last")
    assert [axes.get_title("left") for axes in both.axes] == ["first", "last"]
    assert bars(last)[:, 2].tolist() == [3, 1]
    assert "an NPU of last" in words_of(picture(copy, "exposed"))
