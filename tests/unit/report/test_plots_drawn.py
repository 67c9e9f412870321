"""Pictures of runs: what is drawn is what the tables say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from support.documents.pictures import bars, check_page, lines, picture, words_of
from support.recorded_tables import (
    PARTS,
    US,
    full_folder,
    write_accounts,
    write_messages,
    write_pairs,
    write_ports,
    write_table,
)

import astra_ns3
from astra_ns3.errors import InputError
from astra_ns3.report.comparison.quantities import layers
from astra_ns3.report.explanation.parts import PARTS as WORDS
from astra_ns3.report.figures.curves import LEAST_HEIGHT, covered
from astra_ns3.report.figures.figure import Bars
from astra_ns3.report.figures.figure import Figure as Made
from astra_ns3.report.pictures.accounts import LOOKS
from astra_ns3.report.pictures.completion import classes
from astra_ns3.report.pictures.kind import Choice
from astra_ns3.report.pictures.kinds import kind_of
from astra_ns3.report.pictures.layers import layer_times
from astra_ns3.report.pictures.queues import stops
from astra_ns3.report.pictures.shown import Shown
from astra_ns3.studies.tables import layers_of_job

INPUTS = Path(__file__).resolve().parents[3] / "inputs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which everything was recorded."""
    return full_folder(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


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
    assert without[:, 2].sum() == pytest.approx(with_table[:, 2].sum())
    assert words_of(picture(copy, "layers")).count("time of NPU 0, all passes (us)") == 1


@pytest.mark.parametrize("record", [[], ["layers"]])
@pytest.mark.parametrize("compat", ["none", "simai"])
@pytest.mark.parametrize("workload", ["DLRM_HybridParallel.txt", "moe-simai-16.txt"])
def test_bars_of_layers_add_up_to_the_finish(workload: str, compat: str, record: list[str], tmp_path: Path) -> None:
    """Waits after the last pass, ticks of a loop's steps, and layers that share a name have bars, too."""
    run = astra_ns3.run(
        workload=INPUTS / "workload" / workload,
        system=INPUTS / "system" / "flat.txt",
        network=INPUTS / "network" / "single-switch-16.yaml",
        backend="analytical",
        compat=compat,
        record=record,
        output=tmp_path / "run",
    )
    figure = run.plot.layers()
    factor = {"ms": 10**9, "us": 10**6}[figure.axes[-1].get_xlabel()[-3:-1]]
    assert bars(figure)[:, 2].sum() * factor == pytest.approx(run.finish_ps)


def test_layers_that_share_a_name_have_bars_and_rows_of_their_own(tmp_path: Path) -> None:
    sizes = (1_000_000, 300_000, 200_000)
    work = "".join(f"x -1 1000 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n" for size in sizes)
    (tmp_path / "same.txt").write_text(f"DATA\n{len(sizes)}\n{work}", encoding="utf-8")
    run = astra_ns3.run(
        workload=tmp_path / "same.txt",
        system=INPUTS / "system" / "flat.txt",
        network=INPUTS / "network" / "single-switch-16.yaml",
        backend="analytical",
        record=["layers"],
        output=tmp_path / "run",
    )
    table = run.layers
    numbers = [place for place, part in enumerate(table["part"]) if part == "forward"]
    rows = [table[first:last] for first, last in zip(numbers, [*numbers[1:], len(table)], strict=True)]
    exposed_us = [float(each["exposed_ps"].sum()) / US for each in rows]
    assert [row["exposed_us"] for row in layers_of_job(run, "")] == pytest.approx(exposed_us)
    (tmp_path / "run" / "layers.parquet").unlink()
    _forget(tmp_path / "run", "layers.parquet")
    drawn = [spent for _, spent in layer_times(astra_ns3.Result.load(tmp_path / "run"))["all"][1]]
    assert [sum(ps for _, ps in spent.values()) / US for spent in drawn] == pytest.approx(exposed_us)
    assert len(set(exposed_us)) == len(sizes)


def test_without_the_layers_of_roles_a_models_update_is_not_called_weight_gradient(copy: Path) -> None:
    """Columns of the weight gradient have a model's update and its sums of gradients, too."""
    (copy / "layers.parquet").unlink()
    _forget(copy, "layers.parquet")
    loop = bars(picture(copy, "layers"))
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    document["memory_by_stage"] = {}
    (copy / "run.json").write_text(json.dumps(document), encoding="utf-8")
    figure = picture(copy, "layers")
    assert bars(figure)[:, 2].sum() == pytest.approx(loop[:, 2].sum())
    legend = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"weight gradient and update, compute", "gradients and weights, exposed"} <= legend
    assert not {"weight gradient, compute", "weight gradient, exposed"} & legend
    assert figure.legends[0].get_window_extent().width <= figure.bbox.width  # long names take fewer columns
    names = set(layers(astra_ns3.Result.load(copy)))
    assert any(name.endswith(", gradients and weights exposed") for name in names)


