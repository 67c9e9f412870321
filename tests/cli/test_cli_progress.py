"""The live line: what it says, and how often."""

from __future__ import annotations

import io

from astra_ns3.cli.progress import LiveLine, progress_text
from astra_ns3.experiments.progress import Progress


def at(wall_seconds: float, events: int = 0, passes_done: int = 0, steps_done: int = 0) -> Progress:
    return Progress(passes_done, 2, steps_done, 10, 1_500_000, events, wall_seconds)


def test_the_line_says_pass_steps_simulated_time_speed_and_estimated_end() -> None:
    text = progress_text(at(30.0, passes_done=1, steps_done=5), 2_500_000)
    assert text.split("  ") == [
        " 75%",
        "pass 2/2",
        "layers 5/10",
        "sim 1.5 us",
        "2.5 M events/s",
        "left 00:10",
    ]


def test_the_line_fits_a_terminal_of_80_columns() -> None:
    progress = Progress(9, 10, 139, 140, 123_456_789_012, 10**10, 3_599.0)
    assert len(progress_text(progress, 9_876_543.0)) < 80


def test_no_end_is_estimated_before_the_first_step() -> None:
    assert progress_text(at(30.0), 0).endswith("left --:--")


def test_the_line_is_drawn_at_most_ten_times_a_second_and_taken_away_at_the_end() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    for beat in range(1000):
        line.update(at(beat / 100, events=beat))
    drawn = stream.getvalue().count("\r")
    assert 50 <= drawn <= 100
    line.finish()
    assert stream.getvalue().endswith("\r\x1b[2K")
    assert "\n" not in stream.getvalue()


def test_speed_is_that_since_the_last_line() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    for wall_seconds, events in ((1.0, 1000), (2.0, 51_000)):
        line.update(at(wall_seconds, events=events))
    assert "50 k events/s" in stream.getvalue()


def test_a_line_never_drawn_leaves_the_stream_alone() -> None:
    stream = io.StringIO()
    LiveLine(stream).finish()
    assert stream.getvalue() == ""


def test_the_set_up_is_a_stage_of_its_own_with_its_time() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    line.stage("building the network", 12.3)
    assert stream.getvalue() == "\r\x1b[2Kset-up: building the network  12 s"
    line.finish()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_speed_after_the_set_up_leaves_its_time_out() -> None:
    stream = io.StringIO()
    line = LiveLine(stream)
    line.stage("planning the collectives", 60.0)
    line.update(at(61.0, events=7_000))
    assert "7 k events/s" in stream.getvalue()
