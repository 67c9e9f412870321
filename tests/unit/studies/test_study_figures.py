"""What a study's figures show, as numbers; and that every kind can be drawn, with what is missing said."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from astra_ns3.errors import InputError
from astra_ns3.report.alignment import number_text
from astra_ns3.studies.figures.check import check_figure
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import AxisView, Cell, Series, View, cell_of, figure_data
from astra_ns3.studies.figures.kinds import FIGURE_KINDS, drawn, written
from astra_ns3.studies.figures.layers import COLUMNS
from astra_ns3.studies.figures.lines import numbers_of
from astra_ns3.studies.figures.panels import worth_a_log
from astra_ns3.studies.figures.table import number, table_cells
from astra_ns3.studies.measures import MEASURES

SYSTEM = AxisView("system", "system", ("flat", "hier"))
SCALE = AxisView("scale", "scale", (0.1, 1.0))
TIMES = ("exposed_us", "communication_us")
WINDOW = AxisView("window", "network.transport.window", ("64KB", "0.5MB"))


def finish(system: Any, scale: Any, seed: int) -> float:
    """10 or 20, times the scale, plus the seed."""
    return float({"flat": 10.0, "hier": 20.0}[system] * scale + seed)


def view(*axes: AxisView, seeds: int = 1, failed: tuple[Any, ...] = (), one_at_a_time: bool = False) -> View:
    rows = []
    for choice in product(*(axis.labels for axis in axes), range(1, seeds + 1)):
        *labels, seed = choice
        coordinates = {axis.name: label for axis, label in zip(axes, labels, strict=True)}
        if one_at_a_time and sum(coordinates[axis.name] != axis.labels[0] for axis in axes) > 1:
            continue
        time = finish(coordinates.get("system", "flat"), coordinates.get("scale", 1.0), int(seed))
        done = (*labels, seed) not in failed
        measures = {"finish_us": time, "compute_us": time / 4, "exposed_us": 3 * time / 4, "pauses": seed}
        row = {**dict.fromkeys(MEASURES), **(measures if done else {})}
        rows.append({"part": "one", **coordinates, "seed": seed, "status": "done" if done else "failed", **row})
    layers = tuple(
        {**row, "layer": layer, "communication_us": 1.0, "exposed_us": 1.0, "compute_us": 1.0}
        for row in rows
        for layer in ("a", "b")
    )
    return View("one", "The part", axes, one_at_a_time, False, tuple(rows), layers)


def config(**words: Any) -> FigureConfig:
    return FigureConfig.model_validate({"kind": "bars", **words})


def cells(figure: FigureConfig, of: View) -> dict[tuple[str, str], list[Cell | None]]:
    """By panel and series."""
    data = figure_data(of, figure)
    return {(panel.title, series.label): list(series.cells) for panel in data.panels for series in panel.series}


def means(figure: FigureConfig, of: View) -> dict[tuple[str, str], list[float | None]]:
    return {key: [None if cell is None else cell.mean for cell in found] for key, found in cells(figure, of).items()}


def test_a_series_has_a_number_at_each_place() -> None:
    found = means(config(x="system", by="scale"), view(SYSTEM, SCALE))
    assert found == {("", "scale 0.1"): [2.0, 3.0], ("", "scale 1"): [11.0, 21.0]}


def test_seeds_are_a_mean_with_the_least_and_the_most() -> None:
    found = cells(config(x="system"), view(SYSTEM, seeds=3))
    assert found == {("", ""): [Cell(12.0, 11.0, 13.0), Cell(22.0, 21.0, 23.0)]}


def test_axes_that_no_word_names_are_panels() -> None:
    found = means(config(x="system"), view(SYSTEM, SCALE))
    assert found == {("scale 0.1", ""): [2.0, 3.0], ("scale 1", ""): [11.0, 21.0]}


def test_several_measures_are_series_and_those_of_other_units_panels() -> None:
    found = means(config(x="system", y=["compute_us", "exposed_us"]), view(SYSTEM))
    assert found == {("", "compute_us"): [2.75, 5.25], ("", "exposed_us"): [8.25, 15.75]}
    data = figure_data(view(SYSTEM), config(x="system", y=["finish_us", "pauses"]))
    assert [[series.measure for series in panel.series] for panel in data.panels] == [["finish_us"], ["pauses"]]


def test_a_ratio_is_taken_seed_by_seed() -> None:
    found = cells(config(x="system", relative_to={"system": "flat"}), view(SYSTEM, seeds=2))
    flat, hier = found["", ""]
    ratios = [21 / 11, 22 / 12]
    assert flat == Cell(1.0, 1.0, 1.0)
    assert hier is not None
    assert (hier.mean, hier.least, hier.most) == pytest.approx((sum(ratios) / 2, min(ratios), max(ratios)))


def test_a_ratio_is_to_the_row_with_else_the_same_coordinates() -> None:
    figure = config(x="system", by="scale", relative_to={"scale": 1})
    assert means(figure, view(SYSTEM, SCALE))["", "scale 0.1"] == [2 / 11, 3 / 21]


def test_what_has_no_reference_has_no_ratio() -> None:
    figure = config(x="system", relative_to={"system": "flat"})
    assert means(figure, view(SYSTEM, failed=(("flat", 1),))) == {("", ""): [None, None]}


def test_what_is_compared_with_nothing_has_no_ratio() -> None:
    of = view(SYSTEM)
    rows = tuple({**row, "pauses": 0 if row["system"] == "flat" else 3} for row in of.rows)
    figure = config(x="system", y="pauses", relative_to={"system": "flat"})
    assert means(figure, replace(of, rows=rows)) == {("", ""): [None, None]}


def test_where_each_axis_is_changed_alone_the_others_have_their_first_value() -> None:
    of = view(SYSTEM, SCALE, one_at_a_time=True)
    assert means(config(x="scale"), of) == {("", ""): [2.0, 11.0]}
    data = figure_data(of, config())
    assert data.panels[0].places == ("base", "scale 1", "system hier")
    assert means(config(), of) == {("", ""): [2.0, 11.0, 3.0]}


def test_each_change_alone_is_compared_with_the_base_case_in_axes_that_the_reference_leaves_out() -> None:
    of = view(SYSTEM, SCALE, one_at_a_time=True)
    assert means(config(relative_to={"system": "flat"}), of) == {("", ""): [1, 11 / 2, 3 / 2]}
    assert means(config(relative_to={"scale": 1}), of) == {("", ""): [2 / 11, 1, 3 / 11]}


def test_series_without_a_number_are_named() -> None:
    of = view(SYSTEM, SCALE)
    rows = tuple({**row, "pauses": None if row["system"] == "flat" else 3} for row in of.rows)
    data = figure_data(replace(of, rows=rows), config(x="scale", by="system", y=["pauses", "finish_us"]))
    assert data.missing == "No pauses of flat"


def together(scales: tuple[float, ...]) -> View:
    """The points (flat, first scale), (hier, second scale), and with a third (flat, third scale)."""
    pairs = set(zip(("flat", "hier", "flat"), scales, strict=False))
    axes = SYSTEM, AxisView("scale", "scale", scales)
    of = view(*axes)
    return replace(of, together=True, rows=tuple(row for row in of.rows if (row["system"], row["scale"]) in pairs))


def test_axes_that_go_together_are_compared_with_the_one_point_that_the_reference_names() -> None:
    """The points take 10 * 0.1 + 1 and 20 * 1 + 1."""
    of = together((0.1, 1.0))
    for reference in ({"system": "flat"}, {"scale": 0.1}, {"system": "flat", "scale": 0.1}):
        assert means(config(x="system", relative_to=reference), of) == {("", ""): [1.0, 21 / 2]}
    assert figure_data(of, config(x="system", relative_to={"system": "flat"})).missing == ""


def test_points_without_one_to_be_compared_with_are_named() -> None:
    """Two points have the system flat, neither of them the scale of hier."""
    data = figure_data(together((0.1, 1.0, 10.0)), config(x="scale", relative_to={"system": "flat"}))
    assert [cell is None for cell in data.panels[0].series[0].cells] == [False, True, False]
    told = "points have no point with system flat to be compared with: system hier, scale 1, seed 1"
    assert data.missing == f"1 of 3 {told}"


def test_missing_points_are_named() -> None:
    data = figure_data(view(SYSTEM, SCALE, failed=(("flat", 0.1, 1),)), config(x="system", by="scale"))
    assert data.missing == "Missing 1 of 4 points: system flat, scale 0.1, seed 1 (failed)"
    assert figure_data(view(SYSTEM), config()).missing == ""


def test_numbers_and_quantities_stand_where_they_belong() -> None:
    assert numbers_of(WINDOW.labels) == [64e3, 500e3]
    assert numbers_of((0.1, 1, 10)) == [0.1, 1, 10]
    assert numbers_of(("flat", "hier")) is None
    assert numbers_of((2, 1)) is None


def test_a_table_has_a_row_for_each_combination() -> None:
    header, rows = table_cells(view(SYSTEM, seeds=2), config(kind="table", y=["finish_us", "drops"]))
    assert header == ["system", "finish_us", "drops"]
    assert rows == [["flat", "11.5 +- 0.707 (11 to 12)", "n/a"], ["hier", "21.5 +- 0.707 (21 to 22)", "n/a"]]


@pytest.mark.parametrize("dots_per_inch", [72, 300])  # as SVG, as PNG
@pytest.mark.parametrize("measures", [["finish_us"], ["finish_us", "compute_us", "exposed_us", "pauses"] * 2])
def test_a_table_lies_within_its_picture(measures: list[str], dots_per_inch: int) -> None:
    made = drawn(view(SYSTEM, SCALE, WINDOW, seeds=3), config(kind="table", y=measures))
    made.set_dpi(dots_per_inch)
    made.draw_without_rendering()
    (table,) = made.axes[0].tables
    around = table.get_window_extent()
    assert made.bbox.x0 <= around.x0
    assert around.x1 <= made.bbox.x1
    for cell in table.get_celld().values():
        assert cell.get_text().get_window_extent().width <= cell.get_window_extent().width


@pytest.mark.parametrize("title", ["Short", "Several lines of a title " * 20])
@pytest.mark.parametrize("rows", [1, 30, 200])
def test_all_rows_of_a_table_lie_between_title_and_notes(rows: int, title: str) -> None:
    of = view(AxisView("scale", "scale", tuple(range(rows))), failed=((0, 1),))
    made: Any = drawn(of, config(kind="table", y=["finish_us"], title=title))
    made.draw_without_rendering()
    cells = made.axes[0].tables[0].get_celld()
    words = [cells[row, 0].get_text() for row in range(rows + 1)]
    assert [each.get_text() for each in words] == ["scale", *(number(row) for row in range(rows))]
    # From the bottom to the top, nothing lies on another.
    texts = [made._supxlabel, *reversed(words), made._suptitle]
    ends = [end for text in texts for end in (text.get_window_extent().y0, text.get_window_extent().y1)]
    assert ends == sorted(ends)
    assert made.bbox.y0 <= ends[0]
    assert ends[-1] <= made.bbox.y1


@pytest.mark.parametrize("kind", FIGURE_KINDS)
@pytest.mark.parametrize("failed", [(), (("flat", "64KB", 1),), tuple(product(SYSTEM.labels, WINDOW.labels, (1,)))])
def test_every_kind_is_drawn_and_says_what_is_missing(kind: str, failed: tuple[Any, ...], tmp_path: Path) -> None:
    figure = config(kind=kind, x="window", **({} if kind == "layers" else {"y": ["finish_us"], "by": "system"}))
    paths = written(view(SYSTEM, WINDOW, failed=failed), figure, tmp_path, "it")
    assert [path.name for path in paths] == ["it.png", "it.svg"]
    text = paths[1].read_text(encoding="utf-8")
    assert "The part" in text
    assert (f"Missing {len(failed)} of 4" in text) == bool(failed)


@pytest.mark.parametrize("kind", FIGURE_KINDS)
def test_every_kind_marks_what_can_not_be(kind: str) -> None:
    """One point takes 0.4 of what its lines need, one has more memory than there is, two are right."""
    found = view(SYSTEM, WINDOW)
    of_floor = {"flat": 0.4, "hier": 1.0}
    rows = [
        {
            **row,
            "of_floor": of_floor[row["system"]] if row["window"] == "64KB" else 1.3,
            "fits": (row["system"], row["window"]) != ("hier", "0.5MB"),
            "npu_memory_bytes": 90 * 10**9,
            "npu_memory_capacity_bytes": 80 * 10**9,
        }
        for row in found.rows
    ]
    figure = config(kind=kind, x="window", **({} if kind == "layers" else {"y": ["finish_us"], "by": "system"}))
    made = drawn(replace(found, rows=tuple(rows)), figure)
    words = " ".join(" ".join(text.get_text().split()) for text in made.findobj(Text))
    told = "system flat, window 64KB, seed 1 (takes 0.4 of the least time that lines allow)"
    assert f"1 of 4 points are below the floor: {told}" in words
    assert "1 of 4 points don't fit in memory: system hier, window 0.5MB" in words
    if kind in ("bars", "heatmap", "stacked"):
        # In the note and at the number; the note says "don't fit".
        assert (words.count("below the floor"), words.count("doesn't fit")) == (2, 1)


def test_layers_of_several_axes_are_named_after_them() -> None:
    tensor, batch = AxisView("tensor", "workload.parallel.tensor", (1, 2)), AxisView("mb", "micro_batch", (1, 2))
    (legend,) = drawn(view(tensor, batch), config(kind="layers", y=["exposed_us"])).legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [f"tensor {one}, mb {other}" for one in (1, 2) for other in (1, 2)]


def test_a_value_that_says_nothing_alone_is_named_after_its_axis() -> None:
    control = AxisView("control", "network.transport.congestion_control", ("none", "dcqcn"))
    (legend,) = drawn(view(WINDOW, control), config(x="window", y=["finish_us"], by="control")).legends
    assert [text.get_text() for text in legend.get_texts()] == ["control none", "dcqcn"]


def test_equal_figures_give_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(view(SYSTEM), config(title="Mine"), tmp_path, name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_long_times_are_told_in_milliseconds() -> None:
    rows = tuple({**row, "finish_us": 1e6 * row["finish_us"]} for row in view(SYSTEM).rows)
    of = View("one", "The part", (SYSTEM,), False, False, rows)
    axes: Any = drawn(of, config(x="system")).axes[0]
    assert axes.get_ylabel() == "finish (s)"
    assert [bar.get_height() for bar in axes.patches] == [11.0, 21.0]


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_several_measures_are_named_in_words_and_their_unit_stands_at_the_axis(kind: str) -> None:
    """Numbers are drawn in the unit of the axis, so a legend with that of the column would say another."""
    rows = tuple({**row, "compute_us": 1e4, "exposed_us": 2e4} for row in view(SYSTEM, SCALE).rows)
    of = View("one", "The part", (SYSTEM, SCALE), False, False, rows)
    figure = drawn(of, config(kind=kind, x="scale", by="system", y=["compute_us", "exposed_us"]))
    axes: Any = figure.axes[0]
    assert axes.get_ylabel() == "time of the reported NPU (ms)"
    legends = [legend for legend in (*figure.legends, axes.get_legend()) if legend]
    words = {text.get_text() for legend in legends for text in legend.get_texts()}
    assert words == {"flat, compute", "flat, exposed", "hier, compute", "hier, exposed"}


def test_thousands_stand_apart_in_all_numbers_of_a_table() -> None:
    numbers = {67_205.3: "67,205", 101_791.2: "101,791", 42_084: "42,084", 9.98765432: "9.9877"}
    assert {value: number(value) for value in numbers} == numbers


def test_pieces_of_a_bar_are_compared_with_the_whole_bar() -> None:
    figure = config(kind="stacked", x="system", y=["compute_us", "exposed_us"], relative_to={"system": "flat"})
    found = means(figure, view(SYSTEM))
    assert found["", "compute_us"] == pytest.approx([1 / 4, 21 / 11 / 4])
    assert found["", "exposed_us"] == pytest.approx([3 / 4, 21 / 11 * 3 / 4])


def test_pieces_of_a_bar_stand_on_each_other() -> None:
    axes: Any = drawn(view(SYSTEM), config(kind="stacked", x="system", y=["compute_us", "exposed_us"])).axes[0]
    spans = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in axes.patches]
    assert np.array(spans) == pytest.approx(np.array([(0, 11 / 4), (0, 21 / 4), (11 / 4, 11), (21 / 4, 21)]))


@pytest.mark.parametrize("kind", sorted(FIGURE_KINDS.keys() - {"table"}))
def test_panels_of_a_unit_have_one_scale(kind: str) -> None:
    """3,000 times as much at one scale, which alone would be in milliseconds."""
    small, tables = view(SYSTEM, SCALE), []
    for rows in (small.rows, small.layers):
        larger = {row["scale"]: 3000 if row["scale"] == 1 else 1 for row in rows}
        tables.append(tuple({**row, **{name: row[name] * larger[row["scale"]] for name in TIMES if row.get(name)}}
                            for row in rows))  # fmt: skip
    words = {"panels": "scale", **({} if kind == "layers" else {"x": "system", "y": ["exposed_us", "pauses"]})}
    figure = drawn(View("one", "The part", (SYSTEM, SCALE), False, False, *tables), config(kind=kind, **words))
    axes: Any = figure.axes  # a map's colours have axes of their own
    limits = [each.get_ylim() for each in axes if each.get_ylabel().endswith("of the reported NPU (ms)")]
    assert len(limits) == 2
    assert limits[0] == limits[1]


def test_a_line_is_not_drawn_across_a_missing_point() -> None:
    scale = AxisView("scale", "scale", (0.1, 0.5, 1.0))
    axes: Any = drawn(view(scale, failed=((0.5, 1),)), config(kind="lines", x="scale")).axes[0]
    heights = list(axes.lines[0].get_ydata())
    assert (heights[0], heights[1] != heights[1], heights[2]) == (2.0, True, 11.0)


@pytest.mark.parametrize(
    ("labels", "scale", "name"),
    [((1, 2, 4), "linear", "at"), (("1ms", "5ms", "40ms"), "log", "at, logarithmic"), ((0, 5, 40), "linear", "at")],
)
def test_numbers_below_lines_say_where_their_scale_is_logarithmic(labels: Any, scale: str, name: str) -> None:
    axes: Any = drawn(view(AxisView("at", "scenario.events.0.at", labels)), config(kind="lines", x="at")).axes[0]
    assert (axes.get_xscale(), axes.get_xlabel()) == (scale, name)


@pytest.mark.parametrize(
    "words",
    [
        {"kind": "table", "relative_to": {"system": "flat"}},
        {"kind": "table", "x": "system"},
        {"kind": "layers", "x": "system"},
    ],
)
def test_a_word_that_a_kind_does_not_use_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"here: key .* doesn't use it"):
        check_figure(view(SYSTEM), config(**words), "here")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.12345, "0.123"),
        (12.34, "12.3"),
        (52.009, "52.0"),
        (52, "52"),
        (0.0, "0"),
        (999.4, "999"),
        (999.6, "1,000"),
        (1171.3, "1,171"),
    ],
)
def test_a_number_in_a_figure_has_three_digits_and_all_before_its_point(number: float, text: str) -> None:
    assert number_text(number) == text


def test_bars_get_a_logarithmic_scale_only_where_they_differ_ten_times() -> None:
    near = figure_data(view(SYSTEM), config(x="system", y="finish_us")).panels[0].series
    assert not worth_a_log(near)  # 11 and 21
    far = figure_data(view(SYSTEM, SCALE), config(x="scale", y="finish_us", by="system")).panels[0].series
    assert worth_a_log(far)  # 2 to 21
    for most, worth in ((29.9, False), (30.0, True)):
        pair = tuple(cell_of({(): number}) for number in (3.0, most))
        assert worth_a_log([Series("", "finish_us", pair)]) is worth


@pytest.mark.parametrize("kind", ["bars", "lines"])
def test_titles_of_panels_side_by_side_do_not_meet(kind: str) -> None:
    rates = AxisView("bandwidth", "network.bandwidth", ("50 / 50 / 50", "100 / 25 / 25", "25 / 25 / 100"))
    computing = AxisView("computing by scale", "compute_scale", (1.0, 0.1))
    figure = drawn(view(SYSTEM, rates, computing), config(kind=kind, x="system"))
    figure.canvas.draw()
    titles = [axes.title.get_window_extent() for axes in figure.axes if axes.get_visible()]
    assert len(titles) == 6
    for left, right in pairwise(titles):
        assert left.x1 < right.x0 or left.y0 > right.y1
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in titles)


def test_titles_of_y_axes_above_each_other_do_not_meet() -> None:
    of = view(SYSTEM)
    of = replace(of, layers=tuple({**row, **dict.fromkeys(COLUMNS, 1.0)} for row in of.layers))
    for log in (False, True):
        figure = drawn(of, config(kind="layers", y=list(COLUMNS), log=log))
        figure.draw_without_rendering()
        boxes = [axes.yaxis.label.get_window_extent() for axes in figure.axes]
        assert len(boxes) == len(COLUMNS)
        assert all(above.y0 > below.y1 for above, below in pairwise(boxes))
        assert all(box.x0 >= 0 and box.y0 >= 0 and box.y1 <= figure.bbox.y1 for box in boxes)


@pytest.mark.slow
def test_numbers_above_bars_and_names_of_numbers_never_touch() -> None:
    chunks = AxisView("chunks", "system.preferred-dataset-splits", (4, 8, 63, 64, 65, 128))
    for kind, by in (("bars", "system"), ("lines", "system"), ("bars", None)):
        figure = drawn(view(chunks, SYSTEM, SCALE, WINDOW), config(kind=kind, x="chunks", by=by, panels="scale"))
        figure.canvas.draw()
        for axes in figure.axes:
            for words in (axes.texts, axes.get_xticklabels()):
                boxes = sorted((each.get_window_extent() for each in words if each.get_text()), key=lambda box: box.x0)
                for left, right in pairwise(boxes):
                    assert left.x1 <= right.x0 or left.y0 >= right.y1 or left.y1 <= right.y0
    alone = drawn(view(SYSTEM, SCALE), config(x="system", by="scale"))
    assert [text.get_text() for text in alone.axes[0].texts] == ["2", "3", "11", "21"], "where they fit they are told"


def test_the_number_above_a_bar_is_the_mean_over_seeds_and_stands_above_the_whisker() -> None:
    axes: Any = drawn(view(SYSTEM, seeds=3), config(x="system")).axes[0]
    assert [(text.get_text(), text.xy[1]) for text in axes.texts] == [("12", 13.0), ("22", 23.0)]


def test_what_a_panel_lacks_is_said_inside_it() -> None:
    missing = (("flat", 0.1, 1), ("hier", 0.1, 1))
    figure = drawn(view(SYSTEM, SCALE, failed=missing), config(x="system", relative_to={"system": "flat"}))
    figure.canvas.draw()
    found = [(axes, text) for axes in figure.axes for text in axes.texts if text.get_text() == "n/a"]
    assert len(found) == 2
    for axes, text in found:
        assert axes.get_window_extent().contains(*text.get_window_extent().p0)