def test_exposed_time_after_the_last_pass_and_parts_of_layers_are_named_in_words(copy: Path) -> None:
    words = {"role": ["all"] * 2, "layer": ["a"] * 2, "part": ["forward", "tail"]}
    numbers = {"npu": [0, 0], "compute_ps": [US, 0], "exposed_ps": [0, US], "communication_ps": [0, 0]}
    write_table(copy, "layers", **words, **numbers)
    legend = {text.get_text() for text in picture(copy, "layers").legends[0].get_texts()}
    assert "exposed, after the last pass" in legend
    assert not any("tail" in words for words in legend)
    labels = {text.get_text() for text in picture(copy, "accounts").axes[0].get_yticklabels()}
    assert any(label.endswith(", weight grad.") for label in labels)


def test_a_stage_has_bars_for_its_own_layers_alone(copy: Path) -> None:
    path = copy / "layers.parquet"
    table = pq.read_table(path).to_pandas()
    first = table["layer"] == table["layer"].iloc[0]
    other = table.assign(role="other", **{name: table[name].where(first, 0) for name in ("compute_ps", "exposed_ps")})
    both = pa.Table.from_pandas(pd.concat([table.assign(role="one"), other]), preserve_index=False)
    pq.write_table(both, path)
    axes = picture(copy, "layers").axes
    assert [label.get_text() for label in axes[1].get_yticklabels()] == [table["layer"].iloc[0]]
    assert len(axes[0].get_yticklabels()) == table["layer"].nunique()


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


def test_utilisation_is_the_share_of_the_rate_that_an_event_gives_the_link(copy: Path) -> None:
    """The NIC's link has 300 Gb/s for the second half of the first interval, and 200 Gb/s from the next one on."""
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    faster = [(5 * US, 10 * US, 300 * 10**9), (10 * US, None, 200 * 10**9)]
    document["events"] = [
        {"event": number, "name": "host 0 - switch 0", "link": 0, "start_ps": start, "end_ps": end, "rate_bps": rate}
        for number, (start, end, rate) in enumerate(faster)
    ]
    (copy / "run.json").write_text(json.dumps(document), encoding="utf-8")
    (image,) = picture(copy, "utilisation").axes[0].get_images()
    assert np.asarray(image.get_array())[:, :2].tolist() == [[50.0, 25.0], [0.0, 20.0]]


def test_an_interval_in_which_the_run_ends_counts_as_far_as_it_was_played(copy: Path) -> None:
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    document["finish_ps"] = 15 * US
    (copy / "run.json").write_text(json.dumps(document), encoding="utf-8")
    (image,) = picture(copy, "utilisation").axes[0].get_images()
    assert np.asarray(image.get_array()).tolist() == [[100.0, 100.0], [0.0, 40.0]]


