"""What pages draw of curves and tables of colours."""

from __future__ import annotations

import numpy as np
import pytest

from astra_ns3.report.figures.curves import steps
from astra_ns3.report.figures.figure import Axis, Curve, Heat, Panel
from astra_ns3.report.figures.with_plotly import _trace


def test_the_range_of_a_value_goes_from_the_least_to_the_most() -> None:
    curve = Curve(x=[1, 2], y=[10, 20], least=[8, 20], most=[15, 21])
    drawn = _trace(curve, Panel(Axis(), Axis(), [curve]))
    assert drawn is not None
    assert (drawn["error_y"]["array"], drawn["error_y"]["arrayminus"]) == ([5, 1], [2, 0])


@pytest.mark.parametrize(("mark", "symbol"), [(0, "circle"), (1, "diamond"), (8, "circle")])
def test_each_mark_has_a_symbol_the_first_one_too_and_begins_again_after_the_last(mark: int, symbol: str) -> None:
    curve = Curve(x=[1, 2], y=[10, 20], mark=mark, size=7)
    drawn = _trace(curve, Panel(Axis(), Axis(), [curve]))
    assert drawn is not None
    assert drawn["mode"] == "lines+markers"
    assert (drawn["marker"]["symbol"], drawn["marker"]["size"]) == (symbol, 7)


def test_a_line_without_marks_has_no_symbol() -> None:
    curve = Curve(x=[1, 2], y=[10, 20])
    drawn = _trace(curve, Panel(Axis(), Axis(), [curve]))
    assert drawn is not None
    assert drawn["mode"] == "lines"
    assert "marker" not in drawn


def test_columns_without_edges_stand_at_whole_numbers() -> None:
    heat = Heat(values=[[1.0, 2.0, 3.0]], of=Axis(low=0), rows=["a"])
    drawn = _trace(heat, Panel(Axis(), Axis(), [heat]))
    assert drawn is not None
    assert drawn["x"] == [0, 1, 2]


@pytest.mark.parametrize(("more", "kept"), [(0, 40), (1, 17)])
def test_points_are_left_out_only_of_more_than_four_for_each_span(more: int, kept: int) -> None:
    """39 times and the end are 40 points for 10 spans; of 41, each five keep their ends alone, as values ascend."""
    times = np.arange(39 + more)
    drawn, values = steps(times, times, 39 + more, most=10)
    assert len(drawn) == len(values) == kept