def test_a_run_of_many_intervals_is_drawn_in_fewer_columns_of_the_same_mean(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_ns3.report.pictures.utilisation.MOST_COLUMNS", 2)
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


def test_curves_that_hide_each_other_are_named(copy: Path) -> None:
    rows = [(time * US, f"switch0:{port}", 5_000 + 100 * (port > 1)) for time in (10, 20) for port in range(4)]
    write_ports(copy, "queues", "queue_bytes", rows)
    said = "same queue: switch0:2, switch0:3\nsame queue: switch0:0, switch0:1"
    assert said in words_of(picture(copy, "queues"))
    assert not any(
        "same queue" in words for words in words_of(picture(copy, "queues", select=("switch0:0", "switch0:2")))
    )


@pytest.mark.parametrize(
    ("until_ps", "paused"), [(20, ([2, 7], [6, 20])), (7, ([2], [6])), (4, ([2], [4])), (2, ([], []))]
)
def test_pauses_last_until_a_port_may_go_on_or_the_run_ends(until_ps: int, paused: tuple[list[int], list[int]]) -> None:
    """A job may end before the scenario whose ports it tells of."""
    times, priorities = np.array([2, 6, 7, 8]), np.array([8, 0, 8, 12])
    starts, ends = stops(times, priorities, until_ps)
    assert (starts.tolist(), ends.tolist()) == paused


def pauses_of(figure: Figure) -> dict[str, tuple[list[float], list[float]]]:
    """Edges of the parts of the time, and the share of each part that is filled, by name of the row."""
    axes = figure.axes[1]
    drawn = [patch.get_data() for patch in axes.patches if isinstance(patch, StepPatch)]
    filled = [(edges, (high - low) / 0.8) for high, edges, low in drawn[1::2]]
    names = [text.get_text() for text in axes.get_yticklabels()]
    return {name: (edges.tolist(), shares.tolist()) for name, (edges, shares) in zip(names, filled, strict=True)}


def test_pauses_fill_the_share_of_each_part_of_the_time(copy: Path) -> None:
    """host0 pauses for a quarter of each 10 us, which no eye tells apart in a run of 8 ms."""
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps({**document, "finish_ps": 8_000 * US}), encoding="utf-8")
    often = [(place * 10 * US + after * US // 4, "host0", 8 * (not after))
             for place in range(400, 800) for after in (0, 10)]  # fmt: skip
    write_ports(copy, "pauses", "paused_priorities", [*often, (6_000 * US, "host2", 8)])
    found = pauses_of(picture(copy, "queues"))
    assert [*found] == ["host2, 25.0%", "host0, 12.5%"]
    assert found["host0, 12.5%"][0][::50] == pytest.approx([0, 2, 4, 6, 8])
    assert found["host0, 12.5%"][1] == pytest.approx([0] * 100 + [0.25] * 100)
    assert found["host2, 25.0%"][1] == pytest.approx([0] * 150 + [1] * 50)


def test_a_pause_of_a_picosecond_can_be_seen(copy: Path) -> None:
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps({**document, "finish_ps": 800 * US}), encoding="utf-8")
    rows = [(start + after, "host0", 8 * (not after)) for start in (2 * US, 2 * US + 9, 90 * US) for after in (0, 1)]
    write_ports(copy, "pauses", "paused_priorities", rows)
    _, shares = pauses_of(picture(copy, "queues"))["host0, 0.0%"]
    assert shares == pytest.approx([LEAST_HEIGHT if place in (0, 22) else 0 for place in range(200)])


@pytest.mark.parametrize(
    ("switch", "words"),
    [("pfc", "stopped by PFC"), ("credits", "with a lane without further credit")],
)
def test_pauses_name_what_stops_ports(switch: str, words: str, copy: Path) -> None:
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    document["network"]["topology"]["switch"] = {switch: {}}
    (copy / "run.json").write_text(json.dumps(document), encoding="utf-8")
    assert picture(copy, "queues").axes[1].get_xlabel() == f"time {words} (us)"


def test_rates_of_the_pairs_chosen_are_drawn(copy: Path) -> None:
    """The rate falls to 25 at 5 us; by flows.parquet the pair's last message has ended before, at 2 us."""
    finish_us = astra_ns3.Result.load(copy).finish_ps / US
    for recorded, times, rates in ((True, [1, 2], [100, 100]), (False, [1, 5, finish_us], [100, 25, 25])):
        if not recorded:
            (copy / "flows.parquet").unlink()
        figure = picture(copy, "rates", select="0-1")
        (rate,), (window,) = lines(figure), lines(figure, 1)
        assert rate[0] == pytest.approx(times)
        assert rate[1] == rates
        assert set(window[1]) == {40}
        assert [axes.get_ylabel() for axes in figure.axes] == ["allowed rate (Gb/s)", "window (KB)"]
        said = " ".join(figure.legends[0].get_title().get_text().split())
        assert said == ("" if recorded else "Curves go on after a pair's last message.")


def test_curves_of_queue_pairs_for_each_message_are_said_to_jump(copy: Path) -> None:
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    document["network"]["transport"] = {"kind": "roce", "queue_pairs": "per-message"}
    (copy / "run.json").write_text(json.dumps(document), encoding="utf-8")
    said = " ".join(picture(copy, "rates", select="0-1").legends[0].get_title().get_text().split())
    assert said == "Each message has its own queue pair: a curve jumps between those of two NPUs."


def test_a_rate_that_a_control_of_windows_leaves_as_it_is_has_no_panel(copy: Path) -> None:
    """Two windows of 40 and 20 KB, beside one rate throughout."""
    rows = [(US, 0, 1, "rate_bps", 10**11), (US, 0, 1, "window_bytes", 40_000), (2 * US, 0, 1, "window_bytes", 20_000)]
    write_pairs(copy, "queue_pairs", rows)
    assert [axes.get_ylabel() for axes in picture(copy, "rates").axes] == ["window (KB)"]


def test_a_time_without_a_window_is_a_gap_and_no_window_of_nothing(copy: Path) -> None:
    """A window of 20 KB, then none, which is written as 0 and is without limit, and 40 KB."""
    (copy / "flows.parquet").unlink()
    times = zip((1, 2, 3), (20_000, 0, 40_000), strict=True)
    write_pairs(copy, "queue_pairs", [(time * US, 0, 1, "window_bytes", size) for time, size in times])
    figure = picture(copy, "rates")
    ((_, sizes),) = lines(figure)
    assert sizes == [20, pytest.approx(float("nan"), nan_ok=True), 40, 40]
    assert figure.axes[0].get_title(loc="right") == "gaps: no window, so without limit"


def test_each_queue_pair_of_two_npus_has_a_line_of_its_own(copy: Path) -> None:
    rows = [(US, 0, 1, "rate_bps", 100 * 10**9), (2 * US, 0, 1, "rate_bps", 50 * 10**9)]
    write_pairs(copy, "queue_pairs", rows, [0, 3])
    for select in (None, "0-1"):
        figure = picture(copy, "rates") if select is None else picture(copy, "rates", select=select)
        assert [rates[0] for _, rates in lines(figure)] == [100, 50]
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["NPU 0 to 1", "NPU 0 to 1, queue pair 3"]


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


def test_the_line_through_bandwidths_of_one_size_is_at_their_median(copy: Path) -> None:
    table = pd.read_csv(copy / "collectives.csv")
    same = pd.concat([table.iloc[:1]] * 3).assign(bytes=64, bus_bandwidth_gbytes_per_s=[9.0, 1.0, 2.0])
    same.to_csv(copy / "collectives.csv", index=False)
    points, medians = lines(picture(copy, "bandwidth"))
    assert sorted(points[1]) == [1.0, 2.0, 9.0]
    assert medians == ([64], [2.0])


def test_the_mark_of_the_highest_bandwidth_is_whole(copy: Path) -> None:
    """Bandwidths near each other and far from 0 leave the same room above as others: a twentieth of the axis."""
    table = pd.read_csv(copy / "collectives.csv", dtype=str, keep_default_na=False)
    near = pd.concat([table.iloc[:1]] * 2).assign(bytes=64, bus_bandwidth_gbytes_per_s=[9.9, 10.0])
    near.to_csv(copy / "collectives.csv", index=False)
    assert picture(copy, "bandwidth").axes[0].get_ylim() == pytest.approx((0, 10.5))


def test_bandwidths_of_groups_have_lines_of_their_own(copy: Path) -> None:
    table = pd.read_csv(copy / "collectives.csv")
    groups = ["tensor", "data", "tensor", *[f"expert {number}" for number in range(9)]]
    several = pd.concat([table.iloc[:1]] * len(groups)).assign(group=groups, bytes=64, bus_bandwidth_gbytes_per_s=9.0)
    several.to_csv(copy / "collectives.csv", index=False)
    figure = picture(copy, "bandwidth", title="")
    check_page(figure)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:2] == ["all-reduce, tensor", "all-reduce, data"]
    assert names[-1] == "all-reduce, other groups"
    assert len(names) == 7


def test_the_note_on_bandwidths_tells_of_older_runs_where_one_is_drawn_and_stands_on_no_name(copy: Path) -> None:
    table = pd.read_csv(copy / "collectives.csv")
    rows = [table.iloc[:1].assign(group=f"expert {number}", bytes=64 << number) for number in range(6)]
    rows += [row.assign(kind=kind) for kind in ("ALLGATHER", "ALLTOALL") for row in rows[:3]]
    note = "times: means over groups, waits included"
    newer = {"group_duration_us": 1.0, "bus_bandwidth_gbytes_per_s": 9.0}
    for columns, words in ((newer, f"{note}; lines: medians"), ({}, f"{note} (older runs: of all); lines: medians")):
        several = pd.concat(rows).drop(columns="group_duration_us", errors="ignore").assign(**columns)
        several.to_csv(copy / "collectives.csv", index=False)
        figure = picture(copy, "bandwidth")
        check_page(figure)
        (title,) = (text for text in figure.findobj(Text) if text.get_text() == words)
        assert not title.get_window_extent().overlaps(figure.axes[0].yaxis.label.get_window_extent())


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
    told = ("turn", "switch_queue", "propagation", "pacing", "nic_paused", "serialisation")
    assert legend == {WORDS[f"{part}_ps"] for part in told}  # the words of explain


def test_the_slowest_messages_are_found_wherever_in_a_long_table_they_stand(copy: Path) -> None:
    quick, slow = (0, 0, {"serialisation_ps": US}), (0, 0, {"pacing_ps": 9 * US})
    write_accounts(copy, [quick] * 70_000 + [slow] * 800)  # more than are read at a time
    drawn = bars(picture(copy, "accounts"))
    slowest = drawn[np.isclose(drawn[:, 1] + drawn[:, 3] / 2, 1)]
    assert sorted(slowest[:, 2]) == pytest.approx([0, 100])
    assert "9 us" in words_of(picture(copy, "accounts"))


def test_every_part_of_an_account_has_a_look_of_its_own() -> None:
    assert tuple(LOOKS) == tuple(WORDS)
    assert tuple(part for part in WORDS if part != "slowed_ps") == PARTS  # made of the others
    assert len({*LOOKS.values()}) == len(LOOKS)


@pytest.mark.parametrize("kind", ["accounts", "layers"])
def test_a_page_has_the_colours_of_the_picture(folder: Path, kind: str) -> None:
    def looks(figure: Made) -> dict[str, tuple[str, bool]]:
        series = [each for panel in figure.panels for each in panel.series if isinstance(each, Bars)]
        return {" ".join(sorted(each.name.split(", "))): (each.colour, each.hatched) for each in series}

    run = astra_ns3.Result.load(folder)
    own = kind_of(kind)
    assert own.section is not None
    assert own.make is not None
    on_page = looks(own.section.make([Shown(run, "run", 0)], 400))
    in_file = looks(own.make(run, Choice()))
    both = in_file.keys() & on_page.keys()  # a page shows the layers of one NPU
    assert {name: in_file[name] for name in both} == {name: on_page[name] for name in both}
    assert any(in_file[name][1] for name in both)


def test_the_timeline_has_each_npus_computing_and_waiting(folder: Path) -> None:
    operations = astra_ns3.Result.load(folder).operations
    figure = picture(folder, "timeline", select=["0", "2"])
    assert [axes.get_ylabel() for axes in figure.axes] == ["NPU 0", "NPU 2"]
    for axes, npu in zip(figure.axes, (0, 2), strict=True):
        for kind, drawn in zip(("compute", "wait"), axes.collections, strict=False):
            rows = operations[(operations["npu"] == npu) & (operations["kind"] == kind)]
            length = sum(path.get_extents().width for path in drawn.get_paths())
            assert length == pytest.approx((rows["end_ps"] - rows["start_ps"]).sum() / US)


def test_the_timeline_says_what_its_colours_are(copy: Path) -> None:
    """What programs do, and messages, which are in no dimension: -1 in the table."""
    assert {"computing", "waiting"} < set(words_of(picture(copy, "timeline")))
    phases = pd.read_parquet(copy / "phases.parquet").assign(dimension=-1)
    phases.to_parquet(copy / "phases.parquet")
    assert [word for word in words_of(picture(copy, "timeline")) if word.startswith("messages (at most ")]


@pytest.mark.parametrize("flows", [False, True])
def test_a_message_is_in_flight_from_its_send_on(copy: Path, flows: bool) -> None:
    """NPU 1 is ready for two messages from the start; they are sent at 100 and 200 us and take 20 us each.

    A row of a sender is short. Where messages are recorded, too, they are in flight on both NPUs; another one is of a
    collective that has a dimension.
    """
    starts, ends = (100, 0, 200, 0), (100, 120, 200, 220)
    in_ps = {"start_ps": [US * each for each in starts], "end_ps": [US * each for each in ends]}
    same = {"chunk": [0] * 4, "phase": [0] * 4, "dimension": [-1] * 4}
    write_table(copy, "phases", npu=[0, 1, 0, 1], collective=[0, 0, 1, 1], queued_ps=in_ps["start_ps"], **in_ps, **same)
    (copy / "flows.parquet").unlink()
    if flows:
        times = {"start_ps": [100 * US, 200 * US, 0], "end_ps": [120 * US, 220 * US, 300 * US]}
        write_table(copy, "flows", collective=[0, 1, 2], source=[0, 0, 0], destination=[1, 1, 1], **times)
    for npu in ("0", "1") if flows else ("1",):
        figure = picture(copy, "timeline", select=npu)
        assert "messages (at most 1)" in words_of(figure)
        (band,) = [each for each in figure.axes[0].patches if isinstance(each, StepPatch)][-1:]
        values, edges, baseline = band.get_data()
        assert [*edges[:4]] == [100, 120, 200, 220]
        assert (values[:3] > np.asarray(baseline)[:3]).tolist() == [True, False, True]


def test_short_waits_are_drawn_and_stay_within_the_run(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A computation of 699.9 us of 700 us, and waits of 1 ns in it and at the end."""
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps({**document, "finish_ps": 700 * US}), encoding="utf-8")
    starts, lengths = [0, 100 * US, 700 * US - 1000], [100 * US, 1000, 1000]
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    kinds = {"kind": ["compute", "wait", "wait"], "layer": ["a"] * 3}
    write_table(copy, "operations", npu=[0] * 3, start_ps=starts, end_ps=ends, **kinds)
    _, waits, *_ = picture(copy, "timeline", select="0").axes[0].collections
    spans = [path.get_extents() for path in waits.get_paths()]
    assert [(span.x0, span.x1) for span in spans] == [pytest.approx((100, 101)), pytest.approx((699, 700))]
    monkeypatch.setattr("astra_ns3.report.pictures.timeline.MOST_BARS", 2)  # of 350 us each
    _, stairs, *_ = [
        each for each in picture(copy, "timeline", select="0").axes[0].patches if isinstance(each, StepPatch)
    ]
    values, _, baseline = stairs.get_data()
    assert (values - np.asarray(baseline)).tolist() == pytest.approx([0.09, 0.09])


@pytest.mark.parametrize("recorded", [True, False], ids=["operations", "collectives"])
def test_the_timeline_shows_when_the_network_is_changed(copy: Path, recorded: bool) -> None:
    """A link twice down for 1 ns, and another from some time on: below all else."""
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    flap = {"name": "a", "start_ps": 10 * US, "end_ps": 10 * US + 1000, "every_ps": 50 * US, "times": 2, "up": False}
    later = {"name": "b", "start_ps": 650 * US, "end_ps": None, "up": False}
    hidden = () if recorded else ("operations.parquet", "phases.parquet")
    files = [name for name in document["files"] if name not in hidden]
    changed = {**document, "finish_ps": 700 * US, "events": [flap, later], "files": files}
    assert "network" not in words_of(picture(copy, "timeline"))
    (copy / "run.json").write_text(json.dumps(changed), encoding="utf-8")
    for name in hidden:
        (copy / name).unlink()
    figure = picture(copy, "timeline")
    assert {"network", "changed"} <= set(words_of(figure))
    spans = [path.get_extents() for path in figure.axes[-1].collections[-1].get_paths()]
    assert [(span.x0, span.x1) for span in spans] == [pytest.approx(each) for each in ((10, 11), (60, 61), (650, 700))]
    assert len({span.y0 for span in spans}) == 1


def test_slow_npus_are_no_change_of_the_network(copy: Path) -> None:
    document = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    slow = {"name": "NPU 1", "npu": 1, "start_ps": 20 * US, "end_ps": 60 * US, "slower": 3.0}
    down = {"name": "a", "start_ps": 50 * US, "end_ps": 90 * US, "up": False}
    rows = {}
    for events in ([slow], [slow, down]):
        changed = {**document, "finish_ps": 100 * US, "events": events}
        (copy / "run.json").write_text(json.dumps(changed), encoding="utf-8")
        own = {axes.get_ylabel(): axes.collections for axes in picture(copy, "timeline").axes}
        rows = {name: own[name][0].get_paths() for name in ("network", "slow NPUs") if name in own}
        assert ("network" in rows) == (down in events)
    spans = {name: [(path.get_extents().x0, path.get_extents().x1) for path in paths] for name, paths in rows.items()}
    assert spans == {"network": [pytest.approx((50, 90))], "slow NPUs": [pytest.approx((20, 60))]}


def test_a_timeline_of_too_many_bars_shows_what_share_of_each_moment_went_into_what(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_ns3.report.pictures.timeline.MOST_BARS", 5)
    result = astra_ns3.Result.load(folder)
    operations = result.operations[result.operations["npu"] == 3]
    figure = picture(folder, "timeline", select="3")
    stairs = [patch for patch in figure.axes[0].patches if isinstance(patch, StepPatch)]
    for kind, drawn in zip(("compute", "wait"), stairs[:2], strict=True):  # the others are phases
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
    assert [axes.get_title("left") for axes in both.axes] == ["first, NPU 0", "last, NPU 2"]
    assert bars(last)[:, 2].tolist() == [3, 1]
    assert "NPU 2 of last" in words_of(picture(copy, "exposed"))


def test_a_table_that_has_gone_is_not_taken_for_one_that_was_not_recorded(copy: Path) -> None:
    (copy / "operations.parquet").unlink()
    with pytest.raises(InputError, match=r"there is no operations\.parquet"):
        picture(copy, "timeline")


def _forget(folder: Path, name: str) -> None:
    """Take a file out of the list of run.json."""
    document = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    document["files"].remove(name)
    (folder / "run.json").write_text(json.dumps(document), encoding="utf-8")
